//! What a listener is to be told, worked out from the journal anew: nothing of the server's own
//! reckoning is asked.

use std::collections::HashMap;

use parley_kit::feed::Frame;
use parley_protocol::entry::{Awaiting, Change, Due, Entry};
use parley_protocol::ids::ThreadId;
use serde_json::Value;

/// Whose acts a listener follows.
#[derive(Clone, Debug, PartialEq)]
pub enum Acts {
    /// Nobody's.
    None,
    /// Those in these threads.
    Of(Vec<String>),
    /// Everybody's.
    All,
}

/// Who listens, to what.
#[derive(Clone, Debug)]
pub struct Ear {
    /// The line.
    pub identity: String,
    /// The sub-agent.
    pub extension: Option<String>,
    /// Whether questions to anyone count.
    pub anyone: bool,
    /// Whose acts.
    pub acts: Acts,
}

/// A frame that is to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its position.
    pub position: u64,
    /// Its type.
    pub kind: &'static str,
    /// What it is about.
    pub about: String,
}

impl Ear {
    /// The query of this listener.
    pub fn query(&self) -> String {
        let mut query = match &self.acts {
            Acts::None => "?scope=inbox".to_owned(),
            Acts::All => "?scope=all".to_owned(),
            Acts::Of(threads) => return format!("?scope=threads&threads={}", threads.join(",")),
        };
        if let Some(extension) = &self.extension {
            query = query + "&extension=" + extension;
        }
        if !self.anyone {
            query.push_str("&anyone=false");
        }
        query
    }

    fn follows(&self, thread: ThreadId) -> bool {
        match &self.acts {
            Acts::None => false,
            Acts::Of(threads) => threads.contains(&thread.to_string()),
            Acts::All => true,
        }
    }

    fn waits(&self, awaiting: Option<&Awaiting>) -> bool {
        let same = |extension: Option<&str>| extension == self.extension.as_deref();
        awaiting.is_some_and(|awaiting| match &awaiting.due {
            Due::Anyone => {
                let asker = &awaiting.asker;
                let own = *asker.identity == *self.identity && same(asker.extension.as_deref());
                self.anyone && !own
            }
            Due::Participant(due) => {
                *due.identity == *self.identity
                    && (self.extension.is_none() || same(due.extension.as_deref()))
            }
        })
    }

    /// Everything that it is told of these entries.
    pub fn told(&self, entries: &[(u64, Entry)]) -> Vec<Told> {
        let mut told = Vec::new();
        let mut turns: HashMap<ThreadId, Option<Awaiting>> = HashMap::new();
        for (number, entry) in entries {
            let Entry::Act(act) = entry else { continue };
            let mut add = |slot: u64, kind, about: String| {
                told.push(Told { position: number * 16 + slot, kind, about });
            };
            let thread = act.thread;
            if self.follows(thread) {
                if let Change::Message(message) = &act.change {
                    add(0, "message", format!("{thread} {}", message.id));
                }
                if let Some(event) = &act.event {
                    add(1, "event", format!("{thread} {}", event.id));
                }
                let claims = match &act.change {
                    Change::Assert(claim) => [&[claim.id], &*claim.supersedes].concat(),
                    Change::Attest(claim, _) | Change::Refute(claim, _) => vec![*claim],
                    Change::Message(_) | Change::Mark => Vec::new(),
                };
                for (slot, claim) in (2..).zip(claims) {
                    add(slot, "claim", format!("{thread} {claim}"));
                }
            }
            let before = turns.insert(thread, act.awaiting.clone()).flatten();
            let turn = |one: &Option<Awaiting>| {
                one.as_ref().map(|awaiting| (awaiting.message, awaiting.due.clone()))
            };
            let (waited, waits) = (self.waits(before.as_ref()), self.waits(act.awaiting.as_ref()));
            if matches!(self.acts, Acts::Of(_)) {
                continue;
            }
            if waits && turn(&before) != turn(&act.awaiting) {
                let message = act.awaiting.as_ref().map(|awaiting| awaiting.message);
                add(11, "awaiting", format!("{thread} {}", message.unwrap()));
            } else if waited && !waits {
                add(12, "settled", thread.to_string());
            }
        }
        told
    }
}

/// What a frame is about, its objects being whole.
pub fn summary(frame: &Frame) -> Told {
    let json = &frame.json;
    let id = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{json}")).to_owned();
    let (kind, about) = match frame.kind() {
        "message" => {
            whole(&json["message"], MESSAGE);
            whole(&json["thread"], THREAD);
            assert_eq!(json["message"]["thread"], json["thread"]["id"]);
            let about = format!("{} {}", id(&json["thread"]["id"]), id(&json["message"]["id"]));
            ("message", about)
        }
        "event" => {
            whole(&json["event"], EVENT);
            whole(&json["thread"], THREAD);
            ("event", format!("{} {}", id(&json["thread"]["id"]), id(&json["event"]["id"])))
        }
        "claim" => {
            whole(&json["claim"], CLAIM);
            ("claim", format!("{} {}", id(&json["claim"]["thread"]), id(&json["claim"]["id"])))
        }
        "awaiting" => {
            whole(&json["message"], MESSAGE);
            whole(&json["thread"], THREAD);
            let about = format!("{} {}", id(&json["thread"]["id"]), id(&json["message"]["id"]));
            ("awaiting", about)
        }
        "settled" => ("settled", id(&json["thread"])),
        other => panic!("{other} is about nothing: {json}"),
    };
    Told { position: frame.position, kind, about }
}

const MESSAGE: &str = "author_kind awaiting body created_at from id kind label parent provenance \
                       retracted thread";
const THREAD: &str = "author_kind awaiting claim_count created_at creator cursor id locked \
                      message_count number state state_confirmed_at state_label state_origin \
                      subject turn updated_at";
const EVENT: &str = "at by confirmed from id label message origin reason thread to";
const CLAIM: &str = "attestations author author_kind created_at evidence expired id refutation \
                     statement status superseded_by supersedes thread valid_until";

fn whole(object: &Value, members: &str) {
    let object = object.as_object().unwrap_or_else(|| panic!("no object: {object}"));
    let mut names: Vec<_> = object.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names.join(" "), members);
}
