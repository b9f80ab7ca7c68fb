//! The Thread and the Event object.

use super::{
    JsonBuffer, awaiting, due, id, number, option, participant, raw, text, time, truth, word,
};
use crate::entry::Act;
use crate::thread_summary::ThreadSummary;

/// The Thread, `cursor` being the text of the position of its last change.
pub fn thread(out: &mut JsonBuffer, head: &ThreadSummary, cursor: &str) {
    open(out, head, cursor);
    out.push(b'}');
}

/// All of a Thread but its closing brace, so that a reading can add messages.
pub(super) fn open(out: &mut JsonBuffer, head: &ThreadSummary, cursor: &str) {
    raw(out, "{\"id\":");
    id(out, head.id);
    raw(out, ",\"number\":");
    number(out, head.id.0);
    raw(out, ",\"created_at\":");
    time(out, head.created_at);
    raw(out, ",\"updated_at\":");
    time(out, head.updated_at);
    raw(out, ",\"creator\":");
    participant(out, &head.creator);
    raw(out, ",\"author_kind\":");
    word(out, head.author_kind.as_str());
    raw(out, ",\"subject\":");
    text(out, &head.subject);
    raw(out, ",\"state\":");
    word(out, head.state.as_str());
    raw(out, ",\"state_origin\":");
    word(out, head.origin.as_str());
    raw(out, ",\"state_confirmed_at\":");
    option(out, head.confirmed_at, time);
    raw(out, ",\"state_label\":");
    option(out, head.label.as_deref(), text);
    raw(out, ",\"locked\":");
    truth(out, head.locked());
    raw(out, ",\"awaiting\":");
    option(out, head.awaiting.as_ref(), awaiting);
    raw(out, ",\"turn\":");
    option(out, head.turn().as_ref(), due);
    raw(out, ",\"message_count\":");
    number(out, head.message_count);
    raw(out, ",\"claim_count\":");
    number(out, head.claim_count);
    raw(out, ",\"cursor\":");
    text(out, cursor);
}

/// The Event that `act` caused; `null` if it caused none.
pub fn event(out: &mut JsonBuffer, act: &Act) {
    option(out, act.event.as_ref(), |out, event| {
        raw(out, "{\"id\":");
        id(out, event.id);
        raw(out, ",\"thread\":");
        id(out, act.thread);
        raw(out, ",\"from\":");
        option(out, event.from, |out, state| word(out, state.as_str()));
        raw(out, ",\"to\":");
        word(out, event.to.as_str());
        raw(out, ",\"origin\":");
        word(out, event.origin.as_str());
        raw(out, ",\"confirmed\":");
        truth(out, event.confirmed);
        raw(out, ",\"label\":");
        option(out, event.label.as_deref(), text);
        raw(out, ",\"by\":");
        participant(out, &act.by);
        raw(out, ",\"at\":");
        time(out, act.at);
        raw(out, ",\"message\":");
        option(out, act.message().map(|message| message.id), id);
        raw(out, ",\"reason\":");
        option(out, event.reason.as_deref(), text);
        out.push(b'}');
    });
}
