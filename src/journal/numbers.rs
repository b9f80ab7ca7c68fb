//! The sequences of messages, events and claims (parley.md §2): each number is assigned once, with
//! gaps. Threads and entries are numbered by the queue.

use std::sync::atomic::{AtomicU64, Ordering};

use parley_protocol::ids::{ClaimId, EventId, MessageId, Numbers};

/// The last number assigned of each sequence.
#[derive(Debug, Default)]
pub struct Counters {
    message: AtomicU64,
    event: AtomicU64,
    claim: AtomicU64,
}

impl Counters {
    /// Sequences that begin after these numbers.
    pub fn new(message: u64, event: u64, claim: u64) -> Self {
        Self { message: message.into(), event: event.into(), claim: claim.into() }
    }
}

/// Assigns the numbers of an act; cheap to make.
#[derive(Clone, Copy, Debug)]
pub struct JournalNumbers<'a>(pub(super) &'a Counters);

impl Numbers for JournalNumbers<'_> {
    fn message(&mut self) -> MessageId {
        MessageId(self.0.message.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn event(&mut self) -> EventId {
        EventId(self.0.event.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn claim(&mut self) -> ClaimId {
        ClaimId(self.0.claim.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
