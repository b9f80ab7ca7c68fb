//! Named points in the parts at which a test may hold a task up. The server gives no hook, and each
//! point costs it one branch.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parley_protocol::ids::ThreadId;

/// A point that a task reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A call is about to send a request to the actor of this thread.
    BeforeSend(ThreadId),
    /// The router has found or started the actor and is about to pass a request on to it.
    BeforeForward(ThreadId),
    /// The actor has taken a request from its mailbox.
    Received(ThreadId),
    /// The actor has loaded its state and judges the request next, without a wait.
    BeforeAdmit(ThreadId),
    /// The request is judged and its act in the journal's queue: the state is ahead of the disk.
    AfterAdmit(ThreadId),
    /// The actor stops and is about to give its lease back.
    OnStop(ThreadId),
    /// A committed batch is about to reach the hub.
    BeforePublish,
    /// The actor of an inbox has taken a message from its mailbox.
    InboxReceived,
}

/// What a test does at the points. A panic in it is a panic of the task that reached the point.
pub trait YieldPoints: Send + Sync + 'static {
    /// Resolves when the task may go on.
    fn reach(&self, point: Point) -> BoxFuture<'_, ()>;
}

/// The hook of one engine; the default holds nothing up.
#[derive(Clone, Default)]
pub struct Hook(Option<Arc<dyn YieldPoints>>);

impl Hook {
    /// The hook of a test.
    pub fn of(points: Arc<dyn YieldPoints>) -> Self {
        Self(Some(points))
    }

    /// Waits at `point` for as long as the hook says.
    pub async fn reach(&self, point: Point) {
        if let Some(points) = &self.0 {
            points.reach(point).await;
        }
    }
}
