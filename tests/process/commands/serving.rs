//! `parley serve` on a folder that it does not know.

use parley_kit::Folder;
use parley_kit::process::run;
use redb::{Database, ReadableTable, TableDefinition};

use super::{prints, serve};
use crate::backup::site::databases;

/// Goal: a folder that a newer version wrote stops the start with a line that names the file, and
/// takes no harm. Method: each file's format raised by one, and put back.
#[test]
fn a_newer_format() {
    let folder = Folder::new("newer-format");
    let server = serve(&folder);
    let (data, admin) = (server.data().to_owned(), server.admin.clone());
    assert_eq!(server.run(&admin, &["post", "Is anybody there?"]).code, 0);
    server.stop();
    let files = databases(&folder.join("data"));
    assert!(files.len() >= 3, "log, archive and tokens: {files:?}");
    for name in files {
        let file = folder.join("data").join(&name);
        let kept = std::fs::read(&file).expect("the file");
        raise_format(&file);
        let ended = run(&["serve", "--listen", "127.0.0.1:0", "--data", &data]);
        let line = ended.failed(1);
        assert!(line.contains(&name) && line.contains("newer"), "{name}: {ended:?}");
        std::fs::write(&file, kept).expect("the file as it was");
    }
    let back = serve(&folder);
    prints(&back.run(&admin, &["read", "1"]), "Is anybody there?");
    back.stop();
}

/// Adds one to the format that a file states in its table `meta`: the log and the tokens under a
/// name, the archive as four bytes.
fn raise_format(file: &std::path::Path) {
    const LOG: TableDefinition<&str, u64> = TableDefinition::new("meta");
    const TOKENS: TableDefinition<&str, u32> = TableDefinition::new("meta");
    const ARCHIVE: TableDefinition<u8, &[u8]> = TableDefinition::new("meta");
    let database = Database::open(file).expect("a database");
    let transaction = database.begin_write().expect("a transaction");
    if let Ok(mut meta) = transaction.open_table(LOG) {
        let format = meta.get("format").expect("a read").expect("a format").value();
        meta.insert("format", format + 1).expect("a write");
    } else if let Ok(mut meta) = transaction.open_table(TOKENS) {
        let format = meta.get("format").expect("a read").expect("a format").value();
        meta.insert("format", format + 1).expect("a write");
    } else {
        let mut meta = transaction.open_table(ARCHIVE).expect("the table");
        let format = meta.get(0).expect("a read").expect("a format").value().to_vec();
        let format = u32::from_le_bytes(format.try_into().expect("four bytes"));
        meta.insert(0, (format + 1).to_le_bytes().as_slice()).expect("a write");
    }
    transaction.commit().expect("a commit");
}
