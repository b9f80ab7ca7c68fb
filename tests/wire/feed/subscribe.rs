//! Changing the threads that a feed follows.

use parley_kit::{Listener, Server};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

/// Goal: threads are followed from the answer on, no longer after the other one, and one unknown
/// thread among them does nothing. Method: subscribe, post, unsubscribe, post; the frames between.
#[tokio::test]
async fn following() {
    let forum = Server::start(|_| {}).await;
    let mut ada = forum.writer("ada").await;
    let (one, two) = (ada.open("one").await, ada.open("two").await);
    let (mut listener, hello) =
        Listener::greeted(forum.address, &ada.token, "?scope=threads").await;
    ada.inform(&one, "unheard").await;

    listener.say(json!({ "type": "subscribe", "threads": [one, two] }).to_string()).await;
    let answer = listener.expect("subscribed").await;
    assert_eq!(answer.json["threads"], json!([one, two]));
    assert!(answer.position >= hello.position);
    ada.inform(&one, "heard").await;
    let message = listener.expect("message").await;
    assert_eq!(message.json["message"]["body"], "heard");
    assert!(message.position > answer.position);

    listener.say(json!({ "type": "unsubscribe", "threads": [one, "th_99"] }).to_string()).await;
    let notice = listener.expect("notice").await;
    assert_eq!(notice.json["reason"], "thread_not_found");
    assert!(notice.position >= message.position);
    listener.say(json!({ "type": "subscribe", "threads": ["th_99", two] }).to_string()).await;
    listener.expect("notice").await;
    ada.inform(&one, "still heard").await;
    listener.expect("message").await;

    listener.say(json!({ "type": "unsubscribe", "threads": [1] }).to_string()).await;
    assert_eq!(listener.expect("subscribed").await.json["threads"], json!([two]));
    ada.inform(&one, "unheard").await;
    ada.inform(&two, "the other one").await;
    let message = listener.expect("message").await;
    assert_eq!(message.json["message"]["body"], "the other one");
}

/// Goal: each answer names the threads that are followed at its cursor. Method: two changes sent
/// at once.
#[tokio::test]
async fn threads_at_the_cursor() {
    let forum = Server::start(|_| {}).await;
    let mut ada = forum.writer("ada").await;
    let (one, two) = (ada.open("one").await, ada.open("two").await);
    for _ in 0..20 {
        let (mut listener, _) =
            Listener::greeted(forum.address, &ada.token, "?scope=threads").await;
        let follow = |thread: &str| json!({ "type": "subscribe", "threads": [thread] }).to_string();
        listener.say_all([follow(&one), follow(&two)]).await;
        let first = listener.expect("subscribed").await;
        assert_eq!(first.json["threads"], json!([one]));
        let second = listener.expect("subscribed").await;
        assert_eq!(second.json["threads"], json!([one, two]));
    }
}

/// Goal: a notice carries the position up to which the feed has looked. Method: acts that do not
/// concern the feed, then a frame that is not understood.
#[tokio::test]
async fn notice_position() {
    let forum = Server::start(|_| {}).await;
    let mut ada = forum.writer("ada").await;
    let thread = ada.open("one").await;
    let (mut listener, hello) =
        Listener::greeted(forum.address, &ada.token, "?scope=threads").await;
    let (mut witness, _) = Listener::greeted(forum.address, &ada.token, "?scope=all").await;
    let mut last = hello.position;
    for _ in 0..40 {
        ada.inform(&thread, "elsewhere").await;
        last = witness.until("message").await.last().unwrap().position;
    }
    listener.say("nonsense").await;
    assert!(listener.expect("notice").await.position >= last);
    ada.inform(&thread, "elsewhere").await;
    listener.say(json!({ "type": "subscribe", "threads": [thread] }).to_string()).await;
    listener.expect("subscribed").await;
    ada.inform(&thread, "heard").await;
    assert_eq!(listener.expect("message").await.json["message"]["body"], "heard");
}

/// Goal: what is not understood is answered by a notice and changes nothing. Method: texts and a
/// binary frame, then one that is understood; the same in a scope that follows no threads.
#[tokio::test]
async fn notices() {
    let forum = Server::start(|_| {}).await;
    let mut ada = forum.writer("ada").await;
    let thread = ada.open("one").await;
    let good = json!({ "type": "subscribe", "threads": [thread] }).to_string();
    let (mut listener, hello) =
        Listener::greeted(forum.address, &ada.token, "?scope=threads").await;
    for text in ["", "{", "[]", r#"{"type":"ask"}"#, r#"{"type":"subscribe","threads":[0]}"#] {
        listener.say(text).await;
        let notice = listener.expect("notice").await;
        assert_eq!(notice.json["reason"], "invalid_body", "{text}");
        assert!(notice.json["detail"].is_string());
        assert_eq!(notice.position, hello.position);
    }
    listener.say("{\"type\":\"subscribe\",}").await;
    let detail = listener.expect("notice").await.json["detail"].to_string();
    assert!(detail.contains("byte 21 (line 1, column 21)"), "{detail}");
    listener.say(Message::binary(good.clone())).await;
    listener.expect("notice").await;
    listener.say(good.as_str()).await;
    listener.expect("subscribed").await;

    let (mut listener, _) = Listener::greeted(forum.address, &ada.token, "?scope=all").await;
    listener.say(good.as_str()).await;
    listener.expect("notice").await;
}

/// Goal: a feed follows at most 1 000 threads. Method: a thousand, then one more.
#[tokio::test]
async fn at_most() {
    let forum = Server::start(|_| {}).await;
    let mut ada = forum.writer("ada").await;
    let mut threads = Vec::new();
    for place in 0..=1_000 {
        threads.push(ada.open(&format!("question {place}")).await);
    }
    let (mut listener, _) = Listener::greeted(forum.address, &ada.token, "?scope=threads").await;
    listener.say(json!({ "type": "subscribe", "threads": threads[..1_000] }).to_string()).await;
    let answer = listener.expect("subscribed").await;
    assert_eq!(answer.json["threads"].as_array().unwrap().len(), 1_000);
    listener.say(json!({ "type": "subscribe", "threads": threads[1_000..] }).to_string()).await;
    listener.expect("notice").await;
}
