//! Connections whose first request has not come. At the cap the oldest of them is evicted for a new
//! connection, so that silent connections evict only other silent ones.

use std::collections::VecDeque;
use std::sync::Arc;

use super::deadline::ConnectionDeadline;

/// The pending connections, oldest first.
pub struct PendingConnections {
    waiting: VecDeque<Arc<ConnectionDeadline>>,
    /// The length above which connections that are no longer pending are removed.
    max: usize,
}

impl PendingConnections {
    /// An empty list for `connections_max` connections.
    pub fn new(connections_max: usize) -> Self {
        Self { waiting: VecDeque::new(), max: connections_max.saturating_mul(2).max(16) }
    }

    /// Adds a connection that was just accepted.
    pub fn add(&mut self, deadline: &Arc<ConnectionDeadline>) {
        while self.waiting.front().is_some_and(|deadline| !is_new(deadline)) {
            self.waiting.pop_front();
        }
        if self.waiting.len() >= self.max {
            // Each that stays holds a permit, so at least half of them are removed.
            self.waiting.retain(is_new);
        }
        self.waiting.push_back(Arc::clone(deadline));
    }

    /// Evicts the oldest pending connection; `false` if there is none.
    pub fn evict_oldest(&mut self) -> bool {
        while let Some(deadline) = self.waiting.pop_front() {
            if is_new(&deadline) {
                deadline.evict();
                return true;
            }
        }
        false
    }
}

/// Whether the connection is open and its first request has not come.
fn is_new(deadline: &Arc<ConnectionDeadline>) -> bool {
    Arc::strong_count(deadline) > 1 && deadline.is_new()
}
