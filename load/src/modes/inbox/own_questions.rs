//! Inbox reads of a participant with half a million unanswered questions: its inbox must show the
//! questions of others and none of its own, within the bound of latency.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::bail;

use super::question;
use crate::clock;
use crate::concurrent::post_each;
use crate::http::Connection;
use crate::measure::{median, percentile};
use crate::modes::measurement::wait_idle;
use crate::objects::{self, List, Waiting};
use crate::options::Options;
use crate::participants::{Member, Participants};
use crate::report::{Report, bar};
use crate::target::Target;
use crate::verify::Findings;
use crate::wire::{Operation, Outcome, outcome};

/// Items of a page.
const PAGE: usize = 50;
/// One question in this many is asked by another participant.
const OTHERS_EVERY: usize = 1_000;
/// Least number of timed reads of each inbox, in whole walks.
const READS_MIN: usize = 1_000;
/// Pages of one walk through the inbox of the asker's line, which shows the asker's questions.
const LINE_PAGES: usize = 200;
const P99_MS_MAX: f64 = 50.0;

/// Indices: two bare lines, then the asker, an extension of the first line.
const LINE: usize = 0;
const OTHER: usize = 1;
const ASKER: usize = 3;

/// A walk through an inbox, page by page.
#[derive(Default)]
struct Walk {
    /// Messages in the order of the inbox.
    shown: Vec<u64>,
    /// Items of each page.
    pages: Vec<usize>,
    /// Milliseconds of each read.
    millis: Vec<f64>,
    /// Whether the end was reached.
    ended: bool,
}

/// Runs the part.
pub async fn run(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    let mut target = Target::prepare(options, &[]).await?;
    let participants =
        Arc::new(Participants::create_on_lines(&target, ASKER + 1, ASKER, 0.0).await?);
    let count = options.threads;
    // A small run also has questions of the other participant.
    let every = OTHERS_EVERY.min((count / PAGE).max(2));
    let is_other = move |index: usize| index % every == every - 1;
    let asking = options.clone();
    let progress = bar(count as u64, "questions of one's own");
    let envelope = move |index: usize, out: &mut Vec<u8>| {
        question(out, &asking, index);
        if is_other(index) { OTHER } else { ASKER }
    };
    let (address, connections) = (target.address, options.connections);
    let asked = post_each(address, &participants, connections, count, &progress, envelope).await?;
    progress.finish_and_clear();
    wait_idle(target.pid().into_iter().collect()).await?;
    report.acknowledged += count as u64;

    let mut order: Vec<_> = asked.iter().enumerate().collect();
    order.sort_unstable_by_key(|(_, it)| it.position);
    let all: Vec<u64> = order.iter().map(|(_, it)| it.message).collect();
    order.retain(|(index, _)| is_other(*index));
    let others: Vec<u64> = order.iter().map(|(_, it)| it.message).collect();
    let findings = Findings::default();
    let mut connection = Connection::open(target.address).await?;
    let mut walks = Vec::new();
    for (name, place, anyone, pages_max, expected) in [
        ("the asker's inbox", ASKER, true, usize::MAX, &others),
        ("the asker's inbox without questions to anyone", ASKER, false, usize::MAX, &Vec::new()),
        ("the inbox of the asker's line", LINE, true, LINE_PAGES, &all),
    ] {
        let mut millis = Vec::new();
        while millis.len() < READS_MIN {
            let walk = walk_inbox(&participants.members[place], anyone, pages_max, &mut connection)
                .await?;
            judge(name, &walk, expected, &findings);
            millis.extend(&walk.millis);
            walks.push(walk);
        }
        report.figure(&format!("{name}: median ms"), median(&millis));
        report.at_most(&format!("{name}: p99 ms"), percentile(&millis, 0.99), P99_MS_MAX);
    }
    report.figure("questions of one's own, nobody answers", (count - others.len()) as f64);
    let through = walks.first().map_or(0, |walk| walk.pages.len());
    report.figure("pages of a walk through the asker's inbox", through as f64);
    report.add_findings(&findings);
    report.add_result(target.stop());
    Ok(())
}

/// Reads an inbox page by page, to its end or `pages_max`.
async fn walk_inbox(
    member: &Member,
    anyone: bool,
    pages_max: usize,
    connection: &mut Connection,
) -> anyhow::Result<Walk> {
    let mut walk = Walk::default();
    let mut since = String::new();
    let mut request = Vec::new();
    while !walk.ended && walk.pages.len() < pages_max {
        let read = Operation::inbox(member.extension.as_deref(), PAGE, anyone, &since);
        member.caller.write(&mut request, &read);
        let begun = clock::now();
        let answer = connection.call(&request).await?;
        walk.millis.push(clock::micros_since(begun) as f64 / 1000.0);
        let json = match outcome(member.caller.binding(), answer) {
            Outcome::Done(json) => json,
            Outcome::Refused { reason, detail, .. } => bail!("no inbox: {reason}: {detail}"),
            Outcome::Broken(text) => bail!("no inbox: {text}"),
        };
        let list: List<'_, Waiting<'_>> = serde_json::from_slice(json)?;
        let ids = list.items.iter().filter_map(|it| objects::number(&it.message.id, "msg_"));
        walk.shown.extend(ids);
        walk.pages.push(list.items.len());
        walk.ended = !list.more;
        since = list.cursor.into_owned();
    }
    Ok(walk)
}

/// Checks that a walk shows the waiting messages once and in order: all, or the first ones.
fn judge(name: &str, walk: &Walk, expected: &[u64], findings: &Findings) {
    if let Some(page) = walk.pages.iter().find(|items| **items > PAGE) {
        findings.add(format!("{name}: a page of {page} items, {PAGE} were asked for"));
    }
    let owed =
        if walk.ended { expected } else { &expected[..walk.shown.len().min(expected.len())] };
    if walk.shown == owed {
        return;
    }
    let waiting: HashSet<u64> = expected.iter().copied().collect();
    let wrong = walk.shown.iter().filter(|id| !waiting.contains(id)).count();
    let (shown, owed) = (walk.shown.len(), owed.len());
    findings.add(format!(
        "{name} shows {shown} messages of {owed}, or in a wrong order; {wrong} do not wait"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(shown: &[u64], ended: bool) -> u64 {
        let expected = [2, 4, 6];
        let walk = Walk { shown: shown.to_vec(), pages: vec![3], millis: vec![], ended };
        let findings = Findings::default();
        judge("it", &walk, &expected, &findings);
        findings.count()
    }

    /// Goal: a whole walk and the first part of one pass; planted faults are found. Method: one
    /// row each.
    #[test]
    fn walks() {
        assert_eq!([found(&[2, 4, 6], true), found(&[2, 4], false), found(&[], false)], [0, 0, 0]);
        for (shown, ended) in [
            (&[2, 4][..], true),
            (&[4], false),
            (&[2, 3], false),
            (&[4, 2, 6], true),
            (&[2, 2], false),
        ] {
            assert_eq!(found(shown, ended), 1, "{shown:?}");
        }
    }
}
