//! How long a task of the server holds a worker: the shipped server in this process, on a runtime
//! of one worker, asked each operation with its worst legal input on a cold cache.
//!
//! `cargo run --release --example held` runs all nine times; `-- 3 trees` runs those whose name has
//! `trees` three times. It ends with 1 if the median of an operation is over 2 ms, or if the probe
//! does not find a fault that is planted.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program that reports")]

mod content;
mod probe;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use parley::clock::{Stopwatch, SystemClock};
use parley::config::Config;
use parley::server::{self, Running};
use parley_kit::Folder;
use tokio::runtime::Runtime;

use self::content::{Content, Operation};
use self::probe::Probe;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The longest time that a task may hold a worker.
const HELD_MAX: Duration = Duration::from_millis(2);
/// How long the planted faults hold a worker.
const PLANTED: Duration = Duration::from_millis(5);
/// How often each operation is asked.
const TIMES: usize = 9;

/// A server on a runtime of its own, and the probe that runs there beside it.
struct Served {
    runtime: Runtime,
    running: Running,
    probe: Arc<Probe>,
}

impl Served {
    fn start(config: &Config, workers: usize) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(workers).enable_all().build().unwrap();
        let entered = runtime.enter();
        let listener = server::listen(([127, 0, 0, 1], 0).into()).unwrap();
        let starting = server::start(config.clone(), Arc::new(SystemClock), listener);
        drop(entered);
        let running = runtime.block_on(runtime.spawn(starting)).unwrap().unwrap();
        let probe = Arc::new(Probe::default());
        Self { runtime, running, probe }
    }

    fn watch(&self) {
        self.runtime.spawn(Arc::clone(&self.probe).run());
        self.probe.has_turned();
    }

    fn stop(self) {
        self.probe.stop();
        self.runtime.block_on(self.running.stop()).unwrap();
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let times = words.next().map_or(TIMES, |word| word.parse().unwrap());
    let wanted = words.next().unwrap_or_default();
    let folder = Folder::new("held");
    let mut config = Config { data: folder.path().to_owned(), ..Config::default() };
    config.limits.writes_per_minute = 0;
    config.limits.exchange_max = 1_000_000;
    config.limits.consecutive_max = 1_000_000;
    let filled = Served::start(&config, 2);
    let first = filled.running.first_start.as_ref().unwrap();
    let content = Content::write(filled.running.address, &first.admin, &first.agent);
    filled.stop();
    let mut kept = planted_are_found(&config);
    println!("{:<28} {:>9}  all, in ms (at most {HELD_MAX:?})", "operation", "median");
    for operation in content.operations().filter(|it| it.name.contains(&wanted)) {
        let held = (0..times).map(|turn| held_by(&config, &content, &operation, turn));
        let mut held: Vec<Duration> = held.collect();
        let shown: Vec<String> =
            held.iter().map(|it| format!("{:.2}", it.as_secs_f64() * 1e3)).collect();
        held.sort();
        let median = held[held.len() / 2];
        let verdict = if median <= HELD_MAX { "" } else { "  MISSED" };
        let millis = median.as_secs_f64() * 1e3;
        println!("{:<28} {millis:>9.2}  {}{verdict}", operation.name, shown.join(" "));
        kept &= median <= HELD_MAX;
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The longest time that a worker is held while the operation is asked, on a server that has just
/// started.
fn held_by(config: &Config, content: &Content, operation: &Operation, turn: usize) -> Duration {
    let served = Served::start(config, 1);
    // The first answer fills what each server makes once.
    content.greet(served.running.address);
    served.watch();
    content.ask(served.running.address, operation, turn);
    let held = served.probe.longest();
    served.stop();
    held
}

/// Plants a task that sleeps and one that computes, and tells whether the probe finds both.
fn planted_are_found(config: &Config) -> bool {
    let served = Served::start(config, 1);
    served.watch();
    let sleeps = served.runtime.spawn(async { std::thread::sleep(PLANTED) });
    served.runtime.block_on(sleeps).unwrap();
    let slept = served.probe.longest();
    let loops = served.runtime.spawn(async {
        let begun = Stopwatch::start();
        while begun.seconds() < PLANTED.as_secs_f64() {
            std::hint::spin_loop();
        }
    });
    served.runtime.block_on(loops).unwrap();
    let looped = served.probe.longest();
    served.stop();
    println!("planted: a sleep of {PLANTED:?} is seen as {slept:?}, a loop as {looped:?}");
    // A loop that shares its processor computes for less than it takes.
    slept >= PLANTED && looped >= PLANTED / 2
}
