//! `parley backup`, `restore`, `check`: the whole store at once.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;
use http_body_util::BodyExt;
use hyper::Method;
use serde_json::Value;

use crate::cli::client::Client;
use crate::cli::failure::{Failure, Outcome};
use crate::cli::folder::{Place, Reach, Way};
use crate::cli::text::in_one_line;
use crate::cli::{block_on, output, speech};
use crate::clock::entropy;

/// The header that names the copy's cursor.
const CURSOR_HEADER: &str = "x-parley-cursor";
/// Only its owner may read a copy: it holds everything, hashed tokens too.
const BACKUP_MODE: u32 = 0o600;

const BACKUP_EXAMPLES: &str = "Examples:
  parley backup /backups/forum.parley
  parley backup --url http://127.0.0.1:7467 --json forum.parley";
const RESTORE_EXAMPLES: &str = "Example:
  parley restore /backups/forum.parley --data ./restored
  parley check --data ./restored";
const CHECK_EXAMPLES: &str = "Examples:
  parley check
  parley check --data ./restored --json";

/// Where the copy goes.
#[derive(Debug, Args)]
#[command(after_help = BACKUP_EXAMPLES)]
pub struct BackupOptions {
    #[command(flatten)]
    reach: Reach,
    /// The file; replaced only once the copy is complete
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Where the copy is, and where it is to live.
#[derive(Debug, Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub struct RestoreOptions {
    /// The copy
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    place: Place,
    /// Answer with JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Which store.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckOptions {
    #[command(flatten)]
    place: Place,
    /// Answer with JSON, for programs
    #[arg(long)]
    json: bool,
}

/// What a copy turned out to be.
struct Copied {
    bytes: u64,
    cursor: Option<String>,
}

/// `parley backup`.
pub fn backup(options: BackupOptions) -> Outcome {
    let draft = Draft::beside(&options.file)?;
    let copied = match options.reach.way()? {
        Way::Server(client) => block_on(fetch(&client, &draft))?,
        Way::Folder(..) => return Err(no_store_yet("backs up a stopped folder")),
    };
    draft.keep(&options.file)?;
    if options.reach.json {
        let file = options.file.to_string_lossy();
        let told = speech::object([
            ("file", Some(Value::from(file))),
            ("bytes", Some(copied.bytes.into())),
            ("cursor", Some(copied.cursor.map_or(Value::Null, Value::from))),
        ]);
        return output::json(&told.to_string());
    }
    let file = in_one_line(&options.file.to_string_lossy());
    output::text(&format!("{file}: {} bytes. Keep it as safe as the data folder.\n", copied.bytes))
}

/// Reads the copy from a server into the draft, piece by piece.
async fn fetch(client: &Client, draft: &Draft) -> Outcome<Copied> {
    let response = client.open(Method::GET, "/v1/backup", &[], Bytes::new()).await?;
    let cursor = response.headers().get(CURSOR_HEADER);
    let cursor = cursor.and_then(|cursor| cursor.to_str().ok()).map(str::to_owned);
    let mut body = response.into_body();
    let mut file = &draft.file;
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Failure::failed(format!("the copy broke off: {error}")))?;
        if let Ok(data) = frame.into_data() {
            bytes += data.len() as u64;
            file.write_all(&data).map_err(|error| cannot("write", &draft.path, &error))?;
        }
    }
    Ok(Copied { bytes, cursor })
}

/// `parley restore`.
pub fn restore(options: RestoreOptions) -> Outcome {
    let _ = (options.file, options.place.config()?.data, options.json);
    Err(no_store_yet("restores"))
}

/// `parley check`.
pub fn check(options: CheckOptions) -> Outcome {
    let _ = (options.place.config()?.data, options.json);
    Err(no_store_yet("checks a store"))
}

/// The hook for the journal's backup, restore and check.
fn no_store_yet(what: &str) -> Failure {
    Failure::failed(format!("no part of this build {what} yet"))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot {what} {}: {error}", path.display()))
}

/// A file beside the one to come, which goes away unless it is kept.
struct Draft {
    path: PathBuf,
    file: File,
}

impl Draft {
    fn beside(target: &Path) -> Outcome<Self> {
        let name = target.file_name().ok_or_else(|| {
            Failure::usage(format!("{} names no file to write the copy to", target.display()))
        })?;
        let mut draft = name.to_owned();
        draft.push(format!(".{:016x}.part", u64::from_le_bytes(entropy())));
        let path = target.with_file_name(draft);
        let file = OpenOptions::new().write(true).create_new(true).mode(BACKUP_MODE).open(&path);
        let file = file.map_err(|error| cannot("create", &path, &error))?;
        Ok(Self { path, file })
    }

    /// Makes it durable under its name.
    fn keep(self, target: &Path) -> Outcome {
        self.file.sync_all().map_err(|error| cannot("sync", &self.path, &error))?;
        std::fs::rename(&self.path, target).map_err(|error| cannot("write", target, &error))?;
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| cannot("sync", folder, &error))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Gone already if it was kept; what cannot be removed is named by its ending.
        let _ = std::fs::remove_file(&self.path);
    }
}
