//! On a real folder, with the writer on its thread and the publisher on a runtime.

use std::sync::Arc;

use parley::clock::SystemClock;
use parley::journal::Journal;
use parley::journal::options::JournalOptions;
use parley::storage::disk::FolderDisk;
use parley::storage::error::StoreError;
use parley_kit::Folder;
use parley_protocol::ids::ThreadId;

/// Goal: a folder is held by one server at a time. Method: open it twice, then again after the
/// first is gone.
#[test]
fn locked() {
    let folder = Folder::new("locked");
    let held = FolderDisk::open(folder.path()).unwrap();
    let refused = FolderDisk::open(folder.path()).unwrap_err();
    assert!(matches!(&refused, StoreError::Locked { folder: named } if named == folder.path()));
    assert!(refused.to_string().contains(folder.path().to_str().unwrap()));
    drop(held);
    FolderDisk::open(folder.path()).unwrap();
}

/// Goal: what was acknowledged on a real disk is there after a restart, and numbering goes on.
/// Method: many openings at once through the shipped threads, close, open, compare.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real() {
    let folder = Folder::new("real");
    let mut threads = Vec::new();
    for round in 0..2_u64 {
        let disk = Arc::new(FolderDisk::open(folder.path()).unwrap());
        let opened = Journal::open(JournalOptions::default(), disk, Arc::new(SystemClock)).unwrap();
        let journal = opened.journal;
        let writer = std::thread::spawn(move || opened.writer.run());
        let publisher = tokio::spawn(opened.publisher.run());
        for thread in &threads {
            assert!(journal.view().summary(*thread).unwrap().is_some(), "{thread}");
        }
        let mut calls = tokio::task::JoinSet::new();
        for n in 0..200 {
            let journal = journal.clone();
            calls.spawn(async move {
                parley_kit::journal::opening(&journal, &format!("{round} {n}")).await
            });
        }
        let made: Vec<ThreadId> = calls.join_all().await;
        threads.extend(made);
        journal.close();
        publisher.await.unwrap();
        writer.join().unwrap();
    }
    threads.sort_unstable();
    assert_eq!(threads, (1..=400).map(ThreadId).collect::<Vec<_>>());
}
