//! Threads and claims: tables written from parley.md alone, and a second, simpler model that must
//! agree with the core on random commands.

mod dialectic;
mod model;
mod parts;
mod properties;
mod sheet;
mod table;
mod verdict;
