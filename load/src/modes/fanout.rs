//! `fanout`: many listeners of everything, beside what the plain WebSocket library does.

use std::sync::Arc;

use anyhow::Context as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::rest;
use super::stalled::{self, Stalled};
use crate::body::push_body;
use crate::cast::Cast;
use crate::ceiling::{self, Playing};
use crate::ceiling_feed::CONTROL;
use crate::clock;
use crate::fan::{Ear, Fan, Heard};
use crate::gauge::Gauge;
use crate::measure::median;
use crate::options::Options;
use crate::pace::Pace;
use crate::report::{Report, Round, bar};
use crate::scan;
use crate::site::Site;
use crate::socket::{Feed, Request};
use crate::verify::feed::{Tape, completeness};
use crate::verify::{Findings, readback};
use crate::work::{Course, Work};

/// Keeps the feeds of one identity below their cap: a token has eight members.
const LISTENERS_A_MEMBER: usize = 6;
/// So many frames a second arrive within `ARRIVAL_MS_MAX`, but for one in a hundred.
const FRAMES_CARRIED: f64 = 100_000.0;
const ARRIVAL_MS_MAX: f64 = 50.0;

/// Runs the mode.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    let mut site = Site::prepare(options, &[]).await?;
    let mut report = Report::new(options);
    let all = options.listeners + options.slow_listeners;
    let hired = options.agents.max(all / LISTENERS_A_MEMBER);
    let cast = Arc::new(Cast::hire(&site, hired, options.mcp).await?);
    let work =
        Work::forum(site.address, Arc::clone(&cast), options.threads, options.body, options.seed);
    let work = Arc::new(work);
    work.fill(options.connections, 0, &indicatif::ProgressBar::hidden()).await?;
    super::warm_up(options, &site, &work).await?;
    let playing = if options.ceiling && site.is_local() {
        Some(Playing::start(ceiling::FEEDS, &[])?)
    } else {
        None
    };
    let progress = bar(options.rounds as u64, "rounds");
    let mut beside = Vec::new();
    let mut cut = 0.0;
    for _ in 0..options.rounds {
        let sample = forum_round(options, &site, &cast, &work, &mut report, 0).await?.sample;
        rest(site.pid().into_iter().collect()).await?;
        if options.slow_listeners > 0 {
            let slow = options.slow_listeners;
            cut += forum_round(options, &site, &cast, &work, &mut report, slow).await?.cut;
            beside.extend(report.rounds.pop());
            rest(site.pid().into_iter().collect()).await?;
        }
        if let Some(playing) = &playing {
            let sample = String::from_utf8(sample).context("a frame that is no text")?;
            ceiling_round(options, playing, &sample, &work.findings, &mut report).await?;
            rest(vec![playing.pid()]).await?;
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    let reading = indicatif::ProgressBar::hidden();
    let records = work.records();
    readback::threads(site.address, &site.admin(), records, &work.findings, &reading).await?;
    report.count(&work.tally);
    report.judge(&work.findings);
    report.compare();
    steady(options, &mut report);
    if options.slow_listeners > 0 {
        let expected = (options.slow_listeners * options.rounds) as f64;
        stalled::compare(&mut report, &beside);
        report.at_least("slow listeners that were cut off with 4008", cut, expected);
        report.rounds.append(&mut beside);
    }
    report.note(site.stop());
    Ok(report)
}

/// At a rate that the machine must carry, frames arrive in time.
fn steady(options: &Options, report: &mut Report) {
    let frames = options.rate.map(|rate| rate * options.listeners as f64);
    if frames.is_some_and(|frames| frames <= FRAMES_CARRIED) {
        let p99s: Vec<f64> = report.rounds.iter().map(|round| round.latency.p99_ms).collect();
        let what = "p99 from acknowledgement to arrival, ms";
        report.at_most(what, median(&p99s), ARRIVAL_MS_MAX);
    }
}

/// A frame as the specification shows it, for a ceiling without a forum to take one from.
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

/// The ceiling of feeds alone, with a frame made up.
pub async fn ceiling(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    let playing = Playing::start(ceiling::FEEDS, &[])?;
    let mut body = Vec::new();
    push_body(&mut body, options.seed, 0, options.body);
    let body = String::from_utf8_lossy(&body).into_owned();
    let sample = SAMPLE.replace("BODY", &body).replace("SUBJECT", &body[..32]);
    let findings = Arc::default();
    for _ in 0..options.rounds {
        ceiling_round(options, &playing, &sample, &findings, report).await?;
        rest(vec![playing.pid()]).await?;
    }
    report.judge(&findings);
    Ok(())
}

fn request(site: &Site, cast: &Cast, index: usize) -> Request {
    let member = &cast.members[index % cast.members.len()];
    // Open questions would come to each listener in frames of its own; here all hear the same.
    let target = "/v1/feed?scope=all&anyone=false&extension=ear".to_owned();
    Request { address: site.address, host: site.host.clone(), token: member.token.clone(), target }
}

struct Listening {
    fan: Arc<Fan>,
    ears: Vec<JoinHandle<Heard>>,
    stop: watch::Sender<bool>,
}

impl Listening {
    async fn begin(fan: Arc<Fan>, requests: Vec<Request>) -> anyhow::Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let mut opened = Vec::with_capacity(requests.len());
        for request in &requests {
            opened.push(Ear::open(request, false).await.context("a listener")?);
        }
        let listen =
            |(index, ear): (usize, Ear)| ear.listen(Arc::clone(&fan), index, stopped.clone());
        let ears = opened.into_iter().enumerate().map(listen).collect();
        tokio::spawn(Arc::clone(&fan).watch_slowest());
        Ok(Self { fan, ears, stop })
    }

    /// Waits for the rest and compares all with the first; gives what that one heard.
    async fn end(self, count: u64, findings: &Findings) -> anyhow::Result<Heard> {
        self.fan.settle(count).await;
        let _ = self.stop.send(true);
        let mut first: Option<Heard> = None;
        for (index, ear) in self.ears.into_iter().enumerate() {
            let heard = ear.await?;
            if let Some((code, reason)) = &heard.closed {
                findings.add(format!("listener {index} was cut off: {code} {reason}"));
            }
            match &first {
                None => first = Some(heard),
                Some(first) => same(index, &first.tape, &heard.tape, findings),
            }
        }
        first.context("no listener")
    }
}

fn same(index: usize, first: &Tape, other: &Tape, findings: &Findings) {
    if first.items != other.items || first.order != other.order {
        let (one, two) = (first.items, other.items);
        findings.add(format!(
            "listener {index} heard {two} frames, the first {one}, or in another order"
        ));
    } else if first.bytes != other.bytes {
        findings.add(format!("listener {index} heard the same places, but other bytes"));
    }
}

/// What a round on the forum leaves behind.
struct Played {
    /// A frame as a sample.
    sample: Vec<u8>,
    /// How many slow listeners were cut off as such.
    cut: f64,
}

/// One round on the forum, beside so many slow listeners.
async fn forum_round(
    options: &Options,
    site: &Site,
    cast: &Cast,
    work: &Arc<Work>,
    report: &mut Report,
    slow: usize,
) -> anyhow::Result<Played> {
    let first = work.next_serial();
    let findings = Arc::clone(&work.findings);
    let closed = options.rate.is_none();
    let fan = Fan::new(options.listeners, options.seed, first, closed, Arc::clone(&findings));
    let requests = (0..options.listeners).map(|index| request(site, cast, index)).collect();
    let cut_before = if slow > 0 { Stalled::cut(site).await? } else { 0.0 };
    let stalling = (0..slow).map(|index| request(site, cast, index)).collect();
    let stalled = Stalled::begin(stalling, &findings).await?;
    let listening = Listening::begin(Arc::clone(&fan), requests).await?;
    let before: Vec<u64> = messages(work);
    let course = Course {
        connections: options.connections,
        duration: options.duration,
        rate: options.rate,
        burst: options.burst,
        slices: 1,
    };
    work.attach(Some(Arc::clone(&fan)));
    let server = site.pid().map(Gauge::start);
    let generator = Gauge::own();
    let begun = clock::now();
    let quiet = indicatif::ProgressBar::hidden();
    let loading = async {
        let outcome = work.round(course, &quiet).await?;
        listening.end(outcome.acknowledged, &findings).await
    };
    tokio::pin!(loading);
    let heard = tokio::select! {
        heard = &mut loading => heard?,
        woken = stalled.wake_when_cut(site, cut_before), if slow > 0 => {
            woken?;
            loading.await?
        }
    };
    let seconds = clock::seconds(clock::now() - begun);
    work.attach(None);
    report.rounds.push(Round {
        name: if slow > 0 { "beside slow" } else { "fanout" }.to_owned(),
        seconds,
        per_second: (heard.tape.items * options.listeners as u64) as f64 / seconds,
        latency: (&fan.latencies.merged(None)).into(),
        server: server.map(Gauge::finish),
        generator: generator.finish(),
    });
    let mut expected = messages(work);
    expected.retain(|id| before.binary_search(id).is_err());
    findings.check(completeness(heard.messages, expected));
    let outcomes = stalled.end(&heard.tape, &findings).await?;
    let cut = outcomes.iter().filter(|outcome| outcome.cut).count() as f64;
    Ok(Played { sample: heard.sample, cut })
}

/// Sorted numbers of all acknowledged messages.
fn messages(work: &Work) -> Vec<u64> {
    let mut ids: Vec<u64> =
        work.records().iter().flat_map(|it| it.acknowledged.iter().map(|(id, _)| *id)).collect();
    ids.sort_unstable();
    ids
}

/// The plain library sends what the forum sent: the same bytes but for the numbers.
async fn ceiling_round(
    options: &Options,
    playing: &Playing,
    sample: &str,
    findings: &Arc<Findings>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let closed = options.rate.is_none();
    let fan = Fan::new(options.listeners, options.seed, 0, closed, Arc::clone(findings));
    let to = |target: &str| Request {
        address: playing.address,
        host: playing.address.to_string(),
        token: "none".to_owned(),
        target: target.to_owned(),
    };
    let requests = (0..options.listeners).map(|_| to("/v1/feed")).collect();
    let listening = Listening::begin(Arc::clone(&fan), requests).await?;
    let mut control = Feed::open(&to(CONTROL)).await?;
    let position = scan::frame_position(sample.as_bytes()).context("a frame without a cursor")?;
    let old = format!("\"cursor\":\"{position}.");
    let body = scan::text(sample.as_bytes(), b"\"body\":\"").context("a frame without a body")?;
    let body = String::from_utf8_lossy(body).into_owned();
    let server = Gauge::start(playing.pid());
    let generator = Gauge::own();
    let begun = clock::now();
    let mut pace = options.rate.map(|rate| Pace::new(begun, rate, options.burst, 0, 1));
    let mut count = 0;
    while clock::now() - begun < options.duration {
        if let Some(pace) = &mut pace {
            tokio::time::sleep_until(tokio::time::Instant::from_std(pace.next())).await;
        }
        fan.take_room().await;
        let mut text = Vec::new();
        push_body(&mut text, options.seed, count, body.len());
        let text = String::from_utf8_lossy(&text).into_owned();
        let new = format!("\"cursor\":\"{}.", position + 16 * (count + 1));
        control.send(sample.replace(&old, &new).replace(&body, &text).as_bytes()).await?;
        fan.acknowledge(count);
        count += 1;
    }
    let heard = listening.end(count, findings).await?;
    let seconds = clock::seconds(clock::now() - begun);
    if heard.tape.items != count {
        findings.add(format!("the ceiling itself lost frames: {} of {count}", heard.tape.items));
    }
    report.ceiling_rounds.push(Round {
        name: "feed ceiling".to_owned(),
        seconds,
        per_second: (count * options.listeners as u64) as f64 / seconds,
        latency: (&fan.latencies.merged(None)).into(),
        server: Some(server.finish()),
        generator: generator.finish(),
    });
    // Listeners that hang up are noticed by the ceiling with the next frame only.
    let _ = control.send(b"{\"type\":\"bye\",\"cursor\":\"0.1.x\"}").await;
    Ok(())
}
