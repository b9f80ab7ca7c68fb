//! See `src/arguments.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parley_fuzz::arguments::run(bytes));
