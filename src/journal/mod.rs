//! The only door to durable state: one writer, one order, group commit.
//!
//! Data goes one way: [`Journal::submit`] places an item in the queue and, if it appends, in the
//! one order; the writer commits what is queued in one transaction; after the sync the view is
//! moved, then replies go out and the hub is told, in that order.

pub mod archive;
pub mod cursor;
pub mod error;
pub mod fold;
mod tail;
pub mod view;

use std::sync::Arc;

use parley_protocol::claim::Claim;
use parley_protocol::entry::Entry;
use parley_protocol::head::Head;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Result;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// An entry that is on disk, with what it made of its thread.
#[derive(Debug)]
pub struct Committed {
    /// Its number in the one order, from 1.
    pub number: u64,
    /// What happened.
    pub entry: Entry,
    /// The head of the thread after it, stamped; `None` if the entry is no act.
    pub head: Option<Arc<Head>>,
    /// The claims that it changed, as they stand after it, in the order of `Act::claims`.
    pub claims: Vec<Arc<Claim>>,
}

/// What a reply brings once everything it depends on is on disk.
#[derive(Clone, Debug)]
pub enum Done {
    /// The entry of this very call.
    Committed(Arc<Committed>),
    /// Nothing had to change: the head that the answer shows.
    Unchanged(Arc<Head>),
}

/// Where an answer goes. The permits of the call travel in it: they are free again when the call
/// has its answer, not when its caller goes away.
#[derive(Debug)]
pub struct Reply {
    /// The waiting call; a caller that has gone away is no error.
    pub sender: oneshot::Sender<Result<Done>>,
    /// The permits taken at the door.
    pub permit: Option<OwnedSemaphorePermit>,
}

/// The right to append to one thread: held by one actor at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The thread.
    pub thread: ThreadId,
    /// Given by [`Item::Acquire`]; a later one makes it stale.
    pub epoch: u64,
}

/// An append.
#[derive(Debug)]
pub struct Append {
    /// The lease under which the act comes; its `seq` must be the next one of the thread. `None`
    /// for an opening and for what belongs to no thread.
    pub lease: Option<Lease>,
    /// What happened.
    pub entry: Entry,
    /// The head after it, stamped with the number that the append was given.
    pub head: Option<Arc<Head>>,
    /// The claims changed, as they stand after it.
    pub claims: Vec<Arc<Claim>>,
    /// Where the answer goes.
    pub reply: Reply,
}

/// What stands in the journal's queue beside appends.
#[derive(Debug)]
pub enum Item {
    /// An act, an artifact or a remembered outcome to be stored, and its number.
    Append(u64, Box<Append>),
    /// An answer that depends on entries of this generation that are still in flight: it leaves
    /// after their commit, or becomes 503 `storage_unavailable` if that fails.
    Barrier {
        /// [`Journal::generation`] when the answer was computed.
        generation: u64,
        /// The answer.
        outcome: Result<Done>,
        /// Where it goes.
        reply: Reply,
    },
    /// Takes the lease of a thread; answered once every append before it is committed.
    Acquire {
        /// The thread.
        thread: ThreadId,
        /// The lease.
        reply: oneshot::Sender<Result<Lease>>,
    },
    /// Gives a lease back, if it is still the last one given.
    Release(Lease),
}
