//! Refusals for the state of the server: its rates, its load, its store, its end
//! (operations.md §3, §4).

use super::{Reason, Refusal};
use crate::ids::ThreadId;

/// Milliseconds after which a call is to be tried again, unless a better time is known.
const RETRY_AFTER_MS: u64 = 1_000;
/// The same for a copy, which takes longer.
const BACKUP_RETRY_AFTER_MS: u64 = 10_000;

fixed! {
    /// 429 `rate_limited` of an identity's open feeds.
    feeds_of_identity: Reason::RateLimited.retry_after(RETRY_AFTER_MS) =
        "This identity has as many feeds open as it may. Close one, or follow more with one feed.";
    /// 500 `internal`; the log holds the cause.
    internal: Reason::Internal =
        "The server failed on this call, and has logged why. Whether it took effect is not known: \
         read the thread, or send it again under the same idempotency key.";
    /// 500 `internal` of damaged data.
    store_damaged: Reason::Internal =
        "What is stored cannot be read. Tell the operator of this server.";
    /// 503 `overloaded` of calls.
    overloaded: Reason::Overloaded.retry_after(RETRY_AFTER_MS) =
        "The server has as much work as it can take. Wait a second and send it again.";
    /// 503 `overloaded` of the queue of appends.
    queue_full: Reason::Overloaded.retry_after(RETRY_AFTER_MS) =
        "More is waiting to be stored than the server takes. Try again in a while.";
    /// 503 `overloaded` of inbox reads that are to be held.
    inboxes_held: Reason::Overloaded.retry_after(RETRY_AFTER_MS) =
        "This identity, or the server, holds as many inbox reads as it may. Read the inbox without \
         `wait_seconds`, follow it with a feed, or wait until a held read is answered.";
    /// 503 `overloaded` of copies.
    backup_running: Reason::Overloaded.retry_after(BACKUP_RETRY_AFTER_MS) =
        "Another copy is being taken. Wait until it is complete.";
    /// 503 `overloaded` of feeds.
    feeds_full: Reason::Overloaded.retry_after(RETRY_AFTER_MS) =
        "The server has as many listeners as it takes. Try again later.";
    /// 503 `overloaded` of unused tickets.
    tickets_full: Reason::Overloaded.retry_after(RETRY_AFTER_MS) =
        "There are as many unused tickets as the server holds. Try again later.";
    /// 503 `storage_unavailable` of a read.
    store_unreadable: Reason::StorageUnavailable.retry_after(RETRY_AFTER_MS) =
        "The store cannot be read at the moment. Try again in a while.";
    /// 503 `storage_unavailable` of a write that is certainly not stored.
    store_unavailable: Reason::StorageUnavailable.retry_after(RETRY_AFTER_MS) =
        "The store takes no writes at the moment, nothing was stored. Reading works; try again in \
         a while.";
    /// 503 `storage_unavailable` of a write that may be stored.
    store_uncertain: Reason::StorageUnavailable.retry_after(RETRY_AFTER_MS) =
        "The store failed while it took this in: it is not known to be stored. Try again with the \
         same idempotency key, which tells.";
    /// 503 `shutting_down` of a call.
    shutting_down: Reason::ShuttingDown.retry_after(RETRY_AFTER_MS) =
        "The server is shutting down. Send it again to its successor in a moment.";
    /// 503 `shutting_down` of a write.
    store_stopping: Reason::ShuttingDown.retry_after(RETRY_AFTER_MS) =
        "The server is shutting down. Try again once it is back.";
    /// 503 `shutting_down` of a feed.
    feed_stopping: Reason::ShuttingDown.retry_after(RETRY_AFTER_MS) =
        "The server is shutting down. Connect again in a moment.";
}

impl Refusal {
    /// 429 `rate_limited` of an identity's writes, for `retry_after_ms` (parley.md §9).
    pub fn write_rate(retry_after_ms: u64) -> Self {
        let detail = "This identity writes faster than the instance allows. Wait as long as \
                      `retry_after_ms` says; read meanwhile.";
        Self::new(Reason::RateLimited, detail).retry_after(retry_after_ms)
    }

    /// 429 `rate_limited` of an identity's unused tickets, which end after `retry_after_ms`.
    pub fn tickets_of_identity(retry_after_ms: u64) -> Self {
        let detail = "This identity holds as many unused tickets as it may. Use one, or wait until \
                      they have ended.";
        Self::new(Reason::RateLimited, detail).retry_after(retry_after_ms)
    }

    /// 503 `overloaded` of one caller, who has as much under way as one caller may have.
    pub fn share_used() -> Self {
        let detail = "This caller has as much under way as one caller may have; others are \
                      served. Wait for its answers, read them, and send it again.";
        Self::new(Reason::Overloaded, detail).retry_after(RETRY_AFTER_MS)
    }

    /// 503 `overloaded` of an entry of a batch whose answers have `bytes_max` bytes already.
    pub fn batch_too_long(bytes_max: u64) -> Self {
        let detail = format!(
            "The answers of this batch have {bytes_max} bytes already, so this entry was not \
             carried out. Send it again in another request."
        );
        Self::new(Reason::Overloaded, detail).retry_after(RETRY_AFTER_MS)
    }

    /// 503 `overloaded` of a thread whose actor has spent its restarts, for `retry_after_ms`.
    pub fn restarts_spent(thread: ThreadId, retry_after_ms: u64) -> Self {
        let detail = "The server failed on this thread too often and lets it rest. Other threads \
                      are served; try this one again later.";
        Self::new(Reason::Overloaded, detail).of(thread).retry_after(retry_after_ms)
    }
}
