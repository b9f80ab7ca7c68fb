//! A copy that `parley backup` made, or that somebody says it did: as it is, and its frames under
//! the right digest.

use parley::fuzzing::{read_copy, seal_copy, write_copy};

/// The target.
pub fn run(bytes: &[u8]) {
    // Nobody finds a digest by chance: what is read as it is was written.
    if let Ok(rows) = read_copy(bytes) {
        assert_eq!(read_copy(&write_copy(&rows)).ok(), Some(rows));
    }
    let sealed = seal_copy(bytes);
    let Ok(rows) = read_copy(&sealed) else { return };
    assert_eq!(read_copy(&write_copy(&rows)).ok(), Some(rows));
    // One bit that changed is noticed, wherever it is.
    let at = bytes.first().map_or(0, |first| usize::from(*first) * 13 % sealed.len());
    let mut altered = sealed.clone();
    altered[at] ^= 1;
    assert!(read_copy(&altered).is_err(), "byte {at}");
    assert!(read_copy(&sealed[..sealed.len() - 1]).is_err());
    assert!(read_copy(&[&sealed[..], &[0]].concat()).is_err());
}
