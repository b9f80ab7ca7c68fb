//! What can go wrong between the journal and the disk. Never shown to a client: it sees 503
//! `storage_unavailable`, and the text goes to the log and to the operator.

use std::io;
use std::path::PathBuf;

use parley_protocol::refusal::Refusal;
use thiserror::Error;

/// Why the store did not do what it was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The disk refused.
    #[error("{file}: {source}")]
    Io {
        /// The file concerned, by its name in the data folder.
        file: String,
        /// What the disk said.
        source: io::Error,
    },
    /// The database refused.
    #[error("the store refused: {0}")]
    Database(#[source] Box<redb::Error>),
    /// What is stored is not what was written, or something is missing.
    #[error("{file} is damaged: {detail}. Restore a backup (`parley restore`).")]
    Damaged {
        /// The file concerned.
        file: String,
        /// What is wrong.
        detail: String,
    },
    /// The file was written by a newer version.
    #[error(
        "{file} has format {found}, this version knows up to {known}: it was written by a newer \
         version, use that one"
    )]
    NewerFormat {
        /// The file concerned.
        file: String,
        /// The format found.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// Another process holds the data folder.
    #[error("the data folder {} is in use by another server: stop it, or name another folder \
             with --data", .folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// What should be a copy is none, or not as it was written.
    #[error("{file} is no good copy: {detail}. Take another one (`parley backup`).")]
    BadCopy {
        /// The copy.
        file: String,
        /// What is wrong.
        detail: String,
    },
    /// A folder to be filled holds something.
    #[error("{} is not empty: name an absent or an empty folder with --data", .folder.display())]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder holds what a restore left that was interrupted.
    #[error("a restore into {} did not end: empty the folder and restore again", .folder.display())]
    Unfinished {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder holds no store.
    #[error("there is no store in {}: name its folder with --data", .folder.display())]
    NoStore {
        /// The folder.
        folder: PathBuf,
    },
    /// Less is free than must stay free (`store.free_bytes_min`).
    #[error("the disk is full: {free_bytes} bytes are free, {free_bytes_min} must stay free")]
    Full {
        /// Free bytes.
        free_bytes: u64,
        /// `store.free_bytes_min`.
        free_bytes_min: u64,
    },
}

impl StoreError {
    /// The disk refused something about `file`.
    pub fn io(file: impl Into<String>, source: io::Error) -> Self {
        Self::Io { file: file.into(), source }
    }

    /// `file` holds something else than what was written.
    pub fn damaged(file: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Damaged { file: file.into(), detail: detail.into() }
    }
}

macro_rules! from_database {
    ($($error:ty),*) => {
        $(impl From<$error> for StoreError {
            fn from(error: $error) -> Self {
                Self::Database(Box::new(error.into()))
            }
        })*
    };
}

from_database!(
    redb::Error,
    redb::DatabaseError,
    redb::TransactionError,
    redb::TableError,
    redb::StorageError,
    redb::CommitError,
    redb::SetDurabilityError
);

impl From<StoreError> for Refusal {
    /// What a caller is told whose reading failed; the operator is told why.
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store could not be read");
        if matches!(error, StoreError::Damaged { .. }) {
            return Self::store_damaged();
        }
        Self::store_unreadable()
    }
}
