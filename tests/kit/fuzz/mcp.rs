//! What is posted to `/mcp`: headers that say which revision and which method, then a body. The
//! first three bytes choose the headers.

use axum::http::{HeaderMap, HeaderValue};
use parley::fuzzing::{MessageOutcome, parse_body};
use parley_protocol::json::{self, JsonFaultKind, NESTING_CEILING};
use parley_protocol::limits::Limits;
use serde_json::Value;

use super::{NOW, Taps, is_refusal};

const VERSIONS: [&str; 6] =
    ["", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "2026-07-29"];
const METHODS: [&str; 6] =
    ["", "tools/call", "resources/read", "prompts/get", "server/discover", "tools/list"];
const NAMES: [&str; 5] =
    ["", "post_message", "=?base64?cG9zdF9tZXNzYWdl?=", "parley://manifest", "=?base64?=?="];

/// Holds an error to what one may be.
fn is_error(status: u16, code: i32, answer: &[u8]) {
    let answer: Value = serde_json::from_slice(answer).expect("JSON");
    assert_eq!(answer["jsonrpc"], "2.0");
    assert_eq!(answer["error"]["code"], code);
    assert!(answer["error"]["message"].is_string());
    let id = answer.get("id");
    // The other reader takes `-0` for a float; it is the integer 0.
    let is_zero = |id: &Value| id.as_f64() == Some(0.0);
    assert!(id.is_none_or(|id| id.is_string() || id.is_i64() || is_zero(id)), "{answer}");
    let fits = match code {
        -32_700 => status == 400 && id.is_none(),
        -32_600 | -32_020 | -32_022 => status == 400,
        -32_601 => matches!(status, 200 | 404),
        -32_602 => matches!(status, 200 | 400),
        _ => false,
    };
    assert!(fits, "{status} {answer}");
}

/// The target.
pub fn run(bytes: &[u8]) {
    let mut taps = Taps(bytes);
    let mut headers = HeaderMap::new();
    let mut put = |name: &'static str, value: &'static str| {
        if !value.is_empty() {
            headers.insert(name, HeaderValue::from_static(value));
        }
    };
    put("mcp-protocol-version", VERSIONS[taps.below(VERSIONS.len())]);
    put("mcp-method", METHODS[taps.below(METHODS.len())]);
    put("mcp-name", NAMES[taps.below(NAMES.len())]);
    let body = taps.0;
    let all = parse_body(&headers, body, &Limits::default(), NOW);
    assert!((1..=50).contains(&all.len()));
    for one in &all {
        match one {
            MessageOutcome::NoReply | MessageOutcome::Other => {}
            MessageOutcome::Failed(status, code, answer) => is_error(*status, *code, answer),
            MessageOutcome::Call(read) => {
                if let Err(refusal) = &**read {
                    is_refusal(refusal);
                }
            }
        }
    }
    // What is JSON is never said to be none, and the other way round.
    let is_broken = matches!(all[..], [MessageOutcome::Failed(_, -32_700, _)]);
    match json::parse_keeping_surrogates(body, NESTING_CEILING) {
        Ok(_) => assert!(!is_broken),
        Err(fault)
            if fault.kind == JsonFaultKind::TooDeep || fault.kind == JsonFaultKind::Duplicate => {}
        Err(_) => assert!(is_broken, "{all:?}"),
    }
}
