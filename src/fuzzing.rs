//! Entry points for fuzzing (tests/fuzz): parsers of network input, of files and of cursors that
//! no public path reaches. Built with the feature `fuzzing` only; not an interface.

use std::io::Cursor;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue, Uri};
use parley_protocol::arguments;
use parley_protocol::command::Call;
use parley_protocol::limits::Limits;
use parley_protocol::operation::Profiles;
use parley_protocol::refusal::Result;
use parley_protocol::time::Millis;
use parley_protocol::wire::JsonBuffer;
use sha2::Digest;

use crate::config::{Config, Network};
use crate::gateway::accept;
use crate::gateway::authentication::{self, Bearer};
use crate::gateway::feed::FeedQuery;
use crate::gateway::host::HostRules;
use crate::gateway::mcp::dispatch::{self, Dispatch, McpTask, MessageStep};
use crate::gateway::mcp::error::RpcError;
use crate::gateway::mcp::headers::McpHeaders;
use crate::gateway::mcp::method::McpMethod;
use crate::gateway::mcp::resources::ResourceUri;
use crate::gateway::mcp::result;
use crate::gateway::mcp::rpc_id::RpcId;
use crate::gateway::mcp::tools::ToolCall;
use crate::gateway::request_id::RequestIds;
use crate::journal::cursor::CursorTags;
use crate::journal::log::chunk::{ChunkReader, ChunkWriter, checksum};
use crate::maintenance::backup::frames::{FrameReader, FrameWriter};
use crate::storage::error::StoreError;

/// Parses the query of a feed.
///
/// # Errors
/// 400 `invalid_parameter`.
pub fn feed_query(query: &str) -> Result<()> {
    FeedQuery::read(query).map(drop)
}

/// The values that the gateway reads from headers.
#[derive(Debug)]
pub struct ReadHeaders {
    /// The negotiated type among [`OFFERED`].
    pub negotiated: Result<&'static str>,
    /// Whether the type of the body is JSON.
    pub content_type: Result<()>,
    /// Whether an MCP result is sent as an event.
    pub is_event: bool,
    /// The token.
    pub token: Option<String>,
    /// The client's address, behind proxies of 127.0.0.0/8.
    pub address: IpAddr,
    /// The request id.
    pub request_id: HeaderValue,
    /// The origin, checked by a server on 127.0.0.1:7467.
    pub origin: Result<Option<HeaderValue>>,
}

/// The types that [`headers`] chooses from.
pub const OFFERED: [&str; 2] = ["application/json", "application/jsonl"];

/// Reads the headers of a request to `uri` as the gateway does.
pub fn headers(uri: &Uri, headers: &HeaderMap) -> ReadHeaders {
    let own = SocketAddr::from((Ipv4Addr::LOCALHOST, 7467));
    let proxies = [Network::parse("127.0.0.0/8")].map(|proxy| proxy.expect("a block"));
    let token = match authentication::bearer(headers) {
        Bearer::Token(token) => Some(token.to_owned()),
        Bearer::None | Bearer::Malformed => None,
    };
    ReadHeaders {
        negotiated: accept::negotiate(headers, &OFFERED),
        content_type: accept::check_content_type(headers, &["application/json"]),
        is_event: result::wants_event(headers),
        token,
        address: authentication::address(Ipv4Addr::LOCALHOST.into(), headers, &proxies),
        request_id: RequestIds::default().of(headers),
        origin: HostRules::new(own, &Config::default()).check(uri, headers),
    }
}

/// The outcome of one message of a body.
#[derive(Debug)]
pub enum MessageOutcome {
    /// It gets no answer.
    NoReply,
    /// It fails: status, code, and the answer.
    Failed(u16, i32, Vec<u8>),
    /// A request without arguments of an operation.
    Other,
    /// The parsed call of a tool, or of a resource's operation.
    Call(Box<Result<Call>>),
}

/// Parses a body: one message, or those of a batch.
pub fn parse_body(
    headers: &HeaderMap,
    body: &[u8],
    limits: &Limits,
    now: Millis,
) -> Vec<MessageOutcome> {
    let outcome = |step: &MessageStep<'_>| match step {
        MessageStep::NoReply => MessageOutcome::NoReply,
        MessageStep::Fail(id, failure) => failed(failure, id.as_ref()),
        MessageStep::Perform(task) => performed(task, limits, now),
    };
    match dispatch::dispatch(&McpHeaders::of(headers), body) {
        Dispatch::One(step) => vec![outcome(&step)],
        Dispatch::Batch(steps) => steps.iter().map(outcome).collect(),
    }
}

fn failed(failure: &RpcError, id: Option<&RpcId>) -> MessageOutcome {
    let mut out = JsonBuffer::new();
    failure.put(&mut out, id);
    MessageOutcome::Failed(failure.status, failure.code, out)
}

fn performed(task: &McpTask<'_>, limits: &Limits, now: Millis) -> MessageOutcome {
    let read = |operation, arguments: &str| {
        let read = arguments::read_mcp(operation, arguments.as_bytes(), limits, now);
        MessageOutcome::Call(Box::new(read.map(|(call, _)| call)))
    };
    match task.method {
        McpMethod::CallTool => match ToolCall::read(&task.params, Profiles::ALL) {
            Ok(call) => read(call.operation, call.arguments),
            Err(failure) => failed(&failure, Some(&task.id)),
        },
        McpMethod::ReadResource => {
            let uri = task.params.text("uri").unwrap_or_default();
            match ResourceUri::parse(&uri) {
                Some(address) => {
                    let (operation, arguments) = address.call();
                    read(operation, &arguments)
                }
                None => MessageOutcome::Other,
            }
        }
        _ => MessageOutcome::Other,
    }
}

/// A row of the log: the number before its first entry, and its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// The number of the entry before the first.
    pub previous: u64,
    /// The entries, each with its number.
    pub entries: Vec<(u64, Vec<u8>)>,
    /// Whether the row is undamaged.
    pub is_whole: bool,
}

/// Reads the row `value` under `key`; `None` if its checksum is wrong.
pub fn read_log_row(key: u64, value: &[u8]) -> Option<LogRow> {
    let mut reader = ChunkReader::new(key, value)?;
    let mut row = LogRow { previous: 0, entries: Vec::new(), is_whole: false };
    for raw in reader.by_ref() {
        if row.entries.is_empty() {
            row.previous = raw.previous;
        }
        row.entries.push((raw.number, raw.bytes.to_vec()));
    }
    row.is_whole = reader.is_whole();
    Some(row)
}

/// A row of `bytes` after their checksum.
pub fn seal_log_row(key: u64, bytes: &[u8]) -> Vec<u8> {
    [&checksum(key, bytes).to_le_bytes(), bytes].concat()
}

/// Writes the row; returns its key and value.
pub fn write_log_row(row: &LogRow) -> (u64, Vec<u8>) {
    let first = row.entries.first().map_or(0, |(number, _)| *number);
    let mut writer = ChunkWriter::new(row.previous, first, Vec::new());
    for (number, bytes) in &row.entries {
        writer.push(*number, |mut row| {
            row.extend_from_slice(bytes);
            row
        });
    }
    writer.finish()
}

/// The position and era of a cursor; `None` if it is invalid under this key.
pub fn read_cursor(key: [u8; 16], text: &str) -> Option<[u64; 2]> {
    CursorTags::new(key).read(None, text)
}

/// The text of a cursor with these numbers.
pub fn write_cursor(key: [u8; 16], numbers: [u64; 2]) -> String {
    CursorTags::new(key).write(None, &numbers)
}

/// The place, position and era of a list's cursor; `None` if it is invalid under this key.
pub fn read_list_cursor(key: [u8; 16], kind: &str, text: &str) -> Option<[u64; 3]> {
    CursorTags::new(key).read(Some(kind), text)
}

/// The text of the cursor of a list with these numbers.
pub fn write_list_cursor(key: [u8; 16], kind: &str, numbers: [u64; 3]) -> String {
    CursorTags::new(key).write(Some(kind), &numbers)
}

/// A row of a copy: its section, its key and its value.
pub type CopyRow = (String, Vec<u8>, Vec<u8>);

/// All rows of a backup copy.
///
/// # Errors
/// The copy is damaged, as `restore` reports it.
pub fn read_copy(bytes: &[u8]) -> Result<Vec<CopyRow>, StoreError> {
    let mut reader = FrameReader::of("copy".to_owned(), Box::new(Cursor::new(bytes.to_vec())))?;
    let mut rows = Vec::new();
    while let Some(section) = reader.section()?.map(str::to_owned) {
        while let Some((key, value)) = reader.row_of(&section)? {
            rows.push((section.clone(), key, value));
        }
    }
    Ok(rows)
}

/// A copy of `frames` with their digest.
pub fn seal_copy(frames: &[u8]) -> Vec<u8> {
    let mut writer = FrameWriter::default();
    let mut bytes = writer.begin();
    writer.0.update(frames);
    bytes.extend_from_slice(frames);
    bytes.extend(writer.end());
    bytes
}

/// The copy of these rows.
pub fn write_copy(rows: &[CopyRow]) -> Vec<u8> {
    let mut writer = FrameWriter::default();
    let mut bytes = writer.begin();
    for rows in rows.chunk_by(|one, other| one.0 == other.0) {
        let mut next = rows.iter();
        let mut next = || Ok(next.next().map(|(_, key, value)| (key, value.clone())));
        while let Ok(Some(frame)) = writer.rows(&rows[0].0, &mut next) {
            bytes.extend(frame);
        }
    }
    bytes.extend(writer.end());
    bytes
}
