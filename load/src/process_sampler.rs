//! The process sampler: reads CPU time and memory of a process from `/proc`, every 200 ms.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::clock;

/// Clock ticks a second in `/proc`; Linux shows 100 to user space on all its platforms.
const TICKS_A_SECOND: f64 = 100.0;
const SAMPLE_EVERY: Duration = Duration::from_millis(200);

/// Resources that a process used while it was sampled.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Usage {
    /// Processor time, user and system together, in seconds.
    pub cpu_seconds: f64,
    /// Cores that the process kept busy, on average.
    pub cpu_cores: f64,
    /// Cores that all processes of the machine kept busy in that time, on average.
    pub machine_cores: f64,
    /// Resident memory at the beginning, in bytes.
    pub rss_start: u64,
    /// Largest sample of resident memory, in bytes.
    pub rss_max: u64,
    /// Resident memory at half time, in bytes.
    pub rss_half: u64,
    /// Resident memory at the end, in bytes.
    pub rss_end: u64,
}

/// Samples one process in a thread, from `start` to `finish`.
#[derive(Debug)]
pub struct ProcessSampler {
    pid: u32,
    begun: Instant,
    ticks: u64,
    machine_ticks: u64,
    stop: Arc<AtomicBool>,
    sampler: Option<JoinHandle<Vec<u64>>>,
}

impl ProcessSampler {
    /// Begins to sample.
    pub fn start(pid: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let sampler = std::thread::spawn(move || {
            let mut samples = vec![rss(pid)];
            while !stopped.load(Ordering::Relaxed) {
                std::thread::park_timeout(SAMPLE_EVERY);
                samples.push(rss(pid));
            }
            samples
        });
        let (ticks, machine_ticks) = (cpu_ticks(pid), machine_ticks());
        Self { pid, begun: clock::now(), ticks, machine_ticks, stop, sampler: Some(sampler) }
    }

    /// Samples the generator, which is this process.
    pub fn of_generator() -> Self {
        Self::start(std::process::id())
    }

    /// Ends sampling.
    pub fn finish(mut self) -> Usage {
        let elapsed = clock::seconds(clock::now() - self.begun).max(0.001);
        let ticks = cpu_ticks(self.pid).saturating_sub(self.ticks);
        let machine_ticks = machine_ticks().saturating_sub(self.machine_ticks);
        self.stop.store(true, Ordering::Relaxed);
        if let Some(sampler) = &self.sampler {
            // The end of one measurement must not wait for the interval of another's sampler.
            sampler.thread().unpark();
        }
        let samples = self.sampler.take().and_then(|it| it.join().ok()).unwrap_or_default();
        let samples: Vec<u64> = samples.into_iter().filter(|rss| *rss > 0).collect();
        Usage {
            cpu_seconds: ticks as f64 / TICKS_A_SECOND,
            cpu_cores: ticks as f64 / TICKS_A_SECOND / elapsed,
            machine_cores: machine_ticks as f64 / TICKS_A_SECOND / elapsed,
            rss_start: samples.first().copied().unwrap_or(0),
            rss_max: samples.iter().copied().max().unwrap_or(0),
            rss_half: samples.get(samples.len() / 2).copied().unwrap_or(0),
            rss_end: samples.last().copied().unwrap_or(0),
        }
    }
}

/// Resident memory in bytes; 0 for a process that has ended.
pub fn rss(pid: u32) -> u64 {
    status_bytes(pid, "VmRSS:")
}

/// Largest resident memory since the process began, in bytes.
pub fn rss_max_ever(pid: u32) -> u64 {
    status_bytes(pid, "VmHWM:")
}

fn status_bytes(pid: u32, name: &str) -> u64 {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/status")) else { return 0 };
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse().ok())
        .map_or(0, |kib: u64| kib * 1024)
}

/// CPU time in ticks, user and system together.
pub fn cpu_ticks(pid: u32) -> u64 {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return 0 };
    let Some((_, rest)) = text.rsplit_once(") ") else { return 0 };
    let fields: Vec<&str> = rest.split(' ').collect();
    let tick = |at: usize| fields.get(at).and_then(|field| field.parse().ok()).unwrap_or(0_u64);
    tick(11) + tick(12)
}

/// Busy ticks of all cores of the machine, time stolen by its host included.
fn machine_ticks() -> u64 {
    let Ok(text) = std::fs::read_to_string("/proc/stat") else { return 0 };
    busy_ticks(text.lines().next().unwrap_or_default())
}

/// The busy ticks of the line `cpu` in `/proc/stat`: all of the first eight but idle and iowait.
/// Those of guests are part of user and nice already.
fn busy_ticks(line: &str) -> u64 {
    let ticks = line.split_ascii_whitespace().skip(1).take(8).enumerate();
    ticks.filter(|(at, _)| !matches!(at, 3 | 4)).filter_map(|(_, it)| it.parse::<u64>().ok()).sum()
}

/// Waits, 15 s at most, until a process uses next to no CPU, so that its deferred work does not
/// disturb the next measurement.
pub fn wait_idle(pid: u32) {
    let until = clock::now() + Duration::from_secs(15);
    let mut quiet = 0;
    while clock::now() < until && quiet < 2 {
        let before = cpu_ticks(pid);
        std::thread::sleep(Duration::from_millis(200));
        quiet = if cpu_ticks(pid) - before <= 1 { quiet + 1 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the figures of a process are read. Method: sample this one while it is busy.
    #[test]
    fn watches_itself() {
        let sampler = ProcessSampler::of_generator();
        let until = clock::now() + Duration::from_millis(150);
        while clock::now() < until {
            std::hint::spin_loop();
        }
        let usage = sampler.finish();
        assert!(usage.cpu_cores > 0.1, "{usage:?}");
        assert!(usage.cpu_seconds > 0.01, "{usage:?}");
        assert!(usage.machine_cores > 0.1, "{usage:?}");
        assert!(usage.rss_max > 1 << 20, "{usage:?}");
    }

    /// Goal: busy time leaves idle time and waiting for disks out and counts no guest twice.
    /// Method: a line with a distinct power of two in each place.
    #[test]
    fn busy_ticks_of_machine() {
        assert_eq!(busy_ticks("cpu  1 2 4 8 16 32 64 128 256 512"), 1 + 2 + 4 + 32 + 64 + 128);
        assert_eq!(busy_ticks(""), 0);
    }
}
