//! Concurrent resumption of inbox listeners with a backlog, after a restart and under new acts.

mod follow;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::watch;

use self::follow::{Progress, ResumingListener, cursor_now};
use super::question;
use crate::body::{push_body, push_number};
use crate::clock;
use crate::concurrent::{Acknowledged, acknowledged, post_each};
use crate::http::Connection;
use crate::measure::percentile;
use crate::modes::measurement::{mib, wait_idle};
use crate::options::Options;
use crate::pace::Pace;
use crate::participants::Participants;
use crate::process_sampler::{ProcessSampler, rss};
use crate::report::{Report, bar};
use crate::rng::Rng;
use crate::server::Server;
use crate::socket::Request;
use crate::target::Target;
use crate::verify::Findings;

/// Listeners that share a token: fewer than the cap of feeds for one identity.
const LISTENERS_A_LINE: usize = 500;
/// A thread of only two speakers would reach the loop limit.
const LINES_MIN: usize = 4;
/// Acts of the backlog for each listener, on average.
const ACTS_A_LISTENER: usize = 5;
/// One listener in this many has a backlog of `OWED_MUCH` frames.
const OWED_MUCH_EVERY: usize = 100;
const OWED_MUCH: usize = 100;
/// New acts a second during the resumption, without `--rate`.
const RATE: f64 = 100.0;
/// Feeds that are opened concurrently before the restart.
const OPENING: usize = 128;
const CAUGHT_UP_SECONDS_MAX: f64 = 60.0;
const CAUGHT_UP_PATIENCE: Duration = Duration::from_secs(150);
/// Largest memory for each resuming listener, beside the page cache of the store, which fills
/// meanwhile.
const LISTENER_KIB_MAX: f64 = 64.0;
const CACHE_MIB: f64 = 64.0;

/// Runs the part.
pub async fn run(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    let keys = [
        format!("feed.connections_max={}", options.listeners + 1_000),
        format!("gateway.connections_max={}", options.listeners * 2 + 2_000),
    ];
    let mut target = Target::prepare(options, &keys).await?;
    let lines = options.listeners.div_ceil(LISTENERS_A_LINE).max(LINES_MIN);
    let setup = ResumeSetup::prepare(options, &target, lines).await?;
    let cursors = setup.cursors(&target).await?;
    let mut owed = setup.backlog(options, report).await?;
    let pid = target.pid().context("inbox needs a server of its own")?;
    wait_idle(vec![pid]).await?;
    restart(&mut target)?;
    let played = resume(options, &target, &setup, cursors).await?;
    for (listener, message) in &played.live {
        owed[*listener].push(*message);
    }
    report_outcome(options, &played, report);
    let findings = Findings::default();
    judge(&played, &owed, &findings);
    report.add_findings(&findings);
    report.add_result(target.stop());
    Ok(())
}

fn restart(target: &mut Target) -> anyhow::Result<()> {
    let (server, _) = target.own_server.as_mut().context("inbox needs a server of its own")?;
    let again = |server: &mut Server| {
        server.stop()?;
        server.start_again(None)
    };
    tokio::task::block_in_place(|| again(server))
}

/// The listeners, each with the thread of its question, and the participants that reply.
struct ResumeSetup {
    participants: Arc<Participants>,
    /// Number of bare lines, which reply; they come first. The other participants listen.
    lines: usize,
    threads: Arc<Vec<Acknowledged>>,
    connections: usize,
    address: std::net::SocketAddr,
}

impl ResumeSetup {
    async fn prepare(options: &Options, target: &Target, lines: usize) -> anyhow::Result<Self> {
        let count = lines + options.listeners;
        let participants =
            Arc::new(Participants::create_on_lines(target, count, lines, 0.0).await?);
        let asking = options.clone();
        let progress = bar(options.listeners as u64, "questions of the listeners");
        let envelope = move |index: usize, out: &mut Vec<u8>| {
            question(out, &asking, index);
            lines + index
        };
        let (address, connections) = (target.address, options.connections);
        let asked =
            post_each(address, &participants, connections, options.listeners, &progress, envelope)
                .await?;
        progress.finish_and_clear();
        let threads = Arc::new(asked);
        Ok(Self { participants, lines, threads, connections, address })
    }

    fn request(&self, target: &Target, listener: usize) -> Request {
        let member = &self.participants.members[self.lines + listener];
        let extension = member.extension.as_deref().unwrap_or_default();
        Request {
            address: target.address,
            host: target.host.clone(),
            token: member.token.clone(),
            path: format!("/v1/feed?scope=inbox&anyone=false&extension={extension}"),
        }
    }

    /// Connects every listener once and returns the cursors to resume from.
    async fn cursors(&self, target: &Target) -> anyhow::Result<Vec<String>> {
        let places = Arc::new(tokio::sync::Semaphore::new(OPENING));
        let open = |listener: usize| {
            let (request, places) = (self.request(target, listener), Arc::clone(&places));
            tokio::spawn(async move {
                let _place = places.acquire().await?;
                cursor_now(&request).await
            })
        };
        let opening: Vec<_> = (0..self.threads.len()).map(open).collect();
        let mut cursors = Vec::with_capacity(opening.len());
        for opened in opening {
            cursors.push(opened.await?.context("a listener could not connect")?);
        }
        Ok(cursors)
    }

    /// Posts the backlog: replies to the listeners' questions; returns the messages due to each.
    async fn backlog(
        &self,
        options: &Options,
        report: &mut Report,
    ) -> anyhow::Result<Vec<Vec<u64>>> {
        let counts = owed_counts(options.listeners);
        let most = counts.iter().copied().max().unwrap_or(0);
        let plan: Vec<(usize, usize)> = (0..most)
            .flat_map(|turn| {
                let still = move |(_, count): &(usize, &usize)| **count > turn;
                counts.iter().enumerate().filter(still).map(move |(listener, _)| (listener, turn))
            })
            .collect();
        let listeners: Vec<usize> = plan.iter().map(|(listener, _)| *listener).collect();
        let (threads, lines) = (Arc::clone(&self.threads), self.lines);
        let (seed, body) = (options.seed ^ 0xbac6, options.body);
        let progress = bar(plan.len() as u64, "acts behind");
        let count = plan.len();
        let envelope = move |index: usize, out: &mut Vec<u8>| {
            let (listener, turn) = plan[index];
            reply_to_asker(out, &threads[listener], turn, (seed, index as u64, body));
            (listener + turn) % lines
        };
        let (address, connections) = (self.address, self.connections);
        let sent =
            post_each(address, &self.participants, connections, count, &progress, envelope).await?;
        progress.finish_and_clear();
        report.figure("acts behind", count as f64);
        report.figure("frames owed to one listener, at most", most as f64);
        report.acknowledged += (count + options.listeners) as u64;
        let mut owed = vec![Vec::new(); options.listeners];
        for (listener, act) in listeners.into_iter().zip(sent) {
            owed[listener].push(act.message);
        }
        Ok(owed)
    }
}

/// The number of frames due to each listener: `OWED_MUCH` for a few, the same for all others.
fn owed_counts(listeners: usize) -> Vec<usize> {
    let total = listeners * ACTS_A_LISTENER;
    let much = listeners / OWED_MUCH_EVERY;
    let rest = (total - much * OWED_MUCH) / (listeners - much).max(1);
    let mut counts: Vec<usize> = (0..listeners)
        .map(|listener| {
            let is_much = much > 0 && listener % OWED_MUCH_EVERY == OWED_MUCH_EVERY - 1;
            if is_much { OWED_MUCH } else { rest }
        })
        .collect();
    let missing = total.saturating_sub(counts.iter().sum());
    counts.iter_mut().filter(|count| **count < OWED_MUCH).take(missing).for_each(|it| *it += 1);
    counts
}

/// Appends an act that makes the asker due.
fn reply_to_asker(
    out: &mut Vec<u8>,
    opening: &Acknowledged,
    turn: usize,
    (seed, serial, body): (u64, u64, usize),
) {
    const KINDS: [&str; 3] = ["clarify", "propose", "object"];
    out.extend_from_slice(b"\"kind\":\"");
    out.extend_from_slice(KINDS[turn % KINDS.len()].as_bytes());
    out.extend_from_slice(b"\",\"thread\":\"th_");
    push_number(out, opening.thread);
    out.extend_from_slice(b"\",\"parent\":\"msg_");
    push_number(out, opening.message);
    out.extend_from_slice(b"\",\"body\":\"");
    push_body(out, seed, serial, body);
    out.push(b'"');
}

/// The outcome of the resumption.
struct ResumeOutcome {
    listeners: Vec<ResumingListener>,
    /// Listener and message of each act acknowledged during the resumption.
    live: Vec<(usize, u64)>,
    /// Latency of each of these acts from its due time, in milliseconds.
    millis: Vec<f64>,
    failures: Vec<String>,
    caught_up_seconds: f64,
    retries: u64,
    memory_before: u64,
    memory_most: u64,
    memory_after: u64,
}

async fn resume(
    options: &Options,
    target: &Target,
    setup: &ResumeSetup,
    cursors: Vec<String>,
) -> anyhow::Result<ResumeOutcome> {
    let pid = target.pid().context("inbox needs a server of its own")?;
    wait_idle(vec![pid]).await?;
    let memory_before = rss(pid);
    let sampler = ProcessSampler::start(pid);
    let progress = Arc::new(Progress::default());
    let (stop, stopped) = watch::channel(false);
    let count = cursors.len() as u64;
    let begun = clock::now();
    let following: Vec<_> = cursors
        .into_iter()
        .enumerate()
        .map(|(listener, cursor)| {
            let request = setup.request(target, listener);
            let listener = ResumingListener::new(cursor, Arc::clone(&progress));
            tokio::spawn(listener.follow(request, begun, stopped.clone()))
        })
        .collect();
    let (stop_writer, writer_stopped) = watch::channel(false);
    let writer = tokio::spawn(SteadyWriter::new(options, setup).run(writer_stopped));
    progress.wait(count, &progress.caught_up, CAUGHT_UP_PATIENCE).await;
    let caught_up_seconds = clock::seconds(clock::now() - begun);
    // Acts go on for a second after the replays, so that the switch to live is covered.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let _ = stop_writer.send(true);
    let writer = writer.await?;
    let owed: usize = owed_counts(options.listeners).iter().sum::<usize>() + writer.live.len();
    progress.wait(owed as u64, &progress.frames, Duration::from_secs(20)).await;
    // Superfluous frames get the time to arrive, so that they are reported.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let memory_after = rss(pid);
    let usage = sampler.finish();
    let _ = stop.send(true);
    let mut followers = Vec::with_capacity(following.len());
    for listener in following {
        followers.push(listener.await?);
    }
    let retries = followers.iter().map(|listener| listener.retries).sum();
    let SteadyWriter { live, millis, failures, .. } = writer;
    let memory_most = usage.rss_max;
    Ok(ResumeOutcome {
        listeners: followers,
        live,
        millis,
        failures,
        caught_up_seconds,
        retries,
        memory_before,
        memory_most,
        memory_after,
    })
}

/// Posts at a steady rate, independently of the resumption.
struct SteadyWriter {
    participants: Arc<Participants>,
    lines: usize,
    threads: Arc<Vec<Acknowledged>>,
    address: std::net::SocketAddr,
    rate: f64,
    seed: u64,
    body: usize,
    live: Vec<(usize, u64)>,
    millis: Vec<f64>,
    failures: Vec<String>,
}

impl SteadyWriter {
    fn new(options: &Options, setup: &ResumeSetup) -> Self {
        Self {
            participants: Arc::clone(&setup.participants),
            lines: setup.lines,
            threads: Arc::clone(&setup.threads),
            address: setup.address,
            rate: options.rate.unwrap_or(RATE),
            seed: options.seed ^ 0x11fe,
            body: options.body,
            live: Vec::new(),
            millis: Vec::new(),
            failures: Vec::new(),
        }
    }

    async fn run(mut self, stopped: watch::Receiver<bool>) -> Self {
        let mut pace = Pace::new(clock::now(), self.rate, 1.0, 0, 1);
        let mut rng = Rng::new(self.seed, 0);
        let mut connection = None;
        let mut serial = 0;
        while !*stopped.borrow() {
            let due = pace.next();
            tokio::time::sleep_until(tokio::time::Instant::from_std(due)).await;
            let listener = rng.below(self.threads.len() as u64) as usize;
            match self.post(&mut connection, listener, serial).await {
                Ok(message) => {
                    self.millis.push(clock::micros_since(due) as f64 / 1000.0);
                    self.live.push((listener, message));
                }
                Err(error) => {
                    connection = None;
                    self.failures.push(error.to_string());
                }
            }
            serial += 1;
        }
        self
    }

    async fn post(
        &self,
        connection: &mut Option<Connection>,
        listener: usize,
        serial: usize,
    ) -> anyhow::Result<u64> {
        let mut members = vec![b'{'];
        let opening = &self.threads[listener];
        reply_to_asker(&mut members, opening, serial, (self.seed, serial as u64, self.body));
        members.push(b'}');
        let mut request = Vec::new();
        self.participants.members[serial % self.lines].caller.write_message(&mut request, &members);
        let connection = match connection {
            Some(connection) => connection,
            None => connection.insert(Connection::open(self.address).await?),
        };
        Ok(acknowledged(connection.call(&request).await?)?.message)
    }
}

fn report_outcome(options: &Options, played: &ResumeOutcome, report: &mut Report) {
    let ResumeOutcome { memory_before, memory_most, .. } = played;
    report.figure("listeners that resumed at once", played.listeners.len() as f64);
    report.figure("resumes that were refused and tried again", played.retries as f64);
    report.at_most("all caught up, s", played.caught_up_seconds, CAUGHT_UP_SECONDS_MAX);
    let caught: Vec<f64> = played.listeners.iter().filter_map(|it| it.caught_up).collect();
    report.figure("caught up, median s", percentile(&caught, 0.5));
    report.figure("server memory before all resume, MiB", mib(*memory_before));
    report.figure("server memory while all resume, most, MiB", mib(*memory_most));
    report.figure("server memory once all have resumed, MiB", mib(played.memory_after));
    let more = mib(memory_most.saturating_sub(*memory_before));
    let bound = CACHE_MIB + LISTENER_KIB_MAX * options.listeners as f64 / 1024.0;
    report.at_most("server memory while all resume, more MiB", more, bound);
    report.figure("acts acknowledged meanwhile", played.live.len() as f64);
    report.figure("acts meanwhile, p99 ms", percentile(&played.millis, 0.99));
    report.at_most("acts meanwhile that failed", played.failures.len() as f64, 0.0);
    report.acknowledged += played.live.len() as u64;
    report.failed += played.failures.len() as u64;
    report.failures.extend(played.failures.iter().take(5).cloned());
}

/// Checks that each listener received the frames due to it, in order and once, and `caught_up`.
fn judge(played: &ResumeOutcome, owed: &[Vec<u64>], findings: &Findings) {
    for (index, (listener, owed)) in played.listeners.iter().zip(owed).enumerate() {
        for wrong in &listener.violations {
            findings.add(format!("listener {index}: {wrong}"));
        }
        if listener.caught_up.is_none() {
            findings.add(format!("listener {index} was never caught up"));
        }
        let mut owed = owed.clone();
        owed.sort_unstable();
        if listener.received != owed {
            let (received, owed) = (listener.received.len(), owed.len());
            findings.add(format!(
                "listener {index} received {received} of {owed} frames, or in another order"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the backlog has its size and no listener's part exceeds its bound. Method: some sizes.
    #[test]
    fn shares() {
        for listeners in [1, 7, 100, 250, 10_000] {
            let counts = owed_counts(listeners);
            assert_eq!(counts.iter().sum::<usize>(), listeners * ACTS_A_LISTENER, "{listeners}");
            assert!(counts.iter().all(|count| (1..=OWED_MUCH).contains(count)), "{listeners}");
        }
    }
}
