//! `swarm`: whole conversations in many threads, while listeners follow their inboxes.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::ensure;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::post::WriteCeiling;
use crate::clock;
use crate::conversation::{Conversation, RolePool, waits_for};
use crate::http::Connection;
use crate::listener::{ExpectedFeed, ListenerGroup, Scope};
use crate::measure::Latencies;
use crate::modes::measurement::{check_memory_level, mib, wait_idle};
use crate::options::Options;
use crate::participants::Participants;
use crate::process_sampler::ProcessSampler;
use crate::report::{Report, Round, bar};
use crate::socket::Request;
use crate::swarm::{Swarm, read_inbox};
use crate::target::Target;
use crate::verify::Findings;
use crate::verify::feed::completeness;
use crate::verify::readback::Reader;

/// One listener in this many includes questions to anyone.
const ANYONE_EVERY: usize = 16;
/// Inboxes that are read whole at the end.
const INBOXES_READ: usize = 200;
/// Agents for each holder of `lock` and each verifier.
const AGENTS_A_MODERATOR: usize = 25;
/// Tasks that read ended threads back during the load.
const AUDITORS: usize = 4;
/// Bytes of an answer of the ceiling beyond the body.
const ANSWER_EXTRA_BYTES: usize = 950;

/// Largest time to read the last threads back.
const AUDITS_MAX: Duration = Duration::from_secs(60);
/// Memory of a shorter swarm is not level yet.
const LEVEL_AFTER: Duration = Duration::from_secs(120);

/// Agents, listeners and auditors of a run.
pub struct SwarmRun {
    /// The engine.
    pub swarm: Arc<Swarm>,
    /// The listeners.
    pub listeners: ListenerGroup,
    /// Violations.
    pub findings: Arc<Findings>,
    auditors: Vec<JoinHandle<anyhow::Result<()>>>,
    audited: Arc<AtomicU64>,
}

impl SwarmRun {
    /// Creates participants, connects listeners, starts auditors. With `retry`, ended conversations
    /// go to the returned receiver instead of the auditors, as the server may be down.
    pub async fn start(
        options: &Options,
        target: &Target,
        retry: bool,
    ) -> anyhow::Result<(Self, Option<mpsc::Receiver<Conversation>>)> {
        let findings = Arc::new(Findings::default());
        let mut participants = Participants::create(target, options.agents, options.mcp).await?;
        let roles = role_pool(options, target, &mut participants).await?;
        let participants = Arc::new(participants);
        let (finished, done) = mpsc::channel(if retry { 1 << 20 } else { 256 });
        let mut swarm = Swarm::new(
            target.address,
            Arc::clone(&participants),
            roles,
            Arc::clone(&findings),
            finished,
        );
        swarm.retry = retry;
        swarm.rate = options.rate;
        swarm.seed = options.seed;
        let expected_feeds = expected_feeds(options, target, &participants);
        swarm.expected_feeds = expected_feeds.iter().map(|(watch, _)| Arc::clone(watch)).collect();
        let listeners =
            ListenerGroup::connect(expected_feeds, !retry, options.seed, &findings).await?;
        let swarm = Arc::new(swarm);
        let (auditors, audited) = (Vec::new(), Arc::default());
        let mut run = Self { swarm, listeners, findings, auditors, audited };
        if retry {
            return Ok((run, Some(done)));
        }
        run.auditors = audit_along(target, &run.swarm, done, &run.audited).await?;
        Ok((run, None))
    }

    /// Waits until every ended thread has been read back, or an auditor has failed.
    async fn wait_for_audits(&self) {
        let until = clock::now() + AUDITS_MAX;
        while self.audited.load(Ordering::Relaxed) < self.swarm.ended.load(Ordering::Relaxed)
            && !self.auditors.iter().any(JoinHandle::is_finished)
            && clock::now() < until
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Checks threads between two steps, feeds and inboxes, once no agent acts any more.
    pub async fn check(&self, target: &Target, resting: &[Conversation]) -> anyhow::Result<()> {
        let mut reader = Reader::open(target.address, target.admin()).await?;
        for conversation in resting.iter().filter(|it| it.shadow.is_some()) {
            audit(&mut reader, &self.swarm, conversation).await?;
        }
        self.listeners.wait_settled().await;
        let tainted = self.swarm.tainted.lock().map(|it| it.clone()).unwrap_or_default();
        let spoken = self.swarm.messages.lock().map(|it| it.clone()).unwrap_or_default();
        for expected in &self.listeners.expected_feeds {
            expected.check(&tainted, &self.findings);
            if expected.scope == Scope::All {
                let received = expected.messages.lock().map(|it| it.clone()).unwrap_or_default();
                self.findings.check(completeness(received, spoken.clone()));
            }
        }
        self.check_inboxes(target, resting, &tainted).await
    }

    /// Checks that every inbox shows exactly the threads that wait.
    async fn check_inboxes(
        &self,
        target: &Target,
        resting: &[Conversation],
        tainted: &HashSet<u64>,
    ) -> anyhow::Result<()> {
        let participants = &self.swarm.participants;
        let mut connection = Connection::open(target.address).await?;
        let ours: HashSet<u64> = resting.iter().map(|it| it.record.thread).collect();
        for place in 0..self.swarm.roles.agents.min(INBOXES_READ) {
            let anyone = place % ANYONE_EVERY == 0;
            let expected: BTreeSet<(u64, u64)> = resting
                .iter()
                .filter(|it| waits_for(participants, place, anyone, it.awaiting()))
                .filter_map(|it| Some((it.record.thread, it.awaiting()?.message)))
                .collect();
            let shown = match read_inbox(participants, place, anyone, &mut connection).await? {
                Ok(shown) => shown,
                Err(reason) => anyhow::bail!("an inbox could not be read: {reason}"),
            };
            let own = target.own_server.is_some();
            let shown_items: BTreeSet<(u64, u64)> = shown
                .iter()
                .copied()
                .filter(|(thread, _)| !tainted.contains(thread) && (own || ours.contains(thread)))
                .collect();
            if shown.len() != shown.iter().collect::<HashSet<_>>().len() {
                self.findings.add(format!("the inbox of agent {place} shows a thread twice"));
            }
            for (thread, message) in
                expected.difference(&shown_items).filter(|it| !tainted.contains(&it.0))
            {
                let text = format!("the inbox of agent {place} hides msg_{message} of th_{thread}");
                self.findings.add(text);
            }
            for (thread, message) in shown_items.difference(&expected) {
                let text = format!(
                    "agent {place}: the inbox shows msg_{message} of th_{thread}, which waits not"
                );
                self.findings.add(text);
            }
        }
        Ok(())
    }
}

async fn role_pool(
    options: &Options,
    target: &Target,
    participants: &mut Participants,
) -> anyhow::Result<RolePool> {
    let agents = options.agents;
    let mut moderators = Vec::new();
    let mut verifiers = Vec::new();
    for index in 0..agents.div_ceil(AGENTS_A_MODERATOR) {
        let handle = format!("load-moderator-{index}");
        moderators.push(participants.add(target, &handle, &["read", "write", "lock"]).await?);
        let handle = format!("load-verifier-{index}");
        verifiers.push(participants.add(target, &handle, &["read", "write", "verify"]).await?);
    }
    let lines =
        participants.members[..agents].iter().map(|member| member.line + 1).max().unwrap_or(0);
    ensure!(lines >= 3, "a conversation needs three lines");
    let run = clock::run_id();
    Ok(RolePool { agents, moderators, verifiers, lines, body: options.body, run })
}

fn expected_feeds(
    options: &Options,
    target: &Target,
    participants: &Participants,
) -> Vec<(Arc<ExpectedFeed>, Request)> {
    let request = |path: String, token: &str| Request {
        address: target.address,
        host: target.host.clone(),
        token: token.to_owned(),
        path,
    };
    let mut expected_feeds: Vec<_> = (0..options.listeners.min(options.agents))
        .map(|place| {
            let anyone = place % ANYONE_EVERY == 0;
            let member = &participants.members[place];
            let mut path = format!("/v1/feed?scope=inbox&anyone={anyone}");
            if let Some(extension) = &member.extension {
                path.push_str("&extension=");
                path.push_str(extension);
            }
            let watch = ExpectedFeed::new(Scope::Inbox { place, anyone });
            (Arc::new(watch), request(path, &member.token))
        })
        .collect();
    if options.listeners > 0 {
        let path = "/v1/feed?scope=all&anyone=false".to_owned();
        let moderator = &participants.members[participants.members.len() - 1];
        expected_feeds
            .push((Arc::new(ExpectedFeed::new(Scope::All)), request(path, &moderator.token)));
    }
    expected_feeds
}

/// Reads a thread back and compares it with its conversation.
pub async fn audit(
    reader: &mut Reader,
    swarm: &Swarm,
    conversation: &Conversation,
) -> anyhow::Result<u64> {
    let expected = conversation.shadow.as_ref().map(|shadow| (shadow, &*swarm.participants));
    let record = &conversation.record;
    let claims: Vec<_> = conversation.claim.into_iter().collect();
    reader.claims(record.thread, &claims, &swarm.findings).await?;
    reader.audit(record, expected, &swarm.findings).await
}

async fn audit_along(
    target: &Target,
    swarm: &Arc<Swarm>,
    mut done: mpsc::Receiver<Conversation>,
    audited: &Arc<AtomicU64>,
) -> anyhow::Result<Vec<JoinHandle<anyhow::Result<()>>>> {
    let mut queues = Vec::new();
    let mut auditors = Vec::new();
    for _ in 0..AUDITORS {
        let (sender, mut queue) = mpsc::channel::<Conversation>(64);
        queues.push(sender);
        let mut reader = Reader::open(target.address, target.admin()).await?;
        let (swarm, audited) = (Arc::downgrade(swarm), Arc::clone(audited));
        auditors.push(tokio::spawn(async move {
            while let Some(conversation) = queue.recv().await {
                let Some(swarm) = swarm.upgrade() else { break };
                audit(&mut reader, &swarm, &conversation).await?;
                audited.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }));
    }
    tokio::spawn(async move {
        let mut next = 0;
        while let Some(conversation) = done.recv().await {
            if queues[next % AUDITORS].send(conversation).await.is_err() {
                return;
            }
            next += 1;
        }
    });
    Ok(auditors)
}

/// Runs the mode.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    let mut target = Target::prepare(options, &[]).await?;
    let mut report = Report::new(options);
    let (run, _) = SwarmRun::start(options, &target, false).await?;
    let swarm = Arc::clone(&run.swarm);
    let compares = options.ceiling && options.rate.is_none() && target.is_local();
    let ceiling = if compares {
        Some(WriteCeiling::start(options, options.body + ANSWER_EXTRA_BYTES)?)
    } else {
        None
    };
    let mut conversations: Vec<_> =
        (0..options.threads).map(|_| swarm.new_conversation()).collect();
    if !options.warm_up.is_zero() {
        (_, conversations) = one_round(&run, &target, conversations, options.warm_up).await?;
        wait_idle(target.pid().into_iter().collect()).await?;
    }
    // The rounds share the duration, so that a long swarm is one long load.
    let share = options.duration.div_f64(options.rounds as f64);
    let whole = target.pid().map(ProcessSampler::start);
    for _ in 0..options.rounds {
        if let Some(ceiling) = &ceiling {
            ceiling
                .round(
                    &Options { duration: share.min(Duration::from_secs(10)), ..options.clone() },
                    &mut report,
                )
                .await?;
        }
        let (round, resting) = one_round(&run, &target, conversations, share).await?;
        conversations = resting;
        report.rounds.push(round);
        wait_idle(target.pid().into_iter().collect()).await?;
    }
    if let Some(usage) = whole.map(ProcessSampler::finish) {
        if options.duration >= LEVEL_AFTER {
            check_memory_level(&usage, &mut report, &run.findings);
        } else {
            report.figure("server memory at half time, MiB", mib(usage.rss_half));
            report.figure("server memory at the end, MiB", mib(usage.rss_end));
        }
    }
    run.wait_for_audits().await;
    run.check(&target, &conversations).await?;
    finish(run, &mut report).await?;
    report.add_tally(&swarm.tally);
    report.compare();
    report.add_result(target.stop());
    Ok(report)
}

async fn finish(run: SwarmRun, report: &mut Report) -> anyhow::Result<()> {
    let resumed: u64 =
        run.listeners.expected_feeds.iter().map(|it| it.resumed.load(Ordering::Relaxed)).sum();
    report.figure("feeds that came back", resumed as f64);
    report.figure("feeds at the beginning", run.listeners.connections() as f64);
    report.figure("conversations begun", run.swarm.serial.load(Ordering::Relaxed) as f64);
    run.listeners.stop();
    let server_errors: u64 = {
        let refused = run.swarm.tally.refused();
        ["internal", "overloaded", "storage_unavailable", "shutting_down"]
            .iter()
            .filter_map(|reason| refused.get(*reason))
            .sum()
    };
    report.at_most("answers of status 5xx", server_errors as f64, 0.0);
    let audited = run.audited.load(Ordering::Relaxed);
    report.figure("threads read back as they ended", audited as f64);
    for auditor in run.auditors {
        if auditor.is_finished() {
            // An auditor ends before the run only by an error.
            auditor.await??;
        }
    }
    let ended = run.swarm.ended.load(Ordering::Relaxed);
    ensure!(audited == ended, "only {audited} of {ended} threads could be read back");
    report.add_findings(&run.findings);
    Ok(())
}

async fn one_round(
    run: &SwarmRun,
    target: &Target,
    conversations: Vec<Conversation>,
    duration: Duration,
) -> anyhow::Result<(Round, Vec<Conversation>)> {
    let swarm = &run.swarm;
    let progress = bar(0, "swarm");
    swarm.latencies.clear();
    let before = swarm.tally.acknowledged.load(Ordering::Relaxed);
    let server = target.pid().map(ProcessSampler::start);
    let generator = ProcessSampler::of_generator();
    let begun = clock::now();
    let sleep = async {
        tokio::time::sleep(duration).await;
        Ok(())
    };
    let resting = swarm.run(conversations, &progress, sleep).await;
    let seconds = clock::seconds(clock::now() - begun).max(0.001);
    let generator = generator.finish();
    let server = server.map(ProcessSampler::finish);
    progress.finish_and_clear();
    let acknowledged = swarm.tally.acknowledged.load(Ordering::Relaxed) - before;
    let round = Round {
        name: "swarm".to_owned(),
        seconds,
        per_second: acknowledged as f64 / seconds,
        latency: (&Latencies::merged(&swarm.latencies, None)).into(),
        server,
        generator,
    };
    Ok((round, resting?))
}
