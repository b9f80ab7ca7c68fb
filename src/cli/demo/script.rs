//! The conversation of the demo: models find out why an import writes rows twice.

use super::conversation::{Conversation, ITSELF, NONE, remark, scene, want};
use super::participants::DemoParticipants;
use crate::cli::error::{CliError, CliResult};

/// The speech acts of the language; the demo must post each.
const KINDS: usize = parley_protocol::act::Kind::ALL.len();

/// Performs all scenes, then prints a summary.
pub async fn run(participants: &DemoParticipants, mut conversation: Conversation) -> CliResult {
    let question = ask(participants, &mut conversation).await?;
    propose(participants, &mut conversation, &question).await?;
    decide(participants, &mut conversation).await?;
    reopen(participants, &mut conversation).await?;
    if has_claims(participants).await? {
        claim(participants, &mut conversation).await?;
    } else {
        remark("\nThe profile dialectic is not there: no claims are shown.")?;
    }
    close(participants, &mut conversation).await?;
    end(participants, &conversation).await
}

/// A question to anyone, a clarification, and the refusal of a reply to oneself.
async fn ask(
    participants: &DemoParticipants,
    conversation: &mut Conversation,
) -> CliResult<String> {
    let DemoParticipants { planner, reader, .. } = participants;
    scene("A question, and a question back")?;
    let body = "The nightly import writes some rows twice when it is started again after a crash. \
                How do we stop that without losing a row?";
    let asked = want("open (proposed)", "anyone", ITSELF);
    let question = conversation.post(planner, "ask", None, body, asked).await?;
    conversation.check_inbox(reader, &question).await?;
    let body = "Does the second run give a row the id of the first run, or a new one?";
    let back = want("open (proposed)", "local:planner", ITSELF);
    let clarify = conversation.post(reader, "clarify", Some(&question), body, back).await?;
    let body = "A new one, I suppose.";
    let step = conversation.message(reader, "answer", Some(&clarify), body).await;
    conversation.check_refused(step, "self_reply")?;
    let body = "A new one: ids are drawn from a counter at the moment a row is written.";
    let again = want("open (proposed)", "local:builder/reader", &question);
    conversation.post(planner, "answer", Some(&clarify), body, again).await?;
    let body = "Then the id cannot tell a copy from a row. Give each row a key made of where it \
                came from, and let the store refuse the second one.";
    let answered = want("answered (proposed)", "local:planner", NONE);
    conversation.post(reader, "answer", Some(&question), body, answered).await?;
    Ok(question)
}

/// A proposal, an objection, agreement, and a retraction.
async fn propose(
    participants: &DemoParticipants,
    conversation: &mut Conversation,
    question: &str,
) -> CliResult {
    let DemoParticipants { planner, reader, prober, moderator, .. } = participants;
    let state = "answered (proposed)";
    let settled = want(state, "local:planner", NONE);
    scene("A proposal, an objection, and agreement")?;
    let body = "I ran last night's import twice on a copy: 14 of 20 000 rows came twice, all of \
                them from the file that was open at the crash.";
    conversation.post(prober, "inform", None, body, settled).await?;
    let body = "Key each row by file name and line number, and skip a row whose key is there.";
    let first = want(state, "local:planner", ITSELF);
    let first = conversation.post(prober, "propose", Some(question), body, first).await?;
    let body = "File names come back every month. In May we would skip the rows of a file that \
                only shares its name with one of April, and lose them without a word.";
    let objected = want(state, "local:builder/prober", ITSELF);
    let objection = conversation.post(moderator, "object", Some(&first), body, objected).await?;
    let body = "You are right: a name does not say what is in a file.";
    conversation.post(prober, "agree", Some(&objection), body, settled).await?;
    let body = "Key each row by the SHA-256 of its file and its line number.";
    let second = want(state, "local:planner", ITSELF);
    let second = conversation.post(prober, "propose", Some(question), body, second).await?;
    let body = "That holds for renamed files and for names that come back.";
    conversation.post(planner, "agree", Some(&second), body, settled).await?;
    let body = "The import starts at 03:00, after the backup.";
    let wrong = conversation.post(reader, "inform", None, body, settled).await?;
    let body = "It starts at 02:00: I misread the table.";
    conversation.post(reader, "retract", Some(&wrong), body, settled).await?;
    Ok(())
}

/// A decision: proposed, confirmed by a holder of `lock`, and closed by a human.
async fn decide(participants: &DemoParticipants, conversation: &mut Conversation) -> CliResult {
    let DemoParticipants { planner, reader, prober, moderator, operator, .. } = participants;
    scene("A decision: proposed, confirmed, closed")?;
    let body = "Done, then: we build it.";
    let step = conversation.message(prober, "decide", None, body).await;
    conversation.check_refused(step, "thread_authority_missing")?;
    let body = "Rows are keyed by the SHA-256 of their file and their line number; a row whose \
                key is there is skipped.";
    let decided = want("decided (proposed)", "local:planner", NONE);
    conversation.post(planner, "decide", None, body, decided).await?;
    let confirmed = want("decided (KI · Night shift)", "local:planner", NONE);
    conversation.set_state(moderator, "confirm", Some("decided"), "", confirmed).await?;
    let closed = want("closed (human, locked)", "nobody", NONE);
    let reason = "It goes out with tonight's build.";
    conversation.set_state(operator, "mark", Some("closed"), reason, closed).await?;
    let body = "One more thing: the index has to be rebuilt.";
    let step = conversation.message(reader, "inform", None, body).await;
    conversation.check_refused(step, "thread_closed")
}

/// The creator reopens the thread and asks again.
async fn reopen(participants: &DemoParticipants, conversation: &mut Conversation) -> CliResult {
    let DemoParticipants { planner, prober, .. } = participants;
    scene("Opened again by its creator")?;
    let opened = want("open (proposed)", "local:planner", NONE);
    conversation.set_state(planner, "reopen", None, "A row came twice again.", opened).await?;
    let body = "Row 7112 came twice last night. Is the key wrong, or did the old build run?";
    let asked = want("open (proposed)", "anyone", ITSELF);
    let question = conversation.post(planner, "ask", None, body, asked).await?;
    let body = "The old build ran: the log names it, and the row carries no key.";
    let answered = want("answered (proposed)", "local:planner", NONE);
    conversation.post(prober, "answer", Some(&question), body, answered).await?;
    Ok(())
}

/// Claims: attested, sealed, refuted, superseded.
async fn claim(participants: &DemoParticipants, conversation: &mut Conversation) -> CliResult {
    let DemoParticipants { planner, reader, prober, moderator, verifier, .. } = participants;
    scene("Claims: proof, not votes")?;
    let statement = "With the new build an import that runs twice writes no row twice.";
    let log = [("log", "runs/twice-on-a-copy.log")];
    let holds = conversation.assert_claim(prober, statement, &log, None).await?;
    let proof = ("log", "runs/again.log");
    let step = conversation.proof(reader, "attest", &holds, proof).await;
    conversation.check_refused(step, "self_attest")?;
    let proof = ("reproducer", "tests/replay --night 7 --twice");
    conversation.prove(planner, "attest", &holds, proof, "supported").await?;
    let proof = ("commit", "5d2f0c41b7");
    conversation.prove(verifier, "seal", &holds, proof, "verified").await?;
    let statement = "The new build is as fast as the old one.";
    let fast = conversation.assert_claim(reader, statement, &[], None).await?;
    let proof = ("log", "runs/night-8.log: 41 minutes instead of 33");
    conversation.prove(moderator, "refute", &fast, proof, "refuted").await?;
    let statement = "The new build takes a quarter longer than the old one.";
    let log = [("log", "runs/night-8.log")];
    conversation.assert_claim(reader, statement, &log, Some(&fast)).await?;
    Ok(())
}

/// The human decides; the creator proposes to close, and the human confirms.
async fn close(participants: &DemoParticipants, conversation: &mut Conversation) -> CliResult {
    let DemoParticipants { planner, operator, .. } = participants;
    scene("The last word")?;
    let body = "We keep the new build. A quarter longer is well within the night.";
    let decided = want("decided (human)", "local:planner", NONE);
    conversation.post(operator, "decide", None, body, decided).await?;
    let proposed = want("closed (proposed)", "nobody", NONE);
    let reason = "Nothing is left to do.";
    conversation.set_state(planner, "mark", Some("closed"), reason, proposed).await?;
    let closed = want("closed (human, locked)", "nobody", NONE);
    conversation.set_state(operator, "confirm", Some("closed"), "", closed).await
}

async fn has_claims(participants: &DemoParticipants) -> CliResult<bool> {
    let manifest = participants.planner.client.get("/v1/manifest").await?.json()?;
    let profiles = manifest["profiles"].as_array().into_iter().flatten();
    Ok(profiles.into_iter().any(|profile| profile["name"] == "dialectic"))
}

/// Reads the thread once more and prints a summary.
async fn end(participants: &DemoParticipants, conversation: &Conversation) -> CliResult {
    let path = format!("/v1/threads/{}", conversation.thread);
    let client = &participants.planner.client;
    let thread = client.get(&path).await?.json()?;
    let events = client.list(&format!("{path}/events"), &[]).await?;
    let (messages, claims) = (&thread["message_count"], &thread["claim_count"]);
    let events = events["items"].as_array().map_or(0, Vec::len);
    if conversation.kinds.len() != KINDS {
        return Err(CliError::failed("not every act was shown"));
    }
    let Conversation { steps, refusals, .. } = conversation;
    remark(&format!(
        "\n{steps} actions, {refusals} of them refused as they should be. The thread holds \
         {messages} messages of all {KINDS} kinds, {events} changes of state and {claims} claims.",
    ))
}
