//! The journal: one order, group commit, nothing acknowledged lost.

mod claims;
mod commit;
mod failure;
mod folder;
mod opening;
mod pace;
mod replaced;
mod restart;
mod tokens;

use parley::storage::error::StoreError;
use parley_kit::{Cut, Faults, FaultyDisk};

/// A fault of one of four kinds, the last of which is none, at the write `write` or the sync `n`.
fn nth_fault(n: u64, write: u64, kind: u64) -> Faults {
    let at = Faults { lasting: n.is_multiple_of(2), ..Faults::default() };
    match kind {
        0 => Faults { write, torn: n.is_multiple_of(3), ..at },
        1 => Faults { sync: n, ..at },
        2 => Faults { sync: n, sync_reached: true, ..at },
        _ => Faults::default(),
    }
}

/// Begins a store on a disk whose `n`-th write or sync fails, for each `n` up to `most`; then the
/// power goes, or the process, and a store that begins on what is left is shown to `look`.
fn interrupted<T>(
    most: u64,
    begin: impl Fn(&FaultyDisk) -> Result<T, StoreError>,
    look: impl Fn(T),
) {
    for n in 1..=most {
        for (write, sync) in [(n, 0), (0, n)] {
            for cut in [Cut::ForgetAll, Cut::Kill, Cut::KeepSome(n)] {
                let disk = FaultyDisk::default();
                disk.set(Faults { write, sync, lasting: true, torn: true, ..Faults::default() });
                drop(begin(&disk));
                disk.cut(cut);
                let what = || format!("write {write}, sync {sync}, {cut:?}");
                look(begin(&disk).unwrap_or_else(|error| panic!("{}: {error}", what())));
            }
        }
    }
}
