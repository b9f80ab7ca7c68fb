//! The binary, its folders, and requests to it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use parley_kit::folder::names;
use parley_kit::process::run;
use parley_kit::{Ended, GENEROUS, Process};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Whether a file of this name is a database.
pub fn is_database(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "redb")
}

/// The names of the databases in a folder.
pub fn databases(folder: &Path) -> Vec<String> {
    names(folder).into_iter().filter(|name| is_database(name)).collect()
}

/// Every file of a folder: digest and time of its last change.
pub fn state(folder: &Path) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let file = |name: String| {
        let path = folder.join(&name);
        let changed = path.metadata().unwrap().modified().unwrap();
        let digest = Sha256::digest(std::fs::read(path).unwrap()).to_vec();
        (name, (digest, changed))
    };
    names(folder).into_iter().map(file).collect()
}

/// Copies every file of a folder into a new one.
pub fn copy_folder(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir(to).unwrap();
    for name in names(from) {
        std::fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

/// Starts a server on the folder `data`; how it ended if it does not start.
pub fn try_start(data: &str) -> Result<Process, Ended> {
    Process::try_start(data, &[&GENEROUS[..], &["--log-level", "off"]].concat())
}

/// Starts one that starts.
pub fn start(data: &str) -> Process {
    try_start(data).unwrap_or_else(|ended| panic!("{ended:?}"))
}

/// Takes a copy through the server at `url`; gives its cursor.
pub fn backup(server: &Process, file: &str) -> String {
    let ended = run(&["backup", file, "--url", &server.url(), "--token", &server.admin, "--json"]);
    let told = ended.json();
    assert_eq!(told["bytes"], std::fs::metadata(file).unwrap().len());
    told["cursor"].as_str().unwrap().to_owned()
}

/// Restores a copy; gives what is told.
pub fn restore(file: &str, data: &str) -> Value {
    run(&["restore", file, "--data", data, "--json"]).json()
}
