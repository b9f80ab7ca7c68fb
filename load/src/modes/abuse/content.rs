//! What the attacks ask for: a long thread, large artifacts, a closure of thousands of artifacts.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use serde::Deserialize;

use crate::concurrent::call_each;
use crate::http::Answer;
use crate::options::Options;
use crate::participants::Participants;
use crate::report::bar;
use crate::target::Target;
use crate::wire::{Binding, Caller, Operation, Outcome, outcome};
use crate::write_load::WriteLoad;

/// Messages of the long thread: as many as one tree shows.
const MESSAGES: usize = 1_000;
/// Large artifacts, as many as one page shows.
const LARGE: usize = 200;
/// Bytes of the statement of a large one.
const LARGE_BYTES: usize = 56_000;
/// Artifacts of the closure that nothing else is in.
const LEAVES: usize = 4_000;
/// Artifacts of the closure that refer to `LEAVES / GROUPS` each.
const GROUPS: usize = 16;

/// The content, and the attacker that asks for it.
pub struct Content {
    /// The authority for the header `Host`.
    pub host: String,
    /// The secret of the attacker's token, with `read` and `write`.
    pub token: String,
    /// The number of the long thread.
    pub thread: u64,
    /// Threads that take claims.
    pub threads: Vec<u64>,
    /// The head of a large closure.
    pub decision: String,
    /// The artifacts that the head refers to.
    pub groups: Vec<String>,
}

impl Content {
    /// Writes the content.
    pub async fn write(
        options: &Options,
        target: &Target,
        agents: &Arc<Participants>,
    ) -> anyhow::Result<Self> {
        let mut attackers = Participants::default();
        attackers.add(target, "abuse", &["read", "write"]).await?;
        let token = attackers.members[0].token.clone();
        let (body, seed) = (500, options.seed ^ 0xab5e);
        let long = Arc::new(WriteLoad::forum(target.address, Arc::clone(agents), 1, body, seed));
        let progress = bar(MESSAGES as u64, "writing a long thread");
        long.open_threads(options.connections, MESSAGES - 1, &progress).await?;
        progress.finish_and_clear();
        let thread = *long.threads().first().context("no thread")?;
        let open = Arc::new(WriteLoad::forum(target.address, Arc::clone(agents), 64, body, seed));
        open.open_threads(options.connections, 0, &indicatif::ProgressBar::hidden()).await?;
        let threads = open.threads();
        let large = |index: usize| claim(&format!("{index} {}", "x".repeat(LARGE_BYTES)));
        publish(target, &token, LARGE, large).await?;
        let leaf = |index: usize| claim(&format!("leaf {index}"));
        let leaves = publish(target, &token, LEAVES, leaf).await?;
        let of_groups: Vec<Vec<String>> =
            leaves.chunks(LEAVES / GROUPS).map(<[String]>::to_vec).collect();
        let group = move |index: usize| evidence(index, &of_groups[index]);
        let groups = publish(target, &token, GROUPS, group).await?;
        let head = decision("settled", &groups);
        let decision = publish(target, &token, 1, move |_| head.clone()).await?.remove(0);
        Ok(Self { host: target.host.clone(), token, thread, threads, decision, groups })
    }
}

fn claim(statement: &str) -> String {
    artifact("CLAIM", &format!("\"statement\":\"{statement}\""), "")
}

fn evidence(index: usize, supported: &[String]) -> String {
    let payload =
        format!("\"content\":\"group {index}\",\"provenance_class\":\"MODEL_GENERATED_ANALYSIS\"");
    artifact("EVIDENCE", &payload, &references("supports", supported))
}

/// A final decision that considers these artifacts.
pub fn decision(outcome: &str, considered: &[String]) -> String {
    let payload = format!(
        "\"outcome\":\"{outcome}\",\"status\":\"final\",\"objection_dispositions\":[],\
         \"unresolved_issues\":[]"
    );
    artifact("DECISION", &payload, &references("considers", considered))
}

fn references(relation: &str, ids: &[String]) -> String {
    let mut text = String::new();
    for id in ids {
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}{{\"artifact_id\":\"{id}\",\"relation\":\"{relation}\"}}");
    }
    text
}

fn artifact(kind: &str, payload: &str, references: &str) -> String {
    format!(
        "{{\"protocol_version\":\"0.1\",\"artifact_type\":\"{kind}\",\
         \"payload\":{{{payload}}},\"references\":[{references}]}}"
    )
}

/// Publishes `count` artifacts and returns their identifiers.
async fn publish(
    target: &Target,
    token: &str,
    count: usize,
    compose: impl Fn(usize) -> String + Send + Sync + 'static,
) -> anyhow::Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Published {
        artifact_id: String,
    }
    let caller = Caller::new(&target.host, token, Binding::Http);
    let write = move |index: usize, request: &mut Vec<u8>| {
        let artifact = compose(index);
        let members = artifact[1..artifact.len() - 1].to_owned();
        let path = "/v1/artifacts".to_owned();
        let operation = Operation::write("publish_artifact", path, String::new(), members);
        caller.write(request, &operation);
    };
    let take = |answer: Answer<'_>| match outcome(Binding::Http, answer) {
        Outcome::Done(json) => {
            let published: Published = serde_json::from_slice(json)?;
            Ok(published.artifact_id)
        }
        Outcome::Refused { reason, detail, .. } => bail!("not published: {reason}: {detail}"),
        Outcome::Broken(text) => bail!("not published: {text}"),
    };
    let progress = bar(count as u64, "publishing artifacts");
    let published = call_each(target.address, 32, count, &progress, write, take).await?;
    progress.finish_and_clear();
    Ok(published)
}
