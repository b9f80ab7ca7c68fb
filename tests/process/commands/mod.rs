//! The binary as a shell runs it: what it prints where, and how it ends (operations.md §1).

mod artifacts;
mod conversation;
mod demo;
mod parley;
mod served;
mod serving;
mod tokens;
mod usage;
mod watching;
