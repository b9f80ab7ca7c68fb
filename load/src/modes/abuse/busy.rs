//! Busy loops that take a given part of the machine's processor time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock;

/// Threads that spin: as many as work for an attack, two of the server's and two of the attacker's.
const THREADS: usize = 4;
/// How long a thread that has taken its part sleeps.
const SLEEP: Duration = Duration::from_millis(1);
/// Turns of a loop between two looks at the time taken.
const TURNS: u32 = 2_000;

/// Threads that spin until they are stopped.
pub struct BusyLoops {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyLoops {
    /// Begins to take the processor time of `cores` cores. A thread that got less than its part,
    /// because others ran, spins until it has it.
    pub fn start(cores: f64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let part = cores / THREADS as f64;
        let threads = (0..THREADS)
            .map(|_| {
                let stop = Arc::clone(&stop);
                std::thread::spawn(move || spin(part, &stop))
            })
            .collect();
        Self { stop, threads }
    }

    /// Ends the loops.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            // A thread that only spins does not panic.
            let _ = thread.join();
        }
    }
}

fn spin(part: f64, stop: &AtomicBool) {
    let (begun, taken_before) = (clock::now(), cpu_seconds());
    while !stop.load(Ordering::Relaxed) {
        let due = clock::seconds(clock::now() - begun) * part;
        if cpu_seconds() - taken_before < due {
            (0..TURNS).for_each(|_| std::hint::spin_loop());
        } else {
            std::thread::sleep(SLEEP);
        }
    }
}

/// Processor time of this thread, from the first number of its `schedstat`.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    nanos.unwrap_or_default() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_sampler::ProcessSampler;

    /// Goal: the loops take about what they shall. Method: half a core for half a second.
    #[test]
    fn takes_its_part() {
        let sampler = ProcessSampler::of_generator();
        let busy = BusyLoops::start(0.5);
        std::thread::sleep(Duration::from_millis(500));
        busy.stop();
        // Other tests of this process add to it.
        let usage = sampler.finish();
        assert!(usage.cpu_cores > 0.3, "{usage:?}");
    }
}
