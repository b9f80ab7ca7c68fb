//! What listeners miss while a server is killed.

use parley_kit::{Client, Folder, GENEROUS, Heard, Listener, Process, elapse};
use rustix::process::Signal;

/// Goal: after kill −9 and a start a listener goes on from its cursor, and nothing is missing or
/// doubled. Method: kill the process while acts go on, several times; what one listener heard over
/// all connections is compared with what one hears from the beginning.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed() {
    let folder = Folder::new("feed-kill");
    let data = folder.text("data");
    let mut process = Process::start(&data, &GENEROUS);
    let mut ada = Client::new(process.address, &process.admin).writer("ada").await;
    let token = ada.token.clone();
    let begun = ada.get("/v1/inbox").await.expect(200)["cursor"].as_str().unwrap().to_owned();
    let mut cursor = begun.clone();
    let mut heard = Vec::new();
    let mut acknowledged = 0;
    for round in 0..3 {
        let query = format!("?scope=all&since={cursor}");
        let (mut listener, _) = Listener::greeted(process.address, &token, &query).await;
        for place in 0..40 {
            ada.open(&format!("question {round} {place}")).await;
            acknowledged += 1;
        }
        let mut frames = Vec::new();
        for _ in 0..20 {
            frames.push(listener.frame().await);
        }
        process.kill();
        while let Heard::Frame(frame) = listener.hear().await {
            frames.push(frame);
        }
        frames[frames.len() - 1].cursor().clone_into(&mut cursor);
        frames.retain(|frame| frame.kind() != "caught_up");
        heard.extend(frames.iter().map(|frame| frame.position));
        process = Process::start(&data, &GENEROUS);
        ada = Client::new(process.address, &token);
    }
    for (since, heard) in [(cursor, &mut heard), (begun, &mut Vec::new())] {
        let query = format!("?scope=all&since={since}");
        let (mut listener, _) = Listener::greeted(process.address, &token, &query).await;
        let mut frames = listener.until("caught_up").await;
        frames.pop();
        heard.extend(frames.iter().map(|frame| frame.position));
        // Each opening is a message and an event, one after the other.
        assert_eq!(heard.len(), acknowledged * 2);
        assert!(heard.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

/// Goal: a server that stood still keeps its quiet listeners. Method: stop the process for longer
/// than a silent peer is waited for, let it go on, and hear an act on each feed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paused() {
    let folder = Folder::new("feed-pause");
    let heartbeat = ["--set", "feed.heartbeat_seconds=1"];
    let process = Process::start(&folder.text("data"), &[&GENEROUS[..], &heartbeat].concat());
    let mut ada = Client::new(process.address, &process.admin).writer("ada").await;
    let mut listeners = Vec::new();
    for _ in 0..20 {
        listeners.push(Listener::greeted(process.address, &ada.token, "?scope=all").await.0);
    }
    process.signal(Signal::STOP);
    elapse(4_000).await;
    process.signal(Signal::CONT);
    ada.open("after the pause").await;
    for listener in &mut listeners {
        let message = listener.expect("message").await;
        assert_eq!(message.json["message"]["body"], "after the pause");
    }
}
