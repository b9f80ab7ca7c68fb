//! A data folder on a file system that is really full.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parley::storage::disk::FolderDisk;
use parley_kit::http::{AGENT, HOST};
use parley_kit::peer::pages;
use parley_kit::{Answer, BlockingServer, Folder, Mounted, Peer};

/// The size of the file system.
const SIZE: &str = "size=64m";
/// Within which writing resumes once there is room (operations.md §3).
const RESUMES_WITHIN: Duration = Duration::from_secs(5);
/// Connections that write.
const WRITERS: usize = 8;

fn start(path: &Path, settings: &[(&str, &str)]) -> BlockingServer {
    let disk = FolderDisk::open(path).expect("a folder");
    BlockingServer::start_in(path, Arc::new(disk), settings)
}

/// Posts over several connections until each is refused; gives the messages acknowledged.
fn post_until_refused(server: &BlockingServer) -> BTreeSet<u64> {
    let body = format!(r#"{{"kind":"ask","body":"{}"}}"#, "x".repeat(490));
    let lines = ["POST /v1/messages HTTP/1.1", HOST, AGENT];
    let request = server.request(&lines, &body);
    std::thread::scope(|scope| {
        let writers = (0..WRITERS).map(|_| {
            scope.spawn(|| {
                let (mut peer, mut stored) = (Peer::connect(server.address), Vec::new());
                loop {
                    peer.send(&request);
                    let answer = peer.answer(false);
                    if answer.status != 201 {
                        answer.refusal(503, "storage_unavailable");
                        return stored;
                    }
                    stored.push(thread_of(&answer));
                }
            })
        });
        let writers: Vec<_> = writers.collect();
        writers.into_iter().flat_map(|it| it.join().expect("a writer")).collect()
    })
}

fn thread_of(answer: &Answer) -> u64 {
    answer.json()["thread"]["number"].as_u64().expect("a number")
}

fn post(server: &BlockingServer) -> Answer {
    let lines = ["POST /v1/messages HTTP/1.1", HOST, AGENT];
    server.ask(&lines, r#"{"kind":"ask","body":"is there room?"}"#)
}

/// The numbers of all threads that the server shows.
fn shown(server: &BlockingServer) -> BTreeSet<u64> {
    let (threads, _) = pages("/v1/threads?limit=200", "items", |path| {
        let page = server.ask(&[&format!("GET {path} HTTP/1.1"), HOST, AGENT], "");
        assert_eq!(page.status, 200, "reads go on: {}", page.text());
        page.json()
    });
    threads.iter().filter_map(|thread| thread["number"].as_u64()).collect()
}

/// Goal: a data folder on a small full file system refuses writes clearly, serves reads, writes
/// again by itself within 5 s after there is room, and has lost nothing, before and after a
/// restart. Method: a file system of 64 MB that something else fills, until what must stay free is
/// reached, and until the system itself says that there is no room; then that something goes.
#[test]
fn a_small_file_system() {
    for (free_bytes_min, left) in [("8388608", 10 << 20), ("0", 1 << 20)] {
        let folder = Folder::new("full");
        let Some(small) = Mounted::new(folder.path(), SIZE) else { return };
        let settings =
            [("store.free_bytes_min", free_bytes_min), ("limits.writes_per_minute", "0")];
        let server = start(folder.path(), &settings);
        assert_eq!(post(&server).status, 201);
        let ballast = small.fill(left);
        let mut stored = post_until_refused(&server);
        stored.insert(1);
        assert!(small.free() + (1 << 20) >= free_bytes_min.parse().expect("a number"));
        post(&server).problem("storage_unavailable", "it goes on refusing");
        let ready = server.ask(&["GET /readyz HTTP/1.1", HOST], "");
        assert_eq!(ready.status, 503);
        assert_eq!(shown(&server), stored, "{free_bytes_min}: full");
        std::fs::remove_file(ballast).expect("the ballast");
        let freed = Instant::now();
        let resumed = std::iter::repeat_with(|| post(&server)).find(|it| it.status == 201);
        let took = freed.elapsed();
        assert!(took < RESUMES_WITHIN, "{free_bytes_min}: it resumes after {took:?}");
        stored.insert(thread_of(&resumed.expect("it resumes")));
        assert_eq!(shown(&server), stored, "{free_bytes_min}: resumed");
        println!(
            "{free_bytes_min} bytes must stay free: {} stored, resumed after {took:?}",
            stored.len()
        );
        let agent = server.agent.clone();
        server.stop(|| {});
        let mut server = start(folder.path(), &settings);
        server.agent = agent;
        assert_eq!(shown(&server), stored, "{free_bytes_min}: after a restart");
        server.stop(|| {});
        drop(small);
    }
}
