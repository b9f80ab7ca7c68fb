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
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::client::Client;
use crate::cli::error::{CliError, CliResult};
use crate::cli::target::{Target, TargetArgs};
use crate::cli::text::in_one_line;
use crate::cli::{block_on, output, speech};
use crate::clock::{Clock, SystemClock, entropy};
use crate::journal::Journal;
use crate::journal::options;
use crate::maintenance::backup::{BackupCopy, verify};
use crate::maintenance::open_read_only;
use crate::storage::disk::{Disk, FolderDisk};
use crate::storage::error::StoreError;
use crate::tokens::Tokens;

/// Only its owner may read a copy: it holds everything, hashed tokens too.
const BACKUP_MODE: u32 = 0o600;

const EXAMPLES: &str = "Examples:
  parley backup /backups/forum.parley
  parley backup --url http://127.0.0.1:7467 --json forum.parley
  parley backup --data ./parley-data forum.parley      (the server is stopped)";

/// Where the copy goes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BackupArgs {
    #[command(flatten)]
    reach: TargetArgs,
    /// The file, which must not be there yet; it is once the copy is complete
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Takes the copy.
pub fn run(options: BackupArgs) -> CliResult {
    let mut draft = UnfinishedFile::beside(&options.file)?;
    match options.reach.way()? {
        Target::Server(client) => block_on(fetch(&client, &mut draft))?,
        Target::Folder(folder, _) => copy(folder, &mut draft).map_err(|error| failed(&error))?,
    }
    draft.sync()?;
    // What arrived is what was sent: the copy itself tells.
    let cursor = verify(&draft.path).map_err(|error| failed(&error))?;
    let bytes = draft.bytes;
    draft.keep(&options.file)?;
    let file = options.file.to_string_lossy();
    if options.reach.json {
        let told = speech::object([
            ("file", Some(Value::from(file))),
            ("bytes", Some(bytes.into())),
            ("cursor", Some(cursor.into())),
        ]);
        return output::json(&told.to_string());
    }
    let file = in_one_line(&file);
    output::text(&format!("{file}: {bytes} bytes. Keep it as safe as the data folder.\n"))
}

fn failed(error: &StoreError) -> CliError {
    CliError::failed(error.to_string())
}

/// Reads the copy from a server into the draft, piece by piece. A signal ends it in good order.
async fn fetch(client: &Client, draft: &mut UnfinishedFile) -> CliResult {
    let system = |error| CliError::failed(format!("the system tells of no signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(system)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(system)?;
    let received = async {
        let response = client.open(Method::GET, "/v1/backup", &[], Bytes::new()).await?;
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            let broke = |error| CliError::failed(format!("the copy broke off: {error}; try again"));
            if let Ok(data) = frame.map_err(broke)?.into_data() {
                draft.write(&data)?;
            }
        }
        Ok(())
    };
    tokio::select! {
        received = received => received,
        _ = interrupt.recv() => Err(CliError::failed("interrupted; nothing was kept")),
        _ = terminate.recv() => Err(CliError::failed("interrupted; nothing was kept")),
    }
}

/// Copies the store in a folder that no server holds, in which nothing changes.
fn copy(folder: Arc<FolderDisk>, draft: &mut UnfinishedFile) -> Result<(), StoreError> {
    let path = folder.path().to_owned();
    let disk: Arc<dyn Disk> = Arc::new(open_read_only(folder, &path)?);
    let clock = SystemClock;
    let opened =
        Journal::open(options::JournalOptions::default(), Arc::clone(&disk), Arc::new(clock))?;
    let tokens = Tokens::open(disk, "", Arc::new(clock))?;
    let mut copying = BackupCopy::begin(&opened.journal, &tokens, clock.now());
    while let Some(piece) = copying.piece()? {
        let written = draft.file.write_all(&piece);
        written.map_err(|error| StoreError::io(draft.path.display().to_string(), error))?;
        draft.bytes += piece.len() as u64;
    }
    Ok(())
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> CliError {
    CliError::failed(format!("cannot {what} {}: {error}", path.display()))
}

/// A file beside the one to come, which goes away unless it is kept.
struct UnfinishedFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl UnfinishedFile {
    fn beside(target: &Path) -> CliResult<Self> {
        let name = target.file_name().ok_or_else(|| {
            CliError::usage(format!("{} names no file to write the copy to", target.display()))
        })?;
        refuse_present(target)?;
        let mut draft = name.to_owned();
        draft.push(format!(".{:016x}.part", u64::from_le_bytes(entropy())));
        let path = target.with_file_name(draft);
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

    /// Gives it its name, durably.
    fn keep(self, target: &Path) -> CliResult {
        refuse_present(target)?;
        std::fs::rename(&self.path, target).map_err(|error| cannot("write", target, &error))?;
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| cannot("sync", folder, &error))
    }
}

/// A copy that is there is never written over.
fn refuse_present(target: &Path) -> CliResult {
    match target.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => {
            let file = target.display();
            Err(CliError::failed(format!("{file} is there already: name another file")))
        }
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        // Gone already if it was kept; what cannot be removed is named by its ending.
        let _ = std::fs::remove_file(&self.path);
    }
}
