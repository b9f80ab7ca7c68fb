//! The Parley language: pure, synchronous, without I/O, clock or randomness.

pub mod artifact;
pub mod json;
pub mod text;
