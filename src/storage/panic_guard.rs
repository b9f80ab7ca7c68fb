//! Where a panic of the database is an answer: what a damaged file holds may cause one, and whoever
//! opens it gets an error like any other, in one line.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use redb::{Builder, Database, DatabaseError, StorageBackend, StorageError};

use crate::storage::error::StoreError;

thread_local! {
    /// Whether a panic of this thread is an answer, and so nothing to tell on standard error.
    static IS_CALM: Cell<bool> = const { Cell::new(false) };
}

/// Does `work`; if that panics, `file` is damaged.
///
/// # Errors
/// Those of `work`, and [`StoreError::Damaged`] for a panic.
pub fn panic_guard<T>(
    file: &str,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let tell = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_CALM.get() {
                tell(panic);
            }
        }));
    });
    let before = IS_CALM.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_CALM.set(before);
    done.unwrap_or_else(|panic| {
        let detail = format!("the database in it panicked ({})", first_line(&*panic));
        Err(StoreError::damaged(file, detail))
    })
}

fn first_line(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.and_then(|text| text.lines().next()).unwrap_or("it did not say why")
}

/// Opens the database in `backend`, which is that of `file`; makes one where nothing is.
///
/// # Errors
/// [`StoreError::Damaged`] if it is none that was written, or what the disk says.
pub fn open_database(
    file: &str,
    builder: &Builder,
    backend: impl StorageBackend,
) -> Result<Database, StoreError> {
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
        let told = panic_guard("a", || {
            let inner = panic_guard::<()>("b", || panic!("not {}\nat all", 7)).unwrap_err();
            assert!(IS_CALM.get());
            Err::<(), _>(inner)
        });
        assert!(told.unwrap_err().to_string().starts_with("b is damaged: "));
        let plain = panic_guard::<()>("c", || panic!("plain")).unwrap_err().to_string();
        assert!(plain.contains("(plain)") && !IS_CALM.get(), "{plain}");
    }
}
