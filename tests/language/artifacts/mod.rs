//! Profile `artifacts`: canonical form, semantics and closure, from tables of cases, the
//! public vectors, and comparison with a second implementation.

mod canonical;
mod closure;
mod closure_large;
mod export;
mod export_rules;
mod fuzz;
mod properties;
mod semantics;
mod vectors;

use parley_naive::{self as fuzzed, naive};
