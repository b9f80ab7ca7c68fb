//! Rows of the archive and of the tokens as they lie on the disk: the first byte chooses what the
//! rest is read as. What can be read can be shown.

use std::fmt::Debug;
use std::sync::Arc;

use parley::journal::archive::{ArchiveMeta, ArchiveProgress, OutcomeRecord, Retraction};
use parley::tokens::TokenRecord;
use parley_protocol::claim::Claim;
use parley_protocol::entry::Published;
use parley_protocol::thread::Thread;
use parley_protocol::wire;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{NOW, act_is_shown, is_shown};

/// Reads a row; what is read and written again reads the same.
fn read<T: DeserializeOwned + Serialize + Debug>(bytes: &[u8]) -> Option<T> {
    let row: T = postcard::from_bytes(bytes).ok()?;
    let written = postcard::to_stdvec(&row).expect("a row");
    let again: T = postcard::from_bytes(&written).expect("what was written");
    assert_eq!(format!("{row:?}"), format!("{again:?}"));
    assert_eq!(postcard::to_stdvec(&again).expect("a row"), written);
    Some(row)
}

/// The target.
pub fn run(bytes: &[u8]) {
    let Some((choice, row)) = bytes.split_first() else { return };
    let _: Option<()> = match choice % 10 {
        0 => read(row).map(|head| is_shown(|out| wire::thread(out, &head, "1.1.0"))),
        1 => read(row).map(|claim: Arc<Claim>| is_shown(|out| wire::claim(out, &claim, NOW))),
        2 => read(row).map(|act| act_is_shown(&act)),
        3 => read(row).map(|record: TokenRecord| {
            is_shown(|out| wire::token(out, &record.shown()));
            assert!(!record.is_good(NOW) || record.revoked_at.is_none());
        }),
        4 => read::<OutcomeRecord>(row).map(drop),
        5 => read::<Retraction>(row).map(drop),
        6 => read::<Published>(row).map(drop),
        7 => read::<ArchiveMeta>(row).map(drop),
        8 => read::<ArchiveProgress>(row).map(drop),
        _ => postcard::from_bytes::<Thread>(row)
            .ok()
            .map(|thread| is_shown(|out| wire::thread(out, thread.summary(), "1.1.0"))),
    };
}
