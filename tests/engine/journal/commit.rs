//! What one healthy writer does.

use parley::journal::WriterStep;
use parley::journal::options::JournalOptions;
use parley::journal::{BatchStream, StreamItem};
use parley::storage::disk::MemoryDisk;
use parley_kit::FaultyDisk;
use parley_kit::journal::{Came, JournalHarness, came};
use parley_protocol::act::Kind;
use parley_protocol::refusal::Reason;

/// Goal: what waits together is committed together, in the order of the queue. Method: a hundred
/// openings before the first step; one sync makes all of them durable, and their numbers rise.
#[test]
fn group_commit() {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    harness.work();
    let mut waiting: Vec<_> =
        (0..100).map(|n| harness.ask("local:ada", &format!("ask {n}"))).collect();
    disk.mend();
    harness.work();
    assert_eq!(disk.syncs(), 1);
    let numbers: Vec<_> = waiting.iter_mut().map(|one| came(one).stored().number).collect();
    assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
    assert_eq!(harness.journal.committed(), 100);
}

/// Goal: the view shows an act before its caller is answered, and neither before it is on disk.
/// Method: look at both after the append, after the commit, and after the publishing.
#[test]
fn view_moves_before_replies() {
    let mut harness = JournalHarness::start(&MemoryDisk::default());
    let mut waiting = harness.ask("local:ada", "when?");
    assert!(harness.subjects().is_empty());
    assert_eq!(harness.writer.step(), WriterStep::Worked);
    assert_eq!(harness.subjects(), ["when?"]);
    assert!(matches!(came(&mut waiting), Came::Nothing));
    harness.publish();
    assert_eq!(came(&mut waiting).stored().number, 1);
}

/// Goal: an answer that depends on acts in flight leaves after them. Method: a barrier behind an
/// act that is not committed yet.
#[test]
fn barrier() {
    let mut harness = JournalHarness::start(&MemoryDisk::default());
    let thread = harness.opened("local:ada", "what?");
    let mut holder = harness.load(thread);
    let mut said = harness.say(&mut holder, "local:bob", Kind::Answer, "that");
    let mut behind = harness.behind(&holder);
    assert!(matches!(came(&mut behind), Came::Nothing));
    harness.work();
    assert_eq!(came(&mut said).stored().number, 2);
    assert!(matches!(came(&mut behind), Came::Unchanged));
}

/// Goal: only one actor appends to a thread. Method: a second one takes the lease; the first is
/// refused, what it says after that too, and what depends on it.
#[test]
fn second_actor() {
    let mut harness = JournalHarness::start(&MemoryDisk::default());
    let thread = harness.opened("local:ada", "who?");
    let mut first = harness.load(thread);
    let mut second = harness.load(thread);
    let mut refused = harness.say(&mut first, "local:bob", Kind::Inform, "I");
    let mut behind = harness.behind(&first);
    let mut taken = harness.say(&mut second, "local:bob", Kind::Inform, "we");
    harness.work();
    assert!(matches!(came(&mut refused), Came::Refused(Reason::StorageUnavailable)));
    assert!(matches!(came(&mut behind), Came::Refused(Reason::StorageUnavailable)));
    assert!(matches!(came(&mut taken), Came::Stored(_)));
    assert_eq!(harness.journal.view().summary(thread).unwrap().unwrap().message_count, 2);
}

/// Goal: the queue is bounded. Method: fill it; one more is 503 `overloaded`, and after a commit
/// there is room again.
#[test]
fn overloaded() {
    let options = JournalOptions { queue_max: 10, ..JournalOptions::default() };
    let mut harness = JournalHarness::open(&MemoryDisk::default(), options).unwrap();
    let mut waiting: Vec<_> = (0..11).map(|_| harness.ask("local:ada", "more")).collect();
    let mut last = waiting.pop().unwrap();
    assert!(matches!(came(&mut last), Came::Refused(Reason::Overloaded)));
    harness.work();
    assert!(waiting.iter_mut().all(|one| matches!(came(one), Came::Stored(_))));
    assert_eq!(harness.opened("local:ada", "again").0, 11);
}

/// Goal: the queue is bounded by bytes too. Method: long messages, far fewer than the items that it
/// takes, until one is refused; after a commit there is room again.
#[test]
fn overloaded_by_bytes() {
    let mut harness = JournalHarness::start(&MemoryDisk::default());
    let body = "x".repeat(1 << 20);
    let mut waiting: Vec<_> = (0..100).map(|_| harness.ask("local:ada", &body)).collect();
    let mut refused = waiting.split_off(64);
    assert!(refused.iter_mut().all(|one| matches!(came(one), Came::Refused(Reason::Overloaded))));
    harness.work();
    assert!(waiting.iter_mut().all(|one| matches!(came(one), Came::Stored(_))));
    harness.opened("local:ada", "again");
}

/// Goal: a listener hears every batch in order. Method: listen between two commits
/// and compare with what was committed.
#[test]
fn listening() {
    let mut harness = JournalHarness::start(&MemoryDisk::default());
    harness.opened("local:ada", "before");
    let mut listening = harness.journal.listen(8);
    assert_eq!(listening.after, 1);
    for n in 0..3 {
        harness.ask("local:ada", &format!("a {n}"));
        harness.ask("local:ada", &format!("b {n}"));
        harness.work();
    }
    let mut heard = Vec::new();
    while let Some(published) = listening.try_next() {
        let StreamItem::Batch(batch) = published else { panic!("{published:?}") };
        heard.extend(batch.committed.iter().map(|committed| committed.number));
    }
    assert_eq!(heard, (2..=7).collect::<Vec<_>>());
}

/// Goal: publishing waits for no listener: one that takes nothing is told what it missed, and hears
/// every later batch. Method: three batches before a queue of two, then one more; a second listener
/// beside it hears all.
#[test]
fn missed() {
    let mut harness = JournalHarness::start(&MemoryDisk::default());
    let (mut slow, mut quick) = (harness.journal.listen(2), harness.journal.listen(8));
    for n in 0..4 {
        harness.opened("local:ada", &n.to_string());
    }
    let heard = |stream: &mut BatchStream| -> Vec<(bool, u64)> {
        let next = std::iter::from_fn(|| stream.try_next());
        next.map(|published| match published {
            StreamItem::Batch(batch) => (true, batch.upto()),
            StreamItem::Missed(upto) => (false, upto),
        })
        .collect()
    };
    assert_eq!(heard(&mut slow), [(false, 3), (true, 4)]);
    assert_eq!(heard(&mut quick), [(true, 1), (true, 2), (true, 3), (true, 4)]);
}

/// Goal: a closed journal takes nothing new, answers what is queued and ends. Method: close it
/// between an append and its commit.
#[test]
fn closing() {
    let mut harness = JournalHarness::start(&MemoryDisk::default());
    let mut before = harness.ask("local:ada", "before");
    harness.journal.close();
    let mut after = harness.ask("local:ada", "after");
    assert_eq!(harness.work(), WriterStep::Done);
    assert!(matches!(came(&mut before), Came::Stored(_)));
    assert!(matches!(came(&mut after), Came::Refused(Reason::ShuttingDown)));
}
