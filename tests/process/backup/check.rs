//! What `check` says, and that it changes nothing.

use parley_kit::peer::post;
use parley_kit::process::run;
use parley_kit::{Folder, Process};
use serde_json::json;

use super::forum::filled;
use super::site::{copy_folder, databases, start, state, try_start};

/// Goal: a check changes nothing, finds a good store good, however its server ended, and tells what
/// there is. Method: digests and times of every file, after a stop and after a kill.
#[test]
fn changes_nothing() {
    let folder = Folder::new("check");
    let data = folder.text("data");
    filled(&data, 12);
    let checked = || {
        let before = state(&folder.join("data"));
        let told = run(&["check", "--data", &data, "--json"]).json();
        assert_eq!(state(&folder.join("data")), before);
        assert_eq!((&told["ok"], &told["findings"]), (&json!(true), &json!([])), "{told}");
        assert_eq!(told["format"], json!({ "archive": 2, "log": 1, "tokens": 1 }));
        told
    };
    let told = checked();
    let counts = &told["counts"];
    assert_eq!((&counts["threads"], &counts["artifacts"]), (&json!(12), &json!(12)), "{told}");
    assert_eq!(counts["tokens"], 5, "{told}");
    let server = start(&data);
    ask(&server, 40);
    server.kill();
    let killed = checked();
    let last = |told: &serde_json::Value| told["counts"]["last_entry"].as_u64().unwrap();
    assert_eq!(last(&killed), last(&told) + 40);
    let number = |told: &serde_json::Value, name: &str| told["counts"][name].as_u64().unwrap();
    // What is not archived yet is counted, as a start shows it.
    assert_eq!(number(&killed, "threads"), number(&told, "threads") + 40, "{killed}");
    assert_eq!(number(&killed, "acts"), number(&told, "acts") + 40, "{killed}");
    assert_eq!(number(&told, "unarchived"), 0, "{told}");
    assert!(number(&killed, "unarchived") <= 40, "{killed}");
    start(&data).stop();
    assert_eq!(last(&checked()), last(&killed));
    assert!(run(&["check", "--data", &data]).succeeded().contains("good"));
}

/// Goal: what redb's checksums do not see is seen: rows that do not agree, files of another time.
/// Method: each file in turn is replaced by that of an older state, or removed.
#[test]
fn files_that_do_not_belong() {
    let folder = Folder::new("mixed");
    let data = folder.text("data");
    filled(&data, 6);
    copy_folder(&folder.join("data"), &folder.join("older"));
    let server = start(&data);
    ask(&server, 20);
    server.stop();
    for name in &databases(&folder.join("data")) {
        copy_folder(&folder.join("data"), &folder.join("mixed"));
        std::fs::remove_file(folder.join(&format!("mixed/{name}"))).unwrap();
        let ended = run(&["check", "--data", &folder.text("mixed")]);
        assert_eq!(ended.code, 1, "{name} removed: {ended:?}");
        if name == "tokens.redb" {
            let told = try_start(&folder.text("mixed")).unwrap_err();
            let line = told.failed(1);
            assert!(line.contains(&folder.text("mixed")) && line.contains("restore"), "{line}");
            // Another state of the tokens is as good as any; no act names the token it came under.
            continue;
        }
        let older = folder.join(&format!("older/{name}"));
        std::fs::copy(older, folder.join(&format!("mixed/{name}"))).unwrap();
        let ended = run(&["check", "--data", &folder.text("mixed")]);
        // An older archive is archived again from the log, and shows the same.
        assert_eq!(ended.code, i32::from(name != "archive.redb"), "{name} older: {ended:?}");
    }
}

/// Goal: a file that lost its end, or all of it, is found, and a start on it refuses in one line
/// or shows what was there; it never begins anew. Method: each file emptied, halved, a page short.
#[test]
fn files_cut_short() {
    let folder = Folder::new("cut");
    let data = folder.text("data");
    filled(&data, 6);
    for name in databases(&folder.join("data")) {
        let length = folder.join(&format!("data/{name}")).metadata().unwrap().len();
        for left in [0, 100, length / 2, length - 4_096, length - 1] {
            copy_folder(&folder.join("data"), &folder.join("cut"));
            let file = folder.join(&format!("cut/{name}"));
            let file = std::fs::File::options().write(true).open(file).unwrap();
            file.set_len(left).unwrap();
            let checked = run(&["check", "--data", &folder.text("cut")]);
            assert_eq!(checked.code, 1, "{name} cut to {left}: {checked:?}");
            checked.failed(1);
            let Err(ended) = try_start(&folder.text("cut")) else {
                panic!("{name} cut to {left}: it starts")
            };
            let line = ended.err.lines().count();
            assert_eq!((ended.code, line), (1, 1), "{name} cut to {left}: {ended:?}");
        }
    }
}

/// Asks so many questions more.
fn ask(server: &Process, count: u64) {
    for number in 0..count {
        let body = json!({ "kind": "ask", "body": format!("More {number}?") });
        assert!(post(server.address, &server.admin, "/v1/messages", &body)["message"].is_object());
    }
}
