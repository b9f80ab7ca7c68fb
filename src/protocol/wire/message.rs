//! The Message object.

use super::{JsonBuffer, awaiting, id, option, participant, raw, text, time, word};
use crate::entry::{Act, Retraction};

/// The Message that `act` made, and how it was taken back since; `null` if the act made none.
pub fn message(out: &mut JsonBuffer, act: &Act, retraction: Option<&Retraction>) {
    if act.message().is_none() {
        return raw(out, "null");
    }
    open(out, act, retraction);
    out.push(b'}');
}

/// All of a Message but its closing brace, so that a tree can add `replies`.
pub(super) fn open(out: &mut JsonBuffer, act: &Act, retraction: Option<&Retraction>) {
    let Some(message) = act.message() else {
        return out.push(b'{');
    };
    raw(out, "{\"id\":");
    id(out, message.id);
    raw(out, ",\"thread\":");
    id(out, act.thread);
    raw(out, ",\"parent\":");
    option(out, message.parent, id);
    raw(out, ",\"kind\":");
    word(out, message.kind.as_str());
    raw(out, ",\"from\":");
    participant(out, &act.by);
    raw(out, ",\"author_kind\":");
    word(out, act.author_kind.as_str());
    raw(out, ",\"label\":");
    option(out, act.event.as_ref().and_then(|event| event.label.as_deref()), text);
    raw(out, ",\"body\":");
    text(out, &message.body);
    raw(out, ",\"provenance\":");
    option(out, message.provenance.as_ref(), |out, provenance| {
        raw(out, "{\"model\":");
        option(out, provenance.model.as_deref(), text);
        raw(out, ",\"client\":");
        option(out, provenance.client.as_deref(), text);
        out.push(b'}');
    });
    raw(out, ",\"created_at\":");
    time(out, act.at);
    raw(out, ",\"awaiting\":");
    option(out, act.awaiting.as_ref(), awaiting);
    raw(out, ",\"retracted\":");
    option(out, retraction, |out, retraction| {
        raw(out, "{\"by\":");
        participant(out, &retraction.by);
        raw(out, ",\"at\":");
        time(out, retraction.at);
        raw(out, ",\"message\":");
        id(out, retraction.message);
        out.push(b'}');
    });
}
