//! Keeps the log from dropping segments that a backup still has to read.

use std::sync::Arc;

use super::Log;

/// As long as it lives, no entry that the log had when it was taken is dropped. The disk grows by
/// later entries only.
#[derive(Debug)]
pub struct RetentionGuard {
    log: Arc<Log>,
    first: u64,
}

impl Log {
    /// Retains all entries that the log has now.
    pub fn retain(self: &Arc<Self>) -> RetentionGuard {
        let mut segments = self.segments();
        let first = segments.by_first.first_key_value().map_or(u64::MAX, |(first, _)| *first);
        *segments.retained.entry(first).or_default() += 1;
        drop(segments);
        RetentionGuard { log: Arc::clone(self), first }
    }
}

impl RetentionGuard {
    /// The first number that is retained.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The log.
    pub fn log(&self) -> &Log {
        &self.log
    }
}

impl Drop for RetentionGuard {
    fn drop(&mut self) {
        let mut segments = self.log.segments();
        if let Some(count) = segments.retained.get_mut(&self.first) {
            *count -= 1;
            if *count == 0 {
                segments.retained.remove(&self.first);
            }
        }
    }
}
