//! One identity that publishes as fast as it may, and others that write meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parley::storage::disk::{Disk, MemoryDisk};
use parley_kit::artifact::artifact;
use parley_kit::{Answer, BlockingServer, peer};
use serde_json::{Value, json};

/// Artifacts in the closure of each decision.
const CHAIN: usize = 150;
/// Connections over which one identity publishes decisions.
const PUBLISHERS: usize = 100;
/// Writes of each of the others.
const WRITES: usize = 60;

fn publish(server: &BlockingServer, token: &str, value: &Value) -> Answer {
    peer::ask(server.address, token, "POST /v1/artifacts", "", value.to_string())
}

/// Fills `disk` with a chain of artifacts; gives the last one, and the tokens of the one that
/// publishes and of the others.
fn filled(disk: Arc<dyn Disk>) -> (String, String, [String; 2]) {
    let filling = BlockingServer::start_on(disk, &[("limits.writes_per_minute", "0")]);
    let mut last = artifact("CLAIM", &json!({ "statement": "0" }), &[]);
    for n in 1..=CHAIN {
        assert_eq!(publish(&filling, &filling.agent, &last).status, 201);
        let before = last["artifact_id"].as_str().expect("an identifier").to_owned();
        let statement = json!({ "statement": format!("{n}") });
        last = artifact("CLAIM", &statement, &[(&before, "supports")]);
    }
    assert_eq!(publish(&filling, &filling.agent, &last).status, 201);
    let last = last["artifact_id"].as_str().expect("an identifier").to_owned();
    let token = |handle: &str| {
        filling.make_token(&json!({ "handle": handle, "rights": ["read", "write"] }))
    };
    let (crowd, others) = (token("crowd"), [token("ada"), token("bob")]);
    filling.stop(|| {});
    (last, crowd, others)
}

/// Goal: one identity that publishes at its default rate takes no permit from others: none of their
/// writes is refused. Method: decisions with a long closure over a hundred connections, more than
/// there are permits, each again and again; two others post and publish meanwhile.
#[test]
fn one_identity_publishes() {
    let disk = Arc::new(MemoryDisk::default());
    let (last, crowd, others) = filled(Arc::clone(&disk) as _);
    let server = BlockingServer::start_on(disk, &[("overload.writes_max", "64")]);
    let (ended, decided) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for publisher in 0..PUBLISHERS {
            let (server, last, crowd, ended, decided) = (&server, &last, &crowd, &ended, &decided);
            scope.spawn(move || {
                for n in 0.. {
                    if ended.load(Ordering::Relaxed) {
                        break;
                    }
                    let payload = json!({
                        "outcome": format!("Yes, {publisher} {n}."),
                        "status": "final",
                        "objection_dispositions": [],
                        "unresolved_issues": [],
                    });
                    let decision = artifact("DECISION", &payload, &[(last, "decides")]);
                    let status = publish(server, crowd, &decision).status;
                    // Its own share, and its own rate, may be used up.
                    assert!(matches!(status, 201 | 429 | 503), "{status}");
                    decided.fetch_add(usize::from(status == 201), Ordering::Relaxed);
                }
            });
        }
        let writing: Vec<_> = others
            .iter()
            .map(|token| {
                let server = &server;
                scope.spawn(move || {
                    for n in 0..WRITES {
                        let ask = json!({ "kind": "ask", "body": format!("Number {n}?") });
                        let body = ask.to_string();
                        let told = peer::ask(server.address, token, "POST /v1/messages", "", &body);
                        assert_eq!(told.status, 201, "{n}: {}", told.text());
                        let claim = json!({ "statement": format!("{token} {n}") });
                        let told = publish(server, token, &artifact("CLAIM", &claim, &[]));
                        assert_eq!(told.status, 201, "{n}: {}", told.text());
                    }
                })
            })
            .collect();
        let written: Vec<_> = writing.into_iter().map(|one| one.join().is_ok()).collect();
        ended.store(true, Ordering::Relaxed);
        assert_eq!(written, [true, true]);
    });
    println!("{} decisions beside", decided.load(Ordering::Relaxed));
    assert!(decided.load(Ordering::Relaxed) > 0);
}
