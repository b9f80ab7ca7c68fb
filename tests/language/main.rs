//! The language against its page: tables written from the page alone, and a second, simpler
//! model that must agree with the core on whatever chance brings.

mod dialectic;
mod model;
mod parts;
mod properties;
mod sheet;
mod table;
mod verdict;

#[path = "../support/generator.rs"]
mod generator;
#[path = "../support/scenario.rs"]
mod scenario;
#[path = "../support/stage.rs"]
mod stage;
