//! Floods of requests, each answered with what its bound says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parley_kit::{Answer, Connection};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::Force;
use super::pace::Pace;
use super::target::{NOBODY, Target};

/// Connections of one attacker.
const CONNECTIONS: u64 = 16;

const POST: &str = "POST /v1/messages";
const GZIP: &str = "Content-Encoding: gzip";

/// Sends `rate` requests a second, as `make` makes them of their numbers, and holds each answer to
/// `judge`.
async fn flood(
    target: &Arc<Target>,
    name: &str,
    rate: u64,
    make: impl Fn(&Target, u64) -> Vec<u8> + Send + Sync + 'static,
    judge: impl Fn(u64, &Answer) + Send + Sync + 'static,
) {
    let force = Force::read();
    let (make, judge) = (Arc::new(make), Arc::new(judge));
    let attack = async {
        let senders = (0..CONNECTIONS).map(|sender| {
            let (target, make, judge) = (Arc::clone(target), Arc::clone(&make), Arc::clone(&judge));
            async move {
                let mut wire = Connection::open(target.address).await.unwrap();
                let mut struck = 0;
                let mut pace = Pace::new((force.of(rate) / CONNECTIONS).max(1), force.lasts);
                while let Some(turn) = pace.next().await {
                    let number = turn * CONNECTIONS + sender;
                    let answer = wire.ask(&make(&target, number)).await.expect("an answer");
                    judge(number, &answer);
                    struck += 1;
                    // A body that was announced and never sent leaves the connection of no use.
                    if answer.closes() || answer.status == 413 {
                        wire = Connection::open(target.address).await.unwrap();
                    }
                }
                struck
            }
        });
        senders.collect::<JoinSet<_>>().join_all().await.into_iter().sum()
    };
    target.under(name, attack).await;
}

fn is(status: u16, reason: &'static str) -> impl Fn(u64, &Answer) + Send + Sync {
    are(move |_| (status, reason))
}

/// Holds each answer to the status and the reason that its request's number wants.
fn are(
    want: impl Fn(u64) -> (u16, &'static str) + Send + Sync,
) -> impl Fn(u64, &Answer) + Send + Sync {
    move |number, answer| {
        assert_eq!((answer.status, &*answer.reason()), want(number), "{answer:?}");
    }
}

/// Goal: a header too large, headers too many, a target too long are refused as problems and cost
/// no more than their bound. Method: 100 KB of each, 300 a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn header_floods() {
    let make = |target: &Target, number: u64| match number % 3 {
        0 => target.request("GET /healthz", &[&format!("X-Long: {}", "x".repeat(100_000))], ""),
        1 => target.request("GET /healthz", &["X-Many: 1"; 1_000], ""),
        _ => target.request(&format!("GET /v1/threads?cursor={}", "x".repeat(100_000)), &[], ""),
    };
    flood(&Target::start(&[]), "header floods", 300, make, is(413, "request_too_large")).await;
}

/// Goal: what is no HTTP is refused as a problem. Method: broken first lines and headers, 1 000 a
/// second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage() {
    let make = |_: &Target, number: u64| {
        let text: &[u8] = match number % 4 {
            0 => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n",
            1 => b"GET / HTTP/1.1\r\nHost: a\r\nBroken Name: 1\r\n\r\n",
            2 => b"GET /\x01 HTTP/1.1\r\n\r\n",
            _ => b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        };
        text.to_vec()
    };
    flood(&Target::start(&[]), "garbage", 1_000, make, is(400, "invalid_parameter")).await;
}

/// Goal: JSON that is too large is refused by its length, and what is nested too deep without
/// being built. Method: a body of a megabyte announced, and 60 KB of brackets, 500 a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json() {
    let make = |target: &Target, number: u64| match number % 4 {
        // Nothing of the body is ever sent.
        0 => target.request(POST, &["Content-Length: 1000000", "Expect: 100-continue"], ""),
        1 => target.request(POST, &[], &"[".repeat(60_000)),
        2 => target.request(POST, &[], &"{\"a\":".repeat(12_000)),
        _ => target.request(POST, &[], &format!("{{\"body\":{}1}}", "[1,".repeat(20_000))),
    };
    let judge = are(|number| match number % 4 {
        0 => (413, "request_too_large"),
        _ => (400, "invalid_body"),
    });
    flood(&Target::start(&[]), "oversized and deep JSON", 500, make, judge).await;
}

/// Goal: nothing is decompressed. Method: bodies that say they are compressed, 2 000 a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compressed() {
    // The smallest body that unpacks to anything.
    let make = |target: &Target, _| target.request(POST, &[GZIP], "\x1f\u{8b}bomb");
    let judge = is(415, "unsupported_media_type");
    flood(&Target::start(&[]), "compressed bodies", 2_000, make, judge).await;
}

/// Goal: a page of another site reaches nothing, whatever it names itself. Method: wrong hosts and
/// origins, 5 000 a second, on every way in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_and_origins() {
    const NAMES: [&str; 6] = [
        "Host: evil.example",
        "Host: localhost.evil.example:80",
        "Host: 127.0.0.1@evil.example",
        "Origin: http://evil.example",
        "Origin: null",
        "Origin: http://127.0.0.1.evil.example",
    ];
    const LINES: [&str; 4] =
        ["GET /v1/threads", "POST /v1/messages", "POST /mcp", "GET /v1/feed?scope=all"];
    let make = |target: &Target, number: u64| {
        let line = LINES[(number / 6) as usize % LINES.len()];
        target.request(line, &[NAMES[number as usize % NAMES.len()]], "")
    };
    let judge = |_, answer: &Answer| assert_eq!(answer.status, 403, "{answer:?}");
    flood(&Target::start(&[]), "hostile Host and Origin", 5_000, make, judge).await;
}

/// Goal: who guesses tokens is told 401, beyond the limit of its address 429, while a right token
/// from the same address is never affected. Method: wrong tokens, near the right one too, 5 000 a
/// second; every tenth request carries the right one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guessing() {
    let make = |target: &Target, number: u64| {
        if number.is_multiple_of(10) {
            return target.get("/v1/manifest");
        }
        // The right one but for its end, of all lengths.
        let right = &target.agent;
        let near = &right[..right.len().min(number as usize % 64)];
        let line = format!("Authorization: Bearer {near}{number:x}");
        target.request("GET /v1/manifest", &[&line], "")
    };
    let limited = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&limited);
    let judge = move |number: u64, answer: &Answer| {
        if number.is_multiple_of(10) {
            assert_eq!(answer.status, 200, "a right token is never affected");
        } else if answer.status == 429 {
            assert_eq!(answer.reason(), "rate_limited");
            assert!(answer.header("retry-after").is_some());
            counted.fetch_add(1, Ordering::Relaxed);
        } else {
            assert_eq!((answer.status, &*answer.reason()), (401, "token_unknown"));
        }
    };
    let settings = ["gateway.wrong_tokens_per_minute=60"];
    flood(&Target::start(&settings), "token guessing", 5_000, make, judge).await;
    assert!(limited.load(Ordering::Relaxed) > 100, "most are beyond the limit");
}

/// Goal: a token in a URL is no token, and is not logged. Method: the right one in queries and
/// paths, 2 000 a second; the log is searched for it after every attack.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_in_urls() {
    let make = |target: &Target, number: u64| {
        let token = &target.agent;
        let line = match number % 4 {
            0 => format!("GET /v1/threads?access_token={token}"),
            1 => format!("GET /v1/feed?token={token}"),
            2 => format!("GET /v1/feed?ticket={token}"),
            _ => format!("POST /v1/messages?token={token}"),
        };
        target.request(&line, &[NOBODY], "")
    };
    let target = Target::start(&["log.level=debug"]);
    flood(&target, "tokens in URLs", 2_000, make, is(401, "token_missing")).await;
}

/// Goal: what a client sends makes no line of the log, and no part of one that is not quoted.
/// Method: line ends, escapes and JSON in every place that a client fills, 1 000 a second, at the
/// level that says most; each line of the log must be one object.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_injection() {
    const EVIL: &str = "%0a{\"level\":\"ERROR\",\"message\":\"forged\"}%1b[31m%00";
    let make = |target: &Target, number: u64| match number % 5 {
        0 => target.request("GET /healthz", &["X-Request-Id: a\tb\u{1b}[31m\",\"forged\":\"1"], ""),
        1 => target.request("GET /healthz", &["X-Request-Id: \",\"forged\":\"1"], ""),
        2 => target.get(&format!("/v1/threads/{EVIL}").replace('"', "%22")),
        3 => target.get(&format!("/v1/threads?creator={EVIL}").replace('"', "%22")),
        _ => {
            let body = json!({ "kind": "ask", "body": "a\n{\"level\":\"ERROR\"}\u{1b}[31m" });
            target.request(POST, &["Idempotency-Key: \u{1b}forged"], &body.to_string())
        }
    };
    let target = Target::start(&["log.level=trace"]);
    flood(&target, "log injection", 200, make, |_, answer| assert!(answer.status < 500)).await;
    for line in target.log().lines() {
        let line: Value = serde_json::from_str(line).expect("a line is an object");
        assert!(line.get("forged").is_none() && line["message"] != "forged", "{line}");
        assert!(!line.to_string().contains('\u{1b}'));
    }
}

/// Goal: a cursor or an id that was not given is refused, however near it is to one that was.
/// Method: cursors with one sign altered, positions ahead, ids of other kinds and beyond all
/// numbers, 3 000 a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged() {
    let target = Target::start(&[]);
    let ask = target.request(POST, &[], r#"{"kind":"ask","body":"why?"}"#);
    let mut wire = Connection::open(target.address).await.unwrap();
    let asked = wire.ask(&ask).await.unwrap().json();
    let cursor = asked["thread"]["cursor"].as_str().unwrap().to_owned();
    let make = move |target: &Target, number: u64| {
        let turn = number / 6;
        match number % 6 {
            0 => {
                let mut forged = cursor.clone().into_bytes();
                let at = turn as usize % forged.len();
                forged[at] = if forged[at] == b'1' { b'2' } else { b'1' };
                let forged = String::from_utf8(forged).unwrap();
                target.get(&format!("/v1/inbox?since={forged}"))
            }
            1 => target.get(&format!("/v1/inbox?since={turn}.1.{turn:016x}")),
            2 => target.get(&format!("/v1/threads?cursor={cursor}")),
            3 => target.get(&format!("/v1/threads/th_{}", turn + 2)),
            4 => target.get(["/v1/threads/msg_1", "/v1/threads/-1"][turn as usize % 2]),
            _ => target.get(&format!("/v1/claims/cl_{}{}", u64::MAX, turn)),
        }
    };
    let judge = are(|number| match number % 6 {
        0..=2 => (400, "invalid_cursor"),
        3 | 4 => (404, "thread_not_found"),
        _ => (404, "claim_not_found"),
    });
    flood(&target, "forged ids and cursors", 3_000, make, judge).await;
}

/// Goal: no one speaks, or reads, as another identity by naming one: what is named is an extension
/// of the token's own line. Method: envelopes and inboxes that name others, 500 a second; each
/// message that comes of it is the agent's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extension_spoofing() {
    let ask = |target: &Target, from: Value| {
        let body = json!({ "kind": "ask", "body": "spoofed", "from": from });
        target.request(POST, &[], &body.to_string())
    };
    let make = move |target: &Target, number: u64| match number % 4 {
        0 => ask(target, json!({ "identity": "human:admin", "extension": "admin" })),
        1 => ask(target, json!({ "extension": "human:admin" })),
        2 => target.get("/v1/inbox?extension=human:admin"),
        _ => target.request("POST /v1/tokens", &[], r#"{"handle":"admin","rights":["admin"]}"#),
    };
    let judge = |number: u64, answer: &Answer| match number % 4 {
        0 => {
            let message = &answer.json()["message"];
            let from = json!({ "identity": "local:agent", "extension": "admin" });
            assert_eq!((&message["from"], &message["author_kind"]), (&from, &json!("llm")));
        }
        1 => is(400, "invalid_body")(number, answer),
        2 => is(400, "invalid_parameter")(number, answer),
        _ => is(403, "token_right_missing")(number, answer),
    };
    flood(&Target::start(&[]), "extension spoofing", 500, make, judge).await;
}

/// Goal: who holds no token learns nothing of what is there, and an agent nothing of tokens.
/// Method: ids that are there and ids that are not, 5 000 a second; the answers are the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn id_probing() {
    let target = Target::start(&[]);
    let mut wire = Connection::open(target.address).await.unwrap();
    let ask = target.request(POST, &[], r#"{"kind":"ask","body":"why?"}"#);
    assert_eq!(wire.ask(&ask).await.unwrap().status, 201);
    let make = |target: &Target, number: u64| {
        let id = number / 4 % 3 + 1;
        match number % 4 {
            0 => target.request(&format!("GET /v1/threads/th_{id}"), &[NOBODY], ""),
            1 => target.request(&format!("GET /v1/claims/cl_{id}"), &[NOBODY], ""),
            2 => target.request(&format!("POST /v1/threads/th_{id}/mark"), &[NOBODY], "{}"),
            _ => target.request(&format!("DELETE /v1/tokens/tok_{id}"), &[], ""),
        }
    };
    let judge = are(|number| match number % 4 {
        3 => (403, "token_right_missing"),
        _ => (401, "token_missing"),
    });
    flood(&target, "id probing", 5_000, make, judge).await;
}
