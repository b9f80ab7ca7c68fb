//! A connection that notices when the server is gone, and goes on living.

use std::io;
use std::net::SocketAddr;

use parley_kit::peer::Caller;
use serde_json::{Value, json};

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    /// Whether it is the first outcome of a known key again.
    pub replayed: bool,
    pub body: Value,
}

/// One connection.
pub struct Client(Caller);

impl Client {
    /// Connects.
    pub fn connect(address: SocketAddr, token: &str) -> io::Result<Self> {
        Caller::connect(address, token).map(Self)
    }

    /// Reads `path`.
    pub fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.ask(&format!("GET {path}"), "", "")
    }

    /// Sends `body` to `path`.
    pub fn post(&mut self, path: &str, key: Option<&str>, body: &Value) -> io::Result<Answer> {
        let key = key.map(|key| format!("Idempotency-Key: {key}\r\n")).unwrap_or_default();
        self.ask(&format!("POST {path}"), &key, &body.to_string())
    }

    /// Calls a tool over MCP; the answer is the one that HTTP would have given.
    pub fn call(&mut self, tool: &str, arguments: &Value, done: u16) -> io::Result<Answer> {
        let params = json!({ "name": tool, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers = "Accept: application/json, text/event-stream\r\n\
                       Content-Type: application/json\r\nMCP-Protocol-Version: 2025-11-25\r\n";
        let mut answer = self.ask("POST /mcp", headers, &body.to_string())?;
        let result = answer.body["result"].take();
        if result["isError"] == true {
            let text = result["content"][0]["text"].as_str().expect("a problem");
            answer.body = serde_json::from_str(text).expect("a problem of JSON");
            answer.status = answer.body["status"].as_u64().expect("a status") as u16;
        } else {
            (answer.body, answer.status) = (result["structuredContent"].clone(), done);
        }
        Ok(answer)
    }

    fn ask(&mut self, line: &str, headers: &str, body: &str) -> io::Result<Answer> {
        let answer = self.0.ask(line, headers, body)?;
        let replayed = answer.header("idempotent-replayed").is_some();
        Ok(Answer { status: answer.status, replayed, body: answer.json() })
    }
}
