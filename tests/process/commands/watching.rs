//! `parley watch` against a running server.

use std::io::{BufRead, BufReader, Lines, Read};
use std::process::{Child, ChildStdout, Stdio};

use parley_kit::process::command;
use parley_kit::{Folder, Process};

use super::{refused, serve, token};

/// A `parley watch --json`; killed if the test ends before it does.
struct Watch {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watch {
    fn start(server: &Process, token: &str, more: &[&str]) -> Self {
        let line = ["watch", "--json", "--url", &server.url(), "--token", token];
        let mut watch = command(&[&line[..], more].concat());
        watch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = watch.spawn().expect("the binary runs");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, lines }
    }

    fn frame(&mut self) -> serde_json::Value {
        let line = self.lines.next().expect("another frame").expect("text");
        serde_json::from_str(&line).expect("JSON")
    }

    /// The next frame, which must be of this type.
    fn next(&mut self, kind: &str) -> serde_json::Value {
        let frame = self.frame();
        assert_eq!(frame["type"], kind, "{frame}");
        frame
    }

    /// Waits until it has ended by itself; gives code and standard error.
    fn end(mut self) -> (i32, String) {
        let mut err = String::new();
        let mut pipe = self.child.stderr.take().expect("a pipe");
        pipe.read_to_string(&mut err).expect("text");
        assert!(self.lines.next().is_none(), "nothing more is told");
        (self.child.wait().expect("it ends").code().unwrap_or(-1), err)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Goal: a watcher sees each turn come and go once, over a restart of the server too, and
/// stops when the token holds no more. Method: a listener beside two servers of one folder at one
/// address.
#[test]
fn turns_come_and_go_over_a_restart() {
    let folder = Folder::new("watching");
    let server = serve(&folder);
    let ada = token(&server, &["--handle", "ada", "--rights", "read,write"]);
    let bob = token(&server, &["--handle", "bob", "--rights", "read,write"]);
    let mut watch = Watch::start(&server, &ada, &[]);
    assert_eq!(watch.next("hello")["scope"], "inbox");
    server.run(&bob, &["post", "What do we call it?"]).succeeded();
    assert_eq!(watch.next("awaiting")["message"]["id"], "msg_1");
    server.run(&ada, &["post", "--thread", "1", "This."]).succeeded();
    assert_eq!(watch.next("settled")["thread"], "th_1");

    let address = server.address.to_string();
    server.stop();
    let server = Process::start(&folder.text("data"), &["--listen", &address]);
    server.run(&bob, &["post", "And this?"]).succeeded();
    assert_eq!(watch.next("hello")["resumed"], true);
    // The question may come before the listener is back or after.
    let mut told = [(); 2].map(|()| watch.frame()["type"].as_str().expect("a type").to_owned());
    told.sort();
    assert_eq!(told, ["awaiting", "caught_up"], "what was missed comes once");

    server.run(&server.admin, &["token", "revoke", "tok_3"]).succeeded();
    let (code, err) = watch.end();
    assert_eq!(code, 1, "{err}");
    let last = err.lines().last().expect("a line");
    assert!(last.starts_with("error: token_unknown"), "{err}");
    server.stop();
}

/// Goal: scopes and filters reach the server. Method: a listener to one thread, and refusals
/// before anything is told.
#[test]
fn scopes() {
    let folder = Folder::new("scopes");
    let server = serve(&folder);
    server.run(&server.admin, &["post", "One?"]).succeeded();
    server.run(&server.admin, &["post", "Two?"]).succeeded();
    let mut watch =
        Watch::start(&server, &server.admin, &["--scope", "threads", "--threads", "th_2"]);
    watch.next("hello");
    server.run(&server.admin, &["post", "--thread", "1", "--kind", "inform", "Here."]).succeeded();
    server.run(&server.admin, &["post", "--thread", "2", "--kind", "inform", "There."]).succeeded();
    assert_eq!(watch.next("message")["message"]["body"], "There.");
    for (more, want) in [
        (&["--scope", "threads", "--threads", "th_9"][..], "thread_not_found"),
        (&["--since", "nonsense"], "invalid_cursor"),
        (&["--scope", "threads", "--extension", "w", "--threads", "th_1"], "invalid_parameter"),
    ] {
        refused(&server.run(&server.admin, &[&["watch"], more].concat()), want);
    }
    drop(watch);
    server.stop();
}
