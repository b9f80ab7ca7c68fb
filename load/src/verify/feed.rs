//! The feed checker: order and completeness of the frames of one feed, over all its connections.

use crate::rng::RunningHash;
use crate::scan;

/// The two kinds of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// `message`, `event`, `claim`, `awaiting`, `settled`: has a position of its own.
    Item,
    /// `hello`, `caught_up`, `subscribed`, `notice`: carries the position which the feed reached.
    Control,
}

/// Checks the frames of one feed. `frame` takes each frame in order; `remember` keeps its cursor.
#[derive(Debug, Default)]
pub struct FeedChecker {
    /// The position of the last frame.
    pub position: u64,
    /// The text of the last cursor, for the parameter `since`.
    pub cursor: String,
    /// Number of items.
    pub items: u64,
    /// A hash of the positions of all items.
    pub order: RunningHash,
    /// A hash of the bytes of all items.
    pub bytes: RunningHash,
    item_position: u64,
}

impl FeedChecker {
    /// Checks the next frame. Fails for an unknown type, and for a position out of order.
    pub fn frame(&mut self, frame: &[u8]) -> Result<FrameKind, String> {
        let name = scan::frame_type(frame).ok_or_else(|| frame_error("without a type", frame))?;
        let position =
            scan::frame_position(frame).ok_or_else(|| frame_error("without a cursor", frame))?;
        let kind = match name {
            "message" | "event" | "claim" | "awaiting" | "settled" => FrameKind::Item,
            "hello" | "caught_up" | "subscribed" | "notice" => FrameKind::Control,
            unknown => return Err(frame_error(&format!("of the unknown type {unknown}"), frame)),
        };
        if kind == FrameKind::Item {
            self.items += 1;
            self.order = self.order.with_number(position);
            self.bytes = self.bytes.with(frame);
        }
        let (last, item) = (self.position, self.item_position);
        let wrong = match kind {
            FrameKind::Item if position == item => Some("a repeat"),
            FrameKind::Item if position < item || position < last => Some("a wrong order"),
            FrameKind::Control if position < last => Some("a control frame from the past"),
            FrameKind::Item | FrameKind::Control => None,
        };
        self.position = position.max(last);
        if kind == FrameKind::Item {
            self.item_position = position.max(item);
        }
        match wrong {
            None => Ok(kind),
            Some(what) => Err(format!("{what} in a feed: {name} at {position} after {last}")),
        }
    }

    /// Keeps the cursor of a frame that was handled, to resume from.
    pub fn remember(&mut self, frame: &[u8]) {
        if let Some(cursor) = scan::cursor(frame) {
            cursor.clone_into(&mut self.cursor);
        }
    }
}

fn frame_error(what: &str, frame: &[u8]) -> String {
    let text = String::from_utf8_lossy(frame);
    format!("a frame {what}: {}", text.chars().take(120).collect::<String>())
}

/// Checks that the messages of a feed, in any order, contain all expected ones, each once.
pub fn completeness(mut received: Vec<u64>, mut expected: Vec<u64>) -> Result<(), String> {
    received.sort_unstable();
    expected.sort_unstable();
    if let Some([twice, _]) = received.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("a repeat in a feed: msg_{twice}"));
    }
    if let Some(gap) = expected.iter().find(|id| received.binary_search(id).is_err()) {
        return Err(format!("a gap in a feed: msg_{gap} never came"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use parley_protocol::wire::frame::FrameType;

    use super::*;

    fn check(frames: &[(&str, u64)]) -> Result<(), String> {
        let mut checker = FeedChecker::default();
        for (name, position) in frames {
            let frame = format!("{{\"type\":\"{name}\",\"cursor\":\"{position}.1.ab\"}}");
            checker.frame(frame.as_bytes())?;
        }
        Ok(())
    }

    /// Goal: a correct feed passes. Method: control frames share the position of an item.
    #[test]
    fn good() {
        let frames = [("hello", 5), ("message", 16), ("event", 17), ("caught_up", 17)];
        check(&frames).unwrap();
        completeness(vec![3, 1, 2], vec![1, 2]).unwrap();
    }

    /// Goal: each type of frame is known. Method: one of each, from the protocol's list.
    #[test]
    fn each_type_of_frame() {
        for kind in FrameType::ALL {
            check(&[(kind.as_str(), 16)]).unwrap();
        }
        assert!(check(&[("none", 16)]).is_err());
    }

    /// Goal: planted repeats, disorder and gaps are found. Method: one a row.
    #[test]
    fn planted() {
        for (word, frames) in [
            ("repeat", vec![("message", 16), ("message", 16)]),
            ("order", vec![("message", 32), ("message", 16)]),
            ("order", vec![("hello", 40), ("message", 32)]),
            ("past", vec![("message", 32), ("caught_up", 16)]),
        ] {
            let error = check(&frames).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        assert!(completeness(vec![1, 3], vec![1, 2, 3]).unwrap_err().contains("gap"));
        assert!(completeness(vec![1, 2, 2], vec![1, 2]).unwrap_err().contains("repeat"));
    }
}
