//! A thread as artifacts: one written by hand, and many made by rng.

use std::fmt::Write;

use parley_naive::rng::Rng;
use parley_protocol::act::Kind;
use parley_protocol::artifact::closure::{VerifyOptions, verify};
use parley_protocol::artifact::collection::Collection;
use parley_protocol::artifact::export::{Export, Exported, Survey, export};
use parley_protocol::artifact::{ArtifactType, Valid, validate};
use parley_protocol::claim::{Evidence, EvidenceKind};
use parley_protocol::command::{Assertion, ClaimProof, Command, Envelope, Mark};
use parley_protocol::entry::Act;
use parley_protocol::ids::{ClaimId, MessageId};
use parley_protocol::limits::Limits;
use parley_protocol::state::State;
use serde_json::{Value, json};

use super::{export_rules, naive};
use crate::generator;
use crate::harness::{THREAD, ThreadHarness, stored, token};

/// The artifacts of all acts.
pub fn artifacts(acts: &[(u64, Act)]) -> Vec<Exported> {
    export(acts.iter().map(|(_, act)| act)).collect()
}

/// A message of `who`, a name with or without an extension.
pub fn post(
    harness: &mut ThreadHarness,
    who: &str,
    kind: Kind,
    parent: Option<u64>,
    body: &str,
) -> u64 {
    let (name, extension) = who.split_once('/').map_or((who, None), |(name, x)| (name, Some(x)));
    let envelope = Envelope {
        kind,
        thread: harness.thread.as_ref().map(|_| THREAD),
        parent: parent.map(MessageId),
        extension: extension.map(Into::into),
        body: body.into(),
        provenance: None,
    };
    let act = play(harness, name, &Command::Post(envelope));
    act.message().expect("it is one").id.0
}

/// What `name` does; it must be admitted and change something.
pub fn play(harness: &mut ThreadHarness, name: &str, command: &Command) -> Act {
    harness.now = harness.now.plus(1_000);
    let done = harness.act(&token(name), command);
    done.expect("it is admitted").expect("it changes something")
}

/// A mark, or what is made like one.
pub fn mark(harness: &mut ThreadHarness, name: &str, make: fn(Mark) -> Command, state: State) {
    play(harness, name, &make(Mark { state, reason: None, extension: None }));
}

fn piece(kind: EvidenceKind, reference: &str, note: Option<&str>) -> Evidence {
    Evidence { kind, reference: reference.into(), note: note.map(Into::into) }
}

fn assertion(statement: &str, evidence: Vec<Evidence>, supersedes: Vec<ClaimId>) -> Command {
    let (statement, valid_until, extension) = (statement.into(), None, None);
    Command::Assert(Assertion { statement, evidence, supersedes, valid_until, extension })
}

/// The thread of the worked example in docs/guide/ARTIFACTS.md.
fn example() -> ThreadHarness {
    let mut harness = ThreadHarness::new(Limits::default());
    let s = &mut harness;
    let ask = post(s, "ada", Kind::Ask, None, "When do we ship?");
    let monday = post(s, "bob", Kind::Propose, Some(ask), "On Monday.");
    let holiday = post(s, "cyd", Kind::Object, Some(monday), "Monday is a holiday.");
    let tuesday = post(s, "bob/x", Kind::Answer, Some(holiday), "Then on Tuesday.");
    post(s, "cyd", Kind::Agree, Some(tuesday), "Fine with me.");
    let log = vec![
        piece(EvidenceKind::Log, "ci/7", None),
        piece(EvidenceKind::Note, "see it", Some("All pass.")),
    ];
    let claim = play(s, "bob", &assertion("The tests pass.", log, Vec::new()));
    let claim = claim.claims().next().expect("a claim");
    let url = vec![piece(EvidenceKind::Url, "https://example.org/7", Some(" "))];
    let proof = |claim, evidence| ClaimProof { claim, evidence, seal: false, extension: None };
    play(s, "vic", &Command::Attest(proof(claim, url)));
    let newer = play(s, "ada", &assertion("The tests pass on Linux.", Vec::new(), vec![claim]));
    let newer = newer.claims().next().expect("a claim");
    let commit = vec![piece(EvidenceKind::Commit, "0a1b2c3", Some("It fails here."))];
    play(s, "cyd", &Command::Refute(proof(newer, commit)));
    let hasty = post(s, "cyd", Kind::Object, Some(ask), "Nobody has tried it.");
    post(s, "cyd", Kind::Retract, Some(hasty), "Ada has.");
    post(s, "dan", Kind::Object, Some(tuesday), "Tuesday is too soon.");
    post(s, "eve", Kind::Inform, None, "The room is booked.");
    post(s, "ada", Kind::Decide, None, "Tuesday, once the fix is in.");
    mark(s, "hal", Command::Confirm, State::Decided);
    mark(s, "ada", Command::Mark, State::Closed);
    mark(s, "kim", Command::Confirm, State::Closed);
    harness
}

/// One line an artifact; an identifier is shown as `#` and the place of what it names.
fn shown(artifacts: &[Exported]) -> String {
    let mut text = String::new();
    for artifact in artifacts {
        let value: Value = serde_json::from_slice(&artifact.bytes).expect("JSON");
        let source = &value["extensions"]["parley/1"];
        let references = value["references"].as_array().expect("an array").iter();
        let references =
            references.map(|one| format!("{} {}", one["relation"], one["artifact_id"]));
        let references = references.collect::<Vec<_>>().join(", ");
        let kind = &value["artifact_type"];
        let who = &source["participant"];
        let source = json!([source["message"], source["claim"], source["event"], source["act"]]);
        let who = json!([who["identity"], who["extension"]]);
        let payload = &value["payload"];
        writeln!(text, "{kind} {source} {who} [{references}] {payload}")
            .expect("a string takes it");
    }
    for (place, artifact) in artifacts.iter().enumerate() {
        text = text.replace(&format!("\"{}\"", artifact.id), &format!("#{place}"));
    }
    text
}

/// Goal: each row of the table is mapped as it says. Method: a thread with something of every row,
/// compared with what was written by hand; its first artifact to the byte.
#[test]
fn by_hand() {
    let harness = example();
    let artifacts = artifacts(&harness.acts);
    let want = include_str!("export.txt");
    assert_eq!(shown(&artifacts), want, "\n{}", shown(&artifacts));
    // Written by hand, and named by the second implementation.
    let first = concat!(
        r#"{"artifact_id":"ID","artifact_type":"CLAIM","extensions":{"parley/1":{"act":"ask","#,
        r#""claim":null,"event":null,"message":"msg_42","participant":{"extension":null,"#,
        r#""identity":"local:ada"},"thread":"th_7","time":"2026-11-30T00:53:21.000Z"}},"#,
        r#""payload":{"statement":"When do we ship?"},"protocol_version":"0.1","references":[]}"#,
    );
    let id = naive::identifier(first.as_bytes()).expect("an artifact");
    let got = String::from_utf8(artifacts[0].bytes.clone()).expect("text");
    assert_eq!(got, first.replace("ID", &id));
}

/// Goal: the example in the documentation is what is exported. Method: compared to the byte;
/// `UPDATE=1` writes it anew.
#[test]
fn documented() {
    let bytes = artifacts(&example().acts).iter().fold(Vec::new(), |mut bytes, one| {
        bytes.extend_from_slice(&one.bytes);
        bytes.push(b'\n');
        bytes
    });
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/generated/example-thread.jsonl");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &bytes).expect("the example can be written");
    }
    let there = std::fs::read(path).expect("the example is there");
    assert!(there == bytes, "docs/generated/example-thread.jsonl is old: write it with UPDATE=1");
}

/// What export promises of any thread: canonical, valid, a chain, refers back only, and every
/// decision and termination verifies strictly. Gives the artifacts, read.
pub fn check(acts: &[(u64, Act)], place: &str) -> Vec<Valid> {
    let exported = artifacts(acts);
    let mut collection = Collection::default();
    let mut read: Vec<Valid> = Vec::new();
    for artifact in &exported {
        let valid = validate(&artifact.bytes).unwrap_or_else(|why| panic!("{place}: {why:?}"));
        assert_eq!((valid.id, &valid.canonical.bytes()), (artifact.id, &artifact.bytes), "{place}");
        assert!(valid.warnings.is_empty(), "{place}: {:?}", valid.warnings);
        let known = |id| read.iter().any(|earlier| earlier.id == id);
        let references = &valid.content.references;
        assert!(references.iter().all(|one| known(one.artifact_id)), "{place}: refers ahead");
        assert_eq!(references.first().map(|one| one.artifact_id), read.last().map(|one| one.id));
        collection.add(&artifact.bytes).expect("it is canonical");
        read.push(valid);
    }
    for valid in &read {
        let judged = [ArtifactType::Decision, ArtifactType::Termination];
        if valid.content.artifact_type.is_some_and(|it| judged.contains(&it)) {
            let Ok(report) = verify(&collection, &[valid.id], VerifyOptions::STRICT);
            assert!(report.ok, "{place}: {report:?}");
        }
    }
    assert_eq!(artifacts(&stored(acts)), exported, "{place}: other bytes from the stored form");
    let mut survey = Survey::default();
    for (_, act) in acts {
        survey.see(act);
    }
    assert_eq!(Export::new(survey).count(), exported.len() as u64, "{place}: count");
    read
}

/// Goal: any thread exports to what is promised, and objections, decisions and the end are judged
/// as the page says. Method: seeded threads, each after every tenth of its acts, against rules
/// written a second time.
#[test]
fn by_chance() {
    let first = 77_001;
    println!("first seed {first}");
    let mut seen = [0; 4];
    for seed in first..first + 160 {
        let harness = generator::thread(seed, 40 + Rng::new(seed).below(80) as usize);
        let acts = &harness.acts;
        for upto in (1..acts.len()).step_by(acts.len().div_ceil(10)).chain([acts.len()]) {
            let place = format!("seed {seed}, {upto} acts");
            let read = check(&acts[..upto], &place);
            let counts = export_rules::compare(&acts[..upto], &read, &place);
            seen.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    println!("final, provisional, resolved or withdrawn, terminations: {seen:?}");
    assert!(seen.iter().all(|count| *count >= 20), "too few to mean something: {seen:?}");
}

/// Goal: of over 300 objections a decision names the first 300 and is provisional, within the
/// size of an artifact even if the outcome grows as far as it can. Method: one with 300, one with
/// 301, both confirmed, decided in characters that normalization makes three times as long.
#[test]
fn many_objections() {
    for count in [300, 301] {
        let high = 100_000;
        let limits = Limits { consecutive_max: high, exchange_max: high, ..Limits::default() };
        let mut harness = ThreadHarness::new(limits);
        let ask = post(&mut harness, "ada", Kind::Ask, None, "Why?");
        for place in 0..count {
            post(&mut harness, "bob", Kind::Object, Some(ask), &format!("No, {place}."));
        }
        let outcome = "\u{1d160}".repeat(500);
        post(&mut harness, "hal", Kind::Decide, None, &outcome);
        let read = check(&harness.acts, &format!("{count} objections"));
        let decision = read.last().and_then(|last| last.content.decision.as_ref());
        let decision = decision.expect("the decision comes last");
        assert_eq!(decision.is_final, count == 300);
        let named: Vec<_> = decision.dispositions.iter().map(|one| one.objection).collect();
        let first: Vec<_> = read[1..=300].iter().map(|one| one.id).collect();
        assert_eq!((&named, &decision.unresolved), (&first, &first));
    }
}
