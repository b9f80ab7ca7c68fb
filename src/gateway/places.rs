//! The places of connections: how many there may be, and which one goes when all are taken.
//!
//! A connection is a *newcomer* until its first request is answered, then *known* if it has shown a
//! good token, else a *stranger*. Strangers share what the reserve for known ones leaves, and each
//! address has a bounded part of that; thousands of known connections may have one address. When
//! all places are taken, the connection that has rested longest goes, of whatever kind: one with a
//! request under way, or a feed, does not rest.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;

use super::deadline::ConnectionDeadline;

/// Connections with a request under way that are looked at for one that rests, at most.
const BUSY_MAX: usize = 512;
/// Connections that were told to go and have not gone yet, at most: they count no longer.
const LEAVING_MAX: usize = 128;

/// Bounds on the places.
#[derive(Clone, Copy, Debug)]
pub struct PlaceBounds {
    /// All places.
    pub max: usize,
    /// Of these, places that strangers do not take.
    pub reserve: usize,
    /// Strangers of one address.
    pub per_address_max: usize,
}

impl PlaceBounds {
    /// Bounds of `max` places: the reserve is a half at most, and the part of an address a quarter,
    /// unless that is less than sixteen.
    pub fn new(max: usize, reserve: usize, per_address_max: usize) -> Self {
        let part = max / 4;
        Self {
            max,
            reserve: reserve.min(max / 2),
            per_address_max: per_address_max.min(part.max(16)),
        }
    }
}

const NEWCOMER: u8 = 0;
const STRANGER: u8 = 1;
const KNOWN: u8 = 2;

/// All places. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Places(Arc<Mutex<Taken>>);

#[derive(Debug)]
struct Taken {
    bounds: PlaceBounds,
    connections: HashMap<u64, PlacedConnection, RandomState>,
    last: u64,
    leaving: usize,
    by_rest: ByRest,
    strangers: ByRest,
    by_address: HashMap<IpAddr, ByRest, RandomState>,
}

#[derive(Debug)]
struct PlacedConnection {
    deadline: Arc<ConnectionDeadline>,
    /// The address of a stranger.
    address: Option<IpAddr>,
    is_leaving: bool,
}

/// Connections by the time since which they rested when they were last looked at, the number of
/// each beside it. A connection rests no longer than that.
#[derive(Debug, Default)]
struct ByRest {
    order: BTreeSet<(u64, u64)>,
    stamps: HashMap<u64, u64, RandomState>,
}

impl ByRest {
    fn insert(&mut self, number: u64, since: u64) {
        self.remove(number);
        self.order.insert((since, number));
        self.stamps.insert(number, since);
    }

    fn remove(&mut self, number: u64) {
        if let Some(since) = self.stamps.remove(&number) {
            self.order.remove(&(since, number));
        }
    }

    fn len(&self) -> usize {
        self.stamps.len()
    }

    /// The connection that has rested longest.
    fn longest(
        &mut self,
        connections: &HashMap<u64, PlacedConnection, RandomState>,
        now: u64,
    ) -> Option<u64> {
        let mut busy = Vec::new();
        let mut longest = None;
        while let Some((since, number)) = self.order.pop_first() {
            let resting = connections.get(&number).and_then(|it| it.deadline.resting_since());
            match resting {
                Some(actual) if actual <= since => {
                    self.order.insert((since, number));
                    longest = Some(number);
                    break;
                }
                Some(actual) => self.insert(number, actual),
                None => busy.push(number),
            }
            if busy.len() >= BUSY_MAX {
                break;
            }
        }
        // They begin to rest now at the earliest.
        for number in busy {
            self.insert(number, now);
        }
        longest
    }
}

impl Places {
    /// Free places.
    pub fn new(bounds: PlaceBounds) -> Self {
        Self(Arc::new(Mutex::new(Taken {
            bounds,
            connections: HashMap::default(),
            last: 0,
            leaving: 0,
            by_rest: ByRest::default(),
            strangers: ByRest::default(),
            by_address: HashMap::default(),
        })))
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a newcomer, perhaps that of the connection that has rested longest; `None` if
    /// all are taken and none rests.
    pub fn take(&self, deadline: &Arc<ConnectionDeadline>) -> Option<Place> {
        let mut taken = self.taken();
        if taken.connections.len() - taken.leaving >= taken.bounds.max && !taken.evict_any() {
            return None;
        }
        taken.last += 1;
        let number = taken.last;
        let deadline = Arc::clone(deadline);
        taken.by_rest.insert(number, deadline.resting_since().unwrap_or_default());
        let placed = PlacedConnection { deadline, address: None, is_leaving: false };
        taken.connections.insert(number, placed);
        Some(Place { places: self.clone(), number, kind: AtomicU8::new(NEWCOMER) })
    }
}

impl Taken {
    fn evict_any(&mut self) -> bool {
        let now = super::deadline::now_millis();
        let longest = self.by_rest.longest(&self.connections, now);
        longest.is_some_and(|number| self.evict(number))
    }

    fn evict(&mut self, number: u64) -> bool {
        if self.leaving >= LEAVING_MAX {
            return false;
        }
        self.forget(number);
        let Some(placed) = self.connections.get_mut(&number) else { return false };
        placed.is_leaving = true;
        placed.deadline.evict();
        self.leaving += 1;
        true
    }

    /// Removes a connection from all orders.
    fn forget(&mut self, number: u64) {
        self.by_rest.remove(number);
        self.forget_stranger(number);
    }

    fn forget_stranger(&mut self, number: u64) {
        self.strangers.remove(number);
        let address = self.connections.get_mut(&number).and_then(|placed| placed.address.take());
        if let Some(address) = address
            && let Some(of_address) = self.by_address.get_mut(&address)
        {
            of_address.remove(number);
            if of_address.len() == 0 {
                self.by_address.remove(&address);
            }
        }
    }

    /// Makes room for a stranger of `address`: the longest resting one of the address goes, or of
    /// all strangers, if there are too many. `false` if none rests.
    fn make_room(&mut self, address: IpAddr) -> bool {
        let now = super::deadline::now_millis();
        if let Some(of_address) = self.by_address.get_mut(&address)
            && of_address.len() >= self.bounds.per_address_max
        {
            let longest = of_address.longest(&self.connections, now);
            return longest.is_some_and(|number| self.evict(number));
        }
        if self.strangers.len() < self.bounds.max - self.bounds.reserve {
            return true;
        }
        let longest = self.strangers.longest(&self.connections, now);
        longest.is_some_and(|number| self.evict(number))
    }
}

/// The place of one connection, free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    places: Places,
    number: u64,
    kind: AtomicU8,
}

impl Place {
    /// The connection has shown a good token.
    pub fn set_known(&self) {
        if self.kind.load(Ordering::Relaxed) != KNOWN
            && self.kind.swap(KNOWN, Ordering::Relaxed) == STRANGER
        {
            self.places.taken().forget_stranger(self.number);
        }
    }

    /// A request of the connection is answered. Unless it is known, it is a stranger from
    /// `address`; returns whether it may stay.
    pub fn set_stranger(&self, address: impl FnOnce() -> IpAddr) -> bool {
        if self.kind.load(Ordering::Relaxed) == KNOWN {
            return true;
        }
        let address = address();
        let mut taken = self.places.taken();
        let known = taken.connections.get(&self.number).and_then(|placed| placed.address);
        if known == Some(address) {
            return true;
        }
        taken.forget_stranger(self.number);
        if !taken.make_room(address) {
            return false;
        }
        let Some(placed) = taken.connections.get_mut(&self.number) else { return false };
        if placed.is_leaving {
            return false;
        }
        placed.address = Some(address);
        let now = super::deadline::now_millis();
        taken.strangers.insert(self.number, now);
        taken.by_address.entry(address).or_default().insert(self.number, now);
        self.kind.store(STRANGER, Ordering::Relaxed);
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.forget(self.number);
        let placed = taken.connections.remove(&self.number);
        taken.leaving -= usize::from(placed.is_some_and(|placed| placed.is_leaving));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    struct Opened {
        deadline: Arc<ConnectionDeadline>,
        place: Place,
    }

    fn open(places: &Places) -> Option<Opened> {
        let deadline = ConnectionDeadline::new(Duration::from_secs(10), Duration::from_secs(75));
        let place = places.take(&deadline)?;
        Some(Opened { deadline, place })
    }

    fn address(last: u8) -> IpAddr {
        [127, 0, 0, last].into()
    }

    /// Goal: when all places are taken the longest resting connection goes, of whatever kind, and
    /// none with a request under way. Method: four places, all taken in turn.
    #[test]
    fn longest_resting_goes() {
        let places = Places::new(PlaceBounds::new(4, 0, 4));
        let opened: Vec<Opened> = (0..4).map(|_| open(&places).expect("free")).collect();
        opened[1].place.set_known();
        for (number, opened) in opened.iter().enumerate() {
            opened.deadline.set_busy();
            // The first goes on with its request; the second rests longest.
            if number > 0 {
                opened.deadline.set_idle();
            }
        }
        let mut later = Vec::new();
        for gone in [1, 2, 3] {
            later.push(open(&places).expect("one rests"));
            for it in &later {
                it.deadline.set_busy();
            }
            let evicted: Vec<bool> = opened.iter().map(|it| it.deadline.is_evicted()).collect();
            let want: Vec<bool> = (0..4).map(|number| (1..=gone).contains(&number)).collect();
            assert_eq!(evicted, want);
        }
        assert!(open(&places).is_none(), "none rests");
        later.pop();
        assert!(open(&places).is_some(), "one has gone");
    }

    /// Goal: strangers leave the reserve free and have a part of an address; known ones have
    /// neither bound. Method: sixteen places, a reserve of four, two for an address.
    #[test]
    fn strangers() {
        let places = Places::new(PlaceBounds::new(16, 4, 2));
        let stranger = |last| {
            let opened = open(&places).expect("free");
            opened.deadline.set_busy();
            let stays = opened.place.set_stranger(|| address(last));
            (opened, stays)
        };
        let first = stranger(1);
        let second = stranger(1);
        let third = stranger(1);
        assert!(first.1 && second.1 && !third.1, "two of an address, none of which rests");
        drop(third);
        second.0.deadline.set_idle();
        let fourth = stranger(1);
        assert!(fourth.1 && second.0.deadline.is_evicted(), "the one that rests goes");
        drop(second);
        let others: Vec<_> = (2..12).map(stranger).collect();
        assert!(others.iter().all(|it| it.1));
        let beyond = stranger(99);
        assert!(!beyond.1, "twelve strangers leave four places");
        drop(beyond);
        let known: Vec<Opened> = (0..4)
            .map(|_| {
                let opened = open(&places).expect("the reserve");
                opened.place.set_known();
                opened.deadline.set_busy();
                opened
            })
            .collect();
        assert!(open(&places).is_none(), "all are taken and none rests");
        fourth.0.place.set_known();
        assert_eq!(places.taken().strangers.len(), 11, "a known connection is no stranger");
        assert!(known.iter().all(|it| it.place.set_stranger(|| address(1))), "and stays one");
    }
}
