//! `fanout`: many listeners in scope `all`, alternating with the ceiling for feeds.

use std::sync::Arc;

use anyhow::Context as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::stalled::{self, StalledListeners};
use crate::body::push_body;
use crate::ceiling::feed::CONTROL;
use crate::ceiling::{CeilingKind, CeilingProcess};
use crate::clock;
use crate::fanout_tracker::{FanoutListener, FanoutTracker, Received};
use crate::measure::median;
use crate::modes::measurement::{self, wait_idle};
use crate::options::Options;
use crate::pace::Pace;
use crate::participants::Participants;
use crate::process_sampler::ProcessSampler;
use crate::report::{Report, Round, bar};
use crate::round::RoundSpec;
use crate::scan;
use crate::socket::{Feed, Request};
use crate::target::Target;
use crate::verify::feed::{FeedChecker, completeness};
use crate::verify::{Findings, readback};
use crate::write_load::WriteLoad;

/// Listeners of one participant: keeps the feeds of an identity, which has eight, below their cap.
const LISTENERS_A_MEMBER: usize = 6;
/// Up to this many frames a second, p99 of their arrival is at most `ARRIVAL_MS_MAX`.
const FRAMES_CARRIED: f64 = 100_000.0;
const ARRIVAL_MS_MAX: f64 = 50.0;

/// Runs the mode.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    let mut target = Target::prepare(options, &[]).await?;
    let mut report = Report::new(options);
    let all = options.listeners + options.slow_listeners;
    let participant_count = options.agents.max(all / LISTENERS_A_MEMBER);
    let participants =
        Arc::new(Participants::create(&target, participant_count, options.mcp).await?);
    let load = WriteLoad::forum(
        target.address,
        Arc::clone(&participants),
        options.threads,
        options.body,
        options.seed,
    );
    let load = Arc::new(load);
    load.open_threads(options.connections, 0, &indicatif::ProgressBar::hidden()).await?;
    measurement::warm_up(options, &target, &load).await?;
    let process = if options.ceiling && target.is_local() {
        Some(CeilingProcess::start(CeilingKind::Feeds, &[])?)
    } else {
        None
    };
    let progress = bar(options.rounds as u64, "rounds");
    let mut beside = Vec::new();
    let mut cut = 0.0;
    for _ in 0..options.rounds {
        let sample =
            forum_round(options, &target, &participants, &load, &mut report, 0).await?.sample;
        wait_idle(target.pid().into_iter().collect()).await?;
        if options.slow_listeners > 0 {
            let slow = options.slow_listeners;
            cut +=
                forum_round(options, &target, &participants, &load, &mut report, slow).await?.cut;
            beside.extend(report.rounds.pop());
            wait_idle(target.pid().into_iter().collect()).await?;
        }
        if let Some(process) = &process {
            let sample = String::from_utf8(sample).context("a frame that is not text")?;
            ceiling_round(options, process, &sample, &load.findings, &mut report).await?;
            wait_idle(vec![process.pid()]).await?;
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    let reading = indicatif::ProgressBar::hidden();
    let records = load.records();
    readback::threads(target.address, &target.admin(), records, &load.findings, &reading).await?;
    report.add_tally(&load.tally);
    report.add_findings(&load.findings);
    report.compare();
    judge_steady(options, &mut report);
    if options.slow_listeners > 0 {
        let expected = (options.slow_listeners * options.rounds) as f64;
        stalled::compare(&mut report, &beside);
        report.at_least("slow listeners that were cut off with 4008", cut, expected);
        report.rounds.append(&mut beside);
    }
    report.add_result(target.stop());
    Ok(report)
}

/// Adds the bound on the time of arrival, if the rate of frames is below `FRAMES_CARRIED`.
fn judge_steady(options: &Options, report: &mut Report) {
    let frames = options.rate.map(|rate| rate * options.listeners as f64);
    if frames.is_some_and(|frames| frames <= FRAMES_CARRIED) {
        let p99s: Vec<f64> = report.rounds.iter().map(|round| round.latency.p99_ms).collect();
        let what = "p99 from acknowledgement to arrival, ms";
        report.at_most(what, median(&p99s), ARRIVAL_MS_MAX);
    }
}

/// A frame of the form that the specification shows, for a ceiling without a forum.
const SAMPLE: &str = concat!(
    r#"{"type":"message","cursor":"16.1.0123456789abcdef","message":{"id":"msg_1000001","#,
    r#""thread":"th_1001","parent":null,"kind":"inform","from":{"identity":"local:load-1","#,
    r#""extension":"worker-1"},"author_kind":"llm","label":null,"body":"BODY","provenance":null,"#,
    r#""created_at":"2026-11-29T20:00:00.000Z","awaiting":{"message":"msg_1001","due":"anyone","#,
    r#""since":"2026-11-29T20:00:00.000Z"},"retracted":null},"thread":{"id":"th_1001","#,
    r#""number":1001,"created_at":"2026-11-29T20:00:00.000Z","#,
    r#""updated_at":"2026-11-29T20:00:00.000Z","creator":{"identity":"local:load-2","#,
    r#""extension":null},"author_kind":"llm","subject":"SUBJECT","state":"open","#,
    r#""state_origin":"llm","state_confirmed_at":null,"state_label":null,"locked":false,"#,
    r#""awaiting":{"message":"msg_1001","due":"anyone","since":"2026-11-29T20:00:00.000Z"},"#,
    r#""turn":"anyone","message_count":17,"claim_count":0,"cursor":"16.1.0123456789abcdef"}}"#,
);

/// Runs the ceiling for feeds alone, with a made-up frame.
pub async fn ceiling(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    let process = CeilingProcess::start(CeilingKind::Feeds, &[])?;
    let mut body = Vec::new();
    push_body(&mut body, options.seed, 0, options.body);
    let body = String::from_utf8_lossy(&body).into_owned();
    let sample = SAMPLE.replace("BODY", &body).replace("SUBJECT", &body[..32]);
    let findings = Arc::default();
    for _ in 0..options.rounds {
        ceiling_round(options, &process, &sample, &findings, report).await?;
        wait_idle(vec![process.pid()]).await?;
    }
    report.add_findings(&findings);
    Ok(())
}

fn request(target: &Target, participants: &Participants, index: usize) -> Request {
    let member = &participants.members[index % participants.members.len()];
    // Without questions to anyone, whose frames differ between listeners, all receive the same.
    let path = "/v1/feed?scope=all&anyone=false&extension=listener".to_owned();
    Request {
        address: target.address,
        host: target.host.clone(),
        token: member.token.clone(),
        path,
    }
}

struct RunningListeners {
    tracker: Arc<FanoutTracker>,
    listeners: Vec<JoinHandle<Received>>,
    stop: watch::Sender<bool>,
}

impl RunningListeners {
    async fn begin(tracker: Arc<FanoutTracker>, requests: Vec<Request>) -> anyhow::Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let mut opened = Vec::with_capacity(requests.len());
        for request in &requests {
            opened.push(FanoutListener::open(request, false).await.context("a listener")?);
        }
        let listen = |(index, listener): (usize, FanoutListener)| {
            listener.listen(Arc::clone(&tracker), index, stopped.clone())
        };
        let listeners = opened.into_iter().enumerate().map(listen).collect();
        tokio::spawn(Arc::clone(&tracker).watch_slowest());
        Ok(Self { tracker, listeners, stop })
    }

    /// Waits for `count` frames, compares all listeners with the first and returns its frames.
    async fn end(self, count: u64, findings: &Findings) -> anyhow::Result<Received> {
        self.tracker.settle(count).await;
        let _ = self.stop.send(true);
        let mut first: Option<Received> = None;
        for (index, listener) in self.listeners.into_iter().enumerate() {
            let received = listener.await?;
            if let Some((code, reason)) = &received.closed {
                findings.add(format!("listener {index} was cut off: {code} {reason}"));
            }
            match &first {
                None => first = Some(received),
                Some(first) => compare_received(index, &first.checker, &received.checker, findings),
            }
        }
        first.context("no listener")
    }
}

fn compare_received(index: usize, first: &FeedChecker, other: &FeedChecker, findings: &Findings) {
    if first.items != other.items || first.order != other.order {
        let (one, two) = (first.items, other.items);
        findings.add(format!(
            "listener {index} received {two} frames, the first {one}, or in another order"
        ));
    } else if first.bytes != other.bytes {
        findings.add(format!("listener {index} received the same positions, but other bytes"));
    }
}

/// The outcome of a round on the forum.
struct ForumRound {
    /// A message frame, to be sent by the ceiling.
    sample: Vec<u8>,
    /// Number of slow listeners that were cut off with 4008.
    cut: f64,
}

/// Runs one round on the forum, beside `slow` listeners that stop reading.
async fn forum_round(
    options: &Options,
    target: &Target,
    participants: &Participants,
    load: &Arc<WriteLoad>,
    report: &mut Report,
    slow: usize,
) -> anyhow::Result<ForumRound> {
    let first = load.next_serial();
    let findings = Arc::clone(&load.findings);
    let closed = options.rate.is_none();
    let tracker =
        FanoutTracker::new(options.listeners, options.seed, first, closed, Arc::clone(&findings));
    let requests =
        (0..options.listeners).map(|index| request(target, participants, index)).collect();
    let cut_before = if slow > 0 { StalledListeners::cut_total(target).await? } else { 0.0 };
    let stalling = (0..slow).map(|index| request(target, participants, index)).collect();
    let stalled = StalledListeners::begin(stalling, &findings).await?;
    let listening = RunningListeners::begin(Arc::clone(&tracker), requests).await?;
    let before: Vec<u64> = acknowledged_messages(load);
    let spec = RoundSpec::of(options);
    load.track(Some(Arc::clone(&tracker)));
    let server = target.pid().map(ProcessSampler::start);
    let generator = ProcessSampler::of_generator();
    let begun = clock::now();
    let quiet = indicatif::ProgressBar::hidden();
    let loading = async {
        let outcome = load.run_round(spec, &quiet).await?;
        listening.end(outcome.acknowledged, &findings).await
    };
    tokio::pin!(loading);
    let received = tokio::select! {
        received = &mut loading => received?,
        woken = stalled.read_when_cut(target, cut_before), if slow > 0 => {
            woken?;
            loading.await?
        }
    };
    let seconds = clock::seconds(clock::now() - begun);
    load.track(None);
    report.rounds.push(Round {
        name: if slow > 0 { "beside slow" } else { "fanout" }.to_owned(),
        seconds,
        per_second: (received.checker.items * options.listeners as u64) as f64 / seconds,
        latency: (&tracker.latencies.merged(None)).into(),
        server: server.map(ProcessSampler::finish),
        generator: generator.finish(),
    });
    let mut expected = acknowledged_messages(load);
    expected.retain(|id| before.binary_search(id).is_err());
    findings.check(completeness(received.messages, expected));
    let outcomes = stalled.end(&received.checker, &findings).await?;
    let cut = outcomes.iter().filter(|outcome| outcome.cut).count() as f64;
    Ok(ForumRound { sample: received.sample, cut })
}

/// The numbers of all acknowledged messages, sorted.
fn acknowledged_messages(load: &WriteLoad) -> Vec<u64> {
    let mut ids: Vec<u64> =
        load.records().iter().flat_map(|it| it.acknowledged.iter().map(|(id, _)| *id)).collect();
    ids.sort_unstable();
    ids
}

/// Runs one round of the ceiling, which sends the forum's frame with other numbers.
async fn ceiling_round(
    options: &Options,
    process: &CeilingProcess,
    sample: &str,
    findings: &Arc<Findings>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let closed = options.rate.is_none();
    let tracker =
        FanoutTracker::new(options.listeners, options.seed, 0, closed, Arc::clone(findings));
    let to = |path: &str| Request {
        address: process.address,
        host: process.address.to_string(),
        token: "none".to_owned(),
        path: path.to_owned(),
    };
    let requests = (0..options.listeners).map(|_| to("/v1/feed")).collect();
    let listening = RunningListeners::begin(Arc::clone(&tracker), requests).await?;
    let mut control = Feed::open(&to(CONTROL)).await?;
    let position = scan::frame_position(sample.as_bytes()).context("a frame without a cursor")?;
    let old = format!("\"cursor\":\"{position}.");
    let body = scan::text(sample.as_bytes(), b"\"body\":\"").context("a frame without a body")?;
    let body = String::from_utf8_lossy(body).into_owned();
    let server = ProcessSampler::start(process.pid());
    let generator = ProcessSampler::of_generator();
    let begun = clock::now();
    let mut pace = options.rate.map(|rate| Pace::new(begun, rate, options.burst, 0, 1));
    let mut count = 0;
    while clock::now() - begun < options.duration {
        if let Some(pace) = &mut pace {
            tokio::time::sleep_until(tokio::time::Instant::from_std(pace.next())).await;
        }
        tracker.wait_for_window().await;
        let mut text = Vec::new();
        push_body(&mut text, options.seed, count, body.len());
        let text = String::from_utf8_lossy(&text).into_owned();
        let new = format!("\"cursor\":\"{}.", position + 16 * (count + 1));
        control.send(sample.replace(&old, &new).replace(&body, &text).as_bytes()).await?;
        tracker.acknowledge(count);
        count += 1;
    }
    let received = listening.end(count, findings).await?;
    let seconds = clock::seconds(clock::now() - begun);
    if received.checker.items != count {
        findings
            .add(format!("the ceiling itself lost frames: {} of {count}", received.checker.items));
    }
    report.ceiling_rounds.push(Round {
        name: "feed ceiling".to_owned(),
        seconds,
        per_second: (count * options.listeners as u64) as f64 / seconds,
        latency: (&tracker.latencies.merged(None)).into(),
        server: Some(server.finish()),
        generator: generator.finish(),
    });
    // The ceiling drops closed listeners when it sends the next frame.
    let _ = control.send(b"{\"type\":\"bye\",\"cursor\":\"0.1.x\"}").await;
    Ok(())
}
