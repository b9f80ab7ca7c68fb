//! Snapshots of threads that never sleep.

use std::time::Duration;

use parley::journal::view::RebuiltThread;
use parley_kit::FaultyDisk;
use parley_kit::acts::model;
use parley_kit::engine::AWAKE;

use super::harness::{open, say, start};

/// Goal: a thread that stays awake leaves snapshots, so that the first wake after a kill reads
/// about a thousand acts. Method: 2 500 acts in one thread that never sleeps; then what a wake
/// would read.
#[test]
fn awake_threads_leave_snapshots() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = start(&FaultyDisk::default(), AWAKE).await;
        let ada = model("ada");
        let thread = open(&engine, &ada, "a long one").await;
        for _ in 0..50 {
            let acts = (0..50).map(|_| say(&engine, &ada, thread, "on"));
            futures_util::future::try_join_all(acts).await.unwrap();
        }
        let left = async {
            let mut looks = tokio::time::interval(Duration::from_millis(20));
            loop {
                let RebuiltThread { thread, acts_read } =
                    engine.journal.view().rebuilt(thread).unwrap().unwrap();
                assert_eq!(thread.summary().seq, 2_501);
                if acts_read <= 1_000 {
                    break;
                }
                looks.tick().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), left).await.expect("a snapshot is left");
        engine.stop().await;
    });
}
