//! Streams a backup of the running forum (operations.md §1), at its reader's pace.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, stream};
use parley_protocol::refusal::{Refusal, Result};

use super::Forum;
use crate::maintenance::backup::BackupCopy;
use crate::storage::error::StoreError;
use crate::tokens::Tokens;

/// Backups at a time: each pins pages of the archive and retains the log.
pub(super) const BACKUPS_MAX: usize = 1;
/// A backup under way.
pub struct BackupStream<S> {
    /// The cursor of its last entry.
    pub cursor: String,
    /// Its bytes; an error breaks it off, so that no reader takes it for the whole.
    pub pieces: S,
}

impl Forum {
    /// Begins a backup of the committed entries and of `tokens`. It holds one piece in memory, no
    /// thread while its reader is slow, and ends with the stream.
    ///
    /// # Errors
    /// 503 `overloaded` while [`BACKUPS_MAX`] are being taken.
    pub fn backup(
        &self,
        tokens: &Tokens,
    ) -> Result<
        BackupStream<impl Stream<Item = std::result::Result<Bytes, StoreError>> + Send + use<>>,
    > {
        let permit = Arc::clone(&self.inner.backups).try_acquire_owned();
        let permit = permit.map_err(|_| Refusal::backup_running())?;
        let copying = BackupCopy::begin(&self.inner.deps.journal, tokens, self.now());
        let cursor = copying.cursor().to_owned();
        let pieces = stream::unfold(Some((copying, permit)), |state| async move {
            let (mut copying, permit) = state?;
            let read = tokio::task::spawn_blocking(move || (copying.piece(), copying)).await;
            let (piece, copying) = match read {
                Ok((piece, copying)) => (piece.transpose()?, Some((copying, permit))),
                Err(_) => (Err(StoreError::damaged("the store", "it could not be read")), None),
            };
            if let Err(error) = &piece {
                tracing::error!(%error, "a copy broke off");
                return Some((piece.map(Bytes::from), None));
            }
            Some((piece.map(Bytes::from), copying))
        });
        Ok(BackupStream { cursor, pieces })
    }
}
