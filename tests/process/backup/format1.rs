//! Format 1 of the archive, as a server of that time made it: a folder whose server was killed, a
//! copy of it, and what it showed (`format1/`). 74 messages, claims in every state, keys.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use parley::clock::{Clock, SystemClock};
use parley::journal::options::JournalOptions;
use parley::journal::{Journal, archive, log};
use parley::maintenance::backup::BackupCopy;
use parley::storage::disk::Disk;
use parley::storage::latch::BoxedFile;
use parley::storage::migration::{kept_name, migrate};
use parley::tokens::Tokens;
use parley_kit::peer::{ask, get};
use parley_kit::process::run;
use parley_kit::{Cut, Faults, FaultyDisk, Folder, Process};
use parley_protocol::time::Millis;
use redb::{Builder, ReadableDatabase, ReadableTableMetadata, TableHandle};
use serde_json::{Value, json};

use super::site::{databases, restore, start, state};

const EXPECTED: &str = include_str!("format1/expected.json");
const COPY: &[u8] = include_bytes!("format1/copy");

/// The folder of format 1, unpacked.
fn unpack(folder: &Folder) -> String {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/process/backup/format1");
    let mut tar = Command::new("tar");
    tar.arg("xzf").arg(packed.join("folder.tar.gz")).arg("-C").arg(folder.path());
    assert!(tar.status().expect("tar is installed").success());
    folder.text("data")
}

/// `value` without what the time of reading or the binary adds.
fn lasting(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(members) = value.as_object_mut() {
        for name in ["cursor", "thread", "next"] {
            members.remove(name);
        }
    }
    value
}

/// Whether `server` shows what format 1 did, and answers the same to each key.
fn shows_the_same(server: &Process, is_restored: bool) {
    let expected: Value = serde_json::from_str(EXPECTED).unwrap();
    for (path, shown) in expected["shown"].as_object().unwrap() {
        let now = get(server.address, &server.admin, path);
        assert_eq!(lasting(&now), lasting(shown), "{path}");
    }
    let keyed = expected["keyed"].as_array().unwrap();
    assert!(keyed.len() > 12);
    for call in keyed {
        let token = expected["tokens"][call["as"].as_str().unwrap()].as_str().unwrap();
        let line = format!("POST {}", call["path"].as_str().unwrap());
        let key = call["key"].as_str().unwrap();
        let headers = format!("Content-Type: application/json\r\nIdempotency-Key: {key}\r\n");
        let answer = ask(server.address, token, &line, &headers, call["body"].to_string());
        assert_eq!(u64::from(answer.status), call["status"].as_u64().unwrap(), "{call}");
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(lasting(&body), lasting(&call["answer"]), "{key}, restored: {is_restored}");
    }
}

/// Goal: a folder of format 1 opens, shows what it showed, is migrated once, and keeps the file as
/// it was. Method: two starts; `check` before, between and after.
#[test]
fn a_folder() {
    let folder = Folder::new("format1");
    let data = unpack(&folder);
    let archive = fs::read(folder.join("data/archive.redb")).unwrap();
    let checked = || run(&["check", "--data", &data, "--json"]).json();
    let told = checked();
    assert_eq!(told["findings"][0]["remedy"], "start", "{told}");
    let server = start(&data);
    shows_the_same(&server, false);
    server.stop();
    let kept = folder.join("data").join(kept_name("archive.redb", 1));
    assert!(fs::read(&kept).unwrap() == archive, "the file as it was");
    let told = checked();
    assert_eq!((&told["ok"], &told["findings"]), (&json!(true), &json!([])), "{told}");
    assert_eq!(told["format"], json!({ "archive": 2, "log": 1, "tokens": 1 }));
    fs::remove_file(&kept).unwrap();
    let before = state(&folder.join("data"));
    let server = start(&data);
    shows_the_same(&server, false);
    server.kill();
    assert!(!kept.exists(), "it was migrated twice");
    assert_eq!(state(&folder.join("data")).len(), before.len());
    assert!(checked()["ok"].as_bool().unwrap());
}

/// Goal: a copy of format 1 is restored, in the current format. Method: the same comparison.
#[test]
fn a_copy() {
    let folder = Folder::new("format1");
    let file = folder.file("copy", COPY);
    restore(&file, &folder.text("data"));
    let told = run(&["check", "--data", &folder.text("data"), "--json"]).json();
    assert_eq!((&told["ok"], &told["format"]["archive"]), (&json!(true), &json!(2)), "{told}");
    let server = start(&folder.text("data"));
    shows_the_same(&server, true);
    server.stop();
}

/// Everything that the store on `disk` holds, as a copy of it.
fn contents(disk: &FaultyDisk) -> Vec<u8> {
    let (disk, clock): (Arc<dyn Disk>, Arc<dyn Clock>) =
        (Arc::new(disk.copy()), Arc::new(SystemClock));
    let tokens = Tokens::open(Arc::clone(&disk), "local", Arc::clone(&clock)).unwrap();
    let opened = Journal::open(JournalOptions::default(), disk, clock).unwrap();
    let mut copying = BackupCopy::begin(&opened.journal, &tokens, Millis(0));
    let mut bytes = Vec::new();
    while let Some(piece) = copying.piece().unwrap() {
        bytes.extend(piece);
    }
    bytes
}

/// What the archive of the folder holds of what the migration changes.
const ROWS: [(&str, u64); 3] = [("claims", 4), ("outcomes", 13), ("snapshots", 1)];

/// Rows of a table of the archive on `disk`.
fn count(disk: &FaultyDisk, table: &str) -> u64 {
    let file = BoxedFile::new(disk.open(archive::FILE_NAME).unwrap());
    let database = Builder::new().create_with_backend(file).unwrap();
    let reading = database.begin_read().unwrap();
    let handle = reading.list_tables().unwrap().find(|handle| handle.name() == table);
    reading.open_untyped_table(handle.expect("the table")).unwrap().len().unwrap()
}

/// Goal: a crash during this migration is harmless. Method: a failure, then a cut, at every write
/// and every sync; the next attempt makes what an undisturbed one makes, and one more does nothing.
#[test]
fn cut_short() {
    let folder = Folder::new("format1");
    unpack(&folder);
    let older = FaultyDisk::default();
    for name in databases(&folder.join("data")) {
        let bytes = fs::read(folder.join("data").join(&name)).unwrap();
        let file = older.create(&name).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        file.write(0, &bytes).unwrap();
        file.sync_data().unwrap();
    }
    older.sync().unwrap();
    let formats = [archive::FILE_FORMAT, log::FILE_FORMAT];
    for (table, rows) in ROWS {
        assert_eq!(count(&older.copy(), table), rows, "{table}");
    }
    let original = older.bytes_of(archive::FILE_NAME);
    let wanted = contents(&older);
    let look = |disk: &FaultyDisk, point: &str| {
        assert!(disk.bytes_of(&kept_name(archive::FILE_NAME, 1)) == original, "{point}");
        assert!(contents(disk) == wanted, "{point}");
        assert!(migrate(disk, &formats).unwrap().is_empty(), "{point}");
    };
    let mut points = 0;
    for fault in [
        |n| Faults { write: n, torn: true, ..Faults::default() },
        |n| Faults { sync: n, ..Faults::default() },
    ] {
        for n in 1.. {
            let disk = older.copy();
            disk.set(Faults { lasting: true, ..fault(n) });
            if migrate(&disk, &formats).is_ok() {
                look(&disk, "without a fault");
                break;
            }
            disk.cut([Cut::ForgetAll, Cut::Kill, Cut::KeepSome(n)][n as usize % 3]);
            disk.mend();
            migrate(&disk, &formats).unwrap();
            look(&disk, &format!("{:?}", fault(n)));
            points += 1;
        }
    }
    assert!(points > 20, "{points}");
}
