use super::*;
use crate::act::Kind;
use crate::claim::Status;
use crate::command::{ArtifactQuery, Command, InboxQuery, Language, Order, Page, ThreadQuery};
use crate::ids::{ClaimId, ThreadId};
use crate::state::State;

const NOW: Millis = Millis(1_796_068_800_000);

fn http(operation: Operation, id: &str, query: &str, body: Option<&[u8]>) -> Result<Call> {
    let field = operation.row().fields.iter().find(|field| field.place == Place::Path);
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
            Some(field) => format!("{} {field}", refusal.reason.word()),
            None => refusal.reason.word().to_owned(),
        },
    }
}

/// Goal: queries are judged as bindings.md §3 says. Method: a row a case: operation, the field in
/// its path, query, outcome.
#[test]
fn queries() {
    use Operation::*;
    for (operation, id, query, want) in [
        (GetManifest, "", "", "ok"),
        (GetManifest, "", "lang=de", "ok"),
        (GetManifest, "", "lang=es", "invalid_parameter lang"),
        (GetManifest, "", "lang=", "invalid_parameter lang"),
        (GetManifest, "", "lang", "invalid_parameter lang"),
        (GetManifest, "", "lang=de&lang=de", "invalid_parameter lang"),
        (GetManifest, "", "lang=de&l%61ng=fr", "invalid_parameter lang"),
        (GetManifest, "", "l%61ng=d%65", "ok"),
        (GetManifest, "", "lang=%zz", "invalid_parameter lang"),
        (GetManifest, "", "lang=de%", "invalid_parameter lang"),
        (GetManifest, "", "lang=%ff", "invalid_parameter lang"),
        (GetManifest, "", "%ff=1", "invalid_parameter"),
        (GetManifest, "", "Lang=de", "invalid_parameter Lang"),
        (GetManifest, "", "x=1", "invalid_parameter x"),
        (GetManifest, "", "x=1&x=2", "invalid_parameter x"),
        (GetManifest, "", "=1", "invalid_parameter "),
        (GetManifest, "", "&&", "ok"),
        (ListThreads, "", "state=open&creator=local:ada&awaiting=true&locked=false", "ok"),
        (ListThreads, "", "state=Open", "invalid_parameter state"),
        (ListThreads, "", "creator=human%3Aeve", "ok"),
        (ListThreads, "", "creator=ada", "invalid_parameter creator"),
        (ListThreads, "", "creator=local:", "invalid_parameter creator"),
        (ListThreads, "", "creator=:ada", "invalid_parameter creator"),
        (ListThreads, "", "creator=local:ada:x", "invalid_parameter creator"),
        (ListThreads, "", "creator=local:a+b", "invalid_parameter creator"),
        (ListThreads, "", "awaiting=1", "invalid_parameter awaiting"),
        (ListThreads, "", "awaiting=TRUE", "invalid_parameter awaiting"),
        (ListThreads, "", "order=-updated&limit=1", "ok"),
        (ListThreads, "", "order=updated_at", "invalid_parameter order"),
        (ListThreads, "", "limit=200", "ok"),
        (ListThreads, "", "limit=201", "invalid_parameter limit"),
        (ListThreads, "", "limit=0", "invalid_parameter limit"),
        (ListThreads, "", "limit=-1", "invalid_parameter limit"),
        (ListThreads, "", "limit=+1", "invalid_parameter limit"),
        (ListThreads, "", "limit=01", "invalid_parameter limit"),
        (ListThreads, "", "limit=1.0", "invalid_parameter limit"),
        (ListThreads, "", "limit=99999999999999999999", "invalid_parameter limit"),
        (ListThreads, "", "cursor=anything", "ok"),
        (ListThreads, "", "since=1", "invalid_parameter since"),
        (ReadThread, "th_1", "", "ok"),
        (ReadThread, "1", "format=flat&since=c&limit=5", "ok"),
        (ReadThread, "1", "format=tree", "ok"),
        (ReadThread, "1", "since=c", "invalid_parameter since"),
        (ReadThread, "1", "format=tree&limit=5", "invalid_parameter limit"),
        (ReadThread, "1", "cursor=c", "invalid_parameter cursor"),
        (ReadThread, "0", "", "thread_not_found"),
        (ReadThread, "msg_1", "", "thread_not_found"),
        (ReadThread, "x", "format=x", "invalid_parameter format"),
        (ReadThread, "x", "limit=5", "invalid_parameter limit"),
        (ReadEvents, "01", "", "thread_not_found"),
        (ReadInbox, "", "extension=e&since=c&limit=1&wait_seconds=25&anyone=false", "ok"),
        (ReadInbox, "", "wait_seconds=0", "ok"),
        (ReadInbox, "", "wait_seconds=26", "invalid_parameter wait_seconds"),
        (ReadInbox, "", "extension=a/b", "invalid_parameter extension"),
        (ReadClaim, "cl_1", "", "ok"),
        (ReadClaim, "th_1", "", "claim_not_found"),
        (ListClaims, "1", "status=refuted", "ok"),
        (ListClaims, "1", "status=final", "invalid_parameter status"),
        (MarkThread, "1", "dry_run=1", "invalid_parameter dry_run"),
        (ReadArtifact, "sha256:00", "", "artifact_not_found"),
        (VerifyClosure, "sha256", "strict=no", "invalid_parameter strict"),
        (ListArtifacts, "", "type=CLAIM&thread=1", "ok"),
        (ListArtifacts, "", "type=claim", "invalid_parameter type"),
        (ListArtifacts, "", "references=sha256:00", "invalid_parameter references"),
        (ListArtifacts, "", "thread=th_x", "invalid_parameter thread"),
        (ExportThread, "1", "limit=1&cursor=c", "ok"),
        (PublishArtifact, "", "x=1", "invalid_parameter x"),
    ] {
        let body = (operation == MarkThread).then_some(&b"{\"state\":\"closed\"}"[..]);
        let got = outcome(http(operation, id, query, body));
        assert_eq!(got, want, "{} {id} ?{query}", operation.name());
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

/// Goal: what is a path, query or body over HTTP is refused over MCP as it would be there. Method:
/// a row a case: operation, arguments, outcome.
#[test]
fn tools() {
    use Operation::*;
    let deep = "[".repeat(32);
    let too_deep = format!("{{\"limit\":{deep}}}");
    let too_deep_body = format!("{{\"from\":{deep}}}");
    for (operation, arguments, want) in [
        (GetManifest, "", "ok"),
        (GetManifest, "null", "ok"),
        (GetManifest, "{}", "ok"),
        (GetManifest, "{\"lang\":null}", "ok"),
        (GetManifest, "{\"x\":null}", "invalid_parameter x"),
        (GetManifest, "[]", "invalid_parameter"),
        (GetManifest, "{\"lang\":\"de\",\"lang\":\"de\"}", "invalid_parameter lang"),
        (GetManifest, "{\"idempotency_key\":1}", "ok"),
        (ListThreads, "{\"awaiting\":true,\"limit\":5,\"cursor\":17}", "ok"),
        (ListThreads, "{\"awaiting\":\"true\"}", "invalid_parameter awaiting"),
        (ListThreads, "{\"limit\":\"5\"}", "invalid_parameter limit"),
        (ListThreads, "{\"limit\":5.0}", "invalid_parameter limit"),
        (ListThreads, "{\"limit\":0}", "invalid_parameter limit"),
        (ListThreads, "{\"cursor\":\"\"}", "invalid_parameter cursor"),
        (ListThreads, "{\"cursor\":1.5}", "invalid_parameter cursor"),
        (ListThreads, "{\"cursor\":\"\\ud800\"}", "invalid_parameter cursor"),
        (ListThreads, &too_deep, "invalid_parameter limit"),
        (ReadThread, "{\"thread\":1}", "ok"),
        (ReadThread, "{\"thread\":\"th_1\",\"since\":null}", "ok"),
        (ReadThread, "{}", "invalid_parameter thread"),
        (ReadThread, "{\"thread\":null}", "invalid_parameter thread"),
        (ReadThread, "{\"thread\":0}", "thread_not_found"),
        (ReadThread, "{\"thread\":\"x\"}", "thread_not_found"),
        (ReadThread, "{\"thread\":1.0}", "thread_not_found"),
        (ReadThread, "{\"thread\":1,\"thread\":1}", "invalid_parameter thread"),
        (ReadThread, "{\"thread\":1,\"limit\":5}", "invalid_parameter limit"),
        (MarkThread, "{\"thread\":1,\"state\":\"closed\"}", "ok"),
        (MarkThread, "{\"state\":\"closed\"}", "invalid_parameter thread"),
        (MarkThread, "{\"thread\":1}", "invalid_body state"),
        (MarkThread, "{\"thread\":1,\"state\":\"closed\",\"x\":1}", "invalid_body x"),
        (
            MarkThread,
            "{\"thread\":1,\"thread\":1,\"state\":\"closed\"}",
            "invalid_parameter thread",
        ),
        (MarkThread, "{\"thread\":\"x\",\"state\":\"x\"}", "invalid_body state"),
        (
            MarkThread,
            &too_deep_body,
            "invalid_body from/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0",
        ),
        (MarkThread, "[]", "invalid_body"),
        (AttestClaim, "{\"claim\":\"cl_x\"}", "proof_missing evidence"),
        (AttestClaim, "{}", "invalid_parameter claim"),
        (ReopenThread, "{\"thread\":1,\"idempotency_key\":\"k\"}", "ok"),
        (ReopenThread, "{\"thread\":1,\"idempotency_key\":null}", "ok"),
        (
            ReopenThread,
            "{\"thread\":1,\"idempotency_key\":\"\"}",
            "invalid_parameter idempotency_key",
        ),
        (
            ReopenThread,
            "{\"thread\":1,\"idempotency_key\":\"a b\"}",
            "invalid_parameter idempotency_key",
        ),
        (ReopenThread, "{\"thread\":1,\"idempotency_key\":7}", "invalid_parameter idempotency_key"),
        (
            ReopenThread,
            "{\"idempotency_key\":\"a\",\"idempotency_key\":\"a\"}",
            "invalid_parameter idempotency_key",
        ),
        (PublishArtifact, "{}", "invalid_body artifact"),
        (PublishArtifact, "{\"artifact\":null}", "invalid_body artifact"),
        (PublishArtifact, "[]", "invalid_body"),
        (PublishArtifact, "{\"artifact\":{},\"artifact\":{}}", "invalid_body artifact"),
        (PublishArtifact, "{\"artifact\":{},\"x\":1}", "invalid_body x"),
        (
            PublishArtifact,
            "{\"artifact\":{},\"idempotency_key\":\"\"}",
            "invalid_parameter idempotency_key",
        ),
    ] {
        assert_eq!(outcome(mcp(operation, arguments)), want, "{} {arguments}", operation.name());
    }
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

/// Goal: every operation becomes the call that it is, defaults filled in.
#[test]
fn calls() {
    use Operation::*;
    let page = |cursor: &str, limit| Page { cursor: Some(cursor.into()), limit: Some(limit) };
    let th = ThreadId(1);
    let id = format!("sha256:{}0f", "0".repeat(62));
    let mut bytes = [0; 32];
    bytes[31] = 15;
    for (operation, path, query, want) in [
        (GetManifest, "", "lang=fr", Call::GetManifest(Language::Fr)),
        (GetManifest, "", "", Call::GetManifest(Language::En)),
        (ListThreads, "", "", Call::ListThreads(ThreadQuery::default())),
        (
            ListThreads,
            "",
            "state=decided&creator=local:ada&awaiting=false&locked=true&order=-created&cursor=c&limit=7",
            Call::ListThreads(ThreadQuery {
                state: Some(State::Decided),
                creator: Some("local:ada".into()),
                awaiting: Some(false),
                locked: Some(true),
                order: Order::CreatedDescending,
                page: page("c", 7),
            }),
        ),
        (ReadThread, "1", "", Call::ReadTree(th)),
        (ReadThread, "1", "format=flat&since=c&limit=7", Call::ReadFlat(th, page("c", 7))),
        (ReadEvents, "1", "cursor=c&limit=7", Call::ReadEvents(th, page("c", 7))),
        (
            ReadInbox,
            "",
            "",
            Call::ReadInbox(InboxQuery {
                extension: None,
                page: Page::default(),
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
        (ReadClaim, "cl_9", "", Call::ReadClaim(ClaimId(9))),
        (
            ListClaims,
            "1",
            "status=verified&cursor=c&limit=7",
            Call::ListClaims(th, Some(Status::Verified), page("c", 7)),
        ),
        (ReadArtifact, &id, "", Call::ReadArtifact(bytes)),
        (VerifyClosure, &id, "", Call::VerifyClosure(bytes, true)),
        (VerifyClosure, &id, "strict=false", Call::VerifyClosure(bytes, false)),
        (
            ListArtifacts,
            "",
            &format!("type=DECISION&references={id}&thread=th_1&cursor=c&limit=7"),
            Call::ListArtifacts(ArtifactQuery {
                kind: Some("DECISION".into()),
                references: Some(bytes),
                thread: Some(th),
                page: page("c", 7),
            }),
        ),
        (ExportThread, "1", "cursor=c&limit=7", Call::ExportThread(th, page("c", 7))),
    ] {
        assert_eq!(Operation::of(&want), operation);
        assert_eq!(http(operation, path, query, None), Ok(want), "{} ?{query}", operation.name());
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
        content_digest(operation, &call)
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
