//! What is refused, with one line, and leaves nothing.

use parley_kit::Folder;
use parley_kit::peer::ask;
use parley_kit::process::run;
use serde_json::json;

use super::site::{backup, start, state};

/// Goal: whatever a command cannot do it says in one line, with exit code 1, and leaves everything
/// as it was. Method: a row a case.
#[test]
fn one_line_and_nothing_left() {
    let folder = Folder::new("refuse");
    let (data, copy) = (folder.text("data"), folder.text("copy"));
    let server = start(&data);
    backup(&server, &copy);
    let reader = server.token(&json!({ "handle": "r", "rights": ["read", "write"] }));
    let url = server.url();
    std::fs::create_dir(folder.join("full")).unwrap();
    std::fs::write(folder.join("full/mine"), "mine").unwrap();
    std::fs::create_dir(folder.join("empty")).unwrap();
    std::fs::write(folder.join("text"), "not a copy at all, but long enough for a magic").unwrap();
    std::fs::write(folder.join("short"), "x").unwrap();
    std::fs::write(folder.join("none"), "").unwrap();
    let text = |name: &str| folder.text(name);
    let (full, empty, absent) = (text("full"), text("empty"), text("absent/below"));
    let kept = std::fs::read(&copy).unwrap();
    for (line, want) in [
        (&["backup", &copy, "--url", &url, "--token", &server.admin][..], "is there already"),
        (&["backup", &text("new"), "--url", &url, "--token", &reader], "right_missing"),
        (&["backup", &text("new"), "--url", &url, "--token", "wrong"], "token_unknown"),
        (&["backup", &text("no/new"), "--url", &url, "--token", &server.admin], "no/new"),
        (&["restore", &copy, "--data", &full], "not empty"),
        (&["restore", &copy, "--data", &data], "in use"),
        (&["restore", &text("missing"), "--data", &absent], "missing"),
        (&["restore", &text("text"), "--data", &absent], "no copy"),
        (&["restore", &text("short"), "--data", &empty], "too early"),
        (&["restore", &text("none"), "--data", &empty], "too early"),
        (&["restore", &copy, "--data", &text("text")], "text"),
        (&["check", "--data", &data], "in use"),
        (&["check", "--data", &absent], "no store"),
        (&["check", "--data", &empty], "no store"),
        (&["check", "--data", &full], "no store"),
    ] {
        let ended = run(line);
        assert!(ended.failed(1).contains(want), "{line:?}: {ended:?}");
    }
    let expected = ["copy", "data", "empty", "full", "none", "short", "text"];
    assert_eq!(folder.names(), expected);
    assert_eq!(parley_kit::folder::names(&folder.join("full")), ["mine"]);
    assert!(parley_kit::folder::names(&folder.join("empty")).is_empty());
    assert_eq!(std::fs::read(&copy).unwrap(), kept);
    server.stop();
}

/// Goal: the route takes only what it should, and says what it is. Method: a row a request.
#[test]
fn over_http() {
    let folder = Folder::new("http");
    let server = start(&folder.text("data"));
    let reader = server.token(&json!({ "handle": "r", "rights": ["read", "write"] }));
    for (token, line, status, reason) in [
        ("", "GET /v1/backup", 401, "token_missing"),
        (&*reader, "GET /v1/backup", 403, "token_right_missing"),
        (&server.admin, "POST /v1/backup", 405, "method_not_allowed"),
        (&server.admin, "GET /v1/backup?since=1", 400, "invalid_parameter"),
    ] {
        let answer = ask(server.address, token, line, "", "");
        assert_eq!(answer.refused(), (status, reason.to_owned()), "{line}");
    }
    let answer = ask(server.address, &server.admin, "GET /v1/backup", "", "");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let cursor = answer.header("x-parley-cursor").expect("a cursor").to_owned();
    let head = ask(server.address, &server.admin, "HEAD /v1/backup", "", "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("x-parley-cursor"), Some(&*cursor));
    std::fs::write(folder.join("copy"), &answer.body).unwrap();
    let told = super::site::restore(&folder.text("copy"), &folder.text("restored"));
    assert_eq!(told["cursor"], cursor);
    let metrics = ask(server.address, &server.admin, "GET /metrics", "", "");
    let metrics = String::from_utf8(metrics.body).unwrap();
    assert!(metrics.contains("operation=\"backup\",outcome=\"ok\""), "{metrics}");
    server.stop();
}

/// Goal: a restore that was killed is no store, and says what to do. Method: its mark put into a
/// good folder.
#[test]
fn interrupted() {
    let folder = Folder::new("interrupted");
    let data = folder.text("data");
    start(&data).stop();
    std::fs::write(folder.join("data/restore.unfinished"), "").unwrap();
    let before = state(&folder.join("data"));
    for line in [
        &["serve", "--listen", "127.0.0.1:0", "--data", &data][..],
        &["check", "--data", &data],
        &["backup", &folder.text("copy"), "--data", &data],
        &["token", "list", "--data", &data],
        &["restore", &folder.text("copy"), "--data", &data],
    ] {
        let ended = run(line);
        assert!(ended.failed(1).contains("restore again"), "{line:?}: {ended:?}");
    }
    assert_eq!(state(&folder.join("data")), before);
}
