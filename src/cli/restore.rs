//! `parley restore`: fills an absent or empty data directory from a copy.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;

use crate::cli::error::{CliError, CliResult};
use crate::cli::output;
use crate::cli::target::DataFolder;
use crate::cli::text::in_one_line;
use crate::clock::{Clock, SystemClock};
use crate::maintenance::backup::restore;
use crate::tokens::ADMIN_TOKEN_NAME;

const EXAMPLES: &str = "Example:
  parley restore /backups/forum.parley --data ./restored
  parley check --data ./restored";

/// The arguments of `parley restore`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RestoreArgs {
    /// The copy
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    folder: DataFolder,
    /// Answer with JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Restores a copy and prints where it ends.
pub fn run(options: RestoreArgs) -> CliResult {
    let folder = options.folder.config()?.data;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let restored = restore(&options.file, &folder, &clock);
    let restored = restored.map_err(|error| CliError::failed(error.to_string()))?;
    let admin = folder.join(ADMIN_TOKEN_NAME);
    if options.json {
        let object = json!({
            "data": folder.to_string_lossy(),
            "cursor": restored.cursor,
            "era": restored.era,
            "entries": restored.last,
            "taken_at": restored.taken_at.to_string(),
            "admin_token": admin.to_string_lossy(),
        });
        return output::json(&object.to_string());
    }
    let line = format!(
        "{} holds what was said up to {} (cursor {}); era {} begins. Tokens of the copy are good; \
         a new one of human:admin lies in {}.",
        folder.display(),
        restored.taken_at,
        restored.cursor,
        restored.era,
        admin.display(),
    );
    output::text(&format!("{}\n", in_one_line(&line)))
}
