//! `parley watch`: follows the feed (bindings.md §6). After a lost connection it resumes at the
//! last printed cursor, so that no frame is lost or repeated.

use std::io::Write as _;
use std::time::Duration;

use bytes::Bytes;
use clap::{ArgAction, Args};
use futures_util::StreamExt;
use hyper::{Method, header};
use hyper_util::rt::TokioIo;
use parley_protocol::feed::Scope;
use serde_json::Value;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::cli::client::{Client, with_query};
use crate::cli::error::{CliError, CliResult};
use crate::cli::server::ServerArgs;
use crate::cli::text::in_one_line;
use crate::cli::{output, render, request};

/// The WebSocket subprotocol of the feed.
const SUBPROTOCOL: &str = "parley.v1";
/// The close code of a revoked or expired token.
const CLOSE_TOKEN_UNKNOWN: u16 = 4001;
/// The heartbeat assumed until the server has named its own.
const HEARTBEAT_FIRST: Duration = Duration::from_secs(30);
/// The pause before the first reconnection; doubled with each attempt.
const PAUSE_MIN: Duration = Duration::from_millis(250);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// The largest frame accepted, in bytes; servers send far smaller ones.
const FRAME_BYTES_MAX: usize = 4 << 20;

const EXAMPLES: &str = "Examples:
  parley watch
  parley watch --extension worker-2 --anyone=false
  parley watch --scope threads --threads th_1,th_7
  parley watch --scope all --since CURSOR --json";

/// The arguments of `parley watch`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WatchArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// What to follow: your inbox, some threads, or all there is
    #[arg(long, value_name = "S", default_value = Scope::Inbox.as_str())]
    #[arg(value_parser = request::words(Scope::ALL.map(Scope::as_str)))]
    scope: String,
    /// Listen as this extension; else as the whole line
    #[arg(long, value_name = "E")]
    extension: Option<String>,
    /// The threads to follow, with --scope threads
    #[arg(long, value_name = "T,…", value_delimiter = ',')]
    threads: Vec<String>,
    /// Begin after this cursor instead of now
    #[arg(long, value_name = "C")]
    since: Option<String>,
    /// Whether questions to anyone are told
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, default_value_t = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    anyone: bool,
}

/// The end of one connection: why it broke, or was closed for now, so that a reconnection follows;
/// or the failure that a reconnection would meet again.
type WatchEnd = CliResult<String>;

/// Follows the feed until a signal ends it (exit 0) or the server refuses.
pub async fn run(options: WatchArgs) -> CliResult {
    let client = options.server.client()?;
    tokio::select! {
        outcome = follow(&client, &options) => outcome,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

async fn follow(client: &Client, options: &WatchArgs) -> CliResult {
    let mut cursor = options.since.clone();
    let mut pause = PAUSE_MIN;
    let mut was_connected = false;
    loop {
        let why = match connect(client, options, cursor.as_deref()).await {
            Ok(socket) => {
                was_connected = true;
                pause = PAUSE_MIN;
                listen(socket, options.server.json, &mut cursor).await?
            }
            // A 5xx refusal and a lost server pass; other refusals, and no server at first, do not.
            Err(CliError::Refused(problem)) if was_connected && problem.status >= 500 => {
                problem.detail
            }
            Err(CliError::Failed(line)) if was_connected => line,
            Err(failure) => return Err(failure),
        };
        // Standard output carries frames only.
        let why = in_one_line(&why);
        let _ = writeln!(std::io::stderr().lock(), "the feed broke off, connecting again: {why}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

type FeedSocket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

async fn connect(
    client: &Client,
    options: &WatchArgs,
    since: Option<&str>,
) -> CliResult<FeedSocket> {
    let is_threads = options.scope == Scope::Threads.as_str();
    let threads = (is_threads || !options.threads.is_empty()).then(|| options.threads.join(","));
    let parameters = [
        ("scope", Some(options.scope.clone())),
        ("extension", options.extension.clone()),
        ("threads", threads.filter(|threads| !threads.is_empty())),
        ("since", since.map(str::to_owned)),
        ("anyone", (!options.anyone).then(|| "false".to_owned())),
    ];
    let path = with_query("/v1/feed", &parameters);
    let key = generate_key();
    let headers = [
        (header::CONNECTION, "Upgrade"),
        (header::UPGRADE, "websocket"),
        (header::SEC_WEBSOCKET_VERSION, "13"),
        (header::SEC_WEBSOCKET_KEY, key.as_str()),
        (header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL),
    ];
    let response = client.open(Method::GET, &path, &headers, Bytes::new()).await?;
    let accepted = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
    if accepted.is_none_or(|accepted| accepted != &derive_accept_key(key.as_bytes())) {
        let line = format!("{} does not speak WebSocket; is it a Parley server?", client.url);
        return Err(CliError::failed(line));
    }
    let upgraded = hyper::upgrade::on(response).await.map_err(|error| {
        CliError::failed(format!("{} broke off: {error}; try again", client.url))
    })?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(FRAME_BYTES_MAX))
        .max_frame_size(Some(FRAME_BYTES_MAX));
    let socket = TokioIo::new(upgraded);
    Ok(WebSocketStream::from_raw_socket(socket, Role::Client, Some(config)).await)
}

/// Prints frames until the connection ends; `cursor` follows the last printed one.
async fn listen(mut socket: FeedSocket, json: bool, cursor: &mut Option<String>) -> WatchEnd {
    let mut silence_max = HEARTBEAT_FIRST * 2;
    loop {
        let Ok(next) = timeout(silence_max, socket.next()).await else {
            return Ok("nothing came for two heartbeats".to_owned());
        };
        match next {
            Some(Ok(Message::Text(text))) => {
                let frame: Value = serde_json::from_str(&text)
                    .map_err(|_| CliError::failed("the server sent a frame that is no JSON"))?;
                if let Some(seconds) = frame["heartbeat_seconds"].as_u64() {
                    silence_max = Duration::from_secs(seconds.saturating_mul(2).max(1));
                }
                let printed =
                    if json { output::json(&text) } else { output::text(&describe(&frame)) };
                printed?;
                if let Some(last) = frame["cursor"].as_str() {
                    *cursor = Some(last.to_owned());
                }
            }
            Some(Ok(Message::Close(close))) => return closed(close.as_ref()),
            // The library answers pings while it reads.
            Some(Ok(_)) => {}
            Some(Err(Error::Capacity(error))) => {
                return Err(CliError::failed(format!("the server sent too much: {error}")));
            }
            Some(Err(error)) => return Ok(error.to_string()),
            None => return Ok("the connection ended".to_owned()),
        }
    }
}

fn closed(close: Option<&CloseFrame>) -> WatchEnd {
    let Some(close) = close else { return Ok("the connection was closed".to_owned()) };
    let reason = in_one_line(&close.reason);
    if u16::from(close.code) == CLOSE_TOKEN_UNKNOWN {
        let line = format!("{reason}: the token was revoked or has expired; use another one");
        return Err(CliError::failed(line));
    }
    Ok(reason)
}

/// A frame as text for people.
fn describe(frame: &Value) -> String {
    let thread = &frame["thread"];
    let text = |pointer| render::text_at(frame, pointer);
    let line = |text: &str| format!("{}\n{text}", render::head(thread));
    match frame["type"].as_str().unwrap_or_default() {
        "hello" => {
            let participant = render::participant(&frame["participant"]);
            format!("Listening as {participant} ({}).\n", text("/scope"))
        }
        "message" => line(&render::message(&frame["message"], 1)),
        "event" => line(&format!("    {}", render::event(&frame["event"]))),
        "claim" => {
            let claim = &frame["claim"];
            format!("{}  {}", render::text_at(claim, "/thread"), render::claim(claim))
        }
        "awaiting" => {
            let message = render::message(&frame["message"], 1);
            format!("{}  waits for you\n{message}", text("/thread/id"))
        }
        "settled" => format!("{}  waits for you no more\n", text("/thread")),
        "caught_up" => "Caught up.\n".to_owned(),
        "notice" => format!("{}: {}\n", text("/reason"), text("/detail")),
        other => format!("({})\n", in_one_line(other)),
    }
}

#[cfg(test)]
mod tests;
