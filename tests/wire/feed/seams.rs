//! Many listeners in all scopes while many write, coming and going from wherever they were:
//! each is told what the journal says, in order, once.

use std::collections::BTreeSet;
use std::sync::Arc;

use parley_kit::{Client, ExpectedFeed, ExpectedFrame, Frame, Heard, Listener, Rng, Server, seeds};
use parley_protocol::feed::Scope;
use parley_protocol::ids::ThreadId;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::expected::read;

// The acceptance of the feed: 200 listeners, 32 writers, 500 returns.
const WRITERS: u64 = 32;
const LISTENERS: u64 = 200;
const ACTS_EACH: u64 = 24;
const THREADS: u64 = 24;
const RETURNS: u64 = 500;
const EXTENSIONS: [Option<&str>; 3] = [None, Some("one"), Some("two")];

/// One connection: where it began, what it brought, whether it came back from somewhere.
struct Session {
    begun: u64,
    resumed: bool,
    frames: Vec<Frame>,
}

/// Goal: whatever is written at the seam, a listener is told what the journal says. Method: with
/// each seed all of it at once over sockets, listeners dropping and coming back from any cursor
/// they ever had; then the journal is read and every connection is compared with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seams() {
    for seed in seeds(5) {
        println!("seed {seed}");
        one(seed).await;
    }
}

async fn one(seed: u64) {
    let mut forum = Server::start(|config| {
        config.feed.buffer = 8 + seed % 64;
        config.store.segment_bytes = 1 << 20;
    })
    .await;
    let mut writers = Vec::new();
    for place in 0..WRITERS {
        let client = forum.writer(&format!("w{place}")).await;
        writers.push((format!("local:w{place}"), client));
    }
    let mut threads = Vec::new();
    for place in 0..THREADS {
        let writer = (place % WRITERS) as usize;
        threads.push(writers[writer].1.open(&format!("question {place}")).await);
    }
    let threads: Arc<[String]> = threads.into();
    let forum_at = Arc::new(forum);
    let (done, progress) = watch::channel(0_u64);
    let acts = WRITERS * ACTS_EACH;
    let mut listening = JoinSet::new();
    for place in 0..LISTENERS {
        let rng = Rng::new(seed << 32 | place);
        let (identity, client) = &writers[rng.below(WRITERS) as usize];
        let feed = feed(&rng, identity, &threads);
        let token = client.token.clone();
        let returns = RETURNS / LISTENERS + u64::from(place < RETURNS % LISTENERS);
        let mut moments: Vec<u64> = (0..returns).map(|_| rng.below(acts)).collect();
        moments.sort_unstable();
        let (forum, progress) = (Arc::clone(&forum_at), progress.clone());
        listening.spawn(async move {
            let sessions = listen(&forum, &feed, &token, rng, &moments, progress).await;
            (feed, sessions)
        });
    }
    let mut writing = JoinSet::new();
    for (place, (_, client)) in (0..).zip(writers) {
        let rng = Rng::new(seed << 32 | 1 << 31 | place);
        let (threads, done) = (Arc::clone(&threads), done.clone());
        writing.spawn(write(client, rng, threads, ACTS_EACH, done));
    }
    writing.join_all().await;
    // A listener that hears the last question has heard all before it.
    let mut last = forum_at.writer("last").await;
    let asked = last.open("the last question").await;
    let head = last.get("/v1/inbox").await.expect(200)["cursor"].as_str().unwrap().to_owned();
    done.send_replace(u64::MAX);
    drop(done);
    let listened = listening.join_all().await;
    forum = Arc::into_inner(forum_at).unwrap();
    let entries = forum.entries().await;
    let head = Frame::read(&json!({ "cursor": head }).to_string()).position;
    let mut live = 0;
    for (feed, sessions) in &listened {
        let expected = feed.all(&entries);
        for (place, session) in sessions.iter().enumerate() {
            let is_last = place + 1 == sessions.len();
            live += check(feed, &expected, session, is_last.then_some(head), &asked);
        }
    }
    println!("{} entries, {live} frames came live", entries.len());
    assert!(live > 0);
}

fn feed(rng: &Rng, identity: &str, threads: &[String]) -> ExpectedFeed {
    let scopes: [Scope; Scope::ALL.len()] = [Scope::Inbox, Scope::All, Scope::Threads];
    let scope = scopes[rng.index(scopes.len())];
    let mut followed = BTreeSet::new();
    if scope == Scope::Threads {
        let some = threads[1..].iter().filter(|_| rng.once_in(4));
        followed = some.chain([&threads[0]]).filter_map(|id| ThreadId::parse(id)).collect();
    }
    let extension = EXTENSIONS[rng.index(3)].map(str::to_owned);
    let anyone = rng.below(3) > 0;
    ExpectedFeed { identity: identity.to_owned(), extension, anyone, scope, threads: followed }
}

/// Posts random acts; a refusal changes nothing.
async fn write(
    mut client: Client,
    rng: Rng,
    threads: Arc<[String]>,
    acts: u64,
    done: watch::Sender<u64>,
) {
    let mut claims: Vec<String> = Vec::new();
    for act in 0..acts {
        let thread = rng.pick(&threads);
        let from = json!({ "extension": rng.pick(&EXTENSIONS) });
        let body = format!("act {act}");
        let evidence = json!([{ "kind": "commit", "ref": "0123456" }]);
        let say = |kind| json!({ "kind": kind, "thread": thread, "body": body, "from": from });
        let messages = "/v1/messages".to_owned();
        let (path, asked) = match rng.below(16) {
            0..=2 => (messages, say("ask")),
            3..=9 => {
                let kinds = ["answer", "answer", "clarify", "object", "agree", "propose", "inform"];
                (messages, say(rng.pick(&kinds)))
            }
            10 => {
                let state = rng.pick(&["answered", "decided", "deferred"]);
                (format!("/v1/threads/{thread}/mark"), json!({ "state": state, "from": from }))
            }
            11 => (format!("/v1/threads/{thread}/reopen"), json!({ "from": from })),
            12 => (messages, json!({ "kind": "ask", "body": body, "from": from })),
            13 if !claims.is_empty() => {
                let path = format!("/v1/claims/{}/refute", rng.pick(&claims));
                (path, json!({ "evidence": evidence }))
            }
            _ => {
                let asked = json!({ "statement": body, "evidence": evidence, "from": from });
                (format!("/v1/threads/{thread}/claims"), asked)
            }
        };
        let answer = client.post(&path, &asked).await;
        assert!(answer.status < 500, "{path} {asked}: {:?}", answer.refused());
        claims.extend(answer.json()["claim"]["id"].as_str().map(str::to_owned));
        done.send_modify(|count| *count += 1);
    }
}

/// Listens until the last question, or where it cannot be heard until a barrier; at each of the
/// `moments` it drops the connection and comes back from anywhere it has been.
async fn listen(
    forum: &Server,
    feed: &ExpectedFeed,
    token: &str,
    rng: Rng,
    moments: &[u64],
    mut progress: watch::Receiver<u64>,
) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut cursors: Vec<String> = Vec::new();
    for moment in moments.iter().chain([&u64::MAX]) {
        let since = (!cursors.is_empty()).then(|| rng.pick(&cursors));
        let resumed = since.is_some();
        let since = since.map_or(String::new(), |since| format!("&since={since}"));
        let (mut listener, hello) =
            Listener::greeted(forum.address, token, &(feed.query() + &since)).await;
        assert_eq!(hello.json["resumed"], resumed);
        cursors.push(hello.cursor().to_owned());
        let mut session = Session { begun: hello.position, resumed, frames: Vec::new() };
        loop {
            tokio::select! {
                biased;
                heard = listener.hear() => {
                    let Heard::Frame(frame) = heard else { panic!("{heard:?}") };
                    cursors.push(frame.cursor().to_owned());
                    session.frames.push(frame);
                }
                _ = progress.wait_for(|count| count >= moment) => break,
            }
        }
        if *moment == u64::MAX {
            finish(&mut listener, feed, &mut session).await;
        }
        sessions.push(session);
    }
    sessions
}

/// Hears on until nothing can be missing.
async fn finish(listener: &mut Listener, feed: &ExpectedFeed, session: &mut Session) {
    let hears_questions = feed.anyone && feed.scope != Scope::Threads;
    for (kind, hears) in [("awaiting", hears_questions), ("event", feed.scope == Scope::All)] {
        let is_last = |frame: &Frame| {
            frame.kind() == kind && frame.json["thread"]["subject"] == "the last question"
        };
        while hears && !session.frames.iter().any(is_last) {
            session.frames.push(listener.frame().await);
        }
    }
}

/// Compares a connection with the journal; gives how many frames came live.
fn check(
    feed: &ExpectedFeed,
    expected: &[ExpectedFrame],
    session: &Session,
    head: Option<u64>,
    asked: &str,
) -> usize {
    let is_caught_up = |frame: &Frame| frame.kind() == "caught_up";
    let count = session.frames.iter().filter(|frame| is_caught_up(frame)).count();
    assert!(count <= usize::from(session.resumed), "caught up too often");
    let mut last = session.begun;
    for frame in &session.frames {
        let later = frame.position > last || frame.position == last && is_caught_up(frame);
        assert!(later, "{} does not come after {last}", frame.json);
        last = frame.position;
    }
    let heard = session.frames.iter().filter(|frame| !is_caught_up(frame));
    let heard: Vec<ExpectedFrame> = heard.map(read).collect();
    let begun = expected.partition_point(|one| one.position <= session.begun);
    let want = &expected[begun..];
    let count = heard.len().min(want.len());
    if let Some(place) = (0..count).find(|place| heard[*place] != want[*place]) {
        panic!("{feed:?} from {}: {:?} came, not {:?}", session.begun, heard[place], want[place]);
    }
    assert!(heard.len() <= want.len(), "{feed:?}: more came than happened");
    if head.is_some() && (feed.scope == Scope::All || (feed.anyone && feed.scope == Scope::Inbox)) {
        assert_eq!(heard.len(), want.len(), "{feed:?} lacks something before {asked}");
    }
    match (session.resumed, session.frames.iter().position(is_caught_up)) {
        (false, _) => heard.len(),
        (true, Some(place)) => session.frames.len() - place - 1,
        (true, None) => 0,
    }
}
