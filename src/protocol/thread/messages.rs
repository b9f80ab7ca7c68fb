//! The index of a thread's messages by which later ones are judged: 24 bytes each, since a forum
//! keeps millions of them in memory. Depth and answers are derived.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::act::Kind;
use crate::ids::{ID_END, MessageId};

/// The number of a message's bits that are its identifier; see [`ID_END`].
const ID_BITS: u32 = ID_END.trailing_zeros();
const RETRACTED: u64 = 1 << 63;
/// The parent of a message without one.
const NONE: u32 = u32::MAX;

/// The record of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MessageMeta {
    /// The identifier, above it the kind, and at the top whether it was retracted.
    packed: u64,
    /// The entry that holds it; 0 until [`super::Thread::stamp`].
    pub entry: u64,
    /// Index of the parent.
    parent: u32,
    /// Index among the thread's authors.
    pub author: u32,
}

impl MessageMeta {
    /// A message just said.
    pub fn new(id: MessageId, kind: Kind, parent: Option<u32>, author: u32) -> Self {
        debug_assert!(id.0 < ID_END, "identifiers end at 2^53");
        let packed = id.0 | (kind as u64) << ID_BITS;
        Self { packed, entry: 0, parent: parent.unwrap_or(NONE), author }
    }

    pub fn id(&self) -> MessageId {
        MessageId(self.packed & (ID_END - 1))
    }

    pub fn kind(&self) -> Kind {
        Kind::ALL[((self.packed & !RETRACTED) >> ID_BITS) as usize]
    }

    pub fn retracted(&self) -> bool {
        self.packed & RETRACTED != 0
    }

    pub fn parent(&self) -> Option<u32> {
        (self.parent != NONE).then_some(self.parent)
    }
}

/// The messages of a thread, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Messages(Vec<MessageMeta>);

impl Messages {
    pub fn push(&mut self, message: MessageMeta) {
        if self.0.len() == self.0.capacity() {
            // A quarter more, not twice as much: threads that fill evenly would all grow at once.
            self.0.reserve_exact(self.0.len() / 4 + 2);
        }
        self.0.push(message);
    }

    pub fn last_mut(&mut self) -> Option<&mut MessageMeta> {
        self.0.last_mut()
    }

    pub fn get(&self, index: u32) -> &MessageMeta {
        &self.0[index as usize]
    }

    pub fn retract(&mut self, index: u32) {
        self.0[index as usize].packed |= RETRACTED;
    }

    /// The index of the message `id`.
    pub fn index(&self, id: MessageId) -> Option<u32> {
        let found = self.0.binary_search_by_key(&id, MessageMeta::id).ok()?;
        u32::try_from(found).ok()
    }

    pub fn find(&self, id: MessageId) -> Option<&MessageMeta> {
        self.index(id).map(|index| self.get(index))
    }

    /// From the last one back.
    pub fn newest_first(&self) -> impl Iterator<Item = &MessageMeta> {
        self.0.iter().rev()
    }

    /// Messages from the top down to `message`, itself included (parley.md §9): one step for each,
    /// so at most `thread_depth_max`.
    pub fn depth(&self, message: &MessageMeta) -> u64 {
        let mut depth = 1;
        let mut place = message;
        while let Some(parent) = place.parent() {
            place = self.get(parent);
            depth += 1;
        }
        depth
    }

    /// Whether an unretracted `answer` replies to the message at `index`: a scan of the messages
    /// after it, which only an answered or retracted `clarify` asks for (§3.4).
    pub fn answered(&self, index: u32) -> bool {
        let mut later = self.0.iter().skip(index as usize + 1);
        later.any(|one| one.parent == index && one.kind() == Kind::Answer && !one.retracted())
    }
}

/// A message in a stored snapshot.
#[derive(Serialize, Deserialize)]
struct StoredMessage {
    id: MessageId,
    entry: u64,
    parent: Option<u32>,
    author: u32,
    kind: Kind,
    depth: u32,
    retracted: bool,
    answers: u32,
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows: Vec<StoredMessage> = Vec::with_capacity(self.0.len());
        for one in &self.0 {
            let parent = one.parent().map(|parent| parent as usize);
            if let (Some(parent), Kind::Answer, false) = (parent, one.kind(), one.retracted()) {
                rows[parent].answers += 1;
            }
            rows.push(StoredMessage {
                id: one.id(),
                entry: one.entry,
                parent: one.parent(),
                author: one.author,
                kind: one.kind(),
                depth: parent.map_or(1, |parent| rows[parent].depth + 1),
                retracted: one.retracted(),
                answers: 0,
            });
        }
        rows.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rows = Vec::<StoredMessage>::deserialize(deserializer)?;
        let mut messages = Vec::with_capacity(rows.len());
        for (index, row) in rows.into_iter().enumerate() {
            let before = |parent: u32| (parent as usize) < index;
            if row.id.0 >= ID_END || !row.parent.is_none_or(before) {
                return Err(D::Error::custom("no message could stand so"));
            }
            let mut meta = MessageMeta::new(row.id, row.kind, row.parent, row.author);
            meta.entry = row.entry;
            if row.retracted {
                meta.packed |= RETRACTED;
            }
            messages.push(meta);
        }
        Ok(Self(messages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type StoredRow = (u64, u64, Option<u32>, u32, Kind, u32, bool, u32);

    fn read(rows: &[StoredRow]) -> Option<Messages> {
        postcard::from_bytes(&postcard::to_stdvec(rows).expect("rows")).ok()
    }

    /// Goal: a snapshot is stored as ever, what is derived with it. Method: rows written by hand
    /// are read, and written again as the same bytes; packed parts at their bounds.
    #[test]
    fn stored() {
        let last = ID_END - 1;
        let rows: &[StoredRow] = &[
            (1, 7, None, 0, Kind::Ask, 1, false, 1),
            (2, 8, Some(0), 1, Kind::Clarify, 2, false, 1),
            (5, 9, Some(1), 0, Kind::Answer, 3, false, 0),
            (6, 10, Some(0), 1, Kind::Answer, 2, true, 0),
            (8, 11, Some(0), 2, Kind::Answer, 2, false, 0),
            (last, u64::MAX, Some(3), u32::MAX, Kind::Retract, 3, false, 0),
        ];
        let messages = read(rows).expect("these can stand so");
        let (again, bytes) = (postcard::to_stdvec(&messages), postcard::to_stdvec(rows));
        assert_eq!(again.expect("messages"), bytes.expect("rows"));
        for (index, row) in (0..).zip(rows) {
            let meta = messages.get(index);
            let found = (meta.id().0, meta.entry, meta.parent(), meta.author, meta.kind());
            assert_eq!(found, (row.0, row.1, row.2, row.3, row.4));
            assert_eq!(messages.depth(meta), u64::from(row.5));
            assert_eq!(meta.retracted(), row.6);
            assert_eq!(messages.answered(index), row.7 > 0);
            assert_eq!(messages.index(meta.id()), Some(index));
        }
    }

    /// Goal: what no thread can hold is not read. Method: a parent that comes later, itself, an
    /// identifier too high.
    #[test]
    fn impossible() {
        let row: StoredRow = (1, 1, None, 0, Kind::Ask, 1, false, 0);
        assert!(read(&[row]).is_some());
        assert!(read(&[(1, 1, Some(0), 0, Kind::Ask, 1, false, 0)]).is_none());
        assert!(read(&[(1, 1, Some(1), 0, Kind::Ask, 1, false, 0), row]).is_none());
        assert!(read(&[(ID_END, 1, None, 0, Kind::Ask, 1, false, 0)]).is_none());
    }
}
