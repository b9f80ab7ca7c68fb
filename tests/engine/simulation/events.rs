//! What befalls a world, one thing a step.

use std::sync::Arc;

use parley::threads::admission::PermitClass;
use parley_kit::disk::{Cut, Faults};
use parley_protocol::command::{Call, Command};
use parley_protocol::identity::Right;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Reason;
use tokio::sync::OwnedSemaphorePermit;

use super::acts::wish;
use super::cast::Held as Token;
use super::clock::elapse;
use super::life::Life;
use super::meddler::Fault;
use super::world::World;

/// What may happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    Act,
    Again,
    Commit,
    Fold,
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

/// How a life ends that ends.
#[derive(Clone, Copy, Debug)]
pub enum Death {
    /// The power goes, or the process.
    Cut(Cut),
    /// The server is stopped.
    InOrder,
}

impl World {
    /// Something happens; gives how the life ends, if it does.
    ///
    /// # Errors
    /// What contradicts the record.
    pub async fn befall(&mut self, life: &mut Life) -> Result<Option<Death>, String> {
        let temper = &self.temper;
        let event = self.chance.weighed(&[
            (70, Event::Act),
            (12, Event::Again),
            (temper.commits, Event::Commit),
            (4, Event::Fold),
            (6, Event::Inbox),
            (2, Event::Held),
            (3, Event::Read),
            (8, Event::Listen),
            (2, Event::Leave),
            (3, Event::Stall),
            (2, Event::Abandon),
            (temper.jumps, Event::Jump),
            (temper.troubles, Event::Trouble),
            (6 * temper.troubles, Event::Mend),
            (1, Event::Revoke),
            (1, Event::Stranger),
            (temper.crashes, Event::Crash),
            (u64::from(temper.crashes > 0), Event::Retire),
        ]);
        let (step, busy) = {
            let record = self.record();
            (record.step, record.ledger.busy() as u64)
        };
        self.record().trace.note("step", &[step, event as u64, busy]);
        match event {
            Event::Act => self.act(life)?,
            Event::Again => self.again(life)?,
            Event::Commit => self.commit(life),
            Event::Fold => self.fold(life)?,
            Event::Inbox => self.inbox(life).await?,
            Event::Held => self.hold(life)?,
            Event::Read => self.read(life).await?,
            Event::Listen => self.listen(life)?,
            Event::Leave => self.leave(),
            Event::Stall => self.stall(),
            Event::Abandon => self.abandon(),
            Event::Jump => self.jump(),
            Event::Trouble => self.trouble(),
            Event::Mend => self.mend(),
            Event::Revoke => self.revoke(life)?,
            Event::Stranger => self.stranger(life)?,
            Event::Crash => return Ok(Some(Death::Cut(self.crash(life).await))),
            Event::Retire => return Ok(Some(Death::InOrder)),
        }
        Ok(None)
    }

    /// Somebody of the cast, with a token that is good for certain.
    pub fn somebody(&self) -> Option<(usize, Token)> {
        let place = self.chance.place(self.cast.len());
        Some((place, self.cast[place].token.clone()?))
    }

    /// Somebody wants something new.
    fn act(&mut self, life: &mut Life) -> Result<(), String> {
        if self.calls.len() >= self.temper.calls {
            self.commit(life);
            return Ok(());
        }
        let Some((member, token)) = self.somebody() else { return Ok(()) };
        self.texts += 1;
        let text = format!("act {}", self.texts);
        let identity = self.cast[member].identity.clone();
        let seals = identity.ends_with("vic") || identity.ends_with("hal");
        let key = self.chance.percent(self.temper.keys).then(|| {
            // At times one that was used for something else.
            let back = if self.chance.percent(10) { self.chance.below(20) } else { 0 };
            Arc::from(format!("key {}", self.texts.saturating_sub(back)))
        });
        let mut record = self.record.lock().unwrap();
        let wish = wish(&self.chance, &record.shadow, self.temper.threads, &text, seals);
        let call = Call::Write(wish.thread, wish.command.clone());
        let principal = life.door.principal(&token.secret, &call);
        let principal = principal.map_err(|refusal| format!("{identity}: {refusal}"))?;
        record.trace.remark(format_args!("{identity} {key:?}: {call:?}"));
        let intent =
            record.ledger.want(text, &principal, wish.thread, wish.home, wish.command, key);
        drop(record);
        self.call(life, intent);
        Ok(())
    }

    /// A call under a key is sent again, whether or not the first is answered.
    fn again(&mut self, life: &mut Life) -> Result<(), String> {
        if self.calls.len() >= self.temper.calls {
            return Ok(());
        }
        let chosen = {
            let record = self.record();
            let intents = &record.ledger.intents;
            let recent = intents.len().saturating_sub(40);
            let keyed = (recent..intents.len()).filter(|place| intents[*place].key.is_some());
            let keyed: Vec<usize> = keyed.collect();
            (!keyed.is_empty()).then(|| self.chance.pick(&keyed))
        };
        let Some(intent) = chosen else { return Ok(()) };
        let identity = Arc::clone(&self.record().ledger.intents[intent].principal.identity);
        let member = self.cast.iter().find(|member| *member.identity == *identity);
        let Some(token) = member.and_then(|member| member.token.clone()) else { return Ok(()) };
        if life.door.tokens.find(&token.secret, life.door.now()).is_none() {
            return Err(format!("the token of {identity} is unknown"));
        }
        self.call(life, intent);
        Ok(())
    }

    /// Sends a call on its way.
    fn call(&mut self, life: &Life, intent: usize) {
        let (door, meddler) = (life.door.clone(), Arc::clone(&self.ground.meddler));
        let record = Arc::clone(&self.record);
        let mut known = self.record();
        let (step, panics) = (known.step, meddler.panicked());
        let attempt = known.begin(intent, step, panics);
        if known.ledger.busy() > self.temper.bounds.writes_max {
            known.crowded = step;
        }
        known.trace.note("call", &[attempt as u64, intent as u64]);
        let intent = &known.ledger.intents[intent];
        let call = Call::Write(intent.thread, intent.command.clone());
        let (mut principal, mut key) = (intent.principal.clone(), intent.key.clone());
        let confirms = matches!(intent.command, Command::Confirm(_));
        drop(known);
        if confirms && meddler.plants(Fault::ConfirmWithoutLock) {
            principal.rights = principal.rights.with(Right::Lock);
        }
        key = key.filter(|_| !meddler.plants(Fault::ForgetKey));
        let task = tokio::spawn(async move {
            meddler.dawdle().await;
            if meddler.plants(Fault::LosePermit) {
                let lost = door.engine.forum.admission().permit(PermitClass::Write).await;
                lost.into_iter().for_each(OwnedSemaphorePermit::forget);
            }
            let outcome = door.perform(&principal, call, key.as_deref()).await;
            let panics = |thread: Option<ThreadId>| {
                thread.map_or_else(|| meddler.panicked(), |thread| meddler.panicked_at(thread))
            };
            let journal = &door.engine.journal;
            record.lock().unwrap().answered(attempt, &outcome, journal, panics);
        });
        self.calls.push((attempt, task));
    }

    /// The writer takes a step.
    fn commit(&mut self, life: &mut Life) {
        let entries_max = 1 + self.chance.below(self.temper.batch) as usize;
        let step = self.write(life, entries_max);
        self.record().trace.note("commit", &[entries_max as u64, step as u64]);
    }

    /// The folder takes a step.
    fn fold(&mut self, life: &mut Life) -> Result<(), String> {
        let durable = self.chance.percent(30);
        let mut fold = || {
            if durable { life.folder.finish().map(|()| true) } else { life.folder.step() }
        };
        // What failed on a bad disk may show only now; then the archive was opened anew.
        match fold().or_else(|_| fold()) {
            Ok(_) => Ok(()),
            Err(_) if self.troubled => Ok(()),
            Err(error) => Err(format!("folding fails: {error}")),
        }
    }

    /// A caller goes away while its call is under way.
    fn abandon(&mut self) {
        if self.calls.is_empty() {
            return;
        }
        let (attempt, task) = self.calls.swap_remove(self.chance.place(self.calls.len()));
        task.abort();
        self.record().ledger.lose(attempt);
    }

    /// The clock is set.
    fn jump(&mut self) {
        let millis = self.chance.below(600_000);
        if self.chance.percent(50) {
            self.ground.clock.pass(millis);
        } else {
            self.ground.clock.back(millis);
        }
    }

    /// Something becomes the matter with the disk.
    fn trouble(&mut self) {
        let soon = 1 + self.chance.below(8);
        let lasting = self.chance.percent(60);
        let torn = self.chance.percent(50);
        let sync_reached = self.chance.percent(50);
        let none = Faults::default();
        let faults = match self.chance.below(3) {
            0 => Faults { write: soon, torn, lasting, ..none },
            1 => Faults { sync: soon, sync_reached, lasting, ..none },
            _ => Faults { free_bytes: Some(0), ..none },
        };
        self.ground.disk.set(faults);
        self.troubled = true;
        let mut record = self.record();
        record.trouble = record.step;
    }

    /// A token is revoked, and its line gets another one.
    fn revoke(&mut self, life: &Life) -> Result<(), String> {
        let Some((place, token)) = self.somebody() else { return Ok(()) };
        let (tokens, now) = (&life.door.tokens, life.door.now());
        let member = &mut self.cast[place];
        member.token = None;
        self.ground.meddler.forget_tokens();
        match tokens.revoke(token.id, now) {
            Ok(()) => {
                self.revoked_ids.lock().unwrap().insert(token.id);
                life.door.engine.feed_deps.hub.revoke(token.id);
                self.revoked.push(token);
            }
            // Nobody knows; nobody uses it any more.
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

    /// Somebody comes with a token that is revoked.
    fn stranger(&mut self, life: &Life) -> Result<(), String> {
        if self.revoked.is_empty() {
            return Ok(());
        }
        let token = &self.revoked[self.chance.place(self.revoked.len())];
        let found = life.door.tokens.find(&token.secret, life.door.now());
        found.map_or(Ok(()), |_| Err(format!("{} was revoked and is let in", token.id)))
    }

    /// The power goes, or the process; at times in the middle of a commit or a fold.
    async fn crash(&mut self, life: &mut Life) -> Cut {
        if self.chance.percent(60) {
            let write = 1 + self.chance.below(10);
            let torn = self.chance.percent(50);
            self.ground.disk.set(Faults { write, torn, lasting: true, ..Faults::default() });
            self.troubled = true;
            self.excuse(life);
            if self.chance.percent(70) {
                self.commit(life);
            } else {
                let _ = life.folder.step();
            }
            if self.chance.percent(50) {
                elapse(self.chance.below(8)).await;
            }
            self.record().catch_up(&life.door.engine.journal);
        }
        let seed = self.chance.number();
        self.chance.pick(&[Cut::ForgetAll, Cut::Kill, Cut::KeepSome(seed)])
    }
}
