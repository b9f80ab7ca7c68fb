//! What is done with a whole data folder: backup, restore, check.

pub mod backup;
pub mod check;
