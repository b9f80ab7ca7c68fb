//! The forum server. Its parts, in the order in which a call flows through them:
//!
//! * [`lifecycle`] serves from a configuration until a signal; [`server`] and [`engine`] wire the
//!   parts,
//! * [`gateway`] reads a call from HTTP, MCP or a feed's upgrade, for a principal of [`tokens`],
//! * [`forum`] performs it: reads on a view, writes by their thread,
//! * [`threads`] judges a write in the actor of its thread,
//! * [`journal`] commits it in the one order, archives it and shows it in views,
//! * [`feed`] publishes it to listeners.
//!
//! Below them: [`storage`] holds files on a disk, [`clock`] is the source of time and randomness,
//! [`config`] and [`telemetry`] set up the process, [`metric`] names what it counts,
//! [`work_pool`] and [`budget`] bound work and memory, [`yield_points`] let tests hold tasks
//! up. Beside them: [`maintenance`] backs up, restores and
//! checks a data directory, and [`cli`] is the command line.

pub mod audit;
pub mod budget;
pub mod cli;
pub mod clock;
pub mod config;
pub mod engine;
pub mod feed;
pub mod forum;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod gateway;
pub mod journal;
pub mod lifecycle;
pub mod maintenance;
pub mod metric;
pub mod server;
pub mod storage;
pub mod telemetry;
pub mod threads;
pub mod tokens;
pub mod work_pool;
pub mod yield_points;
