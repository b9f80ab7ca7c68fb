//! Checks the free space before a write: a database whose write has failed refuses reads too, so a
//! full disk is to be noticed before.

use std::sync::Arc;

use super::disk::Disk;
use super::error::{StoreError, StoreResult};
use crate::clock::{Clock, Moment};

/// Milliseconds for which a check that found enough counts.
pub const CHECK_INTERVAL_MS: u64 = 100;

/// Checks that enough bytes are free, at most once in [`CHECK_INTERVAL_MS`] while they are.
#[derive(Clone)]
pub struct FreeSpace {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    free_bytes_min: u64,
    /// When enough was free last.
    checked_at: Option<Moment>,
}

impl FreeSpace {
    /// For `disk`, of which `free_bytes_min` must stay free; 0 disables the check.
    pub fn new(disk: Arc<dyn Disk>, clock: Arc<dyn Clock>, free_bytes_min: u64) -> Self {
        Self { disk, clock, free_bytes_min, checked_at: None }
    }

    /// Checks, unless it did within the interval.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Io`].
    pub fn check(&mut self) -> StoreResult<()> {
        let (now, free_bytes_min) = (self.clock.moment(), self.free_bytes_min);
        let recent = |at: Moment| now.since(at) < CHECK_INTERVAL_MS;
        if free_bytes_min == 0 || self.checked_at.is_some_and(recent) {
            return Ok(());
        }
        self.checked_at = None;
        let free_bytes =
            self.disk.free_bytes().map_err(|error| StoreError::io("the data folder", error))?;
        if free_bytes < free_bytes_min {
            return Err(StoreError::Full { free_bytes, free_bytes_min });
        }
        self.checked_at = Some(now);
        Ok(())
    }
}
