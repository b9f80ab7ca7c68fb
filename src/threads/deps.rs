//! The dependencies of every thread's actor, of the routers and of the service.

use std::sync::Arc;

use parley_protocol::limits::Limits;

use crate::clock::Clock;
use crate::journal::Journal;
use crate::work_pool::WorkPool;
use crate::yield_points::Hook;

/// Shared by all of one engine.
pub struct Deps {
    /// Stores acts, and shows what is committed.
    pub journal: Arc<Journal>,
    /// The limits in force.
    pub limits: Arc<Limits>,
    /// Tells the time of acts.
    pub clock: Arc<dyn Clock>,
    /// Runs reads of the store.
    pub reads: Arc<WorkPool>,
    /// A test's yield points; the default in the server.
    pub hook: Hook,
}
