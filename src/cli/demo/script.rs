//! The conversation: a team of models finds out why an import writes rows twice.

use super::conversation::{Conversation, aside, scene, want};
use super::participants::DemoParticipants;
use crate::cli::error::{CliError, CliResult};

/// The acts of the language, all of which must have been shown.
const KINDS: usize = parley_protocol::act::Kind::ALL.len();

/// Plays all scenes, then says what was shown.
pub async fn play(cast: &DemoParticipants, mut stage: Conversation) -> CliResult {
    let question = ask(cast, &mut stage).await?;
    propose(cast, &mut stage, &question).await?;
    decide(cast, &mut stage).await?;
    reopen(cast, &mut stage).await?;
    if has_claims(cast).await? {
        claim(cast, &mut stage).await?;
    } else {
        aside("\nThe profile dialectic is not there: no claims are shown.")?;
    }
    close(cast, &mut stage).await?;
    end(cast, &stage).await
}

/// A question to anyone, a question back, and the refusal to answer oneself.
async fn ask(cast: &DemoParticipants, stage: &mut Conversation) -> CliResult<String> {
    let DemoParticipants { planner, reader, .. } = cast;
    scene("A question, and a question back")?;
    let body = "The nightly import writes some rows twice when it is started again after a crash. \
                How do we stop that without losing a row?";
    let asked = want("open (proposed)", "anyone").on_itself();
    let question = stage.says(planner, "ask", None, body, asked).await?;
    stage.finds(reader, &question).await?;
    let body = "Does the second run give a row the id of the first run, or a new one?";
    let back = want("open (proposed)", "local:planner").on_itself();
    let clarify = stage.says(reader, "clarify", Some(&question), body, back).await?;
    let body = "A new one, I suppose.";
    stage.is_refused(reader, "answer", Some(&clarify), body, "self_reply").await?;
    let body = "A new one: ids are drawn from a counter at the moment a row is written.";
    let again = want("open (proposed)", "local:builder/reader").on(&question);
    stage.says(planner, "answer", Some(&clarify), body, again).await?;
    let body = "Then the id cannot tell a copy from a row. Give each row a key made of where it \
                came from, and let the store refuse the second one.";
    let answered = want("answered (proposed)", "local:planner");
    stage.says(reader, "answer", Some(&question), body, answered).await?;
    Ok(question)
}

/// A proposal, an objection with a reason, agreement, and a message taken back.
async fn propose(cast: &DemoParticipants, stage: &mut Conversation, question: &str) -> CliResult {
    let DemoParticipants { planner, reader, prober, moderator, .. } = cast;
    let state = "answered (proposed)";
    let settled = want(state, "local:planner");
    scene("A proposal, an objection, and agreement")?;
    let body = "I ran last night's import twice on a copy: 14 of 20 000 rows came twice, all of \
                them from the file that was open at the crash.";
    stage.says(prober, "inform", None, body, settled).await?;
    let body = "Key each row by file name and line number, and skip a row whose key is there.";
    let first = want(state, "local:planner").on_itself();
    let first = stage.says(prober, "propose", Some(question), body, first).await?;
    let body = "File names come back every month. In May we would skip the rows of a file that \
                only shares its name with one of April, and lose them without a word.";
    let objected = want(state, "local:builder/prober").on_itself();
    let objection = stage.says(moderator, "object", Some(&first), body, objected).await?;
    let body = "You are right: a name does not say what is in a file.";
    stage.says(prober, "agree", Some(&objection), body, settled).await?;
    let body = "Key each row by the SHA-256 of its file and its line number.";
    let second = want(state, "local:planner").on_itself();
    let second = stage.says(prober, "propose", Some(question), body, second).await?;
    let body = "That holds for renamed files and for names that come back.";
    stage.says(planner, "agree", Some(&second), body, settled).await?;
    let body = "The import starts at 03:00, after the backup.";
    let wrong = stage.says(reader, "inform", None, body, settled).await?;
    let body = "It starts at 02:00: I misread the table.";
    stage.says(reader, "retract", Some(&wrong), body, settled).await?;
    Ok(())
}

/// A decision proposed, confirmed by virtue of `lock`, and closed by a human.
async fn decide(cast: &DemoParticipants, stage: &mut Conversation) -> CliResult {
    let DemoParticipants { planner, reader, prober, moderator, operator, .. } = cast;
    scene("A decision: proposed, confirmed, closed")?;
    let body = "Done, then: we build it.";
    stage.is_refused(prober, "decide", None, body, "thread_authority_missing").await?;
    let body = "Rows are keyed by the SHA-256 of their file and their line number; a row whose \
                key is there is skipped.";
    let decided = want("decided (proposed)", "local:planner");
    stage.says(planner, "decide", None, body, decided).await?;
    let confirmed = want("decided (KI · Night shift)", "local:planner");
    stage.steers(moderator, "confirm", Some("decided"), "", confirmed).await?;
    let closed = want("closed (human, locked)", "nobody");
    let reason = "It goes out with tonight's build.";
    stage.steers(operator, "mark", Some("closed"), reason, closed).await?;
    let body = "One more thing: the index has to be rebuilt.";
    stage.is_refused(reader, "inform", None, body, "thread_closed").await
}

/// Whoever asked opens the thread again and asks on.
async fn reopen(cast: &DemoParticipants, stage: &mut Conversation) -> CliResult {
    let DemoParticipants { planner, prober, .. } = cast;
    scene("Opened again by its creator")?;
    let opened = want("open (proposed)", "local:planner");
    stage.steers(planner, "reopen", None, "A row came twice again.", opened).await?;
    let body = "Row 7112 came twice last night. Is the key wrong, or did the old build run?";
    let asked = want("open (proposed)", "anyone").on_itself();
    let question = stage.says(planner, "ask", None, body, asked).await?;
    let body = "The old build ran: the log names it, and the row carries no key.";
    let answered = want("answered (proposed)", "local:planner");
    stage.says(prober, "answer", Some(&question), body, answered).await?;
    Ok(())
}

/// Proof instead of votes: support, a seal, a refutation that outweighs, a claim in its place.
async fn claim(cast: &DemoParticipants, stage: &mut Conversation) -> CliResult {
    let DemoParticipants { planner, reader, prober, moderator, verifier, .. } = cast;
    scene("Claims: proof, not votes")?;
    let statement = "With the new build an import that runs twice writes no row twice.";
    let log = [("log", "runs/twice-on-a-copy.log")];
    let holds = stage.asserts(prober, statement, &log, None).await?;
    let proof = ("log", "runs/again.log");
    stage.proves_in_vain(reader, "attest", &holds, proof, "self_attest").await?;
    let proof = ("reproducer", "tests/replay --night 7 --twice");
    stage.proves(planner, "attest", &holds, proof, "supported").await?;
    let proof = ("commit", "5d2f0c41b7");
    stage.proves(verifier, "seal", &holds, proof, "verified").await?;
    let statement = "The new build is as fast as the old one.";
    let fast = stage.asserts(reader, statement, &[], None).await?;
    let proof = ("log", "runs/night-8.log: 41 minutes instead of 33");
    stage.proves(moderator, "refute", &fast, proof, "refuted").await?;
    let statement = "The new build takes a quarter longer than the old one.";
    let log = [("log", "runs/night-8.log")];
    stage.asserts(reader, statement, &log, Some(&fast)).await?;
    Ok(())
}

/// The human decides; the creator's closing is a proposal until the human confirms it.
async fn close(cast: &DemoParticipants, stage: &mut Conversation) -> CliResult {
    let DemoParticipants { planner, operator, .. } = cast;
    scene("The last word")?;
    let body = "We keep the new build. A quarter longer is well within the night.";
    let decided = want("decided (human)", "local:planner");
    stage.says(operator, "decide", None, body, decided).await?;
    let proposed = want("closed (proposed)", "nobody");
    let reason = "Nothing is left to do.";
    stage.steers(planner, "mark", Some("closed"), reason, proposed).await?;
    let closed = want("closed (human, locked)", "nobody");
    stage.steers(operator, "confirm", Some("closed"), "", closed).await
}

async fn has_claims(cast: &DemoParticipants) -> CliResult<bool> {
    let manifest = cast.planner.client.get("/v1/manifest").await?.json()?;
    let profiles = manifest["profiles"].as_array().into_iter().flatten();
    Ok(profiles.into_iter().any(|profile| profile["name"] == "dialectic"))
}

/// Reads the thread once more, and sums up.
async fn end(cast: &DemoParticipants, stage: &Conversation) -> CliResult {
    let path = format!("/v1/threads/{}", stage.thread());
    let client = &cast.planner.client;
    let thread = client.get(&path).await?.json()?;
    let events = client.list(&format!("{path}/events"), &[]).await?;
    let (messages, claims) = (&thread["message_count"], &thread["claim_count"]);
    let events = events["items"].as_array().map_or(0, Vec::len);
    if stage.kinds() != KINDS {
        return Err(CliError::failed("not every act was shown"));
    }
    let (steps, refusals) = stage.steps();
    aside(&format!(
        "\n{steps} actions, {refusals} of them refused as they should be. The thread holds \
         {messages} messages of all {KINDS} kinds, {events} changes of state and {claims} claims.",
    ))
}
