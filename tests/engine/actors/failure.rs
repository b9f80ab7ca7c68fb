//! Disks that fail under the whole engine: nothing acknowledged is lost, nothing refused is there,
//! and service resumes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use parley::engine::Engine;
use parley_kit::acts::{model, post};
use parley_kit::engine::{AWAKE, generous};
use parley_kit::{Cut, Faults, FaultyDisk, Rng, number};
use parley_protocol::act::Kind;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Reason;
use tokio::task::JoinSet;

use super::audit::{Told, audit};
use super::harness::{bodies, is_whole, open, say, start, writable, write};

/// Goal: a commit that fails before it reaches the store leaves no trace: 503, reads and later
/// acts as if it had not been, and service resumes. Method: a disk that takes no writes for a
/// while, acts in a known thread and in new ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fails_before() {
    let disk = FaultyDisk::default();
    let engine = start(&disk, AWAKE).await;
    let (ada, bob) = (model("ada"), model("bob"));
    let thread = open(&engine, &ada, "a").await;
    say(&engine, &bob, thread, "b").await.unwrap();
    let before = engine.journal.view().summary(thread).unwrap().unwrap();
    disk.set(Faults { write: 1, lasting: true, ..Faults::default() });
    for _ in 0..3 {
        let command = || post(Kind::Inform, Some(thread), "lost");
        let keyed = write(&engine, &ada, Some(thread), command(), Some("a-key"));
        let opening = write(&engine, &bob, None, post(Kind::Ask, None, "lost too"), None);
        let bare = say(&engine, &bob, thread, "lost as well");
        let (keyed, opening, bare) = tokio::join!(keyed, opening, bare);
        for outcome in [keyed, opening, bare] {
            assert_eq!(outcome.unwrap_err().reason, Reason::StorageUnavailable);
        }
    }
    assert!(engine.forum.ready().is_err());
    assert_eq!(engine.journal.view().summary(thread).unwrap().unwrap(), before, "reads go on");
    disk.mend();
    writable(&engine).await;
    assert_eq!(engine.journal.view().summary(thread).unwrap().unwrap(), before);
    assert_eq!(bodies(&engine, thread), ["a", "b"]);
    let command = post(Kind::Inform, Some(thread), "lost");
    let again = write(&engine, &ada, Some(thread), command, Some("a-key")).await.unwrap();
    assert!(!again.replayed && again.status == 201);
    say(&engine, &bob, thread, "c").await.unwrap();
    assert_eq!(bodies(&engine, thread), ["a", "b", "lost", "c"]);
    let next = open(&engine, &bob, "d").await;
    engine.stop().await;
    let engine = start(&disk, AWAKE).await;
    assert_eq!(bodies(&engine, thread), ["a", "b", "lost", "c"]);
    assert_eq!(bodies(&engine, next), ["d"]);
    engine.stop().await;
}

/// Goal: a commit that fails after it reached the store is wholly there or not at all, and the key
/// tells which. Method: syncs that do their work and say that they failed; the calls again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fails_after() {
    for reached in [true, false] {
        let disk = FaultyDisk::default();
        let engine = start(&disk, AWAKE).await;
        let ada = model("ada");
        let thread = open(&engine, &ada, "a").await;
        let faults = Faults { sync: 1, sync_reached: reached, lasting: true, ..Faults::default() };
        disk.set(faults);
        let sorted = |engine: &Engine| {
            let mut now = bodies(engine, thread);
            now.sort();
            now
        };
        let send = async |word: &str| {
            let command = post(Kind::Inform, Some(thread), word);
            write(&engine, &ada, Some(thread), command, Some(word)).await
        };
        let (b, c, d) = tokio::join!(send("b"), send("c"), send("d"));
        for outcome in [b, c, d] {
            assert_eq!(outcome.unwrap_err().reason, Reason::StorageUnavailable);
        }
        disk.mend();
        writable(&engine).await;
        let there = bodies(&engine, thread);
        for word in ["b", "c", "d"] {
            let again = send(word).await.unwrap();
            assert_eq!(again.replayed, there.iter().any(|it| it == word), "{reached} {there:?}");
        }
        assert_eq!(sorted(&engine), ["a", "b", "c", "d"]);
        is_whole(&engine, thread);
        engine.stop().await;
        let engine = start(&disk, AWAKE).await;
        assert_eq!(sorted(&engine), ["a", "b", "c", "d"]);
        engine.stop().await;
    }
}

/// Writers until the power goes at the time that `rng` choose; then what is left is compared with
/// what they were told.
async fn power_cut(seed: u64, lies: bool) -> Result<usize, String> {
    let (disk, rng) = (FaultyDisk::default(), Rng::new(seed));
    let engine = Arc::new(start(&disk, AWAKE).await);
    let threads: Arc<Mutex<BTreeSet<ThreadId>>> = Arc::default();
    let done = Arc::new(AtomicU64::new(0));
    disk.set(Faults { sync_lies: lies, ..Faults::default() });
    let writers = (0..8_u64).map(|writer| {
        let (engine, threads, done) =
            (Arc::clone(&engine), Arc::clone(&threads), Arc::clone(&done));
        let rng = Rng::new(seed << 8 | writer);
        async move {
            let (principal, mut told, mut mine) = (model(&format!("w{writer}")), Vec::new(), None);
            loop {
                let text = format!("{seed}.{writer}.{}", told.len());
                let thread = mine.filter(|_| rng.below(8) > 0);
                let kind = if thread.is_none() { Kind::Ask } else { Kind::Inform };
                let command = post(kind, thread, &text);
                let outcome = write(&engine, &principal, thread, command.clone(), None).await;
                if let Ok(answer) = &outcome {
                    mine = answer.location;
                    threads.lock().unwrap().extend(mine);
                }
                let failed = outcome.is_err();
                told.push(Told { text, principal: principal.clone(), thread, command, outcome });
                done.fetch_add(1, Ordering::Relaxed);
                if failed {
                    return told;
                }
            }
        }
    });
    let writers: JoinSet<_> = writers.collect();
    let enough = 20 + rng.below(400);
    while done.load(Ordering::Relaxed) < enough {
        tokio::task::yield_now().await;
    }
    // From here on this disk takes nothing, so that nothing is acknowledged; what the power left of
    // it is another one, which the engine that ran on this one never reaches.
    disk.set(Faults::refusing());
    let left = disk.copy();
    left.cut(if lies || rng.below(2) == 0 { Cut::ForgetAll } else { Cut::KeepSome(seed) });
    let told: Vec<Told> = writers.join_all().await.into_iter().flatten().collect();
    Arc::into_inner(engine).unwrap().stop().await;
    let threads = threads.lock().unwrap().clone();
    let engine = start(&left, AWAKE).await;
    let found = audit(&engine.journal.view(), &generous(), &threads, &told);
    engine.stop().await;
    found.map(|()| told.len())
}

/// Goal: a disk that forgets all it was not told to sync takes nothing acknowledged along. Method:
/// a load through the whole engine, a cut at a time that the seed chooses, what is left against
/// what was told. `PARLEY_CUTS` sets how many.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgetful() {
    for seed in 1..=number("PARLEY_CUTS", 12) {
        let told = power_cut(seed, false).await;
        let told = told.unwrap_or_else(|it| panic!("seed {seed}: {it}"));
        assert!(told > 8, "seed {seed}");
    }
}

/// Goal: an acknowledgement before the sync is caught. Method: the same with a disk whose syncs
/// are planted to do nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_too_early() {
    let found = power_cut(2, true).await.unwrap_err();
    assert!(found.contains("acknowledged and not there"), "{found}");
}
