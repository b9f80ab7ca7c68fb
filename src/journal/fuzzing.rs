//! What fuzzing reaches of the journal (tests/fuzz): the parsers of what lies on the disk, or
//! comes as a cursor, and that no public path leads to. Nothing of it is an interface.

use std::io::Cursor;

use super::cursor::CursorTags;
use super::log::chunk::{ChunkReader, ChunkWriter};
use crate::maintenance::backup::frames::{FrameReader, FrameWriter};
use crate::storage::error::StoreError;

/// A row of the log: the number before its first entry, and its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// The number of the entry before the first.
    pub previous: u64,
    /// The entries, each with its number.
    pub entries: Vec<(u64, Vec<u8>)>,
    /// Whether nothing wrong was found.
    pub is_whole: bool,
}

/// Reads the row `value` under `key`; `None` if its checksum is wrong.
pub fn read_log_row(key: u64, value: &[u8]) -> Option<LogRow> {
    let mut reader = ChunkReader::new(key, value)?;
    let mut row = LogRow { previous: 0, entries: Vec::new(), is_whole: false };
    for raw in reader.by_ref() {
        if row.entries.is_empty() {
            row.previous = raw.previous;
        }
        row.entries.push((raw.number, raw.bytes.to_vec()));
    }
    row.is_whole = reader.is_whole();
    Some(row)
}

/// A row with the right checksum around `bytes`, which are what comes after it.
pub fn seal_log_row(key: u64, bytes: &[u8]) -> Vec<u8> {
    ChunkWriter::sealed(key, bytes)
}

/// The row as it is written: its key and its value.
pub fn write_log_row(row: &LogRow) -> (u64, Vec<u8>) {
    let first = row.entries.first().map_or(0, |(number, _)| *number);
    let mut writer = ChunkWriter::new(row.previous, first, Vec::new());
    for (number, bytes) in &row.entries {
        writer.push(*number, |mut row| {
            row.extend_from_slice(bytes);
            row
        });
    }
    writer.finish()
}

/// The numbers of a cursor's text, if it is one under this key: position and era.
pub fn read_cursor(key: [u8; 16], text: &str) -> Option<[u64; 2]> {
    CursorTags::new(key).read(text)
}

/// The text of a cursor with these numbers.
pub fn write_cursor(key: [u8; 16], numbers: [u64; 2]) -> String {
    CursorTags::new(key).write(numbers)
}

/// The numbers of the cursor of a list: place, position and era.
pub fn read_list_cursor(key: [u8; 16], kind: &str, text: &str) -> Option<[u64; 3]> {
    CursorTags::new(key).read_list(kind, text)
}

/// The text of the cursor of a list with these numbers.
pub fn write_list_cursor(key: [u8; 16], kind: &str, numbers: [u64; 3]) -> String {
    CursorTags::new(key).write_list(kind, numbers)
}

/// A row of a copy: its section, its key and its value.
pub type CopyRow = (String, Vec<u8>, Vec<u8>);

/// All rows of a copy that is whole; else why it is none.
///
/// # Errors
/// What `restore` says of it.
pub fn read_copy(bytes: &[u8]) -> Result<Vec<CopyRow>, StoreError> {
    let mut reader = FrameReader::of("copy".to_owned(), Box::new(Cursor::new(bytes.to_vec())))?;
    let mut rows = Vec::new();
    while let Some(section) = reader.section()?.map(str::to_owned) {
        while let Some((key, value)) = reader.row_of(&section)? {
            rows.push((section.clone(), key, value));
        }
    }
    Ok(rows)
}

/// A copy of `frames` as they are, under the right digest.
pub fn seal_copy(frames: &[u8]) -> Vec<u8> {
    let mut writer = FrameWriter::default();
    let mut bytes = writer.begin();
    bytes.extend_from_slice(writer.sealed(frames));
    bytes.extend(writer.end());
    bytes
}

/// The copy of these rows.
pub fn write_copy(rows: &[CopyRow]) -> Vec<u8> {
    let mut writer = FrameWriter::default();
    let mut bytes = writer.begin();
    for rows in rows.chunk_by(|one, other| one.0 == other.0) {
        let mut next = rows.iter();
        let mut next = || Ok(next.next().map(|(_, key, value)| (key, value.clone())));
        while let Ok(Some(frame)) = writer.rows(&rows[0].0, &mut next) {
            bytes.extend(frame);
        }
    }
    bytes.extend(writer.end());
    bytes
}
