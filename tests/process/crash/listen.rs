//! A listener of everything that comes back after each kill, from the last cursor that it handled.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use parley_kit::http::field;
use parley_kit::peer::Events;
use parley_kit::position;
use serde_json::Value;

/// One listener.
pub struct Listener {
    token: String,
    cursor: String,
    /// How often it was told of each message, event and claim.
    pub told: BTreeMap<String, u32>,
    /// How often it came back.
    pub returns: u32,
}

impl Listener {
    /// Begins to listen, now.
    pub fn begin(address: SocketAddr, token: &str) -> Self {
        let (token, told) = (token.to_owned(), BTreeMap::new());
        let mut listener = Self { token, cursor: String::new(), told, returns: 0 };
        let mut stream = listener.connect(address).expect("the server listens");
        let hello = frame(&mut stream).expect("hello");
        assert_eq!(hello["type"], "hello");
        hello["cursor"].as_str().expect("a cursor").clone_into(&mut listener.cursor);
        listener
    }

    /// Listens until the server is gone, or, if `catch_up`, until all that was missed is told.
    pub fn listen(&mut self, address: SocketAddr, catch_up: bool) {
        let Ok(mut stream) = self.connect(address) else { return };
        self.returns += 1;
        while let Ok(frame) = frame(&mut stream) {
            let cursor = frame["cursor"].as_str().expect("a cursor").to_owned();
            let kind = frame["type"].as_str().expect("a type");
            let told = ["message", "event", "claim"].iter().find(|it| **it == kind);
            if let Some(told) = told {
                let id = frame[*told]["id"].as_str().expect("an id").to_owned();
                let count = self.told.entry(id).or_default();
                *count += 1;
                assert_eq!(*count, 1, "told twice: {frame}");
            }
            let is_later = position(&cursor) > position(&self.cursor);
            let tells = told.is_some() || matches!(kind, "awaiting" | "settled");
            assert!(is_later || !tells, "{kind} at {cursor} after {}", self.cursor);
            if is_later {
                self.cursor = cursor;
            }
            if catch_up && kind == "caught_up" {
                return;
            }
        }
        assert!(!catch_up, "the feed ends before it has caught up");
    }

    fn connect(&self, address: SocketAddr) -> io::Result<Events> {
        let since = match &*self.cursor {
            "" => String::new(),
            cursor => format!("&since={cursor}"),
        };
        Events::open(address, &self.token, &format!("GET /v1/feed?scope=all{since}"))
    }
}

/// The next frame.
fn frame(events: &mut Events) -> io::Result<Value> {
    let event = events.event()?;
    Ok(serde_json::from_str(field(&event, "data").expect("data")).expect("a frame of JSON"))
}
