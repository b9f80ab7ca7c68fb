//! The tokens of a first start (operations.md §1).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use parley_protocol::refusal::Refusal;
use parley_protocol::who::{Right, Rights};

use super::super::error::StoreError;
use super::{Name, NewToken, Tokens, secret};

/// The file in the data folder that holds the human's admin secret, mode 0600.
pub const ADMIN_TOKEN_NAME: &str = "admin.token";

/// What the first start of a data folder makes; shown once.
#[derive(Clone)]
pub struct FirstStart {
    /// The secret of `human:admin`.
    pub admin: String,
    /// The secret of the handle `agent`, which reads and writes.
    pub agent: String,
}

pub(super) fn make(tokens: &Tokens, folder: &Path) -> Result<FirstStart, StoreError> {
    let now = tokens.clock.now();
    let admin = secret::draw();
    // Before its hash: a secret that is in force must not exist nowhere.
    leave(folder, &admin).map_err(|error| {
        StoreError::io(folder.join(ADMIN_TOKEN_NAME).display().to_string(), error)
    })?;
    let human = NewToken {
        name: Name::Human("admin".into()),
        rights: Rights::HUMAN.with(Right::Admin),
        label: None,
        expires_at: None,
    };
    let agent = NewToken {
        name: Name::Handle("agent".into()),
        rights: [Right::Read, Right::Write].into_iter().collect(),
        label: None,
        expires_at: None,
    };
    let refused =
        |refusal: Refusal| StoreError::damaged(super::store::TOKENS_NAME, refusal.to_string());
    tokens.create_with(&human, now, &admin).map_err(refused)?;
    let (_, agent) = tokens.create(&agent, now).map_err(refused)?;
    Ok(FirstStart { admin, agent })
}

/// Writes the secret into `folder`, whole or not at all, and syncs it.
fn leave(folder: &Path, secret: &str) -> io::Result<()> {
    let (path, draft) = (folder.join(ADMIN_TOKEN_NAME), folder.join("admin.token.draft"));
    let mut file =
        OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&draft)?;
    writeln!(file, "{secret}")?;
    file.sync_all()?;
    fs::rename(&draft, &path)?;
    File::open(folder)?.sync_all()
}
