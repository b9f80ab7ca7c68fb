//! Request ids: the same in answers, logs and spans.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderValue};

use super::answer::REQUEST_ID;
use crate::clock::entropy;

/// Characters of an id that a client gives, at most.
const LENGTH_MAX: usize = 128;

/// Generates ids: a random number per start of the server, and a counter.
pub struct RequestIds {
    start: u32,
    count: AtomicU64,
}

impl Default for RequestIds {
    fn default() -> Self {
        Self { start: u32::from_le_bytes(entropy()), count: AtomicU64::new(0) }
    }
}

impl RequestIds {
    /// The id that the client gave, if it has 1 to [`LENGTH_MAX`] visible ASCII characters; else a
    /// new one.
    pub fn of(&self, headers: &HeaderMap) -> HeaderValue {
        let mut given = headers.get_all(REQUEST_ID).iter();
        if let (Some(id), None) = (given.next(), given.next()) {
            let visible = id.as_bytes().iter().all(u8::is_ascii_graphic);
            if visible && (1..=LENGTH_MAX).contains(&id.len()) {
                return id.clone();
            }
        }
        HeaderValue::try_from(self.next()).unwrap_or(HeaderValue::from_static("-"))
    }

    /// A new id.
    pub fn next(&self) -> String {
        let mut text = String::with_capacity(24);
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let _ = write!(text, "{:08x}-{count:x}", self.start);
        text
    }
}
