//! A copy of a forum that rests: everything comes back, and nothing of the source changes.

use std::os::unix::fs::PermissionsExt;

use super::forum::{fill, read};
use super::site::{backup, restore, start, state};
use parley_kit::folder::names;
use parley_kit::peer::{get, post};
use parley_kit::process::run;
use parley_kit::{Folder, position};
use serde_json::json;

/// Goal: what is restored shows what the source showed, to the byte but for cursors; tokens and
/// keys hold; a new era begins, in which no number comes again. Method: a bit of everything, copied
/// while the server runs; both read whole; then writes of every kind.
#[test]
fn everything_comes_back() {
    let folder = Folder::new("all");
    let source = start(&folder.text("data"));
    fill(&source, 24);
    let bob = source.token(&json!({ "handle": "bob", "rights": ["read", "write"] }));
    let shown = read(source.address, &source.admin);
    let manifest = get(source.address, &source.admin, "/v1/manifest");
    let cursor = backup(&source, &folder.text("copy"));
    let mode = folder.join("copy").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(folder.names(), ["copy", "data"], "no draft is left");

    let began = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let told = restore(&folder.text("copy"), &folder.text("restored"));
    assert_eq!(told["cursor"], cursor.as_str());
    let era = told["era"].as_u64().unwrap();
    assert!(era >= began.as_secs() && era > manifest["era"].as_u64().unwrap(), "{told}");
    assert!(run(&["check", "--data", &folder.text("restored")]).succeeded().contains("good"));

    let back = start(&folder.text("restored"));
    // The administrator of the source speaks here too, and has a new token beside.
    assert_ne!(back.admin, source.admin);
    let mut found = read(back.address, &source.admin);
    let own = found.tokens.pop().unwrap();
    assert_eq!(own["identity"], "human:admin");
    assert_eq!(found, shown);
    let now = get(back.address, &bob, "/v1/manifest");
    assert_eq!((&now["era"], &now["instance"]), (&era.into(), &manifest["instance"]));
    get(back.address, &back.admin, "/v1/tokens");
    let mode = folder.join("restored/admin.token").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // Not a number of the source comes again, whatever it goes on to give.
    let skipped = |id: &serde_json::Value| {
        let number: u64 = id.as_str().unwrap().split('_').nth(1).unwrap().parse().unwrap();
        assert!(number > 1 << 32, "{id}");
    };
    let asked =
        post(back.address, &bob, "/v1/messages", &json!({ "kind": "ask", "body": "Here?" }));
    let path = format!("/v1/threads/{}", asked["thread"]["id"].as_str().unwrap());
    let claim = json!({ "statement": "It is here." });
    let claimed = post(back.address, &bob, &format!("{path}/claims"), &claim);
    let events = get(back.address, &bob, &format!("{path}/events"));
    let token = post(back.address, &back.admin, "/v1/tokens", &json!({ "human": "eve" }));
    let ids = [&asked["thread"]["id"], &asked["message"]["id"], &claimed["claim"]["id"]];
    ids.into_iter()
        .chain([&events["items"][0]["id"], &token["token"]["id"], &own["id"]])
        .for_each(skipped);
    assert!(position(asked["thread"]["cursor"].as_str().unwrap()) > position(&cursor));
    back.stop();
    assert!(run(&["check", "--data", &folder.text("restored")]).succeeded().contains("good"));
    source.stop();
}

/// Goal: the folder of a stopped server is copied without changing it, whether it ended in good
/// order or was killed. Method: digests and times before and after; both copies restored and read.
#[test]
fn of_a_stopped_folder() {
    let folder = Folder::new("stopped");
    let data = folder.text("data");
    let server = start(&data);
    fill(&server, 12);
    let (admin, shown) = (server.admin.clone(), read(server.address, &server.admin));
    server.kill();
    for (copy, restored) in [("killed", "one"), ("stopped", "two")] {
        let before = state(&folder.join("data"));
        run(&["backup", &folder.text(copy), "--data", &data]).succeeded();
        assert_eq!(state(&folder.join("data")), before, "{copy}");
        restore(&folder.text(copy), &folder.text(restored));
        let back = start(&folder.text(restored));
        let mut found = read(back.address, &admin);
        found.tokens.pop();
        assert_eq!(found, shown, "{copy}");
        back.stop();
        start(&data).stop();
    }
    // A copy of a copy is as good.
    run(&["backup", &folder.text("again"), "--data", &folder.text("two")]).succeeded();
    restore(&folder.text("again"), &folder.text("three"));
    run(&["check", "--data", &folder.text("three")]).succeeded();
    assert!(names(&folder.join("three")).contains(&"admin.token".to_owned()));
}

/// Goal: a copy of a forum in which nobody has spoken yet is one too. Method: a first start.
#[test]
fn of_nothing() {
    let folder = Folder::new("nothing");
    start(&folder.text("data")).stop();
    run(&["backup", &folder.text("copy"), "--data", &folder.text("data")]).succeeded();
    restore(&folder.text("copy"), &folder.text("restored"));
    run(&["check", "--data", &folder.text("restored")]).succeeded();
    let back = start(&folder.text("restored"));
    let asked =
        post(back.address, &back.admin, "/v1/messages", &json!({ "kind": "ask", "body": "x" }));
    assert!(asked["thread"]["number"].as_u64().unwrap() > 1 << 32, "{asked}");
    back.stop();
    run(&["check", "--data", &folder.text("restored")]).succeeded();
}
