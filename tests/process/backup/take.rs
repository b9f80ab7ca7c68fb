//! How a copy is taken: one at a time, in bounded pieces, without holding writers up.

use std::sync::Arc;

use futures_util::StreamExt;
use parley::clock::SystemClock;
use parley::engine::Engine;
use parley::storage::disk::MemoryDisk;
use parley::tokens::Tokens;
use parley_kit::acts::{model, post};
use parley_kit::{Folder, engine};
use parley_protocol::act::Kind;
use parley_protocol::command::Call;
use parley_protocol::refusal::Reason;

/// Bytes that one piece may have: a frame and the row that made it too long.
const PIECE_MAX: usize = 512 << 10;
/// Entries that a replay reaches back here: so few that the log is soon dropped.
const REPLAY_MAX: u64 = 100;

async fn start(disk: &MemoryDisk) -> Engine {
    let mut options = engine::options();
    options.journal.segment_bytes = 64 << 10;
    options.journal.replay_max = REPLAY_MAX;
    engine::start(options, Arc::new(disk.clone())).await
}

async fn open_threads(engine: &Engine, count: usize) {
    let principal = model("ada");
    let calls = (0..count).map(|number| {
        let command = post(Kind::Ask, None, &format!("{number} {}", "x".repeat(400)));
        engine.forum.perform(&principal, Call::Write(None, command), None)
    });
    let answers: Vec<_> = futures_util::stream::iter(calls).buffer_unordered(128).collect().await;
    for answer in answers {
        assert_eq!(answer.unwrap().status, 201);
    }
}

/// Goal: a second copy is refused while one is under way and its reader slow; writers go on, and
/// what is written meanwhile is not in it; a copy that is let go frees its place and the log; a
/// piece is small. Method: an engine in memory, a stream that is not read, and one that is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_at_a_time() {
    let disk = MemoryDisk::default();
    let engine = start(&disk).await;
    let tokens = Tokens::open(Arc::new(disk.clone()), "local", Arc::new(SystemClock)).unwrap();
    // Several pieces, archived or not.
    open_threads(&engine, 4_000).await;
    let held = engine.forum.backup(&tokens).unwrap();
    let mut pieces = Box::pin(held.pieces);
    let first = pieces.next().await.unwrap().unwrap();
    assert!(first.len() < PIECE_MAX);
    let Err(refused) = engine.forum.backup(&tokens) else { panic!("a second copy") };
    assert_eq!(refused.reason, Reason::Overloaded);
    assert!(refused.detail.contains("Another copy") && refused.retry_after_ms.is_some());

    // No writer waits for the reader, and the log stays as long as it is needed.
    let oldest = engine.journal.log().oldest();
    open_threads(&engine, 2_000).await;
    assert_eq!(engine.journal.log().oldest(), oldest);
    let (mut copy, mut longest) = (first.to_vec(), first.len());
    while let Some(piece) = pieces.next().await {
        let piece = piece.unwrap();
        longest = longest.max(piece.len());
        copy.extend_from_slice(&piece);
    }
    assert!(longest < PIECE_MAX && copy.len() > 2 * PIECE_MAX, "{longest} of {}", copy.len());
    let folder = Folder::new("take");
    std::fs::write(folder.join("copy"), &copy).unwrap();
    let cursor = parley::maintenance::backup::verify(&folder.join("copy")).unwrap();
    assert_eq!(cursor, held.cursor);
    assert_eq!(parley_kit::position(&cursor) / 16, 4_000);
    drop(pieces);

    // One that is not read to its end.
    let left = engine.forum.backup(&tokens).unwrap();
    let mut pieces = Box::pin(left.pieces);
    pieces.next().await.unwrap().unwrap();
    drop(pieces);
    let again = engine.forum.backup(&tokens).unwrap();
    drop(again);
    // With every rotation the log lets go of what is archived and out of reach.
    while engine.journal.log().oldest() == oldest {
        open_threads(&engine, 200).await;
    }
    engine.stop().await;
}
