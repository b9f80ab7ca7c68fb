//! The audit of a thread: its messages against the acknowledgements that the server gave.

use std::collections::HashMap;

use super::Findings;
use crate::objects::{self, Message};
use crate::rng;

/// The acknowledgements of one thread.
#[derive(Debug, Clone, Default)]
pub struct ThreadRecord {
    /// The number of the thread; 0 before it is open.
    pub thread: u64,
    /// Number and body hash of each acknowledged message.
    pub acknowledged: Vec<(u64, u64)>,
    /// Body hashes of messages without an answer, each of which may be stored once or not at all.
    pub doubtful: Vec<u64>,
}

impl ThreadRecord {
    /// The record of a thread that was just opened.
    pub fn opened(thread: u64, message: u64, body: u64) -> Self {
        Self { thread, acknowledged: vec![(message, body)], doubtful: Vec::new() }
    }
}

/// Compares a thread, read back page by page, with its record. `message` for each, then `finish`.
#[derive(Debug)]
pub struct Audit<'a> {
    thread: u64,
    expected: HashMap<u64, u64>,
    bodies: HashMap<u64, u64>,
    doubtful: HashMap<u64, u32>,
    last_id: u64,
    last_time: String,
    seen: u64,
    findings: &'a Findings,
}

impl<'a> Audit<'a> {
    /// An audit that expects the messages of `record`.
    pub fn new(record: &ThreadRecord, findings: &'a Findings) -> Self {
        let mut doubtful = HashMap::new();
        for hash in &record.doubtful {
            *doubtful.entry(*hash).or_insert(0) += 1;
        }
        let mut expected = HashMap::with_capacity(record.acknowledged.len());
        let mut bodies = HashMap::with_capacity(record.acknowledged.len());
        for (id, hash) in &record.acknowledged {
            if expected.insert(*id, *hash).is_some() {
                findings.add(format!("msg_{id} was acknowledged twice"));
            }
            bodies.insert(*hash, *id);
        }
        let thread = record.thread;
        Self {
            thread,
            expected,
            bodies,
            doubtful,
            last_id: 0,
            last_time: String::new(),
            seen: 0,
            findings,
        }
    }

    /// Checks the next message, in the order of the thread.
    pub fn message(&mut self, message: &Message<'_>) {
        let thread = self.thread;
        let Some(id) = objects::number(&message.id, "msg_") else {
            self.findings.add(format!("th_{thread} holds a message named {}", message.id));
            return;
        };
        if objects::number(&message.thread, "th_") != Some(thread) {
            self.findings.add(format!("th_{thread} shows msg_{id} of {}", message.thread));
        }
        if id == self.last_id {
            self.findings.add(format!("th_{thread} shows msg_{id} twice: doubled"));
        } else if id < self.last_id {
            let last = self.last_id;
            self.findings.add(format!("th_{thread}: msg_{id} after msg_{last}: ids run backwards"));
        }
        let fixed = message.created_at.len() == 24 && message.created_at.ends_with('Z');
        if !fixed || *message.created_at < *self.last_time {
            let (time, last) = (&message.created_at, &self.last_time);
            self.findings.add(format!("th_{thread}: {time} after {last}: times run backwards"));
        }
        self.last_id = self.last_id.max(id);
        self.last_time.clear();
        self.last_time.push_str(&message.created_at);
        self.seen += 1;
        self.body(id, rng::hash(message.body.as_bytes()));
    }

    fn body(&mut self, id: u64, hash: u64) {
        let thread = self.thread;
        match self.expected.remove(&id) {
            Some(expected) if expected == hash => {}
            Some(_) => self.findings.add(format!("th_{thread}: msg_{id} has changed")),
            None => {
                if let Some(first) = self.bodies.get(&hash) {
                    let text =
                        format!("th_{thread}: msg_{first} is there again as msg_{id}: doubled");
                    self.findings.add(text);
                } else if self.doubtful.get(&hash).is_some_and(|left| *left > 0) {
                    self.doubtful.entry(hash).and_modify(|left| *left -= 1);
                    self.bodies.insert(hash, id);
                } else {
                    self.findings.add(format!("th_{thread}: msg_{id} was never sent"));
                }
            }
        }
    }

    /// Reports expected messages that were not read; returns the number of messages.
    pub fn finish(self) -> u64 {
        for id in self.expected.keys() {
            self.findings.add(format!("th_{}: msg_{id} is missing", self.thread));
        }
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(id: u64, body: &str, second: u64) -> String {
        format!(
            r#"{{"id":"msg_{id}","thread":"th_1","parent":null,"kind":"inform",
            "from":{{"identity":"local:ada","extension":null}},"body":"{body}",
            "created_at":"2026-11-29T20:00:{second:02}.000Z","awaiting":null,"retracted":null}}"#
        )
    }

    fn found(doubtful: &[&str], shown: &[(u64, &str, u64)]) -> Vec<String> {
        let hash = |body: &str| rng::hash(body.as_bytes());
        let record = ThreadRecord {
            thread: 1,
            acknowledged: vec![(1, hash("one")), (2, hash("two")), (5, hash("five"))],
            doubtful: doubtful.iter().map(|body| hash(body)).collect(),
        };
        let findings = Findings::default();
        let mut audit = Audit::new(&record, &findings);
        for (id, body, second) in shown {
            let text = json(*id, body, *second);
            audit.message(&serde_json::from_str(&text).unwrap());
        }
        audit.finish();
        findings.texts()
    }

    /// Goal: a faithful thread passes, with a doubtful message there or not. Method: show it.
    #[test]
    fn faithful() {
        let shown = [(1, "one", 1), (2, "two", 1), (5, "five", 2)];
        assert_eq!(found(&[], &shown), [""; 0]);
        assert_eq!(found(&["six"], &shown), [""; 0]);
        assert_eq!(found(&["six"], &[&shown[..], &[(6, "six", 2)]].concat()), [""; 0]);
    }

    /// Goal: each planted fault is found. Method: one fault a row, and the word that tells it.
    #[test]
    fn planted() {
        type Row<'a> = (&'a str, &'a [(u64, &'a str, u64)]);
        let rows: &[Row<'_>] = &[
            ("missing", &[(1, "one", 1), (5, "five", 2)]),
            ("has changed", &[(1, "one", 1), (2, "TWO", 1), (5, "five", 2)]),
            ("doubled", &[(1, "one", 1), (2, "two", 1), (2, "two", 1), (5, "five", 2)]),
            ("doubled", &[(1, "one", 1), (2, "two", 1), (5, "five", 2), (6, "two", 2)]),
            ("ids run backwards", &[(2, "two", 1), (1, "one", 1), (5, "five", 2)]),
            ("times run backwards", &[(1, "one", 2), (2, "two", 1), (5, "five", 2)]),
            ("never sent", &[(1, "one", 1), (2, "two", 1), (5, "five", 2), (6, "who?", 2)]),
        ];
        for (word, shown) in rows {
            let errors = found(&[], shown);
            assert!(errors.iter().any(|text| text.contains(word)), "{word}: {errors:?}");
        }
        let twice = found(
            &["six"],
            &[(1, "one", 1), (2, "two", 1), (5, "five", 2), (6, "six", 2), (7, "six", 2)],
        );
        assert!(twice.iter().any(|text| text.contains("doubled")), "{twice:?}");
    }
}
