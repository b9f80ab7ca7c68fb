//! Requests as bytes and answers as outcomes, over HTTP and both protocol families of MCP.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::http::Answer;

/// The binding that a caller uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// `/v1/…`.
    Http,
    /// `/mcp` as of 2025-11-25.
    Legacy,
    /// `/mcp` as of 2026-07-28.
    Modern,
}

/// Encodes the requests of one token over one binding; the head of a post is encoded once.
#[derive(Debug, Clone)]
pub struct Caller {
    host: String,
    token: String,
    binding: Binding,
    post_head: Vec<u8>,
}

/// One call of an operation.
#[derive(Debug, Clone, Default)]
pub struct Operation {
    /// The name of the operation, which is also the name of the tool.
    pub tool: &'static str,
    /// Whether it reads (GET) or writes (POST).
    pub reads: bool,
    /// The path over HTTP, without a query.
    pub path: String,
    /// The members that HTTP puts into the path, as JSON members without braces.
    pub path_members: String,
    /// The members of the body, or of the query, as JSON members without braces.
    pub members: String,
    /// The query over HTTP, without the question mark.
    pub query: String,
    /// The idempotency key.
    pub key: Option<String>,
}

impl Operation {
    /// A write.
    pub fn write(tool: &'static str, path: String, place: String, members: String) -> Self {
        Self { tool, path, path_members: place, members, ..Self::default() }
    }

    /// A read; `query` holds names and values.
    pub fn read(tool: &'static str, path: String, place: String, query: &[(&str, &str)]) -> Self {
        let mut operation =
            Self { tool, reads: true, path, path_members: place, ..Self::default() };
        for (name, value) in query {
            let unquoted = *value == "true" || *value == "false" || value.parse::<u64>().is_ok();
            let quote = if unquoted { "" } else { "\"" };
            let comma = if operation.members.is_empty() { "" } else { "," };
            let ampersand = if operation.query.is_empty() { "" } else { "&" };
            let _ = write!(operation.members, "{comma}\"{name}\":{quote}{value}{quote}");
            let _ = write!(operation.query, "{ampersand}{name}={value}");
        }
        operation
    }

    /// A page of an inbox after the cursor `since`, or the first page if `since` is empty.
    pub fn inbox(extension: Option<&str>, limit: usize, anyone: bool, since: &str) -> Self {
        let (limit, anyone) = (limit.to_string(), anyone.to_string());
        let mut query = vec![("limit", limit.as_str()), ("anyone", anyone.as_str())];
        query.extend(extension.map(|extension| ("extension", extension)));
        if !since.is_empty() {
            query.push(("since", since));
        }
        Self::read("read_inbox", "/v1/inbox".into(), String::new(), &query)
    }

    /// A post; `members` are those of the envelope.
    pub fn message(members: String) -> Self {
        Self::write("post_message", "/v1/messages".to_owned(), String::new(), members)
    }
}

impl Caller {
    /// A caller at `host` (the authority of the URL).
    pub fn new(host: &str, token: &str, binding: Binding) -> Self {
        let mut caller =
            Self { host: host.to_owned(), token: token.to_owned(), binding, post_head: Vec::new() };
        let path = if binding == Binding::Http { "/v1/messages" } else { "/mcp" };
        let mut head = caller.head("POST", path);
        if binding != Binding::Http {
            head.push_str(caller.mcp_fields("post_message").as_str());
        }
        head.push_str("Content-Type: application/json\r\nContent-Length: ");
        caller.post_head = head.into_bytes();
        caller
    }

    /// The binding.
    pub fn binding(&self) -> Binding {
        self.binding
    }

    fn head(&self, method: &str, target: &str) -> String {
        let Self { host, token, .. } = self;
        format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n")
    }

    fn mcp_fields(&self, tool: &str) -> String {
        match self.binding {
            Binding::Http => String::new(),
            Binding::Legacy => "Accept: application/json, text/event-stream\r\n\
                 MCP-Protocol-Version: 2025-11-25\r\n"
                .to_owned(),
            Binding::Modern => format!(
                "Accept: application/json, text/event-stream\r\n\
                 MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
            ),
        }
    }

    /// Writes the post of an envelope (with braces), without allocations over HTTP.
    pub fn write_message(&self, out: &mut Vec<u8>, envelope: &[u8]) {
        out.clear();
        out.extend_from_slice(&self.post_head);
        if self.binding == Binding::Http {
            push_length(out, envelope.len());
            out.extend_from_slice(envelope);
            return;
        }
        let opening = rpc_opening("post_message");
        let closing = self.rpc_closing();
        push_length(out, opening.len() + envelope.len() + closing.len());
        out.extend_from_slice(opening.as_bytes());
        out.extend_from_slice(envelope);
        out.extend_from_slice(closing.as_bytes());
    }

    /// Writes an operation.
    pub fn write(&self, out: &mut Vec<u8>, operation: &Operation) {
        out.clear();
        if self.binding == Binding::Http {
            self.write_http(out, operation);
        } else {
            self.write_mcp(out, operation);
        }
    }

    fn write_http(&self, out: &mut Vec<u8>, operation: &Operation) {
        let target = if operation.query.is_empty() {
            Cow::Borrowed(operation.path.as_str())
        } else {
            Cow::Owned(format!("{}?{}", operation.path, operation.query))
        };
        let mut head = self.head(if operation.reads { "GET" } else { "POST" }, &target);
        if operation.reads {
            head.push_str("\r\n");
            out.extend_from_slice(head.as_bytes());
            return;
        }
        if let Some(key) = &operation.key {
            let _ = write!(head, "Idempotency-Key: {key}\r\n");
        }
        head.push_str("Content-Type: application/json\r\nContent-Length: ");
        out.extend_from_slice(head.as_bytes());
        push_length(out, operation.members.len() + 2);
        out.push(b'{');
        out.extend_from_slice(operation.members.as_bytes());
        out.push(b'}');
    }

    fn write_mcp(&self, out: &mut Vec<u8>, operation: &Operation) {
        let mut body = rpc_opening(operation.tool);
        body.push('{');
        let key = operation.key.as_ref().map(|key| format!("\"idempotency_key\":\"{key}\""));
        let parts =
            [operation.path_members.as_str(), &operation.members, key.as_deref().unwrap_or("")];
        let mut first = true;
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            if !first {
                body.push(',');
            }
            body.push_str(part);
            first = false;
        }
        body.push('}');
        body.push_str(self.rpc_closing());
        let mut head = self.head("POST", "/mcp");
        head.push_str(&self.mcp_fields(operation.tool));
        head.push_str("Content-Type: application/json\r\nContent-Length: ");
        out.extend_from_slice(head.as_bytes());
        push_length(out, body.len());
        out.extend_from_slice(body.as_bytes());
    }

    fn rpc_closing(&self) -> &'static str {
        match self.binding {
            Binding::Http | Binding::Legacy => "}}",
            Binding::Modern => {
                ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
                 \"io.modelcontextprotocol/clientCapabilities\":{},\
                 \"io.modelcontextprotocol/clientInfo\":\
                 {\"name\":\"parley-load\",\"version\":\"0\"}}}}"
            }
        }
    }
}

fn rpc_opening(tool: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\
         \"params\":{{\"name\":\"{tool}\",\"arguments\":"
    )
}

fn push_length(out: &mut Vec<u8>, length: usize) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = length;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n\r\n");
}

/// The outcome of a call.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// Success, with the JSON of the operation.
    Done(&'a [u8]),
    /// A refusal.
    Refused {
        /// The HTTP status, over MCP too.
        status: u16,
        /// The stable reason.
        reason: String,
        /// The sentence beside it.
        detail: String,
    },
    /// An answer outside the specification.
    Broken(String),
}

#[derive(Deserialize)]
struct Problem<'a> {
    status: u16,
    #[serde(borrow)]
    reason: Cow<'a, str>,
    #[serde(borrow, default)]
    detail: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Rpc<'a> {
    #[serde(borrow)]
    result: Option<ToolResult<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ToolResult<'a> {
    #[serde(borrow, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Vec<Block<'a>>,
    #[serde(rename = "isError", default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default)]
    text: Cow<'a, str>,
}

/// Classifies an answer.
pub fn outcome(binding: Binding, answer: Answer<'_>) -> Outcome<'_> {
    if binding == Binding::Http {
        return match answer.status {
            200..=299 => Outcome::Done(answer.body),
            _ => refusal(answer.body).unwrap_or_else(|| broken(answer)),
        };
    }
    let Ok(rpc) = serde_json::from_slice::<Rpc<'_>>(answer.body) else { return broken(answer) };
    let Some(result) = rpc.result else {
        return rpc.error.and_then(rpc_refusal).unwrap_or_else(|| broken(answer));
    };
    match (result.is_error, result.structured) {
        (false, Some(structured)) => Outcome::Done(structured.get().as_bytes()),
        (true, _) => result
            .content
            .first()
            .and_then(|block| refusal(block.text.as_bytes()))
            .unwrap_or_else(|| broken(answer)),
        (false, None) => broken(answer),
    }
}

fn refusal(body: &[u8]) -> Option<Outcome<'static>> {
    let problem: Problem<'_> = serde_json::from_slice(body).ok()?;
    Some(Outcome::Refused {
        status: problem.status,
        reason: problem.reason.into_owned(),
        detail: problem.detail.into_owned(),
    })
}

fn rpc_refusal(error: &RawValue) -> Option<Outcome<'static>> {
    #[derive(Deserialize)]
    struct Error<'a> {
        #[serde(borrow)]
        data: Option<&'a RawValue>,
    }
    let error: Error<'_> = serde_json::from_str(error.get()).ok()?;
    refusal(error.data?.get().as_bytes())
}

fn broken(answer: Answer<'_>) -> Outcome<'static> {
    let text = String::from_utf8_lossy(answer.body);
    let short: String = text.chars().take(300).collect();
    Outcome::Broken(format!("status {}: {short}", answer.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &[u8]) -> Answer<'_> {
        Answer { status, body }
    }

    /// Goal: each binding encodes the same operation. Method: parse the encoded requests.
    #[test]
    fn writes_each_binding() {
        let mut operation = Operation::write(
            "mark_thread",
            "/v1/threads/th_1/mark".into(),
            "\"thread\":\"th_1\"".into(),
            "\"state\":\"closed\"".into(),
        );
        operation.key = Some("k1".into());
        let mut out = Vec::new();
        Caller::new("h:1", "t", Binding::Http).write(&mut out, &operation);
        let text = String::from_utf8(out.clone()).unwrap();
        assert!(text.starts_with("POST /v1/threads/th_1/mark HTTP/1.1\r\nHost: h:1\r\n"), "{text}");
        assert!(text.ends_with("Content-Length: 18\r\n\r\n{\"state\":\"closed\"}"), "{text}");
        for binding in [Binding::Legacy, Binding::Modern] {
            Caller::new("h:1", "t", binding).write(&mut out, &operation);
            let text = String::from_utf8(out.clone()).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{text}");
            let rpc: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(rpc["params"]["name"], "mark_thread");
            assert_eq!(rpc["params"]["arguments"]["thread"], "th_1");
            assert_eq!(rpc["params"]["arguments"]["state"], "closed");
            assert_eq!(rpc["params"]["arguments"]["idempotency_key"], "k1");
            assert_eq!(rpc["params"]["_meta"].is_object(), binding == Binding::Modern);
        }
    }

    /// Goal: a refusal is read alike over HTTP and MCP. Method: the problem object in each form.
    #[test]
    fn reads_refusals() {
        let problem = br#"{"type":"x","status":409,"reason":"self_reply","detail":"no"}"#;
        let quoted = serde_json::to_string(std::str::from_utf8(problem).unwrap()).unwrap();
        let tool = format!(
            "{{\"result\":{{\"isError\":true,\
             \"content\":[{{\"type\":\"text\",\"text\":{quoted}}}]}}}}"
        );
        for (binding, status, body) in
            [(Binding::Http, 409, &problem[..]), (Binding::Legacy, 200, tool.as_bytes())]
        {
            let Outcome::Refused { status, reason, .. } = outcome(binding, answer(status, body))
            else {
                panic!("no refusal")
            };
            assert_eq!((status, reason.as_str()), (409, "self_reply"));
        }
    }
}
