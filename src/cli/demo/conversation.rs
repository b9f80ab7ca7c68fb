//! Performs one step of the demo over HTTP, prints it, and compares the answer with what is
//! expected.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::participants::DemoParticipant;
use crate::cli::client::ApiResponse;
use crate::cli::error::{CliError, CliResult};
use crate::cli::request::{NO_EXTRA, from, object};
use crate::cli::text::{WIDTH, push_block};
use crate::cli::{output, render};

/// Precedes each line of a step.
const MARGIN: &str = "      │ ";
/// Precedes the outcome of a step.
const RESULT: &str = "      └ ";

/// The expected thread after a step.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedThread<'a> {
    /// The state, as [`render::state`] shows it.
    pub state: &'a str,
    /// The participant that is due, as [`render::due`] shows it.
    pub turn: &'a str,
    /// The awaited message: an identifier, [`ITSELF`], or empty for none.
    pub awaited: &'a str,
}

/// A thread in `state` with `turn` due and the message `awaited`.
pub fn want<'a>(state: &'a str, turn: &'a str, awaited: &'a str) -> ExpectedThread<'a> {
    ExpectedThread { state, turn, awaited }
}

/// Stands for the message of the step.
pub const ITSELF: &str = "itself";
/// No message is awaited.
pub const NONE: &str = "";

/// A step that was performed, before its outcome is checked.
#[derive(Debug)]
pub struct Step {
    /// The lines to print before the outcome.
    head: String,
    outcome: CliResult<ApiResponse>,
}

/// The thread of the demo, and counts of the steps so far.
#[derive(Debug, Default)]
pub struct Conversation {
    /// The thread's identifier; empty before the first post.
    pub thread: String,
    /// The number of steps so far.
    pub steps: u32,
    /// The number of refusals among them.
    pub refusals: u32,
    /// The speech acts posted so far.
    pub kinds: BTreeSet<String>,
}

impl Conversation {
    /// Posts a message; the first opens the thread. Returns the message's identifier.
    pub async fn post(
        &mut self,
        participant: &DemoParticipant,
        kind: &str,
        parent: Option<&str>,
        body: &str,
        want: ExpectedThread<'_>,
    ) -> CliResult<String> {
        let Step { head, outcome } = self.message(participant, kind, parent, body).await;
        let outcome = outcome?;
        let status = outcome.status;
        let answer = outcome.json()?;
        let (message, thread) = (&answer["message"], &answer["thread"]);
        let id = render::text_at(message, "/id");
        print_step(&head, &format!("{id}; {}", describe(thread)))?;
        self.expect("status", &status.to_string(), "201")?;
        self.expect("kind", &render::text_at(message, "/kind"), kind)?;
        self.expect("author", &render::participant(&message["from"]), &participant.name())?;
        self.expect("body", message["body"].as_str().unwrap_or_default(), body)?;
        if let Some(parent) = parent {
            self.expect("parent", &render::text_at(message, "/parent"), parent)?;
        }
        if self.thread.is_empty() {
            self.thread = render::text_at(thread, "/id");
        }
        self.kinds.insert(kind.to_owned());
        let awaited = if want.awaited == ITSELF { &id } else { want.awaited };
        self.expect_thread(thread, ExpectedThread { awaited, ..want })?;
        Ok(id)
    }

    /// Reads the inbox, whose first item must be the thread with `message` awaited.
    pub async fn check_inbox(&mut self, participant: &DemoParticipant, message: &str) -> CliResult {
        let step = self.begin(participant, "reads its inbox", None, "");
        let parameters = [("extension", participant.extension.map(str::to_owned))];
        let path = crate::cli::client::with_query("/v1/inbox", &parameters);
        let inbox = participant.client.get(&path).await?.json()?;
        let first = &inbox["items"][0];
        let waiting = render::text_at(first, "/message/id");
        let thread = render::text_at(first, "/thread/id");
        print_step(&step, &format!("{thread} waits with {waiting}"))?;
        self.expect("waiting thread", &thread, &self.thread)?;
        self.expect("waiting message", &waiting, message)
    }

    /// Marks or confirms (`state` given) or reopens the thread.
    pub async fn set_state(
        &mut self,
        participant: &DemoParticipant,
        operation: &str,
        state: Option<&str>,
        reason: &str,
        want: ExpectedThread<'_>,
    ) -> CliResult {
        let step = self.begin(participant, &verb(operation), state, reason);
        let body = object([
            ("state", state.map(Value::from)),
            ("reason", (!reason.is_empty()).then(|| reason.into())),
            ("from", from(participant.extension)),
        ]);
        let path = format!("/v1/threads/{}/{operation}", self.thread);
        let answer = participant.client.post(&path, &body, NO_EXTRA).await?.json()?;
        let event = &answer["event"];
        let id = render::text_at(event, "/id");
        print_step(&step, &format!("{id}; {}", describe(&answer["thread"])))?;
        self.expect("event's author", &render::participant(&event["by"]), &participant.name())?;
        self.expect("event's state", &render::text_at(event, "/to"), state.unwrap_or("open"))?;
        self.expect_thread(&answer["thread"], want)
    }

    /// Asserts a claim, which supersedes another or none. Returns its identifier.
    pub async fn assert_claim(
        &mut self,
        participant: &DemoParticipant,
        statement: &str,
        evidence: &[(&str, &str)],
        supersedes: Option<&str>,
    ) -> CliResult<String> {
        let step = self.begin(participant, "asserts", supersedes, statement);
        let body = object([
            ("statement", Some(statement.into())),
            ("evidence", Some(evidence_of(evidence))),
            ("supersedes", supersedes.map(|old| json!([old]))),
            ("from", from(participant.extension)),
        ]);
        let path = format!("/v1/threads/{}/claims", self.thread);
        let claim = participant.client.post(&path, &body, NO_EXTRA).await?.json()?["claim"].take();
        self.expect_claim(&step, &claim, "unverified")?;
        if let Some(old) = supersedes {
            let old = participant.client.get(&format!("/v1/claims/{old}")).await?.json()?;
            self.expect("older claim", &render::text_at(&old, "/status"), "superseded")?;
        }
        Ok(render::text_at(&claim, "/id"))
    }

    /// Attests, seals or refutes a claim, which must then have `status`.
    pub async fn prove(
        &mut self,
        participant: &DemoParticipant,
        what: &str,
        claim: &str,
        evidence: (&str, &str),
        status: &str,
    ) -> CliResult {
        let Step { head, outcome } = self.proof(participant, what, claim, evidence).await;
        self.expect_claim(&head, &outcome?.json()?["claim"], status)
    }

    /// Checks that a step was refused with `reason`.
    pub fn check_refused(&mut self, step: Step, reason: &str) -> CliResult {
        self.refusals += 1;
        match step.outcome {
            Err(CliError::Refused(problem)) => {
                let mut text = step.head;
                let _ = writeln!(text, "{RESULT}refused: {} {}", problem.status, problem.reason);
                push_block(&mut text, "        ", &problem.detail);
                output::text(&text)?;
                self.expect("refusal", &problem.reason, reason)
            }
            Ok(_) => self.expect("outcome", "a success", &format!("the refusal {reason}")),
            Err(failure) => Err(failure),
        }
    }

    /// Compares a value with the expected one; a difference ends the demo.
    pub fn expect(&self, what: &str, got: &str, want: &str) -> CliResult {
        if got == want {
            return Ok(());
        }
        let step = self.steps;
        Err(CliError::failed(format!(
            "step {step} did not go as it should: its {what} is {got:?}, not {want:?}"
        )))
    }

    /// Posts a message, without a check of the outcome.
    pub async fn message(
        &mut self,
        participant: &DemoParticipant,
        kind: &str,
        parent: Option<&str>,
        body: &str,
    ) -> Step {
        let head = self.begin(participant, &verb(kind), parent, body);
        let thread = (!self.thread.is_empty()).then(|| self.thread.as_str().into());
        let envelope = object([
            ("kind", Some(kind.into())),
            ("thread", thread),
            ("parent", parent.map(Value::from)),
            ("from", from(participant.extension)),
            ("body", Some(body.into())),
        ]);
        let outcome = participant.client.post("/v1/messages", &envelope, NO_EXTRA).await;
        Step { head, outcome }
    }

    /// Attests, seals or refutes a claim, without a check of the outcome.
    pub async fn proof(
        &mut self,
        participant: &DemoParticipant,
        what: &str,
        claim: &str,
        (kind, reference): (&str, &str),
    ) -> Step {
        let text = format!("{kind}: {reference}");
        let head = self.begin(participant, &verb(what), Some(claim), &text);
        let operation = if what == "seal" { "attest" } else { what };
        let body = object([
            ("evidence", Some(evidence_of(&[(kind, reference)]))),
            ("seal", (what == "seal").then(|| true.into())),
            ("from", from(participant.extension)),
        ]);
        let path = format!("/v1/claims/{claim}/{operation}");
        let outcome = participant.client.post(&path, &body, NO_EXTRA).await;
        Step { head, outcome }
    }

    /// Counts a step; returns its head, to be printed with the outcome.
    fn begin(
        &mut self,
        participant: &DemoParticipant,
        what: &str,
        about: Option<&str>,
        text: &str,
    ) -> String {
        self.steps += 1;
        let about = about.map(|about| format!(" {about}")).unwrap_or_default();
        let mut step = format!("\n{:>4}  {} {what}{about}\n", self.steps, participant.name());
        if !text.is_empty() {
            push_block(&mut step, MARGIN, text);
        }
        step
    }

    fn expect_thread(&self, thread: &Value, want: ExpectedThread<'_>) -> CliResult {
        self.expect("state", &render::state(thread), want.state)?;
        self.expect("turn", &render::due(&thread["turn"]), want.turn)?;
        let awaited = render::text_at(thread, "/awaiting/message");
        self.expect("awaited message", &awaited, want.awaited)
    }

    fn expect_claim(&self, step: &str, claim: &Value, status: &str) -> CliResult {
        let got = render::text_at(claim, "/status");
        print_step(step, &format!("{}: {got}", render::text_at(claim, "/id")))?;
        self.expect("claim's status", &got, status)
    }
}

/// Prints the title of a scene.
pub fn scene(title: &str) -> CliResult {
    let rule = "─".repeat(WIDTH.saturating_sub(title.chars().count() + 4));
    output::text(&format!("\n── {title} {rule}\n"))
}

/// Prints a remark beside the steps.
pub fn remark(text: &str) -> CliResult {
    let mut block = String::new();
    push_block(&mut block, "  ", text);
    output::text(&block)
}

/// Prints a step with its outcome.
fn print_step(step: &str, result: &str) -> CliResult {
    let mut text = step.to_owned();
    let _ = writeln!(text, "{RESULT}{result}");
    output::text(&text)
}

/// The third person of a verb: `ask` becomes `asks`, `clarify` `clarifies`.
fn verb(word: &str) -> String {
    match word.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{word}s"),
    }
}

/// The thread in one line.
fn describe(thread: &Value) -> String {
    format!(
        "{} {}; {}",
        render::text_at(thread, "/id"),
        render::state(thread),
        render::turn(thread)
    )
}

fn evidence_of(evidence: &[(&str, &str)]) -> Value {
    evidence.iter().map(|(kind, reference)| json!({ "kind": kind, "ref": reference })).collect()
}
