//! Takes a copy: a consistent state of the store, in pieces, while the store goes on.

use std::collections::VecDeque;
use std::iter::{once, once_with};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::vec;

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
use crate::storage::rows::{RawRow, RawRows};
use crate::tokens::{self, Tokens};

/// Bytes of entries that are read from the log at once.
const ENTRIES_BYTES: usize = 256 << 10;

/// A copy in progress.
///
/// It has one state of the archive, the log up to the last entry of the view of that state, and the
/// tokens of a moment later, so that it knows the participant of every act in it. It pins that
/// state of the archive until its tables are read, and keeps the log from being dropped until its
/// entries are.
pub struct BackupCopy {
    /// `None` once it has ended or failed.
    writer: Option<FrameWriter>,
    /// The bytes before the first section, until they are given.
    start: Option<Vec<u8>>,
    cursor: String,
    last: u64,
    /// The sections that are not copied yet, the current one first.
    sections: VecDeque<(String, RawRows)>,
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
        let (cursor, last) = (journal.cursors().text(position), position.entry());
        let current = |format: &FileFormat| format.current().to_le_bytes().to_vec();
        let facts = [
            (head::ARCHIVE_FORMAT, current(&archive::FILE_FORMAT)),
            (head::LOG_FORMAT, current(&log::FILE_FORMAT)),
            (head::TOKENS_FORMAT, current(&tokens::FILE_FORMAT)),
            (head::CURSOR, cursor.clone().into_bytes()),
            (head::LAST, last.to_le_bytes().to_vec()),
            (head::TAKEN_AT, now.0.to_le_bytes().to_vec()),
        ];
        let facts = facts.into_iter().map(|(name, fact)| Ok((name.to_vec(), fact)));
        let mut sections = VecDeque::<(String, RawRows)>::new();
        sections.push_back((section::HEAD.to_owned(), Box::new(facts)));
        for name in ArchiveRead::tables() {
            let archive = Arc::clone(&archive);
            let rows = once_with(move || archive.rows(name));
            let rows =
                rows.flat_map(|rows| rows.unwrap_or_else(|error| Box::new(once(Err(error)))));
            sections.push_back((format!("{}{name}", section::ARCHIVE), Box::new(rows)));
        }
        let after = retention.first().saturating_sub(1).min(last);
        let entries = LogRows { retention, after, last, read: Vec::new().into_iter() };
        sections.push_back((section::LOG.to_owned(), Box::new(entries)));
        let tokens = tokens.rows().map(|row| {
            let (id, record) = row?;
            Ok((id.to_le_bytes().to_vec(), record))
        });
        sections.push_back((section::TOKENS.to_owned(), Box::new(tokens)));
        let mut writer = FrameWriter::default();
        let start = Some(writer.begin());
        Self { writer: Some(writer), start, cursor, last, sections }
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
        if self.start.is_some() {
            return Ok(self.start.take());
        }
        panic_guard("the store", || {
            let Some(mut writer) = self.writer.take() else { return Ok(None) };
            while let Some((name, rows)) = self.sections.front_mut() {
                let piece = writer.rows(name, &mut || rows.next().transpose())?;
                if piece.is_some() {
                    self.writer = Some(writer);
                    return Ok(piece);
                }
                self.sections.pop_front();
            }
            Ok(Some(writer.end()))
        })
    }
}

/// The entries of the log after one number and up to another, read some at a time.
struct LogRows {
    retention: RetentionGuard,
    after: u64,
    last: u64,
    read: vec::IntoIter<RawRow>,
}

impl LogRows {
    fn read_on(&mut self) -> StoreResult<()> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        let is_complete = self.retention.log().scan(self.after, self.last, |raw| {
            entries.push((raw.number.to_le_bytes().to_vec(), raw.bytes.to_vec()));
            self.after = raw.number;
            bytes += raw.bytes.len();
            let enough = bytes >= ENTRIES_BYTES;
            Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        if entries.is_empty() && !is_complete && self.after < self.last {
            return Err(StoreError::damaged("the log", "it does not hold what it should"));
        }
        self.read = entries.into_iter();
        Ok(())
    }
}

impl Iterator for LogRows {
    type Item = StoreResult<RawRow>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.read.len() == 0
            && let Err(error) = self.read_on()
        {
            return Some(Err(error));
        }
        self.read.next().map(Ok)
    }
}
