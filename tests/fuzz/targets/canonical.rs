//! See `src/canonical.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    parley_fuzz::canonical::agree(bytes);
});
