//! A file that is only read: writes of the database, of a repair for instance, stay in memory.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

const PAGE: u64 = 4_096;

/// A file whose written pages are kept in memory and dropped with it; the file below is not
/// changed.
#[derive(Debug)]
pub struct Overlay {
    inner: Box<dyn StorageBackend>,
    state: Mutex<OverlayState>,
}

#[derive(Debug)]
struct OverlayState {
    len: u64,
    /// Bytes of the file below that are still valid: a truncation hides the rest.
    below: u64,
    pages: BTreeMap<u64, Box<[u8]>>,
}

impl Overlay {
    /// An overlay of `inner`.
    ///
    /// # Errors
    /// If the length of `inner` cannot be read.
    pub fn new(inner: Box<dyn StorageBackend>) -> io::Result<Self> {
        let len = inner.len()?;
        let state = Mutex::new(OverlayState { len, below: len, pages: BTreeMap::new() });
        Ok(Self { inner, state })
    }

    fn state(&self) -> MutexGuard<'_, OverlayState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from the file below; beyond its `below` bytes there are zeros.
    fn read_below(&self, below: u64, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let there = below.saturating_sub(offset).min(out.len() as u64) as usize;
        let (shown, beyond) = out.split_at_mut(there);
        beyond.fill(0);
        if shown.is_empty() {
            return Ok(());
        }
        self.inner.read(offset, shown)
    }
}

/// The part of `offset..offset + len` that lies in `page`: where it begins in the page and in the
/// range, and how long it is.
fn shared(page: u64, offset: u64, len: usize) -> (usize, usize, usize) {
    let start = offset.max(page * PAGE);
    let end = (offset + len as u64).min((page + 1) * PAGE);
    ((start - page * PAGE) as usize, (start - offset) as usize, (end - start) as usize)
}

fn pages(offset: u64, len: usize) -> std::ops::Range<u64> {
    offset / PAGE..(offset + len as u64).div_ceil(PAGE)
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > state.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_below(state.below, offset, out)?;
        let range = pages(offset, out.len());
        for (page, bytes) in state.pages.range(range) {
            let (from, to, len) = shared(*page, offset, out.len());
            out[to..to + len].copy_from_slice(&bytes[from..from + len]);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state();
        if len < state.len {
            state.below = state.below.min(len);
            state.pages.split_off(&len.div_ceil(PAGE));
            if let Some(bytes) = state.pages.get_mut(&(len / PAGE)) {
                bytes[(len % PAGE) as usize..].fill(0);
            }
        }
        state.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > state.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for page in pages(offset, data.len()) {
            if !state.pages.contains_key(&page) {
                let mut bytes = vec![0; PAGE as usize].into_boxed_slice();
                self.read_below(state.below, page * PAGE, &mut bytes)?;
                state.pages.insert(page, bytes);
            }
            let (to, from, len) = shared(page, offset, data.len());
            if let Some(bytes) = state.pages.get_mut(&page) {
                bytes[to..to + len].copy_from_slice(&data[from..from + len]);
            }
        }
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::disk::{Disk, MemoryDisk};

    /// Goal: an overlay reads like a file that was written and leaves the one below untouched.
    /// Method: the same writes and lengths, crossing pages, to an overlay and to a plain file.
    #[test]
    fn overlay_reads_like_a_file() {
        let disk = MemoryDisk::default();
        let below = disk.create("below").unwrap();
        below.set_len(10_000).unwrap();
        below.write(0, &[7; 10_000]).unwrap();
        let plain = disk.create("plain").unwrap();
        plain.set_len(10_000).unwrap();
        plain.write(0, &[7; 10_000]).unwrap();
        let over = Overlay::new(disk.open("below").unwrap()).unwrap();
        let both: [&dyn StorageBackend; 2] = [&*plain, &over];
        for file in both {
            file.write(4_090, &[1; 20]).unwrap();
            file.set_len(5_000).unwrap();
            file.set_len(20_000).unwrap();
            file.write(12_000, &[2; 6_000]).unwrap();
            file.write(0, &[3]).unwrap();
            assert!(file.write(19_999, &[0; 2]).is_err());
            assert!(file.read(19_999, &mut [0; 2]).is_err());
        }
        let mut read = [vec![0; 20_000], vec![0; 20_000]];
        for (file, out) in both.iter().zip(&mut read) {
            file.read(0, out).unwrap();
        }
        assert!(read[0] == read[1]);
        let mut untouched = vec![0; 10_000];
        below.read(0, &mut untouched).unwrap();
        assert!(untouched.iter().all(|byte| *byte == 7));
    }
}
