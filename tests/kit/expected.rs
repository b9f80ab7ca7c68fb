//! What a feed must send, worked out from the log: nothing of the server's own reckoning is asked.

use std::collections::{BTreeSet, HashMap};

use parley_protocol::entry::{Act, Awaiting, Change, Due, Entry};
use parley_protocol::feed::Scope;
use parley_protocol::ids::ThreadId;
use parley_protocol::wire::frame::FrameType;
use serde_json::Value;

/// A feed, as its listener asks for it.
#[derive(Clone, Debug)]
pub struct ExpectedFeed {
    pub identity: String,
    pub extension: Option<String>,
    /// Whether questions to anyone count.
    pub anyone: bool,
    pub scope: Scope,
    /// The threads followed, where the scope is that.
    pub threads: BTreeSet<ThreadId>,
}

/// A frame that must come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedFrame {
    pub position: u64,
    pub kind: FrameType,
    pub thread: ThreadId,
    /// The number of the message, event or claim; 0 where it is about none.
    pub about: u64,
}

impl ExpectedFrame {
    /// The frame of the type `kind` at `position` whose text is `body`.
    pub fn read(kind: FrameType, position: u64, body: &Value) -> Self {
        let number = |id: &Value| -> u64 {
            let number = id.as_str().and_then(|id| id.split_once('_')?.1.parse().ok());
            number.unwrap_or_default()
        };
        let id = |member: &str| number(&body[member]["id"]);
        let (thread, about) = match kind {
            FrameType::Message | FrameType::Awaiting => (id("thread"), id("message")),
            FrameType::Event => (id("thread"), id("event")),
            FrameType::Claim => (number(&body["claim"]["thread"]), id("claim")),
            _ => (number(&body["thread"]), 0),
        };
        Self { position, kind, thread: ThreadId(thread), about }
    }
}

impl ExpectedFeed {
    /// The query that asks for it.
    pub fn query(&self) -> String {
        let threads = || self.threads.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let mut query = format!("?scope={}", self.scope.as_str());
        if self.scope == Scope::Threads {
            return format!("{query}&threads={}", threads());
        }
        if let Some(extension) = &self.extension {
            query = query + "&extension=" + extension;
        }
        if !self.anyone {
            query.push_str("&anyone=false");
        }
        query
    }

    fn follows(&self, thread: ThreadId) -> bool {
        match self.scope {
            Scope::All => true,
            Scope::Threads => self.threads.contains(&thread),
            Scope::Inbox => false,
        }
    }

    /// Whether the reply that is awaited may come from its listener (parley.md §7).
    pub fn waits(&self, awaiting: Option<&Awaiting>) -> bool {
        let same = |extension: Option<&str>| extension == self.extension.as_deref();
        awaiting.is_some_and(|awaiting| match &awaiting.due {
            Due::Anyone => {
                let asker = &awaiting.asker;
                let own = *asker.identity == *self.identity && same(asker.extension.as_deref());
                self.anyone && !own
            }
            Due::Participant(due) => {
                *due.identity == *self.identity
                    && (self.extension.is_none() || same(due.extension.as_deref()))
            }
        })
    }

    /// The frames that it sends of one act, in order: the act of the entry `number`, before which
    /// `before` was awaited in its thread.
    pub fn frames(&self, number: u64, act: &Act, before: Option<&Awaiting>) -> Vec<ExpectedFrame> {
        let (thread, mut frames) = (act.thread, Vec::new());
        let mut add = |slot: u64, kind, about| {
            frames.push(ExpectedFrame { position: number * 16 + slot, kind, thread, about });
        };
        if self.follows(thread) {
            if let Change::Message(message) = &act.change {
                add(0, FrameType::Message, message.id.0);
            }
            if let Some(event) = &act.event {
                add(1, FrameType::Event, event.id.0);
            }
            let claims = match &act.change {
                Change::Assert(claim) => [&[claim.id], &*claim.supersedes].concat(),
                Change::Attest(claim, _) | Change::Refute(claim, _) => vec![*claim],
                Change::Message(_) | Change::Mark => Vec::new(),
            };
            for (slot, claim) in (2..).zip(claims) {
                add(slot, FrameType::Claim, claim.0);
            }
        }
        let turn = |one: Option<&Awaiting>| one.map(|it| (it.message, it.due.clone()));
        let (was, is) = (before, act.awaiting.as_ref());
        if self.scope == Scope::Threads {
        } else if self.waits(is) && turn(was) != turn(is) {
            add(11, FrameType::Awaiting, is.map_or(0, |it| it.message.0));
        } else if self.waits(was) && !self.waits(is) {
            add(12, FrameType::Settled, 0);
        }
        frames
    }

    /// The frames that it sends of these entries, which begin with the first, in order.
    pub fn all(&self, entries: &[(u64, Entry)]) -> Vec<ExpectedFrame> {
        let (mut frames, mut turns) = (Vec::new(), HashMap::new());
        for (number, entry) in entries {
            if let Entry::Act(act) = entry {
                let before: Option<Awaiting> =
                    turns.insert(act.thread, act.awaiting.clone()).flatten();
                frames.extend(self.frames(*number, act, before.as_ref()));
            }
        }
        frames
    }
}
