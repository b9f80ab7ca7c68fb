//! Pages of rows of the archive and the tail, in one order, with a bound on the rows read.

use std::iter::Peekable;

use super::super::archive::Rows;
use crate::storage::error::StoreResult;

/// The bounds of one page.
#[derive(Clone, Copy, Debug)]
pub struct ScanLimits {
    /// Items at most; at least 1.
    pub limit: usize,
    /// Rows read at most; at least 1.
    pub scan_max: usize,
}

/// Whether an item finds room in the bytes of a page; the page ends before the first that does not.
/// It takes the first item of a page whatever its size.
pub type Takes<'a, T> = dyn FnMut(&T) -> StoreResult<bool> + 'a;

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan<T> {
    /// The items.
    pub items: Vec<T>,
    /// The place after which the next page begins.
    pub next: u64,
    /// Whether there may be more; also where the bound on rows was reached.
    pub more: bool,
}

/// Merges sources, each in order; of equal numbers the earlier source is first. The tail's source
/// comes before the archive's, so that a page which ends between a row and the out-of-date one has
/// the current row.
pub(super) struct Merged<'a, T> {
    sources: Vec<Peekable<Rows<'a, T>>>,
    descending: bool,
}

impl<'a, T> Merged<'a, T> {
    pub fn new(sources: Vec<Rows<'a, T>>, descending: bool) -> Self {
        Self { sources: sources.into_iter().map(Iterator::peekable).collect(), descending }
    }
}

impl<T> Iterator for Merged<'_, T> {
    type Item = StoreResult<(u64, T)>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut first: Option<(usize, u64)> = None;
        for (index, source) in self.sources.iter_mut().enumerate() {
            let key = match source.peek() {
                Some(Ok((key, _))) => *key,
                Some(Err(_)) => return source.next(),
                None => continue,
            };
            let sooner = |best: u64| if self.descending { key > best } else { key < best };
            if first.is_none_or(|(_, best)| sooner(best)) {
                first = Some((index, key));
            }
        }
        self.sources[first?.0].next()
    }
}

/// A page of `rows`, from `start` on: `wanted` makes an item of a row, or skips it; `takes` says
/// whether an item finds room in the page.
///
/// A full page reads on until it finds one more item, or reaches the bound; `next` stays at its
/// last item.
pub(super) fn scan<T, R>(
    rows: impl Iterator<Item = StoreResult<(u64, R)>>,
    start: u64,
    page: ScanLimits,
    takes: &mut Takes<'_, T>,
    mut wanted: impl FnMut(u64, R) -> StoreResult<Option<T>>,
) -> StoreResult<Scan<T>> {
    let mut found = Scan { items: Vec::new(), next: start, more: false };
    for (scanned, row) in rows.enumerate() {
        if scanned >= page.scan_max {
            found.more = true;
            break;
        }
        let (place, row) = row?;
        let full = found.items.len() >= page.limit;
        if let Some(item) = wanted(place, row)? {
            if full || !takes(&item)? {
                found.more = true;
                break;
            }
            found.items.push(item);
        }
        if !full {
            found.next = place;
        }
    }
    Ok(found)
}
