//! The audit trail of a server.

use std::time::{Duration, Instant};

use parley_kit::peer::ask;
use parley_kit::{Folder, Process};
use serde_json::{Value, json};

/// Wrong tokens are summed up once a second.
const SUMMED_WITHIN: Duration = Duration::from_secs(20);

/// Goal: the log tells who made and revoked tokens and took a copy, from where wrong tokens came,
/// when the server started and why it stopped, and holds no secret. Method: each of them, and the
/// lines of the target `audit`.
#[test]
fn trail() {
    let folder = Folder::new("audit");
    let log = folder.join("log");
    let file = std::fs::File::create(&log).expect("a log");
    let data = folder.text("data");
    let arguments = ["--log-format", "json"];
    let server = Process::logging(&data, &arguments, file.into()).expect("it starts");
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&log).expect("a log");
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["target"] == "audit").collect()
    };
    let admin = server.admin.clone();
    let new = json!({ "handle": "ada", "rights": ["read", "write"] }).to_string();
    let made = ask(server.address, &admin, "POST /v1/tokens", "", &new).expect(201);
    let secret = made["secret"].as_str().expect("a secret").to_owned();
    let id = made["token"]["id"].as_str().expect("an id").to_owned();
    let revoke = format!("DELETE /v1/tokens/{id}");
    assert_eq!(ask(server.address, &admin, &revoke, "", "").status, 204);
    assert_eq!(ask(server.address, &admin, "GET /v1/backup", "", "").status, 200);
    for _ in 0..3 {
        assert_eq!(ask(server.address, "ply_wrong", "GET /v1/threads", "", "").status, 401);
    }
    let begun = Instant::now();
    while !lines().iter().any(|line| line["message"] == "wrong tokens") {
        assert!(begun.elapsed() < SUMMED_WITHIN, "{:?}", lines());
        std::thread::yield_now();
    }
    server.stop();
    let lines = lines();
    let one = |message: &str| -> Value {
        let found: Vec<&Value> = lines.iter().filter(|it| it["message"] == message).collect();
        assert!(!found.is_empty(), "{message}: {lines:?}");
        found[0].clone()
    };
    assert_eq!(one("started")["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(one("started")["folder"], *data);
    let created = one("token created");
    assert_eq!((&created["by"], &created["token"]), (&json!("human:admin"), &json!(id)));
    assert_eq!(created["identity"], "local:ada");
    assert_eq!(created["rights"], "read write");
    let revoked = one("token revoked");
    assert_eq!((&revoked["by"], &revoked["token"]), (&json!("human:admin"), &json!(id)));
    assert_eq!(one("backup begun")["by"], "human:admin");
    let wrong: u64 = lines
        .iter()
        .filter(|line| line["message"] == "wrong tokens")
        .map(|line| {
            assert!(line["from"].as_str().is_some_and(|it| it.starts_with("127.0.0.1: ")));
            line["count"].as_u64().expect("a count")
        })
        .sum();
    assert_eq!(wrong, 3);
    assert_eq!(one("stopping")["cause"], "SIGTERM");
    let all = std::fs::read_to_string(&log).expect("a log");
    for secret in [&*secret, &admin, "ply_wrong"] {
        assert!(!all.contains(secret), "a secret is in the log");
    }
}
