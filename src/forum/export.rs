//! Exports a thread as artifacts (artifacts.md §4, §4.1): in pages, or the whole in lines.
//!
//! Each export is made from the thread's acts. Acts are only added, so a stream that ends with the
//! act that was the last when it began gives the same bytes whatever is added meanwhile, and holds
//! no view while its reader is slow.

use bytes::Bytes;
use futures_util::Stream;
use parley_protocol::artifact::export::{Export, Exported, Survey};
use parley_protocol::command::PageQuery;
use parley_protocol::entry::Act;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result};

use super::answer::Answer;
use super::read::{known, list_answer};
use super::{Forum, blocking};
use crate::journal::view::{PlacedAct, View};
use crate::storage::error::StoreError;

/// Acts read at a time.
const ACTS_AT_ONCE: usize = 64;
/// Bytes from which on a piece of a stream is given.
const PIECE_BYTES: usize = 32 << 10;

impl Forum {
    /// A page of the artifacts of `thread`. Its cursor is valid until the thread changes.
    pub(super) async fn export_page(
        &self,
        view: &View,
        thread: ThreadId,
        page: &PageQuery,
    ) -> Result<Answer> {
        let summary = view.summary(thread)?;
        // No cursor was given for an unknown thread, so a cursor is refused first.
        let moved = summary.as_ref().map_or(0, |summary| summary.position.0);
        let kind = format!("export {thread} {moved}");
        let start = self.list_start(&kind, page)?.unwrap_or(0);
        let last = summary.ok_or_else(|| Refusal::no_thread(thread))?.position.entry();
        let (view, limit) = (view.clone(), self.limit(page.limit));
        let (items, count) = blocking(move || take(&view, thread, last, start, limit)).await?;
        let next = start + items.len() as u64;
        let end = self.list_cursor(&kind, next);
        Ok(list_answer(&items, &end, next < count, |out, item| out.extend_from_slice(&item.bytes)))
    }

    /// The whole of `thread` as artifacts, one a line.
    ///
    /// # Errors
    /// 404 `thread_not_found`, 503 `overloaded`, or an error of the disk.
    pub async fn export_lines(
        &self,
        thread: ThreadId,
    ) -> Result<impl Stream<Item = Result<Bytes, StoreError>> + Send + use<>> {
        let (view, _permit) = self.admit_read().await?;
        let last = known(&view, thread)?.position.entry();
        let first_pass = view.clone();
        let export = blocking(move || survey(&first_pass, thread, last)).await?;
        let lines =
            ExportStream { forum: self.clone(), thread, last, after: 0, export: Some(export) };
        Ok(futures_util::stream::unfold(lines, |mut lines| async move {
            let piece = lines.piece().transpose()?;
            if piece.is_err() {
                // The stream breaks off, so that no reader takes it for the whole.
                lines.export = None;
            }
            Some((piece, lines))
        }))
    }
}

/// The state of a stream of lines.
struct ExportStream {
    forum: Forum,
    thread: ThreadId,
    last: u64,
    after: u64,
    /// `None` once it has ended.
    export: Option<Export>,
}

impl ExportStream {
    /// The next piece; `None` at the end.
    fn piece(&mut self) -> Result<Option<Bytes>, StoreError> {
        let mut piece = Vec::new();
        let mut put = |item: Exported| {
            piece.extend_from_slice(&item.bytes);
            piece.push(b'\n');
            piece.len() >= PIECE_BYTES
        };
        let Some(export) = &mut self.export else { return Ok(None) };
        let view = self.forum.view();
        let mut acts = ActScan::after(&view, self.thread, self.after, self.last);
        let mut full = false;
        while !full
            && acts.next(|act| export.act(act).into_iter().for_each(|it| full |= put(it)))?
        {
        }
        self.after = acts.after;
        if !full && let Some(last) = self.export.take().and_then(Export::end) {
            put(last);
        }
        Ok((!piece.is_empty()).then(|| piece.into()))
    }
}

/// The acts of a thread up to the entry `last`, read some at a time.
struct ActScan<'v> {
    view: &'v View,
    thread: ThreadId,
    read: std::vec::IntoIter<PlacedAct>,
    /// The entry of the act given last.
    after: u64,
    last: u64,
}

impl<'v> ActScan<'v> {
    fn after(view: &'v View, thread: ThreadId, after: u64, last: u64) -> Self {
        Self { view, thread, read: Vec::new().into_iter(), after, last }
    }

    /// Shows the next act; `false` if there is none.
    fn next(&mut self, show: impl FnOnce(&Act)) -> Result<bool, StoreError> {
        if self.after >= self.last {
            return Ok(false);
        }
        if self.read.len() == 0 {
            self.read = self.view.acts(self.thread, self.after, ACTS_AT_ONCE)?.into_iter();
        }
        let Some(placed) = self.read.next().filter(|placed| placed.entry <= self.last) else {
            return Ok(false);
        };
        self.after = placed.entry;
        show(placed.act());
        Ok(true)
    }
}

/// The first pass over the acts.
fn survey(view: &View, thread: ThreadId, last: u64) -> Result<Export, StoreError> {
    let mut survey = Survey::default();
    let mut acts = ActScan::after(view, thread, 0, last);
    while acts.next(|act| survey.see(act))? {}
    Ok(Export::new(survey))
}

/// At most `limit` artifacts from the place `start` on, and the number of all.
fn take(
    view: &View,
    thread: ThreadId,
    last: u64,
    start: u64,
    limit: usize,
) -> Result<(Vec<Exported>, u64), StoreError> {
    let mut export = survey(view, thread, last)?;
    let count = export.count();
    let end = count.min(start.saturating_add(limit as u64));
    let mut items = Vec::new();
    let mut place = 0;
    let mut put = |item: Exported| {
        if (start..end).contains(&place) {
            items.push(item);
        }
        place += 1;
        place
    };
    let mut made = 0;
    let mut acts = ActScan::after(view, thread, 0, last);
    while made < end
        && acts.next(|act| export.act(act).into_iter().for_each(|item| made = put(item)))?
    {}
    if made < end {
        export.end().map(put);
    }
    Ok((items, count))
}
