//! A second, plainer implementation of artifacts (artifacts.md), and what the tables, random input
//! and fuzzing hold the two to: they say the same. The seeded random numbers of all tests too.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test that cannot go on panics; what a name says is not said again"
)]

pub mod canonical;
pub mod naive;
pub mod naive_closure;
pub mod naive_semantics;
pub mod publish;
pub mod rng;
