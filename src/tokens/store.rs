//! The file of the tokens: small and rarely written; a change is durable before it is answered.

use std::sync::Arc;

use redb::{
    Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition, WriteTransaction,
};

use super::record::TokenRecord;
use crate::storage::disk::{self, Disk};
use crate::storage::error::{StoreError, StoreResult};
use crate::storage::latch::{BoxedFile, ErrorLatch};
use crate::storage::migration::FileFormat;
use crate::storage::overlay::Overlay;
use crate::storage::panic_guard::open_database;
use crate::storage::rows::NextRow;

/// The name of the file.
pub const FILE_NAME: &str = "tokens.redb";
/// Bytes of page cache.
const CACHE_BYTES: usize = 1 << 20;

const META: TableDefinition<&str, u32> = TableDefinition::new("meta");
const TOKENS: TableDefinition<u64, &[u8]> = TableDefinition::new("tokens");

/// The format of the file.
pub const FILE_FORMAT: FileFormat = FileFormat {
    is_name: |name| name == FILE_NAME,
    stated: |database| {
        let row = database.begin_read()?.open_table(META)?.get("format")?;
        Ok(row.map(|row| row.value()))
    },
    state: |writing, format| {
        writing.open_table(META)?.insert("format", format)?;
        Ok(())
    },
    oldest: 1,
    steps: &[],
};

pub(super) struct TokenStore {
    disk: Arc<dyn Disk>,
    /// `None` after a failure, or an opening without room, until it is reopened.
    database: Option<Database>,
}

impl TokenStore {
    /// Opens the file; gives the store and its records. Without room to write it is only read,
    /// until [`TokenStore::put`] finds some.
    pub(super) fn open(disk: Arc<dyn Disk>) -> StoreResult<(Self, Vec<TokenRecord>)> {
        match open(&*disk) {
            Ok(database) => {
                let records = Self::all(&database)?;
                Ok((Self { disk, database: Some(database) }, records))
            }
            Err(error)
                if error.is_full() && disk::names(&*disk)?.iter().any(|it| it == FILE_NAME) =>
            {
                tracing::warn!(%error, "there is no room to write the tokens");
                let file = Overlay::new(disk::open_made(&*disk, FILE_NAME)?);
                let file = file.map_err(|error| StoreError::io(FILE_NAME, error))?;
                let records = Self::all(&open_file(Box::new(file))?)?;
                Ok((Self { disk, database: None }, records))
            }
            Err(error) => Err(error),
        }
    }

    fn all(database: &Database) -> StoreResult<Vec<TokenRecord>> {
        let transaction = database.begin_read()?;
        let table = transaction.open_table(TOKENS)?;
        let mut records = Vec::new();
        for row in table.iter()? {
            let (id, bytes) = row?;
            let record: Option<TokenRecord> = postcard::from_bytes(bytes.value()).ok();
            let record = record.filter(|record| record.id.0 == id.value()).ok_or_else(|| {
                StoreError::damaged(FILE_NAME, format!("token {} cannot be read", id.value()))
            })?;
            records.push(record);
        }
        Ok(records)
    }

    /// Stores a record, durable on return. After a failure the next call reopens the file: redb
    /// refuses all operations until then.
    pub(super) fn put(&mut self, record: &TokenRecord) -> StoreResult<()> {
        let database = match self.database.take() {
            Some(database) => database,
            None => open(&*self.disk)?,
        };
        write(&database, record)?;
        self.database = Some(database);
        Ok(())
    }
}

fn open(disk: &dyn Disk) -> StoreResult<Database> {
    disk::make(disk, FILE_NAME, |file| open_file(file).map(drop))?;
    open_file(disk::open_made(disk, FILE_NAME)?)
}

fn open_file(file: Box<dyn StorageBackend>) -> StoreResult<Database> {
    let file = BoxedFile::latched(file, ErrorLatch::default());
    let database = open_database(FILE_NAME, CACHE_BYTES, file)?;
    let transaction = begin(&database)?;
    {
        let mut meta = transaction.open_table(META)?;
        let found = meta.get("format")?.map(|row| row.value());
        match found {
            Some(found) => StoreError::refuse_newer(FILE_NAME, found, FILE_FORMAT.current())?,
            None => {
                meta.insert("format", FILE_FORMAT.current())?;
            }
        }
        transaction.open_table(TOKENS)?;
    }
    transaction.commit()?;
    Ok(database)
}

/// Begins a change, which is committed in two phases: after a failed sync no valid page refers to
/// one that may be lost, so that the file can be reopened and written.
fn begin(database: &Database) -> StoreResult<WriteTransaction> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    Ok(transaction)
}

/// Encodes a record.
pub(super) fn encode(record: &TokenRecord) -> StoreResult<Vec<u8>> {
    postcard::to_stdvec(record)
        .map_err(|_| StoreError::damaged(FILE_NAME, "a token does not serialize"))
}

/// Makes the file of the rows of a copy, each under the eight bytes of its number,
/// little-endian.
pub(super) fn refill(disk: &dyn Disk, next: NextRow<'_>) -> StoreResult<()> {
    disk::make(disk, FILE_NAME, |file| {
        let database = open_file(file)?;
        let transaction = begin(&database)?;
        {
            let mut table = transaction.open_table(TOKENS)?;
            while let Some((id, record)) = next()? {
                let id = id.try_into().map(u64::from_le_bytes).map_err(|_| {
                    StoreError::damaged(FILE_NAME, "a token of the copy has no number")
                })?;
                table.insert(id, record.as_slice())?;
            }
        }
        transaction.commit()?;
        Ok(database.close()?)
    })
}

fn write(database: &Database, record: &TokenRecord) -> StoreResult<()> {
    let bytes = encode(record)?;
    let transaction = begin(database)?;
    let mut table = transaction.open_table(TOKENS)?;
    table.insert(record.id.0, bytes.as_slice())?;
    drop(table);
    Ok(transaction.commit()?)
}
