//! The caps on feeds, and how far a replay reaches back.

use parley_kit::feed::{ask, upgrade};
use parley_kit::http::bearer;
use parley_kit::{Listener, Server};

/// Goal: feeds above an identity's cap are 429, above the server's 503; one that ends makes room.
/// Method: caps of two and three.
#[tokio::test]
async fn caps() {
    let forum = Server::start(|config| {
        config.feed.per_identity_max = 2;
        config.feed.connections_max = 3;
    })
    .await;
    let (_, ada) = forum.token("ada", &["read"]).await;
    let (_, bob) = forum.token("bob", &["read"]).await;
    let mut listeners = Vec::new();
    for token in [&ada, &ada, &bob] {
        let (listener, _) = Listener::greeted(forum.address, token, "").await;
        listeners.push(listener);
    }
    let (answer, _) = ask(forum.address, "", &upgrade(&bearer(&ada)), None).await;
    assert_eq!(answer.refused(), (429, "rate_limited".to_owned()));
    assert!(answer.header("retry-after").is_some());
    let (answer, _) = ask(forum.address, "", &upgrade(&bearer(&bob)), None).await;
    assert_eq!(answer.refused(), (503, "overloaded".to_owned()));
    // A cap goes before a thread that is not there.
    let query = "?scope=threads&threads=9";
    let (answer, _) = ask(forum.address, query, &upgrade(&bearer(&ada)), None).await;
    assert_eq!(answer.status, 429);
    drop(listeners.pop());
    loop {
        let (answer, _) = ask(forum.address, "", &upgrade(&bearer(&bob)), None).await;
        if answer.status == 101 {
            return;
        }
        assert_eq!(answer.status, 503);
    }
}

/// Goal: a cursor more than `feed.replay_max` entries old is refused, and told what to do; one
/// that is just as old is not. Method: a bound of ten entries.
#[tokio::test]
async fn replay_max() {
    let forum = Server::start(|config| config.feed.replay_max = 10).await;
    let mut ada = forum.writer("ada").await;
    let thread = ada.open("one").await;
    let cursor = ada.get("/v1/inbox").await.expect(200)["cursor"].as_str().unwrap().to_owned();
    let mut bob = forum.writer("bob").await;
    for place in 0..5 {
        ada.inform(&thread, &format!("a {place}")).await;
        bob.inform(&thread, &format!("b {place}")).await;
    }
    let query = format!("?scope=all&since={cursor}");
    let mut listener = Listener::connect(forum.address, &ada.token, &query).await;
    assert_eq!(listener.until("caught_up").await.len(), 12);
    ada.inform(&thread, "one more").await;
    let (answer, _) = ask(forum.address, &query, &upgrade(&bearer(&ada.token)), None).await;
    assert_eq!(answer.refused(), (400, "invalid_cursor".to_owned()));
    assert!(String::from_utf8(answer.body).unwrap().contains("inbox"));
}
