//! Rows of the log as they lie on the disk: eight bytes of key, then the row; and the entries in
//! it. What its checksum does not let through is looked at under the right one too.

use parley::fuzzing::{read_log_row, seal_log_row, write_log_row};
use parley_protocol::entry::Entry;

use super::{Taps, act_is_shown};

fn entry(bytes: &[u8]) {
    let Some(entry) = Entry::decode(bytes) else { return };
    let again = Entry::decode(&entry.encode(Vec::new())).expect("what was written");
    assert_eq!(format!("{again:?}"), format!("{entry:?}"));
    if let Entry::Act(act) = &entry {
        act_is_shown(act);
    }
}

/// The target.
pub fn run(bytes: &[u8]) {
    let mut taps = Taps(bytes);
    let key = taps.number();
    entry(taps.0);
    if let Some(row) = read_log_row(key, taps.0) {
        assert!(row.entries.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
    let sealed = seal_log_row(key, taps.0);
    let Some(row) = read_log_row(key, &sealed) else {
        assert!(taps.0.len() < 8, "only a row without a header is none");
        return;
    };
    assert!(row.entries.windows(2).all(|pair| pair[0].0 < pair[1].0));
    for (_, bytes) in &row.entries {
        entry(bytes);
    }
    let is_under_its_key = row.entries.first().is_some_and(|(number, _)| *number == key);
    if row.is_whole && is_under_its_key {
        assert_eq!(write_log_row(&row), (key, sealed));
    }
}
