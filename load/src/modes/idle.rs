//! `idle`: what a resident thread, a sleeping one, a listener and a bare actor cost in memory.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::rest;
use crate::cast::Cast;
use crate::ceiling::{self, Playing};
use crate::clock;
use crate::gauge::rss;
use crate::options::Options;
use crate::report::{Report, bar};
use crate::site::Site;
use crate::socket::{Feed, Frame, Request};
use crate::verify::ledger::Record;
use crate::verify::readback::{self, Reader};
use crate::wire::Operation;
use crate::work::Work;

/// Keeps the page cache of the store out of the comparison.
const CACHE: &str = "store.cache_bytes=67108864";
const ACTORS: usize = 100_000;
/// So many threads are woken to see how long it takes.
const WOKEN: usize = 500;

/// Of more threads than this, a part is read back.
const READ_BACK_MAX: usize = 100_000;
/// Keeps the feeds of one identity, which has eight members, below their cap.
const LISTENERS_A_MEMBER: usize = 6;

/// Runs the mode.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    let mut report = Report::new(options);
    actors(&mut report)?;
    let awake = vec![
        CACHE.to_owned(),
        "runtime.idle_seconds=3600".to_owned(),
        format!("runtime.resident_threads_max={}", options.threads + 1000),
    ];
    let mut site = Site::prepare(options, &awake).await?;
    let count = options.agents.max(options.listeners / LISTENERS_A_MEMBER);
    let cast = Arc::new(Cast::hire(&site, count, 0.0).await?);
    let first = (options.threads / 10).max(1);
    let mut records = create(options, &site, &cast, first, 1, &mut report).await?;
    let early = quiet_rss(&site).await?;
    let early_resident = gauge(&site, "parley_threads_resident").await?;
    records.extend(create(options, &site, &cast, options.threads - first, 2, &mut report).await?);
    let late = quiet_rss(&site).await?;
    let resident = gauge(&site, "parley_threads_resident").await?;
    let risen = resident - early_resident;
    let created = (options.threads - first) as f64;
    if risen < created * 0.9 {
        let told = format!("only {risen} of {created} threads became resident, by the gauge");
        report.note(Err(anyhow::anyhow!(told)));
    }
    let each = (late as f64 - early as f64) / created.max(1.0);
    report.figure("threads resident (by the server's gauge)", resident);
    report.figure("memory, first tenth resident, MiB", early as f64 / 1_048_576.0);
    report.figure("memory, all resident, MiB", late as f64 / 1_048_576.0);
    report.figure("bytes a resident thread", each);

    asleep(options, &mut site, &records, &mut report).await?;
    listeners(options, &site, &cast, &mut report).await?;

    let findings = Arc::default();
    let step = records.len().div_ceil(READ_BACK_MAX);
    let records: Vec<_> = records.into_iter().step_by(step).collect();
    report.figure("threads read back", records.len() as f64);
    let reading = bar(records.len() as u64, "reading back");
    readback::threads(site.address, &site.admin(), records, &findings, &reading).await?;
    reading.finish_and_clear();
    report.judge(&findings);
    report.note(site.stop());
    Ok(report)
}

/// Opens threads of one message each.
async fn create(
    options: &Options,
    site: &Site,
    cast: &Arc<Cast>,
    count: usize,
    stage: u64,
    report: &mut Report,
) -> anyhow::Result<Vec<Record>> {
    let seed = options.seed ^ (stage << 32);
    let work = Work::forum(site.address, Arc::clone(cast), count, options.body, seed);
    let work = Arc::new(work);
    let progress = bar(count as u64, "opening threads");
    work.fill(options.connections, 0, &progress).await?;
    progress.finish_and_clear();
    report.count(&work.tally);
    report.judge(&work.findings);
    Ok(work.records())
}

/// Bare idle actors, against a process without any.
fn actors(report: &mut Report) -> anyhow::Result<()> {
    let measure = |count: usize| {
        let playing = Playing::start(ceiling::ACTORS, &[count.to_string()])?;
        std::thread::sleep(Duration::from_millis(300));
        anyhow::Ok(rss(playing.pid()))
    };
    let (none, many) = (measure(0)?, measure(ACTORS)?);
    report.figure("bytes an idle ractor actor", (many as f64 - none as f64) / ACTORS as f64);
    Ok(())
}

async fn quiet_rss(site: &Site) -> anyhow::Result<u64> {
    let pid = site.pid().context("idle needs a server of its own")?;
    rest(vec![pid]).await?;
    Ok(rss(pid))
}

/// Reads one gauge from `/metrics`.
async fn gauge(site: &Site, name: &str) -> anyhow::Result<f64> {
    let mut reader = Reader::open(site.address, site.admin()).await?;
    let read = Operation::read("", "/metrics".into(), String::new(), &[]);
    let text = String::from_utf8_lossy(reader.read(&read).await?).into_owned();
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        .with_context(|| format!("no gauge {name} in /metrics"))
}

/// The same folder with a server whose threads fall asleep at once.
async fn asleep(
    options: &Options,
    site: &mut Site,
    records: &[Record],
    report: &mut Report,
) -> anyhow::Result<()> {
    let (server, _) = site.own.as_mut().context("idle needs a server of its own")?;
    report.note(server.stop());
    let begun = clock::now();
    let mut set = vec![
        "limits.writes_per_minute=0".to_owned(),
        CACHE.to_owned(),
        "runtime.idle_seconds=1".to_owned(),
    ];
    set.extend(options.set.iter().cloned());
    server.start_again(Some(set))?;
    report.figure("start with all stored, ms", clock::seconds(clock::now() - begun) * 1000.0);
    let sleeping = quiet_rss(site).await?;
    report.figure("memory, all asleep after a start, MiB", sleeping as f64 / 1_048_576.0);

    let mut cast = Cast::default();
    let moderator = cast.add(site, "load-moderator-0", &["read", "write", "lock"]).await?;
    let mut connection = crate::http::Connection::open(site.address).await?;
    let mut request = Vec::new();
    let mut millis = Vec::new();
    let step = (records.len() / WOKEN).max(1);
    for record in records.iter().step_by(step) {
        let thread = record.thread;
        let state = "\"state\":\"open\"";
        let place = format!("\"thread\":\"th_{thread}\"");
        let path = format!("/v1/threads/th_{thread}/confirm");
        let wake = Operation::write("confirm_thread", path, place, state.to_owned());
        cast.members[moderator].caller.write(&mut request, &wake);
        let begun = clock::now();
        let answer = connection.call(&request).await?;
        ensure!(answer.status == 200, "a sleeping thread answered {}", answer.status);
        millis.push(clock::micros_since(begun) as f64 / 1000.0);
    }
    report.figure("first act of a sleeping thread, median ms", crate::measure::median(&millis));
    let until = clock::now() + Duration::from_secs(30);
    while gauge(site, "parley_threads_resident").await? > 0.0 && clock::now() < until {
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    report.figure("threads resident in the end", gauge(site, "parley_threads_resident").await?);
    let woken = quiet_rss(site).await?;
    report.figure("memory, asleep again, MiB", woken as f64 / 1_048_576.0);
    Ok(())
}

/// Idle listeners of inboxes, each of a participant of its own.
async fn listeners(
    options: &Options,
    site: &Site,
    cast: &Cast,
    report: &mut Report,
) -> anyhow::Result<()> {
    if options.listeners == 0 {
        return Ok(());
    }
    let before = quiet_rss(site).await?;
    let mut feeds = Vec::with_capacity(options.listeners);
    for index in 0..options.listeners {
        let member = &cast.members[index % cast.members.len()];
        let request = Request {
            address: site.address,
            host: site.host.clone(),
            token: member.token.clone(),
            target: format!("/v1/feed?scope=inbox&extension=idle-{index}"),
        };
        let mut feed = Feed::open(&request).await?;
        ensure!(matches!(feed.next().await?, Frame::Text(_)), "a feed that begins with its end");
        feeds.push(feed);
    }
    let after = quiet_rss(site).await?;
    let each = (after as f64 - before as f64) / options.listeners as f64;
    report.figure("bytes an idle listener, inbox included", each);
    Ok(())
}
