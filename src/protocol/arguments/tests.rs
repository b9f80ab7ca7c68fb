use super::*;
use crate::act::Kind;
use crate::claim::ClaimStatus;
use crate::command::{
    ArtifactQuery, Command, InboxQuery, Language, ManifestPart, PageQuery, ReadCall, ThreadOrder,
    ThreadQuery,
};
use crate::ids::{ClaimId, ThreadId};
use crate::state::State;

const NOW: Millis = Millis(1_796_068_800_000);

fn http(operation: Operation, id: &str, query: &str, body: Option<&[u8]>) -> Result<Call> {
    let field = operation.spec().fields.iter().find(|field| field.is_in_path());
    let values: Option<(&str, &str)> = field.map(|field| (field.name, id));
    read_http(operation, values.as_slice(), query, body, &Limits::default(), NOW)
}

fn mcp(operation: Operation, arguments: &str) -> Result<(Call, Option<Box<str>>)> {
    read_mcp(operation, arguments.as_bytes(), &Limits::default(), NOW)
}

/// `ok`, or the reason and the field at fault.
fn outcome<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(refusal) => match refusal.field {
            Some(field) => format!("{} {field}", refusal.reason.as_str()),
            None => refusal.reason.as_str().to_owned(),
        },
    }
}

/// Goal: a malformed path is refused after everything else that can be wrong in the request.
#[test]
fn path_comes_last() {
    let read = |body: &[u8]| outcome(http(Operation::AttestClaim, "cl_x", "", Some(body)));
    assert_eq!(read(b"{\"x\":1}"), "invalid_body x");
    assert_eq!(read(b"{}"), "proof_missing evidence");
    let proof = b"{\"evidence\":[{\"kind\":\"log\",\"ref\":\"r\"}]}";
    assert_eq!(read(proof), "claim_not_found");
}

/// Goal: an artifact comes through byte for byte, faults and all. Method: texts that the strict
/// reader would refuse or change.
#[test]
fn artifacts_untouched() {
    let nested = format!("{}{}", "[".repeat(64), "]".repeat(64));
    for text in ["{ \"a\" : 1.0 }", "{\"a\":1,\"a\":2}", "{\"\\ud800\":\"\\udc00\"}", "7", &nested]
    {
        let arguments = format!("{{\"artifact\": {text} ,\"idempotency_key\":\"k\"}}");
        let (call, key) = mcp(Operation::PublishArtifact, &arguments).expect(text);
        assert_eq!(call, Call::PublishArtifact(text.as_bytes().into()));
        assert_eq!(key.as_deref(), Some("k"));
    }
    let call = http(Operation::PublishArtifact, "", "", Some(b"\xff")).expect("any bytes");
    assert_eq!(call, Call::PublishArtifact(b"\xff".as_slice().into()));
    let call = http(Operation::PublishArtifact, "", "", None).expect("no bytes");
    assert_eq!(call, Call::PublishArtifact(Box::default()));
}

fn becomes(operation: Operation, path: &str, query: &str, want: Call) {
    assert_eq!(Operation::of(&want), operation);
    assert_eq!(http(operation, path, query, None), Ok(want), "{operation} ?{query}");
}

/// Goal: every operation becomes the call that it is, defaults filled in.
#[test]
fn calls() {
    use Operation::*;
    let page = |cursor: &str, limit| PageQuery { cursor: Some(cursor.into()), limit: Some(limit) };
    let th = ThreadId(1);
    for (operation, path, query, want) in [
        (GetManifest, "", "lang=fr", Call::GetManifest(Language::Fr, ManifestPart::All)),
        (GetManifest, "", "part=reasons", Call::GetManifest(Language::En, ManifestPart::Reasons)),
        (ListThreads, "", "", Call::Read(ReadCall::ListThreads(ThreadQuery::default()))),
        (
            ListThreads,
            "",
            "state=decided&creator=local:ada&awaiting=false&locked=true&order=-created&cursor=c\
             &limit=7",
            Call::Read(ReadCall::ListThreads(ThreadQuery {
                state: Some(State::Decided),
                creator: Some("local:ada".into()),
                awaiting: Some(false),
                locked: Some(true),
                order: ThreadOrder::CreatedDescending,
                page: page("c", 7),
            })),
        ),
        (ReadThread, "1", "", Call::Read(ReadCall::Tree(th))),
        (
            ReadThread,
            "1",
            "format=flat&since=c&limit=7",
            Call::Read(ReadCall::Flat(th, page("c", 7))),
        ),
        (ReadEvents, "1", "cursor=c&limit=7", Call::Read(ReadCall::Events(th, page("c", 7)))),
        (
            ReadInbox,
            "",
            "",
            Call::ReadInbox(InboxQuery {
                extension: None,
                page: PageQuery::default(),
                wait_seconds: 0,
                anyone: true,
            }),
        ),
        (
            ReadInbox,
            "",
            "extension=e&since=c&limit=7&wait_seconds=3&anyone=false",
            Call::ReadInbox(InboxQuery {
                extension: Some("e".into()),
                page: page("c", 7),
                wait_seconds: 3,
                anyone: false,
            }),
        ),
        (ReadClaim, "cl_9", "", Call::Read(ReadCall::Claim(ClaimId(9)))),
        (
            ListClaims,
            "1",
            "status=verified&cursor=c&limit=7",
            Call::Read(ReadCall::ListClaims(th, Some(ClaimStatus::Verified), page("c", 7))),
        ),
    ] {
        becomes(operation, path, query, want);
    }
}

/// As above, for artifacts.
#[test]
fn calls_of_artifacts() {
    use Operation::*;
    let page = || PageQuery { cursor: Some("c".into()), limit: Some(7) };
    let id = format!("sha256:{}0f", "0".repeat(62));
    let mut bytes = [0; 32];
    bytes[31] = 15;
    for (operation, path, query, want) in [
        (ReadArtifact, id.as_str(), "", Call::Read(ReadCall::Artifact(bytes))),
        (VerifyClosure, &id, "", Call::Read(ReadCall::VerifyClosure(bytes, true))),
        (VerifyClosure, &id, "strict=false", Call::Read(ReadCall::VerifyClosure(bytes, false))),
        (
            ListArtifacts,
            "",
            &format!("type=DECISION&references={id}&thread=th_1&cursor=c&limit=7"),
            Call::Read(ReadCall::ListArtifacts(ArtifactQuery {
                kind: Some("DECISION".into()),
                references: Some(bytes),
                thread: Some(ThreadId(1)),
                page: page(),
            })),
        ),
        (ExportThread, "1", "cursor=c&limit=7", Call::Read(ReadCall::Export(ThreadId(1), page()))),
    ] {
        becomes(operation, path, query, want);
    }
}

/// As above, for the writes.
#[test]
fn writes() {
    let body =
        br#"{"kind":"retract","thread":"7","parent":8,"from":{"extension":"e"},"body":" x "}"#;
    let call = http(Operation::PostMessage, "", "", Some(body)).expect("reads");
    let Call::Write(Some(ThreadId(7)), Command::Post(envelope)) = &call else { panic!("{call:?}") };
    assert_eq!((envelope.kind, envelope.parent.map(|id| id.0)), (Kind::Retract, Some(8)));
    assert_eq!((&*envelope.body, envelope.extension.as_deref()), (" x ", Some("e")));
    assert_eq!(Operation::of(&call), Operation::PostMessage);
    let opening = http(Operation::PostMessage, "", "", Some(br#"{"kind":"ask","body":"x"}"#));
    assert!(matches!(opening, Ok(Call::Write(None, Command::Post(_)))));
    let reopen = http(Operation::ReopenThread, "7", "", None);
    let Ok(Call::Write(Some(ThreadId(7)), Command::Reopen(mark))) = reopen else { panic!() };
    assert_eq!((mark.state, mark.reason), (State::Open, None));
    let body = br#"{"evidence":[{"kind":"log","ref":"r"}],"seal":true}"#;
    let attest = http(Operation::AttestClaim, "cl_3", "", Some(body));
    let Ok(Call::Write(None, Command::Attest(proof))) = attest else { panic!() };
    assert!(proof.seal && proof.claim == ClaimId(3) && proof.evidence[0].note.is_none());
}

/// Goal: keys have 1 to 128 visible ASCII characters.
#[test]
fn keys() {
    for key in ["a", "~!\"", &"k".repeat(128)] {
        assert!(idempotency_key(key).is_ok(), "{key}");
    }
    for key in ["", " ", "a b", "é", "a\t", &"k".repeat(129)] {
        assert_eq!(outcome(idempotency_key(key)), "invalid_parameter idempotency_key", "{key}");
    }
}

/// Goal: the same content has one digest however it is written, other content another, and no
/// later version changes one. Method: pairs, and two digests written down.
#[test]
fn digests() {
    let digest = |operation, body: &str| {
        let call = http(operation, "5", "", Some(body.as_bytes())).expect(body);
        let Call::Write(thread, command) = call else { panic!("{body} is no write") };
        content_digest(thread, &command)
    };
    let post = |body: &str| digest(Operation::PostMessage, body);
    let plain = post(r#"{"kind":"inform","thread":"th_5","body":"x"}"#);
    for same in [
        r#"{"body":"\u0078","thread":5,"kind":"inform"}"#,
        r#"{"kind":"inform","thread":"5","body":"x","parent":null,"id":"msg_1","parley":"1"}"#,
        r#"{"kind":"inform","thread":"5","body":"x","from":{"identity":"a"},"provenance":null}"#,
    ] {
        assert_eq!(post(same), plain, "{same}");
    }
    for other in [
        r#"{"kind":"ask","thread":"th_5","body":"x"}"#,
        r#"{"kind":"inform","thread":"th_6","body":"x"}"#,
        r#"{"kind":"inform","thread":"th_5","body":"x "}"#,
        r#"{"kind":"inform","thread":"th_5","body":"x","parent":5}"#,
        r#"{"kind":"inform","thread":"th_5","body":"x","from":{"extension":"e"}}"#,
        r#"{"kind":"inform","thread":"th_5","body":"x","provenance":{"model":"m"}}"#,
        r#"{"kind":"inform","thread":"th_5","body":"x","provenance":{"client":"m"}}"#,
    ] {
        assert_ne!(post(other), plain, "{other}");
    }
    let state = r#"{"state":"open"}"#;
    assert_ne!(digest(Operation::MarkThread, state), digest(Operation::ConfirmThread, state));
    assert_ne!(digest(Operation::MarkThread, state), digest(Operation::ReopenThread, "{}"));
    let proof = r#"{"evidence":[{"kind":"log","ref":"r"}]}"#;
    let sealed = r#"{"evidence":[{"kind":"log","ref":"r"}],"seal":true}"#;
    let plainly = r#"{"evidence":[{"kind":"log","ref":"r","note":null}],"seal":false}"#;
    assert_ne!(digest(Operation::AttestClaim, proof), digest(Operation::AttestClaim, sealed));
    assert_eq!(digest(Operation::AttestClaim, proof), digest(Operation::AttestClaim, plainly));
    assert_ne!(digest(Operation::AttestClaim, proof), digest(Operation::RefuteClaim, proof));
    assert_ne!(key_digest("local:ada", "k"), key_digest("local:ad", "ak"));
    assert_ne!(content_digest_of_artifact(&[0; 32]), content_digest_of_artifact(&[1; 32]));
    let hex = |digest: [u8; 16]| digest.map(|byte| format!("{byte:02x}")).concat();
    assert_eq!(hex(plain), "ba8fd875eb52366f8b34d5d53e64ca9b");
    assert_eq!(hex(key_digest("local:ada", "k")), "c1090ed2ba6b71fc72c27783c69da346");
}

/// Goal: over MCP what clients make of arguments is read as it is meant, over HTTP it is refused.
/// Method: a row two texts of arguments that are the same call; the first over HTTP too.
#[test]
fn lenient_over_mcp() {
    use Operation::*;
    for (operation, given, meant) in [
        (ListThreads, r#"{"limit":"10","awaiting":"false"}"#, r#"{"limit":10,"awaiting":false}"#),
        (ListThreads, r#"{"limit":10.0}"#, r#"{"limit":10}"#),
        (ListThreads, r#"{"limit":1e1,"cursor":"","state":""}"#, r#"{"limit":10}"#),
        (ReadInbox, r#"{"wait_seconds":"0","extension":"","anyone":""}"#, "{}"),
        (
            ListThreads,
            r#"{"toolCallId":"a","sessionId":{"b":[]},"_meta":{"c":1},"limit":10}"#,
            r#"{"limit":10}"#,
        ),
        (
            PostMessage,
            r#"{"kind":"ask","body":"b","thread":"","from":"{\"extension\":\"w\"}"}"#,
            r#"{"kind":"ask","body":"b","from":{"extension":"w"}}"#,
        ),
        (
            PostMessage,
            r#"{"kind":"ask","body":"b","from":{"extension":""},"provenance":""}"#,
            r#"{"kind":"ask","body":"b","from":{}}"#,
        ),
        (
            AttestClaim,
            r#"{"claim":1,"seal":"true","evidence":"[{\"kind\":\"log\",\"ref\":\"r\"}]"}"#,
            r#"{"claim":1,"seal":true,"evidence":[{"kind":"log","ref":"r"}]}"#,
        ),
        (
            AssertClaim,
            r#"{"thread":1,"statement":"s","supersedes":"[\"cl_1\"]","valid_until":""}"#,
            r#"{"thread":1,"statement":"s","supersedes":["cl_1"]}"#,
        ),
        (
            PublishArtifact,
            r#"{"artifact":"{\"a\":1.0}","toolCallId":"x"}"#,
            r#"{"artifact":{"a":1.0}}"#,
        ),
    ] {
        let want = mcp(operation, meant).expect(meant);
        assert_eq!(mcp(operation, given), Ok(want), "{given}");
    }
    for (operation, body) in [
        (PostMessage, r#"{"kind":"ask","body":"b","thread":""}"#),
        (PostMessage, r#"{"kind":"ask","body":"b","from":"{}"}"#),
        (PostMessage, r#"{"kind":"ask","body":"b","toolCallId":"a"}"#),
        (AttestClaim, r#"{"seal":"true","evidence":[{"kind":"log","ref":"r"}]}"#),
    ] {
        let refusal = http(operation, "1", "", Some(body.as_bytes())).expect_err(body);
        assert_eq!(refusal.reason, Reason::InvalidBody, "{body}");
    }
    for (operation, given) in [
        (ListThreads, r#"{"limit":"10.0"}"#),
        (ListThreads, r#"{"limit":" 10"}"#),
        (ListThreads, r#"{"limit":10.5}"#),
        (ListThreads, r#"{"awaiting":"False"}"#),
        (ReadThread, r#"{"thread":1.0}"#),
        (PostMessage, r#"{"kind":"","body":"b"}"#),
        (PostMessage, r#"{"kind":"ask","body":"b","from":{"toolCallId":1}}"#),
        (PostMessage, r#"{"kind":"ask","body":"b","idempotency_key":""}"#),
    ] {
        assert!(mcp(operation, given).is_err(), "{given}");
    }
}

/// Goal: a refusal names all members at fault, the first in `field`, with what came and what is
/// wanted; of very many their number. Method: a row a request.
#[test]
fn all_faults_named() {
    let body = br#"{"kind":"tell","x":1,"from":[],"provenance":{"model":7,"y":1},"thread":1.5}"#;
    let refusal = http(Operation::PostMessage, "", "", Some(body)).expect_err("faults");
    assert_eq!(refusal.field.as_deref(), Some("kind"));
    for part in [
        "7 members are wrong. `kind`: This must be one of \"ask\"",
        ": \"tell\" came.",
        "`x`: `post_message` has no such field.",
        "`from`: This must be an object: an array came.",
        "`provenance/model`: This must be a string: 7 came. Send it in quotes.",
        "`provenance/y`: There is no such member.",
        "`thread`: This must be an identifier",
        "1.5 came.",
        "`body`: `body` is required.",
    ] {
        assert!(refusal.detail.contains(part), "{part}: {}", refusal.detail);
    }
    let query = http(Operation::ReadThread, "1", "since=c&limit=0&x=1", None).expect_err("faults");
    assert_eq!(query.field.as_deref(), Some("limit"));
    assert!(query.detail.starts_with("3 members are wrong."), "{}", query.detail);
    assert!(query.detail.contains("`since`: A tree holds the whole thread."), "{}", query.detail);
    let proof = br#"{"seal":"true","evidence":[{"kind":"log"},{"kind":"url","ref":"x"}]}"#;
    let proof = http(Operation::AttestClaim, "1", "", Some(proof)).expect_err("faults");
    assert_eq!(proof.field.as_deref(), Some("seal"));
    for part in ["a string came; send true without quotes.", "`evidence/0/ref`", "`evidence/1/ref`"]
    {
        assert!(proof.detail.contains(part), "{part}: {}", proof.detail);
    }
    let many: Vec<_> = (0..5_000).map(|number| format!("\"x{number}\":1")).collect();
    let many = format!("{{{}}}", many.join(","));
    let many = http(Operation::PostMessage, "", "", Some(many.as_bytes())).expect_err("faults");
    assert!(many.detail.starts_with("5002 members are wrong."), "{}", many.detail);
    assert!(many.detail.ends_with("And 4982 more.") && many.detail.len() < 8_000);
    let one = mcp(Operation::ListThreads, r#"{"limit":500}"#).expect_err("a fault");
    assert_eq!(one.detail, "This must be a whole number from 1 to 200: 500 came.");
}
