//! Turns a panic of the database into an error: a damaged file may cause one, and the operator is
//! to get one line, not a backtrace.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use redb::{Builder, Database, DatabaseError, StorageBackend, StorageError};

use super::error::{StoreError, StoreResult};

thread_local! {
    /// Whether a panic of this thread is caught here, and so not printed on standard error.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; a panic in it is the error that `file` is damaged.
///
/// # Errors
/// Those of `work`, and [`StoreError::Damaged`] for a panic.
pub fn panic_guard<T>(file: &str, work: impl FnOnce() -> StoreResult<T>) -> StoreResult<T> {
    caught(work).unwrap_or_else(|panic| {
        let detail = format!("the database in it panicked ({panic})");
        Err(StoreError::damaged(file, detail))
    })
}

/// Runs `work`; a panic in it is not printed.
///
/// # Errors
/// The first line of the panic.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                print(panic);
            }
        }));
    });
    let before = IS_GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(before);
    done.map_err(|panic| first_line(&*panic).to_owned())
}

fn first_line(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.and_then(|text| text.lines().next()).unwrap_or("it did not say why")
}

/// Opens the database in `backend`, the contents of `file`, with a page cache of `cache_bytes`;
/// initializes an empty one.
///
/// # Errors
/// [`StoreError::Damaged`] if it is no valid database, [`StoreError::Database`].
pub fn open_database(
    file: &str,
    cache_bytes: usize,
    backend: impl StorageBackend,
) -> StoreResult<Database> {
    open_with(file, Builder::new().set_cache_size(cache_bytes), backend)
}

/// As [`open_database`], of a database that was closed in good order; `None` if it was not.
///
/// # Errors
/// As [`open_database`].
pub fn open_closed(
    file: &str,
    cache_bytes: usize,
    backend: impl StorageBackend,
) -> StoreResult<Option<Database>> {
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes).set_repair_callback(redb::RepairSession::abort);
    match open_with(file, &builder, backend) {
        Ok(database) => Ok(Some(database)),
        Err(StoreError::Database(error)) if matches!(*error, redb::Error::RepairAborted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// As [`open_database`], with the options of `builder`.
///
/// # Errors
/// As [`open_database`].
pub fn open_with(
    file: &str,
    builder: &Builder,
    backend: impl StorageBackend,
) -> StoreResult<Database> {
    panic_guard(file, || {
        builder.create_with_backend(backend).map_err(|error| match error {
            DatabaseError::Storage(StorageError::Corrupted(detail)) => {
                StoreError::damaged(file, detail)
            }
            other => other.into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a panic is an error that names the file and says why. Method: panics of both forms,
    /// one within another piece of work.
    #[test]
    fn panics_are_errors() {
        let nested = panic_guard("a", || {
            let inner = panic_guard::<()>("b", || panic!("not {}\nat all", 7)).unwrap_err();
            assert!(IS_GUARDED.get());
            Err::<(), _>(inner)
        });
        assert!(nested.unwrap_err().to_string().starts_with("b is damaged: "));
        let plain = panic_guard::<()>("c", || panic!("plain")).unwrap_err().to_string();
        assert!(plain.contains("(plain)") && !IS_GUARDED.get(), "{plain}");
    }
}
