//! A copy that is taken while everybody speaks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parley_kit::http::field;
use parley_kit::peer::{Events, ask, get, post};
use parley_kit::process::run;
use parley_kit::{Folder, Process, Rng, position, printed_rng};
use serde_json::{Value, json};

use super::forum::{Shown, read};
use super::site::{backup, restore, start};

/// Writers at once.
const WRITERS: u64 = 4;
/// Acts that are there before the copy begins.
const BEFORE: u64 = 200;

/// Goal: a copy taken under load is of one moment: every thread reads the same up to its cursor,
/// nothing acknowledged before it is missing, cursors up to it are good and later ones are not, a
/// listener resumes where it was. Method: writers and a listener during the copy and after it;
/// restored elsewhere, checked, read, compared.
#[test]
fn under_load() {
    let folder = Folder::new("load");
    let source = start(&folder.text("data"));
    let rng = printed_rng();
    let told = Told::default();
    let (mut heard, mut cursor, mut before) = (0, String::new(), Vec::new());
    let tokens: Vec<_> = (0..WRITERS)
        .map(|n| source.token(&json!({ "handle": format!("w{n}"), "rights": ["read", "write"] })))
        .collect();
    std::thread::scope(|scope| {
        for token in &tokens {
            let (rng, source, told) = (Rng::new(rng.number()), &source, &told);
            scope.spawn(move || speak(source, token, rng, told));
        }
        let listener = scope.spawn(|| listen(&source, &told));
        told.wait_for(BEFORE);
        before = told.texts.lock().unwrap().clone();
        cursor = backup(&source, &folder.text("copy"));
        told.wait_for(2 * BEFORE);
        told.enough.store(true, Ordering::Relaxed);
        heard = listener.join().unwrap();
    });
    assert!(heard > 20, "the listener heard {heard}");
    let shown = read(source.address, &source.admin);
    restore(&folder.text("copy"), &folder.text("restored"));
    run(&["check", "--data", &folder.text("restored")]).succeeded();
    let back = start(&folder.text("restored"));
    let found = read(back.address, &source.admin);
    compare(&shown, &found, position(&cursor));
    let texts: Vec<_> = found.threads.values().flat_map(|thread| &thread.messages).collect();
    for text in &before {
        assert!(texts.iter().any(|message| message["body"] == text.as_str()), "{text}");
    }
    resume(&back, &tokens[0], &cursor, &shown, &source);
    back.stop();
    run(&["check", "--data", &folder.text("restored")]).succeeded();
}

/// What the writers were told.
#[derive(Default)]
struct Told {
    acts: AtomicU64,
    texts: std::sync::Mutex<Vec<String>>,
    enough: AtomicBool,
    moved: std::sync::Condvar,
}

impl Told {
    fn said(&self, text: String) {
        self.acts.fetch_add(1, Ordering::Relaxed);
        self.texts.lock().unwrap().push(text);
        self.moved.notify_all();
    }

    fn wait_for(&self, acts: u64) {
        let texts = self.texts.lock().unwrap();
        drop(self.moved.wait_while(texts, |texts| (texts.len() as u64) < acts).unwrap());
    }
}

/// Opens threads and speaks in each for a while.
fn speak(server: &Process, token: &str, rng: Rng, told: &Told) {
    let mut thread = Value::Null;
    for number in 0.. {
        if told.enough.load(Ordering::Relaxed) {
            return;
        }
        let text = format!("{} {number}", &token[..12]);
        let mut body = json!({ "kind": "ask", "body": text });
        if !thread.is_null() && rng.below(6) > 0 {
            body["kind"] = "inform".into();
            body["thread"] = thread.clone();
        }
        let answer = post(server.address, token, "/v1/messages", &body);
        assert!(answer["message"].is_object(), "{answer}");
        thread = answer["thread"]["id"].clone();
        told.said(text);
    }
}

/// Follows the feed until there is enough; gives how many messages came.
fn listen(server: &Process, told: &Told) -> u64 {
    let mut events = feed(server, &server.admin, "");
    let mut messages = 0;
    while !told.enough.load(Ordering::Relaxed) {
        let event = events.event().expect("the feed goes on");
        messages += u64::from(field(&event, "event") == Some("message"));
    }
    messages
}

fn feed(server: &Process, token: &str, since: &str) -> Events {
    Events::open(server.address, token, &format!("GET /v1/feed?scope=all{since}")).unwrap()
}

/// What was restored is what the source had shown up to the position.
fn compare(source: &Shown, restored: &Shown, upto: u64) {
    let mut same = 0;
    for (path, found) in &restored.threads {
        let shown = &source.threads[path];
        assert!(found.position <= upto, "{path}");
        if shown.position <= upto {
            assert_eq!(found, shown, "{path}");
            same += 1;
        } else {
            assert!(found.messages.len() < shown.messages.len(), "{path}");
            for (one, other) in found.messages.iter().zip(&shown.messages) {
                let fixed = |message: &Value| {
                    let names = ["id", "parent", "kind", "from", "body", "created_at"];
                    names.map(|name| message[name].clone())
                };
                assert_eq!(fixed(one), fixed(other), "{path}");
            }
            assert!(shown.events.starts_with(&found.events), "{path}");
        }
    }
    assert!(same > 10, "{same} threads stood still");
    let early = source.threads.values().filter(|thread| thread.position <= upto).count();
    assert_eq!(same, early, "no thread is missing");
}

/// Cursors up to the copy are good, also for a feed; those given later are not, and say why.
fn resume(back: &Process, token: &str, cursor: &str, shown: &Shown, source: &Process) {
    get(back.address, token, &format!("/v1/inbox?since={cursor}"));
    let later = shown.threads.iter().max_by_key(|(_, thread)| thread.position).unwrap().0;
    let later = get(source.address, token, later);
    let later = later["cursor"].as_str().unwrap();
    assert!(position(later) > position(cursor));
    for (path, kind) in [("inbox", "application/json"), ("feed", "text/event-stream")] {
        let line = format!("GET /v1/{path}?since={later}");
        let accept = format!("accept: {kind}\r\n");
        let problem = ask(back.address, token, &line, &accept, "").json();
        assert_eq!(problem["reason"], "invalid_cursor", "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("restored"), "{problem}");
    }
    // From an early cursor on, the feed tells the rest of what the copy holds.
    let first = shown.threads.iter().min_by_key(|(_, thread)| thread.position).unwrap().0;
    let since = get(source.address, token, first);
    let since = since["cursor"].as_str().unwrap();
    let mut events = feed(back, token, &format!("&since={since}"));
    let mut last = None;
    loop {
        let event = events.event().unwrap();
        if field(&event, "event") == Some("caught_up") {
            break;
        }
        if let Some(id) = field(&event, "id") {
            let place = position(id);
            assert!(last.is_none_or(|last| last < place) && place <= position(cursor), "{event}");
            last = Some(place);
        }
    }
    let last = last.expect("frames");
    assert_eq!(last / 16, position(cursor) / 16, "up to the last entry");
}
