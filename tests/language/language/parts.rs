//! The small parts that threads are made of: entries, positions, heads, who is concerned.

use parley_protocol::act::{Kind, ParentRule};
use parley_protocol::command::Command;
use parley_protocol::entry::{Act, Awaiting, Due, Entry, Position, StoredOutcome, slot};
use parley_protocol::entry::{KeyUse, Published};
use parley_protocol::identity::Participant;
use parley_protocol::ids::{MessageId, ThreadId};
use parley_protocol::refusal::{Refusal, StoredRefusal};
use parley_protocol::state::State;
use parley_protocol::thread_summary::ThreadSummary;

use crate::generator;
use crate::harness::{MORNING, ThreadHarness, token};
use crate::scenario::{claim, play, read};

fn someone(name: &str) -> Participant {
    let (name, extension) = name.split_once('/').map_or((name, None), |(a, b)| (a, Some(b)));
    token(name).participant(extension.map(std::sync::Arc::from).as_ref())
}

/// Goal: an inbox shows what its participant may answer, and the bare line what is due to any of
/// its extensions (§7). Method: a row a case: asker, due, listener, with and without questions to
/// anyone.
#[test]
fn concerns() {
    for (asker, due, listener, with, without) in [
        ("a", "anyone", "b", true, false),
        ("a", "anyone", "b/x", true, false),
        ("a", "anyone", "a", false, false),
        ("a", "anyone", "a/x", true, false),
        ("a/x", "anyone", "a/x", false, false),
        ("a/x", "anyone", "a/y", true, false),
        ("a/x", "anyone", "a", true, false),
        ("a/x", "anyone", "b", true, false),
        ("a", "b", "b", true, true),
        ("a", "b", "b/x", false, false),
        ("a", "b", "a", false, false),
        ("a", "b", "c", false, false),
        ("a", "b/x", "b/x", true, true),
        ("a", "b/x", "b", true, true),
        ("a", "b/x", "b/y", false, false),
        ("a", "b/x", "a/x", false, false),
        ("a", "a/x", "a/x", true, true),
        ("a", "a/x", "a", true, true),
        ("a/x", "a", "a", true, true),
        ("a/x", "a", "a/x", false, false),
        ("a", "h", "h", true, true),
    ] {
        let who = match due {
            "anyone" => Due::Anyone,
            name => Due::Participant(someone(name)),
        };
        let awaiting =
            Awaiting { message: MessageId(1), asker: someone(asker), due: who, since: MORNING };
        let listener_is = someone(listener);
        let got = (awaiting.concerns(&listener_is, true), awaiting.concerns(&listener_is, false));
        assert_eq!(got, (with, without), "{asker} asks {due}: {listener}");
    }
}

/// Goal: what one act causes lies in the order message, event, claims, awaiting, settled, and its
/// end is the last of them (bindings.md §6). Method: a row a case, the act played.
#[test]
fn last_slots() {
    let table = [
        ("", "a:ask", slot::AWAITING),
        ("a:ask", "b:inform", slot::MESSAGE),
        ("a:ask b:agree", "b:inform>1", slot::MESSAGE),
        ("a:ask b:agree", "b:ask", slot::AWAITING),
        ("a:ask", "b:ask", slot::SETTLED),
        ("a:ask", "b:answer", slot::SETTLED),
        ("a:ask b:agree", "b:answer>1", slot::EVENT),
        ("a:ask b:clarify", "a:answer", slot::SETTLED),
        ("a:ask b:clarify", "b:retract>2", slot::SETTLED),
        ("a:ask b:agree", "b:retract>2", slot::MESSAGE),
        ("a:ask", "a:mark=answered", slot::EVENT),
        ("a:ask", "a:mark=decided", slot::SETTLED),
        ("a:ask b:agree", "a:mark=decided", slot::EVENT),
        ("a:ask b:agree", "a:decide", slot::EVENT),
        ("a:ask h:mark=closed", "a:reopen", slot::EVENT),
        ("a:ask a:mark=decided b:ask", "k:confirm=decided", slot::SETTLED),
        ("a:ask", "k:confirm=open", slot::EVENT),
        ("a:ask", "b:claim", slot::CLAIMS),
        ("a:ask b:claim", "c:attest@1", slot::CLAIMS),
        ("a:ask b:claim", "c:refute@1", slot::CLAIMS),
        ("a:ask b:claim", "b:claim^1", slot::CLAIMS + 1),
        ("a:ask 8*b:claim", "b:claim^1,2,3,4,5,6,7,8", slot::CLAIMS + 8),
    ];
    for (text, change, want) in table {
        let mut harness = play(text);
        let (principal, command) = read(&harness, change);
        let act = harness.act(&principal, &command).unwrap().expect("something happens");
        assert_eq!(act.last_slot(), want, "`{text}` then {change}");
        let entry = harness.acts.last().unwrap().0;
        assert_eq!(harness.opened().summary().position, Position::of(entry, want));
    }
    let order = [slot::MESSAGE, slot::EVENT, slot::CLAIMS, slot::AWAITING, slot::SETTLED];
    assert!(order.is_sorted() && slot::SETTLED < slot::END && slot::END < slot::COUNT);
    const { assert!(slot::CLAIMS + 8 < slot::AWAITING, "nine claims have room") };
}

/// Goal: the claims of an act come as one frame each, the new one first. Method: one that
/// supersedes three.
#[test]
fn claims_of_an_act() {
    let mut harness = play("a:ask b:claim b:claim b:claim");
    let (principal, command) = read(&harness, "b:claim^3,1");
    let act = harness.act(&principal, &command).unwrap().unwrap();
    let want = [4, 3, 1].map(|rank| claim(&harness, rank));
    assert_eq!(act.claims().collect::<Vec<_>>(), want);
    assert!(act.message().is_none());
}

/// Goal: positions are entry and slot, and a cursor after an entry lies behind all it caused.
/// Method: a few entries.
#[test]
fn positions() {
    for entry in [1, 2, 77, (1 << 53) - 1] {
        assert_eq!(Position::of(entry, slot::MESSAGE).0, entry * 16);
        for slot in 0..slot::COUNT {
            assert_eq!(Position::of(entry, slot).entry(), entry);
            assert!(Position::of(entry, slot) <= Position::after(entry));
            assert!(Position::after(entry) < Position::of(entry + 1, 0));
        }
    }
}

fn entries() -> Vec<Entry> {
    let key = KeyUse { key: [7; 16], content: [9; 16] };
    let refused = Refusal::thread_closed().of(ThreadId(3));
    let mut entries = vec![
        Entry::Artifact(Box::new(Published {
            id: [3; 32],
            at: MORNING,
            bytes: b"{}".to_vec().into(),
            references: vec![[1; 32], [2; 32]],
            kind: "CLAIM".into(),
            thread: Some(ThreadId(4)),
            key: Some((key, b"{}".to_vec().into())),
        })),
        Entry::Outcome(MORNING, key, StoredOutcome::Unchanged(ThreadId(5))),
        Entry::Outcome(MORNING, key, StoredOutcome::Published(b"{}".to_vec().into())),
        Entry::Outcome(MORNING, key, StoredOutcome::Refused(StoredRefusal::from(&refused))),
    ];
    for seed in 0..20 {
        let acts = generator::thread(seed, 60).acts;
        entries.extend(acts.into_iter().map(|(_, act)| Entry::Act(Box::new(act))));
    }
    entries
}

/// Goal: every entry comes back from its stored form, and nothing that is cut, prolonged or of
/// another version is taken for one. Method: entries of every sort, and of random threads.
#[test]
fn stored_form() {
    for entry in entries() {
        let bytes = entry.encode(Vec::new());
        assert_eq!(Entry::decode(&bytes).as_ref(), Some(&entry));
        for end in 0..bytes.len() {
            assert_eq!(Entry::decode(&bytes[..end]), None, "cut at {end}: {entry:?}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(Entry::decode(&longer), None, "prolonged: {entry:?}");
        let newer = [&[bytes[0] + 1], &bytes[1..]].concat();
        assert_eq!(Entry::decode(&newer), None, "of another version");
        let behind = entry.encode(vec![1, 2, 3]);
        assert_eq!(behind, [&[1, 2, 3], &bytes[..]].concat(), "what stands before stays");
    }
}

/// Goal: an entry says when it happened, under which key, and its act. Method: one of each sort.
#[test]
fn entry_parts() {
    let entries = entries();
    assert!(entries[..4].iter().all(|entry| entry.at() == MORNING && entry.key().is_some()));
    assert!(entries[..4].iter().all(|entry| entry.act().is_none()));
    let act = entries[4].act().unwrap();
    assert_eq!((entries[4].at(), entries[4].key()), (act.at, None));
}

fn opening(body: &str) -> (ThreadHarness, Act) {
    let mut harness = play("");
    let (principal, command) = read(&harness, "a/x:ask");
    let Command::Post(mut envelope) = command else { panic!("an ask is a post") };
    envelope.body = body.into();
    let act = harness.act(&principal, &Command::Post(envelope)).ok().flatten();
    (harness, act.expect("an opening is admitted"))
}

/// Goal: the subject is the first 80 characters, counted as scalar values. Method: a row a case.
#[test]
fn subjects() {
    for (body, want) in [
        ("short".to_owned(), "short".to_owned()),
        ("x".repeat(80), "x".repeat(80)),
        ("x".repeat(81), "x".repeat(80)),
        ("é漢🙂\n".repeat(30), "é漢🙂\n".repeat(20)),
        ("e\u{301}".repeat(50), "e\u{301}".repeat(40)),
    ] {
        let (harness, _) = opening(&body);
        assert_eq!(*harness.opened().summary().subject, *want);
    }
}

/// Goal: only an opening opens, and what it opens is as it says. Method: the acts of a play.
#[test]
fn openings() {
    let (harness, act) = opening("Does it hold?");
    let mut head = ThreadSummary::open(&act).unwrap();
    assert_eq!((head.position, head.awaiting_entry, head.awaited_entry), (Position(0), 0, 0));
    head.stamp(&act, 12);
    assert_eq!((head.awaiting_entry, head.awaited_entry), (12, 12));
    assert_eq!((head.seq, head.message_count, head.claim_count), (1, 1, 0));
    assert_eq!((head.created_at, head.updated_at), (MORNING, MORNING));
    assert_eq!(head.creator, someone("a/x"));
    assert_eq!(harness.opened().summary().state, State::Open);
    let later = play("a:ask b:inform b:claim a:mark=decided");
    assert!(later.acts[1..].iter().all(|(_, act)| ThreadSummary::open(act).is_none()));
}

/// Goal: what `awaiting` was set by, and where the awaited message lies, is known by entry also
/// when the turn goes back (§3.4). Method: a clarify answered.
#[test]
fn awaited_entries() {
    let harness = play("a:ask b:clarify a:answer c:inform");
    let (head, acts) = (harness.opened().summary(), &harness.acts);
    assert_eq!((head.awaiting_entry, head.awaited_entry), (acts[2].0, acts[0].0));
    assert_eq!(head.awaiting.as_ref().unwrap().since, acts[2].1.at);
    assert_eq!(head.position, Position::of(acts[3].0, slot::MESSAGE));
}

/// Goal: a claim expires when its time has come, not before, and without one never. Method: a
/// row a case.
#[test]
fn expiry() {
    for (text, later, want) in
        [("b:claim", 9_999, false), ("b:claim~10", 9, false), ("b:claim~10", 10, true)]
    {
        let mut harness = play("a:ask");
        let (principal, command) = read(&harness, text);
        harness.act(&principal, &command).unwrap();
        let claim = harness.opened().claims().next().unwrap();
        assert_eq!(claim.expired(harness.now.plus(later)), want, "{text} after {later}");
        assert_eq!(harness.opened().claim(claim.id), Some(claim));
    }
}

/// Goal: the table of acts is the page's (§3). Method: it is written out once more.
#[test]
fn acts() {
    use ParentRule::{Optional, Reply, Required};
    let table = [
        (Kind::Ask, "ask", Optional, true, Some(State::Open)),
        (Kind::Answer, "answer", Reply, false, Some(State::Answered)),
        (Kind::Clarify, "clarify", Reply, true, None),
        (Kind::Propose, "propose", Optional, true, None),
        (Kind::Object, "object", Reply, true, None),
        (Kind::Agree, "agree", Reply, false, None),
        (Kind::Inform, "inform", Optional, false, None),
        (Kind::Decide, "decide", Optional, false, Some(State::Decided)),
        (Kind::Retract, "retract", Required, false, None),
    ];
    assert_eq!(table.map(|row| row.0), Kind::ALL);
    for (kind, word, parent, expects, mark) in table {
        assert_eq!((kind.as_str(), Kind::parse(word)), (word, Some(kind)));
        assert_eq!(
            (kind.spec().parent, kind.expects_reply(), kind.mark()),
            (parent, expects, mark)
        );
    }
}
