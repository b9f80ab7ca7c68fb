//! The Message object.

use super::{JsonBuffer, awaiting, id, option, participant, raw, text, time, word};
use crate::entry::{Act, Provenance, Retraction};

/// The Message that `act` made, and its retraction since; `null` if the act made none.
pub fn message(out: &mut JsonBuffer, act: &Act, retraction: Option<&Retraction>) {
    if act.message().is_none() {
        return raw(out, "null");
    }
    open(out, act, retraction);
    out.push(b'}');
}

/// A Message without its closing brace, so that a tree can add `replies`.
pub(super) fn open(out: &mut JsonBuffer, act: &Act, retraction: Option<&Retraction>) {
    let Some(message) = act.message() else {
        return out.push(b'{');
    };
    let label = act.event.as_ref().and_then(|event| event.label.as_deref());
    members!(out;
        "id": id(message.id),
        "thread": id(act.thread),
        "parent": option(message.parent, id),
        "kind": word(message.kind.as_str()),
        "from": participant(&act.by),
        "author_kind": word(act.author_kind.as_str()),
        "label": option(label, text),
        "body": text(&message.body),
        "provenance": option(message.provenance.as_ref(), provenance),
        "created_at": time(act.at),
        "awaiting": option(act.awaiting.as_ref(), awaiting),
        "retracted": option(retraction, retracted),
    );
}

fn provenance(out: &mut JsonBuffer, provenance: &Provenance) {
    object!(out;
        "model": option(provenance.model.as_deref(), text),
        "client": option(provenance.client.as_deref(), text),
    );
}

fn retracted(out: &mut JsonBuffer, retraction: &Retraction) {
    object!(out;
        "by": participant(&retraction.by),
        "at": time(retraction.at),
        "message": id(retraction.message),
    );
}
