//! Tokens, right and wrong ones.

use parley::clock::Clock;
use parley_kit::http::{ADMIN, AGENT, HOST};
use parley_kit::{BlockingServer, Server};
use serde_json::json;

const WRONG: &str = "Authorization: Bearer ply_nobody";

/// Goal: a wrong token is refused also where none is needed, but on the paths that look at none.
/// Method: a row a path.
#[test]
fn a_wrong_token_everywhere() {
    let server = BlockingServer::start(&[]);
    for (path, status) in [
        ("/v1/manifest", 401),
        ("/v1/threads", 401),
        ("/metrics", 401),
        ("/healthz", 200),
        ("/readyz", 200),
        ("/", 200),
    ] {
        let answer = server.ask(&[&format!("GET {path} HTTP/1.1"), HOST, WRONG], "");
        assert_eq!(answer.status, status, "{path}");
    }
    for value in ["Basic abc", "Bearer", "Bearer ", "{agent}"] {
        let header = format!("Authorization: {value}");
        let answer = server.ask(&["GET /v1/threads HTTP/1.1", HOST, &header], "");
        answer.problem("token_missing", &header);
    }
    let twice = server.ask(&["GET /v1/threads HTTP/1.1", HOST, AGENT, AGENT], "");
    twice.problem("token_unknown", "two tokens");
    let lower = "authorization: bearer {agent}";
    assert_eq!(server.ask(&["GET /v1/threads HTTP/1.1", HOST, lower], "").status, 200);
}

/// Goal: who guesses tokens is slowed down, who has one is not. Method: more wrong tokens than the
/// bound from one address, then a right one from there.
#[test]
fn guessing_is_slowed() {
    let server = BlockingServer::start(&[("gateway.wrong_tokens_per_minute", "3")]);
    let guess = &["GET /v1/threads HTTP/1.1", HOST, WRONG];
    for _ in 0..3 {
        server.ask(guess, "").problem("token_unknown", "the first ones");
    }
    let answer = server.ask(guess, "");
    let problem = answer.refusal(429, "rate_limited");
    let wait = problem["retry_after_ms"].as_u64().expect("a time to wait");
    assert!((1..=60_000).contains(&wait), "{wait}");
    let seconds: u64 = answer.header("retry-after").expect("Retry-After").parse().expect("seconds");
    assert_eq!(seconds, wait.div_ceil(1_000));
    assert_eq!(server.ask(&["GET /v1/threads HTTP/1.1", HOST, AGENT], "").status, 200);
    let forwarded = "X-Forwarded-For: 10.1.1.1";
    let elsewhere = server.ask(&["GET /v1/threads HTTP/1.1", HOST, WRONG, forwarded], "");
    elsewhere.problem("rate_limited", "nobody trusts this peer");
}

/// Goal: behind a trusted proxy, addresses are told apart. Method: failures of one, then one of
/// another.
#[test]
fn a_trusted_proxy_names_addresses() {
    let server = BlockingServer::start(&[
        ("gateway.wrong_tokens_per_minute", "1"),
        ("trusted_proxies", "127.0.0.0/8"),
    ]);
    let guess = |from: &str| {
        let from = format!("X-Forwarded-For: 9.9.9.9, {from}");
        let answer = server.ask(&["GET /v1/threads HTTP/1.1", HOST, WRONG, &from], "");
        answer.json()["reason"].as_str().expect("a reason").to_owned()
    };
    assert_eq!(guess("10.1.1.1"), "token_unknown");
    assert_eq!(guess("10.1.1.1"), "rate_limited");
    // Two addresses may share a place in the table; not all of these do.
    let others = (2..10).map(|last| guess(&format!("10.1.1.{last}")));
    assert!(others.into_iter().any(|reason| reason == "token_unknown"));
}

/// Goal: tokens are made, listed page by page and revoked over HTTP; a revoked one is refused at
/// once. Method: the life of one.
#[test]
fn life_of_a_token() {
    let server = BlockingServer::start(&[]);
    let body = r#"{"handle":"ada","rights":["write","read"]}"#;
    let made = server.ask(&["POST /v1/tokens HTTP/1.1", HOST, ADMIN], body);
    assert_eq!(made.status, 201, "{}", made.text());
    let (token, secret) = (&made.json()["token"], made.json()["secret"].clone());
    assert_eq!(token["identity"], "local:ada");
    assert_eq!(token["rights"], serde_json::json!(["read", "write"]));
    let ada = format!("Authorization: Bearer {}", secret.as_str().expect("a secret"));
    assert_eq!(server.ask(&["GET /v1/threads HTTP/1.1", HOST, &ada], "").status, 200);
    let page = server.ask(&["GET /v1/tokens?limit=2 HTTP/1.1", HOST, ADMIN], "").json();
    assert_eq!((page["items"].as_array().map(Vec::len), &page["more"]), (Some(2), &true.into()));
    let cursor = page["cursor"].as_str().expect("a cursor");
    let next = format!("GET /v1/tokens?cursor={cursor} HTTP/1.1");
    let next = server.ask(&[&next, HOST, ADMIN], "").json();
    assert_eq!((&next["items"][0], &next["more"]), (token, &false.into()));
    let delete = format!("DELETE /v1/tokens/{} HTTP/1.1", token["id"].as_str().expect("an id"));
    let revoked = server.ask(&[&delete, HOST, ADMIN], "");
    assert_eq!((revoked.status, revoked.text()), (204, ""));
    server.ask(&["GET /v1/threads HTTP/1.1", HOST, &ada], "").problem("token_unknown", "revoked");
    server.ask(&[&delete, HOST, ADMIN], "").problem("not_found", "again");
}

/// Goal: a token revoked while its inbox read is held ends it with 401. Method: a held read, then
/// the revocation.
#[test]
fn revocation_ends_a_held_read() {
    let server = BlockingServer::start(&[]);
    let mut held = server.connect();
    held.send(server.request(&["GET /v1/inbox?wait_seconds=25 HTTP/1.1", HOST, AGENT], ""));
    let delete = ["DELETE /v1/tokens/tok_2 HTTP/1.1", HOST, ADMIN];
    assert_eq!(server.ask(&delete, "").status, 204);
    held.answer(false).problem("token_unknown", "revoked meanwhile");
}

/// Goal: a retry under a key gives the first outcome though a time in it has passed meanwhile, and
/// another call under the key is told what the first has made. Method: a claim that expires, again
/// after an hour, over HTTP and MCP; then another call, and a late first one.
#[tokio::test]
async fn late_retry() {
    let forum = Server::start(|_| {}).await;
    let mut ada = forum.writer("ada").await;
    let thread = ada.open("one").await;
    let now = Clock::now(&*forum.clock);
    let claim = json!({ "statement": "a", "valid_until": now.plus(60_000).to_string() });
    let path = format!("POST /v1/threads/{thread}/claims");
    let keyed = |key: &str| format!("content-type: application/json\r\nidempotency-key: {key}\r\n");
    let first = ada.ask(&path, &keyed("k"), claim.to_string()).await;
    assert_eq!(first.status, 201, "{first:?}");
    forum.clock.pass(3_600_000);
    let again = ada.ask(&path, &keyed("k"), claim.to_string()).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, Some("true")));
    let mut arguments = claim.clone();
    arguments["thread"] = thread.as_str().into();
    arguments["idempotency_key"] = "k".into();
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "assert_claim", "arguments": arguments },
    });
    let json = "content-type: application/json\r\n";
    let result = ada.ask("POST /mcp", json, call.to_string()).await.json();
    assert_eq!(result["result"]["isError"], false, "{result}");
    for headers in [json, &keyed("new")] {
        let late = ada.ask(&path, headers, claim.to_string()).await;
        assert_eq!(late.refused(), (400, "invalid_body".to_owned()));
        assert_eq!(late.json()["field"], "valid_until");
    }
    let other = json!({ "kind": "ask", "body": "another" }).to_string();
    let conflict = ada.ask("POST /v1/messages", &keyed("k"), other).await;
    assert_eq!(conflict.refused(), (409, "idempotency_conflict".to_owned()));
    assert_eq!(conflict.json()["thread"], thread);
    let made = first.json()["claim"]["id"].as_str().unwrap().to_owned();
    assert!(conflict.json()["detail"].as_str().unwrap().contains(&made), "{conflict:?}");
}
