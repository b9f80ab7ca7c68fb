//! Help, wrong usage, and a server that is not there.

use parley_kit::process::run;

/// Goal: help and version go to standard output and are no failure. Method: both, at two levels.
#[test]
fn help_and_version() {
    let help = run(&["--help"]);
    for command in ["serve", "token", "post", "watch", "artifact", "backup", "demo"] {
        assert!(help.succeeded().contains(&format!("\n  {command} ")), "{command}");
    }
    assert!(run(&["token", "create", "--help"]).succeeded().contains("--expires"));
    assert!(run(&["--version"]).succeeded().starts_with("parley "));
}

/// Goal: wrong usage is one line on standard error that says what is wrong, and exit code 2.
/// Method: a row a mistake.
#[test]
fn wrong_usage_is_one_line() {
    for (line, want) in [
        (&["post"][..], "<BODY>"),
        (&["post", "--jsonn"], "--jsonn"),
        (&["claim", "assert", "th_1", "--jsonn"], "--jsonn"),
        (&["speak"], "'speak'"),
        (&[], "subcommand"),
        (&["mark", "th_1", "finished"], "'finished'"),
        (&["token", "create", "--rights", "read"], "--handle"),
        (&["post", "--url", "ftp://h", "x"], "http://"),
        (&["post", "--url", "https://h", "x"], "TLS"),
        (&["post", "--token", "a\nb", "x"], "token"),
        (&["token", "create", "--handle", "a", "--rights", "read", "--expires", "soon"], "30d"),
    ] {
        let ended = run(line);
        assert!(ended.failed(2).contains(want), "{line:?}: {ended:?}");
        assert_eq!(ended.out, "", "{line:?}");
    }
}

/// Goal: without a server a command says how to get one, and exit code 1. Method: a port of the
/// loopback that was free a moment ago.
#[test]
fn nobody_listens() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    for command in [&["inbox"][..], &["read", "th_1"], &["post", "x"], &["watch"]] {
        let line = [command, &["--url", &url]].concat();
        let ended = run(&line);
        assert!(ended.failed(1).contains("parley serve"), "{ended:?}");
    }
}
