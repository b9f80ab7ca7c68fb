//! What listeners miss while a server is killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::forum::Forum;
use super::socket::{Heard, Listener};

/// The binary, on a folder.
struct Process {
    child: Child,
    forum: Forum,
}

impl Process {
    fn start(folder: &std::path::Path) -> Self {
        // Nothing of what this process was told is meant for the server.
        let mut child = Command::new(env!("CARGO_BIN_EXE_parley"))
            .env_clear()
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--log-level",
                "warn",
                "--set",
                "limits.writes_per_minute=0",
            ])
            .arg("--data")
            .arg(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap().split(';').next().unwrap();
        let admin = std::fs::read_to_string(folder.join("admin.token")).unwrap();
        let forum = Forum::elsewhere(address.trim().parse().unwrap(), admin.trim().to_owned());
        Self { child, forum }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Goal: after kill −9 and a start a listener goes on from its cursor, and nothing is missing or
/// doubled. Method: kill the process while acts go on, several times; what one listener heard over
/// all connections is compared with what one hears from the beginning.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed() {
    let folder = std::env::temp_dir().join(format!("parley-feed-kill-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let mut process = Process::start(&folder);
    let writer = process.forum.writer("ada").await;
    let token = writer.token.clone().unwrap();
    let mut ada = writer;
    let begun = ada.get("/v1/inbox").await.body(200)["cursor"].as_str().unwrap().to_owned();
    let mut cursor = begun.clone();
    let mut heard = Vec::new();
    let mut acknowledged = 0;
    for round in 0..3 {
        let query = format!("?scope=all&since={cursor}");
        let mut listener = Listener::connect(&process.forum, &token, &query).await;
        listener.expect("hello").await;
        for place in 0..40 {
            ada.open(&format!("question {round} {place}")).await;
            acknowledged += 1;
        }
        for _ in 0..20 {
            let frame = listener.frame().await;
            frame.cursor().clone_into(&mut cursor);
            if frame.kind() != "caught_up" {
                heard.push(frame.position);
            }
        }
        process.child.kill().unwrap();
        process.child.wait().unwrap();
        while let Heard::Frame(frame) = listener.hear().await {
            frame.cursor().clone_into(&mut cursor);
            if frame.kind() != "caught_up" {
                heard.push(frame.position);
            }
        }
        process = Process::start(&folder);
        ada = process.forum.with(&token);
    }
    for (since, heard) in [(cursor, &mut heard), (begun, &mut Vec::new())] {
        let query = format!("?scope=all&since={since}");
        let mut listener = Listener::connect(&process.forum, &token, &query).await;
        listener.expect("hello").await;
        let mut frames = listener.until("caught_up").await;
        frames.pop();
        heard.extend(frames.iter().map(|frame| frame.position));
        // Each opening is a message and an event, one after the other.
        assert_eq!(heard.len(), acknowledged * 2);
        assert!(heard.windows(2).all(|pair| pair[0] < pair[1]));
    }
    drop(process);
    drop(std::fs::remove_dir_all(&folder));
}
