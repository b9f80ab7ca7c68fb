//! Concurrent calls: a fixed number of connections work through a list, each taking the next call.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, bail};
use indicatif::ProgressBar;

use crate::http::{Answer, Connection};
use crate::participants::Participants;
use crate::scan;
use crate::wire::{Binding, Outcome, outcome};

/// Makes `count` calls; returns the result of `take` for each answer, in the order of the calls.
pub async fn call_each<T: Send + 'static>(
    address: SocketAddr,
    connections: usize,
    count: usize,
    bar: &ProgressBar,
    compose: impl Fn(usize, &mut Vec<u8>) + Send + Sync + 'static,
    take: impl Fn(Answer<'_>) -> anyhow::Result<T> + Send + Sync + 'static,
) -> anyhow::Result<Vec<T>> {
    let (compose, take) = (Arc::new(compose), Arc::new(take));
    let next = Arc::new(AtomicUsize::new(0));
    let mut callers = Vec::new();
    for _ in 0..connections.min(count) {
        let mut connection = Connection::open(address).await?;
        let (compose, take) = (Arc::clone(&compose), Arc::clone(&take));
        let (next, bar) = (Arc::clone(&next), bar.clone());
        callers.push(tokio::spawn(async move {
            let mut request = Vec::new();
            let mut taken = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return anyhow::Ok(taken);
                }
                compose(index, &mut request);
                let answer = connection.call(&request).await?;
                taken.push((index, take(answer)?));
                bar.inc(1);
            }
        }));
    }
    let mut all = Vec::with_capacity(count);
    for caller in callers {
        all.extend(caller.await??);
    }
    all.sort_unstable_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, taken)| taken).collect())
}

/// An acknowledged message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledged {
    /// The number of the thread.
    pub thread: u64,
    /// The number of the message.
    pub message: u64,
    /// Position of the message in the one order of entries.
    pub position: u64,
}

/// Posts `count` messages; `envelope` appends the members of each and returns the speaker's index.
pub async fn post_each(
    address: SocketAddr,
    participants: &Arc<Participants>,
    connections: usize,
    count: usize,
    bar: &ProgressBar,
    envelope: impl Fn(usize, &mut Vec<u8>) -> usize + Send + Sync + 'static,
) -> anyhow::Result<Vec<Acknowledged>> {
    let participants = Arc::clone(participants);
    let compose = move |index: usize, request: &mut Vec<u8>| {
        let mut members = vec![b'{'];
        let speaker = &participants.members[envelope(index, &mut members)];
        members.extend_from_slice(speaker.from().as_bytes());
        members.push(b'}');
        speaker.caller.write_message(request, &members);
    };
    call_each(address, connections, count, bar, compose, acknowledged).await
}

/// Reads an acknowledgement over HTTP; anything else is an error.
pub fn acknowledged(answer: Answer<'_>) -> anyhow::Result<Acknowledged> {
    match outcome(Binding::Http, answer) {
        Outcome::Done(json) => {
            let found = scan::acknowledgement(json).context("an answer without a message")?;
            let position = scan::last_position(json).context("a thread without a cursor")?;
            Ok(Acknowledged { thread: found.thread, message: found.message, position })
        }
        Outcome::Refused { reason, detail, .. } => bail!("not taken: {reason}: {detail}"),
        Outcome::Broken(text) => bail!("not taken: {text}"),
    }
}
