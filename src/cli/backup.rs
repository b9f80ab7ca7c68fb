//! `parley backup`: a copy of everything, from a running server or a stopped one's folder.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use clap::Args;
use http_body_util::BodyExt;
use hyper::Method;
use serde_json::json;

use crate::cli::client::Client;
use crate::cli::error::{CliError, CliResult};
use crate::cli::target::{Target, TargetArgs};
use crate::cli::text::in_one_line;
use crate::cli::{block_on, output};
use crate::clock::{Clock, SystemClock, entropy};
use crate::journal::Journal;
use crate::journal::options;
use crate::lifecycle::Signals;
use crate::maintenance::backup::{BackupCopy, verify};
use crate::maintenance::open_read_only;
use crate::storage::disk::{Disk, FolderDisk};
use crate::storage::error::StoreError;
use crate::tokens::Tokens;

/// The mode of a copy: access for its owner only, since hashed tokens are part of it.
const BACKUP_MODE: u32 = 0o600;

const EXAMPLES: &str = "Examples:
  parley backup /backups/forum.parley
  parley backup --url http://127.0.0.1:7467 --json forum.parley
  parley backup --data ./parley-data forum.parley      (the server is stopped)";

/// The arguments of `parley backup`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BackupArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// The file, which must not be there yet; it is once the copy is complete
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Takes a copy and verifies it.
pub fn run(options: BackupArgs) -> CliResult {
    let mut partial = PartialFile::create(&options.file)?;
    match options.target.resolve()? {
        Target::Server(client) => block_on(fetch(&client, &mut partial))?,
        Target::Folder(folder, _) => copy(folder, &mut partial).map_err(|error| failed(&error))?,
    }
    partial.sync()?;
    // The digest in the copy shows whether all of it arrived.
    let cursor = verify(&partial.path).map_err(|error| failed(&error))?;
    let bytes = partial.bytes;
    partial.rename(&options.file)?;
    let file = options.file.to_string_lossy();
    if options.target.json {
        let object = json!({ "file": file, "bytes": bytes, "cursor": cursor });
        return output::json(&object.to_string());
    }
    let file = in_one_line(&file);
    output::text(&format!("{file}: {bytes} bytes. Keep it as safe as the data folder.\n"))
}

fn failed(error: &StoreError) -> CliError {
    CliError::failed(error.to_string())
}

/// Streams the copy from a server into `partial`. A signal ends the command, which removes it.
async fn fetch(client: &Client, partial: &mut PartialFile) -> CliResult {
    let system = |error| CliError::failed(format!("the system tells of no signals: {error}"));
    let mut signals = Signals::new().map_err(system)?;
    let received = async {
        let response = client.open(Method::GET, "/v1/backup", &[], Bytes::new()).await?;
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            let broke = |error| CliError::failed(format!("the copy broke off: {error}; try again"));
            if let Ok(data) = frame.map_err(broke)?.into_data() {
                partial.write(&data)?;
            }
        }
        Ok(())
    };
    tokio::select! {
        received = received => received,
        _ = signals.next() => Err(CliError::failed("interrupted; nothing was kept")),
    }
}

/// Copies the store of a stopped server, without changing it.
fn copy(folder: Arc<FolderDisk>, partial: &mut PartialFile) -> Result<(), StoreError> {
    let path = folder.path().to_owned();
    let disk: Arc<dyn Disk> = Arc::new(open_read_only(folder, &path)?);
    let clock = SystemClock;
    let opened =
        Journal::open(options::JournalOptions::default(), Arc::clone(&disk), Arc::new(clock))?;
    let tokens = Tokens::open(disk, "", Arc::new(clock))?;
    let mut copying = BackupCopy::begin(&opened.journal, &tokens, clock.now());
    while let Some(piece) = copying.piece()? {
        let written = partial.file.write_all(&piece);
        written.map_err(|error| StoreError::io(partial.path.display().to_string(), error))?;
        partial.bytes += piece.len() as u64;
    }
    Ok(())
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> CliError {
    CliError::failed(format!("cannot {what} {}: {error}", path.display()))
}

/// A file beside the target, removed on drop unless renamed to it.
struct PartialFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl PartialFile {
    fn create(target: &Path) -> CliResult<Self> {
        let name = target.file_name().ok_or_else(|| {
            CliError::usage(format!("{} names no file to write the copy to", target.display()))
        })?;
        refuse_present(target)?;
        let mut partial = name.to_owned();
        partial.push(format!(".{:016x}.part", u64::from_le_bytes(entropy())));
        let path = target.with_file_name(partial);
        let file = OpenOptions::new().write(true).create_new(true).mode(BACKUP_MODE).open(&path);
        let file = file.map_err(|error| cannot("create", &path, &error))?;
        Ok(Self { path, file, bytes: 0 })
    }

    fn write(&mut self, data: &[u8]) -> CliResult {
        self.bytes += data.len() as u64;
        self.file.write_all(data).map_err(|error| cannot("write", &self.path, &error))
    }

    fn sync(&self) -> CliResult {
        self.file.sync_all().map_err(|error| cannot("sync", &self.path, &error))
    }

    /// Renames it to `target`, durably.
    fn rename(self, target: &Path) -> CliResult {
        refuse_present(target)?;
        std::fs::rename(&self.path, target).map_err(|error| cannot("write", target, &error))?;
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let synced = File::open(parent).and_then(|parent| parent.sync_all());
        synced.map_err(|error| cannot("sync", parent, &error))
    }
}

/// Refuses a target that exists: no copy is overwritten.
fn refuse_present(target: &Path) -> CliResult {
    if target.symlink_metadata().is_err() {
        return Ok(());
    }
    let file = target.display();
    Err(CliError::failed(format!("{file} is there already: name another file")))
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // After `rename` nothing is left. A file that cannot be removed shows by its ending.
        let _ = std::fs::remove_file(&self.path);
    }
}
