//! Rows of the archive and of the tokens as they lie on the disk: the first byte chooses what the
//! rest is read as. What can be read can be shown.

use std::fmt::Debug;
use std::sync::Arc;

use parley::journal::archive::{ArchiveMeta, ArchiveProgress, RememberedOutcome, Retraction};
use parley::tokens::TokenRecord;
use parley_protocol::claim::Claim;
use parley_protocol::entry::{Act, Published};
use parley_protocol::thread::Thread;
use parley_protocol::thread_summary::ThreadSummary;
use parley_protocol::wire::{self, JsonBuffer};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::NOW;

/// Reads a row; what is read and written again reads the same.
fn read<T: DeserializeOwned + Serialize + Debug>(bytes: &[u8]) -> Option<T> {
    let row: T = postcard::from_bytes(bytes).ok()?;
    let written = postcard::to_stdvec(&row).expect("a row");
    let again: T = postcard::from_bytes(&written).expect("what was written");
    assert_eq!(format!("{row:?}"), format!("{again:?}"));
    assert_eq!(postcard::to_stdvec(&again).expect("a row"), written);
    Some(row)
}

/// What is put out is JSON.
fn shown(put: impl FnOnce(&mut JsonBuffer)) {
    let mut out = JsonBuffer::new();
    put(&mut out);
    serde_json::from_slice::<serde_json::Value>(&out).expect("JSON");
}

/// The target.
pub fn run(bytes: &[u8]) {
    let Some((choice, row)) = bytes.split_first() else { return };
    match choice % 10 {
        0 => {
            if let Some(head) = read::<ThreadSummary>(row) {
                shown(|out| wire::thread(out, &head, "1.1.0"));
            }
        }
        1 => {
            if let Some(claim) = read::<Arc<Claim>>(row) {
                shown(|out| wire::claim(out, &claim, NOW));
            }
        }
        2 => {
            if let Some(act) = read::<Act>(row) {
                shown(|out| wire::message(out, &act, None));
                shown(|out| wire::event(out, &act));
            }
        }
        3 => {
            if let Some(record) = read::<TokenRecord>(row) {
                shown(|out| wire::token(out, &record.shown()));
                assert!(!record.is_good(NOW) || record.revoked_at.is_none());
            }
        }
        4 => drop(read::<RememberedOutcome>(row)),
        5 => drop(read::<Retraction>(row)),
        6 => drop(read::<Published>(row)),
        7 => drop(read::<ArchiveMeta>(row)),
        8 => drop(read::<ArchiveProgress>(row)),
        _ => {
            if let Ok(thread) = postcard::from_bytes::<Thread>(row) {
                shown(|out| wire::thread(out, thread.summary(), "1.1.0"));
            }
        }
    }
}
