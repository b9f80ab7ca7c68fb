//! The server of `idle`: fills, wakes, stops, kills and opens it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::clock;
use crate::concurrent::call_each;
use crate::modes::measurement;
use crate::options::Options;
use crate::participants::Participants;
use crate::process_sampler::rss;
use crate::report::{Report, bar};
use crate::round::RoundSpec;
use crate::server::Server;
use crate::target::Target;
use crate::verify::audit::ThreadRecord;
use crate::verify::readback::Reader;
use crate::wire::{Caller, Operation};
use crate::write_load::WriteLoad;

/// Most threads that are read to fill the page cache of the store, spread over all.
const READ_MAX: usize = 200_000;
/// How long threads are written to before the kill.
const LOAD_BEFORE_KILL: Duration = Duration::from_secs(3);
/// The server sets its gauge of resident threads once a second.
const GAUGE_EVERY: Duration = Duration::from_millis(1_100);
const RESIDENTS_WAIT: Duration = Duration::from_secs(15);

/// A server with its threads.
pub struct IdleTarget<'a> {
    /// The options of the run.
    pub options: &'a Options,
    /// The server under load.
    pub target: Target,
    /// The participants.
    pub participants: Arc<Participants>,
    /// The threads, a slot each.
    pub load: Arc<WriteLoad>,
    /// Further stored threads, which get no act.
    pub records: Vec<ThreadRecord>,
    moderator: Caller,
}

/// The time to open a store, in seconds since the process began.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    /// Until the line with the address.
    pub listening: f64,
    /// Until the first read of a thread was answered.
    pub first_read: f64,
}

/// `places` indices, spread evenly over `count`.
pub fn spread(count: usize, places: usize) -> Vec<usize> {
    (0..places).map(|place| place * count / places).collect()
}

impl<'a> IdleTarget<'a> {
    /// Starts a server without threads and creates participants.
    pub async fn prepare(
        options: &'a Options,
        agents: usize,
        keys: &[String],
    ) -> anyhow::Result<Self> {
        let target = Target::prepare(options, keys).await?;
        let mut participants = Participants::create(&target, agents, 0.0).await?;
        let place =
            participants.add(&target, "load-moderator-0", &["read", "write", "lock"]).await?;
        // The moderator stays out of the load: a holder of `lock` would confirm states.
        let moderator = participants.members.remove(place).caller;
        let participants = Arc::new(participants);
        let (threads, body, seed) = (options.threads, options.body, options.seed);
        let load = WriteLoad::forum(target.address, Arc::clone(&participants), threads, body, seed);
        let (load, records) = (Arc::new(load), Vec::new());
        Ok(Self { options, target, participants, load, records, moderator })
    }

    fn server(&mut self) -> anyhow::Result<&mut Server> {
        let (server, _) =
            self.target.own_server.as_mut().context("idle needs a server of its own")?;
        Ok(server)
    }

    /// The process id of the server.
    pub fn pid(&self) -> anyhow::Result<u32> {
        self.target.pid().context("idle needs a server of its own")
    }

    /// Resident memory of the idle server, in bytes.
    pub async fn quiet_rss(&self) -> anyhow::Result<u64> {
        let pid = self.pid()?;
        // The Archiver moves acts up to two seconds after their commit.
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        measurement::wait_idle(vec![pid]).await?;
        Ok(rss(pid))
    }

    /// The number of resident threads, once it is as wanted or 15 s are over.
    pub async fn residents(&self, wanted: impl Fn(f64) -> bool) -> anyhow::Result<f64> {
        let until = clock::now() + RESIDENTS_WAIT;
        loop {
            tokio::time::sleep(GAUGE_EVERY).await;
            let resident = self.target.metric("parley_threads_resident").await?.unwrap_or(0.0);
            if wanted(resident) || clock::now() > until {
                return Ok(resident);
            }
        }
    }

    /// Wakes these threads without a write, by a `reopen`, which the actor of an open thread
    /// refuses.
    pub async fn wake(&self, threads: &[u64]) -> anyhow::Result<()> {
        let progress = bar(threads.len() as u64, "waking threads");
        let (moderator, threads) = (self.moderator.clone(), threads.to_vec());
        let count = threads.len();
        let compose = move |index: usize, request: &mut Vec<u8>| {
            let thread = threads[index];
            let path = format!("/v1/threads/th_{thread}/reopen");
            let place = format!("\"thread\":\"th_{thread}\"");
            moderator
                .write(request, &Operation::write("reopen_thread", path, place, String::new()));
        };
        let take = |answer: crate::http::Answer<'_>| {
            ensure!(answer.status == 409, "an open thread was reopened: {}", answer.status);
            Ok(())
        };
        let (address, connections) = (self.target.address, self.options.connections);
        call_each(address, connections, count, &progress, compose, take).await?;
        progress.finish_and_clear();
        Ok(())
    }

    /// Reads threads until the page cache of the store is full.
    pub async fn read_spread(&self) -> anyhow::Result<()> {
        let mut threads = self.load.threads();
        threads.extend(self.records.iter().map(|record| record.thread));
        let places = spread(threads.len(), threads.len().min(READ_MAX));
        let progress = bar(places.len() as u64, "filling the cache");
        let (admin, count) = (self.target.admin(), places.len());
        let compose = move |index: usize, request: &mut Vec<u8>| {
            admin.write(request, &reading(threads[places[index]]));
        };
        let take = |answer: crate::http::Answer<'_>| {
            ensure!(answer.status == 200, "a thread could not be read: {}", answer.status);
            Ok(())
        };
        let (address, connections) = (self.target.address, self.options.connections);
        call_each(address, connections, count, &progress, compose, take).await?;
        progress.finish_and_clear();
        Ok(())
    }

    /// Opens threads that get no further act.
    pub async fn store_more(&mut self, count: usize) -> anyhow::Result<()> {
        let seed = self.options.seed ^ 0x5707;
        let participants = Arc::clone(&self.participants);
        let stored =
            WriteLoad::forum(self.target.address, participants, count, self.options.body, seed);
        let stored = Arc::new(stored);
        let progress = bar(count as u64, "storing threads");
        stored.open_threads(self.options.connections, 0, &progress).await?;
        progress.finish_and_clear();
        self.records = stored.records();
        Ok(())
    }

    /// Stops the server, which must exit with code 0.
    pub fn stop(&mut self, report: &mut Report) {
        let stopped = self.server().and_then(Server::stop);
        report.add_result(stopped);
    }

    /// Kills the server under load; returns the number of acts without an answer.
    pub async fn kill_under_load(&mut self) -> anyhow::Result<u64> {
        let before = self.load.tally.failed.load(Ordering::Relaxed);
        let spec = RoundSpec {
            connections: self.options.connections,
            duration: LOAD_BEFORE_KILL * 2,
            rate: None,
            burst: 1.0,
            slices: 1,
        };
        let load = Arc::clone(&self.load);
        let server = self.server()?;
        let killing = async {
            tokio::time::sleep(LOAD_BEFORE_KILL).await;
            server.kill()
        };
        let quiet = indicatif::ProgressBar::hidden();
        let (round, killed) = tokio::join!(load.run_round(spec, &quiet), killing);
        killed?;
        round?;
        Ok(self.load.tally.discard_failures(before))
    }

    /// Starts the server on its directory and reads a thread.
    pub async fn open(&mut self, keys: &[String]) -> anyhow::Result<Opening> {
        let set = Target::settings(self.options, keys);
        let begun = clock::now();
        let server = self.server()?;
        tokio::task::block_in_place(|| server.start_again(Some(set)))?;
        let listening = clock::seconds(clock::now() - begun);
        let threads = self.load.threads();
        let mut reader = Reader::open(self.target.address, self.target.admin()).await?;
        reader.read(&reading(threads[threads.len() / 2])).await?;
        Ok(Opening { listening, first_read: clock::seconds(clock::now() - begun) })
    }
}

fn reading(thread: u64) -> Operation {
    let path = format!("/v1/threads/th_{thread}");
    let query = [("format", "flat"), ("limit", "1")];
    Operation::read("read_thread", path, String::new(), &query)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: indices are spread over all, each at most once. Method: some sizes.
    #[test]
    fn spreads() {
        assert_eq!(spread(10, 5), [0, 2, 4, 6, 8]);
        assert_eq!(spread(7, 7), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(spread(1_000, 3).len(), 3);
        assert!(spread(5, 0).is_empty());
    }
}
