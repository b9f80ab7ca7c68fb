//! The parts whose state is the one order: the writer, the publisher, the hub's task and the
//! archiver. None of them is restarted: an engine whose part has ended is to be stopped.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::storage::panic_guard::caught;

/// The end of a part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} ended ({why}); what was acknowledged is stored: start the server again")]
pub struct PartEnd {
    /// The part.
    pub part: &'static str,
    /// The first line of its panic.
    pub why: String,
    /// Whether it panicked; otherwise it ended in good order.
    pub has_panicked: bool,
}

/// Starts parts and tells of the first that ends.
#[derive(Clone, Debug)]
pub struct Parts(Arc<watch::Sender<Option<PartEnd>>>);

/// Resolves once a part on a thread of its own has ended.
pub type PartThread = oneshot::Receiver<()>;

impl Default for Parts {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Parts {
    fn tell(&self, part: &'static str, ended: Result<(), String>) {
        let has_panicked = ended.is_err();
        let why = ended.err().unwrap_or_else(|| "it had no more to do".to_owned());
        self.0.send_if_modified(|first| {
            let counts = first.as_ref().is_none_or(|first| has_panicked && !first.has_panicked);
            if counts {
                *first = Some(PartEnd { part, why, has_panicked });
            }
            counts
        });
    }

    /// Runs a part on a thread called `name`.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn on_thread(
        &self,
        name: &str,
        part: &'static str,
        run: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<PartThread> {
        let (ending, ended) = oneshot::channel();
        let parts = self.clone();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            parts.tell(part, caught(run));
            let _ = ending.send(());
        })?;
        Ok(ended)
    }

    /// Runs a part as a task.
    pub fn as_task(
        &self,
        part: &'static str,
        run: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        let parts = self.clone();
        tokio::spawn(async move {
            let ended = {
                let mut run = pin!(run);
                poll_fn(|context| match caught(|| run.as_mut().poll(context)) {
                    Ok(Poll::Pending) => Poll::Pending,
                    Ok(Poll::Ready(())) => Poll::Ready(Ok(())),
                    Err(panic) => Poll::Ready(Err(panic)),
                })
                .await
            };
            parts.tell(part, ended);
        })
    }

    /// The part that has ended first, or panicked first.
    pub fn first(&self) -> Option<PartEnd> {
        self.0.borrow().clone()
    }

    /// Waits until a part panics. One that ends in good order follows another.
    pub async fn ended(&self) -> PartEnd {
        let mut changed = self.0.subscribe();
        loop {
            if let Some(end) = self.first().filter(|end| end.has_panicked) {
                return end;
            }
            // The sender is here.
            let _ = changed.changed().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the end of a part is told with the reason, the first one only, in whatever form it
    /// runs. Method: a thread and two tasks, one of each form panicking, one after the other.
    #[tokio::test]
    async fn ends_are_told() {
        let parts = Parts::default();
        parts.on_thread("a", "the first", || panic!("on a thread")).unwrap().await.unwrap();
        parts.as_task("the second", async { panic!("in a task") }).await.unwrap();
        let end = parts.ended().await;
        assert_eq!((end.part, &*end.why), ("the first", "on a thread"));
        let parts = Parts::default();
        parts.as_task("a task", async { panic!("in a task\nat a line") }).await.unwrap();
        assert_eq!(&*parts.ended().await.why, "in a task");
        let parts = Parts::default();
        parts.as_task("another", async {}).await.unwrap();
        assert!(parts.first().is_some_and(|end| !end.has_panicked));
    }
}
