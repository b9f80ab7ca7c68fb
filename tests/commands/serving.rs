//! `parley serve`: how it begins, how it ends, and what keeps it from beginning.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use redb::{Database, ReadableTable, TableDefinition};

use super::parley::{Ended, Folder, run};
use super::served::{Served, serve};

/// How a server ended that did not start.
fn ended(data: &str, more: &[&str]) -> Ended {
    let output = serve(data, more).stdin(Stdio::null()).output().expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ended {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Goal: the first start says how to go on, once; the second does not; both end in good order.
/// Method: the output of two starts of one folder, and the file that holds the first secret.
#[test]
fn the_first_start_says_how_to_go_on() {
    let folder = Folder::new("first-start");
    let server = Served::start(&folder);
    let (url, admin) = (server.url.clone(), server.admin());
    let file = format!("{}/admin.token", server.data());
    let mode = std::fs::metadata(&file).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let stopped = server.stop();
    assert_eq!(stopped.code, 0);
    assert!(stopped.out.contains(&admin), "{stopped:?}");
    let json = &stopped.out[stopped.out.find("\n{").expect("a snippet")..];
    let snippet: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let entry = &snippet["mcpServers"]["parley"];
    assert_eq!(entry["url"], format!("{url}/mcp"));
    let bearer = entry["headers"]["Authorization"].as_str().expect("a header");
    let agent = bearer.strip_prefix("Bearer ").expect("a token");
    assert_ne!(agent, admin);

    let again = Served::start(&folder);
    assert_eq!(again.admin(), admin, "the token stays");
    assert_eq!(again.run(agent, &["inbox"]).code, 0, "the agent's token is good");
    let stopped = again.stop();
    assert_eq!((stopped.code, stopped.out.as_str()), (0, ""));
}

/// Goal: a configuration at fault stops the start with a line that names the key, and exit code 2.
/// Method: a row a fault, by flag, environment and file.
#[test]
fn configuration_at_fault() {
    let folder = Folder::new("configuration");
    let unknown = folder.file("unknown.toml", "[limits]\nbody_max = 600\n");
    let broken = folder.file("broken.toml", "listen = \n");
    let data = format!("{}/data", folder.path());
    for (more, want) in [
        (&["--set", "limits.page_max=0"][..], "limits.page_max"),
        (&["--set", "no.such=1"], "no.such"),
        (&["--set", "nonsense"], "nonsense"),
        (&["--realm", "human"], "realm"),
        (&["--log-level", "loud"], "log.level"),
        (&["--config", &unknown], "limits.body_max"),
        (&["--config", &broken], "broken.toml"),
        (&["--config", "/nowhere.toml"], "/nowhere.toml"),
    ] {
        let ended = ended(&data, more);
        assert!(ended.failed(2).contains(want), "{more:?}: {ended:?}");
    }
    let mut command = serve(&data, &[]);
    command.env("PARLEY_LIMITS__NONE", "1");
    let output = command.output().expect("the binary runs");
    let err = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("PARLEY_LIMITS__NONE") && err.lines().count() == 1, "{err}");
    assert!(!std::path::Path::new(&data).exists(), "nothing was begun");
}

/// Goal: a port in use and a folder in use each stop the start with a line that names them, and
/// exit code 1; the server that was there first does not notice. Method: both, beside a server.
#[test]
fn what_is_in_use() {
    let folder = Folder::new("in-use");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let data = format!("{}/other", folder.path());
    let port = run(&["serve", "--listen", &address, "--data", &data]);
    assert!(port.failed(1).contains(&address), "{port:?}");
    let server = Served::start(&folder);
    let locked = ended(server.data(), &[]);
    assert!(locked.failed(1).contains(server.data()), "{locked:?}");
    assert_eq!(server.run(&server.admin(), &["inbox"]).code, 0);
    assert_eq!(server.stop().code, 0);
}

/// Goal: a folder that a newer version wrote stops the start with a line that names the file, and
/// takes no harm. Method: each file's format raised by one, and put back.
#[test]
fn a_newer_format() {
    let folder = Folder::new("newer-format");
    let server = Served::start(&folder);
    let (data, admin) = (server.data().to_owned(), server.admin());
    assert_eq!(server.run(&admin, &["post", "Is anybody there?"]).code, 0);
    assert_eq!(server.stop().code, 0);
    let files: Vec<_> = std::fs::read_dir(&data)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "redb"))
        .collect();
    assert!(files.len() >= 3, "log, archive and tokens: {files:?}");
    for file in files {
        let kept = std::fs::read(&file).expect("the file");
        raise_format(&file);
        let ended = ended(&data, &[]);
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let line = ended.failed(1);
        assert!(line.contains(&name) && line.contains("newer"), "{name}: {ended:?}");
        std::fs::write(&file, kept).expect("the file as it was");
    }
    let back = Served::start(&folder);
    let read = back.run(&admin, &["read", "1"]);
    assert!(read.succeeded().contains("Is anybody there?"), "{read:?}");
    assert_eq!(back.stop().code, 0);
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

/// Goal: without a server and without a folder nothing is begun. Method: `token list` in an empty
/// place.
#[test]
fn administration_begins_nothing() {
    let folder = Folder::new("begins-nothing");
    let data = format!("{}/absent", folder.path());
    let list = run(&["token", "list", "--data", &data, "--url", "http://127.0.0.1:1"]);
    assert_eq!(list.code, 1, "{list:?}");
    assert!(!std::path::Path::new(&data).exists());
}
