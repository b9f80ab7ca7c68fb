//! The file of the tokens: small, written rarely, each change durable before it is answered.

use std::sync::Arc;

use redb::{
    Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition, WriteTransaction,
};

use super::record::TokenRecord;
use crate::journal::archive::NextRow;
use crate::storage::disk::{self, Disk};
use crate::storage::error::StoreError;
use crate::storage::overlay::{ErrorLatch, LatchedFile};
use crate::storage::panic_guard::open_database;

/// The file.
pub const TOKENS_NAME: &str = "tokens.redb";
/// The format of the file.
pub const FORMAT: u32 = 1;
/// Bytes of page cache.
const CACHE_BYTES: usize = 1 << 20;

pub const META: TableDefinition<&str, u32> = TableDefinition::new("meta");
const TOKENS: TableDefinition<u64, &[u8]> = TableDefinition::new("tokens");

pub(super) struct TokenStore {
    disk: Arc<dyn Disk>,
    /// `None` after a failure, until it opens again.
    database: Option<Database>,
}

impl TokenStore {
    pub(super) fn open(disk: Arc<dyn Disk>) -> Result<Self, StoreError> {
        let database = open(&*disk)?;
        Ok(Self { disk, database: Some(database) })
    }

    pub(super) fn all(&self) -> Result<Vec<TokenRecord>, StoreError> {
        let Some(database) = &self.database else { return Ok(Vec::new()) };
        let transaction = database.begin_read().map_err(refused)?;
        let table = transaction.open_table(TOKENS).map_err(refused)?;
        let mut records = Vec::new();
        for row in table.iter().map_err(refused)? {
            let (id, bytes) = row.map_err(refused)?;
            let record: Option<TokenRecord> = postcard::from_bytes(bytes.value()).ok();
            let record = record.filter(|record| record.id.0 == id.value()).ok_or_else(|| {
                StoreError::damaged(TOKENS_NAME, format!("token {} cannot be read", id.value()))
            })?;
            records.push(record);
        }
        Ok(records)
    }

    /// Stores a record, durable once this returns. After a failure the file is opened anew: redb
    /// refuses everything until then.
    pub(super) fn put(&mut self, record: &TokenRecord) -> Result<(), StoreError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => open(&*self.disk)?,
        };
        write(&database, record)?;
        self.database = Some(database);
        Ok(())
    }
}

fn open(disk: &dyn Disk) -> Result<Database, StoreError> {
    disk::make(disk, TOKENS_NAME, |file| open_file(file).map(drop))?;
    open_file(disk::open_made(disk, TOKENS_NAME)?)
}

fn open_file(file: Box<dyn StorageBackend>) -> Result<Database, StoreError> {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    let database =
        open_database(TOKENS_NAME, &builder, LatchedFile::new(file, ErrorLatch::default()))?;
    let transaction = begin(&database)?;
    {
        let mut meta = transaction.open_table(META).map_err(refused)?;
        let found = meta.get("format").map_err(refused)?.map(|row| row.value());
        match found {
            Some(found) if found > FORMAT => {
                let file = TOKENS_NAME.to_owned();
                return Err(StoreError::NewerFormat { file, found, known: FORMAT });
            }
            Some(_) => {}
            None => {
                meta.insert("format", FORMAT).map_err(refused)?;
            }
        }
        transaction.open_table(TOKENS).map_err(refused)?;
    }
    transaction.commit().map_err(refused)?;
    Ok(database)
}

/// Begins a change. It is committed in two phases: what a failed sync may have lost is referred to
/// by nothing then, so that the file can be opened again and written on.
fn begin(database: &Database) -> Result<WriteTransaction, StoreError> {
    let mut transaction = database.begin_write().map_err(refused)?;
    transaction.set_two_phase_commit(true);
    Ok(transaction)
}

/// A record as it is stored.
pub(super) fn encode(record: &TokenRecord) -> Result<Vec<u8>, StoreError> {
    postcard::to_stdvec(record)
        .map_err(|_| StoreError::damaged(TOKENS_NAME, "a token does not serialize"))
}

/// Makes the file out of the rows of a copy, each under the eight bytes of its number,
/// little-endian.
pub(super) fn refill(disk: &dyn Disk, next: NextRow<'_>) -> Result<(), StoreError> {
    disk::make(disk, TOKENS_NAME, |file| {
        let database = open_file(file)?;
        let transaction = begin(&database)?;
        {
            let mut table = transaction.open_table(TOKENS).map_err(refused)?;
            while let Some((id, record)) = next()? {
                let id = id.try_into().map(u64::from_le_bytes).map_err(|_| {
                    StoreError::damaged(TOKENS_NAME, "a token of the copy has no number")
                })?;
                table.insert(id, record.as_slice()).map_err(refused)?;
            }
        }
        transaction.commit().map_err(refused)?;
        database.close().map_err(refused)
    })
}

fn write(database: &Database, record: &TokenRecord) -> Result<(), StoreError> {
    let bytes = encode(record)?;
    let transaction = begin(database)?;
    let mut table = transaction.open_table(TOKENS).map_err(refused)?;
    table.insert(record.id.0, bytes.as_slice()).map_err(refused)?;
    drop(table);
    transaction.commit().map_err(refused)
}

fn refused(error: impl Into<redb::Error>) -> StoreError {
    StoreError::Database(Box::new(error.into()))
}
