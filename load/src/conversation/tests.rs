//! Every script against the state machine of the protocol, without a server.

use parley_protocol::act::Kind;
use parley_protocol::claim::{Evidence, EvidenceKind};
use parley_protocol::command::{Assertion, ClaimProof, Command, Envelope, Mark};
use parley_protocol::entry::Act as Entry;
use parley_protocol::identity::{AuthorKind, Principal, Right};
use parley_protocol::ids::{ClaimId, EventId, MessageId, Numbers, ThreadId, TokenId};
use parley_protocol::limits::Limits;
use parley_protocol::state::State as ServerState;
use parley_protocol::thread::{Context, Thread};
use parley_protocol::time::Millis;
use parley_protocol::wire;

use super::*;
use crate::script::Step;
use crate::verify::shadow::Act;
use crate::verify::transitions::State;

struct Counter(u64);

impl Numbers for Counter {
    fn message(&mut self) -> MessageId {
        self.0 += 1;
        MessageId(self.0)
    }

    fn event(&mut self) -> EventId {
        self.0 += 1;
        EventId(self.0)
    }

    fn claim(&mut self) -> ClaimId {
        self.0 += 1;
        ClaimId(self.0)
    }
}

/// A forum of one thread.
struct Forum {
    thread: Option<Thread>,
    numbers: Counter,
    now: u64,
}

fn role_pool() -> (Participants, RolePool) {
    let names = [
        ("local:load-0", None),
        ("local:load-1", None),
        ("local:load-2", None),
        ("local:load-0", Some("worker-1")),
        ("local:load-1", Some("worker-1")),
        ("local:load-2", Some("worker-1")),
        ("local:load-moderator-0", None),
        ("local:load-verifier-0", None),
    ];
    let mut participants = Participants::of_names(&names);
    for (place, member) in participants.members.iter_mut().enumerate() {
        member.line = if place < 6 { place % 3 } else { place };
        member.lock = place == 6;
    }
    let role_pool =
        RolePool { agents: 6, moderators: vec![6], verifiers: vec![7], lines: 3, body: 40, run: 0 };
    (participants, role_pool)
}

fn command(conversation: &Conversation, participants: &Participants) -> Command {
    let member = &participants.members[conversation.speaker()];
    let extension = member.extension.as_deref().map(Into::into);
    let claim = ClaimId(conversation.claim.map_or(0, |(id, _)| id));
    let mark = |state: &str| Mark {
        state: ServerState::parse(state).unwrap(),
        reason: None,
        extension: extension.clone(),
    };
    let url = EvidenceKind::Url;
    let piece = Evidence { kind: url, reference: "https://example.org/run/1".into(), note: None };
    let proof = |seal| ClaimProof {
        claim,
        evidence: vec![piece.clone()],
        seal,
        extension: extension.clone(),
    };
    match conversation.step().unwrap() {
        Step::Say(_, act, to) | Step::Refused(_, act, to, _) => Command::Post(Envelope {
            kind: Kind::parse(act.as_str()).unwrap(),
            thread: conversation.shadow.is_some().then_some(ThreadId(1)),
            parent: conversation.id(to).map(MessageId),
            extension,
            body: conversation.body_text().into(),
            provenance: None,
        }),
        Step::Mark(_, state) => Command::Mark(mark(state.as_str())),
        Step::Confirm(_, state) => Command::Confirm(mark(state.as_str())),
        Step::Reopen(_) => Command::Reopen(mark("open")),
        Step::Assert(_) => Command::Assert(Assertion {
            statement: conversation.body_text().into(),
            evidence: Vec::new(),
            supersedes: Vec::new(),
            valid_until: None,
            extension,
        }),
        Step::Attest(_, seal, _) => Command::Attest(proof(seal)),
        Step::Refute(_) => Command::Refute(proof(false)),
        Step::Inbox(_) => unreachable!("an inbox is no command"),
    }
}

impl Forum {
    /// Applies a command; the JSON of the answer, or the reason of the refusal.
    fn act(&mut self, principal: &Principal, command: &Command) -> Result<Vec<u8>, String> {
        self.now += 1;
        let limits = Limits::default();
        let mut context = Context {
            now: Millis(self.now),
            principal,
            limits: &limits,
            numbers: &mut self.numbers,
            key: None,
        };
        let entry = match &mut self.thread {
            None => {
                let entry = Thread::opening(&mut context, ThreadId(1), command);
                self.thread = Thread::open(&entry);
                Some(entry)
            }
            Some(thread) => {
                let entry = thread
                    .admit(&mut context, command)
                    .map_err(|refusal| refusal.reason.as_str().to_owned())?;
                if let Some(entry) = &entry {
                    thread.apply(entry);
                }
                entry
            }
        };
        Ok(self.answer(command, entry.as_ref()))
    }

    fn answer(&self, command: &Command, entry: Option<&Entry>) -> Vec<u8> {
        let thread = self.thread.as_ref().unwrap();
        let (mut out, cursor) = (Vec::new(), "16.1.ab");
        match command {
            Command::Post(_) => wire::posted(&mut out, entry.unwrap(), thread.summary(), cursor),
            Command::Mark(_) | Command::Confirm(_) | Command::Reopen(_) => {
                wire::marked(&mut out, thread.summary(), cursor, entry);
            }
            Command::Assert(_) | Command::Attest(_) | Command::Refute(_) => {
                wire::claim_changed(&mut out, thread.claims().last().unwrap(), Millis(self.now));
            }
        }
        out
    }
}

fn principal(participants: &Participants, place: usize) -> Principal {
    let member = &participants.members[place];
    let mut rights = vec![Right::Read, Right::Write];
    if member.lock {
        rights.push(Right::Lock);
    }
    if place == 7 {
        rights.push(Right::Verify);
    }
    Principal {
        token: TokenId(1),
        identity: member.identity.as_str().into(),
        author_kind: AuthorKind::Llm,
        rights: rights.into_iter().collect(),
        label: None,
    }
}

/// The shadow's name for an act of the protocol.
fn act_of(kind: Kind) -> Act {
    match kind {
        Kind::Ask => Act::Ask,
        Kind::Answer => Act::Answer,
        Kind::Clarify => Act::Clarify,
        Kind::Propose => Act::Propose,
        Kind::Object => Act::Object,
        Kind::Agree => Act::Agree,
        Kind::Inform => Act::Inform,
        Kind::Decide => Act::Decide,
        Kind::Retract => Act::Retract,
    }
}

/// Goal: the harness knows each act and each state of the protocol, and its scripts show each act.
/// Method: word by word.
#[test]
fn each_word_of_the_protocol_is_known() {
    for kind in Kind::ALL {
        let act = act_of(kind);
        assert_eq!(act.as_str(), kind.as_str());
        let is_said = |step: &Step| matches!(step, Step::Say(_, said, _) if *said == act);
        assert!(SCRIPTS.iter().any(|script| script.iter().any(is_said)), "{act:?}");
    }
    assert_eq!(State::ALL.map(State::as_str), ServerState::ALL.map(ServerState::as_str));
}

/// Goal: every script runs to its end, the expected refusals come, and the shadow agrees with the
/// protocol after each step. Method: 200 conversations with random roles, on the shipped state
/// machine.
#[test]
fn scripts_follow_the_protocol() {
    let (participants, role_pool) = role_pool();
    let mut finished = [0; SCRIPTS.len()];
    for serial in 0..200 {
        let mut conversation = Conversation::new(1, serial, &role_pool);
        let mut forum = Forum { thread: None, numbers: Counter(0), now: 1_000 };
        while let Some(step) = conversation.step() {
            if let Step::Inbox(role) = step {
                let place = conversation.roles[role as usize];
                assert!(waits_for(&participants, place, false, conversation.awaiting()));
                conversation.next_step();
                continue;
            }
            let command = command(&conversation, &participants);
            match forum.act(&principal(&participants, conversation.speaker()), &command) {
                Ok(json) => conversation.accept(&json, &participants).unwrap(),
                Err(reason) => {
                    assert!(conversation.refused(&reason), "{}", conversation.at_step(&reason));
                }
            }
        }
        finished[conversation.script] += 1;
    }
    assert!(finished.iter().all(|count| *count > 20), "{finished:?}");
}
