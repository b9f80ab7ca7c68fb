//! Those who read and listen.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parley::feed::listener::Feed;
use parley::feed::replay::OutgoingFrame;
use parley::feed::subscriber::Subscription;
use parley_protocol::command::{Call, InboxQuery, PageQuery};
use parley_protocol::entry::Position;
use parley_protocol::feed::Scope;
use parley_protocol::identity::Participant;
use parley_protocol::ids::ThreadId;

use super::acts::extension;
use super::cast::Held as Token;
use super::clock::elapse;
use super::ear::Ear;
use super::life::{Door, Life};
use super::meddler::{Fault, Meddler};
use super::record::Held;
use super::sessions::{Session, position};
use super::world::{Listener, World};

/// Items of a page: more than any thread has.
const PAGE: u64 = 10_000;

impl World {
    /// Whoever may listen or look.
    fn ear(&self, scope: Scope) -> Option<(Ear, Token)> {
        let (member, token) = self.somebody()?;
        let record = self.record();
        let threads: Vec<ThreadId> = record.shadow.threads.keys().copied().collect();
        let turns = scope.tells_turns();
        let ear = Ear {
            identity: self.cast[member].identity.clone(),
            extension: extension(&self.chance).filter(|_| turns).map(|it| it.to_string()),
            anyone: !turns || self.chance.percent(70),
            scope,
            threads: match scope {
                Scope::Threads if threads.is_empty() => return None,
                Scope::Threads => (0..3).map(|_| self.chance.pick(&threads)).collect(),
                Scope::Inbox | Scope::All => BTreeSet::new(),
            },
        };
        Some((ear, token))
    }

    /// Some cursor that was given, in this life or one before.
    fn cursor(&self, percent: u64) -> Option<Box<str>> {
        let record = self.record();
        let given = &record.cursors;
        let chosen = !given.is_empty() && self.chance.percent(percent);
        chosen.then(|| given[self.chance.place(given.len())].clone())
    }

    fn query(ear: &Ear, since: Option<Box<str>>, wait_seconds: u64) -> Call {
        Call::ReadInbox(InboxQuery {
            extension: ear.extension.as_deref().map(Arc::from),
            page: PageQuery { cursor: since, limit: None },
            wait_seconds,
            anyone: ear.anyone,
        })
    }

    /// An inbox is read: it shows what waits at this moment and nothing else.
    pub async fn inbox(&mut self, life: &Life) -> Result<(), String> {
        let Some((ear, token)) = self.ear(Scope::Inbox) else { return Ok(()) };
        let since = self.cursor(30);
        let held = Held { ear, since: since.as_deref().map_or(0, position) };
        let call = Self::query(&held.ear, since, 0);
        let principal = life.door.principal(&token.secret, &call).map_err(|it| it.to_string())?;
        let outcome = life.door.perform(&principal, call, None).await;
        self.record().inbox_read(&held, &outcome, &life.door.engine.journal);
        Ok(())
    }

    /// An inbox is read that may be held back until something waits.
    pub fn hold(&mut self, life: &Life) -> Result<(), String> {
        let Some((ear, token)) = self.ear(Scope::Inbox) else { return Ok(()) };
        let since = self.cursor(80);
        let held = Held { ear, since: since.as_deref().map_or(0, position) };
        let call = Self::query(&held.ear, since, 1 + self.chance.below(25));
        let principal = life.door.principal(&token.secret, &call).map_err(|it| it.to_string())?;
        let (door, record) = (life.door.clone(), Arc::clone(&self.record));
        let reading = held.clone();
        let task = tokio::spawn(async move {
            let outcome = door.perform(&principal, call, None).await;
            record.lock().unwrap().inbox_read(&reading, &outcome, &door.engine.journal);
        });
        self.held.push((held, task));
        Ok(())
    }

    /// A thread is read: every message that the log holds, in order.
    pub async fn read(&mut self, life: &Life) -> Result<(), String> {
        let Some((_, token)) = self.somebody() else { return Ok(()) };
        let threads: Vec<ThreadId> = self.record().shadow.threads.keys().copied().collect();
        if threads.is_empty() {
            return Ok(());
        }
        let (thread, since) = (self.chance.pick(&threads), self.cursor(30));
        let after = since.as_deref().map_or(0, position);
        let call = Call::ReadFlat(thread, PageQuery { cursor: since, limit: Some(PAGE) });
        let principal = life.door.principal(&token.secret, &call).map_err(|it| it.to_string())?;
        let outcome = life.door.perform(&principal, call, None).await;
        self.record().thread_read(thread, after, &outcome, &life.door.engine.journal);
        Ok(())
    }

    /// A listener comes, from now on or from some cursor.
    pub fn listen(&mut self, life: &Life) -> Result<(), String> {
        if self.listeners.len() >= self.temper.listeners {
            return Ok(());
        }
        let scope = self.chance.pick(&[Scope::Inbox, Scope::All, Scope::Threads]);
        let Some((ear, token)) = self.ear(scope) else { return Ok(()) };
        let cursor = self.cursor(70);
        let door = life.door.clone();
        let since = match &cursor {
            Some(text) => {
                let since = door.engine.forum.position(Some(text));
                Some(since.map_err(|refusal| format!("{text} was given: {refusal}"))?)
            }
            None => None,
        };
        let subscription = Subscription {
            participant: Participant {
                identity: ear.identity.as_str().into(),
                extension: ear.extension.as_deref().map(Arc::from),
            },
            scope,
            anyone: ear.anyone,
            token: token.id,
            expires_at: None,
        };
        let threads = ear.threads.iter().copied().collect();
        let sources = Arc::clone(&door.engine.feed_deps);
        let skips = since.is_some() && self.ground.meddler.plants(Fault::SkipCursor);
        let from =
            since.map(|since| if skips { Position::after(since.entry() + 1) } else { since });
        let feed = Feed::open(sources, subscription, threads, from);
        let feed = feed.map_err(|refusal| format!("no feed for {ear:?}: {refusal}"))?;
        let mut hello = feed.hello(20);
        if let Some(since) = since {
            // What it must be told is decided by the cursor that it came with.
            hello.cursor = since;
        }
        let mut record = self.record();
        let session = record.sessions.len();
        record.trace.note("listen", &[session as u64, hello.cursor.0, u64::from(since.is_some())]);
        let panics = self.ground.meddler.inboxes_panicked();
        record.sessions.push(Session::new(ear, token.id, &hello, since.is_some(), panics));
        drop(record);
        let stalled = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(self.hear(feed, session, door, Arc::clone(&stalled)));
        self.listeners.push(Listener { session, task, stalled });
        Ok(())
    }

    fn hear(
        &self,
        mut feed: Feed,
        session: usize,
        door: Door,
        stalled: Arc<AtomicBool>,
    ) -> impl Future<Output = ()> + use<> {
        let (record, meddler) = (Arc::clone(&self.record), Arc::clone(&self.ground.meddler));
        let revoked = Arc::clone(&self.revoked_ids);
        async move {
            loop {
                while stalled.load(Ordering::Relaxed) {
                    elapse(5).await;
                }
                meddler.dawdle().await;
                let frames = feed.next().await;
                let mut record = record.lock().unwrap();
                match frames {
                    Ok(frames) => {
                        for sent in &garble(frames, feed.is_replaying(), &meddler) {
                            record.heard(session, sent, &door.engine.journal);
                        }
                    }
                    Err(why) => {
                        let token = record.sessions[session].token;
                        let revoked = revoked.lock().unwrap().contains(&token);
                        return record.ended(session, why, revoked, meddler.inboxes_panicked());
                    }
                }
            }
        }
    }

    /// A listener goes.
    pub fn leave(&mut self) {
        if self.listeners.is_empty() {
            return;
        }
        let place = self.chance.place(self.listeners.len());
        let listener = self.listeners.swap_remove(place);
        listener.task.abort();
        self.record().end_session(listener.session);
    }

    /// A listener takes nothing for a while, or goes on.
    pub fn stall(&mut self) {
        if !self.listeners.is_empty() {
            let place = self.chance.place(self.listeners.len());
            self.listeners[place].stalled.fetch_xor(true, Ordering::Relaxed);
        }
    }
}

/// The frames as the listener gets them, some of them planted away or twice.
fn garble(
    mut frames: Vec<OutgoingFrame>,
    replaying: bool,
    meddler: &Meddler,
) -> Vec<OutgoingFrame> {
    frames.retain(|_| !meddler.plants(Fault::DropNotification));
    if replaying && meddler.plants(Fault::ReplayTwice) {
        frames.extend_from_within(..);
    }
    frames
}
