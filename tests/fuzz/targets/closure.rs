//! See `src/closure.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parley_fuzz::closure::run(bytes));
