//! What a client says on its feed.

use parley::feed::client;

use super::is_refusal;

/// The target.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let frame = match client::read(text) {
        Ok(frame) => frame,
        Err(refusal) => return is_refusal(&refusal),
    };
    let word = if frame.follow { "subscribe" } else { "unsubscribe" };
    let threads = &frame.threads;
    assert!(threads.windows(2).all(|pair| pair[0] < pair[1]), "sorted, each once: {text}");
    let threads: Vec<String> = threads.iter().map(|thread| format!("\"{thread}\"")).collect();
    let again = format!("{{\"type\":\"{word}\",\"threads\":[{}]}}", threads.join(","));
    assert_eq!(client::read(&again), Ok(frame), "{text}");
}
