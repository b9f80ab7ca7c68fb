//! Exports a thread as artifacts (artifacts.md §4, §4.1): in pages, or the whole in lines.
//!
//! Each export is made from the thread's acts. Acts are only added, so a stream that ends with the
//! act that was the last when it began gives the same bytes whatever is added meanwhile, and holds
//! no view while its reader is slow.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use parley_protocol::artifact::export::{Export, Exported, Survey};
use parley_protocol::command::PageQuery;
use parley_protocol::identity::Principal;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::wire::{JsonBuffer, ListWriter};

use super::Forum;
use super::answer::Answer;
use super::read::{LIST_BYTES, known};
use crate::budget::Holder;
use crate::journal::view::{PlacedAct, View};

/// Bytes from which on a piece of a stream is given.
const PIECE_BYTES: usize = 32 << 10;

impl Forum {
    /// A page of the artifacts of `thread`. Its cursor is valid until the thread changes.
    pub(super) fn export_page(
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
        let acts = self.acts_until_stop(view, thread, 0, last);
        let survey = survey(self.acts_until_stop(view, thread, 0, last)?)?;
        let mut body = JsonBuffer::with_capacity(LIST_BYTES);
        let mut list = ListWriter::begin(&mut body);
        let (limit, bytes_max) = (self.limit(page.limit), self.answer_bytes_max());
        let put =
            |item: &Exported| list.put_within(bytes_max, |out| out.extend_from_slice(&item.bytes));
        let (count, next) = take(survey, acts?, start, limit, put)?;
        list.end(&self.list_cursor(&kind, next), next < count);
        Ok(Answer::ok(body))
    }

    /// The whole of `thread` as artifacts, one a line.
    ///
    /// # Errors
    /// 404 `thread_not_found`, 503 `overloaded`, or an error of the disk.
    pub async fn export_lines(
        &self,
        principal: &Principal,
        thread: ThreadId,
    ) -> Result<impl Stream<Item = Result<Bytes>> + Send + use<>> {
        let holder = Holder::Identity(Arc::clone(&principal.identity));
        let streaming = self.inner.streaming.hold(&holder, 1)?;
        let forum = self.clone();
        let surveyed = move || {
            let view = forum.view();
            let last = known(&view, thread)?.position.entry();
            Ok((survey(forum.acts_until_stop(&view, thread, 0, last)?)?, last))
        };
        let (export, last) = self.inner.long_reads.run(&principal.identity, surveyed).await?;
        let lines =
            ExportStream { forum: self.clone(), thread, last, after: 0, export: Some(export) };
        let identity = Arc::clone(&principal.identity);
        let state = Some((lines, identity, streaming));
        Ok(futures_util::stream::unfold(state, |state| async move {
            let (mut lines, identity, streaming) = state?;
            let reads = Arc::clone(&lines.forum.inner.deps.reads);
            let read = move || Ok((lines.piece()?, lines));
            match reads.run(&identity, read).await {
                Ok((piece, lines)) => {
                    piece.map(|piece| (Ok(piece), Some((lines, identity, streaming))))
                }
                // The stream breaks off, so that no reader takes it for the whole.
                Err(refusal) => Some((Err(refusal), None)),
            }
        }))
    }

    /// The acts of `thread` after the entry `after` and up to `last`, until the server stops.
    fn acts_until_stop<'v>(
        &self,
        view: &'v View,
        thread: ThreadId,
        after: u64,
        last: u64,
    ) -> Result<impl Iterator<Item = Result<PlacedAct>> + use<'v>> {
        let stop = self.inner.long_reads.stop_flag();
        let acts = view.acts(thread, after)?;
        let acts = acts.take_while(move |act| act.as_ref().map_or(true, |it| it.entry <= last));
        Ok(acts.map(
            move |act| {
                if stop.is_set() { Err(Refusal::shutting_down()) } else { Ok(act?) }
            },
        ))
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
    fn piece(&mut self) -> Result<Option<Bytes>> {
        let mut piece = Vec::new();
        let mut put = |item: Exported| {
            piece.extend_from_slice(&item.bytes);
            piece.push(b'\n');
            piece.len() >= PIECE_BYTES
        };
        let Some(export) = &mut self.export else { return Ok(None) };
        let view = self.forum.view();
        let mut full = false;
        for placed in self.forum.acts_until_stop(&view, self.thread, self.after, self.last)? {
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

/// The first pass over the acts.
fn survey(acts: impl Iterator<Item = Result<PlacedAct>>) -> Result<Export> {
    let mut survey = Survey::default();
    for placed in acts {
        survey.see(placed?.act());
    }
    Ok(Export::new(survey))
}

/// Puts at most `limit` artifacts from the place `start` on, while `put` takes them; gives the
/// number of all artifacts, and the place after the last that was put.
fn take(
    mut export: Export,
    acts: impl Iterator<Item = Result<PlacedAct>>,
    start: u64,
    limit: usize,
    mut put: impl FnMut(&Exported) -> bool,
) -> Result<(u64, u64)> {
    let count = export.count();
    let end = count.min(start.saturating_add(limit as u64));
    let (mut place, mut next, mut is_full) = (0, start, false);
    let mut each = |item: &Exported| {
        if (start..end).contains(&place) && !is_full {
            is_full = !put(item);
            next += u64::from(!is_full);
        }
        place += 1;
        place < end && !is_full
    };
    for placed in acts {
        let mut goes_on = true;
        export.act(placed?.act()).into_iter().for_each(|item| goes_on = each(&item));
        if !goes_on {
            return Ok((count, next));
        }
    }
    export.end().map(|item| each(&item));
    Ok((count, next))
}
