//! Takes a copy: a consistent state of the store, in pieces, while the store goes on.

use std::ops::ControlFlow;
use std::sync::Arc;

use parley_protocol::entry::Position;
use parley_protocol::time::Millis;

use super::frames::FrameWriter;
use super::{head, section};
use crate::journal::Journal;
use crate::journal::archive::{self, ArchiveRead};
use crate::journal::log::{self, RetentionGuard};
use crate::storage::error::{StoreError, StoreResult};
use crate::storage::migration::FileFormat;
use crate::storage::panic_guard::panic_guard;
use crate::storage::rows::RawRows;
use crate::tokens::{self, Tokens};

/// Bytes of entries that are read from the log at once.
const ENTRIES_BYTES: usize = 256 << 10;

/// A copy in progress.
///
/// It has one state of the archive, the log up to the last entry of the view of that state, and the
/// tokens of a moment later, so that it knows the participant of every act in it. It pins that
/// state of the archive until its tables are read, and keeps the log from being dropped.
pub struct BackupCopy {
    writer: FrameWriter,
    cursor: String,
    last: u64,
    taken_at: Millis,
    stage: CopyStage,
    archive: Option<Arc<ArchiveRead>>,
    retention: RetentionGuard,
    tokens: RawRows,
}

/// The next part of the copy.
enum CopyStage {
    Head,
    /// The remaining tables, in reverse order, and the rest of the current one.
    Archive(Vec<&'static str>, Option<(String, RawRows)>),
    /// The entries after this one.
    Log(u64),
    Tokens,
    End,
    Ended,
}

impl BackupCopy {
    /// Begins a copy of the entries that are committed now.
    pub fn begin(journal: &Journal, tokens: &Tokens, now: Millis) -> Self {
        // Before the view: entries after the view's archive must not be dropped from the log.
        let retention = journal.log().retain();
        let (archive, position) = {
            let view = journal.view();
            (view.archive(), view.position())
        };
        Self {
            writer: FrameWriter::default(),
            cursor: journal.cursors().text(position),
            last: position.entry(),
            taken_at: now,
            stage: CopyStage::Head,
            archive: Some(archive),
            retention,
            tokens: Box::new(tokens.rows().map(|row| {
                let (id, record) = row?;
                Ok((id.to_le_bytes().to_vec(), record))
            })),
        }
    }

    /// The cursor of its last entry.
    pub fn cursor(&self) -> &str {
        &self.cursor
    }

    /// The position after its last entry.
    pub fn position(&self) -> Position {
        Position::after(self.last)
    }

    /// The next piece, usually of some hundred thousand bytes; `None` at the end. Blocks on the
    /// disk.
    ///
    /// # Errors
    /// Those of the disk, and [`StoreError::Damaged`]; the copy is invalid then.
    pub fn piece(&mut self) -> StoreResult<Option<Vec<u8>>> {
        panic_guard("the store", || {
            loop {
                let (piece, next) = match std::mem::replace(&mut self.stage, CopyStage::Ended) {
                    CopyStage::Head => self.head()?,
                    CopyStage::Archive(tables, table) => self.table(tables, table)?,
                    CopyStage::Log(after) => self.log(after)?,
                    CopyStage::Tokens => self.tokens()?,
                    CopyStage::End => {
                        (Some(std::mem::take(&mut self.writer).end()), CopyStage::Ended)
                    }
                    CopyStage::Ended => return Ok(None),
                };
                self.stage = next;
                if piece.is_some() {
                    return Ok(piece);
                }
            }
        })
    }

    fn head(&mut self) -> StoreResult<(Option<Vec<u8>>, CopyStage)> {
        let current = |format: &FileFormat| format.current().to_le_bytes().to_vec();
        let mut rows = [
            (head::ARCHIVE_FORMAT, current(&archive::FILE_FORMAT)),
            (head::LOG_FORMAT, current(&log::FILE_FORMAT)),
            (head::TOKENS_FORMAT, current(&tokens::FILE_FORMAT)),
            (head::CURSOR, self.cursor.clone().into_bytes()),
            (head::LAST, self.last.to_le_bytes().to_vec()),
            (head::TAKEN_AT, self.taken_at.0.to_le_bytes().to_vec()),
        ]
        .into_iter();
        let mut bytes = self.writer.begin();
        let rows = self.writer.rows(section::HEAD, &mut || Ok(rows.next()))?;
        bytes.extend(rows.unwrap_or_default());
        Ok((Some(bytes), CopyStage::Archive(ArchiveRead::tables().rev().collect(), None)))
    }

    fn table(
        &mut self,
        mut tables: Vec<&'static str>,
        table: Option<(String, RawRows)>,
    ) -> StoreResult<(Option<Vec<u8>>, CopyStage)> {
        let Some(archive) = &self.archive else { return Ok((None, CopyStage::Log(0))) };
        let (name, mut rows) = match table {
            Some(table) => table,
            None => match tables.pop() {
                Some(name) => {
                    let rows = archive.rows(name)?;
                    (format!("{}{name}", section::ARCHIVE), rows)
                }
                None => {
                    // Its pages are no longer pinned.
                    self.archive = None;
                    let after = self.retention.first().saturating_sub(1).min(self.last);
                    return Ok((None, CopyStage::Log(after)));
                }
            },
        };
        let piece = self.writer.rows(&name, &mut || rows.next().transpose())?;
        let table = piece.is_some().then_some((name, rows));
        Ok((piece, CopyStage::Archive(tables, table)))
    }

    fn log(&mut self, after: u64) -> StoreResult<(Option<Vec<u8>>, CopyStage)> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        let is_complete = self.retention.log().scan(after, self.last, |raw| {
            entries.push((raw.number, raw.bytes.to_vec()));
            bytes += raw.bytes.len();
            let enough = bytes >= ENTRIES_BYTES;
            Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        if entries.is_empty() {
            if is_complete || after >= self.last {
                return Ok((None, CopyStage::Tokens));
            }
            return Err(StoreError::damaged("the log", "it does not hold what it should"));
        }
        let mut entries = entries.into_iter().map(|(number, entry)| (number.to_le_bytes(), entry));
        // A frame may end before the last of the entries that were read.
        let mut copied_upto = after;
        let piece = self.writer.rows(section::LOG, &mut || {
            let next = entries.next();
            copied_upto =
                next.as_ref().map_or(copied_upto, |(number, _)| u64::from_le_bytes(*number));
            Ok(next)
        })?;
        Ok((piece, CopyStage::Log(copied_upto)))
    }

    fn tokens(&mut self) -> StoreResult<(Option<Vec<u8>>, CopyStage)> {
        let tokens = &mut self.tokens;
        let piece = self.writer.rows(section::TOKENS, &mut || tokens.next().transpose())?;
        let next = if piece.is_some() { CopyStage::Tokens } else { CopyStage::End };
        Ok((piece, next))
    }
}
