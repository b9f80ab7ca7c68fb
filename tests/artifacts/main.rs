//! Profile `artifacts`: canonical form, semantics and closure, from tables of cases, the
//! public vectors, and comparison with a second implementation.

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

mod canonical;
mod closure;
mod closure_large;
mod export;
mod export_rules;
mod fuzz;
mod fuzzed;
mod naive;
mod naive_semantics;
mod properties;
mod semantics;
mod table;
mod vectors;

#[path = "../support/generator.rs"]
mod generator;
#[path = "../support/stage.rs"]
mod stage;
