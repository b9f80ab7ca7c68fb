//! The content that `read` reads: created, read once and verified against what was written.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, bail, ensure};

use crate::body::push_body;
use crate::concurrent::call_each;
use crate::http::Connection;
use crate::modes::measurement::wait_idle;
use crate::objects::{self, Claim, Claimed, List, Page, Waiting};
use crate::options::{Options, ReadWhat};
use crate::participants::Participants;
use crate::report::{Report, bar};
use crate::rng;
use crate::scan;
use crate::target::Target;
use crate::verify::audit::ThreadRecord;
use crate::wire::{Binding, Caller, Operation, Outcome, outcome};
use crate::write_load::WriteLoad;

/// Messages of each thread.
const MESSAGES: usize = 10;
/// Items of a page of an inbox.
const INBOX_PAGE: usize = 50;
/// Keeps the statements of claims apart from the bodies of messages.
const CLAIM_SEED: u64 = 0xc1a1;

/// One read, with its verified answer.
pub struct Item {
    /// What is read, for messages.
    pub name: String,
    /// The binding of the request.
    pub binding: Binding,
    /// The encoded request.
    pub request: Vec<u8>,
    /// Hash of the verified answer.
    pub expected: u64,
}

/// Writes the content and reads each item once; fails if an answer is not as written.
pub async fn prepare(
    options: &Options,
    target: &Target,
    participants: &Arc<Participants>,
    report: &mut Report,
) -> anyhow::Result<Vec<Item>> {
    let what = options.what.context("read needs --what claim, thread or inbox")?;
    let threads = open_threads(options, target, participants, report).await?;
    let checks = match what {
        ReadWhat::Claim => assert_claims(options, target, participants, &threads).await?,
        ReadWhat::Thread => threads.into_iter().map(Check::Thread).collect(),
        ReadWhat::Inbox => participants.members.iter().map(|_| Check::EmptyInbox).collect(),
    };
    // The cursor of an inbox moves until the server has handled all writes.
    wait_idle(target.pid().into_iter().collect()).await?;
    let progress = bar(checks.len() as u64, "verifying the content");
    let mut connection = Connection::open(target.address).await?;
    let mut items = Vec::with_capacity(checks.len());
    for (index, check) in checks.iter().enumerate() {
        let member = &participants.members[index % participants.members.len()];
        let operation = check.operation(member.extension.as_deref());
        let name = format!("{} {}", operation.tool, operation.path);
        let (binding, mut request) = (member.caller.binding(), Vec::new());
        member.caller.write(&mut request, &operation);
        let expected = match outcome(binding, connection.call(&request).await?) {
            Outcome::Done(json) => {
                check.verify(json).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
                rng::hash(json)
            }
            Outcome::Refused { reason, detail, .. } => bail!("{name}: {reason}: {detail}"),
            Outcome::Broken(text) => bail!("{name}: {text}"),
        };
        items.push(Item { name, binding, request, expected });
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(items)
}

/// Opens threads of `MESSAGES` messages each.
async fn open_threads(
    options: &Options,
    target: &Target,
    participants: &Arc<Participants>,
    report: &mut Report,
) -> anyhow::Result<Vec<ThreadRecord>> {
    let (count, body, seed) = (options.threads, options.body, options.seed);
    let load = WriteLoad::forum(target.address, Arc::clone(participants), count, body, seed);
    let load = Arc::new(load);
    let progress = bar((count * MESSAGES) as u64, "writing threads");
    load.open_threads(options.connections, MESSAGES - 1, &progress).await?;
    progress.finish_and_clear();
    let acknowledged = load.tally.acknowledged.load(Ordering::Relaxed);
    let complete = acknowledged == (count * MESSAGES) as u64;
    ensure!(complete, "the threads are incomplete: {}", load.tally.summary());
    report.add_tally(&load.tally);
    report.add_findings(&load.findings);
    let mut threads = load.records();
    for thread in &mut threads {
        thread.acknowledged.sort_unstable();
    }
    Ok(threads)
}

/// Asserts a claim in each thread, over HTTP.
async fn assert_claims(
    options: &Options,
    target: &Target,
    participants: &Arc<Participants>,
    threads: &[ThreadRecord],
) -> anyhow::Result<Vec<Check>> {
    let ids: Vec<u64> = threads.iter().map(|thread| thread.thread).collect();
    let statement = |index: usize| {
        let mut statement = Vec::with_capacity(options.body);
        push_body(&mut statement, options.seed ^ CLAIM_SEED, index as u64, options.body);
        String::from_utf8_lossy(&statement).into_owned()
    };
    let statements: Vec<String> = (0..ids.len()).map(statement).collect();
    let written = statements.clone();
    let (host, participants) = (target.host.clone(), Arc::clone(participants));
    let compose = move |index: usize, request: &mut Vec<u8>| {
        let member = &participants.members[index % participants.members.len()];
        let thread = ids[index];
        let path = format!("/v1/threads/th_{thread}/claims");
        let members = format!("\"statement\":\"{}\"{}", written[index], member.from());
        let operation = Operation::write("assert_claim", path, String::new(), members);
        Caller::new(&host, &member.token, Binding::Http).write(request, &operation);
    };
    let take = |answer: crate::http::Answer<'_>| match outcome(Binding::Http, answer) {
        Outcome::Done(json) => {
            let claimed: Claimed<'_> = serde_json::from_slice(json)?;
            objects::number(&claimed.claim.id, "cl_").context("a claim without an id")
        }
        Outcome::Refused { reason, detail, .. } => bail!("no claim: {reason}: {detail}"),
        Outcome::Broken(text) => bail!("no claim: {text}"),
    };
    let progress = bar(threads.len() as u64, "asserting claims");
    let (address, connections) = (target.address, options.connections);
    let claims = call_each(address, connections, threads.len(), &progress, compose, take).await?;
    progress.finish_and_clear();
    let checks = claims.into_iter().zip(statements);
    Ok(checks.map(|(claim, statement)| Check::Claim { claim, statement }).collect())
}

/// The expected answer of a read.
enum Check {
    /// An unverified claim with this number and statement.
    Claim { claim: u64, statement: String },
    /// A thread with exactly the acknowledged messages, in order.
    Thread(ThreadRecord),
    /// An inbox without an item.
    EmptyInbox,
}

impl Check {
    /// The read, by a participant with this extension.
    fn operation(&self, extension: Option<&str>) -> Operation {
        match self {
            Self::Claim { claim, .. } => {
                let place = format!("\"claim\":\"cl_{claim}\"");
                Operation::read("read_claim", format!("/v1/claims/cl_{claim}"), place, &[])
            }
            Self::Thread(record) => {
                let thread = record.thread;
                let place = format!("\"thread\":\"th_{thread}\"");
                let limit = MESSAGES.to_string();
                let query = [("format", "flat"), ("limit", limit.as_str())];
                Operation::read("read_thread", format!("/v1/threads/th_{thread}"), place, &query)
            }
            Self::EmptyInbox => Operation::inbox(extension, INBOX_PAGE, false, ""),
        }
    }

    /// Compares an answer with the expectation.
    fn verify(&self, json: &[u8]) -> Result<(), String> {
        match self {
            Self::Claim { claim, statement } => {
                let shown: Claim<'_> = parse(json)?;
                if objects::number(&shown.id, "cl_") != Some(*claim) || shown.status != "unverified"
                {
                    return Err(format!("{} is {}", shown.id, shown.status));
                }
                if scan::text(json, b"\"statement\":\"") != Some(statement.as_bytes()) {
                    return Err("the statement has changed".to_owned());
                }
            }
            Self::Thread(record) => {
                let page: Page<'_> = parse(json)?;
                let shown: Vec<_> = page
                    .messages
                    .iter()
                    .filter_map(|it| {
                        let id = objects::number(&it.id, "msg_")?;
                        Some((id, rng::hash(it.body.as_bytes())))
                    })
                    .collect();
                if page.more || shown != record.acknowledged {
                    let (shown, written) = (shown.len(), record.acknowledged.len());
                    return Err(format!("shows {shown} messages of {written}, or other ones"));
                }
            }
            Self::EmptyInbox => {
                let list: List<'_, Waiting<'_>> = parse(json)?;
                if list.more || !list.items.is_empty() {
                    return Err(format!("the inbox has {} items", list.items.len()));
                }
            }
        }
        Ok(())
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(json: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: u64, body: &str) -> String {
        format!(
            r#"{{"id":"msg_{id}","thread":"th_1","parent":null,"kind":"inform",
            "from":{{"identity":"local:a","extension":null}},"body":"{body}",
            "created_at":"2026-11-29T20:00:00.000Z","awaiting":null}}"#
        )
    }

    fn page(messages: &[String], more: bool) -> Vec<u8> {
        let messages = messages.join(",");
        format!(r#"{{"messages":[{messages}],"cursor":"16.1.a","more":{more}}}"#).into_bytes()
    }

    /// Goal: a thread as written passes; one with a missing, changed, doubled or further message
    /// does not. Method: one page each.
    #[test]
    fn threads() {
        let mut record = ThreadRecord::opened(1, 10, rng::hash(b"one"));
        record.acknowledged.push((12, rng::hash(b"two")));
        let check = Check::Thread(record);
        let (one, two) = (message(10, "one"), message(12, "two"));
        check.verify(&page(&[one.clone(), two.clone()], false)).unwrap();
        for (messages, more) in [
            (vec![one.clone()], false),
            (vec![one.clone(), message(12, "three")], false),
            (vec![one.clone(), one.clone(), two.clone()], false),
            (vec![two.clone(), one.clone()], false),
            (vec![one, two], true),
        ] {
            check.verify(&page(&messages, more)).expect_err("a planted fault");
        }
    }

    /// Goal: a claim as written and an empty inbox pass; another number, status or statement, an
    /// inbox with a further page, do not. Method: one answer each.
    #[test]
    fn claims_and_inboxes() {
        let check = Check::Claim { claim: 3, statement: "it holds".to_owned() };
        let claim = |id: u64, status: &str, statement: &str| {
            format!(r#"{{"id":"cl_{id}","statement":"{statement}","status":"{status}"}}"#)
        };
        check.verify(claim(3, "unverified", "it holds").as_bytes()).unwrap();
        for planted in [
            claim(4, "unverified", "it holds"),
            claim(3, "supported", "it holds"),
            claim(3, "unverified", "it does not"),
        ] {
            check.verify(planted.as_bytes()).expect_err("a planted fault");
        }
        let inbox = |more: bool| format!(r#"{{"items":[],"cursor":"16.1.a","more":{more}}}"#);
        Check::EmptyInbox.verify(inbox(false).as_bytes()).unwrap();
        Check::EmptyInbox.verify(inbox(true).as_bytes()).expect_err("a further page");
    }

    /// Goal: each check reads what it verifies. Method: the paths and queries.
    #[test]
    fn operations() {
        let thread = Check::Thread(ThreadRecord::opened(7, 10, 0)).operation(None);
        assert_eq!((&*thread.path, &*thread.query), ("/v1/threads/th_7", "format=flat&limit=10"));
        let claim = Check::Claim { claim: 3, statement: String::new() }.operation(None);
        assert_eq!((&*claim.path, &*claim.query), ("/v1/claims/cl_3", ""));
        let inbox = Check::EmptyInbox.operation(Some("worker-1"));
        assert_eq!(inbox.query, "limit=50&anyone=false&extension=worker-1");
    }
}
