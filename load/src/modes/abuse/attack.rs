//! The attacks, each at full rate: what one client, or one token, can send to stop the others.

use std::sync::Arc;

use anyhow::bail;

use super::content::{Content, decision};
use crate::socket::masked;

/// Composes the request of a number.
pub type Compose = Box<dyn Fn(u64) -> Vec<u8> + Send + Sync>;

/// One attack.
pub struct Attack {
    /// Its name on the command line.
    pub name: &'static str,
    /// Connections at a time.
    pub connections: usize,
    /// What each of them does.
    pub manner: Manner,
}

/// What a connection of an attack does.
pub enum Manner {
    /// Sends a request, reads the answer, and again.
    Flood(Compose),
    /// Sends requests and reads nothing.
    Unread(Compose),
    /// Sends these bytes and waits.
    Rest(Vec<u8>),
    /// Opens a feed, sends the frame again and again, and reads nothing.
    Frames {
        /// The request of the feed.
        upgrade: Vec<u8>,
        /// The frame.
        frame: Vec<u8>,
    },
}

/// The names of all attacks.
const NAMES: [&str; 15] = [
    "lists",
    "trees",
    "tools",
    "bodies",
    "strangers-bodies",
    "strangers",
    "publish",
    "closure-refused",
    "evidence",
    "closures",
    "subscribe",
    "pings",
    "held-inboxes",
    "unknown-keys",
    "wrong-tokens",
];

/// The attacks of these names; all without one.
pub fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static str>> {
    if names.is_empty() {
        return Ok(NAMES.to_vec());
    }
    let find = |name: &String| match NAMES.iter().find(|known| *known == name) {
        Some(known) => Ok(*known),
        None => bail!("no attack {name}: one of {}", NAMES.join(", ")),
    };
    names.iter().map(find).collect()
}

/// The attack of a name.
pub fn named(name: &'static str, content: &Arc<Content>) -> anyhow::Result<Attack> {
    let (connections, manner) = match name {
        "lists" | "trees" | "tools" => batches(name, content),
        "bodies" => (4_000, Manner::Rest(content.part_of_body(&content.bearer()))),
        "strangers-bodies" => (4_000, Manner::Rest(content.part_of_body(""))),
        "strangers" => (18_000, Manner::Rest(content.request("GET /healthz", "", ""))),
        "publish" | "closure-refused" | "evidence" | "unknown-keys" => {
            (16, Manner::Flood(writes(name, content)))
        }
        "closures" => (64, flood(content.get(&format!("artifacts/{}/closure", content.decision)))),
        "subscribe" | "pings" => frames(name, content),
        "held-inboxes" => (4_000, flood(content.get("inbox?wait_seconds=25&anyone=false"))),
        "wrong-tokens" => {
            let wrong = "Authorization: Bearer ply_nobody\r\n";
            (64, flood(content.request("POST /v1/messages", wrong, &"x".repeat(60_000))))
        }
        _ => bail!("no attack {name}"),
    };
    Ok(Attack { name, connections, manner })
}

fn flood(request: Vec<u8>) -> Manner {
    Manner::Flood(Box::new(move |_| request.clone()))
}

/// Batches of 50 calls over MCP: large pages, large trees, or, without a token and unread, the
/// list of tools.
fn batches(name: &str, content: &Content) -> (usize, Manner) {
    let tree = format!("{{\"thread\":\"th_{}\",\"format\":\"tree\"}}", content.thread);
    let call = |tool: &str, arguments: &str| {
        format!(
            "\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\
             \"arguments\":{arguments}}}"
        )
    };
    let call = match name {
        "lists" => call("list_artifacts", "{\"limit\":200}"),
        "trees" => call("read_thread", &tree),
        _ => "\"method\":\"tools/list\"".to_owned(),
    };
    let calls: Vec<String> =
        (0..50).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{call}}}")).collect();
    let headers = "Accept: application/json, text/event-stream\r\n\
                   MCP-Protocol-Version: 2025-03-26\r\n";
    let token = if name == "tools" { String::new() } else { content.bearer() };
    let batch = format!("[{}]", calls.join(","));
    let request = content.request("POST /mcp", &(token + headers), &batch);
    match name {
        "tools" => (1_000, Manner::Unread(Box::new(move |_| request.clone()))),
        _ => (16, flood(request)),
    }
}

/// Writes of one token: decisions over a large closure, decisions that are refused with a long
/// report, claims with all the evidence that a request can carry, acts under new keys.
fn writes(name: &'static str, content: &Arc<Content>) -> Compose {
    let content = Arc::clone(content);
    Box::new(move |number| {
        let key = format!("{}Idempotency-Key: {number:x}\r\n", content.bearer());
        match name {
            "publish" => {
                let body = decision(&format!("settled {number}"), &content.groups);
                content.request("POST /v1/artifacts", &content.bearer(), &body)
            }
            "closure-refused" => {
                let missing = |index| format!("sha256:{number:032x}{index:032x}");
                let missing: Vec<String> = (0..32_u64).map(missing).collect();
                let body = decision("refused", &missing);
                content.request("POST /v1/artifacts", &key, &body)
            }
            "evidence" => {
                // Characters of four bytes fill the request before they fill the references.
                let long = "\u{10348}".repeat(1_900);
                let evidence = format!("{{\"kind\":\"log\",\"ref\":\"{long}\"}}");
                let evidence = vec![evidence; 8].join(",");
                let body = format!("{{\"statement\":\"s {number}\",\"evidence\":[{evidence}]}}");
                let thread = content.threads[number as usize % content.threads.len()];
                let line = format!("POST /v1/threads/th_{thread}/claims");
                content.request(&line, &content.bearer(), &body)
            }
            _ => content.request("POST /v1/messages", &key, "{\"kind\":\"ask\",\"body\":\"why?\"}"),
        }
    })
}

/// Feeds that subscribe to 8 000 threads again and again, or ping, and read nothing.
fn frames(name: &str, content: &Content) -> (usize, Manner) {
    let (scope, frame) = if name == "pings" {
        ("all", masked(0x89, b"ping"))
    } else {
        let threads: Vec<String> = (1..=8_000).map(|it| format!("\"t{it}\"")).collect();
        let text = format!("{{\"type\":\"subscribe\",\"threads\":[{}]}}", threads.join(","));
        ("threads", masked(0x81, text.as_bytes()))
    };
    let thread =
        if name == "pings" { String::new() } else { format!("&threads=th_{}", content.thread) };
    let line = format!("GET /v1/feed?scope={scope}{thread}");
    let headers = format!(
        "{}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: cGFybGV5LWxvYWQtZmVlZA==\r\nSec-WebSocket-Protocol: parley.v1\r\n",
        content.bearer()
    );
    (8, Manner::Frames { upgrade: content.request(&line, &headers, ""), frame })
}

impl Content {
    fn bearer(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.token)
    }

    fn get(&self, path: &str) -> Vec<u8> {
        self.request(&format!("GET /v1/{path}"), &self.bearer(), "")
    }

    /// A request; `headers` end in line ends.
    fn request(&self, line: &str, headers: &str, body: &str) -> Vec<u8> {
        let Self { host, .. } = self;
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
        };
        format!("{line} HTTP/1.1\r\nHost: {host}\r\n{headers}{length}\r\n{body}").into_bytes()
    }

    /// A request whose body lacks its last byte.
    fn part_of_body(&self, token: &str) -> Vec<u8> {
        let mut request = self.request("POST /v1/messages", token, &"x".repeat(60_000));
        request.pop();
        request
    }
}
