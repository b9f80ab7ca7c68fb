//! Exporting a thread as artifacts (artifacts.md §4, §4.1): as pages, or the whole as lines.
//!
//! An export is made anew each time from the thread's acts. Acts are only ever added, so a stream
//! that stops at the act which was the last when it began gives the same bytes whatever comes
//! meanwhile, and need not hold a view while its reader is slow.

use bytes::Bytes;
use futures_util::Stream;
use parley_protocol::artifact::export::{Export, Exported, Survey};
use parley_protocol::command::PageQuery;
use parley_protocol::entry::Act;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::wire::{JsonBuffer, ListWriter};

use super::Forum;
use super::answer::Answer;
use crate::journal::view::View;
use crate::storage::error::StoreError;
use crate::threads::admission::PermitClass;

/// Acts read at once.
const ACTS_AT_ONCE: usize = 64;
/// A piece of a stream is given away once it has grown to this.
const PIECE_BYTES: usize = 32 << 10;

impl Forum {
    /// A page of the artifacts of `thread`. Its cursor is good while the thread stands still.
    pub(super) async fn export_page(
        &self,
        view: &View,
        thread: ThreadId,
        page: &PageQuery,
    ) -> Result<Answer> {
        let head = view.summary(thread)?;
        // No cursor was given for a thread that is not there, so this is decided first.
        let moved = head.as_ref().map_or(0, |head| head.position.0);
        let kind = format!("export {thread} {moved}");
        let cursors = self.inner.deps.journal.cursors();
        let start = page.cursor.as_deref().map(|text| cursors.read_list(&kind, text));
        let start = start.transpose()?.unwrap_or(0);
        let head = head.ok_or_else(|| Refusal::no_thread(thread))?;
        let (view, limit) = (view.clone(), self.limit(page.limit));
        let last = head.position.entry();
        let taken = tokio::task::spawn_blocking(move || take(&view, thread, last, start, limit));
        let (items, count) = taken.await.map_err(|_| Refusal::internal())??;
        let end = start + items.len() as u64;
        let bytes = items.iter().map(|item| item.bytes.len() + 1).sum::<usize>();
        let mut body = JsonBuffer::with_capacity(bytes + 128);
        let mut list = ListWriter::begin(&mut body);
        for item in &items {
            list.item().extend_from_slice(&item.bytes);
        }
        list.end(&cursors.list_text(&kind, end), end < count);
        Ok(Answer::ok(body))
    }

    /// The whole of `thread` as artifacts, one a line.
    ///
    /// # Errors
    /// 404 `thread_not_found`, 503 `overloaded`, and what the disk says.
    pub async fn export_lines(
        &self,
        thread: ThreadId,
    ) -> Result<impl Stream<Item = Result<Bytes, StoreError>> + Send + use<>> {
        let _permit = self.inner.admission.permit(PermitClass::Read).await?;
        let view = self.view();
        let head = view.summary(thread)?.ok_or_else(|| Refusal::no_thread(thread))?;
        let last = head.position.entry();
        let surveyed = tokio::task::spawn_blocking(move || survey(&view, thread, last));
        let export = surveyed.await.map_err(|_| Refusal::internal())??;
        let lines =
            ExportStream { forum: self.clone(), thread, last, after: 0, export: Some(export) };
        Ok(futures_util::stream::unfold(lines, |mut lines| async move {
            let piece = lines.piece().transpose()?;
            if piece.is_err() {
                // Cut short, so that nobody takes it for the whole.
                lines.export = None;
            }
            Some((piece, lines))
        }))
    }
}

/// An export on its way.
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
    read: std::vec::IntoIter<crate::journal::view::PlacedAct>,
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

/// The first pass.
fn survey(view: &View, thread: ThreadId, last: u64) -> Result<Export, StoreError> {
    let mut survey = Survey::default();
    let mut acts = ActScan::after(view, thread, 0, last);
    while acts.next(|act| survey.see(act))? {}
    Ok(Export::new(survey))
}

/// The artifacts from the place `start` on, at most `limit`, and how many there are in all.
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
