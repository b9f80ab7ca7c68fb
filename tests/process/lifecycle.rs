//! The process: what keeps it from starting, and what signals do (operations.md §1, §4).

use std::net::TcpListener;
use std::time::{Duration, Instant};

use parley_kit::http::request;
use parley_kit::peer::{ask, get};
use parley_kit::process::run;
use parley_kit::{Ended, Folder, Mounted, Peer, Process};
use rustix::process::Signal;

fn one_line(ended: &Ended, code: i32, named: &[&str]) {
    let error = ended.failed(code);
    for name in named {
        assert!(error.contains(name), "{name}: {error}");
    }
    assert!(ended.out.is_empty(), "nothing is promised");
}

/// Goal: wrong configuration, a used port and a locked folder each stop the start with one line
/// and their exit code. Method: a process for each.
#[test]
fn what_keeps_it_from_starting() {
    let folder = Folder::new("lifecycle");
    let data = folder.text("data");
    let fails = |arguments: &[&str]| run(&[&["serve", "--data", &data], arguments].concat());
    one_line(&fails(&["--set", "limits.pages=1"]), 2, &["limits.pages"]);
    one_line(&fails(&["--listen", "nowhere"]), 2, &["listen", "nowhere"]);
    one_line(&fails(&["--set", "limits.page_max=0"]), 2, &["limits.page_max", "1 to "]);
    one_line(&fails(&["--config", "none.toml"]), 2, &["none.toml"]);
    one_line(&fails(&["--set", "nothing"]), 2, &["nothing"]);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let taken = taken.local_addr().map(|address| (taken, address.to_string())).expect("a port");
    one_line(&fails(&["--listen", &taken.1]), 1, &[&taken.1, "--listen"]);
    let running = Process::start(&folder.text("data"), &[]);
    let started = Instant::now();
    one_line(&fails(&["--listen", "127.0.0.1:0"]), 1, &["data"]);
    assert!(started.elapsed() < Duration::from_secs(5), "at once");
    drop(running);
}

/// Goal: the first start tells its tokens and how an agent connects, and leaves the
/// administrator's in the folder for its owner alone; the next says where it listens. Method: two
/// starts.
#[test]
fn first_words() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("lifecycle");
    let mut first = Process::start(&folder.text("data"), &[]);
    first.signal(Signal::TERM);
    assert_eq!(first.ends(), Some(0));
    let words = first.words();
    let path = folder.join("data/admin.token");
    let admin = std::fs::read_to_string(&path).expect("the administrator's token");
    let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(words.contains(admin.trim()), "{words}");
    let snippet = &words[words.find('{').expect("a snippet")..];
    let snippet: serde_json::Value = serde_json::from_str(snippet).expect("a snippet of JSON");
    let server = &snippet["mcpServers"]["parley"];
    assert_eq!(server["url"], format!("http://{}/mcp", first.address));
    let header = server["headers"]["Authorization"].as_str().expect("a header");
    assert!(words.contains(header.trim_start_matches("Bearer ")));
    let mut second = Process::start(&folder.text("data"), &[]);
    get(second.address, admin.trim(), "/v1/tokens");
    second.signal(Signal::INT);
    assert_eq!(second.ends(), Some(0));
    assert_eq!(second.words(), "");
}

/// Goal: a second signal exits at once, with 130. Method: a request that never ends holds the
/// first stop back.
#[test]
fn second_signal() {
    let folder = Folder::new("lifecycle");
    let mut process = Process::start(&folder.text("data"), &[]);
    let mut peer = Peer::connect(process.address);
    let own = process.address;
    let headers = "content-length: 9\r\nexpect: 100-continue\r\n";
    peer.send(request(own, &process.admin, "POST /v1/messages", headers, ""));
    // The server asks for the body, so the request is under way.
    assert_eq!(peer.answer(false).status, 100);
    process.signal(Signal::TERM);
    // Once it has stopped to listen, the first signal was heard.
    while std::net::TcpStream::connect(own).is_ok() {}
    process.signal(Signal::TERM);
    assert_eq!(process.ends(), Some(130));
}

/// Goal: a disk that is full from the start keeps it from starting with one line that names folder
/// and need; and a copy is taken of a folder that is mounted for reading only. Method: mounts in
/// memory, where this process may mount.
#[test]
fn no_space_and_no_writes() {
    let folder = Folder::new("space");
    let Some(mounted) = Mounted::new(folder.path(), "size=64k") else { return };
    let data = folder.text("data");
    let fails = || run(&["serve", "--listen", "127.0.0.1:0", "--data", &data]);
    one_line(&fails(), 1, &["no space is left", &data, "bytes free"]);
    mounted.change("remount,size=64m");
    Process::start(&data, &[]).stop();
    mounted.change("remount,ro");
    let kept = Folder::new("space-kept");
    let ended = run(&["backup", &kept.text("copy"), "--data", &data]);
    assert_eq!(ended.code, 0, "{ended:?}");
}

/// Goal: two restores of one copy in the same second begin different eras. Method: restore twice.
#[test]
fn restores_differ() {
    let folder = Folder::new("eras");
    let (data, copy) = (folder.text("data"), folder.text("copy"));
    Process::start(&data, &[]).stop();
    assert_eq!(run(&["backup", &copy, "--data", &data]).code, 0);
    let era = |name: &str| {
        run(&["restore", &copy, "--data", &folder.text(name), "--json"]).json()["era"].as_u64()
    };
    let (one, two) = (era("one").expect("an era"), era("two").expect("an era"));
    assert!(one != two && one > 1 && two > 1, "{one} {two}");
}

/// Goal: a folder whose disk is full is no damaged folder: a check says so, though the last commit
/// failed; the next start shows all once there is room. Method: a small file system
/// in memory is filled by writes without a reserve.
#[test]
fn a_full_disk_is_no_damage() {
    let folder = Folder::new("full");
    let Some(mounted) = Mounted::new(folder.path(), "size=16m") else { return };
    let data = folder.text("data");
    let unreserved = ["--set", "store.free_bytes_min=0", "--set", "limits.writes_per_minute=0"];
    let body = serde_json::json!({ "kind": "ask", "body": "\u{1F600}".repeat(500) });
    let body = body.to_string();
    let mut stored = 0;
    let server = Process::start(&data, &unreserved);
    loop {
        let answer = ask(server.address, &server.admin, "POST /v1/messages", "", &body);
        if answer.status != 201 {
            assert_eq!(answer.status, 503, "{stored} stored: {answer:?}");
            break;
        }
        stored += 1;
    }
    server.stop();
    let checked = run(&["check", "--data", &data, "--json"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert_eq!(checked.json()["counts"]["threads"], stored, "{checked:?}");
    assert!(stored > 10);
    mounted.change("remount,size=64m");
    let server = Process::start(&data, &unreserved);
    assert_eq!(ask(server.address, &server.admin, "POST /v1/messages", "", &body).status, 201);
    server.stop();
    let checked = run(&["check", "--data", &data, "--json"]).json();
    assert_eq!(checked["counts"]["threads"], stored + 1, "{checked}");
    assert_eq!(checked["findings"], serde_json::json!([]), "{checked}");
}

/// Goal: a log that nobody reads holds nothing up. Method: standard error into a pipe that is not
/// read, far more lines than it takes, and a request after them.
#[test]
fn unread_log() {
    let folder = Folder::new("lifecycle");
    let process = Process::start(&folder.text("data"), &["--log-level", "debug"]);
    let mut peer = Peer::connect(process.address);
    for _ in 0..2_000 {
        peer.send(request(process.address, "", "GET /none", "", b""));
        assert_eq!(peer.answer(false).status, 404);
    }
    peer.send(request(process.address, "", "GET /healthz", "", b""));
    assert_eq!(peer.answer(false).status, 200);
    process.stop();
}
