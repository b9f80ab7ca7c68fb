//! The target of a request: its path and its query. A line feed stands between them.

use parley::fuzzing::feed_query;
use parley_protocol::operation::{PathMatch, Profiles, find};
use parley_protocol::url::Query;

use super::is_refusal;

/// The target.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (path, query) = text.split_once('\n').unwrap_or(("", text));
    for method in ["GET", "POST", "HEAD", "DELETE", ""] {
        match find(method, path, Profiles::ALL) {
            PathMatch::Operation(operation, value) => {
                assert_eq!(value.is_some(), operation.spec().route.path.contains('{'), "{path:?}");
            }
            PathMatch::OtherMethod(methods) => assert!(!methods.contains(&method), "{path:?}"),
            PathMatch::Nothing => {}
        }
    }
    if let Err(refusal) = feed_query(query) {
        is_refusal(&refusal);
    }
    let mut read = match Query::parse(query) {
        Ok(read) => read,
        Err(refusal) => return is_refusal(&refusal),
    };
    let mut count = 0;
    while let Some(name) = read.rest().map(str::to_owned) {
        let value = read.take(&name).expect("it is there");
        assert!(!value.is_empty(), "{query:?}");
        assert_eq!(read.take(&name), None, "once: {query:?}");
        count += 1;
    }
    assert_eq!(count, query.split('&').filter(|piece| !piece.is_empty()).count(), "{query:?}");
}
