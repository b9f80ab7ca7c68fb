//! One step of the demo: done over HTTP, printed, and held against what should come of it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::participants::DemoParticipant;
use crate::cli::client::ApiResponse;
use crate::cli::error::{CliError, CliResult};
use crate::cli::speech::{NO_EXTRA, object};
use crate::cli::text::{WIDTH, push_block};
use crate::cli::{output, render};

/// Before each line that belongs to a step.
const MARGIN: &str = "      │ ";
/// Before what came of a step.
const RESULT: &str = "      └ ";

/// What should be true of the thread after a step.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedThread<'a> {
    state: &'a str,
    turn: &'a str,
    on: Option<&'a str>,
}

/// The thread should be in `state`, as it is shown, and the turn with `turn`, nothing awaited.
pub fn want<'a>(state: &'a str, turn: &'a str) -> ExpectedThread<'a> {
    ExpectedThread { state, turn, on: None }
}

impl<'a> ExpectedThread<'a> {
    /// The message awaited.
    pub fn on(self, message: &'a str) -> Self {
        Self { on: Some(message), ..self }
    }

    /// The message awaited is the one of this very step.
    pub fn on_itself(self) -> Self {
        self.on(ITSELF)
    }
}

/// Stands for the message of the step itself.
const ITSELF: &str = "";

/// Where the conversation takes place, and what has happened.
#[derive(Debug, Default)]
pub struct Conversation {
    thread: String,
    steps: u32,
    refusals: u32,
    kinds: BTreeSet<String>,
}

impl Conversation {
    /// The thread.
    pub fn thread(&self) -> &str {
        &self.thread
    }

    /// The speech acts shown so far.
    pub fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// The steps so far, and how many of them were to be refused.
    pub fn steps(&self) -> (u32, u32) {
        (self.steps, self.refusals)
    }

    /// `player` says something; gives the message's identifier. Without a thread it opens one.
    pub async fn says(
        &mut self,
        player: &DemoParticipant,
        kind: &str,
        parent: Option<&str>,
        body: &str,
        want: ExpectedThread<'_>,
    ) -> CliResult<String> {
        let step = self.begin(player, &verb(kind), parent, body);
        let answer = self.post(player, kind, parent, body).await?;
        let status = answer.status;
        let answer = answer.json()?;
        let message = &answer["message"];
        let id = render::text_at(message, "/id");
        tell(&step, &format!("{id}; {}", describe(&answer["thread"])))?;
        self.hold("status", &status.to_string(), "201")?;
        self.hold("kind", &render::text_at(message, "/kind"), kind)?;
        self.hold("author", &render::participant(&message["from"]), &player.name())?;
        self.hold("body", message["body"].as_str().unwrap_or_default(), body)?;
        if let Some(parent) = parent {
            self.hold("parent", &render::text_at(message, "/parent"), parent)?;
        }
        if self.thread.is_empty() {
            self.thread = render::text_at(&answer["thread"], "/id");
        }
        self.kinds.insert(kind.to_owned());
        let on = want.on.map(|on| if on == ITSELF { id.as_str() } else { on });
        self.hold_thread(&answer["thread"], ExpectedThread { on, ..want })?;
        Ok(id)
    }

    /// `player` tries to say something that must be refused with `reason`.
    pub async fn is_refused(
        &mut self,
        player: &DemoParticipant,
        kind: &str,
        parent: Option<&str>,
        body: &str,
        reason: &str,
    ) -> CliResult {
        let step = self.begin(player, &verb(kind), parent, body);
        let outcome = self.post(player, kind, parent, body).await;
        self.hold_refusal(&step, outcome, reason)
    }

    /// `player` reads its inbox and must find the thread in it, waiting on `message`.
    pub async fn finds(&mut self, player: &DemoParticipant, message: &str) -> CliResult {
        let step = self.begin(player, "reads its inbox", None, "");
        let parameters = [("extension", player.extension.map(str::to_owned))];
        let path = crate::cli::client::with_query("/v1/inbox", &parameters);
        let inbox = player.client.get(&path).await?.json()?;
        let first = &inbox["items"][0];
        let waiting = render::text_at(first, "/message/id");
        tell(&step, &format!("{} waits with {waiting}", render::text_at(first, "/thread/id")))?;
        self.hold("waiting thread", &render::text_at(first, "/thread/id"), &self.thread)?;
        self.hold("waiting message", &waiting, message)
    }

    /// `player` marks, confirms (`state` given) or reopens the thread.
    pub async fn steers(
        &mut self,
        player: &DemoParticipant,
        operation: &str,
        state: Option<&str>,
        reason: &str,
        want: ExpectedThread<'_>,
    ) -> CliResult {
        let what = match state {
            Some(state) => format!("{} {state}", verb(operation)),
            None => verb(operation),
        };
        let step = self.begin(player, &what, None, reason);
        let body = object([
            ("state", state.map(Value::from)),
            ("reason", (!reason.is_empty()).then(|| reason.into())),
            ("from", player.from()),
        ]);
        let path = format!("/v1/threads/{}/{operation}", self.thread);
        let answer = player.client.post(&path, &body, NO_EXTRA).await?.json()?;
        let event = &answer["event"];
        let id = render::text_at(event, "/id");
        tell(&step, &format!("{id}; {}", describe(&answer["thread"])))?;
        self.hold("event's author", &render::participant(&event["by"]), &player.name())?;
        self.hold("event's state", &render::text_at(event, "/to"), state.unwrap_or("open"))?;
        self.hold_thread(&answer["thread"], want)
    }

    /// `player` asserts a claim, which supersedes another or none; gives its identifier.
    pub async fn asserts(
        &mut self,
        player: &DemoParticipant,
        statement: &str,
        evidence: &[(&str, &str)],
        supersedes: Option<&str>,
    ) -> CliResult<String> {
        let step = self.begin(player, "asserts", supersedes, statement);
        let body = object([
            ("statement", Some(statement.into())),
            ("evidence", Some(pieces(evidence))),
            ("supersedes", supersedes.map(|old| json!([old]))),
            ("from", player.from()),
        ]);
        let path = format!("/v1/threads/{}/claims", self.thread);
        let claim = player.client.post(&path, &body, NO_EXTRA).await?.json()?["claim"].take();
        self.hold_claim(&step, &claim, "unverified")?;
        if let Some(old) = supersedes {
            let old = player.client.get(&format!("/v1/claims/{old}")).await?.json()?;
            self.hold("older claim", &render::text_at(&old, "/status"), "superseded")?;
        }
        Ok(render::text_at(&claim, "/id"))
    }

    /// `player` attests, seals or refutes a claim, which leads to `status`.
    pub async fn proves(
        &mut self,
        player: &DemoParticipant,
        what: &str,
        claim: &str,
        evidence: (&str, &str),
        status: &str,
    ) -> CliResult {
        let step = self.begin_proof(player, what, claim, evidence);
        let answer = self.proof(player, what, claim, evidence).await?.json()?;
        self.hold_claim(&step, &answer["claim"], status)
    }

    /// `player` tries to attest, seal or refute and must be refused with `reason`.
    pub async fn proves_in_vain(
        &mut self,
        player: &DemoParticipant,
        what: &str,
        claim: &str,
        evidence: (&str, &str),
        reason: &str,
    ) -> CliResult {
        let step = self.begin_proof(player, what, claim, evidence);
        let outcome = self.proof(player, what, claim, evidence).await;
        self.hold_refusal(&step, outcome, reason)
    }

    /// Holds what was got against what should be; a difference ends the demo.
    pub fn hold(&self, what: &str, got: &str, want: &str) -> CliResult {
        if got == want {
            return Ok(());
        }
        let step = self.steps;
        Err(CliError::failed(format!(
            "step {step} did not go as it should: its {what} is {got:?}, not {want:?}"
        )))
    }

    async fn post(
        &self,
        player: &DemoParticipant,
        kind: &str,
        parent: Option<&str>,
        body: &str,
    ) -> CliResult<ApiResponse> {
        let thread = (!self.thread.is_empty()).then(|| self.thread.as_str().into());
        let envelope = object([
            ("kind", Some(kind.into())),
            ("thread", thread),
            ("parent", parent.map(Value::from)),
            ("from", player.from()),
            ("body", Some(body.into())),
        ]);
        player.client.post("/v1/messages", &envelope, NO_EXTRA).await
    }

    async fn proof(
        &self,
        player: &DemoParticipant,
        what: &str,
        claim: &str,
        evidence: (&str, &str),
    ) -> CliResult<ApiResponse> {
        let operation = if what == "seal" { "attest" } else { what };
        let body = object([
            ("evidence", Some(pieces(&[evidence]))),
            ("seal", (what == "seal").then(|| true.into())),
            ("from", player.from()),
        ]);
        let path = format!("/v1/claims/{claim}/{operation}");
        player.client.post(&path, &body, NO_EXTRA).await
    }

    /// The head of a step, to be printed with what comes of it.
    fn begin(
        &mut self,
        player: &DemoParticipant,
        what: &str,
        about: Option<&str>,
        text: &str,
    ) -> String {
        self.steps += 1;
        let about = about.map(|about| format!(" {about}")).unwrap_or_default();
        let mut step = format!("\n{:>4}  {} {what}{about}\n", self.steps, player.name());
        if !text.is_empty() {
            push_block(&mut step, MARGIN, text);
        }
        step
    }

    fn begin_proof(
        &mut self,
        player: &DemoParticipant,
        what: &str,
        claim: &str,
        (kind, reference): (&str, &str),
    ) -> String {
        self.begin(player, &verb(what), Some(claim), &format!("{kind}: {reference}"))
    }

    fn hold_thread(&self, thread: &Value, want: ExpectedThread<'_>) -> CliResult {
        self.hold("state", &render::state(thread), want.state)?;
        self.hold("turn", &render::due(&thread["turn"]), want.turn)?;
        let awaited = render::text_at(thread, "/awaiting/message");
        self.hold("awaited message", &awaited, want.on.unwrap_or_default())
    }

    fn hold_claim(&self, step: &str, claim: &Value, status: &str) -> CliResult {
        let got = render::text_at(claim, "/status");
        tell(step, &format!("{}: {got}", render::text_at(claim, "/id")))?;
        self.hold("claim's status", &got, status)
    }

    fn hold_refusal(
        &mut self,
        step: &str,
        outcome: CliResult<ApiResponse>,
        reason: &str,
    ) -> CliResult {
        self.refusals += 1;
        match outcome {
            Err(CliError::Refused(problem)) => {
                let mut text = step.to_owned();
                let _ = writeln!(text, "{RESULT}refused: {} {}", problem.status, problem.reason);
                push_block(&mut text, "        ", &problem.detail);
                output::text(&text)?;
                self.hold("refusal", &problem.reason, reason)
            }
            Ok(_) => self.hold("outcome", "a success", &format!("the refusal {reason}")),
            Err(failure) => Err(failure),
        }
    }
}

/// Begins a scene.
pub fn scene(title: &str) -> CliResult {
    let rule = "─".repeat(WIDTH.saturating_sub(title.chars().count() + 4));
    output::text(&format!("\n── {title} {rule}\n"))
}

/// Says something in passing.
pub fn aside(text: &str) -> CliResult {
    let mut block = String::new();
    push_block(&mut block, "  ", text);
    output::text(&block)
}

/// Prints a step with what came of it.
fn tell(step: &str, result: &str) -> CliResult {
    let mut text = step.to_owned();
    let _ = writeln!(text, "{RESULT}{result}");
    output::text(&text)
}

/// What somebody does: `ask` becomes `asks`, `clarify` `clarifies`.
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

fn pieces(evidence: &[(&str, &str)]) -> Value {
    evidence.iter().map(|(kind, reference)| json!({ "kind": kind, "ref": reference })).collect()
}
