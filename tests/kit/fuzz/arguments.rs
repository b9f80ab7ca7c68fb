//! The arguments of every operation, over HTTP and over MCP. The first byte chooses the operation;
//! the rest is the value in the path, the query and the body, apart by a byte that no text has.

use parley_protocol::arguments::{content_digest, read_http, read_mcp};
use parley_protocol::command::Call;
use parley_protocol::limits::Limits;
use parley_protocol::operation::Operation;

use super::{NOW, is_refusal};

/// What stands between the parts.
const BREAK: u8 = 0xff;

/// The body with one member more; it is an object.
fn with_member(body: &str, name: &str, value: &str) -> String {
    let Some((before, after)) = body.split_once('{') else {
        return format!("{{\"{name}\":\"{value}\"}}");
    };
    let comma = if after.trim_start().starts_with('}') { "" } else { "," };
    format!("{before}{{\"{name}\":\"{value}\"{comma}{after}")
}

/// The target.
pub fn run(bytes: &[u8]) {
    let limits = Limits::default();
    let Some((choice, rest)) = bytes.split_first() else { return };
    let operation = Operation::ALL[usize::from(*choice) % Operation::COUNT];
    let mut parts = rest.splitn(3, |byte| *byte == BREAK);
    let mut text = || std::str::from_utf8(parts.next().unwrap_or_default());
    let (Ok(value), Ok(query)) = (text(), text()) else { return };
    let body = parts.next().unwrap_or_default();
    let field = operation.spec().fields.iter().find(|field| field.is_in_path());
    let values: Vec<_> = field.iter().map(|field| (field.name, value)).collect();
    let over_http = read_http(operation, &values, query, Some(body), &limits, NOW);
    match &over_http {
        Ok(call) => {
            assert_eq!(Operation::of(call), operation);
            if let Call::Write(thread, command) = call {
                let again = content_digest(*thread, &command.clone());
                assert_eq!(content_digest(*thread, command), again);
            }
        }
        Err(refusal) => is_refusal(refusal),
    }
    let over_mcp = read_mcp(operation, body, &limits, NOW);
    match &over_mcp {
        Ok((call, _)) => assert_eq!(Operation::of(call), operation),
        Err(refusal) => is_refusal(refusal),
    }
    // What is taken as a body and a path is taken as one object of arguments.
    if let (Ok(call), true, true) = (&over_http, operation.has_body(), query.is_empty()) {
        if operation == Operation::PublishArtifact {
            return;
        }
        let body = std::str::from_utf8(body).expect("a body that was read");
        // An empty text may be absent over MCP.
        if body.contains("\"\"") {
            return;
        }
        let arguments = match field {
            Some(field) => with_member(body, field.name, value),
            None => body.to_owned(),
        };
        let read = read_mcp(operation, arguments.as_bytes(), &limits, NOW);
        assert_eq!(read.as_ref().map(|(call, _)| call), Ok(call), "{arguments}");
    }
}
