//! The log, read once for all who come back.

use std::sync::Arc;

use parley::feed::replay_cache::{CHUNK_ENTRIES, ReplayCache};
use parley::feed::subscriber::Subscription;
use parley::journal::options::JournalOptions;
use parley::storage::disk::MemoryDisk;
use parley_kit::journal::JournalHarness;
use parley_protocol::feed::Scope;
use parley_protocol::identity::Participant;
use parley_protocol::ids::TokenId;
use tokio::task::JoinSet;

fn listener(identity: &str, scope: Scope) -> Subscription {
    let participant = Participant { identity: identity.into(), extension: None };
    Subscription { participant, scope, anyone: true, token: TokenId(1), expires_at: None }
}

/// Goal: however many read the same stretch of the log at once, from wherever, each part of it is
/// read and decoded once, and nothing of it is lost between the parts. Method: several chunks of
/// openings, many readers on four threads, and the count of readings.
#[test]
fn read_once() {
    const CHUNKS: u64 = 3;
    let last = CHUNKS * CHUNK_ENTRIES - 100;
    let mut harness =
        JournalHarness::open(&MemoryDisk::default(), JournalOptions::default()).unwrap();
    for number in 1..=last {
        drop(harness.ask("local:ada", &format!("question {number}")));
        if number % 200 == 0 {
            harness.work();
        }
    }
    harness.work();
    assert_eq!(harness.journal.committed(), last);
    let chunks = Arc::new(ReplayCache::new(Arc::clone(&harness.journal)));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
    let readers = (0..100).map(|reader| {
        let chunks = Arc::clone(&chunks);
        async move {
            let begun = reader * 10;
            let mut after = begun;
            let mut numbers = Vec::new();
            while after < last {
                let chunk = chunks.at(after).await.unwrap();
                let all = listener("local:bob", Scope::All);
                let found = chunk.concerning(&all, &[], after);
                numbers.extend(found.iter().map(|(number, _)| *number));
                let open = listener("local:bob", Scope::Inbox);
                assert_eq!(chunk.concerning(&open, &[], after).len(), found.len());
                after = chunk.upto;
            }
            assert!(numbers.into_iter().eq(begun + 1..=last));
        }
    });
    runtime.block_on(async { readers.collect::<JoinSet<_>>().join_all().await });
    assert_eq!(chunks.reads(), CHUNKS);
}
