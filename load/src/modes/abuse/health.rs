//! Asks `/healthz`, each time on a new connection and without a token.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::http::Connection;

/// Between two questions.
const EVERY: Duration = Duration::from_millis(100);
/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Texts of failures that are kept.
const FAILURES_MAX: usize = 5;

/// The answers so far.
#[derive(Debug, Default)]
pub struct Answers {
    /// Questions asked.
    pub asked: u64,
    /// Why answers are missing or wrong; the first few.
    pub failures: Vec<String>,
}

/// A task that asks until it is stopped.
pub struct HealthProbe {
    stop: Arc<AtomicBool>,
    task: JoinHandle<Answers>,
}

impl HealthProbe {
    /// Begins to ask.
    pub fn start(address: SocketAddr, host: String) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let task = tokio::spawn(async move {
            let mut answers = Answers::default();
            let request = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n");
            let mut turns = tokio::time::interval(EVERY);
            while !stopped.load(Ordering::Relaxed) {
                turns.tick().await;
                answers.asked += 1;
                let asking = tokio::time::timeout(ANSWER_MAX, ask(address, request.as_bytes()));
                let failure = match asking.await {
                    Ok(Ok(200)) => continue,
                    Ok(Ok(status)) => format!("status {status}"),
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => format!("no answer within {ANSWER_MAX:?}"),
                };
                if answers.failures.len() < FAILURES_MAX {
                    answers.failures.push(failure);
                }
            }
            answers
        });
        Self { stop, task }
    }

    /// Ends asking and returns the answers.
    pub async fn stop(self) -> Answers {
        self.stop.store(true, Ordering::Relaxed);
        let failed = |error| Answers { asked: 0, failures: vec![format!("the probe: {error}")] };
        self.task.await.unwrap_or_else(failed)
    }
}

async fn ask(address: SocketAddr, request: &[u8]) -> std::io::Result<u16> {
    let mut connection = Connection::open(address).await?;
    Ok(connection.call(request).await?.status)
}
