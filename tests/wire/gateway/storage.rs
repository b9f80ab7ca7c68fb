//! What HTTP says when the store takes no writes, and of names in use.

use std::sync::Arc;

use parley_kit::http::{ADMIN, AGENT, HOST, PATIENCE};
use parley_kit::{Answer, BlockingServer, Faults, FaultyDisk, Server};
use serde_json::json;

const ASK: &str = r#"{"kind":"ask","body":"Who is there?"}"#;

fn post(server: &BlockingServer) -> Answer {
    let lines = ["POST /v1/messages HTTP/1.1", HOST, AGENT, "Content-Type: application/json"];
    server.ask(&lines, ASK)
}

fn read(server: &BlockingServer, path: &str) -> Answer {
    let line = format!("GET {path} HTTP/1.1");
    server.ask(&[&line, HOST, AGENT], "")
}

/// Goal: while the disk takes no writes, writing is 503 `storage_unavailable`, reading goes on and
/// shows what was acknowledged and no more, and writing resumes by itself. Method: a disk without
/// room, then one whose syncs fail, then one that is well again.
#[test]
fn storage_unavailable() {
    for faults in [
        Faults { free_bytes: Some(0), ..Faults::default() },
        Faults { sync: 1, lasting: true, ..Faults::default() },
    ] {
        let disk = FaultyDisk::default();
        let settings = [("limits.writes_per_minute", "0")];
        let server = BlockingServer::start_on(Arc::new(disk.clone()), &settings);
        assert_eq!(post(&server).status, 201);
        disk.set(faults);
        let refused = std::iter::repeat_with(|| post(&server)).find(|one| one.status != 201);
        refused.expect("it fails").problem("storage_unavailable", "a disk that refuses");
        post(&server).problem("storage_unavailable", "it goes on refusing");
        let ready = server.ask(&["GET /readyz HTTP/1.1", HOST], "");
        assert_eq!(ready.status, 503);
        let shown = read(&server, "/v1/threads").json()["items"].as_array().map(Vec::len);
        assert!(shown.is_some_and(|shown| shown > 0), "reads go on");
        disk.mend();
        let begun = std::time::Instant::now();
        while post(&server).status != 201 {
            assert!(begun.elapsed() < PATIENCE, "writing resumes");
        }
        assert_eq!(read(&server, "/v1/threads/th_1").json()["message_count"], 1);
    }
}

/// Goal: readiness tells of a disk without room before a write has failed, and of room again.
/// Method: a disk that fills up and is mended while nobody writes.
#[test]
fn ready_tells_of_room() {
    let disk = FaultyDisk::default();
    let server = BlockingServer::start_on(Arc::new(disk.clone()), &[]);
    let becomes = |status: u16| {
        let begun = std::time::Instant::now();
        while server.ask(&["GET /readyz HTTP/1.1", HOST], "").status != status {
            assert!(begun.elapsed() < PATIENCE, "it is not {status}");
        }
    };
    becomes(200);
    disk.set(Faults { free_bytes: Some(0), ..Faults::default() });
    becomes(503);
    let refused = server.ask(&["GET /readyz HTTP/1.1", HOST], "");
    refused.problem("storage_unavailable", "no room");
    disk.mend();
    becomes(200);
}

/// Goal: a write under way when the disk stalls is answered, after 5 s, that it is not known to be
/// stored, and the same key tells. Method: writes with a key and without while syncs hang, which
/// then go on; the key again.
#[test]
fn stalled_under_way() {
    let disk = FaultyDisk::default();
    let server = BlockingServer::start_on(Arc::new(disk.clone()), &[]);
    let keyed = || {
        let key = "Idempotency-Key: once";
        let json = "Content-Type: application/json";
        server.ask(&["POST /v1/messages HTTP/1.1", HOST, AGENT, json, key], ASK)
    };
    disk.stall(true);
    let begun = std::time::Instant::now();
    let answers = std::thread::scope(|scope| {
        let calls = [scope.spawn(keyed), scope.spawn(|| post(&server))];
        calls.map(|call| call.join().expect("an answer"))
    });
    let took = begun.elapsed().as_secs();
    assert!((5..8).contains(&took), "{took} s");
    for answer in answers {
        let problem = answer.problem("storage_unavailable", "the disk stalls");
        let detail = problem["detail"].as_str().expect("a text");
        assert!(detail.contains("not known to be stored"), "{detail}");
        assert!(detail.contains("same idempotency key"), "{detail}");
    }
    assert_eq!(server.ask(&["GET /readyz HTTP/1.1", HOST], "").status, 503);
    disk.stall(false);
    let begun = std::time::Instant::now();
    let again = std::iter::repeat_with(keyed).find(|answer| {
        assert!(begun.elapsed() < PATIENCE, "writing resumes");
        answer.status == 201
    });
    assert_eq!(again.expect("it is there").header("idempotent-replayed"), Some("true"));
    let shown = read(&server, "/v1/threads").json()["items"].as_array().map(Vec::len);
    assert_eq!(shown, Some(2), "each is stored once");
}

/// Goal: a calendar clock that stood an hour ahead leaves nobody rated. Method: as many writes as a
/// burst holds while it is ahead; it is set back, and time passes for one more.
#[tokio::test]
async fn clock_leaps() {
    let rate = |config: &mut parley::config::Config| {
        (config.limits.writes_per_minute, config.limits.writes_burst) = (1, 2);
    };
    let server = Server::start(rate).await;
    let mut ada = server.client(&server.agent);
    let ask = json!({ "kind": "ask", "body": "Who is there?" });
    let mut write = async || ada.post("/v1/messages", &ask).await.status;
    server.clock.ahead(3_600_000);
    assert_eq!([write().await, write().await, write().await], [201, 201, 429]);
    server.clock.back(3_600_000);
    assert_eq!(write().await, 429);
    server.clock.pass(60_000);
    assert_eq!(write().await, 201, "a minute has passed");
}

/// Goal: a name once used keeps its spelling. Method: the same handle in another case.
#[test]
fn handle_conflict() {
    let server = BlockingServer::start(&[]);
    let create = |handle: &str| {
        let lines = ["POST /v1/tokens HTTP/1.1", HOST, ADMIN];
        server.ask(&lines, &format!(r#"{{"handle":"{handle}","rights":["read"]}}"#))
    };
    assert_eq!(create("Ada").status, 201);
    assert_eq!(create("Ada").status, 201);
    create("ada").problem("handle_conflict", "another spelling");
}
