//! `parley demo` (operations.md §1).

use std::process::Stdio;

use parley_kit::Folder;
use parley_kit::process::command;

/// Goal: the demo shows what it is for, ends by itself with 0 and leaves nothing. Method: its
/// output, and the temporary folder that it was given.
#[test]
fn the_demo_shows_everything_and_leaves_nothing() {
    let folder = Folder::new("demo");
    let mut demo = command(&["demo"]);
    demo.env("TMPDIR", folder.path()).stdin(Stdio::null());
    let output = demo.output().expect("the binary runs");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    let err = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{out}{err}");
    assert_eq!(err, "");
    let steps = out.lines().filter(|line| {
        let number = line.trim_start().split(' ').next().unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    assert!(steps.count() >= 15, "{out}");
    let acts = "asks answers clarifies proposes objects agrees informs decides retracts";
    for act in acts.split(' ') {
        assert!(out.contains(&format!(" {act}")), "{act}: {out}");
    }
    for shown in [
        "local:builder/reader",
        "local:builder/prober",
        "human:operator",
        "decided (proposed)",
        "decided (KI · Night shift)",
        "409 self_reply",
        "409 thread_closed",
        "local:planner reopens",
        "verified",
        "refuted",
    ] {
        assert!(out.contains(shown), "{shown}: {out}");
    }
    let left = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "the demo left something behind");
}

/// Goal: a demo that cannot begin says so and exits 1. Method: a temporary folder that is none.
#[test]
fn a_demo_that_cannot_begin_says_so() {
    let mut demo = command(&["demo"]);
    demo.env("TMPDIR", "/nowhere/at/all");
    let output = demo.output().expect("the binary runs");
    let err = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1));
    assert!(err.starts_with("error: cannot create /nowhere/at/all/parley-demo-"), "{err}");
}
