//! The audit trail: one line each, under the target `audit` and at `info`, of who did what that an
//! operator may be asked about later. Secrets are never part of a line.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use parley_protocol::identity::{Principal, Right, Rights};
use parley_protocol::ids::TokenId;

/// The target of all lines.
pub const TARGET: &str = "audit";
/// Addresses that wrong tokens are counted by at a time; further ones are counted together.
const ADDRESSES_MAX: usize = 64;
/// Addresses that one line names, those with the most wrong tokens.
const NAMED_MAX: usize = 8;

/// The server serves.
pub fn started(address: SocketAddr, folder: &Path) {
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(target: TARGET, version, %address, folder = %folder.display(), "started");
}

/// The server stops for `cause`, as a signal.
pub fn stopping(cause: &str) {
    tracing::info!(target: TARGET, cause, "stopping");
}

/// `by` has made a token of `identity` with these rights.
pub fn token_created(by: &Principal, token: TokenId, identity: &str, rights: Rights) {
    let rights: Vec<&str> = rights.iter().map(Right::as_str).collect();
    let (by, rights) = (by.identity.to_string(), rights.join(" "));
    tracing::info!(target: TARGET, by, %token, identity, rights, "token created");
}

/// `by` has revoked a token.
pub fn token_revoked(by: &Principal, token: TokenId) {
    tracing::info!(target: TARGET, by = %by.identity, %token, "token revoked");
}

/// `by` takes a copy of everything, as of `cursor`.
pub fn backup(by: &Principal, cursor: &str) {
    tracing::info!(target: TARGET, by = %by.identity, cursor, "backup begun");
}

/// Counts wrong tokens by address; a line a second sums them up.
#[derive(Debug, Default)]
pub struct WrongTokenSums(Mutex<Sums>);

#[derive(Debug, Default)]
struct Sums {
    by_address: HashMap<IpAddr, u64>,
    others: u64,
}

impl WrongTokenSums {
    /// Counts a wrong token from `address`.
    pub fn count(&self, address: IpAddr) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sums.by_address.len() < ADDRESSES_MAX || sums.by_address.contains_key(&address) {
            *sums.by_address.entry(address).or_default() += 1;
        } else {
            sums.others += 1;
        }
    }

    /// Logs the counts since the last call, if there are any.
    pub fn log(&self) {
        let Sums { by_address, others } =
            std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let count = by_address.values().sum::<u64>() + others;
        if count == 0 {
            return;
        }
        let mut addresses: Vec<(u64, IpAddr)> =
            by_address.into_iter().map(|(address, count)| (count, address)).collect();
        addresses.sort_unstable_by(|one, other| other.cmp(one));
        let mut from = String::new();
        for (count, address) in addresses.iter().take(NAMED_MAX) {
            let comma = if from.is_empty() { "" } else { ", " };
            // Writing to a text cannot fail.
            let _ = write!(from, "{comma}{address}: {count}");
        }
        tracing::info!(target: TARGET, count, from, "wrong tokens");
    }
}
