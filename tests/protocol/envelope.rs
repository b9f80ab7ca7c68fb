//! The text table of what clients send: `envelope.txt`.

use parley_protocol::arguments::{read_http, read_mcp};
use parley_protocol::command::Call;
use parley_protocol::limits::Limits;
use parley_protocol::operation::{Operation, Place};
use parley_protocol::refusal::Refusal;
use parley_protocol::time::Millis;

const TABLE: &str = include_str!("envelope.txt");
const NOW: Millis = Millis(1_796_068_800_000);

/// One row of the table.
struct Row<'t> {
    line: usize,
    operation: Operation,
    want: String,
    body: Vec<u8>,
    text: &'t str,
}

fn rows() -> impl Iterator<Item = Row<'static>> {
    let lines = TABLE.lines().enumerate();
    let lines = lines.filter(|(_, text)| !text.is_empty() && !text.starts_with('#'));
    lines.map(|(line, text)| {
        let mut columns = text.splitn(3, " | ");
        let mut column = || columns.next().unwrap_or_else(|| panic!("line {}", line + 1));
        let operation = Operation::parse(column()).unwrap_or_else(|| panic!("line {}", line + 1));
        let want = String::from_utf8(expanded(column())).expect("UTF-8");
        Row { line: line + 1, operation, want, body: expanded(column()), text }
    })
}

/// Writes out `<text*times>` and `<xff>`.
fn expanded(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.extend_from_slice(before.as_bytes());
        let (inside, behind) = after.split_once('>').expect("closed");
        match inside.rsplit_once('*') {
            Some((piece, times)) => {
                out.extend(piece.repeat(times.parse().expect("a number")).into_bytes());
            }
            None => out.push(u8::from_str_radix(&inside[1..], 16).expect("a byte")),
        }
        rest = behind;
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

fn outcome<T>(result: &Result<T, Refusal>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(refusal) => match refusal.field.as_deref() {
            None => refusal.reason.word().to_owned(),
            Some("") => format!("{} \"\"", refusal.reason.word()),
            Some(field) => format!("{} {field}", refusal.reason.word()),
        },
    }
}

/// The name and value of the field in the operation's path.
fn path(operation: Operation) -> Option<(&'static str, &'static str)> {
    let field = operation.row().fields.iter().find(|field| field.place == Place::Path)?;
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
    for row in rows() {
        count += 1;
        let values = path(row.operation);
        let http = read_http(row.operation, values.as_slice(), "", Some(&row.body), &limits, NOW);
        let mcp = read_mcp(row.operation, &arguments(&row), &limits, NOW);
        for (way, got) in [("http", outcome(&http)), ("mcp", outcome(&mcp))] {
            if got != row.want {
                failures.push(format!("line {}, {way}: got `{got}`: {}", row.line, row.text));
            }
        }
        let mcp: Result<Call, Refusal> = mcp.map(|(call, _)| call);
        assert_eq!(http, mcp, "line {}: both ways read the same", row.line);
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
}
