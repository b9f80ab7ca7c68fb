//! Many inboxes that come back at once.

use std::sync::Arc;

use parley_kit::{Listener, Server};
use tokio::task::JoinSet;

/// Goal: inboxes far behind that come back at once each get what they are owed and nothing else,
/// out of one reading of the log. Method: many acts that concern no listener, few questions among
/// them, a restart, so that nothing is kept in memory, and all inboxes from the beginning.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inboxes() {
    const INBOXES: usize = 200;
    const QUESTIONS: usize = 5;
    let mut forum = Server::start(|_| {}).await;
    let (mut ada, mut bob) = (forum.writer("ada").await, forum.writer("bob").await);
    let begun = ada.get("/v1/inbox").await.expect(200)["cursor"].as_str().unwrap().to_owned();
    let token = bob.token.clone();
    let thread = ada.open("a long story").await;
    for _ in 0..QUESTIONS {
        for _ in 0..200 {
            ada.inform(&thread, "and then").await;
            bob.inform(&thread, "go on").await;
        }
        ada.open("what do you think?").await;
    }
    forum.restart().await;
    let forum = Arc::new(forum);
    let mut listening = JoinSet::new();
    for place in 0..INBOXES {
        let (forum, token, begun) = (Arc::clone(&forum), token.clone(), begun.clone());
        listening.spawn(async move {
            let query = format!("?extension=e{place}&since={begun}");
            let (mut listener, _) = Listener::greeted(forum.address, &token, &query).await;
            listener.until("caught_up").await.len()
        });
    }
    for frames in listening.join_all().await {
        // The long story is a question too; caught_up is the last.
        assert_eq!(frames, QUESTIONS + 2);
    }
}
