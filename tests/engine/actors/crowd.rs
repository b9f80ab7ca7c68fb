//! Many at once: readers while others write, writers on one thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parley::engine::Engine;
use parley::journal::StreamItem;
use parley::storage::disk::{FolderDisk, MemoryDisk};
use parley_kit::acts::{message, model};
use parley_kit::{Folder, engine, number, position};
use parley_protocol::act::Kind;
use parley_protocol::command::{Call, PageQuery, ReadCall};
use parley_protocol::ids::ThreadId;
use serde_json::Value;
use tokio::task::JoinSet;

use super::harness::{SLEEPY, bodies, json, open, say, start, write};

/// Writers of the test of readers.
const WRITERS: u64 = 32;

/// Pages through `thread` until nothing more comes and `done` says that nothing will; gives the
/// bodies in the order of the pages.
async fn page_through(engine: &Engine, thread: ThreadId, done: &AtomicU64) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), None::<Box<str>>);
    loop {
        let was_done = done.load(Ordering::Acquire) == WRITERS;
        let page = PageQuery { cursor: cursor.clone(), limit: Some(7) };
        let call = Call::Read(ReadCall::Flat(thread, page));
        let body = json(&engine.forum.perform(&model("reader"), call, None).await.unwrap());
        let messages = body["messages"].as_array().unwrap();
        let texts = messages.iter().map(|message| message["body"].as_str().unwrap().to_owned());
        found.extend(texts);
        let text = body["cursor"].as_str().unwrap();
        let there = engine.forum.view().position().0;
        assert!(position(text) <= there, "a cursor ahead of what is there");
        cursor = Some(text.into());
        if was_done && messages.is_empty() && body["more"] != true {
            return found;
        }
        tokio::task::yield_now().await;
    }
}

/// Goal: the pages of readers in tight loops, joined, are every act once and in order, while
/// writers post, archives run and actors sleep; no cursor is ahead of what can be read. Method: two
/// threads that all write in, two readers of each; a third lists the threads that are opened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers() {
    let acts = number("PARLEY_ACTS", 3_000);
    let engine = Arc::new(start(&MemoryDisk::default(), SLEEPY).await);
    let threads =
        [open(&engine, &model("ada"), "0").await, open(&engine, &model("ada"), "1").await];
    let done = Arc::new(AtomicU64::new(0));
    let writers = (0..WRITERS).map(|writer| {
        let (engine, done) = (Arc::clone(&engine), Arc::clone(&done));
        async move {
            let principal = model(&format!("writer-{writer}"));
            for count in 0..acts / WRITERS {
                let thread = threads[usize::try_from(count % 2).unwrap()];
                say(&engine, &principal, thread, &format!("{writer}.{count}")).await.unwrap();
                if count % 8 == 0 {
                    open(&engine, &principal, &format!("{writer}.{count}")).await;
                }
            }
            done.fetch_add(1, Ordering::Release);
        }
    });
    let writers: JoinSet<_> = writers.collect();
    let readers = threads.iter().chain(&threads).map(|thread| {
        let (engine, done, thread) = (Arc::clone(&engine), Arc::clone(&done), *thread);
        async move { (thread, page_through(&engine, thread, &done).await) }
    });
    let readers: JoinSet<_> = readers.collect();
    let listed = list(&engine, &done).await;
    writers.join_all().await;
    for (thread, found) in readers.join_all().await {
        assert_eq!(found, bodies(&engine, thread), "{thread}");
    }
    let opened = 2 + WRITERS * (acts / WRITERS).div_ceil(8);
    assert_eq!(listed, (1..=opened).collect::<Vec<_>>());
    Arc::into_inner(engine).unwrap().stop().await;
}

/// The numbers of all threads, listed page by page while they are opened.
async fn list(engine: &Engine, done: &AtomicU64) -> Vec<u64> {
    let (mut found, mut query) = (Vec::new(), parley_protocol::command::ThreadQuery::default());
    query.page.limit = Some(5);
    loop {
        let was_done = done.load(Ordering::Acquire) == WRITERS;
        let call = Call::Read(ReadCall::ListThreads(query.clone()));
        let body = json(&engine.forum.perform(&model("reader"), call, None).await.unwrap());
        let items = body["items"].as_array().unwrap();
        found.extend(items.iter().filter_map(|item| item["number"].as_u64()));
        query.page.cursor = body["cursor"].as_str().map(Into::into);
        if was_done && items.is_empty() && body["more"] != Value::Bool(true) {
            return found;
        }
        tokio::task::yield_now().await;
    }
}

/// Goal: a hot thread is not held to one commit an act. Method: writers as extensions of one
/// identity on one thread, on a real disk, for a while (`PARLEY_SECONDS`); acts and commits
/// counted by what the journal publishes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hot_thread() {
    let folder = Folder::new("hot");
    let seconds = number("PARLEY_SECONDS", 2);
    let disk = Arc::new(FolderDisk::open(folder.path()).unwrap());
    let engine = Arc::new(engine::start(engine::options(), disk).await);
    let principal = model("ada");
    let thread = open(&engine, &principal, "a").await;
    let mut listening = engine.journal.listen(64);
    // Its opening may come after the start of the stream, or before.
    let before = listening.after;
    let counting = tokio::spawn(async move {
        let (mut batches, mut acts) = (0_u64, 0_u64);
        while let Some(published) = listening.next().await {
            let StreamItem::Batch(batch) = published else { panic!("{published:?}") };
            batches += 1;
            acts += batch.committed.len() as u64;
        }
        (batches, acts)
    });
    let (begun, lasts) = (Instant::now(), Duration::from_secs(seconds));
    let writers = (0..64).map(|writer| {
        let (engine, principal) = (Arc::clone(&engine), principal.clone());
        async move {
            let name = format!("w{writer}");
            while begun.elapsed() < lasts {
                let extension = Some(name.as_str().into());
                let command = message(Kind::Inform, Some(thread), None, extension, "more");
                write(&engine, &principal, Some(thread), command, None).await.unwrap();
            }
        }
    });
    writers.collect::<JoinSet<_>>().join_all().await;
    let count = bodies(&engine, thread).len() as u64;
    Arc::into_inner(engine).unwrap().stop().await;
    let (batches, acts) = counting.await.unwrap();
    println!("{acts} acts in {batches} commits, {seconds} s");
    assert_eq!(acts + before, count);
    assert!(acts > 3 * batches, "{acts} acts in {batches} commits");
}
