//! kill -9 under load: nothing acknowledged is lost, doubled or changed, half an act never shows,
//! and a feed that comes back tells everything once. That the server syncs before it answers is
//! shown elsewhere (`tests/engine/journal`, `tests/engine/cuts`): a killed process leaves the
//! machine's cache alone.
//!
//! `PARLEY_ROUNDS=200 cargo test --test process crash::` plays more rounds, `PARLEY_SEED` another
//! load, `PARLEY_BINARY=target/release/parley` with another build.

mod client;
mod listen;
mod load;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use parley_kit::peer::pages;
use parley_kit::{Folder, GENEROUS, Process, Rng, number};
use serde_json::{Value, json};

use client::Client;
use listen::Listener;
use load::{Call, Round};

/// Connections that write at once; each has a token of its own, the first the administrator's.
const WRITERS: usize = 6;
/// Rounds where the environment names none.
const ROUNDS: u64 = 10;
/// Threads of a round that the next one goes on with.
const CARRIED: usize = 3;

/// Starts a server on the folder `data`.
fn start(data: &str) -> Process {
    let arguments = [&GENEROUS[..], &["--log-level", "error"]].concat();
    Process::logging(data, &arguments, Stdio::inherit()).expect("it starts")
}

/// Goal: kill -9 at any moment loses, doubles and changes nothing that was acknowledged; ids and
/// times go on rising; what is half done never shows; keys sent again give the first outcome;
/// feeds lack nothing, tell nothing twice and nothing that a restart takes back. Method: questions,
/// answers, marks, claims and artifacts over HTTP and MCP on several connections, two listeners,
/// against the binary on a real disk, killed after a time that the seed chooses, started again,
/// read back, in rounds.
#[test]
fn kill_and_restart() {
    let seed = number("PARLEY_SEED", u64::from(std::process::id()));
    let rounds = number("PARLEY_ROUNDS", ROUNDS);
    println!("seed {seed}, {rounds} rounds");
    let folder = Folder::new("crash");
    let data = folder.text("data");
    let rng = Rng::new(seed);
    let mut server = start(&data);
    let tokens = tokens(&server);
    let mut told = Told::default();
    let mut carried = Vec::new();
    let mut listeners = [0, 1].map(|writer| Listener::begin(server.address, &tokens[writer]));
    for round in 0..rounds {
        let (address, threads) = (server.address, Mutex::new(std::mem::take(&mut carried)));
        let answered = AtomicU64::new(0);
        let play = Round { address, tokens: &tokens, seed, turn: round, threads, answered };
        let lasts = Duration::from_millis(100 + rng.below(900));
        let calls: Vec<Call> = std::thread::scope(|scope| {
            let play = &play;
            let writers = (0..WRITERS).map(|writer| scope.spawn(move || play.speak(writer)));
            let writers: Vec<_> = writers.collect();
            for listener in &mut listeners {
                scope.spawn(move || listener.listen(address, false));
            }
            // Nothing ever comes; the seed decides when the kill does.
            let (_sender, nothing) = mpsc::sync_channel::<()>(0);
            let _ = nothing.recv_timeout(lasts);
            server.kill();
            writers.into_iter().flat_map(|it| it.join().expect("a writer")).collect()
        });
        server = start(&data);
        let answered = play.answered.load(Ordering::Relaxed);
        println!("round {round}: {answered} answers in {lasts:?}, {} calls", calls.len());
        told.add(calls);
        let threads = play.threads.into_inner().expect("no writer panics");
        told.check(&server, &tokens, threads.iter().copied().collect());
        carried = threads.into_iter().rev().take(CARRIED).collect();
    }
    told.check(&server, &tokens, told.threads.clone());
    for listener in &mut listeners {
        listener.listen(server.address, true);
        told.hold(listener);
    }
    println!("{} acts, {} artifacts", told.acknowledged.len(), told.artifacts.len());
    assert!(told.acknowledged.len() as u64 > rounds, "there was a load");
}

/// A token for each writer.
fn tokens(server: &Process) -> Vec<String> {
    let writers = (1..WRITERS).map(|writer| {
        let handle = format!("writer-{writer}");
        server.token(&json!({ "handle": handle, "rights": ["read", "write"] }))
    });
    [server.admin.clone()].into_iter().chain(writers).collect()
}

/// What all writers were told since the first start.
#[derive(Default)]
struct Told {
    /// The acts acknowledged, by their text: messages and events as they were shown then.
    acknowledged: BTreeMap<String, Value>,
    /// Texts whose callers got no answer: there once or not at all.
    open: BTreeSet<String>,
    /// The keyed calls of the last round.
    keyed: Vec<Call>,
    threads: BTreeSet<u64>,
    /// The artifacts acknowledged, and those whose publishing got no answer.
    artifacts: BTreeSet<String>,
    open_artifacts: Vec<Call>,
    /// The highest numbers acknowledged before the last round: of messages, of events, of claims.
    highest: [u64; 3],
    /// The texts acknowledged in the last round.
    latest: BTreeSet<String>,
}

impl Told {
    fn add(&mut self, calls: Vec<Call>) {
        for act in self.latest.iter().map(|text| &self.acknowledged[text]) {
            let place = sort(act);
            self.highest[place] = self.highest[place].max(id(act));
        }
        self.latest.clear();
        self.keyed.clear();
        for call in calls {
            if call.publishes() {
                self.add_artifact(call);
                continue;
            }
            let text = call.text().to_owned();
            match &call.answer {
                Some(answer) if answer.status < 300 => {
                    let act = shown(&answer.body);
                    // A mark that found its state set has changed nothing.
                    if !act.is_null() {
                        self.acknowledged.insert(text.clone(), act.clone());
                        self.latest.insert(text);
                    }
                    self.threads.extend(answer.body["thread"]["number"].as_u64());
                }
                // An answer where nothing is awaited any more must name its parent.
                Some(answer) => {
                    assert!(answer.status == 409 || answer.body["field"] == "parent", "{call:?}");
                }
                None => drop(self.open.insert(text)),
            }
            if call.key.is_some() {
                self.keyed.push(call);
            }
        }
    }

    fn add_artifact(&mut self, call: Call) {
        match &call.answer {
            Some(answer) => {
                assert_eq!(answer.status, 201, "{call:?}");
                let id = answer.body["artifact_id"].as_str().expect("a name").to_owned();
                self.artifacts.insert(id);
            }
            None => self.open_artifacts.push(call),
        }
    }

    /// Every artifact acknowledged is there; what was left open is whole, or can be published.
    fn check_artifacts(&mut self, client: &mut Client) {
        for id in &self.artifacts {
            let found = client.get(&format!("/v1/artifacts/{id}")).expect("an answer");
            assert_eq!(found.status, 200, "acknowledged: {id}");
            assert_eq!(found.body["artifact_id"], **id);
        }
        for call in std::mem::take(&mut self.open_artifacts) {
            let again = call.send(client).expect("an answer");
            assert!(matches!(again.status, 200 | 201), "{call:?} {again:?}");
            let id = again.body["artifact_id"].as_str().expect("a name").to_owned();
            self.artifacts.insert(id);
        }
    }

    /// A listener was told of each act acknowledged, once.
    fn hold(&self, listener: &Listener) {
        for act in self.acknowledged.values() {
            let id = act["id"].as_str().expect("an id");
            assert_eq!(listener.told.get(id), Some(&1), "how often the feed told of {act}");
        }
        println!(
            "a feed came back {} times and told {} acts",
            listener.returns,
            listener.told.len()
        );
    }

    /// Sends the keyed calls of the last round again, then reads `threads` back and compares.
    fn check(&mut self, server: &Process, tokens: &[String], threads: BTreeSet<u64>) {
        let clients = tokens.iter().map(|token| Client::connect(server.address, token));
        let mut clients: Vec<Client> = clients.collect::<Result<_, _>>().expect("it listens");
        let before = read(&mut clients[0], &threads);
        self.compare(&before, &threads);
        self.check_artifacts(&mut clients[0]);
        for call in std::mem::take(&mut self.keyed) {
            let client = &mut clients[call.writer];
            let again = call.send(client).expect("an answer");
            let third = call.send(client).expect("an answer");
            assert!(third.replayed && third.status == again.status, "{call:?} {third:?}");
            assert_eq!(shown(&third.body), shown(&again.body), "{call:?}");
            if let Some(first) = &call.answer {
                assert!(again.replayed, "{call:?} {again:?}");
                assert_eq!(again.status, first.status, "{call:?}");
                assert_eq!(shown(&again.body), shown(&first.body), "{call:?}");
                assert_eq!(again.body.get("reason"), first.body.get("reason"), "{call:?}");
            } else if again.status < 300 && !shown(&again.body).is_null() {
                let act = shown(&again.body).clone();
                let was = before.get(call.text());
                assert!(was.is_none_or(|was| *was == act), "{act}");
                // A thread that was opened without an answer is not among those read yet.
                let is_known = threads.contains(&thread_of(&act));
                assert!(!is_known || was.is_some() == again.replayed, "{act}");
                self.open.remove(call.text());
                self.latest.insert(call.text().to_owned());
                self.acknowledged.insert(call.text().to_owned(), act);
                self.threads.extend(again.body["thread"]["number"].as_u64());
            }
        }
        let after = read(&mut clients[0], &threads);
        self.compare(&after, &threads);
    }

    /// What is `found` in `threads` is what was told, and nothing beside it.
    fn compare(&self, found: &BTreeMap<String, Value>, threads: &BTreeSet<u64>) {
        for (text, act) in &self.acknowledged {
            if threads.contains(&thread_of(act)) {
                assert_eq!(found.get(text), Some(act), "acknowledged: {text}");
            }
        }
        for text in found.keys() {
            let known = self.acknowledged.contains_key(text) || self.open.contains(text);
            assert!(known, "nobody said {text:?}, or it was refused");
        }
        for act in self.latest.iter().map(|text| &self.acknowledged[text]) {
            assert!(id(act) > self.highest[sort(act)], "ids go on rising: {act}");
        }
    }
}

/// The message, event or claim that an answer tells of.
fn shown(body: &Value) -> &Value {
    let act = ["message", "event", "claim"].iter().find_map(|name| body.get(name));
    act.unwrap_or(&Value::Null)
}

/// Whether an act is a message, an event or a claim: each has numbers of its own.
fn sort(act: &Value) -> usize {
    if act.get("statement").is_some() { 2 } else { usize::from(act.get("to").is_some()) }
}

fn id(act: &Value) -> u64 {
    number_in(&act["id"])
}

fn thread_of(act: &Value) -> u64 {
    number_in(&act["thread"])
}

/// The number in an identifier.
fn number_in(id: &Value) -> u64 {
    let number = id.as_str().and_then(|id| id.split('_').nth(1));
    number.and_then(|number| number.parse().ok()).expect("a number")
}

/// Reads threads back, message by message and event by event, each by its text; holds that each
/// head is what its messages and events make of it.
fn read(client: &mut Client, threads: &BTreeSet<u64>) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for thread in threads {
        let path = format!("/v1/threads/{thread}");
        let (messages, head) = all(client, &format!("{path}?format=flat&limit=1000"), "messages");
        let (events, _) = all(client, &format!("{path}/events?limit=1000"), "items");
        let (claims, _) = all(client, &format!("{path}/claims?limit=1000"), "items");
        assert_eq!(head["message_count"], messages.len(), "{head}");
        assert_eq!(head["claim_count"], claims.len(), "{head}");
        let last = events.last().expect("the opening");
        assert_eq!((&head["state"], &head["state_origin"]), (&last["to"], &last["origin"]));
        assert_eq!(head["locked"], last["to"] == "closed" && last["confirmed"] == true, "{head}");
        let times = messages.iter().map(|it| &it["created_at"]);
        let times = times.chain(events.iter().map(|it| &it["at"]));
        let times = times.chain(claims.iter().map(|it| &it["created_at"]));
        let latest = times.filter_map(Value::as_str).max();
        assert_eq!(head["updated_at"].as_str(), latest, "{head}");
        assert_eq!(head["created_at"], messages[0]["created_at"]);
        rising(&messages, "created_at");
        rising(&events, "at");
        for (acts, text) in [(messages, "body"), (events, "reason"), (claims, "statement")] {
            for act in acts {
                let Some(text) = act[text].as_str().map(str::to_owned) else { continue };
                let doubled = found.insert(text, act);
                assert!(doubled.is_none(), "twice: {doubled:?}");
            }
        }
    }
    found
}

/// Ids rise, times do not fall.
fn rising(acts: &[Value], time: &str) {
    for pair in acts.windows(2) {
        assert!(id(&pair[0]) < id(&pair[1]), "{pair:?}");
        assert!(pair[0][time].as_str() <= pair[1][time].as_str(), "{pair:?}");
    }
}

/// All pages of a list, and the last of them.
fn all(client: &mut Client, path: &str, name: &str) -> (Vec<Value>, Value) {
    pages(path, name, |path| {
        let page = client.get(path).expect("an answer");
        assert_eq!(page.status, 200, "{path}: {page:?}");
        page.body
    })
}
