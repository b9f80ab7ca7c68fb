//! The text tables of what clients send: `envelope.txt`, `queries.txt` and `tools.txt`.

use parley_protocol::arguments::{read_http, read_mcp};
use parley_protocol::command::Call;
use parley_protocol::limits::Limits;
use parley_protocol::operation::Operation;
use parley_protocol::refusal::Refusal;
use parley_protocol::time::Millis;

use crate::notation;

const ENVELOPES: &str = include_str!("envelope.txt");
const QUERIES: &str = include_str!("queries.txt");
const TOOLS: &str = include_str!("tools.txt");
const NOW: Millis = Millis(1_796_068_800_000);

/// One row of the table.
struct Row<'t> {
    line: usize,
    operation: Operation,
    want: String,
    body: Vec<u8>,
    text: &'t str,
}

fn rows(table: &'static str) -> impl Iterator<Item = Row<'static>> {
    notation::rows(table).map(|(line, text)| {
        let mut columns = text.splitn(3, " | ");
        let mut column = || columns.next().unwrap_or_else(|| panic!("line {line}"));
        let operation = Operation::parse(column()).unwrap_or_else(|| panic!("line {line}"));
        let want = String::from_utf8(notation::bytes(column())).expect("UTF-8");
        Row { line, operation, want, body: notation::bytes(column()), text }
    })
}

fn outcome<T>(result: &Result<T, Refusal>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(refusal) => match refusal.field.as_deref() {
            None => refusal.reason.as_str().to_owned(),
            Some("") => format!("{} \"\"", refusal.reason.as_str()),
            Some(field) => format!("{} {field}", refusal.reason.as_str()),
        },
    }
}

/// The name and value of the field in the operation's path.
fn path(operation: Operation) -> Option<(&'static str, &'static str)> {
    let field = operation.spec().fields.iter().find(|field| field.is_in_path())?;
    Some((field.name, "1"))
}

/// The body with the path's field put into it, where it is an object to put it into.
fn arguments(row: &Row<'_>) -> Vec<u8> {
    let Some((name, value)) = path(row.operation) else { return row.body.clone() };
    match row.body.split_first() {
        Some((b'{', rest)) if rest == b"}" => format!("{{\"{name}\":{value}}}").into_bytes(),
        Some((b'{', rest)) => [format!("{{\"{name}\":{value},").as_bytes(), rest].concat(),
        _ => row.body.clone(),
    }
}

/// Goal: every rule of the envelope is kept, with its reason and the field at fault, whichever way
/// it comes. Method: each row of the table is read as an HTTP body and as MCP arguments.
#[test]
fn table() {
    let limits = Limits::default();
    let mut failures = Vec::new();
    let mut count = 0;
    for row in rows(ENVELOPES) {
        count += 1;
        let values = path(row.operation);
        let http = read_http(row.operation, values.as_slice(), "", Some(&row.body), &limits, NOW);
        let mcp = read_mcp(row.operation, &arguments(&row), &limits, NOW);
        // Where MCP takes more, its outcome stands behind a slash.
        let (over_http, over_mcp) = row.want.split_once(" / ").unwrap_or((&row.want, &row.want));
        for (way, got, want) in
            [("http", outcome(&http), over_http), ("mcp", outcome(&mcp), over_mcp)]
        {
            if got != want {
                failures.push(format!("line {}, {way}: got `{got}`: {}", row.line, row.text));
            }
        }
        let mcp: Result<Call, Refusal> = mcp.map(|(call, _)| call);
        if !row.want.contains(" / ") && http != mcp {
            failures.push(format!("line {}: {http:?} and {mcp:?}", row.line));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count >= 100, "the table has {count} rows");
}

/// Goal: a body of no bytes is `{}`. Method: none and an empty one beside the written one.
#[test]
fn no_body() {
    let limits = Limits::default();
    let read = |body: Option<&[u8]>| {
        let path = [("thread", "th_1")];
        read_http(Operation::ReopenThread, &path, "", body, &limits, NOW).expect("reads")
    };
    assert_eq!(read(None), read(Some(b"{}")));
    assert_eq!(read(Some(b"")), read(Some(b"{}")));
    let tool = |arguments: &[u8]| read_mcp(Operation::GetManifest, arguments, &limits, NOW);
    assert_eq!(tool(b""), tool(b"{}"));
}

/// Goal: queries and paths are judged as bindings.md §3 says. Method: each row of the table.
#[test]
fn queries() {
    let limits = Limits::default();
    for (line, text) in notation::rows(QUERIES) {
        let columns: Vec<&str> = text.split(" | ").collect();
        let [operation, id, query, want] = columns[..] else { panic!("line {line}") };
        let operation = Operation::parse(operation).unwrap_or_else(|| panic!("line {line}"));
        let values = path(operation).map(|(name, _)| (name, id));
        let query = if query == "-" { "" } else { query };
        let body = operation.has_body().then_some(&b"{\"state\":\"closed\"}"[..]);
        let got = read_http(operation, values.as_slice(), query, body, &limits, NOW);
        assert_eq!(outcome(&got), want, "line {line}: {text}");
    }
}

/// Goal: arguments of tools are judged as they would be over HTTP. Method: each row of the table.
#[test]
fn tools() {
    let limits = Limits::default();
    let mut failures = Vec::new();
    for row in rows(TOOLS) {
        let got = outcome(&read_mcp(row.operation, &row.body, &limits, NOW));
        if got != row.want {
            failures.push(format!("line {}: got `{got}`: {}", row.line, row.text));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
