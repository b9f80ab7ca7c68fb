//! Makes a log of the entries of a copy.

use super::segment::Segment;
use super::writing::ChunkInserter;
use crate::storage::disk::Disk;
use crate::storage::error::{StoreError, StoreResult};
use crate::storage::rows::NextRow;

/// Makes the log on a disk that has none. `next` gives the entries in order: under the eight bytes
/// of its number, little-endian, each as it was encoded. Those up to `archived_upto` serve replays,
/// later ones are archived at the next start. Returns the number of the last entry.
///
/// # Errors
/// Those of the disk and of `next`, and [`StoreError::Damaged`] for entries out of order.
pub(crate) fn refill(
    disk: &dyn Disk,
    segment_bytes: u64,
    archived_upto: u64,
    next: NextRow<'_>,
) -> StoreResult<u64> {
    let disordered = || StoreError::damaged("the log", "the entries of the copy are in no order");
    let mut numbered = || -> StoreResult<Option<(u64, Vec<u8>)>> {
        let Some((key, entry)) = next()? else { return Ok(None) };
        let number = key.try_into().map(u64::from_le_bytes).map_err(|_| disordered())?;
        Ok(Some((number, entry)))
    };
    let mut pending = numbered()?;
    let mut last = archived_upto;
    if let Some((number, _)) = &pending {
        last = last.min(number.saturating_sub(1));
    }
    loop {
        let (segment, _) = Segment::create(disk, last + 1, |table| {
            let mut rows = ChunkInserter::after(last, table);
            while let Some((number, entry)) = pending.take() {
                if number <= last {
                    return Err(disordered());
                }
                rows.push_raw(number, &entry)?;
                last = number;
                pending = numbered()?;
                if rows.bytes >= segment_bytes {
                    break;
                }
            }
            rows.flush()
        })?;
        segment.close()?;
        if pending.is_none() {
            return Ok(last.max(archived_upto));
        }
    }
}
