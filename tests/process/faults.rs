//! Faults that a server meets as a process: a damaged log, a signal while it opens its store, a
//! file system without a free byte (operations.md §1, §3, §4).

use std::fs;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parley::journal::options::JournalOptions;
use parley::storage::disk::FolderDisk;
use parley_kit::journal::JournalHarness;
use parley_kit::peer::{ask, get};
use parley_kit::process::{self, run};
use parley_kit::{Folder, Mounted, Process};
use rustix::process::{Pid, Signal, kill_process};

/// Within which a server stops, whatever runs (operations.md §1).
const STOPS_WITHIN: Duration = Duration::from_secs(12);
/// Bytes of a page of a database.
const PAGE: u64 = 4_096;

fn post(server: &Process, text: &str) -> u16 {
    let body = serde_json::json!({ "kind": "ask", "body": text }).to_string();
    ask(server.address, &server.admin, "POST /v1/messages", "", &body).status
}

/// The segments of the log in `folder`.
fn segments(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let is_segment = |path: &std::path::PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        parley::journal::log::parse_name(name).is_some()
    };
    entries.map(|entry| entry.path()).filter(is_segment).collect()
}

/// Goal: a server on a log that is damaged in a place which the start does not read ends on a
/// signal, and its exit code tells whether all is stored. Method: each page of the log is
/// overwritten in turn; where the server starts, it is written to and stopped.
#[test]
fn a_damaged_log() {
    let folder = Folder::new("damaged");
    let (data, sound) = (folder.text("data"), folder.text("sound"));
    let server = Process::start(&sound, &["--set", "limits.writes_per_minute=0"]);
    for n in 0..80 {
        assert_eq!(post(&server, &format!("{n} {}", "x".repeat(400))), 201);
    }
    server.stop();
    let mut ended = Vec::new();
    let pages = segments(Path::new(&sound))[0].metadata().expect("a file").len() / PAGE;
    for page in 1..pages {
        let _ = fs::remove_dir_all(&data);
        fs::create_dir(&data).expect("a folder");
        for entry in fs::read_dir(&sound).expect("a folder") {
            let entry = entry.expect("an entry");
            fs::copy(entry.path(), Path::new(&data).join(entry.file_name())).expect("a copy");
        }
        let log = fs::File::options().write(true).open(&segments(Path::new(&data))[0]);
        log.expect("the log").write_at(&[0xA5; PAGE as usize], page * PAGE).expect("written");
        let Ok(mut server) = Process::try_start(&data, &["--log-level", "off"]) else { continue };
        let status = post(&server, "more");
        assert!(matches!(status, 201 | 503), "page {page}: {status}");
        server.signal(Signal::TERM);
        let asked = Instant::now();
        let code = server.ends().expect("it is not killed");
        assert!(asked.elapsed() < STOPS_WITHIN, "page {page}: {:?}", asked.elapsed());
        ended.push((page, status, code));
    }
    println!("{ended:?}");
    assert!(ended.len() > 3, "{ended:?}");
    assert!(ended.iter().all(|(_, _, code)| matches!(code, 0 | 1)), "{ended:?}");
}

/// Goal: a signal ends a server that still opens its store, at once and with 0, and nothing is
/// lost. Method: a long log that is not archived; the signal comes once the folder is taken.
#[test]
fn a_signal_while_it_opens() {
    const ACTS: u64 = 30_000;
    let folder = Folder::new("opening");
    let data = folder.text("data");
    Process::start(&data, &[]).stop();
    let disk: Arc<FolderDisk> = Arc::new(FolderDisk::open(Path::new(&data)).expect("a folder"));
    let mut harness = JournalHarness::open_on(disk, JournalOptions::default()).expect("a journal");
    for _ in 0..ACTS / 1_000 {
        for n in 0..1_000 {
            drop(harness.ask("local:ada", &format!("Number {n}?")));
        }
        harness.work();
    }
    drop(harness);
    let mut child = process::command(&["serve", "--data", &data, "--listen", "127.0.0.1:0"]);
    let mut child = child.spawn().expect("the binary runs");
    let id = Pid::from_child(&child);
    // The folder is locked on the thread that opens the store, after signals are heard.
    while fs::read_to_string("/proc/locks").is_ok_and(|locks| {
        let holder = format!(" {} ", id.as_raw_nonzero());
        !locks.lines().any(|line| line.contains("FLOCK") && line.contains(&holder))
    }) {
        std::thread::yield_now();
    }
    kill_process(id, Signal::TERM).expect("it runs");
    let asked = Instant::now();
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(asked.elapsed() < STOPS_WITHIN);
    let mut out = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
    assert_eq!(out, "", "it had not started");
    let checked = run(&["check", "--data", &data, "--json"]).json();
    assert_eq!(checked["counts"]["threads"], ACTS, "{checked}");
}

/// Goal: on a file system without a free byte, after `kill -9`, a server starts, serves what is
/// stored, refuses writes, and takes them again once there is room. Method: a file system in memory
/// that something fills up, with no reserve.
#[test]
fn without_a_free_byte() {
    let folder = Folder::new("no-byte");
    let Some(mounted) = Mounted::new(folder.path(), "size=32m") else { return };
    let data = folder.text("data");
    let unreserved = ["--set", "store.free_bytes_min=0", "--log-level", "off"];
    let server = Process::start(&data, &unreserved);
    for n in 0..5 {
        assert_eq!(post(&server, &format!("{n}")), 201);
    }
    server.kill();
    let ballast = mounted.fill(0);
    assert_eq!(mounted.free(), 0);
    for _ in 0..2 {
        let server = Process::start(&data, &unreserved);
        let threads = get(server.address, &server.admin, "/v1/threads");
        assert_eq!(threads["items"].as_array().map(Vec::len), Some(5), "{threads}");
        assert_eq!(post(&server, "more"), 503);
        server.kill();
    }
    let server = Process::start(&data, &unreserved);
    assert_eq!(post(&server, "more"), 503);
    fs::remove_file(ballast).expect("the ballast");
    let freed = Instant::now();
    while post(&server, "again") != 201 {
        assert!(freed.elapsed() < Duration::from_secs(5), "it takes no writes");
        std::thread::yield_now();
    }
    server.token(&serde_json::json!({ "handle": "eve", "rights": ["read"] }));
    server.stop();
    let checked = run(&["check", "--data", &data, "--json"]).json();
    assert_eq!(checked["counts"]["threads"], 6, "{checked}");
    assert_eq!(checked["findings"], serde_json::json!([]), "{checked}");
}
