//! The format of one row of the log: several entries under the number of the first.
//!
//! `checksum u64 · previous u64 · (number u64 · length u32 · entry)…`, integers little-endian.
//! `previous` is the number of the entry before the first in the one order, 0 if there is none:
//! so a missing row is detected although numbers have gaps.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// Bytes before the first entry.
const HEADER: usize = 16;
/// Bytes before each entry.
const PREFIX: usize = 12;

/// A row that is being written.
#[derive(Debug)]
pub struct ChunkWriter {
    first: u64,
    bytes: Vec<u8>,
}

impl ChunkWriter {
    /// A row whose first entry will be `first`, after `previous`; `bytes` is a buffer to reuse.
    pub fn new(previous: u64, first: u64, bytes: Vec<u8>) -> Self {
        let mut bytes = bytes;
        bytes.clear();
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&previous.to_le_bytes());
        Self { first, bytes }
    }

    /// Adds the entry `number`; `encode` appends it to the buffer that it receives.
    pub fn push(&mut self, number: u64, encode: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes = encode(std::mem::take(&mut self.bytes));
        let len = (self.bytes.len() - at - PREFIX) as u32;
        self.bytes[at + 8..at + PREFIX].copy_from_slice(&len.to_le_bytes());
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The row: its key and its value.
    pub fn finish(mut self) -> (u64, Vec<u8>) {
        let sum = checksum(self.first, &self.bytes[8..]);
        self.bytes[..8].copy_from_slice(&sum.to_le_bytes());
        (self.first, self.bytes)
    }
}

/// The checksum of a row: of its key and of the bytes after the checksum.
pub(crate) fn checksum(key: u64, bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(key, 0);
    hasher.write(bytes);
    hasher.finish()
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// One entry as stored in a row.
#[derive(Clone, Copy, Debug)]
pub struct RawEntry<'a> {
    /// The number of the entry before it, 0 if there is none.
    pub previous: u64,
    /// Its number.
    pub number: u64,
    /// The encoded entry.
    pub bytes: &'a [u8],
}

/// Reads a row. It ends early, with [`ChunkReader::is_whole`] false, at an invalid entry.
#[derive(Debug)]
pub struct ChunkReader<'a> {
    previous: u64,
    rest: &'a [u8],
    whole: bool,
}

impl<'a> ChunkReader<'a> {
    /// The row `value` under `key`; `None` if its checksum is wrong.
    pub fn new(key: u64, value: &'a [u8]) -> Option<Self> {
        let sum = u64_at(value, 0)?;
        let previous = u64_at(value, 8)?;
        let good = sum == checksum(key, &value[8..]);
        good.then_some(Self { previous, rest: &value[HEADER..], whole: true })
    }

    /// Whether no error was found so far.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    fn read(&mut self) -> Option<RawEntry<'a>> {
        let number = u64_at(self.rest, 0)?;
        let len = u32::from_le_bytes(self.rest.get(8..PREFIX)?.try_into().ok()?) as usize;
        let bytes = self.rest.get(PREFIX..PREFIX + len)?;
        self.rest = &self.rest[PREFIX + len..];
        let raw = RawEntry { previous: self.previous, number, bytes };
        self.previous = number;
        (number > raw.previous).then_some(raw)
    }
}

impl<'a> Iterator for ChunkReader<'a> {
    type Item = RawEntry<'a>;

    fn next(&mut self) -> Option<RawEntry<'a>> {
        if self.rest.is_empty() || !self.whole {
            return None;
        }
        let raw = self.read();
        self.whole = raw.is_some();
        raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> (u64, Vec<u8>) {
        let mut chunk = ChunkWriter::new(4, 6, Vec::new());
        for (number, text) in [(6, "six"), (7, ""), (9, "nine")] {
            chunk.push(number, |mut bytes| {
                bytes.extend_from_slice(text.as_bytes());
                bytes
            });
        }
        chunk.finish()
    }

    /// Goal: a row gives back what was put in it, gaps included. Method: write, read, compare.
    #[test]
    fn there_and_back() {
        let (key, value) = row();
        let mut reader = ChunkReader::new(key, &value).unwrap();
        let read: Vec<_> =
            reader.by_ref().map(|raw| (raw.previous, raw.number, raw.bytes.to_vec())).collect();
        let want = [(4, 6, b"six".to_vec()), (6, 7, Vec::new()), (7, 9, b"nine".to_vec())];
        assert_eq!(read, want);
        assert!(reader.is_whole());
    }

    /// Goal: no altered row is taken. Method: flip each bit in turn, cut at each length, and read
    /// under another key.
    #[test]
    fn altered() {
        let (key, value) = row();
        for bit in 0..value.len() * 8 {
            let mut flipped = value.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(ChunkReader::new(key, &flipped).is_none(), "bit {bit}");
        }
        for len in 0..value.len() {
            assert!(ChunkReader::new(key, &value[..len]).is_none(), "cut at {len}");
        }
        assert!(ChunkReader::new(key + 1, &value).is_none());
    }
}
