//! `parley token`: manages tokens, on a running server or in the data directory of a stopped one.

use std::fmt::Write as _;
use std::sync::Arc;

use clap::{ArgGroup, Args, Subcommand};
use parley_protocol::identity::Right;
use parley_protocol::ids::TokenId;
use parley_protocol::time::{MILLIS_MAX, Millis};
use parley_protocol::wire::{self, JsonBuffer, ListWriter};
use serde_json::{Value, json};

use crate::cli::client::encode;
use crate::cli::error::{CliError, CliResult};
use crate::cli::target::{Target, TargetArgs};
use crate::cli::text::in_one_line;
use crate::cli::{block_on, output, render, request};
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::storage::disk::FolderDisk;
use crate::tokens::{NewToken, Tokens};

const EXAMPLES: &str = "Examples:
  parley token create --handle ada --rights read,write --expires 30d
  parley token create --handle night --rights read,write,lock --label 'Night shift'
  parley token create --human grace --rights admin
  parley token list
  parley token revoke tok_3";

/// The arguments of `parley token`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token; its secret alone goes to standard output, this once.
    Create(CreateTokenArgs),
    /// List all tokens ever made.
    List(TargetArgs),
    /// Revoke a token, at once.
    Revoke(RevokeTokenArgs),
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("who").args(["handle", "human"]).required(true))]
struct CreateTokenArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// A model's handle
    #[arg(long, value_name = "HANDLE")]
    handle: Option<String>,
    /// A human's name; holds read, write, lock and verify by being human
    #[arg(long, value_name = "NAME")]
    human: Option<String>,
    #[arg(long, value_name = "RIGHT,…", value_delimiter = ',')]
    #[arg(help = format!("What it may: {}", Right::ALL.map(Right::as_str).join(", ")))]
    rights: Vec<String>,
    /// How a model that holds lock is shown where it confirms
    #[arg(long, value_name = "L")]
    label: Option<String>,
    /// When it expires: 30d, 12h, or RFC 3339
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
}

#[derive(Debug, Args)]
struct RevokeTokenArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// The token's identifier, as `token list` shows it
    #[arg(value_name = "ID")]
    id: String,
}

/// Runs the subcommand.
pub fn run(options: TokenArgs) -> CliResult {
    match options.command {
        TokenCommand::Create(options) => create(options),
        TokenCommand::List(target) => {
            let list = match target.resolve()? {
                Target::Server(client) => block_on(client.list("/v1/tokens", &[]))?,
                Target::Folder(disk, config) => list_offline(&offline(disk, &config)?)?,
            };
            if target.json {
                return output::json(&list.to_string());
            }
            output::text(&table(&list))
        }
        TokenCommand::Revoke(RevokeTokenArgs { target, id }) => {
            match target.resolve()? {
                Target::Server(client) => {
                    let path = format!("/v1/tokens/{}", encode(&id));
                    block_on(client.delete(&path))?;
                }
                Target::Folder(disk, config) => revoke_offline(&offline(disk, &config)?, &id)?,
            }
            if target.json {
                return output::json(&json!({ "revoked": id }).to_string());
            }
            output::text(&format!("{} holds no more.\n", in_one_line(&id)))
        }
    }
}

fn create(options: CreateTokenArgs) -> CliResult {
    let now = SystemClock.now();
    let expires = options.expires.as_deref().map(|text| expiry(text, now)).transpose()?;
    let request = request::object([
        ("handle", options.handle.map(Value::from)),
        ("human", options.human.map(Value::from)),
        ("rights", (!options.rights.is_empty()).then(|| options.rights.into())),
        ("label", options.label.map(Value::from)),
        ("expires_at", expires.map(|at| at.to_string().into())),
    ]);
    let created = match options.target.resolve()? {
        Target::Server(client) => {
            block_on(client.post("/v1/tokens", &request, request::NO_EXTRA))?.text
        }
        Target::Folder(disk, config) => create_offline(&offline(disk, &config)?, &request)?,
    };
    if options.target.json {
        return output::json(&created);
    }
    let created: Value = serde_json::from_str(&created).unwrap_or_default();
    let secret = created["secret"].as_str();
    let secret = secret.ok_or_else(|| CliError::failed("the server gave no secret"))?;
    output::text(&format!("{secret}\n"))
}

/// The tokens of a stopped server.
fn offline(disk: Arc<FolderDisk>, config: &Config) -> CliResult<Tokens> {
    let tokens = Tokens::open(disk, &config.realm, Arc::new(SystemClock))
        .map_err(|error| CliError::failed(error.to_string()))?;
    // The first start creates the administrator's token and shows it.
    if tokens.list(TokenId(0), 1).is_empty() {
        let data = config.data.display();
        let line = format!("{data} has no tokens yet: start it once with `parley serve`");
        return Err(CliError::failed(line));
    }
    Ok(tokens)
}

fn create_offline(tokens: &Tokens, request: &Value) -> CliResult<String> {
    let now = SystemClock.now();
    let new = NewToken::read(request.to_string().as_bytes(), now);
    let created = new.and_then(|new| tokens.create(&new, now));
    let (record, secret) = created.map_err(|refusal| CliError::from(&refusal))?;
    let mut out = JsonBuffer::new();
    wire::token_created(&mut out, &record.shown(), &secret);
    text_of(out)
}

fn list_offline(tokens: &Tokens) -> CliResult<Value> {
    let mut out = JsonBuffer::new();
    let mut list = ListWriter::begin(&mut out);
    for record in tokens.list(TokenId(0), usize::MAX) {
        wire::token(list.item(), &record.shown());
    }
    list.end("", false);
    serde_json::from_str(&text_of(out)?)
        .map_err(|error| CliError::failed(format!("the list cannot be written: {error}")))
}

fn revoke_offline(tokens: &Tokens, id: &str) -> CliResult {
    let id = TokenId::parse(id).ok_or_else(|| {
        CliError::usage(format!("{id} is no token's identifier; `parley token list` has them"))
    })?;
    tokens.revoke(id, SystemClock.now()).map_err(|refusal| CliError::from(&refusal))
}

fn text_of(out: JsonBuffer) -> CliResult<String> {
    String::from_utf8(out).map_err(|_| CliError::failed("a token holds what is no UTF-8 text"))
}

/// The expiry of `30d`, `12h` or `45m` from `now`, or of an RFC 3339 time.
fn expiry(text: &str, now: Millis) -> CliResult<Millis> {
    if let Some(at) = Millis::parse(text) {
        return Ok(at);
    }
    let wrong = || CliError::usage(format!("--expires {text}: give 30d, 12h, 45m or RFC 3339"));
    let unit = match text.chars().last() {
        Some('d') => 86_400_000,
        Some('h') => 3_600_000,
        Some('m') => 60_000,
        _ => return Err(wrong()),
    };
    let count = &text[..text.len() - 1];
    if !count.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let count: u64 = count.parse().map_err(|_| wrong())?;
    let at = count.checked_mul(unit).and_then(|span| now.0.checked_add(span));
    at.map(Millis).filter(|at| *at <= MILLIS_MAX).ok_or_else(wrong)
}

/// The list as text, one line per token.
fn table(list: &Value) -> String {
    let mut text = String::new();
    for token in list["items"].as_array().into_iter().flatten() {
        let rights: Vec<_> =
            token["rights"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut line = format!(
            "{:<8} {:<28} {}",
            render::text_at(token, "/id"),
            render::text_at(token, "/identity"),
            rights.join(",")
        );
        for (name, word) in [("label", "label"), ("expires_at", "until"), ("revoked_at", "revoked")]
        {
            if let Some(value) = token[name].as_str() {
                let _ = write!(line, "  {word} {value}");
            }
        }
        let _ = writeln!(text, "{}", in_one_line(&line));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: every form of an expiry is read exactly, and no other form. Method: a row a case.
    #[test]
    fn expiries() {
        let now = Millis(1_000);
        for (text, want) in [
            ("30d", Some(2_592_001_000)),
            ("12h", Some(43_201_000)),
            ("5m", Some(301_000)),
            ("1970-01-01T00:00:02Z", Some(2_000)),
            ("30", None),
            ("d", None),
            ("-1d", None),
            ("+1d", None),
            ("1.5h", None),
            ("1w", None),
            ("99999999999999999999d", None),
            ("99999999999d", None),
            ("", None),
            ("12é", None),
        ] {
            assert_eq!(expiry(text, now).ok().map(|at| at.0), want, "{text:?}");
        }
    }

    /// Goal: the list shows rights, label, expiry and revocation. Method: two tokens.
    #[test]
    fn tables() {
        let list = json!({ "items": [
            { "id": "tok_1", "identity": "human:admin", "rights": ["read", "admin"],
              "label": null, "expires_at": null, "revoked_at": null },
            { "id": "tok_2", "identity": "local:night", "rights": ["read", "lock"],
              "label": "Night", "expires_at": null, "revoked_at": "2026-11-29T20:00:00.000Z" },
        ] });
        assert_eq!(
            table(&list),
            "tok_1    human:admin                  read,admin\n\
             tok_2    local:night                  read,lock  label Night  \
             revoked 2026-11-29T20:00:00.000Z\n"
        );
    }
}
