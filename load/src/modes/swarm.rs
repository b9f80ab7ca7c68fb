//! `swarm`: whole conversations over many threads, while listeners follow their inboxes.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::ensure;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::post::Bare;
use super::{memory_level, mib, rest};
use crate::cast::Cast;
use crate::clock;
use crate::conversation::{Company, Conversation, waits_for};
use crate::gauge::Gauge;
use crate::http::Connection;
use crate::listener::{Audience, Scope, Watch};
use crate::measure::Latencies;
use crate::options::Options;
use crate::report::{Report, Round, bar};
use crate::site::Site;
use crate::socket::Request;
use crate::swarm::{Swarm, read_inbox};
use crate::verify::Findings;
use crate::verify::feed::completeness;
use crate::verify::readback::Reader;

/// One listener in so many also hears the questions to anyone.
const ANYONE_EVERY: usize = 16;
/// So many inboxes are read whole at the end.
const INBOXES_READ: usize = 200;
/// A lock holder and a verifier serve so many agents.
const AGENTS_A_MODERATOR: usize = 25;
/// So many read finished threads back while the load goes on.
const AUDITORS: usize = 4;
/// What the shortest answer of a ceiling beside a swarm has beyond the body.
const ANSWER_EXTRA_BYTES: usize = 950;

/// How long the last threads may take to be read back.
const AUDITS_MAX: Duration = Duration::from_secs(60);
/// A shorter swarm is still growing into its memory.
const LEVEL_AFTER: Duration = Duration::from_secs(120);

/// Agents, listeners and auditors on a site.
pub struct Scene {
    /// The engine.
    pub swarm: Arc<Swarm>,
    /// Those who listen.
    pub audience: Audience,
    /// What was wrong.
    pub findings: Arc<Findings>,
    auditors: Vec<JoinHandle<anyhow::Result<()>>>,
    audited: Arc<AtomicU64>,
}

impl Scene {
    /// Hires everyone. With `retry`, finished conversations come out of the receiver instead of
    /// being read back at once, since the server may be away then.
    pub async fn set(
        options: &Options,
        site: &Site,
        retry: bool,
    ) -> anyhow::Result<(Self, Option<mpsc::Receiver<Conversation>>)> {
        let findings = Arc::new(Findings::default());
        let mut cast = Cast::hire(site, options.agents, options.mcp).await?;
        let company = company(options, site, &mut cast).await?;
        let cast = Arc::new(cast);
        let (finished, done) = mpsc::channel(if retry { 1 << 20 } else { 256 });
        let mut swarm =
            Swarm::new(site.address, Arc::clone(&cast), company, Arc::clone(&findings), finished);
        swarm.retry = retry;
        swarm.rate = options.rate;
        swarm.seed = options.seed;
        let watches = watches(options, site, &cast);
        swarm.watches = watches.iter().map(|(watch, _)| Arc::clone(watch)).collect();
        let audience = Audience::gather(watches, !retry, options.seed, &findings).await?;
        let swarm = Arc::new(swarm);
        let (auditors, audited) = (Vec::new(), Arc::default());
        let mut scene = Self { swarm, audience, findings, auditors, audited };
        if retry {
            return Ok((scene, Some(done)));
        }
        scene.auditors = audit_along(site, &scene.swarm, done, &scene.audited).await?;
        Ok((scene, None))
    }

    /// Waits until every thread that ended has been read back, or an auditor has given up.
    async fn audits(&self) {
        let until = clock::now() + AUDITS_MAX;
        while self.audited.load(Ordering::Relaxed) < self.swarm.ended.load(Ordering::Relaxed)
            && !self.auditors.iter().any(JoinHandle::is_finished)
            && clock::now() < until
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Checks everything once nobody speaks any more: threads at rest, feeds, inboxes.
    pub async fn check(&self, site: &Site, resting: &[Conversation]) -> anyhow::Result<()> {
        let mut reader = Reader::open(site.address, site.admin()).await?;
        for conversation in resting.iter().filter(|it| it.shadow.is_some()) {
            audit(&mut reader, &self.swarm, conversation).await?;
        }
        self.audience.settle().await;
        let tainted = self.swarm.tainted.lock().map(|it| it.clone()).unwrap_or_default();
        let spoken = self.swarm.messages.lock().map(|it| it.clone()).unwrap_or_default();
        for watch in &self.audience.watches {
            watch.judge(&tainted, &self.findings);
            if watch.scope == Scope::All {
                let told = watch.messages.lock().map(|it| it.clone()).unwrap_or_default();
                self.findings.check(completeness(told, spoken.clone()));
            }
        }
        self.inboxes(site, resting, &tainted).await
    }

    /// Every inbox shows exactly what waits in the threads at rest.
    async fn inboxes(
        &self,
        site: &Site,
        resting: &[Conversation],
        tainted: &HashSet<u64>,
    ) -> anyhow::Result<()> {
        let cast = &self.swarm.cast;
        let mut connection = Connection::open(site.address).await?;
        let ours: HashSet<u64> = resting.iter().map(|it| it.record.thread).collect();
        for place in 0..self.swarm.company.agents.min(INBOXES_READ) {
            let anyone = place % ANYONE_EVERY == 0;
            let expected: BTreeSet<(u64, u64)> = resting
                .iter()
                .filter(|it| waits_for(cast, place, anyone, it.awaiting()))
                .filter_map(|it| Some((it.record.thread, it.awaiting()?.message)))
                .collect();
            let shown = match read_inbox(cast, place, anyone, &mut connection).await? {
                Ok(shown) => shown,
                Err(reason) => anyhow::bail!("an inbox could not be read: {reason}"),
            };
            let own = site.own.is_some();
            let told: BTreeSet<(u64, u64)> = shown
                .iter()
                .copied()
                .filter(|(thread, _)| !tainted.contains(thread) && (own || ours.contains(thread)))
                .collect();
            if shown.len() != shown.iter().collect::<HashSet<_>>().len() {
                self.findings.add(format!("the inbox of agent {place} shows a thread twice"));
            }
            for (thread, message) in
                expected.difference(&told).filter(|it| !tainted.contains(&it.0))
            {
                let text = format!("the inbox of agent {place} hides msg_{message} of th_{thread}");
                self.findings.add(text);
            }
            for (thread, message) in told.difference(&expected) {
                let text = format!(
                    "agent {place}: the inbox shows msg_{message} of th_{thread}, which waits not"
                );
                self.findings.add(text);
            }
        }
        Ok(())
    }
}

async fn company(options: &Options, site: &Site, cast: &mut Cast) -> anyhow::Result<Company> {
    let agents = options.agents;
    let mut moderators = Vec::new();
    let mut verifiers = Vec::new();
    for index in 0..agents.div_ceil(AGENTS_A_MODERATOR) {
        let handle = format!("load-moderator-{index}");
        moderators.push(cast.add(site, &handle, &["read", "write", "lock"]).await?);
        let handle = format!("load-verifier-{index}");
        verifiers.push(cast.add(site, &handle, &["read", "write", "verify"]).await?);
    }
    let lines = cast.members[..agents].iter().map(|member| member.line + 1).max().unwrap_or(0);
    ensure!(lines >= 3, "a conversation needs three lines");
    let run = clock::run_number();
    Ok(Company { agents, moderators, verifiers, lines, body: options.body, run })
}

fn watches(options: &Options, site: &Site, cast: &Cast) -> Vec<(Arc<Watch>, Request)> {
    let request = |target: String, token: &str| Request {
        address: site.address,
        host: site.host.clone(),
        token: token.to_owned(),
        target,
    };
    let mut watches: Vec<_> = (0..options.listeners.min(options.agents))
        .map(|place| {
            let anyone = place % ANYONE_EVERY == 0;
            let member = &cast.members[place];
            let mut target = format!("/v1/feed?scope=inbox&anyone={anyone}");
            if let Some(extension) = &member.extension {
                target.push_str("&extension=");
                target.push_str(extension);
            }
            let watch = Watch::new(Scope::Inbox { place, anyone });
            (Arc::new(watch), request(target, &member.token))
        })
        .collect();
    if options.listeners > 0 {
        let target = "/v1/feed?scope=all&anyone=false".to_owned();
        let moderator = &cast.members[cast.members.len() - 1];
        watches.push((Arc::new(Watch::new(Scope::All)), request(target, &moderator.token)));
    }
    watches
}

/// Reads a thread back and holds it against the conversation.
pub async fn audit(
    reader: &mut Reader,
    swarm: &Swarm,
    conversation: &Conversation,
) -> anyhow::Result<u64> {
    let expected = conversation.shadow.as_ref().map(|shadow| (shadow, &*swarm.cast));
    let record = &conversation.record;
    let claims: Vec<_> = conversation.claim.into_iter().collect();
    reader.claims(record.thread, &claims, &swarm.findings).await?;
    reader.audit(record, expected, &swarm.findings).await
}

async fn audit_along(
    site: &Site,
    swarm: &Arc<Swarm>,
    mut done: mpsc::Receiver<Conversation>,
    audited: &Arc<AtomicU64>,
) -> anyhow::Result<Vec<JoinHandle<anyhow::Result<()>>>> {
    let mut hands = Vec::new();
    let mut auditors = Vec::new();
    for _ in 0..AUDITORS {
        let (hand, mut work) = mpsc::channel::<Conversation>(64);
        hands.push(hand);
        let mut reader = Reader::open(site.address, site.admin()).await?;
        let (swarm, audited) = (Arc::downgrade(swarm), Arc::clone(audited));
        auditors.push(tokio::spawn(async move {
            while let Some(conversation) = work.recv().await {
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
            if hands[next % AUDITORS].send(conversation).await.is_err() {
                return;
            }
            next += 1;
        }
    });
    Ok(auditors)
}

/// Runs the mode.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    let mut site = Site::prepare(options, &[]).await?;
    let mut report = Report::new(options);
    let (scene, _) = Scene::set(options, &site, false).await?;
    let swarm = Arc::clone(&scene.swarm);
    let compares = options.ceiling && options.rate.is_none() && site.is_local();
    let bare = if compares {
        Some(Bare::start(options, options.body + ANSWER_EXTRA_BYTES)?)
    } else {
        None
    };
    let mut conversations: Vec<_> = (0..options.threads).map(|_| swarm.fresh()).collect();
    if !options.warm_up.is_zero() {
        (_, conversations) = one_round(&scene, &site, conversations, options.warm_up).await?;
        rest(site.pid().into_iter().collect()).await?;
    }
    // The rounds share the duration, so that a long swarm stays one long swarm.
    let share = options.duration.div_f64(options.rounds as f64);
    let whole = site.pid().map(Gauge::start);
    for _ in 0..options.rounds {
        if let Some(bare) = &bare {
            bare.round(
                &Options { duration: share.min(Duration::from_secs(10)), ..options.clone() },
                &mut report,
            )
            .await?;
        }
        let (round, resting) = one_round(&scene, &site, conversations, share).await?;
        conversations = resting;
        report.rounds.push(round);
        rest(site.pid().into_iter().collect()).await?;
    }
    if let Some(usage) = whole.map(Gauge::finish) {
        if options.duration >= LEVEL_AFTER {
            memory_level(&usage, &mut report, &scene.findings);
        } else {
            report.figure("server memory at half time, MiB", mib(usage.rss_half));
            report.figure("server memory at the end, MiB", mib(usage.rss_end));
        }
    }
    scene.audits().await;
    scene.check(&site, &conversations).await?;
    finish(scene, &mut report).await?;
    report.count(&swarm.tally);
    report.compare();
    report.note(site.stop());
    Ok(report)
}

async fn finish(scene: Scene, report: &mut Report) -> anyhow::Result<()> {
    let resumed: u64 =
        scene.audience.watches.iter().map(|it| it.resumed.load(Ordering::Relaxed)).sum();
    report.figure("feeds that came back", resumed as f64);
    report.figure("feeds at the beginning", scene.audience.connections() as f64);
    report.figure("conversations begun", scene.swarm.serial.load(Ordering::Relaxed) as f64);
    scene.audience.dismiss();
    let server_errors: u64 = {
        let refused = scene.swarm.tally.refused();
        ["internal", "overloaded", "storage_unavailable", "shutting_down"]
            .iter()
            .filter_map(|reason| refused.get(*reason))
            .sum()
    };
    report.at_most("answers of status 5xx", server_errors as f64, 0.0);
    let audited = scene.audited.load(Ordering::Relaxed);
    report.figure("threads read back as they ended", audited as f64);
    for auditor in scene.auditors {
        if auditor.is_finished() {
            // They end by themselves only when something went wrong.
            auditor.await??;
        }
    }
    let ended = scene.swarm.ended.load(Ordering::Relaxed);
    ensure!(audited == ended, "only {audited} of {ended} threads could be read back");
    report.judge(&scene.findings);
    Ok(())
}

async fn one_round(
    scene: &Scene,
    site: &Site,
    conversations: Vec<Conversation>,
    duration: Duration,
) -> anyhow::Result<(Round, Vec<Conversation>)> {
    let swarm = &scene.swarm;
    let progress = bar(0, "swarm");
    swarm.latencies.clear();
    let before = swarm.tally.acknowledged.load(Ordering::Relaxed);
    let server = site.pid().map(Gauge::start);
    let generator = Gauge::own();
    let begun = clock::now();
    let sleep = async {
        tokio::time::sleep(duration).await;
        Ok(())
    };
    let resting = swarm.run(conversations, &progress, sleep).await;
    let seconds = clock::seconds(clock::now() - begun).max(0.001);
    let generator = generator.finish();
    let server = server.map(Gauge::finish);
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
