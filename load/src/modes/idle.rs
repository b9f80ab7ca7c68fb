//! `idle`: what a resident thread, a sleeping one, a participant, a listener and a bare actor cost
//! in memory; how fast a sleeping thread answers, and how fast a store opens.

mod idle_target;

use std::sync::Arc;

use anyhow::ensure;

use self::idle_target::{IdleTarget, spread};
use super::{mib, wait_idle};
use crate::ceiling::{self, CeilingProcess};
use crate::measure::{median, percentile};
use crate::options::Options;
use crate::process_sampler::{rss, rss_max_ever};
use crate::report::{Report, bar};
use crate::server::raise_files;
use crate::socket::{Feed, Frame, Request};
use crate::verify::audit::ThreadRecord;
use crate::verify::readback;
use crate::write_load::WriteLoad;

/// Keeps the page cache of the store out of the comparison.
const CACHE: &str = "store.cache_bytes=67108864";
/// So many threads may be awake where most sleep.
const AWAKE_MAX: usize = 1_000;
const ACTORS: usize = 100_000;
/// So many threads are woken before the rest counts as asleep.
const WOKEN: usize = 2_000;
/// So many sleeping threads are asked for an act.
const ASKED: usize = 500;
/// So many participants are made known to see what one costs.
const GUESTS: usize = 20_000;

/// Of more threads than this, a part is read back.
const READ_BACK_MAX: usize = 100_000;
/// Keeps the feeds of one identity, which has eight members, below their cap.
const LISTENERS_A_MEMBER: usize = 6;

/// A resident thread may cost so much more than a bare actor.
const RESIDENT_EXTRA_BYTES: f64 = 3072.0;
/// An idle listener may cost so much, its inbox included.
const LISTENER_BYTES_MAX: f64 = 20_480.0;
/// Up to so many threads, all but a thousand asleep, the server stays below `ASLEEP_MIB_MAX`.
const ASLEEP_THREADS: usize = 200_000;
const ASLEEP_MIB_MAX: f64 = 400.0;
/// More sleeping threads may cost so much in all.
const STORED_MIB_MAX: f64 = 32.0;
const WAKE_MS_MAX: f64 = 10.0;

/// Runs the mode.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    raise_files(options.listeners + 512)?;
    let mut report = Report::new(options);
    let actor = measure_actors(&mut report)?;
    let count = options.agents.max(options.listeners / LISTENERS_A_MEMBER);
    let mut stage = IdleTarget::prepare(options, count, &asleep_keys()).await?;
    measure_asleep(&mut stage, &mut report).await?;
    measure_awake(&mut stage, actor, &mut report).await?;
    let before = measure_reopened(&mut stage, "", &mut report).await?;
    if options.stored > 0 {
        stage.store_more(options.stored).await?;
        let after = measure_reopened(&mut stage, ", more stored", &mut report).await?;
        let more = after as f64 - before as f64;
        report.figure("bytes a sleeping thread", more / options.stored as f64);
        report.at_most("memory of more sleeping threads, MiB", more / 1_048_576.0, STORED_MIB_MAX);
    }
    let guests = measure_participants(&stage, &mut report).await?;
    measure_listeners(&stage, &mut report).await?;
    report.add_tally(&stage.load.tally);
    report.add_findings(&stage.load.findings);
    let mut records = stage.load.records();
    records.append(&mut stage.records);
    records.extend(guests);
    read_back(&stage, records, &mut report).await?;
    report.add_result(stage.target.stop());
    Ok(report)
}

fn asleep_keys() -> Vec<String> {
    vec![
        CACHE.to_owned(),
        "runtime.idle_seconds=3600".to_owned(),
        format!("runtime.resident_threads_max={AWAKE_MAX}"),
    ]
}

/// Bare idle actors, against a process without any; gives the bytes of one.
fn measure_actors(report: &mut Report) -> anyhow::Result<f64> {
    let measure = |count: usize| {
        let playing = CeilingProcess::start(ceiling::ACTORS, &[count.to_string()])?;
        std::thread::sleep(std::time::Duration::from_millis(300));
        anyhow::Ok(rss(playing.pid()))
    };
    let (none, many) = (measure(0)?, measure(ACTORS)?);
    let each = (many as f64 - none as f64) / ACTORS as f64;
    report.figure("bytes an idle ractor actor", each);
    Ok(each)
}

/// Creates all threads, wakes more of them than may be awake, and asks sleeping ones for an act.
async fn measure_asleep(stage: &mut IdleTarget<'_>, report: &mut Report) -> anyhow::Result<()> {
    let count = stage.options.threads;
    let progress = bar(count as u64, "opening threads");
    stage.load.open_threads(stage.options.connections, 0, &progress).await?;
    progress.finish_and_clear();
    let pid = stage.pid()?;
    report.figure("memory, most while threads were created, MiB", mib(rss_max_ever(pid)));

    let woken = spread(count, WOKEN.min(count / 4));
    let quiet = indicatif::ProgressBar::hidden();
    stage.load.post_to_slots(stage.options.connections, woken.clone(), false, &quiet).await?;
    let allowed = woken.len().min(AWAKE_MAX) as f64;
    stage.residents(|resident| resident <= allowed).await?;
    let resting = stage.quiet_rss().await?;
    report.figure("threads resident, the rest asleep", stage.residents(|_| true).await?);
    report.figure("memory, the rest asleep, MiB", mib(resting));

    // None of these was among the woken: those are an even number of places apart.
    let asked = spread(count, ASKED.min(count / 8));
    let asked: Vec<usize> =
        asked.into_iter().map(|it| it + usize::from(woken.binary_search(&it).is_ok())).collect();
    let millis = stage.load.post_timed(&asked).await?;
    report.figure("sleeping threads asked for an act", millis.len() as f64);
    report.figure("act of a sleeping thread, p99 ms", percentile(&millis, 0.99));
    report.at_most("act of a sleeping thread, median ms", median(&millis), WAKE_MS_MAX);
    if count <= ASLEEP_THREADS {
        let what = "memory, most so far, MiB";
        report.at_most(what, mib(rss_max_ever(pid)), ASLEEP_MIB_MAX);
    }
    Ok(())
}

/// Opens the store anew and wakes a first tenth of the threads, then the rest, without a write.
async fn measure_awake(
    stage: &mut IdleTarget<'_>,
    actor: f64,
    report: &mut Report,
) -> anyhow::Result<()> {
    let keys = [
        CACHE.to_owned(),
        "runtime.idle_seconds=3600".to_owned(),
        format!("runtime.resident_threads_max={}", stage.options.threads + 1000),
    ];
    stage.stop(report);
    stage.open(&keys).await?;
    let threads = stage.load.threads();
    let first = (threads.len() / 10).max(1);
    // The page cache of the store is full before, so that what it holds is in both figures.
    stage.read_spread().await?;
    stage.wake(&threads[..first]).await?;
    let early_resident = stage.residents(|resident| resident >= first as f64).await?;
    let early = stage.quiet_rss().await?;
    stage.wake(&threads[first..]).await?;
    let resident = stage.residents(|resident| resident >= threads.len() as f64).await?;
    let late = stage.quiet_rss().await?;
    let risen = resident - early_resident;
    if risen < (threads.len() - first) as f64 {
        let told = format!("only {resident} of {} threads became resident", threads.len());
        report.add_result(Err(anyhow::anyhow!(told)));
    }
    let each = (late as f64 - early as f64) / risen.max(1.0);
    report.figure("threads resident, all awake", resident);
    report.figure("memory, first tenth resident, MiB", mib(early));
    report.figure("memory, all resident, MiB", mib(late));
    report.at_most("bytes a resident thread", each, actor + RESIDENT_EXTRA_BYTES);
    Ok(())
}

/// Opens the store after a kill and after a clean stop; gives the memory at rest, all asleep, the
/// page cache full.
async fn measure_reopened(
    stage: &mut IdleTarget<'_>,
    when: &str,
    report: &mut Report,
) -> anyhow::Result<u64> {
    let broken = stage.kill_under_load().await?;
    report.figure(&format!("calls that the kill left without an answer{when}"), broken as f64);
    let opening = stage.open(&asleep_keys()).await?;
    report.figure(&format!("listens after kill -9, s{when}"), opening.listening);
    let what = format!("first read after kill -9, s{when}");
    report.at_most(&what, opening.first_read, 30.0);
    stage.quiet_rss().await?;
    stage.stop(report);
    let opening = stage.open(&asleep_keys()).await?;
    report.figure(&format!("listens after a clean stop, s{when}"), opening.listening);
    let what = format!("first read after a clean stop, s{when}");
    report.at_most(&what, opening.first_read, 2.0);
    let fresh = stage.quiet_rss().await?;
    report.figure(&format!("memory, all asleep, just opened, MiB{when}"), mib(fresh));
    stage.read_spread().await?;
    let asleep = stage.quiet_rss().await?;
    report.figure(&format!("memory, all asleep, cache full, MiB{when}"), mib(asleep));
    Ok(asleep)
}

/// Threads opened by participants who never spoke before, once as many were opened by those who
/// did: that fills what stays in any case.
async fn measure_participants(
    stage: &IdleTarget<'_>,
    report: &mut Report,
) -> anyhow::Result<Vec<ThreadRecord>> {
    let count = GUESTS.min(stage.options.threads);
    let mut records = Vec::new();
    let mut resting = Vec::new();
    let guests = Arc::new(stage.participants.new_extensions(count));
    for (turn, cast) in [Arc::clone(&stage.participants), guests].into_iter().enumerate() {
        let seed = stage.options.seed ^ (0x6e57 + turn as u64);
        let work = WriteLoad::forum(stage.target.address, cast, count, stage.options.body, seed);
        let work = Arc::new(work);
        let quiet = indicatif::ProgressBar::hidden();
        work.open_threads(stage.options.connections, 0, &quiet).await?;
        resting.push(stage.quiet_rss().await? as f64);
        report.add_tally(&work.tally);
        report.add_findings(&work.findings);
        records.extend(work.records());
    }
    let each = (resting[1] - resting[0]) / count as f64;
    report.figure("bytes a participant, its sleeping thread included", each);
    Ok(records)
}

/// Idle listeners of inboxes, each of a participant of its own.
async fn measure_listeners(stage: &IdleTarget<'_>, report: &mut Report) -> anyhow::Result<()> {
    let count = stage.options.listeners;
    if count == 0 {
        return Ok(());
    }
    let before = stage.quiet_rss().await?;
    let mut feeds = Vec::with_capacity(count);
    for index in 0..count {
        let member = &stage.participants.members[index % stage.participants.members.len()];
        let request = Request {
            address: stage.target.address,
            host: stage.target.host.clone(),
            token: member.token.clone(),
            path: format!("/v1/feed?scope=inbox&extension=idle-{index}"),
        };
        let mut feed = Feed::open(&request).await?;
        ensure!(matches!(feed.next().await?, Frame::Text(_)), "a feed that begins with its end");
        feeds.push(feed);
    }
    let after = stage.quiet_rss().await?;
    let each = (after as f64 - before as f64) / count as f64;
    report.at_most("bytes an idle listener, inbox included", each, LISTENER_BYTES_MAX);
    Ok(())
}

async fn read_back(
    stage: &IdleTarget<'_>,
    records: Vec<ThreadRecord>,
    report: &mut Report,
) -> anyhow::Result<()> {
    wait_idle(vec![stage.pid()?]).await?;
    let findings = Arc::default();
    let step = records.len().div_ceil(READ_BACK_MAX);
    let records: Vec<_> = records.into_iter().step_by(step).collect();
    report.figure("threads read back", records.len() as f64);
    let reading = bar(records.len() as u64, "reading back");
    let (address, admin) = (stage.target.address, stage.target.admin());
    readback::threads(address, &admin, records, &findings, &reading).await?;
    reading.finish_and_clear();
    report.add_findings(&findings);
    Ok(())
}
