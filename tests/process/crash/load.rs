//! Who speaks while the server is killed, and what each was told.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use parley_kit::Rng;
use parley_kit::artifact::claim;
use serde_json::{Value, json};

use super::client::{Answer, Client};

/// One call, and what came of it.
#[derive(Clone, Debug)]
pub struct Call {
    /// Whose token it came under.
    pub writer: usize,
    /// Where it went.
    pub path: String,
    pub body: Value,
    pub key: Option<String>,
    /// Whether it goes over MCP first; said again it goes over HTTP, with the same key.
    pub mcp: bool,
    /// `None` if the server went away before it answered.
    pub answer: Option<Answer>,
}

impl Call {
    /// The text that no other call has: a message's body, a mark's reason, what is claimed.
    pub fn text(&self) -> &str {
        let text = ["body", "reason", "statement"].iter().find_map(|name| self.body.get(name));
        let text = text.or_else(|| self.body["payload"].get("statement"));
        text.and_then(Value::as_str).expect("each call has a text of its own")
    }

    /// Whether it publishes an artifact.
    pub fn publishes(&self) -> bool {
        self.path == "/v1/artifacts"
    }

    /// Sends it over HTTP.
    pub fn send(&self, client: &mut Client) -> std::io::Result<Answer> {
        client.post(&self.path, self.key.as_deref(), &self.body)
    }

    /// Sends it for the first time.
    fn send_first(&self, client: &mut Client) -> std::io::Result<Answer> {
        let Some((tool, done)) = self.tool().filter(|_| self.mcp) else {
            return self.send(client);
        };
        let mut arguments = self.body.clone();
        if let Some(thread) = self.path.strip_prefix("/v1/threads/") {
            arguments["thread"] = thread.split('/').next().into();
        }
        if let Some(key) = &self.key {
            arguments["idempotency_key"] = key.as_str().into();
        }
        client.call(tool, &arguments, done)
    }

    /// The tool that does the same, and the status that HTTP gives success.
    fn tool(&self) -> Option<(&'static str, u16)> {
        match self.path.rsplit('/').next()? {
            "messages" => Some(("post_message", 201)),
            "mark" => Some(("mark_thread", 200)),
            "reopen" => Some(("reopen_thread", 200)),
            "claims" => Some(("assert_claim", 201)),
            _ => None,
        }
    }
}

/// The writers of one round.
pub struct Round<'a> {
    pub address: SocketAddr,
    /// The tokens, the administrator's first.
    pub tokens: &'a [String],
    pub seed: u64,
    /// Which round it is.
    pub turn: u64,
    /// The threads that are spoken in.
    pub threads: Mutex<Vec<u64>>,
    /// How many calls have been answered.
    pub answered: AtomicU64,
}

impl Round<'_> {
    /// Speaks as `writer` until the server is gone.
    pub fn speak(&self, writer: usize) -> Vec<Call> {
        let rng = Rng::new(self.seed ^ (self.turn << 32) ^ ((writer as u64) << 16));
        let mut calls = Vec::new();
        let Ok(mut client) = Client::connect(self.address, &self.tokens[writer]) else {
            return calls;
        };
        loop {
            let text = format!("seed {} round {} {writer}.{}", self.seed, self.turn, calls.len());
            let mut call = self.next(&rng, writer, text);
            call.answer = call.send_first(&mut client).ok();
            calls.push(call);
            let call = &calls[calls.len() - 1];
            let Some(answer) = &call.answer else { return calls };
            if let Some(thread) = answer.body["thread"]["number"].as_u64()
                && call.path == "/v1/messages"
                && call.body.get("thread").is_none()
            {
                self.threads().push(thread);
            }
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<u64>> {
        self.threads.lock().expect("no writer panics")
    }

    fn next(&self, rng: &Rng, writer: usize, text: String) -> Call {
        let known = {
            let threads = self.threads();
            let count = threads.len() as u64;
            (count > 0).then(|| threads[rng.below(count) as usize])
        };
        let (path, body) = match (known, rng.below(10)) {
            (None, _) | (Some(_), 0) => {
                ("/v1/messages".to_owned(), json!({ "kind": "ask", "body": text }))
            }
            // Only the administrator has authority everywhere.
            (Some(thread), 1) if writer == 0 => {
                let body = json!({ "state": "closed", "reason": text });
                (format!("/v1/threads/{thread}/mark"), body)
            }
            (Some(thread), 2..=4) if writer == 0 => {
                (format!("/v1/threads/{thread}/reopen"), json!({ "reason": text }))
            }
            (Some(thread), 5) => {
                (format!("/v1/threads/{thread}/claims"), json!({ "statement": text }))
            }
            (Some(_), 6) => ("/v1/artifacts".to_owned(), claim(&text)),
            (Some(thread), n) => {
                let kind = ["inform", "ask", "answer"][n as usize % 3];
                let body = json!({ "kind": kind, "thread": thread, "body": text });
                ("/v1/messages".to_owned(), body)
            }
        };
        let takes_key = path != "/v1/artifacts" && rng.below(2) == 0;
        let key = takes_key.then(|| text.replace(' ', "-"));
        Call { writer, path, body, key, mcp: rng.below(3) == 0, answer: None }
    }
}
