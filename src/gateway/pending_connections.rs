//! Connections whose first request has not come yet: when all places are taken, the one that has
//! let the server wait longest gives its place to the next. So whoever opens connections and says
//! nothing only pushes out its like.

use std::collections::VecDeque;
use std::sync::Arc;

use super::deadline::ConnectionDeadline;

/// Those that have said nothing, the longest silent first.
pub struct PendingConnections {
    waiting: VecDeque<Arc<ConnectionDeadline>>,
    /// Beyond so many, those that are new no more are cleared out.
    max: usize,
}

impl PendingConnections {
    /// Nobody yet, where there are `connections_max` places.
    pub fn new(connections_max: usize) -> Self {
        Self { waiting: VecDeque::new(), max: connections_max.saturating_mul(2).max(16) }
    }

    /// Adds a connection that was just accepted.
    pub fn add(&mut self, deadline: &Arc<ConnectionDeadline>) {
        while self.waiting.front().is_some_and(|watch| !is_new(watch)) {
            self.waiting.pop_front();
        }
        if self.waiting.len() >= self.max {
            // Each that stays holds a place, so at least half of them go.
            self.waiting.retain(is_new);
        }
        self.waiting.push_back(Arc::clone(deadline));
    }

    /// Ends the connection that has let us wait longest; `false` if none has.
    pub fn evict_oldest(&mut self) -> bool {
        while let Some(watch) = self.waiting.pop_front() {
            if is_new(&watch) {
                watch.evict();
                return true;
            }
        }
        false
    }
}

/// Whether the connection is there and its first request is not.
fn is_new(watch: &Arc<ConnectionDeadline>) -> bool {
    Arc::strong_count(watch) > 1 && watch.is_new()
}
