//! `parley claim`: claims and their evidence (parley.md §8).

use clap::{Args, Subcommand};
use parley_protocol::claim::EvidenceKind;
use parley_protocol::json::parse_keeping_surrogates;
use parley_protocol::limits::{BODY_MAX, NESTING_MAX};
use serde_json::{Value, json};

use crate::cli::client::encode;
use crate::cli::error::{CliError, CliResult};
use crate::cli::server::ServerArgs;
use crate::cli::{output, render, request};

const EXAMPLES: &str = "Examples:
  parley claim assert th_1 'The fix holds.' --evidence log:runs/42.log
  parley claim attest cl_1 --evidence commit:3f46cc9
  parley claim attest cl_1 --seal --evidence reproducer:tests/replay
  parley claim refute cl_1 --evidence '{\"kind\":\"url\",\"ref\":\"https://h/x\",\"note\":\"No.\"}'
  parley claim show cl_1";

/// The arguments of `parley claim`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct ClaimArgs {
    #[command(subcommand)]
    command: ClaimCommand,
}

#[derive(Debug, Subcommand)]
enum ClaimCommand {
    /// Create a claim.
    Assert(AssertArgs),
    /// Add support with proof, or seal it.
    Attest(AttestArgs),
    /// Refute a claim with proof.
    Refute(RefuteArgs),
    /// Show a claim.
    Show(ClaimIdArgs),
    /// List the claims of a thread.
    List(ListClaimsArgs),
}

#[derive(Debug, Args)]
struct AssertArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The thread
    #[arg(value_name = "THREAD")]
    thread: String,
    #[arg(value_name = "STATEMENT", help = statement_help())]
    statement: String,
    #[command(flatten)]
    proof: ProofArgs,
    /// Claims that this one replaces
    #[arg(long, value_name = "CLAIM,…", value_delimiter = ',')]
    supersedes: Vec<String>,
    /// When it expires, RFC 3339
    #[arg(long, value_name = "TIME")]
    valid_until: Option<String>,
}

#[derive(Debug, Args)]
struct AttestArgs {
    #[command(flatten)]
    claim: ClaimIdArgs,
    /// Give the verifier's seal
    #[arg(long)]
    seal: bool,
    #[command(flatten)]
    proof: ProofArgs,
}

#[derive(Debug, Args)]
struct RefuteArgs {
    #[command(flatten)]
    claim: ClaimIdArgs,
    #[command(flatten)]
    proof: ProofArgs,
}

#[derive(Debug, Args)]
struct ClaimIdArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The claim
    #[arg(value_name = "CLAIM")]
    id: String,
}

impl ClaimIdArgs {
    fn path(&self, operation: &str) -> String {
        format!("/v1/claims/{}{operation}", encode(&self.id))
    }
}

#[derive(Debug, Args)]
struct ListClaimsArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The thread
    #[arg(value_name = "THREAD")]
    thread: String,
    /// Only those of this status
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
}

#[derive(Debug, Args)]
struct ProofArgs {
    #[arg(long, value_name = "KIND:REF", value_parser = evidence, help = evidence_help())]
    evidence: Vec<Value>,
    /// Act as this extension of the token's line
    #[arg(long, value_name = "E")]
    extension: Option<String>,
    /// An idempotency key: the same again gives the first outcome
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

fn statement_help() -> String {
    format!("What is claimed, 1 to {BODY_MAX} characters; - reads it from standard input")
}

fn evidence_help() -> String {
    let kinds = EvidenceKind::ALL.map(EvidenceKind::as_str).join(", ");
    format!("A piece of evidence, KIND:REF or a JSON object; may be repeated. Kinds: {kinds}")
}

/// Parses `KIND:REF`, or the JSON object of the wire.
fn evidence(text: &str) -> Result<Value, String> {
    if text.starts_with('{') {
        parse_keeping_surrogates(text.as_bytes(), NESTING_MAX)
            .map_err(|fault| fault.told(text.as_bytes()))?;
        return serde_json::from_str(text).map_err(|error| format!("no JSON object: {error}"));
    }
    let (kind, reference) = text.split_once(':').ok_or("give KIND:REF, as in log:runs/42.log")?;
    Ok(json!({ "kind": kind, "ref": reference }))
}

/// Runs the subcommand and prints the claim.
pub async fn run(options: ClaimArgs) -> CliResult {
    match options.command {
        ClaimCommand::Assert(assert) => {
            let path = format!("/v1/threads/{}/claims", encode(&assert.thread));
            let supersedes = (!assert.supersedes.is_empty()).then(|| assert.supersedes.into());
            let more = request::object([
                ("statement", Some(request::text_or_stdin(&assert.statement)?.into())),
                ("supersedes", supersedes),
                ("valid_until", assert.valid_until.map(Value::from)),
            ]);
            write(assert.server, &path, more, assert.proof).await
        }
        ClaimCommand::Attest(attest) => {
            let path = attest.claim.path("/attest");
            let more = request::object([("seal", attest.seal.then(|| true.into()))]);
            write(attest.claim.server, &path, more, attest.proof).await
        }
        ClaimCommand::Refute(refute) => {
            let path = refute.claim.path("/refute");
            write(refute.claim.server, &path, json!({}), refute.proof).await
        }
        ClaimCommand::Show(claim) => {
            let answer = claim.server.client()?.get(&claim.path("")).await?;
            claim.server.print(&answer, render::claim)
        }
        ClaimCommand::List(options) => list(options).await,
    }
}

async fn write(server: ServerArgs, path: &str, mut body: Value, proof: ProofArgs) -> CliResult {
    body["evidence"] = proof.evidence.into();
    if let Some(from) = request::from(proof.extension.as_deref()) {
        body["from"] = from;
    }
    let answer = server.client()?.post(path, &body, &request::key(proof.key.as_ref())).await?;
    server.print(&answer, |answer| render::claim(&answer["claim"]))
}

async fn list(options: ListClaimsArgs) -> CliResult {
    let ListClaimsArgs { server, thread, status } = options;
    let client = server.client()?;
    let path = format!("/v1/threads/{}/claims", encode(&thread));
    let items = client.list(&path, &[("status", status)]).await?;
    if server.json {
        return output::json(&items.to_string());
    }
    let items = items["items"].as_array().ok_or_else(|| CliError::failed("the list is none"))?;
    output::text(&items.iter().map(render::claim).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: both forms of evidence give the wire's object. Method: a row a case.
    #[test]
    fn evidence_forms() {
        assert_eq!(evidence("log:a:b").unwrap(), json!({ "kind": "log", "ref": "a:b" }));
        let hash = evidence("hash:sha256:00").unwrap();
        assert_eq!(hash, json!({ "kind": "hash", "ref": "sha256:00" }));
        assert_eq!(evidence(r#"{"kind":"url"}"#).unwrap(), json!({ "kind": "url" }));
        assert!(evidence("log").is_err());
        let told = evidence("{'kind':'url'}").unwrap_err();
        assert!(
            told.contains("byte 2 (line 1, column 2) stands a single quotation mark"),
            "{told}"
        );
    }
}
