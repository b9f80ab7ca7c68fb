use std::sync::Arc;

use super::*;
use crate::act::Kind;
use crate::artifact::Identifier;
use crate::claim::{Attestation, Claim, ClaimStatus, Evidence, EvidenceKind, Refutation};
use crate::entry::{Act, Change, Event, Message, Provenance, Retraction};
use crate::identity::{AuthorKind, Right, Rights};
use crate::ids::{ClaimId, EventId, MessageId, ThreadId, TokenId};
use crate::refusal::Reason;
use crate::state::{Origin, State};
use crate::thread_summary::ThreadSummary;

const AT: Millis = Millis(1_796_068_800_000);

fn who(identity: &str, extension: Option<&str>) -> Participant {
    Participant { identity: identity.into(), extension: extension.map(Arc::from) }
}

/// An act that is the message `id` replying to `parent`, in thread 1.
fn said(id: u64, parent: Option<u64>, kind: Kind, body: &str) -> Act {
    Act {
        thread: ThreadId(1),
        seq: id - 1,
        at: AT.plus(id),
        by: who("local:ada", Some("worker-2")),
        author_kind: AuthorKind::Llm,
        change: Change::Message(Message {
            id: MessageId(id),
            parent: parent.map(MessageId),
            kind,
            body: body.into(),
            provenance: None,
        }),
        event: None,
        awaiting: None,
        awaiting_set: false,
        awaited_entry: 0,
        awaiting_was: None,
        key: None,
    }
}

fn opening() -> Act {
    let mut act = said(1, None, Kind::Ask, "Which \"bound\"?\n\u{1f600}\u{2028}");
    act.by = who("local:bob", None);
    act.awaiting = Some(Awaiting {
        message: MessageId(1),
        asker: act.by.clone(),
        due: Due::Anyone,
        since: act.at,
    });
    act.awaiting_set = true;
    act.event = Some(Event {
        id: EventId(1),
        from: None,
        to: State::Open,
        origin: Origin::Llm,
        confirmed: true,
        label: Some("KI · mod".into()),
        reason: None,
    });
    act
}

fn written(put: impl FnOnce(&mut JsonBuffer)) -> String {
    let text = written_deep(put);
    serde_json::from_str::<serde_json::Value>(&text).expect(&text);
    text
}

/// The same where a reader of JSON would go too deep.
fn written_deep(put: impl FnOnce(&mut JsonBuffer)) -> String {
    let mut out = JsonBuffer::new();
    put(&mut out);
    String::from_utf8(out).expect("UTF-8")
}

/// Goal: the objects of bindings.md §2, member by member, in order. Method: golden samples.
#[test]
fn messages() {
    assert_eq!(
        written(|out| message(out, &opening(), None)),
        "{\"id\":\"msg_1\",\"thread\":\"th_1\",\"parent\":null,\"kind\":\"ask\",\
         \"from\":{\"identity\":\"local:bob\",\"extension\":null},\"author_kind\":\"llm\",\
         \"label\":\"KI · mod\",\"body\":\"Which \\\"bound\\\"?\\n\u{1f600}\u{2028}\",\
         \"provenance\":null,\"created_at\":\"2026-11-30T20:00:00.001Z\",\
         \"awaiting\":{\"message\":\"msg_1\",\"due\":\"anyone\",\
         \"since\":\"2026-11-30T20:00:00.001Z\"},\"retracted\":null}"
    );
    let mut act = said(2, Some(1), Kind::Answer, "…");
    let Change::Message(inner) = &mut act.change else { unreachable!() };
    inner.provenance = Some(Provenance { model: Some("m".into()), client: None });
    act.awaiting = Some(Awaiting {
        message: MessageId(1),
        asker: who("local:bob", None),
        due: Due::Participant(who("human:eve", None)),
        since: AT,
    });
    let retraction = Retraction { by: who("local:bob", None), at: AT, message: MessageId(9) };
    assert_eq!(
        written(|out| message(out, &act, Some(&retraction))),
        "{\"id\":\"msg_2\",\"thread\":\"th_1\",\"parent\":\"msg_1\",\"kind\":\"answer\",\
         \"from\":{\"identity\":\"local:ada\",\"extension\":\"worker-2\"},\
         \"author_kind\":\"llm\",\"label\":null,\"body\":\"…\",\
         \"provenance\":{\"model\":\"m\",\"client\":null},\
         \"created_at\":\"2026-11-30T20:00:00.002Z\",\
         \"awaiting\":{\"message\":\"msg_1\",\
         \"due\":{\"identity\":\"human:eve\",\"extension\":null},\
         \"since\":\"2026-11-30T20:00:00.000Z\"},\
         \"retracted\":{\"by\":{\"identity\":\"local:bob\",\"extension\":null},\
         \"at\":\"2026-11-30T20:00:00.000Z\",\"message\":\"msg_9\"}}"
    );
    act.change = Change::Mark;
    assert_eq!(written(|out| message(out, &act, None)), "null");
}

/// As above, for threads and events.
#[test]
fn threads_and_events() {
    let act = opening();
    let summary = ThreadSummary::open(&act).expect("opens");
    assert_eq!(
        written(|out| thread(out, &summary, "17.1.ab")),
        "{\"id\":\"th_1\",\"number\":1,\"created_at\":\"2026-11-30T20:00:00.001Z\",\
         \"updated_at\":\"2026-11-30T20:00:00.001Z\",\
         \"creator\":{\"identity\":\"local:bob\",\"extension\":null},\"author_kind\":\"llm\",\
         \"subject\":\"Which \\\"bound\\\"?\\n\u{1f600}\u{2028}\",\"state\":\"open\",\
         \"state_origin\":\"llm\",\"state_confirmed_at\":\"2026-11-30T20:00:00.001Z\",\
         \"state_label\":\"KI · mod\",\"locked\":false,\
         \"awaiting\":{\"message\":\"msg_1\",\"due\":\"anyone\",\
         \"since\":\"2026-11-30T20:00:00.001Z\"},\"turn\":\"anyone\",\"message_count\":1,\
         \"claim_count\":0,\"cursor\":\"17.1.ab\"}"
    );
    assert_eq!(
        written(|out| event(out, &act)),
        "{\"id\":\"ev_1\",\"thread\":\"th_1\",\"from\":null,\"to\":\"open\",\"origin\":\"llm\",\
         \"confirmed\":true,\"label\":\"KI · mod\",\
         \"by\":{\"identity\":\"local:bob\",\"extension\":null},\
         \"at\":\"2026-11-30T20:00:00.001Z\",\"message\":\"msg_1\",\"reason\":null}"
    );
    assert_eq!(written(|out| event(out, &said(2, None, Kind::Inform, "x"))), "null");
}

/// As above, for claims; expiry depends on the time.
#[test]
fn claims() {
    let piece = |kind, reference: &str, note: Option<&str>| Evidence {
        kind,
        reference: reference.into(),
        note: note.map(Box::from),
    };
    let mut shown = Claim {
        id: ClaimId(3),
        thread: ThreadId(1),
        statement: "s".into(),
        author: who("local:ada", None),
        author_kind: AuthorKind::Llm,
        created_at: AT,
        status: ClaimStatus::Unverified,
        valid_until: Some(AT),
        evidence: [].into(),
        attestations: Vec::new(),
        refutation: None,
        supersedes: vec![ClaimId(1), ClaimId(2)],
        superseded_by: None,
    };
    assert_eq!(
        written(|out| claim(out, &shown, Millis(AT.0 - 1))),
        "{\"id\":\"cl_3\",\"thread\":\"th_1\",\"statement\":\"s\",\
         \"author\":{\"identity\":\"local:ada\",\"extension\":null},\"author_kind\":\"llm\",\
         \"created_at\":\"2026-11-30T20:00:00.000Z\",\"status\":\"unverified\",\
         \"expired\":false,\"valid_until\":\"2026-11-30T20:00:00.000Z\",\"evidence\":[],\
         \"attestations\":[],\"refutation\":null,\"supersedes\":[\"cl_1\",\"cl_2\"],\
         \"superseded_by\":null}"
    );
    shown.evidence =
        [piece(EvidenceKind::Log, "l", Some("")), piece(EvidenceKind::Note, "n", None)].into();
    let by = who("local:bob", None);
    shown.attestations =
        vec![Attestation { by: by.clone(), at: AT, evidence: Vec::new(), seal: true }.into()];
    shown.refutation = Some(Refutation { by, at: AT, evidence: Vec::new() }.into());
    shown.superseded_by = Some(ClaimId(9));
    let text = written(|out| claim(out, &shown, AT));
    assert_eq!(written(|out| claim_changed(out, &shown, AT)), format!("{{\"claim\":{text}}}"));
    for part in [
        "\"expired\":true",
        "\"evidence\":[{\"kind\":\"log\",\"ref\":\"l\",\"note\":\"\"},\
         {\"kind\":\"note\",\"ref\":\"n\",\"note\":null}]",
        "\"attestations\":[{\"by\":{\"identity\":\"local:bob\",\"extension\":null},\
         \"at\":\"2026-11-30T20:00:00.000Z\",\"evidence\":[],\"seal\":true}]",
        "\"refutation\":{\"by\":{\"identity\":\"local:bob\",\"extension\":null},\
         \"at\":\"2026-11-30T20:00:00.000Z\",\"evidence\":[]}",
        "\"superseded_by\":\"cl_9\"",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Goal: messages nest by parent, each level in order, however deep. Method: a small tree, and one
/// far deeper than any recursion would bear.
#[test]
fn trees() {
    let acts: Vec<Act> =
        [(1, None), (2, Some(1)), (3, None), (4, Some(2)), (5, Some(1)), (6, Some(3))]
            .into_iter()
            .map(|(id, parent)| said(id, parent, Kind::Inform, "x"))
            .collect();
    let summary = ThreadSummary::open(&opening()).expect("opens");
    let shown = |acts: &[Act]| -> String {
        let shown: Vec<_> = acts.iter().map(|act| ShownMessage { act, retraction: None }).collect();
        written_deep(|out| reading_tree(out, &summary, "c", &shown))
    };
    fn shape(value: &serde_json::Value) -> String {
        let items = value.as_array().expect("array").iter();
        let items = items.map(|item| {
            format!(
                "{}{}",
                item["id"].as_str().expect("id").replace("msg_", ""),
                shape(&item["replies"])
            )
        });
        format!("({})", items.collect::<Vec<_>>().join(" "))
    }
    let value: serde_json::Value = serde_json::from_str(&shown(&acts)).expect("JSON");
    assert_eq!(shape(&value["messages"]), "(1(2(4()) 5()) 3(6()))");
    assert_eq!(value["cursor"], "c");
    assert!(value.get("more").is_none());
    assert!(shown(&[]).ends_with(",\"messages\":[]}"));
    let chain: Vec<Act> =
        (1..=20_000).map(|id| said(id, (id > 1).then(|| id - 1), Kind::Inform, "x")).collect();
    let text = shown(&chain);
    assert_eq!(text.matches("\"replies\":[{").count(), 19_999);
    assert_eq!(text.matches('{').count(), text.matches('}').count());
}

/// Goal: pages and answers frame the objects given. Method: golden samples.
#[test]
fn answers_and_frames() {
    let summary = ThreadSummary::open(&opening()).expect("opens");
    let act = said(2, None, Kind::Inform, "x");
    let flat = |more| {
        let shown = written(|out| message(out, &act, None));
        written(|out| reading_flat(out, &summary, "c", shown.as_bytes(), more))
    };
    assert!(flat(true).contains("\"cursor\":\"c\",\"messages\":[{\"id\":\"msg_2\""));
    assert!(flat(true).ends_with("}],\"more\":true}"));
    let (one, whole) =
        (written(|out| message(out, &act, None)), written(|out| thread(out, &summary, "c")));
    let caused = written(|out| event(out, &opening()));
    let id = |byte| Identifier::from_digest([byte; 32]);
    let answers = [
        written(|out| posted(out, &act, &summary, "c")),
        written(|out| marked(out, &summary, "c", None)),
        written(|out| marked(out, &summary, "c", Some(&opening()))),
        written(|out| {
            let mut list = ListWriter::begin(out);
            inbox_item(list.item(), &summary, "c", &act);
            inbox_item(list.item(), &summary, "c", &act);
            list.end("d", false);
        }),
        written(|out| artifact_published(out, id(0), [id(1), id(255)])),
        written(|out| feed_ticket(out, "0af", AT)),
        written(|out| ListWriter::begin(out).end("c", true)),
    ];
    let item = format!("{{\"thread\":{whole},\"message\":{one}}}");
    let [zero, low, high] = ["00", "01", "ff"].map(|byte| format!("sha256:{}", byte.repeat(32)));
    let want = [
        format!("{{\"message\":{one},\"thread\":{whole}}}"),
        format!("{{\"thread\":{whole},\"event\":null}}"),
        format!("{{\"thread\":{whole},\"event\":{caused}}}"),
        format!("{{\"items\":[{item},{item}],\"cursor\":\"d\",\"more\":false}}"),
        format!("{{\"artifact_id\":\"{zero}\",\"unresolved\":[\"{low}\",\"{high}\"]}}"),
        "{\"ticket\":\"0af\",\"expires_at\":\"2026-11-30T20:00:00.000Z\"}".to_owned(),
        "{\"items\":[],\"cursor\":\"c\",\"more\":true}".to_owned(),
    ];
    assert_eq!(answers, want);
}

/// As above, for the frames of the feed.
#[test]
fn frames() {
    let ada = who("local:ada", None);
    let frames = [
        written(|out| frame::hello(out, "c", &ada, "inbox", 20, true)),
        written(|out| frame::message(out, "c", b"1", b"2")),
        written(|out| frame::event(out, "c", b"1", b"2")),
        written(|out| frame::claim(out, "c", b"1")),
        written(|out| frame::awaiting(out, "c", b"1", b"2")),
        written(|out| frame::settled(out, "c", ThreadId(5))),
        written(|out| frame::caught_up(out, "c")),
        written(|out| frame::subscribed(out, "c", [ThreadId(1), ThreadId(2)])),
        written(|out| frame::notice(out, "c", Reason::InvalidBody, "d")),
    ];
    let want = [
        "{\"type\":\"hello\",\"cursor\":\"c\",\
         \"participant\":{\"identity\":\"local:ada\",\"extension\":null},\
         \"scope\":\"inbox\",\"heartbeat_seconds\":20,\"resumed\":true}",
        "{\"type\":\"message\",\"cursor\":\"c\",\"message\":1,\"thread\":2}",
        "{\"type\":\"event\",\"cursor\":\"c\",\"event\":1,\"thread\":2}",
        "{\"type\":\"claim\",\"cursor\":\"c\",\"claim\":1}",
        "{\"type\":\"awaiting\",\"cursor\":\"c\",\"thread\":1,\"message\":2}",
        "{\"type\":\"settled\",\"cursor\":\"c\",\"thread\":\"th_5\"}",
        "{\"type\":\"caught_up\",\"cursor\":\"c\"}",
        "{\"type\":\"subscribed\",\"cursor\":\"c\",\"threads\":[\"th_1\",\"th_2\"]}",
        "{\"type\":\"notice\",\"cursor\":\"c\",\"reason\":\"invalid_body\",\"detail\":\"d\"}",
    ];
    assert_eq!(frames, want);
}

/// As above, for tokens.
#[test]
fn tokens() {
    let shown = ShownToken {
        id: TokenId(1),
        identity: "human:admin",
        author_kind: AuthorKind::Human,
        rights: Rights::HUMAN.with(Right::Admin),
        label: None,
        created_at: AT,
        expires_at: None,
        revoked_at: Some(AT),
    };
    assert_eq!(
        written(|out| token_created(out, &shown, "s")),
        "{\"token\":{\"id\":\"tok_1\",\"identity\":\"human:admin\",\"author_kind\":\"human\",\
         \"rights\":[\"read\",\"write\",\"lock\",\"verify\",\"admin\"],\"label\":null,\
         \"created_at\":\"2026-11-30T20:00:00.000Z\",\"expires_at\":null,\
         \"revoked_at\":\"2026-11-30T20:00:00.000Z\"},\"secret\":\"s\"}"
    );
}
