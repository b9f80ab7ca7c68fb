//! The target that `PARLEY_FUZZ_TARGET` names, of those in `tests/kit/fuzz`.
#![no_main]

use std::sync::LazyLock;

use parley_kit::fuzz::{TARGETS, Target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("PARLEY_FUZZ_TARGET").expect("PARLEY_FUZZ_TARGET names a target");
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("there is no target {name}")).1
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| TARGET(bytes));
