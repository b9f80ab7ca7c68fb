//! WebSockets of listeners that say what they should not: fragments without end, floods of pings,
//! of noise, of frames too large.

use std::sync::Arc;

use parley_kit::Connection;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::task::JoinSet;

use super::Force;
use super::pace::Pace;
use super::target::Target;

const TEXT: u8 = 1;
const PING: u8 = 9;
const CLOSE: u8 = 8;
const LAST: u8 = 0x80;

/// A masked frame, as a client sends them.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..=125 => bytes.push(0x80 + u8::try_from(length).unwrap()),
        length => {
            bytes.push(0x80 + 126);
            bytes.extend_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
        }
    }
    // A mask of zeros leaves the payload as it is.
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(payload);
    bytes
}

/// Opens a feed of some threads.
async fn feed(target: &Target) -> Connection {
    let mut wire = Connection::open(target.address).await.unwrap();
    let lines = [
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    let answer = wire.ask(&target.request("GET /v1/feed?scope=threads", &lines, "")).await.unwrap();
    assert_eq!(answer.status, 101, "{answer:?}");
    wire
}

/// Reads and drops what the server sends until it closes; gives the code of its close frame, if
/// one came last.
async fn closed_with(mut from: tokio::net::tcp::OwnedReadHalf) -> Option<u16> {
    let (mut bytes, mut tail) = ([0; 8 << 10], Vec::new());
    while let Ok(count) = from.read(&mut bytes).await {
        if count == 0 {
            break;
        }
        tail.extend_from_slice(&bytes[..count]);
        let keep = tail.len().saturating_sub(256);
        tail.drain(..keep);
    }
    let at = tail.windows(2).rposition(|start| start[0] == LAST | CLOSE && start[1] < 126)?;
    Some(u16::from_be_bytes([*tail.get(at + 2)?, *tail.get(at + 3)?]))
}

/// Sends `make`'s frames, `rate` a second over eight feeds, until the attack ends; a feed that the
/// server closes must be closed with `code`.
async fn flood(
    name: &str,
    rate: u64,
    code: Option<u16>,
    make: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static,
) {
    const FEEDS: u64 = 8;
    let force = Force::read();
    let target = Target::start(&[]);
    let make = Arc::new(make);
    let attack = async {
        let feeds = (0..FEEDS).map(|_| {
            let (target, make) = (Arc::clone(&target), Arc::clone(&make));
            async move {
                let mut pace = Pace::new((force.of(rate) / FEEDS).max(1), force.lasts);
                let (mut struck, mut closings) = (0, Vec::new());
                'feeds: loop {
                    let (from, mut to) = feed(&target).await.socket.into_split();
                    closings.push(tokio::spawn(closed_with(from)));
                    for number in 0.. {
                        if pace.next().await.is_none() {
                            break 'feeds;
                        }
                        let bytes = make(number);
                        if tokio::io::AsyncWriteExt::write_all(&mut to, &bytes).await.is_err() {
                            break;
                        }
                        struck += 1;
                    }
                }
                assert!(struck > 0);
                // The last one ends with its sender.
                closings.pop();
                for closing in closings {
                    assert_eq!(closing.await.unwrap(), code, "the feed is closed");
                }
                struck
            }
        });
        feeds.collect::<JoinSet<_>>().join_all().await.into_iter().sum()
    };
    target.under(name, attack).await;
}

/// Goal: a message in fragments without end is cut at the bound of a message. Method: fragments
/// of one byte and of a kilobyte, 10 000 a second over eight feeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fragments() {
    flood("WebSocket fragments", 10_000, Some(1009), |number| {
        let size = if number.is_multiple_of(2) { 1 } else { 1_024 };
        frame(if number == 0 { TEXT } else { 0 }, &vec![b'x'; size])
    })
    .await;
}

/// Goal: pings are answered and cost little. Method: 10 000 a second over eight feeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pings() {
    flood("WebSocket pings", 10_000, None, |_| frame(LAST | PING, b"ping")).await;
}

/// Goal: what a feed does not understand gets a notice, and cuts no other. Method: noise, deep
/// JSON and subscriptions to what is not there, 3 000 a second over eight feeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise() {
    let subscribe = json!({ "type": "subscribe", "threads": vec!["th_9"; 100] }).to_string();
    let deep = "[".repeat(1_000);
    flood("WebSocket noise", 3_000, None, move |number| match number % 3 {
        0 => frame(LAST | TEXT, b"noise"),
        1 => frame(LAST | TEXT, subscribe.as_bytes()),
        _ => frame(LAST | TEXT, deep.as_bytes()),
    })
    .await;
}
