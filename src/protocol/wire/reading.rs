//! A Thread with its messages: as a tree, or flat.

use super::{JsonBuffer, message, raw, thread, truth};
use crate::entry::{Act, Retraction};
use crate::thread_summary::ThreadSummary;

/// A message to be shown: the act that made it, and how it was taken back since.
#[derive(Clone, Copy, Debug)]
pub struct ShownMessage<'a> {
    /// An act that is a message.
    pub act: &'a Act,
    /// If it was taken back.
    pub retraction: Option<&'a Retraction>,
}

/// The answer of `read_thread` as a tree: the whole thread, `messages` in order of creation.
pub fn reading_tree(
    out: &mut JsonBuffer,
    summary: &ThreadSummary,
    cursor: &str,
    messages: &[ShownMessage<'_>],
) {
    thread::open(out, summary, cursor);
    raw(out, ",\"messages\":");
    tree(out, messages);
    out.push(b'}');
}

/// The answer of `read_thread` read flat: one page, `cursor` being its end; `messages` are Messages
/// with commas between.
pub fn reading_flat(
    out: &mut JsonBuffer,
    summary: &ThreadSummary,
    cursor: &str,
    messages: &[u8],
    more: bool,
) {
    thread::open(out, summary, cursor);
    raw(out, ",\"messages\":[");
    out.extend_from_slice(messages);
    raw(out, "],\"more\":");
    truth(out, more);
    out.push(b'}');
}

/// Messages nested by their parents, each level in order of creation. A walk and no recursion:
/// configuration may allow threads of any depth.
fn tree(out: &mut JsonBuffer, messages: &[ShownMessage<'_>]) {
    let id = |shown: &ShownMessage<'_>| shown.act.message().map(|message| message.id);
    let top = messages.len();
    // For each level, the one of its parent (or the top): its first message; for each message: the
    // next one on its level.
    let mut first = vec![None; top + 1];
    let mut next = vec![None; top];
    for (place, shown) in messages.iter().enumerate().rev() {
        let parent = shown.act.message().and_then(|message| message.parent);
        let level = parent
            .and_then(|parent| messages[..place].binary_search_by_key(&Some(parent), id).ok());
        let level = level.unwrap_or(top);
        next[place] = first[level].replace(place);
    }
    let mut way = Vec::new();
    let mut at = first[top];
    out.push(b'[');
    loop {
        if let Some(place) = at {
            message::open(out, messages[place].act, messages[place].retraction);
            raw(out, ",\"replies\":[");
            way.push(place);
            at = first[place];
            continue;
        }
        out.push(b']');
        let Some(place) = way.pop() else { return };
        out.push(b'}');
        at = next[place];
        if at.is_some() {
            out.push(b',');
        }
    }
}
