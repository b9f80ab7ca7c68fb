//! Awake threads: one supervised actor per thread, the router that finds or wakes it, and the
//! bounds on the work that may wait for it.

pub mod active_threads;
pub mod actor;
pub mod admission;
pub mod deps;
pub mod in_flight_keys;
pub mod router;
