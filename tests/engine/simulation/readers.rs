//! Those who read and listen.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use parley::feed::listener::Feed;
use parley::feed::replay::OutgoingFrame;
use parley::feed::subscriber::Subscription;
use parley_kit::{ExpectedFeed, elapse, position};
use parley_protocol::command::{Call, InboxQuery, PageQuery, ReadCall};
use parley_protocol::entry::Position;
use parley_protocol::feed::Scope;
use parley_protocol::identity::{Participant, Principal};
use parley_protocol::ids::ThreadId;

use super::acts::extension;
use super::history::Held;
use super::injector::{Fault, FaultInjector};
use super::participants::Held as Token;
use super::server_run::{Access, ServerRun};
use super::sessions::Session;
use super::world::{Listener, World};

/// Items of a page: more than any thread has.
const PAGE: u64 = 10_000;

impl World {
    /// A feed that a participant may ask for, with its token.
    fn feed(&self, scope: Scope) -> Option<(ExpectedFeed, Token)> {
        let (member, token) = self.somebody()?;
        let history = self.history();
        let threads: Vec<ThreadId> = history.reference.threads.keys().copied().collect();
        let turns = scope.tells_turns();
        let feed = ExpectedFeed {
            identity: self.participants[member].identity.clone(),
            extension: extension(&self.rng).filter(|_| turns).map(|it| it.to_string()),
            anyone: !turns || self.rng.percent(70),
            scope,
            threads: match scope {
                Scope::Threads if threads.is_empty() => return None,
                Scope::Threads => (0..3).map(|_| self.rng.pick(&threads)).collect(),
                Scope::Inbox | Scope::All => BTreeSet::new(),
            },
        };
        Some((feed, token))
    }

    /// Some cursor that was given, in this server or one before.
    fn cursor(&self, percent: u64) -> Option<Box<str>> {
        let history = self.history();
        let given = &history.cursors;
        let chosen = !given.is_empty() && self.rng.percent(percent);
        chosen.then(|| given[self.rng.index(given.len())].clone())
    }

    /// A reading of an inbox, which may be held back.
    fn inbox_call(&self, waits: bool) -> Option<(Held, Call, Token)> {
        let (feed, token) = self.feed(Scope::Inbox)?;
        let since = self.cursor(if waits { 80 } else { 30 });
        let held = Held { feed, since: since.as_deref().map_or(0, position) };
        let call = Call::ReadInbox(InboxQuery {
            extension: held.feed.extension.as_deref().map(Arc::from),
            page: PageQuery { cursor: since, limit: None },
            wait_seconds: if waits { 1 + self.rng.below(25) } else { 0 },
            anyone: held.feed.anyone,
        });
        Some((held, call, token))
    }

    /// An inbox is read: it shows what waits at this moment and nothing else.
    pub async fn inbox(&mut self, server: &ServerRun) -> Result<(), String> {
        let Some((held, call, token)) = self.inbox_call(false) else { return Ok(()) };
        let principal = principal(server, &token, &call)?;
        let outcome = server.access.engine.forum.perform(&principal, call, None).await;
        self.history().inbox_read(&held, &outcome, &server.access.engine.journal);
        Ok(())
    }

    /// An inbox is read that may be held back until something waits.
    pub fn hold(&mut self, server: &ServerRun) -> Result<(), String> {
        let Some((held, call, token)) = self.inbox_call(true) else { return Ok(()) };
        let principal = principal(server, &token, &call)?;
        let (access, history) = (server.access.clone(), Arc::clone(&self.history));
        let reading = held.clone();
        let task = tokio::spawn(async move {
            let outcome = access.engine.forum.perform(&principal, call, None).await;
            history.lock().unwrap().inbox_read(&reading, &outcome, &access.engine.journal);
        });
        self.held.push((held, task));
        Ok(())
    }

    /// A thread is read: every message that the log holds, in order.
    pub async fn read(&mut self, server: &ServerRun) -> Result<(), String> {
        let Some((_, token)) = self.somebody() else { return Ok(()) };
        let threads: Vec<ThreadId> = self.history().reference.threads.keys().copied().collect();
        if threads.is_empty() {
            return Ok(());
        }
        let (thread, since) = (self.rng.pick(&threads), self.cursor(30));
        let after = since.as_deref().map_or(0, position);
        let call =
            Call::Read(ReadCall::Flat(thread, PageQuery { cursor: since, limit: Some(PAGE) }));
        let principal = principal(server, &token, &call)?;
        let outcome = server.access.engine.forum.perform(&principal, call, None).await;
        self.history().thread_read(thread, after, &outcome, &server.access.engine.journal);
        Ok(())
    }

    /// A listener comes, from now on or from some cursor.
    pub fn listen(&mut self, server: &ServerRun) -> Result<(), String> {
        if self.listeners.len() >= self.setup.options.listeners {
            return Ok(());
        }
        let scope = self.rng.pick(&Scope::ALL);
        let Some((feed, token)) = self.feed(scope) else { return Ok(()) };
        let cursor = self.cursor(70);
        let access = server.access.clone();
        let since = cursor.as_deref().map(|text| access.engine.forum.position(Some(text)));
        let since = since.transpose();
        let since = since.map_err(|refusal| format!("{cursor:?} was given: {refusal}"))?;
        let subscription = Subscription {
            participant: Participant {
                identity: feed.identity.as_str().into(),
                extension: feed.extension.as_deref().map(Arc::from),
            },
            scope,
            anyone: feed.anyone,
            token: token.id,
            expires_at: None,
        };
        let threads = feed.threads.iter().copied().collect();
        let sources = Arc::clone(&access.engine.feed_deps);
        let skips = since.is_some() && self.setup.injector.injects(Fault::SkipCursor);
        let from =
            since.map(|since| if skips { Position::after(since.entry() + 1) } else { since });
        // The store is read here, so that opening a feed waits for nothing.
        let opened = Feed::open(sources, subscription, threads, from).now_or_never();
        let opened = opened.ok_or_else(|| format!("{feed:?} waits to be opened"))?;
        let opened = opened.map_err(|refusal| format!("no feed for {feed:?}: {refusal}"))?;
        let mut hello = opened.hello(20);
        // What it must be told is decided by the cursor that it came with.
        hello.cursor = since.unwrap_or(hello.cursor);
        let mut history = self.history();
        let session = history.sessions.len();
        history.trace.note("listen", &[session as u64, hello.cursor.0, u64::from(since.is_some())]);
        let panics = self.setup.injector.inboxes_panicked();
        history.sessions.push(Session::new(feed, token.id, &hello, since.is_some(), panics));
        drop(history);
        let stalled = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(self.hear(opened, session, access, Arc::clone(&stalled)));
        self.listeners.push(Listener { session, task, stalled });
        Ok(())
    }

    fn hear(
        &self,
        mut feed: Feed,
        session: usize,
        access: Access,
        stalled: Arc<AtomicBool>,
    ) -> impl Future<Output = ()> + use<> {
        let (history, injector) = (Arc::clone(&self.history), Arc::clone(&self.setup.injector));
        async move {
            loop {
                while stalled.load(Ordering::Relaxed) {
                    elapse(5).await;
                }
                injector.dawdle().await;
                let frames = feed.next().await;
                let mut history = history.lock().unwrap();
                match frames {
                    Ok(frames) => {
                        for sent in &garble(frames, feed.replaying, &injector) {
                            history.heard(session, sent, &access.engine.journal);
                        }
                    }
                    Err(why) => return history.ended(session, why, injector.inboxes_panicked()),
                }
            }
        }
    }

    /// A listener goes.
    pub fn leave(&mut self) {
        if self.listeners.is_empty() {
            return;
        }
        let place = self.rng.index(self.listeners.len());
        let listener = self.listeners.swap_remove(place);
        listener.task.abort();
        self.history().end_session(listener.session);
    }

    /// A listener takes nothing for a while, or goes on.
    pub fn stall(&mut self) {
        if !self.listeners.is_empty() {
            let place = self.rng.index(self.listeners.len());
            self.listeners[place].stalled.fetch_xor(true, Ordering::Relaxed);
        }
    }
}

/// Who calls with this token, which is good.
fn principal(server: &ServerRun, token: &Token, call: &Call) -> Result<Arc<Principal>, String> {
    server.access.principal(&token.secret, call).map_err(|refusal| refusal.to_string())
}

/// The frames as the listener gets them, some of them injected away or twice.
fn garble(
    mut frames: Vec<OutgoingFrame>,
    replaying: bool,
    injector: &FaultInjector,
) -> Vec<OutgoingFrame> {
    frames.retain(|_| !injector.injects(Fault::DropNotification));
    if replaying && injector.injects(Fault::ReplayTwice) {
        frames.extend_from_within(..);
    }
    frames
}
