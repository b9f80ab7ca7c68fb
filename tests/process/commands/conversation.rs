//! The terminal commands against a running server.

use parley_kit::process::run_with;
use parley_kit::{Ended, Folder};

use super::{prints, refused, serve, token};

/// Goal: a whole conversation can be held from a terminal. Method: two models and the human, each
/// command once, its text and its JSON.
#[test]
fn from_a_terminal() {
    let folder = Folder::new("conversation");
    let server = serve(&folder);
    let ada = token(&server, &["--handle", "ada", "--rights", "read,write"]);
    let bob = token(&server, &["--handle", "bob", "--rights", "read,write"]);

    let asked = server.run(&bob, &["post", "What do we call the flag?"]);
    assert!(asked.succeeded().contains("msg_1  local:bob ask"), "{asked:?}");
    assert!(asked.out.contains("th_1  open (proposed)  turn: anyone, on msg_1"), "{asked:?}");
    let waiting = server.json(&ada, &["inbox"]);
    assert_eq!(waiting["items"][0]["message"]["id"], "msg_1");
    let none = server.json(&ada, &["inbox", "--anyone=false"]);
    assert_eq!(none["items"].as_array().map(Vec::len), Some(0));
    let answer = ["post", "--thread", "th_1", "--extension", "w", "Call it --since."];
    let answered = server.json(&ada, &answer);
    assert_eq!(answered["message"]["kind"], "answer");
    assert_eq!(answered["message"]["from"]["extension"], "w");
    assert_eq!(answered["thread"]["state"], "answered");
    let own = ["post", "--thread", "1", "--parent", "2", "--extension", "w", "No."];
    refused(&server.run(&ada, &own), "self_reply");

    let marked = server.run(&bob, &["mark", "th_1", "closed", "--reason", "Settled."]);
    prints(&marked, "answered → closed (proposed)\n  Settled.");
    refused(&server.run(&bob, &["confirm", "th_1", "closed"]), "token_right_missing");
    let confirmed = server.json(&server.admin, &["confirm", "th_1", "closed"]);
    assert_eq!(confirmed["thread"]["locked"], true);
    refused(&server.run(&server.admin, &["mark", "th_1", "open"]), "thread_closed");
    let reopened = server.run(&bob, &["reopen", "th_1", "--reason", "It is taken."]);
    prints(&reopened, "closed → open (proposed)");

    prints(&server.run(&ada, &["read", "1"]), "\n    msg_2  local:ada/w answer msg_1");
    let tree = server.json(&ada, &["read", "1"]);
    assert_eq!(tree["messages"][0]["replies"][0]["id"], "msg_2");
    let flat = server.json(&ada, &["read", "1", "--flat"]);
    assert_eq!(flat["messages"].as_array().map(Vec::len), Some(2));
    assert_eq!(flat["more"], false);
    server.stop();
}

/// Goal: claims can be made, supported and refuted from a terminal. Method: each command once.
#[test]
fn claims_from_a_terminal() {
    let folder = Folder::new("claims");
    let server = serve(&folder);
    let ada = token(&server, &["--handle", "ada", "--rights", "read,write"]);
    server.run(&ada, &["post", "Does it hold?"]).succeeded();
    let claim = ["claim", "assert", "th_1", "It holds.", "--evidence", "log:runs/1"];
    let shown = "cl_1  unverified  local:ada\n  It holds.\n    - log runs/1\n";
    assert_eq!(server.run(&ada, &claim).succeeded(), shown);
    let note = ["claim", "attest", "cl_1", "--evidence", "note:I think so"];
    refused(&server.run(&server.admin, &note), "proof_missing");
    let proof = ["claim", "attest", "cl_1", "--evidence", "{\"kind\":\"log\",\"ref\":\"runs/2\"}"];
    assert_eq!(server.json(&server.admin, &proof)["claim"]["status"], "supported");
    let proof = ["claim", "refute", "cl_1", "--evidence", "reproducer:tests/fails"];
    assert_eq!(server.json(&ada, &proof)["claim"]["status"], "refuted");
    let newer = ["claim", "assert", "th_1", "It held.", "--supersedes", "cl_1"];
    assert_eq!(server.json(&ada, &newer)["claim"]["supersedes"][0], "cl_1");
    prints(&server.run(&ada, &["claim", "show", "cl_1"]), "  superseded by cl_2\n");
    let list = server.json(&ada, &["claim", "list", "th_1", "--status", "superseded"]);
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
    server.stop();
}

/// Goal: a body comes from standard input as it is, a key makes it once, and what comes out of a
/// thread cannot act on a terminal. Method: a body that turns the direction of text, twice.
#[test]
fn bodies_are_data() {
    let folder = Folder::new("bodies");
    let server = serve(&folder);
    let ada = token(&server, &["--handle", "ada", "--rights", "read,write"]);
    let line = ["post", "--key", "k-1", "--url", &server.url(), "--token", &ada, "--json", "-"];
    let body = "one\ntwo \u{202e}three\n";
    let first = run_with(&line, body.as_bytes());
    let again = run_with(&line, body.as_bytes());
    let message = |ended: &Ended| ended.json()["message"].take();
    assert_eq!(message(&first), message(&again), "a key makes it once");
    assert_eq!(message(&first)["body"], "one\ntwo \u{202e}three");
    prints(&server.run(&ada, &["read", "th_1"]), "  one\n  two \\u{202e}three\n");
    server.stop();
}

/// Goal: a thread of several pages is read as a whole. Method: more messages than a page holds,
/// by several participants.
#[test]
fn long_threads_are_read_whole() {
    let folder = Folder::new("long");
    let server = serve(&folder);
    let ada = token(&server, &["--handle", "ada", "--rights", "read,write"]);
    server.run(&ada, &["post", "The first."]).succeeded();
    for number in 0..60 {
        let extension = format!("w{}", number % 3);
        let body = format!("Number {number}.");
        let line = ["post", "--thread", "1", "--kind", "inform", "--extension", &extension, &body];
        server.run(&ada, &line).succeeded();
    }
    let read = server.run(&ada, &["read", "th_1"]);
    let heads = read.succeeded().lines().filter(|line| line.starts_with("msg_")).count();
    assert_eq!(heads, 61, "{read:?}");
    server.stop();
}
