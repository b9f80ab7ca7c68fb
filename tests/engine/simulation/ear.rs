//! What a listener is to be told, worked out from the log: nothing of the server's own reckoning
//! is asked.

use std::collections::{BTreeSet, VecDeque};

use parley_protocol::entry::{Awaiting, Change, Due};
use parley_protocol::feed::Scope;
use parley_protocol::ids::ThreadId;
use parley_protocol::wire::frame::FrameType;

use super::shadow::Seen;

/// Who listens, to what.
#[derive(Clone, Debug)]
pub struct Ear {
    pub identity: String,
    pub extension: Option<String>,
    pub anyone: bool,
    pub scope: Scope,
    pub threads: BTreeSet<ThreadId>,
}

/// A frame that is to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub position: u64,
    pub kind: FrameType,
    pub thread: ThreadId,
    /// The number of the message, event or claim; 0 where it is about none.
    pub about: u64,
}

/// Whether the reply that is awaited may come from `ear` (parley.md §7).
pub fn waits(ear: &Ear, awaiting: Option<&Awaiting>) -> bool {
    let same = |extension: Option<&str>| extension == ear.extension.as_deref();
    awaiting.is_some_and(|awaiting| match &awaiting.due {
        Due::Anyone => {
            let asker = &awaiting.asker;
            let own = *asker.identity == *ear.identity && same(asker.extension.as_deref());
            ear.anyone && !own
        }
        Due::Participant(due) => {
            *due.identity == *ear.identity
                && (ear.extension.is_none() || same(due.extension.as_deref()))
        }
    })
}

impl Ear {
    /// The frames that it is told of one act, in order.
    pub fn told(&self, seen: &Seen, into: &mut VecDeque<Expected>) {
        let Seen { number, act, before } = seen;
        let thread = act.thread;
        let mut add = |slot: u64, kind, about| {
            into.push_back(Expected { position: number * 16 + slot, kind, thread, about });
        };
        let follows = match self.scope {
            Scope::All => true,
            Scope::Threads => self.threads.contains(&thread),
            Scope::Inbox => false,
        };
        if follows {
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
        if self.scope == Scope::Threads {
            return;
        }
        let turn = |one: Option<&Awaiting>| one.map(|it| (it.message, it.due.clone()));
        let (was, is) = (before.as_ref(), act.awaiting.as_ref());
        if waits(self, is) && turn(was) != turn(is) {
            add(11, FrameType::Awaiting, is.map_or(0, |it| it.message.0));
        } else if waits(self, was) && !waits(self, is) {
            add(12, FrameType::Settled, 0);
        }
    }
}
