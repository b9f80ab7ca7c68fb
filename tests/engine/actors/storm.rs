//! Many acts over few threads while everything that can get in the way does.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parley::storage::disk::MemoryDisk;
use parley::yield_points::{Hook, Point, YieldPoints};
use parley_kit::acts::{assertion, human, mark, model, post};
use parley_kit::engine::generous;
use parley_kit::panics::{self, ASKED};
use parley_kit::{Rng, number, seeds};
use parley_protocol::act::Kind;
use parley_protocol::command::Command;
use parley_protocol::identity::Principal;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Reason;
use parley_protocol::state::State;
use tokio::task::JoinSet;

use super::audit::{Told, audit};
use super::harness::{SLEEPY, hooked, start, write};

/// Callers at once; every fifth is human.
const WRITERS: u64 = 16;
/// One call in so many panics before, and as many after it is judged.
const PANICS: u64 = 150;

/// Panics now and then, and lets others go first.
struct Mischief {
    rng: Rng,
    panics: AtomicU64,
}

impl YieldPoints for Mischief {
    fn reach(&self, point: Point) -> BoxFuture<'_, ()> {
        async move {
            let may_panic = matches!(point, Point::Received(_) | Point::AfterAdmit(_));
            if may_panic && self.rng.once_in(PANICS) {
                self.panics.fetch_add(1, Ordering::Relaxed);
                panic!("{ASKED}");
            }
            for _ in 0..self.rng.below(4) {
                tokio::task::yield_now().await;
            }
        }
        .boxed()
    }
}

/// Goal: passivation, panics and delays at every send lose, double and change nothing, and no
/// caller is left without an answer. Method: seeded writers against an engine whose actors sleep
/// whenever they can; everything told is compared with what the language makes of the acts stored,
/// before and after a restart. `PARLEY_SEEDS`, `PARLEY_ACTS`, `PARLEY_THREADS` and `PARLEY_SEED`
/// set the size: `PARLEY_SEEDS=100 PARLEY_ACTS=100000 PARLEY_THREADS=2000` is the large one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storms() {
    panics::quiet();
    let acts = number("PARLEY_ACTS", 5_000);
    let threads = number("PARLEY_THREADS", acts / 50);
    for seed in seeds(20) {
        println!("{}", storm(seed, acts, threads).await);
    }
}

/// One storm; tells what it was like.
async fn storm(seed: u64, acts: u64, threads: u64) -> String {
    let disk = MemoryDisk::default();
    let mischief = Arc::new(Mischief { rng: Rng::new(seed), panics: AtomicU64::new(0) });
    let engine = Arc::new(hooked(&disk, SLEEPY, Hook::of(Arc::clone(&mischief) as _)).await);
    let opened = Arc::new(Mutex::new(Vec::new()));
    let writers = (0..WRITERS).map(|writer| {
        let (engine, opened) = (Arc::clone(&engine), Arc::clone(&opened));
        let name = format!("writer-{writer}");
        let principal = if writer % 5 == 0 { human(&name) } else { model(&name) };
        let rng = Rng::new(seed << 32 | writer);
        async move {
            let mut told = Vec::new();
            for count in 0..acts / WRITERS {
                let text = format!("{seed}.{writer}.{count}");
                let thread = choose(&rng, &opened.lock().unwrap(), threads);
                let command = command(&rng, &principal, thread, &text);
                let key = (rng.below(3) == 0).then_some(text.as_str());
                let outcome = write(&engine, &principal, thread, command.clone(), key).await;
                if let (None, Ok(answer)) = (thread, &outcome) {
                    opened.lock().unwrap().push(answer.location.unwrap());
                }
                told.push(Told { text, principal: principal.clone(), thread, command, outcome });
            }
            told
        }
    });
    // Every caller has its answer.
    let writers = writers.collect::<JoinSet<_>>().join_all().await;
    let told: Vec<Told> = writers.into_iter().flatten().collect();
    let threads: BTreeSet<ThreadId> = opened.lock().unwrap().iter().copied().collect();
    let limits = generous();
    let live = audit(&engine.journal.view(), &limits, &threads, &told);
    live.unwrap_or_else(|it| panic!("seed {seed}: {it}"));
    Arc::into_inner(engine).unwrap().stop().await;
    let engine = start(&disk, SLEEPY).await;
    let again = audit(&engine.journal.view(), &limits, &threads, &told);
    again.unwrap_or_else(|it| panic!("seed {seed}, after a restart: {it}"));
    engine.stop().await;
    let count = |wanted: &dyn Fn(&Told) -> bool| told.iter().filter(|it| wanted(it)).count();
    let acknowledged = count(&|it| it.outcome.is_ok());
    let reason = |told: &Told| told.outcome.as_ref().err().map(|refusal| refusal.reason);
    let failed = count(&|it| reason(it) == Some(Reason::Internal));
    let rested = count(&|it| reason(it) == Some(Reason::Overloaded));
    let panics = mischief.panics.load(Ordering::Relaxed);
    assert!(acknowledged * 2 > told.len() && panics > 0);
    format!(
        "seed {seed}: {} calls over {} threads, {acknowledged} acknowledged, {panics} panics, \
         {failed} failed, {rested} refused by a resting thread",
        told.len(),
        threads.len()
    )
}

fn choose(rng: &Rng, opened: &[ThreadId], threads: u64) -> Option<ThreadId> {
    let opens = (opened.len() as u64) < threads && rng.once_in(4);
    (!opens && !opened.is_empty()).then(|| rng.pick(opened))
}

fn command(rng: &Rng, principal: &Principal, thread: Option<ThreadId>, text: &str) -> Command {
    if thread.is_none() {
        return post(Kind::Ask, None, text);
    }
    match rng.below(20) {
        0..=8 => post(Kind::Inform, thread, text),
        9..=11 => post(Kind::Ask, thread, text),
        12..=14 => post(Kind::Answer, thread, text),
        15 => assertion(text, None, None),
        16 if principal.is_human() => Command::Mark(mark(State::Closed, text)),
        16 | 17 => Command::Mark(mark(State::Answered, text)),
        _ => Command::Reopen(mark(State::Open, text)),
    }
}
