//! What befalls a world, one thing a step.

use std::sync::Arc;

use parley_kit::{Cut, Faults, elapse, ensure};
use parley_protocol::command::{Call, Command};
use parley_protocol::identity::Right;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Reason;
use tokio::sync::OwnedSemaphorePermit;

use super::acts::wish;
use super::injector::Fault;
use super::participants::Held as Token;
use super::server_run::ServerRun;
use super::world::World;

/// What may happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    Act,
    Again,
    Commit,
    Archive,
    Inbox,
    Held,
    Read,
    Listen,
    Leave,
    Stall,
    Abandon,
    Jump,
    Trouble,
    Mend,
    Revoke,
    Stranger,
    Crash,
    Retire,
}

/// How a server ends that ends.
#[derive(Clone, Copy, Debug)]
pub enum Death {
    /// The power goes, or the process.
    Cut(Cut),
    /// The server is stopped.
    InOrder,
}

impl World {
    /// Something happens; gives how the server ends, if it does.
    ///
    /// # Errors
    /// What contradicts the history.
    pub async fn befall(&mut self, server: &mut ServerRun) -> Result<Option<Death>, String> {
        let options = &self.setup.options;
        let event = self.rng.weighed(&[
            (70, Event::Act),
            (12, Event::Again),
            (options.commits, Event::Commit),
            (4, Event::Archive),
            (6, Event::Inbox),
            (2, Event::Held),
            (3, Event::Read),
            (8, Event::Listen),
            (2, Event::Leave),
            (3, Event::Stall),
            (2, Event::Abandon),
            (options.jumps, Event::Jump),
            (options.troubles, Event::Trouble),
            (6 * options.troubles, Event::Mend),
            (1, Event::Revoke),
            (1, Event::Stranger),
            (options.crashes, Event::Crash),
            (u64::from(options.crashes > 0), Event::Retire),
        ]);
        let (step, busy) = {
            let history = self.history();
            (history.step, history.auditor.busy() as u64)
        };
        self.history().trace.note("step", &[step, event as u64, busy]);
        match event {
            Event::Act => self.act(server)?,
            Event::Again => self.again(server)?,
            Event::Commit => self.commit(server),
            Event::Archive => self.archive(server)?,
            Event::Inbox => self.inbox(server).await?,
            Event::Held => self.hold(server)?,
            Event::Read => self.read(server).await?,
            Event::Listen => self.listen(server)?,
            Event::Leave => self.leave(),
            Event::Stall => self.stall(),
            Event::Abandon => self.abandon(),
            Event::Jump => self.jump(),
            Event::Trouble => self.trouble(),
            Event::Mend => self.mend(),
            Event::Revoke => self.revoke(server)?,
            Event::Stranger => self.stranger(server)?,
            Event::Crash => return Ok(Some(Death::Cut(self.crash(server).await))),
            Event::Retire => return Ok(Some(Death::InOrder)),
        }
        Ok(None)
    }

    /// A participant with a token that is good for certain.
    pub fn somebody(&self) -> Option<(usize, Token)> {
        let place = self.rng.index(self.participants.len());
        Some((place, self.participants[place].token.clone()?))
    }

    /// A participant sends a new call.
    fn act(&mut self, server: &mut ServerRun) -> Result<(), String> {
        if self.calls.len() >= self.setup.options.calls {
            self.commit(server);
            return Ok(());
        }
        let Some((member, token)) = self.somebody() else { return Ok(()) };
        self.texts += 1;
        let text = format!("act {}", self.texts);
        let identity = self.participants[member].identity.clone();
        let seals = identity.ends_with("vic") || identity.ends_with("hal");
        let key = self.rng.percent(self.setup.options.keys).then(|| {
            // At times one that was used for something else.
            let back = if self.rng.percent(10) { self.rng.below(20) } else { 0 };
            Arc::from(format!("key {}", self.texts.saturating_sub(back)))
        });
        let mut history = self.history.lock().unwrap();
        let wish = wish(&self.rng, &history.reference, self.setup.options.threads, &text, seals);
        let call = Call::Write(wish.thread, wish.command.clone());
        let principal = server.access.principal(&token.secret, &call);
        let principal = principal.map_err(|refusal| format!("{identity}: {refusal}"))?;
        history.trace.remark(format_args!("{identity} {key:?}: {call:?}"));
        let intent = history.auditor.want(text, &principal, wish, key);
        drop(history);
        self.call(server, intent);
        Ok(())
    }

    /// A call under a key is sent again, whether or not the first is answered.
    fn again(&mut self, server: &mut ServerRun) -> Result<(), String> {
        if self.calls.len() >= self.setup.options.calls {
            return Ok(());
        }
        let chosen = {
            let history = self.history();
            let intents = &history.auditor.intents;
            let recent = intents.len().saturating_sub(40);
            let keyed = (recent..intents.len()).filter(|place| intents[*place].key.is_some());
            let keyed: Vec<usize> = keyed.collect();
            (!keyed.is_empty()).then(|| self.rng.pick(&keyed))
        };
        let Some(intent) = chosen else { return Ok(()) };
        let identity = Arc::clone(&self.history().auditor.intents[intent].principal.identity);
        let member = self.participants.iter().find(|member| *member.identity == *identity);
        let Some(token) = member.and_then(|member| member.token.clone()) else { return Ok(()) };
        let known = server.access.tokens.find(&token.secret, server.access.now()).is_some();
        ensure(known, || format!("the token of {identity} is unknown"))?;
        self.call(server, intent);
        Ok(())
    }

    /// Sends a call on its way.
    fn call(&mut self, server: &ServerRun, intent: usize) {
        let (access, injector) = (server.access.clone(), Arc::clone(&self.setup.injector));
        let history = Arc::clone(&self.history);
        let mut guard = self.history();
        let known = &mut *guard;
        let (step, panics) = (known.step, injector.panicked());
        let attempt = known.auditor.begin(intent, step, panics, &known.reference);
        if known.auditor.busy() > self.setup.options.bounds.writes_max {
            known.excuses.crowded = step;
        }
        known.trace.note("call", &[attempt as u64, intent as u64]);
        let intent = &known.auditor.intents[intent];
        let call = Call::Write(intent.wish.thread, intent.wish.command.clone());
        let (mut principal, mut key) = (intent.principal.clone(), intent.key.clone());
        let confirms = matches!(intent.wish.command, Command::Confirm(_));
        drop(guard);
        if confirms && injector.injects(Fault::ConfirmWithoutLock) {
            principal.rights = principal.rights.with(Right::Lock);
        }
        key = key.filter(|_| !injector.injects(Fault::ForgetKey));
        let task = tokio::spawn(async move {
            injector.dawdle().await;
            if injector.injects(Fault::LosePermit) {
                let lost = access.engine.forum.admission().permit().await;
                lost.into_iter().for_each(OwnedSemaphorePermit::forget);
            }
            let outcome = access.engine.forum.perform(&principal, call, key.as_deref()).await;
            let panics = |thread: Option<ThreadId>| {
                thread.map_or_else(|| injector.panicked(), |thread| injector.panicked_at(thread))
            };
            let journal = &access.engine.journal;
            history.lock().unwrap().answered(attempt, &outcome, journal, panics);
        });
        self.calls.push((attempt, task));
    }

    /// The writer takes a step.
    fn commit(&mut self, server: &mut ServerRun) {
        let entries_max = 1 + self.rng.below(self.setup.options.batch) as usize;
        let step = self.write(server, entries_max);
        self.history().trace.note("commit", &[entries_max as u64, step as u64]);
    }

    /// The archiver takes a step.
    fn archive(&mut self, server: &mut ServerRun) -> Result<(), String> {
        let durable = self.rng.percent(30);
        let mut archive = || {
            if durable { server.archiver.finish().map(|()| true) } else { server.archiver.step() }
        };
        // What failed on a bad disk may show only now; then the archive was opened anew.
        match archive().or_else(|_| archive()) {
            Ok(_) => Ok(()),
            Err(_) if self.troubled => Ok(()),
            Err(error) => Err(format!("archiving fails: {error}")),
        }
    }

    /// A caller goes away while its call is under way.
    fn abandon(&mut self) {
        if self.calls.is_empty() {
            return;
        }
        let (attempt, task) = self.calls.swap_remove(self.rng.index(self.calls.len()));
        task.abort();
        self.history().auditor.lose(attempt);
    }

    /// The clock is set.
    fn jump(&mut self) {
        let millis = self.rng.below(600_000);
        if self.rng.percent(50) {
            self.setup.clock.ahead(millis);
        } else {
            self.setup.clock.back(millis);
        }
    }

    /// Something becomes the matter with the disk.
    fn trouble(&mut self) {
        let soon = 1 + self.rng.below(8);
        let lasting = self.rng.percent(60);
        let torn = self.rng.percent(50);
        let sync_reached = self.rng.percent(50);
        let none = Faults::default();
        let faults = match self.rng.below(3) {
            0 => Faults { write: soon, torn, lasting, ..none },
            1 => Faults { sync: soon, sync_reached, lasting, ..none },
            _ => Faults { free_bytes: Some(0), ..none },
        };
        self.setup.disk.set(faults);
        self.troubled = true;
        let mut history = self.history();
        history.excuses.trouble = history.step;
    }

    /// A token is revoked, and its line gets another one.
    fn revoke(&mut self, server: &ServerRun) -> Result<(), String> {
        let Some((place, token)) = self.somebody() else { return Ok(()) };
        let (tokens, now) = (&server.access.tokens, server.access.now());
        let member = &mut self.participants[place];
        member.token = None;
        self.setup.injector.forget_tokens();
        match tokens.revoke(token.id, now) {
            Ok(()) => {
                server.access.engine.feed_deps.hub.revoke(token.id);
                self.history.lock().unwrap().revoked.push(token);
            }
            // It may be revoked or not; no one uses it any more.
            Err(refusal) if self.troubled && refusal.reason == Reason::StorageUnavailable => {
                return Ok(());
            }
            Err(refusal) => return Err(format!("no revocation: {refusal}")),
        }
        match member.equip(tokens, now) {
            Err(refusal) if !self.troubled => Err(format!("no token: {refusal}")),
            _ => Ok(()),
        }
    }

    /// A caller comes with a token that is revoked.
    fn stranger(&mut self, server: &ServerRun) -> Result<(), String> {
        let history = self.history();
        if history.revoked.is_empty() {
            return Ok(());
        }
        let token = self.rng.pick(&history.revoked);
        let found = server.access.tokens.find(&token.secret, server.access.now());
        ensure(found.is_none(), || format!("{} was revoked and is let in", token.id))
    }

    /// The power goes, or the process; at times in the middle of a commit or a archive.
    async fn crash(&mut self, server: &mut ServerRun) -> Cut {
        if self.rng.percent(60) {
            let write = 1 + self.rng.below(10);
            let torn = self.rng.percent(50);
            self.setup.disk.set(Faults { write, torn, lasting: true, ..Faults::default() });
            self.troubled = true;
            self.excuse(server);
            if self.rng.percent(70) {
                self.commit(server);
            } else {
                let _ = server.archiver.step();
            }
            if self.rng.percent(50) {
                elapse(self.rng.below(8)).await;
            }
            self.history().catch_up(&server.access.engine.journal);
        }
        let seed = self.rng.number();
        self.rng.pick(&[Cut::ForgetAll, Cut::Kill, Cut::KeepSome(seed)])
    }
}
