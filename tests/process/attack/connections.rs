//! Connections that are there to be there: silent, slow, many.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parley_kit::Connection;
use tokio::time::Instant;

use super::Force;
use super::pace::Pace;
use super::target::Target;

/// Addresses that the silent ones come from: 127.0.0.1 to .254.
const ADDRESSES: u64 = 254;
/// Silent connections in a minute.
const SILENT: u64 = 100_000;
/// That many cost no more memory than this.
const MEMORY_MAX: u64 = 512 << 20;
/// How much later than it should a connection may end, on a machine that does other things too.
const LATE_MAX: Duration = Duration::from_secs(8);

/// Goal: 100 000 connections within a minute that say nothing take no place from anybody, and no
/// more memory than a bound. Method: they come from 127.0.0.0/24 and are held until the server
/// ends them; the witness connects anew all the time. Without the full force there are 2 000 within
/// 2 s, and so few places that they push each other out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent() {
    let force = Force::read();
    let settings: &[&str] = if force.is_full() { &[] } else { &["gateway.connections_max=500"] };
    let target = Target::start(settings);
    let lasts = if force.is_full() { Duration::from_secs(60) } else { force.lasts };
    // A debug build: half the share that it would take at the full rate is the kernel's.
    let rate = if force.is_full() { SILENT.div_ceil(60) } else { 1_000 };
    let most = Arc::new(AtomicU64::new(0));
    let open = Arc::new(AtomicU64::new(0));
    let ended = tokio_util::task::TaskTracker::new();
    let attack = async {
        let mut pace = Pace::new(rate, lasts);
        let mut struck = 0;
        while let Some(turn) = pace.next().await {
            let from = u8::try_from(1 + turn % ADDRESSES).unwrap();
            // One that is not let in has not cost anything.
            if let Ok(silent) = Connection::open_from(from, target.address).await {
                struck += 1;
                most.fetch_max(open.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                let open = Arc::clone(&open);
                ended.spawn(async move {
                    let said = silent.rest().await;
                    open.fetch_sub(1, Ordering::Relaxed);
                    let said = String::from_utf8_lossy(&said);
                    assert!(said.is_empty() || said.starts_with("HTTP/1.1 503"), "{said}");
                });
            }
        }
        assert!(target.memory() < MEMORY_MAX, "{} bytes", target.memory());
        struck
    };
    target.under("silent connections", attack).await;
    println!("silent connections: {} at a time", most.load(Ordering::Relaxed));
    ended.close();
    tokio::time::timeout(Duration::from_secs(10) + LATE_MAX, ended.wait())
        .await
        .expect("the server ends them all");
}

/// Goal: a header that comes a byte at a time is waited for no longer than its time, and takes no
/// place from others. Method: 200 connections a second that send one byte each second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_headers() {
    let head = |target: &Target| {
        format!("GET /v1/threads HTTP/1.1\r\nHost: {}\r\nX-Slow: ", target.address).into_bytes()
    };
    slow("slow headers", "gateway.header_seconds", false, head).await;
}

/// Goal: a body that comes a byte at a time is waited for no longer than its time, and refused
/// then. Method: 200 connections a second with a right token that send one byte each second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_bodies() {
    let head = |target: &Target| target.request("POST /v1/messages", &["Content-Length: 1000"], "");
    slow("slow bodies", "gateway.body_seconds", true, head).await;
}

/// Opens 200 connections a second, each of which sends what `head` says and then a byte each
/// second; each must be over once its time, which `key` sets, is over, with an answer or without.
async fn slow(name: &str, key: &str, is_answered: bool, head: impl Fn(&Target) -> Vec<u8>) {
    let force = Force::read();
    let seconds = if force.is_full() { 5 } else { 1 };
    let target = Target::start(&[&format!("{key}={seconds}")]);
    let head = head(&target);
    let dripping = tokio_util::task::TaskTracker::new();
    let attack = async {
        let mut pace = Pace::new(force.of(200), force.lasts);
        let mut struck = 0;
        while pace.next().await.is_some() {
            struck += 1;
            let (address, head) = (target.address, head.clone());
            dripping.spawn(async move {
                let mut wire = Connection::open(address).await.unwrap();
                wire.send(&head).await.unwrap();
                let (answer, took) = drip(wire).await;
                let longest = Duration::from_secs(seconds) + LATE_MAX;
                assert!(took < longest, "it is waited for {took:?}");
                assert_eq!(answer.contains("invalid_body"), is_answered, "{answer}");
            });
        }
        dripping.close();
        dripping.wait().await;
        struck
    };
    target.under(name, attack).await;
}

/// Sends a byte each second until the server has had enough; gives what it said, and how long that
/// took.
async fn drip(wire: Connection) -> (String, Duration) {
    let began = Instant::now();
    let (mut from, mut to) = wire.socket.into_split();
    let dripping = tokio::spawn(async move {
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        loop {
            seconds.tick().await;
            if tokio::io::AsyncWriteExt::write_all(&mut to, b"x").await.is_err() {
                return;
            }
        }
    });
    let mut said = Vec::new();
    let mut bytes = [0; 1_024];
    while let Ok(count) = tokio::io::AsyncReadExt::read(&mut from, &mut bytes).await {
        if count == 0 {
            break;
        }
        said.extend_from_slice(&bytes[..count]);
        if said.windows(2).any(|end| end == b"\"}") {
            break;
        }
    }
    let took = began.elapsed();
    dripping.abort();
    (String::from_utf8_lossy(&said).into_owned(), took)
}
