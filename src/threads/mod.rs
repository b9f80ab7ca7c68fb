//! Active threads: an actor for each, the routers that find, start and supervise actors, and the
//! bounds on calls under way.

pub mod active_threads;
pub mod actor;
pub mod admission;
pub mod deps;
pub mod in_flight_keys;
pub mod router;
