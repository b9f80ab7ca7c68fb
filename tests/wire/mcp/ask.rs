//! Asking over MCP, and what every answer must be.

use parley_kit::{Answer, BlockingServer};
use serde_json::{Value, json};

use super::schema::{Revision, Schemas};

pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The modern revision.
pub const MODERN: &str = "2026-07-28";

/// The methods that list something.
pub const LISTS: [&str; 4] =
    ["tools/list", "resources/list", "resources/templates/list", "prompts/list"];

/// The bytes of a post of `body` with these headers beside those that each has.
pub fn bytes(server: &BlockingServer, headers: &[&str], body: &str) -> String {
    let each = ["POST /mcp HTTP/1.1", "Host: {own}", "Content-Type: application/json"];
    server.request(&[&each, headers].concat(), body)
}

/// A bearer token as a header.
pub fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

/// Posts `body` with these headers.
pub fn post(server: &BlockingServer, headers: &[&str], body: &str) -> Answer {
    let mut peer = server.connect();
    peer.send(bytes(server, headers, body));
    peer.answer(false)
}

/// A request of id 1.
pub fn request(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

/// Parameters with what a modern request says of itself.
pub fn with_meta(params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({ VERSION: MODERN, CAPABILITIES: {} });
    params
}

/// What the text of a tool's result says.
pub fn text_said(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().expect("a text");
    serde_json::from_str(text).expect("JSON as text")
}

/// One client: its era and its token.
#[derive(Clone, Copy)]
pub struct Client<'s> {
    /// Whom it asks.
    pub server: &'s BlockingServer,
    /// With what; none if empty.
    pub token: &'s str,
    /// The revision it speaks.
    pub revision: Revision,
}

impl<'s> Client<'s> {
    /// A client of the latest legacy revision.
    pub fn legacy(server: &'s BlockingServer, token: &'s str) -> Self {
        Self { server, token, revision: Revision::November2025 }
    }

    /// A modern client.
    pub fn modern(server: &'s BlockingServer, token: &'s str) -> Self {
        Self { server, token, revision: Revision::July2026 }
    }

    /// Posts a well-formed request, as its era wants it.
    pub fn post(&self, method: &str, params: &Value) -> Answer {
        let mut headers = vec![format!("MCP-Protocol-Version: {}", self.revision.as_str())];
        headers.extend((!self.token.is_empty()).then(|| bearer(self.token)));
        let mut params = params.clone();
        if self.revision == Revision::July2026 {
            headers.push(format!("Mcp-Method: {method}"));
            let named = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str);
            headers.extend(named.map(|name| format!("Mcp-Name: {name}")));
            params = with_meta(&params);
        }
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        post(self.server, &headers, &request(method, &params))
    }

    /// Asks what must be answered with a result, which is checked against the schemas.
    pub fn result(&self, method: &str, params: &Value) -> Value {
        let answer = self.post(method, params);
        let message = answer.json();
        assert_eq!(answer.status, 200, "{method}: {message}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        Schemas::check_result(self.revision, method, &message);
        let modern = self.revision == Revision::July2026;
        assert_eq!(message["result"]["_meta"][SERVER_INFO].is_object(), modern, "{method}");
        assert_eq!(message["result"]["resultType"] == "complete", modern, "{method}");
        message["result"].clone()
    }

    /// Asks what must fail with this status and code, checked against the schemas; gives the error.
    pub fn fails(&self, method: &str, params: &Value, status: u16, code: i64) -> Value {
        let answer = self.post(method, params);
        let message = answer.json();
        assert_eq!(answer.header("content-type"), Some("application/json"), "{method}");
        Schemas::check_error(self.revision, &message);
        assert_eq!(message["id"], 1, "{method}: {message}");
        let got = (answer.status, message["error"]["code"].as_i64());
        assert_eq!(got, (status, Some(code)), "{method} {params}");
        message["error"].clone()
    }

    /// Calls a tool: whether it refused, and what its text says.
    pub fn call(&self, name: &str, arguments: &Value) -> (bool, Value) {
        let result = self.result("tools/call", &json!({ "name": name, "arguments": arguments }));
        let content = result["content"].as_array().expect("content");
        assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")));
        let said = text_said(&result);
        let refused = result["isError"] == true;
        // A text and an object that say the same, or a text alone.
        let structured = result.get("structuredContent");
        assert_eq!(structured, (!refused).then_some(&said), "{name}");
        (refused, said)
    }

    /// Calls a tool that must succeed.
    pub fn good(&self, name: &str, arguments: &Value) -> Value {
        let (refused, said) = self.call(name, arguments);
        assert!(!refused, "{name} {arguments}: {said}");
        said
    }
}
