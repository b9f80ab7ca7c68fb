//! Migration: a store of an older format, made up here, on a disk that fails at every write and
//! every sync in turn. The store that format 1 really made is in [`super::format1`].

use std::sync::Arc;

use parley::clock::{Clock, SystemClock};
use parley::journal::options::JournalOptions;
use parley::journal::{Journal, archive, log};
use parley::maintenance::backup::BackupCopy;
use parley::storage::disk::Disk;
use parley::storage::error::StoreError;
use parley::storage::latch::BoxedFile;
use parley::storage::migration::{FileFormat, kept_name, migrate};
use parley::tokens::{self, NewToken, TokenName, Tokens};
use parley_kit::{Cut, Faults, FaultyDisk, Folder};
use parley_protocol::identity::{Right, Rights};
use parley_protocol::time::Millis;
use redb::{Builder, Database, TableDefinition};

use super::forum::filled;
use super::site::databases;

type Table<'a, K, V> = TableDefinition<'a, K, V>;

const CLAIM_THREADS: Table<'_, u64, u64> = Table::new("claim_threads");
const CLAIMS_OF_OLD: Table<'_, u64, u64> = Table::new("claims_of");
const ENTRIES: Table<'_, u64, &[u8]> = Table::new("entries");
const ENTRIES_OF_OLD: Table<'_, u64, &[u8]> = Table::new("rows");
const TOKENS: Table<'_, u64, &[u8]> = Table::new("tokens");
const TOKENS_OF_OLD: Table<'_, u64, &[u8]> = Table::new("people");
const ARCHIVE_META: Table<'_, u8, &[u8]> = Table::new("meta");
const LOG_META: Table<'_, &str, u64> = Table::new("meta");
const TOKENS_META: Table<'_, &str, u32> = Table::new("meta");

/// From the format before the current one, in which three tables had other names.
const FORMATS: [FileFormat; 3] = [
    FileFormat {
        oldest: archive::FILE_FORMAT.current() - 1,
        steps: &[|writing| Ok(writing.rename_table(CLAIMS_OF_OLD, CLAIM_THREADS)?)],
        ..archive::FILE_FORMAT
    },
    FileFormat {
        oldest: 0,
        steps: &[|writing| Ok(writing.rename_table(ENTRIES_OF_OLD, ENTRIES)?)],
        ..log::FILE_FORMAT
    },
    FileFormat {
        oldest: 0,
        steps: &[|writing| Ok(writing.rename_table(TOKENS_OF_OLD, TOKENS)?)],
        ..tokens::FILE_FORMAT
    },
];

/// The format of the file `name` that [`make_older`] makes.
fn older_format(name: &str) -> u32 {
    if name == archive::FILE_NAME { archive::FILE_FORMAT.current() - 1 } else { 0 }
}

fn database(disk: &FaultyDisk, name: &str) -> Database {
    Builder::new().create_with_backend(BoxedFile::new(disk.open(name).unwrap())).unwrap()
}

/// Makes what the older version would have written.
fn make_older(disk: &FaultyDisk) -> Vec<String> {
    let names = disk.list().unwrap();
    for name in &names {
        let database = database(disk, name);
        let writing = database.begin_write().unwrap();
        if name == "archive.redb" {
            writing.rename_table(CLAIM_THREADS, CLAIMS_OF_OLD).unwrap();
            let mut meta = writing.open_table(ARCHIVE_META).unwrap();
            meta.insert(0, older_format(name).to_le_bytes().as_slice()).unwrap();
        } else if name == "tokens.redb" {
            writing.rename_table(TOKENS, TOKENS_OF_OLD).unwrap();
            writing.open_table(TOKENS_META).unwrap().insert("format", 0).unwrap();
        } else {
            writing.rename_table(ENTRIES, ENTRIES_OF_OLD).unwrap();
            writing.open_table(LOG_META).unwrap().insert("format", 0).unwrap();
        }
        writing.commit().unwrap();
        database.close().unwrap();
    }
    names
}

/// Everything that the store holds, as a copy of it.
fn contents(disk: &FaultyDisk) -> Result<Vec<u8>, StoreError> {
    let (disk, clock): (Arc<dyn Disk>, Arc<dyn Clock>) =
        (Arc::new(disk.copy()), Arc::new(SystemClock));
    let tokens = Tokens::open(Arc::clone(&disk), "local", Arc::clone(&clock))?;
    let opened = Journal::open(JournalOptions::default(), disk, clock)?;
    let mut copying = BackupCopy::begin(&opened.journal, &tokens, Millis(0));
    let mut bytes = Vec::new();
    while let Some(piece) = copying.piece()? {
        bytes.extend(piece);
    }
    Ok(bytes)
}

/// A store with a bit of everything, written by the binary.
fn store() -> FaultyDisk {
    let folder = Folder::new("migrate");
    filled(&folder.text("data"), 6);
    let disk = FaultyDisk::default();
    for name in databases(&folder.join("data")) {
        let bytes = std::fs::read(folder.join("data").join(&name)).unwrap();
        let file = disk.create(&name).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        file.write(0, &bytes).unwrap();
        file.sync_data().unwrap();
    }
    disk.sync().unwrap();
    disk
}

/// Goal: an older store becomes a present one that holds the same, its files are kept as they
/// were, and a crash at any point loses nothing. Method: a made-up format; a failure, then a cut,
/// at every write and every sync; the next attempt ends it.
#[test]
fn from_an_older_format() {
    let older = store();
    let wanted = contents(&older).unwrap();
    let files = make_older(&older);
    assert!(files.len() >= 3 && contents(&older).is_err());
    let originals: Vec<_> = files.iter().map(|name| (name, older.bytes_of(name))).collect();
    let look = |disk: &FaultyDisk, point: &str| {
        for (name, original) in &originals {
            assert!(
                disk.bytes_of(&kept_name(name, older_format(name))) == *original,
                "{point}: {name}"
            );
        }
        assert!(contents(disk).unwrap() == wanted, "{point}");
        assert!(migrate(disk, &FORMATS).unwrap().is_empty(), "{point}");
    };
    let mut points = 0;
    for fault in [
        |n| Faults { write: n, torn: true, ..Faults::default() },
        |n| Faults { sync: n, ..Faults::default() },
    ] {
        for n in 1.. {
            let disk = older.copy();
            disk.set(Faults { lasting: true, ..fault(n) });
            if migrate(&disk, &FORMATS).is_ok() {
                look(&disk, "without a fault");
                break;
            }
            disk.cut([Cut::ForgetAll, Cut::Kill, Cut::KeepSome(n)][n as usize % 3]);
            disk.mend();
            migrate(&disk, &FORMATS).unwrap();
            look(&disk, &format!("{:?}", fault(n)));
            points += 1;
        }
    }
    println!("{points} points at which it was cut short");
    assert!(points > 40, "{points}");
}

/// Goal: a format that no step begins with is refused and left as it is. Method: the first step
/// begins with a later one.
#[test]
fn too_old() {
    let older = store();
    let files = make_older(&older);
    let before: Vec<_> = files.iter().map(|name| older.bytes_of(name)).collect();
    let later = |format: FileFormat| FileFormat {
        oldest: format.oldest + 1,
        steps: &[|_| Ok(())],
        ..format
    };
    let formats = FORMATS.map(later);
    let refused = migrate(&older, &formats);
    assert!(refused.unwrap_err().to_string().contains("older than any"));
    let after: Vec<_> = files.iter().map(|name| older.bytes_of(name)).collect();
    assert!(before == after && older.list().unwrap().len() == files.len());
}

/// Goal: a token made before and after a migration is one of one sequence. Method: one of each.
#[test]
fn tokens_go_on() {
    let older = store();
    make_older(&older);
    migrate(&older, &FORMATS).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let tokens = Tokens::open(Arc::new(older.clone()), "local", clock).unwrap();
    let new = NewToken {
        name: TokenName::Handle("eve".into()),
        rights: Rights::default().with(Right::Read),
        label: None,
        expires_at: None,
    };
    let (record, _) = tokens.create(&new, SystemClock.now()).unwrap();
    assert_eq!(record.id.0, 6);
}
