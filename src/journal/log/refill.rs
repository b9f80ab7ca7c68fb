//! A log made of the entries of a copy.

use super::segment::Segment;
use super::writing::ChunkInserter;
use crate::storage::disk::Disk;
use crate::storage::error::StoreError;
use crate::storage::rows::NextRow;

/// Makes the log of a folder that has none out of entries in order: under the eight bytes of its
/// number, little-endian, each as it was encoded. What comes up to `archived_upto` is there for
/// replays, what comes after it to be folded. Gives the number of the last entry.
///
/// # Errors
/// If the disk refuses, or the entries are in no order, or those of `next`.
pub(crate) fn refill(
    disk: &dyn Disk,
    segment_bytes: u64,
    archived_upto: u64,
    next: NextRow<'_>,
) -> Result<u64, StoreError> {
    let disordered = || StoreError::damaged("the log", "the entries of the copy are in no order");
    let mut numbered = || -> Result<Option<(u64, Vec<u8>)>, StoreError> {
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
                rows.push(number, |mut bytes| {
                    bytes.extend_from_slice(&entry);
                    bytes
                })?;
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
