//! Tokens (parley.md §1, bindings.md §3): principals and their secrets, in a file of their own.
//!
//! Secrets are stored hashed and never shown again. The tokens are in memory, as one immutable
//! snapshot that every call reads; a change is on the disk before it is in force.

mod first;
mod new;
mod record;
mod secret;
mod store;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use parley_protocol::identity::{HUMAN_REALM, Principal, Right};
use parley_protocol::ids::{ID_END, TokenId};
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::time::Millis;
use subtle::ConstantTimeEq;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::storage::disk::Disk;
use crate::storage::error::StoreResult;
use crate::storage::migration::migrate;
use crate::storage::panic_guard::panic_guard;
use crate::storage::rows::NextRow;

pub use first::{ADMIN_TOKEN_NAME, FirstStart};
pub use new::{NewToken, TokenName};
pub use record::TokenRecord;
use store::TokenStore;
pub use store::{FILE_FORMAT, FILE_NAME};

/// The tokens at one moment.
#[derive(Clone, Default)]
struct TokenSnapshot {
    by_hash: imbl::HashMap<[u8; 32], Arc<KnownToken>>,
    by_id: imbl::OrdMap<TokenId, Arc<KnownToken>>,
    /// Each name ever used, by kind and in lower case, in its first spelling.
    names: imbl::HashMap<(bool, String), Arc<str>>,
}

struct KnownToken {
    record: TokenRecord,
    principal: Arc<Principal>,
}

/// All tokens ever made.
///
/// Changes are serialized, and each is durable before it is in force: a call of [`Tokens::find`]
/// that begins after [`Tokens::create`] or [`Tokens::revoke`] returned sees the change, also after
/// a restart. Numbers rise and are never reused; a record is never removed, and once revoked it
/// stays so.
pub struct Tokens {
    realm: Arc<str>,
    clock: Arc<dyn Clock>,
    snapshot: ArcSwap<TokenSnapshot>,
    /// Locked while a change is written, which serializes changes.
    store: Mutex<TokenStore>,
    revoked: watch::Sender<u64>,
}

impl Tokens {
    /// Opens the tokens on `disk`, making the file where there is none. New handles are of `realm`.
    ///
    /// # Errors
    /// `StoreError`.
    pub fn open(disk: Arc<dyn Disk>, realm: &str, clock: Arc<dyn Clock>) -> StoreResult<Self> {
        let (store, records) = panic_guard(FILE_NAME, || {
            migrate(&*disk, &[FILE_FORMAT])?;
            TokenStore::open(disk)
        })?;
        let mut snapshot = TokenSnapshot::default();
        for record in records {
            snapshot.put(record);
        }
        Ok(Self {
            realm: realm.into(),
            clock,
            snapshot: ArcSwap::from_pointee(snapshot),
            store: Mutex::new(store),
            revoked: watch::Sender::new(0),
        })
    }

    fn store(&self) -> MutexGuard<'_, TokenStore> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the tokens of a first start, if there is no token: the human's, whose secret is also
    /// written to `folder`, and an agent's.
    ///
    /// # Errors
    /// `StoreError`, of the file in the folder too.
    pub fn first_start(&self, folder: &Path) -> StoreResult<Option<FirstStart>> {
        if !self.snapshot.load().by_id.is_empty() {
            return Ok(None);
        }
        first::make(self, folder).map(Some)
    }

    /// Makes the administrator's token of a restored `folder`, to which its secret is written; its
    /// number skips `skipped`, so that no number of the source is assigned again (operations.md
    /// §1).
    ///
    /// # Errors
    /// `StoreError`, of the file in the folder too.
    pub(crate) fn renew_admin(&self, folder: &Path, skipped: u64) -> StoreResult<()> {
        first::make_admin(self, folder, skipped).map(drop)
    }

    /// All tokens at one moment, encoded as they are stored, by number.
    pub(super) fn rows(&self) -> impl Iterator<Item = StoreResult<(u64, Vec<u8>)>> + Send + use<> {
        let by_id = self.snapshot.load().by_id.clone();
        by_id.into_iter().map(|(id, token)| Ok((id.0, store::encode(&token.record)?)))
    }

    /// Makes the file of the tokens of the rows of a copy.
    pub(super) fn refill(disk: &dyn Disk, next: NextRow<'_>) -> StoreResult<()> {
        store::refill(disk, next)
    }

    /// Whether each token has a secret of its own.
    pub(super) fn is_sound(&self) -> bool {
        let snapshot = self.snapshot.load();
        snapshot.by_hash.len() == snapshot.by_id.len()
    }

    /// Whether `secret` is that of a token, valid or not.
    pub(super) fn knows(&self, secret: &str) -> bool {
        self.snapshot.load().by_hash.contains_key(&secret::hash(secret))
    }

    /// The principal with `secret` at `now`; `None` if it is unknown, revoked or expired.
    pub fn find(&self, secret: &str, now: Millis) -> Option<Arc<Principal>> {
        let hash = secret::hash(secret);
        let snapshot = self.snapshot.load();
        let token = snapshot.by_hash.get(&hash)?;
        // The lookup is by a digest that a caller cannot choose; the comparison takes constant
        // time.
        let same: bool = token.record.secret.ct_eq(&hash).into();
        (same && token.record.is_good(now)).then(|| Arc::clone(&token.principal))
    }

    /// The current record of the token `id`.
    pub fn get(&self, id: TokenId) -> Option<TokenRecord> {
        self.snapshot.load().by_id.get(&id).map(|token| token.record.clone())
    }

    /// Makes a token; returns its record and its secret, which is not shown again.
    ///
    /// # Errors
    /// 409 `handle_conflict`, 503 `storage_unavailable`.
    pub fn create(&self, new: &NewToken, now: Millis) -> Result<(TokenRecord, String)> {
        let secret = secret::draw();
        self.create_with(new, now, &secret, 0).map(|record| (record, secret))
    }

    /// As [`Tokens::create`], with a given secret, skipping `skipped` numbers.
    fn create_with(
        &self,
        new: &NewToken,
        now: Millis,
        secret: &str,
        skipped: u64,
    ) -> Result<TokenRecord> {
        let mut store = self.store();
        let mut snapshot = TokenSnapshot::clone(&self.snapshot.load());
        let (human, name) = match &new.name {
            TokenName::Handle(handle) => (false, handle),
            TokenName::Human(name) => (true, name),
        };
        if let Some(used) = snapshot.names.get(&(human, name.to_ascii_lowercase()))
            && **used != **name
        {
            return Err(Refusal::handle_conflict(used));
        }
        let realm: &str = if human { HUMAN_REALM } else { &self.realm };
        let last = snapshot.by_id.get_max().map_or(0, |(id, _)| id.0);
        let record = TokenRecord {
            id: TokenId((last + skipped + 1).min(ID_END - 1)),
            identity: format!("{realm}:{name}").into(),
            human,
            rights: new.rights,
            label: new.label.clone(),
            created_at: now,
            expires_at: new.expires_at,
            revoked_at: None,
            secret: secret::hash(secret),
        };
        store.put(&record)?;
        snapshot.put(record.clone());
        self.snapshot.store(Arc::new(snapshot));
        Ok(record)
    }

    /// Up to `limit` tokens after `after`, in the order of creation.
    pub fn list(&self, after: TokenId, limit: usize) -> Vec<TokenRecord> {
        let snapshot = self.snapshot.load();
        let after = snapshot.by_id.range(TokenId(after.0 + 1)..);
        after.take(limit).map(|(_, token)| token.record.clone()).collect()
    }

    /// Revokes the token `id`, in force at once.
    ///
    /// # Errors
    /// 404 `not_found` if it is unknown or revoked already, 409 `last_admin`, 503
    /// `storage_unavailable`.
    pub fn revoke(&self, id: TokenId, now: Millis) -> Result<()> {
        let mut store = self.store();
        let mut snapshot = TokenSnapshot::clone(&self.snapshot.load());
        let token = snapshot.by_id.get(&id).filter(|token| token.record.revoked_at.is_none());
        let record = token.map(|token| token.record.clone());
        let mut record = record.ok_or_else(|| Refusal::token_not_revocable(id))?;
        let administers =
            |record: &TokenRecord| record.is_good(now) && record.rights.has(Right::Admin);
        let others = snapshot.by_id.values().filter(|token| token.record.id != id);
        if administers(&record) && !others.into_iter().any(|token| administers(&token.record)) {
            return Err(Refusal::last_admin());
        }
        record.revoked_at = Some(now);
        store.put(&record)?;
        snapshot.put(record);
        self.snapshot.store(Arc::new(snapshot));
        self.revoked.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Waits until the token `id` is revoked or has expired.
    pub async fn ended(&self, id: TokenId) {
        let mut revoked = self.revoked.subscribe();
        loop {
            revoked.mark_unchanged();
            let now = self.clock.now();
            let Some(record) = self.get(id).filter(|record| record.is_good(now)) else {
                return;
            };
            // The clock may be set while this sleeps, so the expiry is checked once a minute.
            let left = record.expires_at.map_or(60_000, |at| (at.0 - now.0).min(60_000));
            tokio::select! {
                _ = revoked.changed() => {}
                () = tokio::time::sleep(Duration::from_millis(left)) => {}
            }
        }
    }
}

impl TokenSnapshot {
    fn put(&mut self, record: TokenRecord) {
        let name = record.identity.split_once(':').map_or("", |(_, name)| name);
        let key = (record.human, name.to_ascii_lowercase());
        self.names.entry(key).or_insert_with(|| name.into());
        let token = Arc::new(KnownToken { principal: Arc::new(record.principal()), record });
        self.by_hash.insert(token.record.secret, Arc::clone(&token));
        self.by_id.insert(token.record.id, token);
    }
}
