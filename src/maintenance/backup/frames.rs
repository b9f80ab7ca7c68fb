//! The format of a copy: a stream whose length is not known in advance, and in which a changed bit
//! is detected.
//!
//! `magic · version u32 · frame…`; a frame is `kind u8 · length u32 · payload`. One of rows holds
//! `length u8 · section · (length u32 · length u32 · key · value)…`; the last one holds the SHA-256
//! of everything before its payload, and nothing follows it. Integers are little-endian.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::storage::error::{StoreError, StoreResult};
use crate::storage::rows::RawRow;

/// The first bytes of a copy. The first one is no text, the last one shows a transfer as text.
const MAGIC: [u8; 8] = *b"\x89PARLEY\n";
/// The version of the format.
const VERSION: u32 = 1;
/// Bytes of a payload from which on no row is added.
const FRAME_BYTES: usize = 256 << 10;
/// Bytes of a payload, at most: far more than the longest row.
const PAYLOAD_BYTES_MAX: u32 = 1 << 30;
/// Bytes before a payload.
const PREFIX: usize = 5;

const ROWS: u8 = 1;
const END: u8 = 2;

/// Writes a copy, a frame at a time: [`FrameWriter::begin`], any number of frames,
/// [`FrameWriter::end`].
#[derive(Debug, Default)]
pub struct FrameWriter(pub(crate) Sha256);

impl FrameWriter {
    /// The bytes before the first frame.
    pub fn begin(&mut self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        self.0.update(&bytes);
        bytes
    }

    /// A frame of rows of `section`, which `next` gives, up to the size of a frame; `None` if there
    /// are none.
    ///
    /// # Errors
    /// Those of `next`, and [`StoreError::Damaged`] for a row that is too long.
    pub fn rows<K: AsRef<[u8]>>(
        &mut self,
        section: &str,
        next: &mut dyn FnMut() -> StoreResult<Option<(K, Vec<u8>)>>,
    ) -> StoreResult<Option<Vec<u8>>> {
        let too_long = || StoreError::damaged(section, "a row of it is too long to be copied");
        let mut bytes = vec![ROWS, 0, 0, 0, 0];
        bytes.push(section.len() as u8);
        bytes.extend_from_slice(section.as_bytes());
        let empty = bytes.len();
        while bytes.len() < FRAME_BYTES
            && let Some((key, value)) = next()?
        {
            for part in [key.as_ref(), &value] {
                let length = u32::try_from(part.len()).map_err(|_| too_long())?;
                bytes.extend_from_slice(&length.to_le_bytes());
            }
            bytes.extend_from_slice(key.as_ref());
            bytes.extend_from_slice(&value);
        }
        if bytes.len() == empty {
            return Ok(None);
        }
        let length = u32::try_from(bytes.len() - PREFIX).ok();
        let length = length.filter(|length| *length <= PAYLOAD_BYTES_MAX).ok_or_else(too_long)?;
        bytes[1..PREFIX].copy_from_slice(&length.to_le_bytes());
        self.0.update(&bytes);
        Ok(Some(bytes))
    }

    /// The last frame.
    pub fn end(mut self) -> Vec<u8> {
        let mut bytes = vec![END];
        bytes.extend_from_slice(&(Sha256::output_size() as u32).to_le_bytes());
        self.0.update(&bytes);
        bytes.extend_from_slice(&self.0.finalize());
        bytes
    }
}

/// Reads a copy, row by row, and verifies its digest at the end.
pub struct FrameReader {
    /// The name of the copy in errors.
    name: String,
    file: BufReader<Box<dyn Read + Send>>,
    hasher: Sha256,
    payload: Vec<u8>,
    /// Where the next row of the payload begins.
    at: usize,
    section: String,
    ended: bool,
}

impl FrameReader {
    /// Begins to read the copy at `path`.
    ///
    /// # Errors
    /// [`StoreError::BadCopy`] if it is none, [`StoreError::NewerFormat`], and those of the disk.
    pub fn open(path: &Path) -> StoreResult<Self> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| StoreError::io(&name, error))?;
        Self::of(name, Box::new(file))
    }

    /// Begins to read the copy `file`; `name` names it in errors.
    ///
    /// # Errors
    /// As [`FrameReader::open`].
    pub fn of(name: String, file: Box<dyn Read + Send>) -> StoreResult<Self> {
        let mut reader = Self {
            name,
            file: BufReader::with_capacity(FRAME_BYTES, file),
            hasher: Sha256::new(),
            payload: Vec::new(),
            at: 0,
            section: String::new(),
            ended: false,
        };
        let magic: [u8; 8] = reader.take()?;
        if magic != MAGIC {
            return Err(reader.bad("it is no copy that `parley backup` made"));
        }
        let found = u32::from_le_bytes(reader.take()?);
        StoreError::refuse_newer(&reader.name, found, VERSION)?;
        if found != VERSION {
            return Err(reader.bad("its version is none that there is"));
        }
        Ok(reader)
    }

    /// The error that the copy is invalid.
    pub fn bad(&self, detail: impl Into<String>) -> StoreError {
        StoreError::BadCopy { file: self.name.clone(), detail: detail.into() }
    }

    fn failed(&self, error: std::io::Error) -> StoreError {
        if error.kind() == ErrorKind::UnexpectedEof {
            return self.bad("it ends too early");
        }
        StoreError::io(&self.name, error)
    }

    fn take<const N: usize>(&mut self) -> StoreResult<[u8; N]> {
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes).map_err(|error| self.failed(error))?;
        self.hasher.update(bytes);
        Ok(bytes)
    }

    /// Reads the next frame; at the last one verifies the digest and that no byte follows.
    fn advance(&mut self) -> StoreResult<()> {
        let [kind, length @ ..]: [u8; PREFIX] = self.take()?;
        let length = u32::from_le_bytes(length);
        match kind {
            ROWS if length <= PAYLOAD_BYTES_MAX => self.read_rows(length),
            END if length as usize == Sha256::output_size() => self.read_end(),
            _ => Err(self.bad("it holds what no copy holds")),
        }
    }

    fn read_rows(&mut self, length: u32) -> StoreResult<()> {
        self.payload.clear();
        let mut part = (&mut self.file).take(length.into());
        // Memory grows with the bytes read, not with a length that may be damaged.
        let read = part.read_to_end(&mut self.payload).map_err(|error| self.failed(error))?;
        if read < length as usize {
            return Err(self.bad("it ends too early"));
        }
        self.hasher.update(&self.payload);
        let name = self.payload.first().and_then(|len| self.payload.get(1..=usize::from(*len)));
        let name = name.and_then(|name| std::str::from_utf8(name).ok());
        let name = name.ok_or_else(|| self.bad("a section of it has no name"))?.to_owned();
        self.at = 1 + name.len();
        self.section = name;
        Ok(())
    }

    fn read_end(&mut self) -> StoreResult<()> {
        let computed = std::mem::take(&mut self.hasher).finalize();
        let mut stated = [0; 32];
        self.file.read_exact(&mut stated).map_err(|error| self.failed(error))?;
        if computed.as_slice() != stated {
            return Err(self.bad("its SHA-256 is another than it states: it was altered"));
        }
        let mut more = [0; 1];
        let beyond = self.file.read(&mut more).map_err(|error| self.failed(error))?;
        if beyond > 0 {
            return Err(self.bad("something follows its end"));
        }
        self.ended = true;
        Ok(())
    }

    /// The section of the next row; `None` at the end of a valid copy.
    ///
    /// # Errors
    /// [`StoreError::BadCopy`], and those of the disk.
    pub fn section(&mut self) -> StoreResult<Option<&str>> {
        while !self.ended && self.at >= self.payload.len() {
            self.advance()?;
        }
        Ok((!self.ended).then_some(&*self.section))
    }

    /// The next row, if it is of `section`.
    ///
    /// # Errors
    /// As [`FrameReader::section`].
    pub fn row_of(&mut self, section: &str) -> StoreResult<Option<RawRow>> {
        if self.section()? != Some(section) {
            return Ok(None);
        }
        let row = || -> Option<(Vec<u8>, Vec<u8>, usize)> {
            let rest = &self.payload[self.at..];
            let (key_len, rest) = rest.split_first_chunk::<4>()?;
            let (value_len, rest) = rest.split_first_chunk::<4>()?;
            let key = rest.get(..u32::from_le_bytes(*key_len) as usize)?;
            let rest = &rest[key.len()..];
            let value = rest.get(..u32::from_le_bytes(*value_len) as usize)?;
            let left = rest.len() - value.len();
            Some((key.to_vec(), value.to_vec(), self.payload.len() - left))
        };
        let (key, value, at) = row().ok_or_else(|| self.bad("a row of it is cut short"))?;
        self.at = at;
        Ok(Some((key, value)))
    }
}

/// Reads the whole copy at `path` and verifies it. Returns its cursor.
///
/// # Errors
/// [`StoreError::BadCopy`], [`StoreError::NewerFormat`], and those of the disk.
pub fn verify(path: &Path) -> StoreResult<String> {
    let mut reader = FrameReader::open(path)?;
    let mut cursor = None;
    while let Some((name, value)) = reader.row_of(super::section::HEAD)? {
        if name == super::head::CURSOR {
            cursor = String::from_utf8(value).ok();
        }
    }
    while !reader.ended {
        reader.advance()?;
    }
    cursor.ok_or_else(|| reader.bad("it does not name its cursor"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::entropy;

    struct ScratchFile(std::path::PathBuf);

    impl ScratchFile {
        fn new(bytes: &[u8]) -> Self {
            let name = format!("parley-frames-{:016x}", u64::from_le_bytes(entropy()));
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, bytes).unwrap();
            Self(path)
        }
    }

    impl Drop for ScratchFile {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn written() -> Vec<u8> {
        let mut writer = FrameWriter::default();
        let mut bytes = writer.begin();
        let mut cursor = Some((super::super::head::CURSOR, b"31.1.tag".to_vec()));
        bytes.extend(writer.rows("head", &mut || Ok(cursor.take())).unwrap().unwrap());
        let mut rows = [(b"a", b"one".to_vec()), (b"b", Vec::new())].into_iter();
        bytes.extend(writer.rows("rows", &mut || Ok(rows.next())).unwrap().unwrap());
        assert!(writer.rows::<&[u8]>("none", &mut || Ok(None)).unwrap().is_none());
        bytes.extend(writer.end());
        bytes
    }

    /// Goal: what was written is read. Method: two sections, read row by row.
    #[test]
    fn there_and_back() {
        let scrap = ScratchFile::new(&written());
        assert_eq!(verify(&scrap.0).unwrap(), "31.1.tag");
        let mut reader = FrameReader::open(&scrap.0).unwrap();
        assert!(reader.row_of("rows").unwrap().is_none());
        assert!(reader.row_of("head").unwrap().is_some());
        assert!(reader.row_of("head").unwrap().is_none());
        let row = |key: &[u8], value: &[u8]| Some((key.to_vec(), value.to_vec()));
        assert_eq!(reader.row_of("rows").unwrap(), row(b"a", b"one"));
        assert_eq!(reader.row_of("rows").unwrap(), row(b"b", b""));
        assert_eq!(reader.row_of("rows").unwrap(), None);
        assert_eq!(reader.section().unwrap(), None);
    }

    /// Goal: no bit of a copy changes unnoticed, nothing is cut off and nothing added. Method: each
    /// bit flipped, each length, one byte more.
    #[test]
    fn altered() {
        let whole = written();
        let refused = |bytes: &[u8]| verify(&ScratchFile::new(bytes).0).is_err();
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(refused(&flipped), "bit {bit}");
        }
        for length in 0..whole.len() {
            assert!(refused(&whole[..length]), "cut at {length}");
        }
        assert!(refused(&[&whole[..], &[0]].concat()));
        assert!(refused(&[&whole[..], &whole[..]].concat()));
    }
}
