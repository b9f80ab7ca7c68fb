//! What every caller was told, compared with what is there: the acts are judged and applied once
//! more, one after the other, by the language alone.

use std::collections::{BTreeMap, BTreeSet};

use parley::forum::Answer;
use parley::journal::view::View;
use parley_kit::{ensure, same};
use parley_protocol::command::Command;
use parley_protocol::identity::Principal;
use parley_protocol::ids::ThreadId;
use parley_protocol::limits::Limits;
use parley_protocol::refusal::Reason;
use parley_protocol::thread::Thread;

use crate::reference::{Reference, Verdict, shows, text_of};

use super::harness::{Outcome, json};
use crate::view::model::read;

/// One call and what came of it.
#[derive(Debug)]
pub struct Told {
    /// The text that no other call has: body, reason or statement.
    pub text: String,
    pub principal: Principal,
    /// `None` for an opening.
    pub thread: Option<ThreadId>,
    pub command: Command,
    pub outcome: Outcome,
}

/// Whether an answer acknowledges that something changed.
fn acknowledges(answer: &Answer) -> bool {
    json(answer).get("event").is_none_or(|event| !event.is_null())
}

/// Compares all that was told with all that `view` shows in `threads`.
///
/// # Errors
/// The first difference.
pub fn audit(
    view: &View,
    limits: &Limits,
    threads: &BTreeSet<ThreadId>,
    told: &[Told],
) -> Result<(), String> {
    let by_text: BTreeMap<&str, &Told> = told.iter().map(|it| (it.text.as_str(), it)).collect();
    let mut seen = BTreeSet::new();
    for thread in threads {
        replay(view, limits, *thread, &by_text, &mut seen)?;
    }
    let mut acknowledged = told.iter().filter(|one| one.outcome.as_ref().is_ok_and(acknowledges));
    let lost = acknowledged.find(|one| !seen.contains(one.text.as_str()));
    ensure(lost.is_none(), || format!("acknowledged and not there: {lost:?}"))
}

fn replay<'t>(
    view: &View,
    limits: &Limits,
    thread: ThreadId,
    told: &BTreeMap<&'t str, &'t Told>,
    seen: &mut BTreeSet<&'t str>,
) -> Result<(), String> {
    let mut reference = Reference::default();
    reference.limits = limits.clone();
    let refused = told.values().filter(|it| it.thread == Some(thread));
    // Such a refusal tells of the state of its thread.
    let tells = |reason: Reason| (400..=499).contains(&reason.status());
    let mut refused: Vec<&Told> =
        refused.copied().filter(|it| refusal_of(it).is_some_and(tells)).collect();
    let mut last = 0;
    for placed in read(thread, view.acts(thread, 0))? {
        let placed = read(thread, placed)?;
        let act = placed.act();
        let one = told.get(text_of(act)).ok_or_else(|| format!("nobody did {act:?}"))?;
        ensure(seen.insert(one.text.as_str()), || format!("twice: {act:?}"))?;
        ensure(placed.entry > last, || format!("{act:?} is out of order"))?;
        last = placed.entry;
        reference.take(last, act, &one.principal, &one.command, act.key)?;
        match &one.outcome {
            Ok(answer) if shows(&json(answer), &reference.shown(act)) => {}
            // Left open: there once or not at all.
            Err(it) if matches!(it.reason, Reason::Internal | Reason::StorageUnavailable) => {}
            other => return Err(format!("{other:?} was told of {act:?}")),
        }
        refused.retain(|it| {
            let verdict = reference.verdict(&it.principal, thread, &it.command);
            refusal_of(it).map(Verdict::Refused) != Some(verdict)
        });
    }
    ensure(refused.is_empty(), || format!("no state that was stored refuses so: {refused:?}"))?;
    let expected = reference.threads.remove(&thread);
    let head = read(thread, view.summary(thread))?;
    same((thread, "head"), &head.as_deref(), &expected.as_ref().map(Thread::summary))?;
    same((thread, "thread"), &read(thread, view.thread(thread))?, &expected)
}

fn refusal_of(told: &Told) -> Option<Reason> {
    told.outcome.as_ref().err().map(|refusal| refusal.reason)
}
