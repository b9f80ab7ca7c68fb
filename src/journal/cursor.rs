//! Cursors (parley.md §7): opaque to clients, authenticated, valid across restarts.
//!
//! A cursor is `<position>.<era>.<tag>`, that of a list `<place>.<position>.<era>.<tag>`; the tag
//! is a keyed hash of the rest, which guards against mistakes: rights come from the token. A cursor
//! of an earlier era is valid if it was issued before the copy that was restored.

use std::fmt::{self, Write};
use std::hash::Hasher;
use std::sync::Arc;

use parley_protocol::entry::Position;
use parley_protocol::refusal::{Refusal, Result};
use siphasher::sip::SipHasher24;

use super::archive::ArchiveMeta;
use super::view::Views;

/// Characters of the longest cursor: three numbers, the tag, the dots.
const TEXT_MAX: usize = 20 * 3 + 16 + 3;

/// The kind of a cursor, a part of its tag.
const CURSOR: u8 = 0;
const LIST: u8 = 1;

/// Writes and reads the texts of cursors; does not check whether they are still valid.
pub(crate) struct CursorTags {
    key: [u8; 16],
}

impl CursorTags {
    pub(crate) fn new(key: [u8; 16]) -> Self {
        Self { key }
    }

    /// The text of a position and its era, or, in the list `list`, of a place, a position and its
    /// era.
    pub(crate) fn write(&self, list: Option<&str>, numbers: &[u64]) -> String {
        joined(numbers, self.tag(list, numbers))
    }

    /// The numbers of such a text, if its form is canonical and its tag right.
    pub(crate) fn read<const N: usize>(&self, list: Option<&str>, text: &str) -> Option<[u64; N]> {
        if text.len() > TEXT_MAX {
            return None;
        }
        let mut parts = text.split('.');
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = decimal(parts.next()?)?;
        }
        let tag = format!("{:016x}", self.tag(list, &numbers));
        (parts.next() == Some(&tag) && parts.next().is_none()).then_some(numbers)
    }

    fn tag(&self, list: Option<&str>, numbers: &[u64]) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(&[if list.is_some() { LIST } else { CURSOR }]);
        for number in numbers {
            hasher.write(&number.to_le_bytes());
        }
        hasher.write(list.unwrap_or_default().as_bytes());
        hasher.finish()
    }
}

/// The text of numbers and a tag. Hot: every answer and every frame has one.
fn joined(numbers: &[u64], tag: u64) -> String {
    let mut text = String::with_capacity(TEXT_MAX);
    for number in numbers {
        text.push_str(itoa::Buffer::new().format(*number));
        text.push('.');
    }
    // Writing to a string does not fail.
    let _ = write!(text, "{tag:016x}");
    text
}

/// Writes cursors of the current era, and reads and validates cursors.
pub struct Cursors {
    tags: CursorTags,
    era: u64,
    past: Vec<(u64, Position)>,
    views: Arc<Views>,
}

impl fmt::Debug for Cursors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursors").field("era", &self.era).finish_non_exhaustive()
    }
}

impl Cursors {
    /// Cursors with the key and the eras of `meta`; `views` has the entries that can be read now.
    pub fn new(meta: &ArchiveMeta, views: Arc<Views>) -> Self {
        Self {
            tags: CursorTags::new(meta.cursor_key),
            era: meta.era,
            past: meta.past.clone(),
            views,
        }
    }

    /// The cursor of `position`, valid in an inbox, a thread, events and a feed.
    pub fn text(&self, position: Position) -> String {
        self.tags.write(None, &[position.0, self.era])
    }

    /// The position of a cursor's text; `now` is the last one that can be read.
    ///
    /// # Errors
    /// 400 `invalid_cursor` for a text that is no cursor of this instance, that lies beyond `now`,
    /// or that was issued after the copy which this instance was restored from.
    pub fn read(&self, text: &str, now: Position) -> Result<Position> {
        let numbers = self.tags.read::<2>(None, text);
        self.place(numbers, now, Refusal::invalid_cursor).map(Position)
    }

    /// The cursor of `place` in the list that `kind` names with its filters and its order.
    pub fn list_text(&self, kind: &str, place: u64) -> String {
        let now = self.views.view().position().0;
        self.tags.write(Some(kind), &[place, now, self.era])
    }

    /// The place of a list's cursor.
    ///
    /// # Errors
    /// 400 `invalid_cursor` if it was not issued by this list with these filters and this order, or
    /// as [`Cursors::read`].
    pub fn read_list(&self, kind: &str, text: &str) -> Result<u64> {
        let now = self.views.view().position();
        let numbers = self.tags.read::<3>(Some(kind), text);
        self.place(numbers, now, Refusal::invalid_list_cursor)
    }

    /// The first of the numbers of a cursor, the last two of which are the position at which it was
    /// issued and its era.
    fn place<const N: usize>(
        &self,
        numbers: Option<[u64; N]>,
        now: Position,
        invalid: fn() -> Refusal,
    ) -> Result<u64> {
        let numbers = numbers.ok_or_else(invalid)?;
        let (issued_at, era) = (Position(numbers[N - 2]), numbers[N - 1]);
        if self.is_good(era, issued_at, now) {
            return Ok(numbers[0]);
        }
        Err(if era < self.era { Refusal::cursor_before_restore() } else { invalid() })
    }

    fn is_good(&self, era: u64, issued_at: Position, now: Position) -> bool {
        let past = || self.past.iter().find(|(past, _)| *past == era);
        let last = if era == self.era { Some(now) } else { past().map(|(_, last)| *last) };
        last.is_some_and(|last| issued_at <= last.min(now))
    }
}

/// A decimal number in canonical form.
fn decimal(text: &str) -> Option<u64> {
    let is_canonical = text == "0" || !text.starts_with('0');
    if !is_canonical || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}
