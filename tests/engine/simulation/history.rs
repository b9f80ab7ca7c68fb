//! All that is known of a run: what the log holds, what was asked and told, who listens. Whatever
//! contradicts it is the run's end.

use std::collections::BTreeSet;

use parley::feed::subscriber::CloseReason;
use parley::forum::Answer;
use parley::journal::Journal;
use parley::journal::log::EntryRange;
use parley::journal::view::View;
use parley_kit::{ExpectedFeed, ensure, position, same};
use parley_protocol::entry::{Act, Entry, KeyUse};
use parley_protocol::ids::{MessageId, ThreadId, TokenId};
use parley_protocol::refusal::{Reason, Refusal};
use parley_protocol::thread::Thread;
use serde_json::Value;

use parley::feed::replay::OutgoingFrame;

use super::auditor::{Auditor, Excuses, Told};
use super::participants::Held as Token;
use super::sessions::Session;
use super::trace::{Trace, digest};
use super::world::Report;
use crate::reference::{Reference, text_of};

/// Entries that are read at a time.
const STRETCH: usize = 256;
/// Bytes of them.
const STRETCH_BYTES: usize = 1 << 20;

/// What is known.
#[derive(Debug, Default)]
pub struct History {
    pub reference: Reference,
    pub auditor: Auditor,
    pub sessions: Vec<Session>,
    pub trace: Trace,
    pub step: u64,
    /// Everything that the log has shown: number and digest.
    entries: Vec<(u64, u64)>,
    /// The log was read up to this entry.
    read_upto: u64,
    /// Whether numbers may have been given that are not in the log.
    gap: bool,
    /// Numbers left out without a failure: each must be of a call that was turned away, its
    /// append having come under a lease that no longer held. Since the last start.
    left_out: u64,
    /// Calls that were told so since then.
    rejected: u64,
    generation: u64,
    pub excuses: Excuses,
    /// The threads that changed since they were compared last.
    changed: BTreeSet<ThreadId>,
    /// Tokens that are revoked for certain.
    pub revoked: Vec<Token>,
    /// Cursors that were given.
    pub cursors: Vec<Box<str>>,
    /// What went wrong first.
    pub wrong: Option<String>,
    /// What came of the run so far.
    pub report: Report,
}

/// The next entries of the log after `upto`.
fn stretch(journal: &Journal, upto: u64) -> Result<EntryRange, String> {
    let read = journal.log().entries(upto, STRETCH, STRETCH_BYTES);
    let read = read.map_err(|error| format!("the log cannot be read: {error}"))?;
    read.ok_or_else(|| format!("the log does not reach back to {upto}"))
}

/// A held reading of an inbox.
#[derive(Clone, Debug)]
pub struct Held {
    pub feed: ExpectedFeed,
    pub since: u64,
}

impl History {
    /// Remembers what went wrong, if nothing did before.
    pub fn check(&mut self, found: Result<(), String>) {
        if let Err(wrong) = found
            && self.wrong.is_none()
        {
            self.trace.remark(format_args!("WRONG: {wrong}"));
            self.wrong = Some(wrong);
        }
    }

    /// Takes what the log has shown since this was called last.
    pub fn catch_up(&mut self, journal: &Journal) {
        let generation = journal.generation();
        if generation != self.generation {
            self.generation = generation;
            self.gap = true;
            self.excuses.trouble = self.step;
        }
        let found = self.read_on(journal);
        self.check(found);
    }

    fn read_on(&mut self, journal: &Journal) -> Result<(), String> {
        while self.read_upto < journal.committed() {
            let stretch = stretch(journal, self.read_upto)?;
            for (number, entry) in &stretch.entries {
                self.observe(*number, entry)?;
            }
            self.read_upto = stretch.upto;
        }
        Ok(())
    }

    /// After a restart: what was shown before must be there, as it was, and first.
    pub fn reopened(&mut self, journal: &Journal) {
        (self.gap, self.generation) = (true, journal.generation());
        self.account();
        let found = self.read_again(journal);
        self.check(found);
        self.auditor.settle();
        self.touch_all();
    }

    /// Each number left out must be of a call that was told so, or of one that is not answered.
    pub fn account(&mut self) {
        let excused = self.rejected + self.auditor.busy() as u64;
        let left_out = self.left_out;
        self.check(ensure(left_out <= excused, || {
            format!("{left_out} numbers left out, {excused} calls turned away")
        }));
        (self.left_out, self.rejected) = (0, 0);
    }

    fn read_again(&mut self, journal: &Journal) -> Result<(), String> {
        let (mut upto, mut place) = (0, 0);
        while upto < journal.committed() {
            let stretch = stretch(journal, upto)?;
            for (number, entry) in &stretch.entries {
                if let Some(known) = self.entries.get(place) {
                    let found = (*number, digest(&entry.encode(Vec::new())));
                    same("shown before the restart", &found, known)?;
                } else {
                    self.observe(*number, entry)?;
                }
                place += 1;
            }
            upto = stretch.upto;
        }
        self.read_upto = upto;
        let lost = self.entries.get(place);
        ensure(lost.is_none(), || format!("acknowledged or shown, and lost: {lost:?}"))
    }

    fn observe(&mut self, number: u64, entry: &Entry) -> Result<(), String> {
        let last = self.entries.last().map_or(0, |(number, _)| *number);
        ensure(number > last, || format!("entry {number} comes after {last}"))?;
        if !self.gap {
            self.left_out += number - last - 1;
        }
        self.gap = false;
        let digest = digest(&entry.encode(Vec::new()));
        self.entries.push((number, digest));
        self.report.entries += 1;
        self.trace.note("entry", &[number, digest]);
        if let Some(used) = entry.key() {
            self.auditor.remember(number, used)?;
        }
        match entry {
            Entry::Act(act) => self.observe_act(number, act, entry.key().copied()),
            Entry::Artifact(_) => Err("nobody publishes here".to_owned()),
            Entry::Outcome(..) => Ok(()),
        }
    }

    fn observe_act(&mut self, number: u64, act: &Act, key: Option<KeyUse>) -> Result<(), String> {
        let place = self.auditor.find(number, text_of(act), act)?;
        let intent = &self.auditor.intents[place];
        let used = intent.used;
        self.reference.take(number, act, &intent.principal, &intent.wish.command, used)?;
        ensure(key == used, || format!("stored under another key: {act:?}"))?;
        let shown = self.reference.shown(act);
        self.auditor.intents[place].done = Some((number, shown));
        self.auditor.changed(act.thread, &self.reference);
        self.changed.insert(act.thread);
        Ok(())
    }

    /// A listener goes; it may come back from any cursor that it was given.
    pub fn end_session(&mut self, session: usize) {
        let session = &mut self.sessions[session];
        session.alive = false;
        self.cursors.append(&mut session.cursors);
    }

    /// All threads are to be compared.
    pub fn touch_all(&mut self) {
        self.changed.extend(self.reference.threads.keys());
    }

    /// Compares the threads that have changed with how they should be; `whole` their states too,
    /// not only their heads.
    pub fn compare(&mut self, view: &View, whole: bool) {
        for thread in std::mem::take(&mut self.changed) {
            let found = self.compare_thread(view, thread, whole);
            self.check(found);
        }
    }

    fn compare_thread(&self, view: &View, id: ThreadId, whole: bool) -> Result<(), String> {
        let thread = self.reference.threads.get(&id);
        let head = view.summary(id).map_err(|error| format!("{id} cannot be read: {error}"))?;
        same((id, "head"), &head.as_deref(), &thread.map(Thread::summary))?;
        if whole {
            let shown = view.thread(id).map_err(|error| format!("{id}: {error}"))?;
            same((id, "thread"), &shown.as_ref(), &thread)?;
        }
        Ok(())
    }

    /// A call has its answer.
    pub fn answered(
        &mut self,
        attempt: usize,
        outcome: &Result<Answer, Refusal>,
        journal: &Journal,
        panics: impl Fn(Option<ThreadId>) -> u64,
    ) {
        self.catch_up(journal);
        let intent = &self.auditor.intents[self.auditor.attempts[attempt].intent];
        let panics_here = intent.wish.home.map_or(0, |home| panics(Some(home)));
        let excuses = Excuses { panics: panics(None), panics_here, ..self.excuses };
        match self.auditor.answered(attempt, outcome, excuses) {
            Ok(Told::Done { body, .. }) => {
                self.report.acknowledged += 1;
                self.trace.note("done", &[attempt as u64]);
                if let Some(cursor) = body["thread"]["cursor"].as_str() {
                    self.give_cursor(cursor, journal);
                }
            }
            Ok(Told::Refused { reason, .. }) => {
                self.rejected += u64::from(reason == Reason::StorageUnavailable);
                *self.report.reasons.entry(reason.as_str()).or_default() += 1;
                self.trace.note(reason.as_str(), &[attempt as u64]);
            }
            Err(wrong) => self.check(Err(wrong)),
        }
    }

    /// A cursor was given: it must not be ahead of what can be read.
    pub fn give_cursor(&mut self, cursor: &str, journal: &Journal) {
        let is_there = position(cursor) <= journal.position().0;
        self.check(ensure(is_there, || format!("{cursor} is ahead of what can be read")));
        if self.cursors.last().is_none_or(|last| **last != *cursor) {
            self.cursors.push(cursor.into());
        }
    }

    /// An inbox was read.
    pub fn inbox_read(
        &mut self,
        held: &Held,
        outcome: &Result<Answer, Refusal>,
        journal: &Journal,
    ) {
        self.catch_up(journal);
        let answer = match outcome {
            Ok(answer) => answer,
            Err(refusal) => {
                let good = match refusal.reason {
                    Reason::ShuttingDown => self.excuses.stopping,
                    // Reads have permits of their own, and few of them in some worlds.
                    Reason::Overloaded => self.excuses.crowded > 0,
                    _ => false,
                };
                return self.check(ensure(good, || format!("no inbox: {refusal}")));
            }
        };
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let items = body["items"].as_array().into_iter().flatten();
        let found = items.filter_map(|item| {
            let thread = item["thread"]["id"].as_str().and_then(ThreadId::parse)?;
            Some((thread, item["message"]["id"].as_str().and_then(MessageId::parse)?))
        });
        let found: Vec<(ThreadId, MessageId)> = found.collect();
        let want = self.reference.inbox(&held.feed, held.since);
        self.trace.note("inbox", &[found.len() as u64, held.since]);
        self.check(same(&held.feed, &found, &want));
        if let Some(cursor) = body["cursor"].as_str() {
            let end = journal.position().0.max(held.since);
            self.check(same("the end of an inbox read whole", &position(cursor), &end));
            self.give_cursor(cursor, journal);
        }
    }

    /// The messages of a thread after the position `since` were read.
    pub fn thread_read(
        &mut self,
        thread: ThreadId,
        since: u64,
        outcome: &Result<Answer, Refusal>,
        journal: &Journal,
    ) {
        self.catch_up(journal);
        let Ok(answer) = outcome else {
            return self.check(Err(format!("{thread} is not read: {outcome:?}")));
        };
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let messages = body["messages"].as_array().into_iter().flatten();
        let found: Vec<MessageId> =
            messages.filter_map(|it| it["id"].as_str().and_then(MessageId::parse)).collect();
        let here = self.reference.seen.iter().filter(|seen| seen.act.thread == thread);
        let later = here.filter(|seen| seen.number * 16 > since);
        let want: Vec<MessageId> =
            later.filter_map(|seen| seen.act.message()).map(|message| message.id).collect();
        self.trace.note("read", &[thread.0, since, found.len() as u64]);
        self.check(same((thread, "messages"), &found, &want));
        if let Some(cursor) = body["cursor"].as_str() {
            self.give_cursor(cursor, journal);
        }
    }

    /// A listener was told something.
    pub fn heard(&mut self, session: usize, sent: &OutgoingFrame, journal: &Journal) {
        self.catch_up(journal);
        self.report.frames += 1;
        self.trace.note(sent.kind.as_str(), &[session as u64, sent.cursor.0]);
        let found = self.sessions[session].hear(sent, &self.reference.seen);
        self.check(found);
    }

    pub fn is_revoked(&self, token: TokenId) -> bool {
        self.revoked.iter().any(|revoked| revoked.id == token)
    }

    /// A feed has ended.
    pub fn ended(&mut self, session: usize, why: CloseReason, panics: u64) {
        self.trace.note("closed", &[session as u64]);
        let revoked = self.is_revoked(self.sessions[session].token);
        let excuses = Excuses { panics, revoked, ..self.excuses };
        let found = self.sessions[session].end(why, &excuses);
        self.check(found);
        self.end_session(session);
    }

    /// Whether every listener has all that is to be told.
    pub fn all_told(&mut self) -> bool {
        let seen = &self.reference.seen;
        self.sessions.iter_mut().filter(|it| it.alive).all(|it| it.is_complete(seen))
    }
}
