//! What tests may put in the way of the parts. The server passes nobody, so that each place costs
//! one branch and no more.

use std::sync::Arc;
use std::time::Duration;

use parley_protocol::command::Command;
use parley_protocol::identity::Principal;
use parley_protocol::ids::ThreadId;
use parley_protocol::thread::Thread;
use parley_protocol::time::Millis;

/// A fault that a test plants, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flaw {
    /// The answers of a batch leave before it is on disk.
    AcknowledgeBeforeSync,
    /// No listener is told of a committed act.
    DropNotification,
    /// A feed that resumes begins one entry late.
    SkipCursor,
    /// The router does not see that a thread is awake, and wakes it again.
    TwoActors,
    /// A message is given the number of the one before.
    ReuseId,
    /// A revocation is in force, but not on disk.
    ForgetRevocation,
    /// A permit does not come back.
    LosePermit,
    /// A replay does not move on after what it gave.
    ReplayTwice,
    /// What a known idempotency key did is not looked up.
    ForgetKey,
}

/// What tests may put in the way; nothing of it unless a test says so.
pub trait Interference: Send + Sync + 'static {
    /// Called with each request before it is judged; a panic here is a panic of the actor.
    fn before_act(&self, _thread: ThreadId, _command: &Command) {}
    /// Called right before an act is judged, with all that it is judged on: a fault in the order
    /// of judging and applying, or in who is taken for whom, is planted here.
    fn before_judging(
        &self,
        _thread: &mut Thread,
        _caller: &mut Principal,
        _command: &Command,
        _now: Millis,
    ) {
    }
    /// Called once a request is judged, and what it made is in the journal's queue; a panic here is
    /// one of an actor whose state is ahead of the disk.
    fn after_act(&self, _thread: ThreadId) {}
    /// Called with each message to the actor of an inbox; a panic here is a panic of that actor.
    fn before_telling(&self) {}
    /// How often whoever is about to send or take something lets others go first.
    fn yields(&self) -> u32 {
        0
    }
    /// How long it then waits.
    fn delay(&self) -> Duration {
        Duration::ZERO
    }
    /// Whether the actor is to skip the barrier and answer from state that is not on disk: a
    /// planted fault.
    fn skips_barrier(&self) -> bool {
        false
    }
    /// Whether this fault happens now.
    fn plants(&self, _flaw: Flaw) -> bool {
        false
    }
}

/// Lets others go first, where a test asks for it.
pub async fn give_way(interference: Option<&Arc<dyn Interference>>) {
    let Some(interference) = interference else { return };
    for _ in 0..interference.yields() {
        tokio::task::yield_now().await;
    }
    let delay = interference.delay();
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}

/// Whether `flaw` happens now; never where nobody interferes.
pub fn plants(interference: Option<&Arc<dyn Interference>>, flaw: Flaw) -> bool {
    interference.is_some_and(|it| it.plants(flaw))
}
