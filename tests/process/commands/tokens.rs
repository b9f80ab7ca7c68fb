//! `parley token`, on a running server and on the folder of a stopped one.

use parley_kit::Folder;
use parley_kit::process::run;

use super::{refused, serve, token};

/// Goal: tokens made while the server runs and while it does not are equally good, and revoking
/// either way holds. Method: one of each, used after the next start.
#[test]
fn running_and_stopped() {
    let folder = Folder::new("tokens");
    let server = serve(&folder);
    let data = server.data().to_owned();
    let running =
        token(&server, &["--handle", "ada", "--rights", "read,write", "--expires", "30d"]);
    assert_eq!(server.run(&running, &["inbox"]).code, 0);
    server.stop();

    let stopped = run(&["token", "create", "--data", &data, "--handle", "bob", "--rights", "read"]);
    let stopped = stopped.succeeded().trim_end().to_owned();
    let list = run(&["token", "list", "--data", &data, "--json"]);
    let list = list.json();
    let items = list["items"].as_array().expect("a list");
    let identities: Vec<_> = items.iter().map(|token| &token["identity"]).collect();
    assert_eq!(identities, ["human:admin", "local:agent", "local:ada", "local:bob"]);
    assert!(list["items"][2]["expires_at"].is_string());
    run(&["token", "revoke", "tok_3", "--data", &data]).succeeded();
    refused(&run(&["token", "revoke", "tok_3", "--data", &data]), "not_found");
    refused(&run(&["token", "revoke", "1", "--data", &data]), "last_admin");

    let server = serve(&folder);
    assert_eq!(server.run(&stopped, &["inbox"]).code, 0);
    refused(&server.run(&running, &["inbox"]), "token_unknown");
    server.run(&server.admin, &["token", "revoke", "tok_4"]).succeeded();
    refused(&server.run(&stopped, &["inbox"]), "token_unknown");
    server.stop();
}

/// Goal: a folder that a server holds is administered through that server. Method: no URL given,
/// but in the configuration, beside a running server.
#[test]
fn a_held_folder_is_reached_by_its_server() {
    let folder = Folder::new("held");
    let server = serve(&folder);
    let config = folder.file("parley.toml", format!("listen = \"{}\"\n", server.address));
    let line = ["token", "list", "--data", server.data(), "--config", &config];
    assert!(run(&line).succeeded().contains("human:admin"));
    server.stop();
}

/// Goal: what a server refuses the folder refuses, in the same words. Method: a row a mistake,
/// both ways.
#[test]
fn refusals_are_the_same() {
    let folder = Folder::new("token-refusals");
    let server = serve(&folder);
    let past = ["--handle", "a", "--rights", "read", "--expires", "2001-01-01T00:00:00Z"];
    let rows = [
        (&["--handle", "a b", "--rights", "read"][..], "invalid_body"),
        (&["--handle", "a", "--rights", "read,fly"], "invalid_body"),
        (&["--handle", "a"], "invalid_body"),
        (&["--human", "a", "--rights", "write"], "invalid_body"),
        (&["--handle", "a", "--rights", "read", "--label", "L"], "invalid_body"),
        (&["--handle", "AGENT", "--rights", "read"], "handle_conflict"),
        (&past, "invalid_body"),
    ];
    let create =
        |more: &[&str], arguments: &[&str]| run(&[&["token", "create"], more, arguments].concat());
    let reach = ["--url", &server.url(), "--data", server.data()];
    let told: Vec<_> = rows.iter().map(|(row, _)| create(&reach, row)).collect();
    let data = server.data().to_owned();
    server.stop();
    for ((row, reason), running) in rows.iter().zip(told) {
        let stopped = create(&["--data", &data], row);
        refused(&stopped, reason);
        assert_eq!(stopped.err, running.err, "{row:?}");
    }
}

/// Goal: secrets go to standard output alone, and `--json` gives the object. Method: both.
#[test]
fn what_is_printed() {
    let folder = Folder::new("printed");
    let server = serve(&folder);
    let made = server.run(&server.admin, &["token", "create", "--human", "grace"]);
    let secret = made.succeeded();
    assert!(secret.ends_with('\n') && !secret.trim_end().contains(char::is_whitespace));
    let line = ["token", "create", "--handle", "night", "--rights", "lock", "--label", "N"];
    let made = server.json(&server.admin, &line);
    assert_eq!(made["token"]["label"], "N");
    assert!(made["secret"].is_string());
    server.stop();
}

/// Goal: without a server and without a folder nothing is begun. Method: `token list` in an empty
/// place.
#[test]
fn administration_begins_nothing() {
    let folder = Folder::new("begins-nothing");
    let data = folder.text("absent");
    let list = run(&["token", "list", "--data", &data, "--url", "http://127.0.0.1:1"]);
    assert_eq!(list.code, 1, "{list:?}");
    assert!(!std::path::Path::new(&data).exists());
}
