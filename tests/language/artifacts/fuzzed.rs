//! What fuzzing holds the two implementations to, which the tables and chance are held to as well.

use super::{naive, naive_semantics};

#[path = "../../fuzz/src/canonical.rs"]
pub mod canonical;
#[path = "../../fuzz/src/publish.rs"]
pub mod publish;
