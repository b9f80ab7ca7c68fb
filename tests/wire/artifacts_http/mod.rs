//! Artifacts over HTTP: what is published, listed, verified and exported (artifacts.md §4).

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

mod export;
mod publish;
mod server;
