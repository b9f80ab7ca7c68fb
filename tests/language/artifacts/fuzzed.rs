//! The checks of fuzzing, which tables and random inputs use too.

use super::{naive, naive_semantics};

#[path = "../../fuzz/src/canonical.rs"]
pub mod canonical;
#[path = "../../fuzz/src/publish.rs"]
pub mod publish;
