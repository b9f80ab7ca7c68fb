//! The tables of the archive as rows of bytes: how a copy is taken, and filled in again.

use redb::{
    Database, Durability, Key, ReadTransaction, StorageBackend, TableDefinition, TableHandle,
    Value, WriteTransaction,
};

use super::ArchiveRead;
use super::format::FILE_FORMAT;
use super::tables::{self as t, damaged};
use crate::storage::error::StoreResult;
use crate::storage::latch::BoxedFile;
use crate::storage::panic_guard::open_database;
use crate::storage::rows::{NextRow, RawRows};

/// Bytes of rows that one transaction of a refill takes, about.
const TRANSACTION_BYTES: usize = 16 << 20;

/// All tables, in the order in which they are copied.
const TABLES: [&dyn RawTable; 19] = [
    &t::META,
    &t::HEADS,
    &t::ACTS,
    &t::RETRACTED,
    &t::UPDATED,
    &t::BOARD,
    &t::DIRECTED,
    &t::CLAIMS,
    &t::CLAIM_STATES,
    &t::ATTESTATIONS,
    &t::REFUTATIONS,
    &t::CLAIM_THREADS,
    &t::OUTCOMES,
    &t::OUTCOME_AGES,
    &t::ARTIFACTS,
    &t::ARTIFACT_IDS,
    &t::ARTIFACT_REFS,
    &t::ARTIFACT_THREADS,
    &t::SNAPSHOTS,
];

/// Tables of older formats, which a copy may hold.
const FORMER: [&dyn RawTable; 1] = [&t::OUTCOMES_BY_AGE];

/// A table, whatever the types of its rows.
trait RawTable {
    fn name(&self) -> &str;

    fn create(&self, transaction: &WriteTransaction) -> StoreResult<()>;

    fn rows(&self, transaction: &ReadTransaction) -> StoreResult<RawRows>;

    /// Inserts rows, as many as one transaction takes; returns whether those were all.
    fn insert(&self, transaction: &WriteTransaction, next: NextRow<'_>) -> StoreResult<bool>;
}

impl<K, V> RawTable for TableDefinition<'static, K, V>
where
    K: Key + Send + Sync + 'static,
    V: Value + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        TableHandle::name(self)
    }

    fn create(&self, transaction: &WriteTransaction) -> StoreResult<()> {
        transaction.open_table(*self)?;
        Ok(())
    }

    fn rows(&self, transaction: &ReadTransaction) -> StoreResult<RawRows> {
        let rows = transaction.open_table(*self)?.range::<K::SelfType<'static>>(..)?;
        Ok(Box::new(rows.map(|row| {
            let (key, value) = row?;
            let key = K::as_bytes(&key.value()).as_ref().to_vec();
            Ok((key, V::as_bytes(&value.value()).as_ref().to_vec()))
        })))
    }

    fn insert(&self, transaction: &WriteTransaction, next: NextRow<'_>) -> StoreResult<bool> {
        let fits = |width: Option<usize>, bytes: &[u8]| width.is_none_or(|it| it == bytes.len());
        let mut table = transaction.open_table(*self)?;
        let mut bytes = 0;
        while bytes < TRANSACTION_BYTES {
            let Some((key, value)) = next()? else { return Ok(true) };
            if !fits(K::fixed_width(), &key) || !fits(V::fixed_width(), &value) {
                return Err(damaged(format!("a row of {} has another form", RawTable::name(self))));
            }
            table.insert(K::from_bytes(&key), V::from_bytes(&value))?;
            bytes += key.len() + value.len();
        }
        Ok(false)
    }
}

fn table(name: &str) -> StoreResult<&'static dyn RawTable> {
    let table = TABLES.into_iter().chain(FORMER).find(|table| table.name() == name);
    table.ok_or_else(|| damaged(format!("there is no table {name}")))
}

/// Creates all tables, those that exist excepted.
pub(super) fn create_tables(transaction: &WriteTransaction) -> StoreResult<()> {
    TABLES.iter().try_for_each(|table| table.create(transaction))
}

impl ArchiveRead {
    /// The names of all tables, in the order in which they are copied.
    pub(crate) fn tables() -> impl DoubleEndedIterator<Item = &'static str> {
        TABLES.into_iter().map(RawTable::name)
    }

    /// The rows of the table `name`. They do not change as long as this state is held.
    pub(crate) fn rows(&self, name: &str) -> StoreResult<RawRows> {
        table(name)?.rows(&self.transaction)
    }
}

/// An archive that is filled with the rows of a copy: [`Refill::put`] for each table, then
/// [`Refill::finish`].
pub(crate) struct Refill(Database);

impl Refill {
    /// Begins one in a new file.
    pub(crate) fn begin(file: Box<dyn StorageBackend>) -> StoreResult<Self> {
        open_database(t::FILE_NAME, 4 * TRANSACTION_BYTES, BoxedFile::new(file)).map(Self)
    }

    /// Inserts all rows that `next` gives into the table `name`.
    pub(crate) fn put(&self, name: &str, next: NextRow<'_>) -> StoreResult<()> {
        let table = table(name)?;
        loop {
            let mut transaction = self.0.begin_write()?;
            transaction.set_durability(Durability::None)?;
            let ended = table.insert(&transaction, &mut *next)?;
            transaction.commit()?;
            if ended {
                return Ok(());
            }
        }
    }

    /// Makes everything durable, in the current format: the copy may be of an older one.
    pub(crate) fn finish(self) -> StoreResult<()> {
        let format = (FILE_FORMAT.stated)(&self.0)?;
        let format = format.ok_or_else(|| damaged("the copy does not state its format"))?;
        let mut transaction = self.0.begin_write()?;
        transaction.set_quick_repair(true);
        create_tables(&transaction)?;
        FILE_FORMAT.upgrade(&transaction, format)?;
        transaction.commit()?;
        Ok(self.0.close()?)
    }
}
