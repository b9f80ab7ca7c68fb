//! Exports a thread as artifacts (artifacts.md §4, §4.1): in pages, or the whole in lines.
//!
//! Each export is made from the thread's acts. Acts are only added, so a stream that ends with the
//! act that was the last when it began gives the same bytes whatever is added meanwhile, and holds
//! no view while its reader is slow.

use bytes::Bytes;
use futures_util::Stream;
use parley_protocol::artifact::export::{Export, Exported, Survey};
use parley_protocol::command::PageQuery;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result};

use super::answer::Answer;
use super::read::{known, list_answer};
use super::{Forum, blocking};
use crate::journal::view::{PlacedAct, View};
use crate::storage::error::StoreError;

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
        let mut full = false;
        for placed in acts(&view, self.thread, self.after, self.last)? {
            let placed = placed?;
            self.after = placed.entry;
            export.act(placed.act()).into_iter().for_each(|item| full |= put(item));
            if full {
                break;
            }
        }
        if !full && let Some(last) = self.export.take().and_then(Export::end) {
            put(last);
        }
        Ok((!piece.is_empty()).then(|| piece.into()))
    }
}

/// The acts of `thread` after the entry `after` and up to `last`.
fn acts(
    view: &View,
    thread: ThreadId,
    after: u64,
    last: u64,
) -> Result<impl Iterator<Item = Result<PlacedAct, StoreError>>, StoreError> {
    let acts = view.acts(thread, after)?;
    Ok(acts.take_while(move |act| act.as_ref().map_or(true, |placed| placed.entry <= last)))
}

/// The first pass over the acts.
fn survey(view: &View, thread: ThreadId, last: u64) -> Result<Export, StoreError> {
    let mut survey = Survey::default();
    for placed in acts(view, thread, 0, last)? {
        survey.see(placed?.act());
    }
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
    for placed in acts(view, thread, 0, last)? {
        export.act(placed?.act()).into_iter().for_each(|item| made = put(item));
        if made >= end {
            break;
        }
    }
    if made < end {
        export.end().map(put);
    }
    Ok((items, count))
}
