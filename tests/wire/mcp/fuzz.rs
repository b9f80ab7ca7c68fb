//! Malformed bodies and headers: JSON-RPC errors with the statuses of mcp.md, never a 5xx, never
//! text.

use parley_kit::{BlockingServer, Peer, Rng, number};
use serde_json::{Value, json};

use super::ask::{bearer, request, with_meta};

/// How many requests; `PARLEY_FUZZ` says otherwise.
const REQUESTS: u64 = 5_000;

/// Well-formed requests, to be spoilt. None of them waits or streams.
fn bodies() -> Vec<String> {
    let none = json!({});
    let call = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let ask = json!({ "kind": "ask", "body": "Well?", "from": { "extension": "a" } });
    let mut bodies = Vec::new();
    for (method, params) in [
        ("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {} })),
        ("ping", none.clone()),
        ("server/discover", none.clone()),
        ("tools/list", none.clone()),
        ("prompts/get", json!({ "name": "join" })),
        ("resources/read", json!({ "uri": "parley://threads/th_1" })),
        ("logging/setLevel", json!({ "level": "debug" })),
        ("tools/call", call("get_manifest", none.clone())),
        ("tools/call", call("post_message", ask)),
        ("tools/call", call("list_threads", json!({ "limit": 2, "state": "open" }))),
        ("tools/call", call("read_thread", json!({ "thread": "th_1", "format": "flat" }))),
        ("tools/call", call("publish_artifact", json!({ "artifact": { "payload": {} } }))),
        ("tools/call", call("attest_claim", json!({ "claim": 1, "evidence": [{}] }))),
    ] {
        bodies.push(request(method, &params));
        bodies.push(request(method, &with_meta(&params)));
    }
    bodies.push(format!("[{},{}]", bodies[0], bodies[4]));
    bodies.push(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    bodies
}

/// What is put in at random places, apart by spaces.
const PIECES: &str = "{ } [ ] \" , : null true 1e9 -0 1.5 \\ud800 \\u0000 \u{feff} \
                      99999999999999999999 {} [] \"id\":1, \"_meta\":{}, \u{e4} NaN";

fn spoil(rng: &Rng, body: &str) -> String {
    let pieces: Vec<&str> = PIECES.split(' ').collect();
    let mut characters: Vec<char> = body.chars().collect();
    for _ in 0..=rng.below(3) {
        let at = rng.index(characters.len().max(1));
        let end = (at + rng.index(12)).min(characters.len());
        let piece: Vec<char> = rng.pick(&pieces).chars().collect();
        match rng.below(6) {
            0 => drop(characters.splice(at..end, piece)),
            1 => drop(characters.splice(at..at, piece)),
            2 => drop(characters.drain(at..end)),
            3 => characters.truncate(at),
            4 => {
                let part = characters[at.min(end)..end].to_vec();
                drop(characters.splice(at..at, part));
            }
            _ => {
                let depth = 1 << rng.below(10);
                drop(characters.splice(at..at, std::iter::repeat_n('[', depth)));
            }
        }
    }
    characters.into_iter().collect()
}

const HEADERS: [(&str, &[&str]); 8] = [
    ("MCP-Protocol-Version", &["2026-07-28", "2025-11-25", "2025-03-26", "2030-01-01", "x", ""]),
    ("Mcp-Method", &["tools/call", "tools/list", "ping", "=?base64?cGluZw==?=", ""]),
    ("Mcp-Name", &["post_message", "=?base64?!?=", "=?base64?cG9zdF9tZXNzYWdl?=", "\u{e4}"]),
    ("Accept", &["text/event-stream", "text/html", "application/json;q=0", ",", ";"]),
    ("Content-Type", &["application/json", "text/plain", "application/json; charset=utf-8", ""]),
    ("Authorization", &["Bearer x", "Basic eDp4", "Bearer", ""]),
    ("Origin", &["null", "http://localhost", "nonsense"]),
    ("Mcp-Session-Id", &["x"]),
];

fn headers(rng: &Rng, agent: &str) -> Vec<String> {
    let mut lines = vec!["POST /mcp HTTP/1.1".to_owned(), "Host: {own}".to_owned()];
    if rng.below(3) > 0 {
        lines.push(agent.to_owned());
    }
    for (name, values) in &HEADERS[..] {
        // A right token is not spoilt often, or nothing else would be looked at.
        let often = if matches!(*name, "Authorization" | "Origin") { 24 } else { 4 };
        if rng.below(often) == 0 {
            lines.push(format!("{name}: {}", rng.pick(values)));
        }
    }
    lines
}

/// Holds one message to what an answer may be, and its status.
fn judge(status: u16, message: &Value) -> Result<(), &'static str> {
    if message["jsonrpc"] != "2.0" {
        return Err("no JSON-RPC");
    }
    let Some(error) = message.get("error") else {
        return if status == 200 && message["result"].is_object() && message.get("id").is_some() {
            Ok(())
        } else {
            Err("neither result nor error")
        };
    };
    let fits = match error["code"].as_i64() {
        Some(-32_700) => status == 400 && message.get("id").is_none(),
        Some(-32_600 | -32_020 | -32_022) => status == 400,
        Some(-32_601) => matches!(status, 200 | 404),
        Some(-32_602) => matches!(status, 200 | 400),
        Some(-32_002) => status == 200,
        Some(code) => {
            code == i64::from(status)
                && matches!(status, 400 | 401 | 403 | 413 | 415 | 429)
                && error["data"]["status"] == status
        }
        None => false,
    };
    if fits && error["message"].is_string() { Ok(()) } else { Err("code and status") }
}

/// Goal: whatever comes in, what goes out is JSON-RPC with the right status. Method: requests
/// spoilt at random places under headers drawn at random, from a seed that is printed.
#[test]
fn malformed() {
    let server = BlockingServer::start(&[
        ("limits.writes_per_minute", "0"),
        ("gateway.wrong_tokens_per_minute", "1000000"),
    ]);
    let seed = number("PARLEY_SEED", 20_261_129);
    let count = number("PARLEY_FUZZ", REQUESTS);
    eprintln!("seed {seed}, {count} requests");
    let (rng, bodies) = (Rng::new(seed), bodies());
    let agent = bearer(&server.agent);
    let mut peer = server.connect();
    for turn in 0..count {
        let whole = rng.pick(&bodies);
        let body = if rng.below(8) == 0 { whole } else { spoil(&rng, &whole) };
        let lines = headers(&rng, &agent);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let bytes = server.request(&lines, &body);
        peer.send(&bytes);
        let answer = peer.answer(false);
        let fail = |what: &str| -> ! { panic!("{turn}: {what}\n{bytes}\n{answer:?}") };
        let message = match (answer.status, answer.header("content-type")) {
            (202, None) if answer.body.is_empty() => continue,
            (_, Some("application/json")) => answer.json(),
            (200, Some("text/event-stream")) => {
                let data = answer.text().strip_prefix("event: message\ndata: ");
                let message = data.and_then(|data| serde_json::from_str(data.trim_end()).ok());
                message.unwrap_or_else(|| fail("no event"))
            }
            _ => fail("no JSON"),
        };
        let judged = match &message {
            // In a batch each answer is judged as if it stood alone.
            Value::Array(answers) if answer.status == 200 => answers.iter().try_for_each(|one| {
                let fits = [400, 401, 200, 404].iter().any(|status| judge(*status, one).is_ok());
                if fits { Ok(()) } else { Err("an entry") }
            }),
            one => judge(answer.status, one),
        };
        if let Err(what) = judged {
            fail(what);
        }
        if answer.header("connection") == Some("close") {
            peer = Peer::connect(server.address);
        }
    }
}
