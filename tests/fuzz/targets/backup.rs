//! See `src/backup.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parley_fuzz::backup::run(bytes));
