//! The tokens of a first start (operations.md §1).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use parley_protocol::identity::{Right, Rights};
use parley_protocol::refusal::Refusal;

use super::{NewToken, TokenName, Tokens, secret};
use crate::storage::error::{StoreError, StoreResult};

/// The file in the data folder with the secret of `human:admin`, mode 0600.
pub const ADMIN_TOKEN_NAME: &str = "admin.token";

/// The secrets that the first start of a data folder makes; shown once.
#[derive(Clone)]
pub struct FirstStart {
    /// The secret of `human:admin`.
    pub admin: String,
    /// The secret of the handle `agent`, which reads and writes.
    pub agent: String,
}

pub(super) fn make(tokens: &Tokens, folder: &Path) -> StoreResult<FirstStart> {
    let admin = make_admin(tokens, folder, 0)?;
    let agent = NewToken {
        name: TokenName::Handle("agent".into()),
        rights: [Right::Read, Right::Write].into_iter().collect(),
        label: None,
        expires_at: None,
    };
    let (_, agent) = tokens.create(&agent, tokens.clock.now()).map_err(refused)?;
    Ok(FirstStart { admin, agent })
}

/// Makes a token of `human:admin`, skipping `skipped` numbers, and writes its secret to
/// `folder`.
pub(super) fn make_admin(tokens: &Tokens, folder: &Path, skipped: u64) -> StoreResult<String> {
    let admin = secret::draw();
    // Before its hash is stored: the secret of a token in force must be readable somewhere.
    write_secret(folder, &admin).map_err(|error| {
        StoreError::io(folder.join(ADMIN_TOKEN_NAME).display().to_string(), error)
    })?;
    let human = NewToken {
        name: TokenName::Human("admin".into()),
        rights: Rights::HUMAN.with(Right::Admin),
        label: None,
        expires_at: None,
    };
    tokens.create_with(&human, tokens.clock.now(), &admin, skipped).map_err(refused)?;
    Ok(admin)
}

fn refused(refusal: Refusal) -> StoreError {
    StoreError::damaged(super::FILE_NAME, refusal.to_string())
}

/// Writes the secret to `folder`, completely or not at all, and syncs it.
fn write_secret(folder: &Path, secret: &str) -> io::Result<()> {
    let (path, draft) = (folder.join(ADMIN_TOKEN_NAME), folder.join("admin.token.draft"));
    let mut file =
        OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&draft)?;
    writeln!(file, "{secret}")?;
    file.sync_all()?;
    fs::rename(&draft, &path)?;
    File::open(folder)?.sync_all()
}
