//! What a listener is told, and in which order.

use parley_kit::{Frame, Listener, Server};
use serde_json::json;

fn kinds(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(Frame::kind).collect()
}

/// Goal: what one act causes comes in the order of the table, each frame with a later cursor, and
/// who speaks is told too. Method: a question, its answer, a claim that supersedes another; the
/// frames of the asker, of the one who answers and of a third, in scope all.
#[tokio::test]
async fn order() {
    let forum = Server::start(|_| {}).await;
    let (mut ada, mut bob) = (forum.writer("ada").await, forum.writer("bob").await);
    let mut listeners = Vec::new();
    for http in [&ada, &bob] {
        let (listener, _) = Listener::greeted(forum.address, &http.token, "?scope=all").await;
        listeners.push(listener);
    }
    let thread = ada.open("why?").await;
    bob.say(json!({ "kind": "answer", "thread": thread, "body": "therefore" })).await;
    let path = format!("/v1/threads/{thread}/claims");
    let claim = ada.post(&path, &json!({ "statement": "so" })).await.expect(201);
    let old = &claim["claim"]["id"];
    ada.post(&path, &json!({ "statement": "rather so", "supersedes": [old] })).await.expect(201);
    for (listener, want) in listeners.iter_mut().zip([
        // The asker may not answer its own question to anyone, and is due nowhere.
        "message event message event claim claim claim",
        "message event awaiting message event settled claim claim claim",
    ]) {
        let mut frames = Vec::new();
        for _ in want.split(' ') {
            frames.push(listener.frame().await);
        }
        assert_eq!(kinds(&frames).join(" "), want);
        assert!(frames.windows(2).all(|pair| pair[0].position < pair[1].position));
        let superseded = &frames[frames.len() - 1].json["claim"];
        assert_eq!((&superseded["id"], &superseded["status"]), (old, &json!("superseded")));
    }
}

/// Goal: a replay sends what a live feed got, also what was settled since, and shows its objects
/// as they are now; `caught_up` comes once. Method: a question answered and retracted, and the
/// feed from before it.
#[tokio::test]
async fn replay() {
    let forum = Server::start(|_| {}).await;
    let (mut ada, mut bob) = (forum.writer("ada").await, forum.writer("bob").await);
    let (mut listener, hello) = Listener::greeted(forum.address, &bob.token, "?scope=all").await;
    let asked = ada.say(json!({ "kind": "ask", "body": "why?" })).await;
    let thread = asked["thread"]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/threads/{thread}/claims");
    let made = ada.post(&path, &json!({ "statement": "so" })).await.expect(201);
    let evidence = json!([{ "kind": "commit", "ref": "0123456" }]);
    let path = format!("/v1/claims/{}/refute", made["claim"]["id"].as_str().unwrap());
    bob.post(&path, &json!({ "evidence": evidence })).await.expect(200);
    ada.say(json!({
        "kind": "retract", "thread": thread, "parent": asked["message"]["id"], "body": "no"
    }))
    .await;
    let mut live = Vec::new();
    while live.last().is_none_or(|frame: &Frame| frame.kind() != "settled") {
        live.push(listener.frame().await);
    }
    let query = format!("?scope=all&since={}", hello.cursor());
    let (mut again, hello) = Listener::greeted(forum.address, &bob.token, &query).await;
    assert_eq!(hello.json["resumed"], true);
    let mut replayed = again.until("caught_up").await;
    let caught_up = replayed.pop().unwrap();
    assert_eq!(kinds(&replayed), kinds(&live));
    for (one, other) in replayed.iter().zip(&live) {
        assert_eq!(one.cursor(), other.cursor());
        assert!(caught_up.position >= one.position);
    }
    let now = ada.get(&format!("/v1/threads/{thread}?format=flat")).await.expect(200);
    assert_eq!(replayed[0].json["message"], now["messages"][0]);
    assert!(live[0].json["message"]["retracted"].is_null());
    assert!(replayed[0].json["message"]["retracted"].is_object());
    assert_eq!(replayed[0].json["thread"]["message_count"], 2);
    let claim = replayed.iter().find(|frame| frame.kind() == "claim").unwrap();
    assert_eq!(claim.json["claim"]["status"], "refuted");
    ada.inform(&thread, "go on").await;
    again.expect("message").await;
}

/// Goal: the bare line gets everything of the line, an extension only its own, and `anyone=false`
/// leaves out open questions. Method: one directed and one open question before three inboxes.
#[tokio::test]
async fn inboxes() {
    let forum = Server::start(|_| {}).await;
    let (mut ada, mut bob) = (forum.writer("ada").await, forum.writer("bob").await);
    let from = json!({ "extension": "one" });
    let asked = bob.say(json!({ "kind": "ask", "body": "who?", "from": from })).await;
    let mut inboxes = Vec::new();
    for query in ["", "?extension=one&anyone=false", "?extension=two&anyone=false", "?anyone=false"]
    {
        let (listener, _) = Listener::greeted(forum.address, &bob.token, query).await;
        inboxes.push(listener);
    }
    let (thread, parent) = (&asked["thread"]["id"], &asked["message"]["id"]);
    let back = json!({ "kind": "clarify", "thread": thread, "parent": parent, "body": "which?" });
    ada.say(back).await;
    let open = ada.open("anybody?").await;
    let from = json!({ "extension": "two" });
    bob.say(json!({ "kind": "answer", "thread": open, "body": "I", "from": from })).await;
    let mut heard = Vec::new();
    for inbox in &mut inboxes[..2] {
        let frame = inbox.expect("awaiting").await;
        assert_eq!(frame.json["message"]["kind"], "clarify");
        heard.push(frame.position);
    }
    assert_eq!(heard[0], heard[1]);
    let frame = inboxes[0].expect("awaiting").await;
    assert_eq!(frame.json["thread"]["id"], open);
    let settled = inboxes[0].expect("settled").await;
    assert_eq!(settled.json["thread"], open);
    // The clarification is answered by the line itself: listeners that were told of it are told so.
    let from = json!({ "extension": "one" });
    bob.say(json!({ "kind": "answer", "thread": thread, "body": "that", "from": from })).await;
    for place in [0, 1, 3] {
        let mut frame = inboxes[place].frame().await;
        if place == 3 {
            assert_eq!(frame.kind(), "awaiting");
            frame = inboxes[place].frame().await;
        }
        // The question waits for the asker of the clarification again, not for the line.
        assert_eq!(frame.kind(), "settled", "{place}");
        assert_eq!(&frame.json["thread"], thread);
    }
}
