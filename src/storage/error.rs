//! Errors of the store. Their text goes to the log and to the operator, never to a client, which
//! receives 503 `storage_unavailable`.

use std::io;
use std::path::{Path, PathBuf};

use parley_protocol::refusal::Refusal;
use thiserror::Error;

/// The result of an operation of the store.
pub type StoreResult<T> = Result<T, StoreError>;

/// Why an operation of the store failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// An operation of the file system failed.
    #[error("{file}: {source}")]
    Io {
        /// The file concerned, by its name in the data folder.
        file: String,
        /// The error of the system.
        source: io::Error,
    },
    /// An operation of the database failed.
    #[error("the store refused: {0}")]
    Database(#[source] Box<redb::Error>),
    /// A file was altered, or is incomplete or missing.
    #[error("{file} is damaged: {detail}. Restore a backup (`parley restore`).")]
    Damaged {
        /// The file concerned.
        file: String,
        /// The damage.
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
    /// Another process holds the lock of the data folder.
    #[error("the data folder {} is in use by another server: stop it, or name another folder \
             with --data", .folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// A backup is none, or was altered.
    #[error("{file} is no good copy: {detail}. Take another one (`parley backup`).")]
    BadCopy {
        /// The path of the backup.
        file: String,
        /// The damage.
        detail: String,
    },
    /// The target of a restore is not empty.
    #[error("{} is not empty: name an absent or an empty folder with --data", .folder.display())]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
    },
    /// An interrupted restore left the folder incomplete.
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
    /// The file system has no room for what a start or a restore must write.
    #[error(
        "no space is left in {}: make at least {needed_bytes} bytes free there, or name a folder \
         on another file system with --data", .folder.display()
    )]
    NoSpace {
        /// The data folder.
        folder: PathBuf,
        /// Bytes that should be free.
        needed_bytes: u64,
    },
    /// The tokens are missing where a store is.
    #[error(
        "tokens.redb is missing in {}, where a forum is stored: put it back, or restore a backup \
         into another folder (`parley restore`); a new one would lock all out", .folder.display()
    )]
    NoTokens {
        /// The data folder.
        folder: PathBuf,
    },
    /// Fewer bytes are free than `store.free_bytes_min`.
    #[error("the disk is full: {free_bytes} bytes are free, {free_bytes_min} must stay free")]
    Full {
        /// Free bytes.
        free_bytes: u64,
        /// `store.free_bytes_min`.
        free_bytes_min: u64,
    },
}

impl StoreError {
    /// An operation on `file` failed.
    pub fn io(file: impl Into<String>, source: io::Error) -> Self {
        Self::Io { file: file.into(), source }
    }

    /// `file` is damaged: `detail` says how.
    pub fn damaged(file: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Damaged { file: file.into(), detail: detail.into() }
    }

    /// Whether the file system had no room.
    pub fn is_full(&self) -> bool {
        let full = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        };
        match self {
            Self::Full { .. } | Self::NoSpace { .. } => true,
            Self::Io { source, .. } => full(source),
            Self::Database(error) => matches!(&**error, redb::Error::Io(source) if full(source)),
            _ => false,
        }
    }

    /// The error with the folder and the remedy, if there was no room in `folder`, where
    /// `needed_bytes` should be free.
    #[must_use]
    pub fn in_folder(self, folder: &Path, needed_bytes: u64) -> Self {
        if self.is_full() {
            return Self::NoSpace { folder: folder.to_owned(), needed_bytes };
        }
        self
    }

    /// Refuses a `file` whose format `found` is newer than the newest one `known` here.
    ///
    /// # Errors
    /// [`StoreError::NewerFormat`].
    pub fn refuse_newer(file: &str, found: u32, known: u32) -> Result<(), Self> {
        if found > known {
            return Err(Self::NewerFormat { file: file.to_owned(), found, known });
        }
        Ok(())
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
    /// The answer to a caller whose read failed; the cause is logged.
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store could not be read");
        if matches!(error, StoreError::Damaged { .. }) {
            return Self::store_damaged();
        }
        Self::store_unreadable()
    }
}
