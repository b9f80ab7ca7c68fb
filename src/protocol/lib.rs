//! The Parley language: pure, synchronous, without I/O, clock or randomness.

pub mod json;
pub mod text;
