//! Seeded random commands: participants, commands that are mostly sensible and sometimes not, and a
//! clock that also jumps back. The same seed gives the same play on any machine.

use std::sync::Arc;

use parley_naive::rng::Rng;
use parley_protocol::act::Kind;
use parley_protocol::claim::{Evidence, EvidenceKind};
use parley_protocol::command::{Assertion, ClaimProof, Command, Envelope, Mark};
use parley_protocol::entry::Provenance;
use parley_protocol::identity::{Principal, Right};
use parley_protocol::ids::{ClaimId, MessageId, ThreadId};
use parley_protocol::limits::Limits;
use parley_protocol::state::State;
use parley_protocol::time::Millis;

use crate::harness::{THREAD, ThreadHarness, token};

const BODIES: &[&str] = &[
    "Does it hold?",
    "It holds, \"as said\"\t—\\ and so on.",
    "Ça dépend.\nZwei Zeilen: größer als ø.",
    "e\u{301} decomposed, é composed",
    "漢字とかな 🙂‍↕️",
    "{\"kind\":\"ask\"}",
    " leading and trailing ",
];

/// What happens next in a thread, by rng.
pub struct Generator {
    /// The source of random numbers.
    pub rng: Rng,
    /// The identities that take part.
    cast: Vec<Principal>,
    /// How willing this play is to claim, in percent; the rest are messages and marks.
    claims: u64,
    /// How willing it is to mark, confirm and reopen, in percent.
    marks: u64,
    /// How often two of the cast go on alone, in percent.
    pairs: u64,
}

impl Generator {
    /// The play of `seed`: its cast (two lines of models at least, a verifier, a lock holder, a
    /// human) and its temper.
    pub fn new(seed: u64) -> Self {
        let rng = Rng::new(seed);
        let names = ["ada", "bob", "cyd", "vic", "kim", "hal", "lea", "wim", "ian"];
        let count = 6 + rng.below(4) as usize;
        let cast = names[..count].iter().map(|name| token(name)).collect();
        let claims = rng.pick(&[0, 10, 30, 60]);
        let marks = rng.pick(&[4, 12, 30]);
        let pairs = rng.pick(&[0, 0, 50, 92]);
        Self { rng, cast, claims, marks, pairs }
    }

    /// Limits low enough to be reached, some of them.
    pub fn limits(&mut self) -> Limits {
        let mut limits = Limits::default();
        let rng = &self.rng;
        let lower = |limit: &mut u64, from: u64, to: u64| {
            if rng.percent(60) {
                *limit = from + rng.below(to - from + 1);
            }
        };
        lower(&mut limits.consecutive_max, 1, 5);
        lower(&mut limits.exchange_max, 2, 7);
        lower(&mut limits.thread_depth_max, 2, 9);
        lower(&mut limits.thread_messages_max, 5, 60);
        lower(&mut limits.claims_per_thread_max, 1, 8);
        lower(&mut limits.attestations_per_claim_max, 1, 3);
        limits
    }

    /// Where the clock stands next: mostly a little later, at times the same, far ahead, or back.
    pub fn clock(&mut self, now: Millis) -> Millis {
        let step = self.rng.below(2_000);
        match self.rng.below(20) {
            0 => Millis(now.0 - 100_000 - step),
            1 => now.plus(200_000 + step),
            2 => now,
            _ => now.plus(step),
        }
    }

    /// The next command, and whose it is.
    pub fn next(&mut self, harness: &ThreadHarness) -> (Principal, Command) {
        let extensions = [(12, None), (2, Some("x")), (1, Some("worker-2"))];
        let extension = self.rng.weighed(&extensions).map(Arc::from);
        if harness.thread.is_none() {
            let principal = self.rng.pick(&self.cast);
            let envelope = self.envelope(Kind::Ask, None, None, extension);
            return (principal, Command::Post(envelope));
        }
        let few = if self.rng.percent(self.pairs) { 2 } else { self.cast.len() };
        let principal = self.rng.pick(&self.cast[..few]);
        if self.rng.percent(self.claims) {
            return self.claim(harness, principal, extension);
        }
        if self.rng.percent(self.marks) {
            let mark = self.mark(harness, extension);
            return (principal, mark);
        }
        if self.rng.percent(25)
            && let Some(knot) = self.knot(harness, &principal, extension.clone())
        {
            return knot;
        }
        let weight = |kind| match kind {
            Kind::Ask | Kind::Propose | Kind::Object => 10,
            Kind::Answer => 20,
            Kind::Clarify => 16,
            Kind::Agree => 8,
            Kind::Inform => 14,
            Kind::Decide => 6,
            Kind::Retract => 9,
        };
        let kind = self.rng.weighed(&Kind::ALL.map(|kind| (weight(kind), kind)));
        let named = kind == Kind::Retract || self.rng.percent(60);
        let parent = named.then(|| self.message(harness));
        (principal, Command::Post(self.envelope(kind, Some(THREAD), parent, extension)))
    }

    /// A command about an awaited `clarify` (§3.4): it or what it asks back about is answered
    /// or retracted, or an answer to the latter is, often by who may retract anything.
    fn knot(
        &mut self,
        harness: &ThreadHarness,
        principal: &Principal,
        extension: Option<Arc<str>>,
    ) -> Option<(Principal, Command)> {
        let messages = || harness.acts.iter().filter_map(|(_, act)| act.message());
        let awaited = harness.opened().summary().awaiting.as_ref()?.message;
        let clarify = messages().find(|one| one.id == awaited && one.kind == Kind::Clarify)?;
        let about = clarify.parent?;
        let mut answers = messages().filter(|one| one.parent == Some(about));
        let answer = answers.find(|one| one.kind == Kind::Answer).map_or(about, |one| one.id);
        let (kind, parent) = self.rng.weighed(&[
            (4, (Kind::Answer, awaited)),
            (2, (Kind::Retract, awaited)),
            (1, (Kind::Retract, about)),
            (2, (Kind::Answer, about)),
            (2, (Kind::Retract, answer)),
            (1, (Kind::Clarify, awaited)),
        ]);
        let moderators: Vec<_> = self.cast.iter().filter(|one| one.moderates()).cloned().collect();
        let mut principal = principal.clone();
        if kind == Kind::Retract && !moderators.is_empty() && self.rng.percent(60) {
            principal = self.rng.pick(&moderators);
        }
        let envelope = self.envelope(kind, Some(THREAD), Some(parent), extension);
        Some((principal, Command::Post(envelope)))
    }

    /// Mostly one of the last messages, or what is awaited; at times any, or none of this thread.
    fn message(&mut self, harness: &ThreadHarness) -> MessageId {
        let messages = harness.acts.iter().filter_map(|(_, act)| act.message());
        let messages: Vec<_> = messages.map(|message| message.id).collect();
        let awaiting = harness.opened().summary().awaiting.as_ref();
        match (self.rng.below(20), awaiting) {
            (0, _) => MessageId(1 + self.rng.below(2) * 8_000_000),
            (1..=8, Some(awaiting)) => awaiting.message,
            (9..=15, _) => self.rng.pick(&messages[messages.len().saturating_sub(5)..]),
            _ => self.rng.pick(&messages),
        }
    }

    fn envelope(
        &mut self,
        kind: Kind,
        thread: Option<ThreadId>,
        parent: Option<MessageId>,
        extension: Option<Arc<str>>,
    ) -> Envelope {
        let body = self.rng.pick(BODIES).into();
        let provenance = self.rng.percent(10).then(|| Provenance {
            model: Some("some-model".into()),
            client: self.rng.percent(50).then(|| "some-client".into()),
        });
        Envelope { kind, thread, parent, extension, body, provenance }
    }

    fn mark(&mut self, harness: &ThreadHarness, extension: Option<Arc<str>>) -> Command {
        let there = harness.opened().summary().state;
        let state = if self.rng.percent(30) { there } else { self.rng.pick(&State::ALL) };
        let reason = self.rng.percent(40).then(|| self.rng.pick(BODIES).into());
        match self.rng.below(10) {
            0..=4 => Command::Mark(Mark { state, reason, extension }),
            5..=6 => {
                let state = if self.rng.percent(50) { there } else { state };
                Command::Confirm(Mark { state, reason, extension })
            }
            _ => Command::Reopen(Mark { state: State::Open, reason, extension }),
        }
    }

    fn evidence(&mut self, proof: bool) -> Vec<Evidence> {
        let hex = "0123456789abcdef".repeat(4);
        let count = u64::from(proof) + self.rng.below(3);
        let mut pieces = Vec::new();
        for _ in 0..count {
            let kind = self.rng.pick(&EvidenceKind::ALL);
            let reference = match kind {
                EvidenceKind::Url => "https://example.org/a?b#c".to_owned(),
                EvidenceKind::Hash | EvidenceKind::Artifact => format!("sha256:{hex}"),
                EvidenceKind::Commit => hex[..7 + self.rng.below(34) as usize].to_owned(),
                _ => self.rng.pick(BODIES).to_owned(),
            };
            let note = self.rng.weighed(&[(3, None), (1, Some("")), (2, Some("Look here."))]);
            let (reference, note) = (reference.into(), note.map(Into::into));
            pieces.push(Evidence { kind, reference, note });
        }
        if proof && !pieces.iter().any(|piece| piece.kind.proves()) {
            pieces[0] = Evidence { kind: EvidenceKind::Log, reference: "log 7".into(), note: None };
        }
        pieces
    }

    fn some_claim(&mut self, harness: &ThreadHarness) -> ClaimId {
        let claims: Vec<_> = harness.opened().claims().map(|claim| claim.id).collect();
        if claims.is_empty() || self.rng.percent(3) {
            return ClaimId(9_000_000);
        }
        self.rng.pick(&claims)
    }

    /// An assertion, an attestation, a seal or a refutation; a seal only by who may give one,
    /// since others come no further than the door.
    fn claim(
        &mut self,
        harness: &ThreadHarness,
        mut principal: Principal,
        extension: Option<Arc<str>>,
    ) -> (Principal, Command) {
        let made = harness.opened().summary().claim_count;
        if made == 0 || self.rng.percent(35) {
            let assertion = self.assertion(harness, extension);
            return (principal, Command::Assert(assertion));
        }
        let claim = self.some_claim(harness);
        let evidence = self.evidence(true);
        if self.rng.percent(12) {
            let proof = ClaimProof { claim, evidence, seal: false, extension };
            return (principal, Command::Refute(proof));
        }
        let verifies = |principal: &Principal| principal.rights.has(Right::Verify);
        let mut seal = self.rng.percent(40);
        if seal && !verifies(&principal) {
            let verifiers: Vec<_> = self.cast.iter().filter(|one| verifies(one)).cloned().collect();
            seal = !verifiers.is_empty();
            principal = if seal { self.rng.pick(&verifiers) } else { principal };
        }
        (principal, Command::Attest(ClaimProof { claim, evidence, seal, extension }))
    }

    fn assertion(&mut self, harness: &ThreadHarness, extension: Option<Arc<str>>) -> Assertion {
        let mut supersedes = Vec::new();
        if self.rng.percent(40) {
            for _ in 0..=self.rng.below(3) {
                let claim = self.some_claim(harness);
                if !supersedes.contains(&claim) {
                    supersedes.push(claim);
                }
            }
        }
        let until = 1 + self.rng.below(60_000);
        let valid_until = self.rng.percent(30).then(|| harness.now.plus(until));
        let statement = self.rng.pick(BODIES).into();
        let evidence = self.evidence(false);
        Assertion { statement, evidence, supersedes, valid_until, extension }
    }
}

/// A whole thread by rng: `steps` commands, of which some are refused.
pub fn thread(seed: u64, steps: usize) -> ThreadHarness {
    let mut generator = Generator::new(seed);
    let mut harness = ThreadHarness::new(generator.limits());
    for _ in 0..steps {
        let (principal, command) = generator.next(&harness);
        // A refusal is an outcome like another here.
        let _ = harness.act(&principal, &command);
        harness.now = generator.clock(harness.now);
    }
    harness
}
