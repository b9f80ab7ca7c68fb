//! What was asked and what came of it: the auditor of what is in flight. An act that was not
//! acknowledged may be there or not, whole or not at all; whatever was told stays true.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parley::forum::Answer;
use parley_kit::ensure;
use parley_protocol::arguments::{content_digest, key_digest};
use parley_protocol::command::Command;
use parley_protocol::entry::{Act, KeyUse};
use parley_protocol::identity::Principal;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Reason, Refusal};
use serde_json::Value;

use super::acts::Wish;
use crate::reference::{Reference, Verdict, shows};

/// An act that a participant wants done, once.
#[derive(Debug)]
pub struct Intent {
    /// The text that no other has.
    pub text: String,
    pub principal: Principal,
    pub wish: Wish,
    pub key: Option<Arc<str>>,
    pub used: Option<KeyUse>,
    /// What the language has said to it, at any of the moments at which it may have been judged.
    pub verdicts: BTreeSet<Verdict>,
    /// The act that it became: its entry, and what answers show of it.
    pub done: Option<(u64, Value)>,
    /// Whether it may still turn up in the log: it is under way, or unknown.
    pub open: bool,
    /// Whether a call for it was told that this is unknown. What turns another call away before
    /// that does not tell either.
    pub unsure: bool,
}

/// Whether a refusal leaves it open if the act was stored (parley.md §10).
fn is_unsure(reason: Reason) -> bool {
    matches!(reason, Reason::Internal | Reason::StorageUnavailable)
}

/// One call for an intent.
#[derive(Debug)]
pub struct Attempt {
    pub intent: usize,
    /// The step at which it was begun.
    pub begun: u64,
    /// Panics of actors before that.
    pub panics: u64,
}

/// What is known of an idempotency key.
#[derive(Debug, Default)]
pub struct Known {
    /// The intents that it was used for.
    pub intents: BTreeSet<usize>,
    /// The one that it stands for, once an answer said so, and that answer.
    pub first: Option<(usize, String)>,
    /// The entry that holds its outcome.
    pub stored: Option<u64>,
}

/// Everything that was asked.
#[derive(Debug, Default)]
pub struct Auditor {
    pub intents: Vec<Intent>,
    pub attempts: Vec<Attempt>,
    pub under_way: BTreeSet<usize>,
    /// Calls whose callers hear no answer any more, and which go on all the same.
    ghosts: BTreeSet<usize>,
    pub by_text: BTreeMap<String, usize>,
    pub keys: BTreeMap<[u8; 16], Known>,
}

/// When something that excuses a refusal was there last, as steps, and what there was of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Excuses {
    /// The store took no writes, or had reason not to.
    pub trouble: u64,
    /// All permits were taken.
    pub crowded: u64,
    /// Panics of actors so far, or of those of inboxes, and of the actor of this thread.
    pub panics: u64,
    pub panics_here: u64,
    /// The server is being stopped.
    pub stopping: bool,
    /// A rate is in force.
    pub rated: bool,
    /// The token is revoked.
    pub revoked: bool,
}

/// Restarts of one thread's actor from which on it may refuse for a while.
const RESTARTS_MAX: u64 = 5;

impl Auditor {
    /// A participant wants something; gives its number.
    pub fn want(
        &mut self,
        text: String,
        principal: &Principal,
        wish: Wish,
        key: Option<Arc<str>>,
    ) -> usize {
        let used = key.as_deref().map(|key| KeyUse {
            key: key_digest(&principal.identity, key),
            content: content_digest(wish.thread, &wish.command),
        });
        let number = self.intents.len();
        if let Some(used) = used {
            self.keys.entry(used.key).or_default().intents.insert(number);
        }
        self.by_text.insert(text.clone(), number);
        self.intents.push(Intent {
            text,
            principal: principal.clone(),
            wish,
            key,
            used,
            verdicts: BTreeSet::new(),
            done: None,
            open: false,
            unsure: false,
        });
        number
    }

    /// A call for `intent` begins.
    pub fn begin(
        &mut self,
        intent: usize,
        begun: u64,
        panics: u64,
        reference: &Reference,
    ) -> usize {
        let attempt = self.attempts.len();
        self.attempts.push(Attempt { intent, begun, panics });
        self.under_way.insert(attempt);
        self.intents[intent].open = true;
        self.judge(intent, reference);
        attempt
    }

    fn judge(&mut self, intent: usize, reference: &Reference) {
        let intent = &mut self.intents[intent];
        let verdict = match (intent.wish.home, &intent.wish.command) {
            (Some(home), command) => reference.verdict(&intent.principal, home, command),
            (None, Command::Attest(_) | Command::Refute(_)) => {
                Verdict::Refused(Reason::ClaimNotFound)
            }
            (None, _) => Verdict::Done,
        };
        intent.verdicts.insert(verdict);
    }

    /// `thread` has changed: a call that is being judged in it may have met this state.
    pub fn changed(&mut self, thread: ThreadId, reference: &Reference) {
        let home = |it: usize| self.intents[self.attempts[it].intent].wish.home;
        let calls = self.under_way.iter().chain(&self.ghosts).copied();
        let concerned: Vec<usize> = calls.filter(|it| home(*it) == Some(thread)).collect();
        for attempt in concerned {
            self.judge(self.attempts[attempt].intent, reference);
        }
    }

    /// The caller went away, or the server did: what comes of it is unknown.
    pub fn lose(&mut self, attempt: usize) {
        if self.under_way.remove(&attempt) {
            self.ghosts.insert(attempt);
        }
    }

    /// How many calls may hold a permit.
    pub fn busy(&self) -> usize {
        self.under_way.len() + self.ghosts.len()
    }

    /// Nothing is under way any more.
    pub fn rest(&mut self) {
        self.ghosts.clear();
    }

    /// A server has read what is stored: what is not there now never will be.
    pub fn settle(&mut self) {
        for intent in &mut self.intents {
            (intent.open, intent.unsure) = (false, false);
        }
        self.ghosts.clear();
    }

    /// The log holds an act; gives the intent that it is of.
    ///
    /// # Errors
    /// If it should not be there.
    pub fn find(&mut self, number: u64, text: &str, act: &Act) -> Result<usize, String> {
        let place = *self.by_text.get(text).ok_or_else(|| format!("nobody did {act:?}"))?;
        let intent = &mut self.intents[place];
        if let Some((before, _)) = &intent.done {
            return Err(format!("done twice, at {before} and {number}: {act:?}"));
        }
        ensure(intent.open, || format!("stored, though refused or lost before: {act:?}"))?;
        Ok(place)
    }

    /// The log holds the outcome of a key.
    ///
    /// # Errors
    /// If it holds one already.
    pub fn remember(&mut self, number: u64, used: &KeyUse) -> Result<(), String> {
        let known = self.keys.get_mut(&used.key).ok_or("a key that nobody used is stored")?;
        match known.stored.replace(number) {
            None => Ok(()),
            Some(before) => Err(format!("one key has outcomes at {before} and {number}")),
        }
    }

    /// A call has its answer. Checked before anything else happens, so that what is told is what
    /// the log holds at this moment.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn answered(
        &mut self,
        attempt: usize,
        outcome: &Result<Answer, Refusal>,
        excuses: Excuses,
    ) -> Result<Told, String> {
        self.under_way.remove(&attempt);
        let Attempt { intent, begun, panics, .. } = self.attempts[attempt];
        let told = Told::of(outcome);
        let checked = match &told {
            Told::Done { essence, body } => self.check_done(intent, essence, body),
            Told::Refused { reason, essence } => {
                let excused = excuses.of(*reason, begun, panics);
                self.check_refused(intent, *reason, essence, excused)
            }
        };
        let mut calls = self.under_way.iter().chain(&self.ghosts);
        let others = calls.any(|it| self.attempts[*it].intent == intent);
        let it = &mut self.intents[intent];
        match &told {
            Told::Refused { reason, .. } if is_unsure(*reason) => it.unsure = true,
            Told::Refused { reason, .. } if it.unsure && reason.status() >= 429 => {}
            _ if others => {}
            _ => (it.open, it.unsure) = (false, false),
        }
        let replayed = outcome.as_ref().is_ok_and(|answer| answer.replayed);
        checked.and_then(|()| self.check_key(intent, &told, replayed))?;
        Ok(told)
    }

    fn check_done(&self, place: usize, essence: &str, body: &Value) -> Result<(), String> {
        let intent = &self.intents[place];
        let text = &intent.text;
        if essence == UNCHANGED {
            let may = intent.verdicts.contains(&Verdict::Unchanged);
            return ensure(may, || format!("{text}: it should have changed it"));
        }
        let Some((entry, shown)) = &intent.done else {
            return Err(format!("acknowledged and not there: {text}: {body}"));
        };
        ensure(shows(body, shown), || format!("{text}: told {body}, entry {entry} holds {shown}"))
    }

    fn check_refused(
        &self,
        place: usize,
        reason: Reason,
        essence: &str,
        excused: bool,
    ) -> Result<(), String> {
        let intent = &self.intents[place];
        let word = reason.as_str();
        if reason.status() >= 429 {
            return ensure(excused, || format!("{}: {word} for nothing", intent.text));
        }
        let known = intent.used.and_then(|used| self.keys.get(&used.key));
        if reason == Reason::IdempotencyConflict {
            let others = known.is_some_and(|known| known.intents.len() > 1);
            return ensure(others, || format!("{}: {word}", intent.text));
        }
        let (text, verdicts) = (&intent.text, &intent.verdicts);
        ensure(intent.done.is_none(), || format!("{text}: refused as {word}, and yet done"))?;
        let again = known.and_then(|known| known.first.as_ref()).is_some_and(|it| it.1 == essence);
        ensure(again || verdicts.contains(&Verdict::Refused(reason)), || {
            format!("no state that was stored refuses so: {text}: {word}, but {verdicts:?}")
        })
    }

    /// The same key, the same answer, and that on disk.
    fn check_key(&mut self, place: usize, told: &Told, replayed: bool) -> Result<(), String> {
        let intent = &self.intents[place];
        let Some(used) = intent.used else { return Ok(()) };
        let essence = match told {
            Told::Done { essence, .. } => essence,
            Told::Refused { reason, essence } if is_remembered(*reason) => essence,
            Told::Refused { .. } => return Ok(()),
        };
        let (text, known) = (&intent.text, self.keys.entry(used.key).or_default());
        ensure(known.stored.is_some(), || format!("{text}: the outcome of its key is not stored"))?;
        match &known.first {
            None => known.first = Some((place, essence.clone())),
            Some((other, first)) => {
                let same = *other == place && first == essence;
                ensure(same, || format!("{text}: its key was answered {first}, now {essence}"))?;
                ensure(replayed, || format!("{text}: a known key, and not said to be"))?;
            }
        }
        Ok(())
    }
}

/// Whether a refusal of one thread is remembered under a key (bindings.md §1).
fn is_remembered(reason: Reason) -> bool {
    match reason.status() {
        404 => true,
        409 => reason != Reason::IdempotencyConflict,
        403 => reason == Reason::ThreadAuthorityMissing,
        400 => reason == Reason::InvalidBody,
        _ => false,
    }
}

const UNCHANGED: &str = "nothing changed";

/// What a caller was told.
#[derive(Debug)]
pub enum Told {
    /// It is done; the part that is the same whenever it is told.
    Done { essence: String, body: Value },
    /// It is not.
    Refused { reason: Reason, essence: String },
}

impl Told {
    fn of(outcome: &Result<Answer, Refusal>) -> Self {
        match outcome {
            Ok(answer) => {
                let body: Value = serde_json::from_slice(&answer.body).unwrap();
                if answer.status >= 400 {
                    let reason = body["reason"].as_str().and_then(Reason::parse).unwrap();
                    let essence = String::from_utf8_lossy(&answer.body).into_owned();
                    return Self::Refused { reason, essence };
                }
                let members = ["message", "event", "claim"].into_iter();
                let member = members.map(|name| &body[name]).find(|it| !it.is_null());
                let essence = member.map_or(UNCHANGED.to_owned(), Value::to_string);
                Self::Done { essence, body }
            }
            Err(refusal) => {
                let essence = String::from_utf8_lossy(&refusal.to_json()).into_owned();
                Self::Refused { reason: refusal.reason, essence }
            }
        }
    }
}

impl Excuses {
    /// Whether the server may have refused so since the step `begun`.
    fn of(&self, reason: Reason, begun: u64, panics: u64) -> bool {
        match reason {
            Reason::Internal => self.panics > panics,
            Reason::StorageUnavailable => self.trouble >= begun,
            Reason::Overloaded => self.crowded >= begun || self.panics_here >= RESTARTS_MAX,
            Reason::RateLimited => self.rated,
            Reason::ShuttingDown => self.stopping,
            _ => false,
        }
    }
}
