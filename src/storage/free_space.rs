//! Keeping a full disk away from the database, which refuses reads too once a write has failed.

use std::sync::Arc;

use parley_protocol::time::Millis;

use crate::clock::Clock;
use crate::journal::options::FREE_LOOK_MS;
use crate::storage::disk::Disk;
use crate::storage::error::StoreError;

/// Looks whether there is room to write, at most once in [`FREE_LOOK_MS`] while there is.
#[derive(Clone)]
pub struct FreeSpace {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    free_bytes_min: u64,
    /// When there was room last.
    looked_at: Option<Millis>,
}

impl FreeSpace {
    /// A look at `disk`, where `free_bytes_min` must stay free; 0 never looks.
    pub fn new(disk: Arc<dyn Disk>, clock: Arc<dyn Clock>, free_bytes_min: u64) -> Self {
        Self { disk, clock, free_bytes_min, looked_at: None }
    }

    /// Whether there is room.
    ///
    /// # Errors
    /// [`StoreError::Full`], or what the disk says.
    pub fn look(&mut self) -> Result<(), StoreError> {
        let (now, free_bytes_min) = (self.clock.now(), self.free_bytes_min);
        let recent = |at: Millis| now.0.abs_diff(at.0) < FREE_LOOK_MS;
        if free_bytes_min == 0 || self.looked_at.is_some_and(recent) {
            return Ok(());
        }
        self.looked_at = None;
        let free_bytes =
            self.disk.free_bytes().map_err(|error| StoreError::io("the data folder", error))?;
        if free_bytes < free_bytes_min {
            return Err(StoreError::Full { free_bytes, free_bytes_min });
        }
        self.looked_at = Some(now);
        Ok(())
    }
}
