//! The tables of the archive as rows of bytes: how a copy is taken, and filled in again.

use redb::{
    Database, Durability, Key, ReadTransaction, StorageBackend, TableDefinition, TableHandle,
    Value, WriteTransaction,
};

use super::ArchiveRead;
use super::tables::{self as t, damaged};
use crate::storage::disk::BoxedFile;
use crate::storage::error::StoreError;
use crate::storage::panic_guard::open_database;
use crate::storage::rows::{NextRow, RawRows};

/// Bytes of rows that one transaction of a refill takes, about.
const TRANSACTION_BYTES: usize = 16 << 20;

/// What is done with each table, whatever its rows are.
pub(super) trait TableVisitor {
    fn table<K: Key + Send + Sync + 'static, V: Value + Send + Sync + 'static>(
        &mut self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<(), StoreError>;
}

/// Visits every table there is: the one list of them.
pub(super) fn each_table(visit: &mut impl TableVisitor) -> Result<(), StoreError> {
    visit.table(t::META)?;
    visit.table(t::HEADS)?;
    visit.table(t::ACTS)?;
    visit.table(t::RETRACTED)?;
    visit.table(t::UPDATED)?;
    visit.table(t::BOARD)?;
    visit.table(t::DIRECTED)?;
    visit.table(t::CLAIMS)?;
    visit.table(t::CLAIM_THREADS)?;
    visit.table(t::OUTCOMES)?;
    visit.table(t::ARTIFACTS)?;
    visit.table(t::ARTIFACT_IDS)?;
    visit.table(t::ARTIFACT_REFS)?;
    visit.table(t::ARTIFACT_THREADS)?;
    visit.table(t::SNAPSHOTS)
}

/// Makes each table.
pub(super) struct CreateTables<'a>(pub &'a WriteTransaction);

impl TableVisitor for CreateTables<'_> {
    fn table<K: Key + Send + Sync + 'static, V: Value + Send + Sync + 'static>(
        &mut self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<(), StoreError> {
        self.0.open_table(table)?;
        Ok(())
    }
}

struct TableNames(Vec<String>);

impl TableVisitor for TableNames {
    fn table<K: Key + Send + Sync + 'static, V: Value + Send + Sync + 'static>(
        &mut self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<(), StoreError> {
        self.0.push(table.name().to_owned());
        Ok(())
    }
}

struct TableRows<'a> {
    transaction: &'a ReadTransaction,
    name: &'a str,
    found: Option<RawRows>,
}

impl TableVisitor for TableRows<'_> {
    fn table<K: Key + Send + Sync + 'static, V: Value + Send + Sync + 'static>(
        &mut self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<(), StoreError> {
        if table.name() == self.name {
            let table = self.transaction.open_table(table)?;
            let rows = table.range::<K::SelfType<'static>>(..)?;
            self.found = Some(Box::new(rows.map(|row| {
                let (key, value) = row?;
                let key = K::as_bytes(&key.value()).as_ref().to_vec();
                Ok((key, V::as_bytes(&value.value()).as_ref().to_vec()))
            })));
        }
        Ok(())
    }
}

impl ArchiveRead {
    /// The names of all tables, in the order in which they are copied.
    pub(crate) fn tables() -> Vec<String> {
        let mut names = TableNames(Vec::new());
        each_table(&mut names).expect("nothing is read");
        names.0
    }

    /// The rows of the table `name`. They stay what they are as long as this state is held.
    pub(crate) fn rows(&self, name: &str) -> Result<RawRows, StoreError> {
        let mut rows = TableRows { transaction: &self.transaction, name, found: None };
        each_table(&mut rows)?;
        rows.found.ok_or_else(|| damaged(format!("there is no table {name}")))
    }
}

/// An archive that is filled with the rows of a copy.
pub(crate) struct Refill(Database);

impl Refill {
    /// Begins one in a new file.
    pub(crate) fn begin(file: Box<dyn StorageBackend>) -> Result<Self, StoreError> {
        let mut builder = Database::builder();
        builder.set_cache_size(4 * TRANSACTION_BYTES);
        open_database(t::FILE_NAME, &builder, BoxedFile(file)).map(Self)
    }

    /// Puts all rows into the table `name`.
    pub(crate) fn put(&self, name: &str, next: NextRow<'_>) -> Result<(), StoreError> {
        loop {
            let mut transaction = self.0.begin_write()?;
            transaction.set_durability(Durability::None)?;
            let mut put =
                RowWriter { transaction: &transaction, name, next: &mut *next, ended: None };
            each_table(&mut put)?;
            let ended = put.ended.ok_or_else(|| damaged(format!("there is no table {name}")))?;
            transaction.commit()?;
            if ended {
                return Ok(());
            }
        }
    }

    /// Makes everything durable.
    pub(crate) fn finish(self) -> Result<(), StoreError> {
        let mut transaction = self.0.begin_write()?;
        transaction.set_quick_repair(true);
        each_table(&mut CreateTables(&transaction))?;
        transaction.commit()?;
        Ok(self.0.close()?)
    }
}

/// Puts rows into one table, as many as one transaction takes.
struct RowWriter<'a, 'n> {
    transaction: &'a WriteTransaction,
    name: &'a str,
    next: NextRow<'n>,
    /// Whether that was all; `None` if there is no such table.
    ended: Option<bool>,
}

impl TableVisitor for RowWriter<'_, '_> {
    fn table<K: Key + Send + Sync + 'static, V: Value + Send + Sync + 'static>(
        &mut self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<(), StoreError> {
        if table.name() != self.name {
            return Ok(());
        }
        let mut table = self.transaction.open_table(table)?;
        let mut bytes = 0;
        while bytes < TRANSACTION_BYTES {
            let Some((key, value)) = (self.next)()? else {
                self.ended = Some(true);
                return Ok(());
            };
            let fits =
                |width: Option<usize>, bytes: &[u8]| width.is_none_or(|it| it == bytes.len());
            if !fits(K::fixed_width(), &key) || !fits(V::fixed_width(), &value) {
                return Err(damaged(format!("a row of {} has another form", self.name)));
            }
            table.insert(K::from_bytes(&key), V::from_bytes(&value))?;
            bytes += key.len() + value.len();
        }
        self.ended = Some(false);
        Ok(())
    }
}
