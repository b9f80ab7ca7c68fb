//! A conversation: one script carried out in one thread, with its shadow and its record.

use std::fmt::Write as _;

use crate::body::push_body;
use crate::objects::{self, Claimed, Marked, Posted};
use crate::participants::Participants;
use crate::rng::{self, Rng};
use crate::script::{ROLES, SCRIPTS, Step};
use crate::verify::audit::ThreadRecord;
use crate::verify::shadow::{Act, ExpectedAwaiting, ExpectedDue, Shadow};
use crate::verify::transitions::State;
use crate::verify::turn;
use crate::wire::Operation;

/// Steps of a conversation are fewer than this; bodies are numbered accordingly.
const STEPS_MAX: u64 = 64;

/// One conversation.
#[derive(Debug, Clone)]
pub struct Conversation {
    serial: u64,
    script: usize,
    step: usize,
    roles: [usize; ROLES],
    seed: u64,
    body: usize,
    run: u64,
    /// The claim of the thread and its expected status.
    pub claim: Option<(u64, &'static str)>,
    /// The expected thread; none before it is open.
    pub shadow: Option<Shadow>,
    /// The acknowledgements.
    pub record: ThreadRecord,
}

/// The participants that may take the roles of a script, by their rights.
#[derive(Debug, Clone)]
pub struct RolePool {
    /// Number of participants with `read` and `write`, which have the first indices.
    pub agents: usize,
    /// Indices of participants with `lock`.
    pub moderators: Vec<usize>,
    /// Indices of participants with `verify`.
    pub verifiers: Vec<usize>,
    /// Number of lines of the agents.
    pub lines: usize,
    /// Characters of a body.
    pub body: usize,
    /// Part of each idempotency key, unique to the run.
    pub run: u64,
}

impl Conversation {
    /// A new conversation; its roles are drawn among participants of different lines.
    pub fn new(seed: u64, serial: u64, role_pool: &RolePool) -> Self {
        let mut rng = Rng::new(seed, serial);
        let mut roles = [0; ROLES];
        let first = rng.below(role_pool.agents as u64) as usize;
        let shift = 1 + rng.below((role_pool.lines as u64 - 1) / 2) as usize;
        // Agents of one line have indices `lines` apart; indices closer than that differ in line.
        for (role, place) in roles.iter_mut().take(3).enumerate() {
            let line = (first % role_pool.lines + role * shift) % role_pool.lines;
            let round = first / role_pool.lines;
            let index = round * role_pool.lines + line;
            *place = if index < role_pool.agents { index } else { line };
        }
        if roles[0] == roles[1] || roles[1] == roles[2] || roles[0] == roles[2] {
            roles = [0, 1, 2, 0, 0];
        }
        let pick = |from: &[usize], draw: u64| from[(draw % from.len() as u64) as usize];
        roles[3] = pick(&role_pool.moderators, rng.next());
        roles[4] = pick(&role_pool.verifiers, rng.next());
        let script = rng.below(SCRIPTS.len() as u64) as usize;
        let RolePool { body, run, .. } = *role_pool;
        Self {
            serial,
            script,
            step: 0,
            roles,
            seed,
            body,
            run,
            claim: None,
            shadow: None,
            record: ThreadRecord::default(),
        }
    }

    /// The next step; none at the end.
    pub fn step(&self) -> Option<Step> {
        SCRIPTS[self.script].get(self.step).copied()
    }

    /// The index of the participant that takes the step.
    pub fn speaker(&self) -> usize {
        self.step().map_or(self.roles[0], |step| self.roles[step.role() as usize])
    }

    /// The expected `awaiting` of the thread.
    pub fn awaiting(&self) -> Option<ExpectedAwaiting> {
        self.shadow.as_ref().and_then(Shadow::awaiting)
    }

    fn id(&self, place: Option<usize>) -> Option<u64> {
        self.shadow.as_ref()?.id(place?)
    }

    fn body_bytes(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.body);
        let serial = self.serial * STEPS_MAX + self.step as u64;
        push_body(&mut body, self.seed, serial, self.body);
        body
    }

    fn body_text(&self) -> String {
        String::from_utf8_lossy(&self.body_bytes()).into_owned()
    }

    /// The call of the step; none if the step reads an inbox. `keyed` adds an idempotency key.
    pub fn operation(&self, participants: &Participants, keyed: bool) -> Option<Operation> {
        let step = self.step()?;
        let from = participants.members[self.speaker()].from();
        let thread = self.record.thread;
        let place = format!("\"thread\":\"th_{thread}\"");
        let path = |end: &str| format!("/v1/threads/th_{thread}/{end}");
        let mut operation = match step {
            Step::Say(_, act, to) | Step::Refused(_, act, to, _) => self.say(act, to, &from),
            Step::Mark(_, state) => {
                let members =
                    format!("\"state\":\"{}\",\"reason\":\"so it seems\"{from}", state.as_str());
                Operation::write("mark_thread", path("mark"), place, members)
            }
            Step::Confirm(_, state) => {
                let members = format!("\"state\":\"{}\"{from}", state.as_str());
                Operation::write("confirm_thread", path("confirm"), place, members)
            }
            Step::Reopen(_) => {
                let members = format!("\"reason\":\"there is more to say\"{from}");
                Operation::write("reopen_thread", path("reopen"), place, members)
            }
            Step::Assert(_) => {
                let members = format!("\"statement\":\"{}\"{from}", self.body_text());
                Operation::write("assert_claim", path("claims"), place, members)
            }
            Step::Attest(_, seal, _) => self.on_claim("attest", &format!(",\"seal\":{seal}{from}")),
            Step::Refute(_) => self.on_claim("refute", &from),
            Step::Inbox(_) => return None,
        };
        if keyed {
            let Self { run, seed, serial, step, .. } = self;
            operation.key = Some(format!("load-{run:x}-{seed}-{serial}-{step}"));
        }
        Some(operation)
    }

    fn say(&self, act: Act, to: Option<usize>, from: &str) -> Operation {
        let mut members = format!("\"kind\":\"{}\"", act.as_str());
        if self.shadow.is_some() {
            let _ = write!(members, ",\"thread\":\"th_{}\"", self.record.thread);
        }
        if let Some(parent) = self.id(to) {
            let _ = write!(members, ",\"parent\":\"msg_{parent}\"");
        }
        members.push_str(from);
        let _ = write!(members, ",\"body\":\"{}\"", self.body_text());
        Operation::message(members)
    }

    fn on_claim(&self, what: &'static str, rest: &str) -> Operation {
        let tool = if what == "attest" { "attest_claim" } else { "refute_claim" };
        let claim = self.claim.map_or(0, |(id, _)| id);
        let evidence = "\"evidence\":[{\"kind\":\"url\",\"ref\":\"https://example.org/run/1\"}]";
        let place = format!("\"claim\":\"cl_{claim}\"");
        Operation::write(
            tool,
            format!("/v1/claims/cl_{claim}/{what}"),
            place,
            format!("{evidence}{rest}"),
        )
    }

    /// Checks the answer to a successful step and ends the step.
    pub fn accept(&mut self, json: &[u8], participants: &Participants) -> Result<(), String> {
        let Some(step) = self.step() else { return Ok(()) };
        let result = match step {
            Step::Say(_, act, to) => self.accept_message(act, to, json, participants),
            Step::Mark(role, state) | Step::Confirm(role, state) => {
                let lock = participants.members[self.roles[role as usize]].lock;
                self.accept_mark(state, lock, json, participants)
            }
            Step::Reopen(role) => {
                let lock = participants.members[self.roles[role as usize]].lock;
                self.accept_mark(State::Open, lock, json, participants)
            }
            Step::Assert(_) => self.accept_claim("unverified", json),
            Step::Attest(_, _, status) => self.accept_claim(status, json),
            Step::Refute(_) => self.accept_claim("refuted", json),
            Step::Refused(_, act, _, reason) => {
                Err(format!("{} was taken, must be refused: {reason}", act.as_str()))
            }
            Step::Inbox(_) => Ok(()),
        };
        self.step += 1;
        result.map_err(|text| self.at_step(&text))
    }

    /// Ends the step and returns true, if the script expects a refusal with this reason.
    pub fn refused(&mut self, reason: &str) -> bool {
        let Some(Step::Refused(.., expected)) = self.step() else { return false };
        if expected == reason {
            self.step += 1;
        }
        expected == reason
    }

    /// Ends the step.
    pub fn next_step(&mut self) {
        self.step += 1;
    }

    /// `text`, preceded by thread, script and step.
    pub fn at_step(&self, text: &str) -> String {
        format!("th_{}, script {} step {}: {text}", self.record.thread, self.script, self.step)
    }

    /// Records the body of the present step as doubtful: its answer did not come.
    pub fn record_doubtful(&mut self) {
        let hash = rng::hash(&self.body_bytes());
        self.record.doubtful.push(hash);
    }

    fn accept_message(
        &mut self,
        act: Act,
        to: Option<usize>,
        json: &[u8],
        participants: &Participants,
    ) -> Result<(), String> {
        let posted: Posted<'_> = parse(json)?;
        let message = &posted.message;
        let id = objects::number(&message.id, "msg_").ok_or("a message without an id")?;
        let thread = objects::number(&message.thread, "th_").ok_or("a message without a thread")?;
        let hash = rng::hash(&self.body_bytes());
        if rng::hash(message.body.as_bytes()) != hash {
            return Err(format!("msg_{id} was acknowledged with a change"));
        }
        let speaker = self.speaker();
        let lock = participants.members[speaker].lock;
        let parent = self.id(to);
        if let Some(shadow) = &mut self.shadow {
            if thread != self.record.thread {
                return Err(format!("msg_{id} went to th_{thread}"));
            }
            if self.record.acknowledged.last().is_some_and(|(last, _)| *last >= id) {
                return Err(format!("msg_{id}: ids run backwards"));
            }
            self.record.acknowledged.push((id, hash));
            shadow.speak(act, speaker, to, id, lock);
        } else {
            self.record = ThreadRecord::opened(thread, id, hash);
            self.shadow = Some(Shadow::open(speaker, id));
        }
        if message.kind != act.as_str() || !participants.is(speaker, &message.from) {
            return Err(format!("msg_{id} is a {} from {:?}", message.kind, message.from));
        }
        if message.parent.as_deref().and_then(|text| objects::number(text, "msg_")) != parent {
            return Err(format!("msg_{id} has the parent {:?}", message.parent));
        }
        let left = message.awaiting.as_ref().and_then(|it| objects::number(&it.message, "msg_"));
        if left != self.awaiting().map(|awaiting| awaiting.message) {
            return Err(format!("msg_{id} left {:?} awaiting", message.awaiting));
        }
        self.compare(&posted.thread, participants)
    }

    fn accept_mark(
        &mut self,
        to: State,
        lock: bool,
        json: &[u8],
        participants: &Participants,
    ) -> Result<(), String> {
        let marked: Marked<'_> = parse(json)?;
        let Some(shadow) = &mut self.shadow else { return Ok(()) };
        let before = shadow.changes().len();
        shadow.set(to, lock);
        let change = shadow.changes().get(before).copied();
        match (&marked.event, change) {
            (None, None) => {}
            (Some(event), Some(change)) => {
                let from = change.from.map(State::as_str);
                if event.from.as_deref() != from
                    || event.to != change.to.as_str()
                    || event.confirmed != change.confirmed
                {
                    return Err(format!("the event {event:?}, must be {change:?}"));
                }
            }
            (event, change) => return Err(format!("the event {event:?}, must be {change:?}")),
        }
        self.compare(&marked.thread, participants)
    }

    fn accept_claim(&mut self, status: &'static str, json: &[u8]) -> Result<(), String> {
        let claimed: Claimed<'_> = parse(json)?;
        let id = objects::number(&claimed.claim.id, "cl_").ok_or("a claim without an id")?;
        self.claim = Some((id, status));
        if claimed.claim.status == status {
            return Ok(());
        }
        Err(format!("cl_{id} is {}, must be {status}", claimed.claim.status))
    }

    fn compare(
        &self,
        thread: &objects::Thread<'_>,
        participants: &Participants,
    ) -> Result<(), String> {
        turn::check(thread)?;
        self.shadow.as_ref().map_or(Ok(()), |shadow| shadow.compare(thread, participants))
    }
}

/// Whether the inbox of a participant shows a thread with this `awaiting`; `anyone` tells whether
/// the inbox includes questions to anyone. `parley.md` §7.
pub fn waits_for(
    participants: &Participants,
    place: usize,
    anyone: bool,
    awaiting: Option<ExpectedAwaiting>,
) -> bool {
    let Some(awaiting) = awaiting else { return false };
    let member = &participants.members[place];
    match awaiting.due {
        ExpectedDue::Anyone => anyone && awaiting.asker != place,
        ExpectedDue::One(due) => {
            due == place
                || (member.extension.is_none() && participants.members[due].line == member.line)
        }
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(json: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|error| {
        let text = String::from_utf8_lossy(json);
        format!("{error} in {}", text.chars().take(200).collect::<String>())
    })
}

#[cfg(test)]
mod tests;
