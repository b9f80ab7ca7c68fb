//! The headers of a request, a line each, under a first line that is its target.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use parley::fuzzing::{OFFERED, headers};

use super::is_refusal;

/// Headers looked at: the server takes no more either.
const HEADERS_MAX: usize = 100;

/// The target.
pub fn run(bytes: &[u8]) {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let Ok(uri) = Uri::try_from(lines.next().unwrap_or_default()) else { return };
    let mut map = HeaderMap::new();
    for line in lines.take(HEADERS_MAX) {
        let at = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(at);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        let pair = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value));
        if let (Ok(name), Ok(value)) = pair {
            map.append(name, value);
        }
    }
    let read = headers(&uri, &map);
    match &read.negotiated {
        Ok(chosen) => assert!(OFFERED.contains(chosen)),
        Err(refusal) => is_refusal(refusal),
    }
    if let Err(refusal) = &read.content_type {
        is_refusal(refusal);
    }
    if read.is_event {
        assert!(map.contains_key("accept"));
    }
    assert!(read.token.is_none_or(|token| !token.is_empty()));
    let id = read.request_id.as_bytes();
    assert!((1..=128).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic));
    match &read.origin {
        Ok(origin) => {
            assert_eq!(origin.as_ref(), map.get("origin"));
            assert_eq!(map.get_all("host").iter().count(), 1);
        }
        Err(refusal) => assert_eq!(refusal.reason.status(), 403),
    }
}
