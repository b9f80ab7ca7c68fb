//! `idle`: measures the memory of a resident thread, a sleeping thread, a participant, a listener
//! and a bare actor, the latency of a sleeping thread, and the time to open a store.

mod idle_target;

use std::sync::Arc;

use anyhow::ensure;

use self::idle_target::{IdleTarget, spread};
use crate::ceiling::{CeilingKind, CeilingProcess};
use crate::measure::{median, percentile};
use crate::modes::measurement::{mib, wait_idle};
use crate::options::Options;
use crate::process_sampler::{rss, rss_max_ever};
use crate::report::{Report, bar};
use crate::server::raise_files;
use crate::socket::{Feed, Frame, Request};
use crate::verify::audit::ThreadRecord;
use crate::verify::readback;
use crate::write_load::WriteLoad;

/// The same page cache in all measurements.
const CACHE: &str = "store.cache_bytes=67108864";
/// Resident threads at most, where most threads sleep.
const AWAKE_MAX: usize = 1_000;
const ACTORS: usize = 100_000;
/// Threads that are woken before the memory of sleeping threads is taken.
const WOKEN: usize = 2_000;
/// Sleeping threads that get an act each.
const ASKED: usize = 500;
/// Participants whose memory is measured.
const GUESTS: usize = 20_000;

/// Of more threads than this, an evenly spread part is read back.
const READ_BACK_MAX: usize = 100_000;
/// Listeners of one participant: keeps the feeds of an identity, which has eight, below their cap.
const LISTENERS_A_MEMBER: usize = 6;

/// Largest memory of a resident thread beyond a bare actor.
const RESIDENT_EXTRA_BYTES: f64 = 3072.0;
/// Largest memory of an idle listener, its inbox included.
const LISTENER_BYTES_MAX: f64 = 20_480.0;
/// Up to this many threads, all but 1 000 asleep, the server stays below `ASLEEP_MIB_MAX`.
const ASLEEP_THREADS: usize = 200_000;
const ASLEEP_MIB_MAX: f64 = 400.0;
/// Largest memory of all threads of `--stored`.
const STORED_MIB_MAX: f64 = 32.0;
const WAKE_MS_MAX: f64 = 10.0;

/// Runs the mode.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    raise_files(options.listeners + 512)?;
    let mut report = Report::new(options);
    let actor = measure_actors(&mut report)?;
    let count = options.agents.max(options.listeners / LISTENERS_A_MEMBER);
    let mut idle = IdleTarget::prepare(options, count, &asleep_keys()).await?;
    measure_asleep(&mut idle, &mut report).await?;
    measure_awake(&mut idle, actor, &mut report).await?;
    let before = measure_reopened(&mut idle, "", &mut report).await?;
    if options.stored > 0 {
        idle.store_more(options.stored).await?;
        let after = measure_reopened(&mut idle, ", more stored", &mut report).await?;
        let more = after as f64 - before as f64;
        report.figure("bytes a sleeping thread", more / options.stored as f64);
        report.at_most("memory of more sleeping threads, MiB", more / 1_048_576.0, STORED_MIB_MAX);
    }
    let guests = measure_participants(&idle, &mut report).await?;
    measure_listeners(&idle, &mut report).await?;
    report.add_tally(&idle.load.tally);
    report.add_findings(&idle.load.findings);
    let mut records = idle.load.records();
    records.append(&mut idle.records);
    records.extend(guests);
    read_back(&idle, records, &mut report).await?;
    report.add_result(idle.target.stop());
    Ok(report)
}

fn asleep_keys() -> Vec<String> {
    vec![
        CACHE.to_owned(),
        "runtime.idle_seconds=3600".to_owned(),
        format!("runtime.resident_threads_max={AWAKE_MAX}"),
    ]
}

/// Measures idle actors against a process without any; returns the bytes of one.
fn measure_actors(report: &mut Report) -> anyhow::Result<f64> {
    let measure = |count: usize| {
        let process = CeilingProcess::start(CeilingKind::Actors, &[count.to_string()])?;
        std::thread::sleep(std::time::Duration::from_millis(300));
        anyhow::Ok(rss(process.pid()))
    };
    let (none, many) = (measure(0)?, measure(ACTORS)?);
    let each = (many as f64 - none as f64) / ACTORS as f64;
    report.figure("bytes an idle ractor actor", each);
    Ok(each)
}

/// Creates all threads, wakes more of them than may be resident, posts to sleeping ones.
async fn measure_asleep(idle: &mut IdleTarget<'_>, report: &mut Report) -> anyhow::Result<()> {
    let count = idle.options.threads;
    let progress = bar(count as u64, "opening threads");
    idle.load.open_threads(idle.options.connections, 0, &progress).await?;
    progress.finish_and_clear();
    let pid = idle.pid()?;
    report.figure("memory, most while threads were created, MiB", mib(rss_max_ever(pid)));

    let woken = spread(count, WOKEN.min(count / 4));
    let quiet = indicatif::ProgressBar::hidden();
    idle.load.post_to_slots(idle.options.connections, woken.clone(), false, &quiet).await?;
    let allowed = woken.len().min(AWAKE_MAX) as f64;
    idle.residents(|resident| resident <= allowed).await?;
    let resting = idle.quiet_rss().await?;
    report.figure("threads resident, the rest asleep", idle.residents(|_| true).await?);
    report.figure("memory, the rest asleep, MiB", mib(resting));

    // The next slot of a woken one sleeps: woken slots are not adjacent.
    let asked = spread(count, ASKED.min(count / 8));
    let asked: Vec<usize> =
        asked.into_iter().map(|it| it + usize::from(woken.binary_search(&it).is_ok())).collect();
    let millis = idle.load.post_timed(&asked).await?;
    report.figure("sleeping threads asked for an act", millis.len() as f64);
    report.figure("act of a sleeping thread, p99 ms", percentile(&millis, 0.99));
    report.at_most("act of a sleeping thread, median ms", median(&millis), WAKE_MS_MAX);
    if count <= ASLEEP_THREADS {
        let what = "memory, most so far, MiB";
        report.at_most(what, mib(rss_max_ever(pid)), ASLEEP_MIB_MAX);
    }
    Ok(())
}

/// Restarts, then wakes a tenth of the threads and then the rest, without a write.
async fn measure_awake(
    idle: &mut IdleTarget<'_>,
    actor: f64,
    report: &mut Report,
) -> anyhow::Result<()> {
    let keys = [
        CACHE.to_owned(),
        "runtime.idle_seconds=3600".to_owned(),
        format!("runtime.resident_threads_max={}", idle.options.threads + 1000),
    ];
    idle.stop(report);
    idle.open(&keys).await?;
    let threads = idle.load.threads();
    let first = (threads.len() / 10).max(1);
    // The page cache is full beforehand, so that both figures include it.
    idle.read_spread().await?;
    idle.wake(&threads[..first]).await?;
    let early_resident = idle.residents(|resident| resident >= first as f64).await?;
    let early = idle.quiet_rss().await?;
    idle.wake(&threads[first..]).await?;
    let resident = idle.residents(|resident| resident >= threads.len() as f64).await?;
    let late = idle.quiet_rss().await?;
    let risen = resident - early_resident;
    if risen < (threads.len() - first) as f64 {
        let text = format!("only {resident} of {} threads became resident", threads.len());
        report.add_result(Err(anyhow::anyhow!(text)));
    }
    let each = (late as f64 - early as f64) / risen.max(1.0);
    report.figure("threads resident, all awake", resident);
    report.figure("memory, first tenth resident, MiB", mib(early));
    report.figure("memory, all resident, MiB", mib(late));
    report.at_most("bytes a resident thread", each, actor + RESIDENT_EXTRA_BYTES);
    Ok(())
}

/// Opens the store after a kill and after a clean stop; returns the memory at rest with all threads
/// asleep and the page cache full.
async fn measure_reopened(
    idle: &mut IdleTarget<'_>,
    when: &str,
    report: &mut Report,
) -> anyhow::Result<u64> {
    let broken = idle.kill_under_load().await?;
    report.figure(&format!("calls that the kill left without an answer{when}"), broken as f64);
    let opening = idle.open(&asleep_keys()).await?;
    report.figure(&format!("listens after kill -9, s{when}"), opening.listening);
    let what = format!("first read after kill -9, s{when}");
    report.at_most(&what, opening.first_read, 30.0);
    idle.quiet_rss().await?;
    idle.stop(report);
    let opening = idle.open(&asleep_keys()).await?;
    report.figure(&format!("listens after a clean stop, s{when}"), opening.listening);
    let what = format!("first read after a clean stop, s{when}");
    report.at_most(&what, opening.first_read, 2.0);
    let fresh = idle.quiet_rss().await?;
    report.figure(&format!("memory, all asleep, just opened, MiB{when}"), mib(fresh));
    idle.read_spread().await?;
    let asleep = idle.quiet_rss().await?;
    report.figure(&format!("memory, all asleep, cache full, MiB{when}"), mib(asleep));
    Ok(asleep)
}

/// Opens threads as known participants and then as many as new ones; the first step fills the
/// caches that both need.
async fn measure_participants(
    idle: &IdleTarget<'_>,
    report: &mut Report,
) -> anyhow::Result<Vec<ThreadRecord>> {
    let count = GUESTS.min(idle.options.threads);
    let mut records = Vec::new();
    let mut resting = Vec::new();
    let guests = Arc::new(idle.participants.new_extensions(count));
    for (turn, participants) in [Arc::clone(&idle.participants), guests].into_iter().enumerate() {
        let seed = idle.options.seed ^ (0x6e57 + turn as u64);
        let load =
            WriteLoad::forum(idle.target.address, participants, count, idle.options.body, seed);
        let load = Arc::new(load);
        let quiet = indicatif::ProgressBar::hidden();
        load.open_threads(idle.options.connections, 0, &quiet).await?;
        resting.push(idle.quiet_rss().await? as f64);
        report.add_tally(&load.tally);
        report.add_findings(&load.findings);
        records.extend(load.records());
    }
    let each = (resting[1] - resting[0]) / count as f64;
    report.figure("bytes a participant, its sleeping thread included", each);
    Ok(records)
}

/// Measures idle listeners of inboxes, each of its own participant.
async fn measure_listeners(idle: &IdleTarget<'_>, report: &mut Report) -> anyhow::Result<()> {
    let count = idle.options.listeners;
    if count == 0 {
        return Ok(());
    }
    let before = idle.quiet_rss().await?;
    let mut feeds = Vec::with_capacity(count);
    for index in 0..count {
        let member = &idle.participants.members[index % idle.participants.members.len()];
        let request = Request {
            address: idle.target.address,
            host: idle.target.host.clone(),
            token: member.token.clone(),
            path: format!("/v1/feed?scope=inbox&extension=idle-{index}"),
        };
        let mut feed = Feed::open(&request).await?;
        ensure!(matches!(feed.next().await?, Frame::Text(_)), "a feed that begins with a close");
        feeds.push(feed);
    }
    let after = idle.quiet_rss().await?;
    let each = (after as f64 - before as f64) / count as f64;
    report.at_most("bytes an idle listener, inbox included", each, LISTENER_BYTES_MAX);
    Ok(())
}

async fn read_back(
    idle: &IdleTarget<'_>,
    records: Vec<ThreadRecord>,
    report: &mut Report,
) -> anyhow::Result<()> {
    wait_idle(vec![idle.pid()?]).await?;
    let findings = Arc::default();
    let step = records.len().div_ceil(READ_BACK_MAX);
    let records: Vec<_> = records.into_iter().step_by(step).collect();
    report.figure("threads read back", records.len() as f64);
    let reading = bar(records.len() as u64, "reading back");
    let (address, admin) = (idle.target.address, idle.target.admin());
    readback::threads(address, &admin, records, &findings, &reading).await?;
    reading.finish_and_clear();
    report.add_findings(&findings);
    Ok(())
}
