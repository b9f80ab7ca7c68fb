//! Whether a feed keeps its order and leaves nothing out.

use crate::rng::RunningHash;
use crate::scan;

/// What a frame is to the one who follows the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// `message`, `event`, `claim`, `awaiting`, `settled`: has a place of its own.
    Item,
    /// `hello`, `caught_up`, `subscribed`, `notice`: says how far the feed has looked.
    Control,
}

/// Follows one feed over all its connections.
#[derive(Debug, Default)]
pub struct FeedChecker {
    /// The position of the last frame.
    pub position: u64,
    /// The text of the last cursor, to resume from.
    pub cursor: String,
    /// Frames with a place of their own.
    pub items: u64,
    /// A hash of the positions of all items.
    pub order: RunningHash,
    /// A hash of the bytes of all items.
    pub bytes: RunningHash,
    item_position: u64,
}

impl FeedChecker {
    /// Takes the next frame, or says what is wrong with its place.
    pub fn frame(&mut self, frame: &[u8]) -> Result<FrameKind, String> {
        let name = scan::frame_type(frame).ok_or_else(|| told("without a type", frame))?;
        let position =
            scan::frame_position(frame).ok_or_else(|| told("without a cursor", frame))?;
        let kind = match name {
            "message" | "event" | "claim" | "awaiting" | "settled" => FrameKind::Item,
            _ => FrameKind::Control,
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
            FrameKind::Control if position < last => Some("a sign from the past"),
            _ => None,
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

    /// Remembers where to resume: the cursor of this frame, which has just been handled.
    pub fn remember(&mut self, frame: &[u8]) {
        #[derive(serde::Deserialize)]
        struct Cursor<'a> {
            #[serde(borrow)]
            cursor: &'a str,
        }
        if let Ok(parsed) = serde_json::from_slice::<Cursor<'_>>(frame) {
            parsed.cursor.clone_into(&mut self.cursor);
        }
    }
}

fn told(what: &str, frame: &[u8]) -> String {
    let text = String::from_utf8_lossy(frame);
    format!("a frame {what}: {}", text.chars().take(120).collect::<String>())
}

/// Compares what a feed told, as a sorted list, with what it should have told.
pub fn completeness(mut told: Vec<u64>, mut expected: Vec<u64>) -> Result<(), String> {
    told.sort_unstable();
    expected.sort_unstable();
    if let Some([twice, _]) = told.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("a repeat in a feed: msg_{twice}"));
    }
    if let Some(gap) = expected.iter().find(|id| told.binary_search(id).is_err()) {
        return Err(format!("a gap in a feed: msg_{gap} never came"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(frames: &[(&str, u64)]) -> Result<(), String> {
        let mut checker = FeedChecker::default();
        for (name, position) in frames {
            let frame = format!("{{\"type\":\"{name}\",\"cursor\":\"{position}.1.ab\"}}");
            checker.frame(frame.as_bytes())?;
        }
        Ok(())
    }

    /// Goal: a good feed passes. Method: signs may stand at the place of an item, items may not.
    #[test]
    fn good() {
        let frames = [("hello", 5), ("message", 16), ("event", 17), ("caught_up", 17)];
        play(&frames).unwrap();
        completeness(vec![3, 1, 2], vec![1, 2]).unwrap();
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
            let told = play(&frames).unwrap_err();
            assert!(told.contains(word), "{told}");
        }
        assert!(completeness(vec![1, 3], vec![1, 2, 3]).unwrap_err().contains("gap"));
        assert!(completeness(vec![1, 2, 2], vec![1, 2]).unwrap_err().contains("repeat"));
    }
}
