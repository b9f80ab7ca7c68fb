//! The Thread and the Event object.

use super::{JsonBuffer, awaiting, due, id, number, option, participant, text, time, truth, word};
use crate::entry::Act;
use crate::thread_summary::ThreadSummary;

/// The Thread; `cursor` is the text of the position of its last change.
pub fn thread(out: &mut JsonBuffer, summary: &ThreadSummary, cursor: &str) {
    open(out, summary, cursor);
    out.push(b'}');
}

/// A Thread without its closing brace, so that a reading can add messages.
pub(super) fn open(out: &mut JsonBuffer, summary: &ThreadSummary, cursor: &str) {
    members!(out;
        "id": id(summary.id),
        "number": number(summary.id.0),
        "created_at": time(summary.created_at),
        "updated_at": time(summary.updated_at),
        "creator": participant(&summary.creator),
        "author_kind": word(summary.author_kind.as_str()),
        "subject": text(&summary.subject),
        "state": word(summary.state.as_str()),
        "state_origin": word(summary.origin.as_str()),
        "state_confirmed_at": option(summary.confirmed_at, time),
        "state_label": option(summary.label.as_deref(), text),
        "locked": truth(summary.locked()),
        "awaiting": option(summary.awaiting.as_ref(), awaiting),
        "turn": option(summary.turn().as_ref(), due),
        "message_count": number(summary.message_count),
        "claim_count": number(summary.claim_count),
        "cursor": text(cursor),
    );
}

/// The Event that `act` caused; `null` if it caused none.
pub fn event(out: &mut JsonBuffer, act: &Act) {
    option(out, act.event.as_ref(), |out, event| {
        object!(out;
            "id": id(event.id),
            "thread": id(act.thread),
            "from": option(event.from, |out, state| word(out, state.as_str())),
            "to": word(event.to.as_str()),
            "origin": word(event.origin.as_str()),
            "confirmed": truth(event.confirmed),
            "label": option(event.label.as_deref(), text),
            "by": participant(&act.by),
            "at": time(act.at),
            "message": option(act.message().map(|message| message.id), id),
            "reason": option(event.reason.as_deref(), text),
        );
    });
}
