//! The journal: one order, group commit, nothing acknowledged lost.

mod commit;
mod failure;
mod folder;
mod restart;
mod tokens;
