//! The language against its pages: tables written from the pages alone, second implementations
//! written along them, and seeded random input to which both must say the same.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::float_cmp,
    clippy::format_push_string,
    clippy::needless_for_each,
    clippy::unused_async,
    clippy::struct_field_names,
    reason = "a test that cannot go on panics, and says what it did"
)]

mod arguments;
mod artifacts;
mod generator;
mod harness;
mod language;
mod notation;
mod scenario;
