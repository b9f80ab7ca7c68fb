//! Refusals for the state of the server: its rates, its load, its store, its end
//! (operations.md §3, §4).

use super::{Reason, Refusal};
use crate::ids::ThreadId;

/// Milliseconds after which a call is to be tried again, unless a better time is known.
const RETRY_AFTER_MS: u64 = 1_000;
/// The same for a copy, which takes longer.
const BACKUP_RETRY_AFTER_MS: u64 = 10_000;

impl Refusal {
    /// 429 `rate_limited` of an identity's writes, for `retry_after_ms` (parley.md §9).
    pub fn write_rate(retry_after_ms: u64) -> Self {
        let detail = "This identity writes faster than the instance allows. Wait as long as \
                      `retry_after_ms` says; read meanwhile.";
        Self::new(Reason::RateLimited, detail).retry_after(retry_after_ms)
    }

    /// 429 `rate_limited` of an identity's open feeds.
    pub fn feeds_of_identity() -> Self {
        let detail = "This identity has as many feeds open as it may. Close one, or follow more \
                      with one feed.";
        Self::new(Reason::RateLimited, detail).retry_after(RETRY_AFTER_MS)
    }

    /// 429 `rate_limited` of an identity's unused tickets, which end after `retry_after_ms`.
    pub fn tickets_of_identity(retry_after_ms: u64) -> Self {
        let detail = "This identity holds as many unused tickets as it may. Use one, or wait until \
                      they have ended.";
        Self::new(Reason::RateLimited, detail).retry_after(retry_after_ms)
    }

    /// 500 `internal`; the log holds the cause.
    pub fn internal() -> Self {
        let detail = "The server failed on this call, and has logged why. Whether it took effect \
                      is not known: read the thread, or send it again under the same idempotency \
                      key.";
        Self::new(Reason::Internal, detail)
    }

    /// 500 `internal` of damaged data.
    pub fn store_damaged() -> Self {
        let detail = "What is stored cannot be read. Tell the operator of this server.";
        Self::new(Reason::Internal, detail)
    }

    /// 503 `overloaded` of calls.
    pub fn overloaded() -> Self {
        let detail = "The server has as much work as it can take. Wait a second and send it again.";
        Self::new(Reason::Overloaded, detail).retry_after(RETRY_AFTER_MS)
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

    /// 503 `overloaded` of the queue of appends.
    pub fn queue_full() -> Self {
        let detail = "More is waiting to be stored than the server takes. Try again in a while.";
        Self::new(Reason::Overloaded, detail).retry_after(RETRY_AFTER_MS)
    }

    /// 503 `overloaded` of a thread whose actor has spent its restarts, for `retry_after_ms`.
    pub fn restarts_spent(thread: ThreadId, retry_after_ms: u64) -> Self {
        let detail = "The server failed on this thread too often and lets it rest. Other threads \
                      are served; try this one again later.";
        Self::new(Reason::Overloaded, detail).of(thread).retry_after(retry_after_ms)
    }

    /// 503 `overloaded` of copies.
    pub fn backup_running() -> Self {
        let detail = "Another copy is being taken. Wait until it is complete.";
        Self::new(Reason::Overloaded, detail).retry_after(BACKUP_RETRY_AFTER_MS)
    }

    /// 503 `overloaded` of feeds.
    pub fn feeds_full() -> Self {
        let detail = "The server has as many listeners as it takes. Try again later.";
        Self::new(Reason::Overloaded, detail).retry_after(RETRY_AFTER_MS)
    }

    /// 503 `overloaded` of unused tickets.
    pub fn tickets_full() -> Self {
        let detail = "There are as many unused tickets as the server holds. Try again later.";
        Self::new(Reason::Overloaded, detail).retry_after(RETRY_AFTER_MS)
    }

    /// 503 `storage_unavailable` of a read.
    pub fn store_unreadable() -> Self {
        let detail = "The store cannot be read at the moment. Try again in a while.";
        Self::new(Reason::StorageUnavailable, detail).retry_after(RETRY_AFTER_MS)
    }

    /// 503 `storage_unavailable` of a write that is certainly not stored.
    pub fn store_unavailable() -> Self {
        let detail = "The store takes no writes at the moment, nothing was stored. Reading works; \
                      try again in a while.";
        Self::new(Reason::StorageUnavailable, detail).retry_after(RETRY_AFTER_MS)
    }

    /// 503 `storage_unavailable` of a write that may be stored.
    pub fn store_uncertain() -> Self {
        let detail = "The store failed while it took this in: it is not known to be stored. Try \
                      again with the same idempotency key, which tells.";
        Self::new(Reason::StorageUnavailable, detail).retry_after(RETRY_AFTER_MS)
    }

    /// 503 `shutting_down` of a call.
    pub fn shutting_down() -> Self {
        let detail = "The server is shutting down. Send it again to its successor in a moment.";
        Self::new(Reason::ShuttingDown, detail).retry_after(RETRY_AFTER_MS)
    }

    /// 503 `shutting_down` of a write.
    pub fn store_stopping() -> Self {
        let detail = "The server is shutting down. Try again once it is back.";
        Self::new(Reason::ShuttingDown, detail).retry_after(RETRY_AFTER_MS)
    }

    /// 503 `shutting_down` of a feed.
    pub fn feed_stopping() -> Self {
        let detail = "The server is shutting down. Connect again in a moment.";
        Self::new(Reason::ShuttingDown, detail).retry_after(RETRY_AFTER_MS)
    }
}
