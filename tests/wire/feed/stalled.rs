//! A listener that does not take what it is sent.

use std::time::Duration;

use parley_kit::feed::upgrade;
use parley_kit::http::bearer;
use parley_kit::{Heard, Listener, Observed, Server};
use tokio_tungstenite::tungstenite::Message;

/// Bytes of pings that the buffers of two sockets take at most.
const PINGS_BYTES_MAX: usize = 24 << 20;

/// Acts after which a listener that takes nothing must have been cut off.
const ACTS_MAX: usize = 20_000;

/// Goal: a listener that takes nothing is cut off with 4008 and its last cursor, others miss
/// nothing, and it ends complete when it comes back. Method: one that does not read while acts go
/// on until the server counts it, one that does; then the first reads what came and resumes.
#[test]
fn slow_consumer() {
    let observed = Observed::default();
    observed.runtime(2).block_on(stall(&observed));
}

async fn stall(observed: &Observed) {
    let forum = Server::start(|config| config.feed.buffer = 16).await;
    let mut ada = forum.writer("ada").await;
    let mut bob = forum.writer("bob").await;
    let headers = upgrade(&bearer(&ada.token));
    let mut stalled = Listener::with(forum.address, "?scope=all", &headers, Some(4_096)).await;
    let mut other = Listener::connect(forum.address, &ada.token, "?scope=all").await;
    let reading = tokio::spawn(async move {
        let mut positions = Vec::new();
        while let Heard::Frame(frame) = other.hear().await {
            positions.push((frame.kind().to_owned(), frame.position));
            if frame.json["message"]["body"] == "the last" {
                break;
            }
        }
        positions
    });
    let thread = ada.open("one").await;
    let body = "x".repeat(400);
    let mut acts = 0;
    let dropped = "parley_feed_dropped_total{cause=\"slow_consumer\"}";
    while observed.metric(dropped) < 1.0 {
        for _ in 0..50 {
            ada.inform(&thread, &body).await;
            bob.inform(&thread, &body).await;
        }
        acts += 100;
        assert!(acts < ACTS_MAX, "nothing was cut off");
    }
    let mut heard = Vec::new();
    let mut last = String::new();
    let (code, reason) = loop {
        match stalled.hear().await {
            Heard::Frame(frame) => {
                frame.cursor().clone_into(&mut last);
                heard.push((frame.kind().to_owned(), frame.position));
            }
            Heard::Closed(code, reason) => break (code, reason),
            Heard::Gone => panic!("no goodbye after {} frames", heard.len()),
        }
    };
    assert_eq!((code, reason), (4008, format!("slow_consumer {last}")));
    ada.inform(&thread, "the last").await;
    let query = format!("?scope=all&since={last}");
    let (mut again, _) = Listener::greeted(forum.address, &ada.token, &query).await;
    let mut rest = again.until("caught_up").await;
    rest.pop();
    heard.extend(rest.iter().map(|frame| (frame.kind().to_owned(), frame.position)));
    let all = reading.await.unwrap();
    println!("cut off after {acts} acts; {} frames in all", all.len());
    let same = heard[1..].iter().zip(&all[1..]).take_while(|(one, other)| one == other).count();
    assert_eq!((same + 1, heard.len()), (all.len(), all.len()), "same up to a place, and in all");
}

/// Goal: a reader that takes its time over a replay is not cut off for it. Method: more than any
/// buffer holds behind, over a small socket, while acts go on and nothing is read at first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_replay() {
    let forum = Server::start(|config| config.feed.buffer = 4).await;
    let (mut ada, mut bob) = (forum.writer("ada").await, forum.writer("bob").await);
    let token = ada.token.clone();
    let start = ada.get("/v1/inbox").await.expect(200)["cursor"].as_str().unwrap().to_owned();
    let thread = ada.open("one").await;
    let body = "x".repeat(400);
    let mut count = 2;
    let mut more = async |acts: usize| {
        for _ in 0..acts {
            ada.inform(&thread, &body).await;
            bob.inform(&thread, &body).await;
        }
        count += acts * 2;
        count
    };
    more(2_000).await;
    let headers = upgrade(&bearer(&token));
    let query = format!("?scope=all&since={start}");
    let mut listener = Listener::with(forum.address, &query, &headers, Some(4_096)).await;
    let count = more(1_000).await;
    let frames = listener.until("caught_up").await;
    // Hello and caught_up beside all that happened.
    assert_eq!(frames.len(), count + 2);
    assert!(frames.windows(2).all(|pair| pair[0].position < pair[1].position));
}

/// Goal: pongs wait as other answers do: a listener that pings and does not read is read no more.
/// Method: pings of one that takes nothing, until one finds no room for a second.
#[tokio::test]
async fn pings_unread() {
    let forum = Server::start(|config| config.feed.heartbeat_seconds = 300).await;
    let (_, token) = forum.token("ada", &["read"]).await;
    let headers = upgrade(&bearer(&token));
    let mut listener = Listener::with(forum.address, "?scope=all", &headers, Some(4_096)).await;
    listener.expect("hello").await;
    let mut sent = 0;
    loop {
        let ping = listener.say(Message::Ping(vec![7; 125].into()));
        if tokio::time::timeout(Duration::from_secs(1), ping).await.is_err() {
            break;
        }
        sent += 125;
        assert!(sent < PINGS_BYTES_MAX, "the server goes on reading");
    }
}
