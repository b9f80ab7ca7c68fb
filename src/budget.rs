//! Budgets of what peers have under way: the bytes that wait to be read from them or written to
//! them (operations.md §2, `overload.*_bytes`), and calls that wait for each other.
//!
//! A budget has a share of its own for peers without a good token, so that they cannot use up that
//! of the others; and no holder has more than a quarter of the share that it draws from.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use foldhash::fast::RandomState;
use parley_protocol::identity::Identity;
use parley_protocol::refusal::{Refusal, Result};

/// The part of a budget that peers without a good token share, and the part of each share that one
/// holder has at most.
const PART: usize = 4;

/// A peer, as a budget counts it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// One that has shown a good token.
    Identity(Identity),
    /// One that has not.
    Address(IpAddr),
}

/// A budget. Cheap to clone.
#[derive(Clone)]
pub struct Budget(Arc<Mutex<Shares>>);

#[derive(Default)]
struct Shares {
    identities: Share,
    addresses: Share,
}

/// The units of one kind of holders.
#[derive(Default)]
struct Share {
    used: usize,
    max: usize,
    by_holder: HashMap<Holder, usize, RandomState>,
}

impl Shares {
    fn share(&mut self, holder: &Holder) -> &mut Share {
        match holder {
            Holder::Identity(_) => &mut self.identities,
            Holder::Address(_) => &mut self.addresses,
        }
    }
}

impl Share {
    fn take(&mut self, holder: &Holder, units: usize) -> Result<()> {
        if self.used + units > self.max {
            return Err(Refusal::overloaded());
        }
        let max = self.max / PART;
        let held = match self.by_holder.get_mut(holder) {
            Some(held) => held,
            None => self.by_holder.entry(holder.clone()).or_default(),
        };
        if *held + units > max {
            if *held == 0 {
                self.by_holder.remove(holder);
            }
            return Err(Refusal::share_used());
        }
        *held += units;
        self.used += units;
        Ok(())
    }

    fn give_back(&mut self, holder: &Holder, units: usize) {
        self.used -= units;
        if let Some(held) = self.by_holder.get_mut(holder) {
            *held -= units;
            if *held == 0 {
                self.by_holder.remove(holder);
            }
        }
    }
}

impl Budget {
    /// A budget of so many units, in most cases bytes, of which peers without a good token share a
    /// quarter.
    pub fn new(units: u64) -> Self {
        let units = usize::try_from(units).unwrap_or(usize::MAX);
        let share = |max| Share { max, ..Share::default() };
        let addresses = units / PART;
        Self(Arc::new(Mutex::new(Shares {
            identities: share(units - addresses),
            addresses: share(addresses),
        })))
    }

    fn shares(&self) -> MutexGuard<'_, Shares> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many units for `holder`, until the hold is dropped.
    ///
    /// # Errors
    /// 503 `overloaded` if the share, or the holder's part of it, is used up.
    pub fn hold(&self, holder: &Holder, units: usize) -> Result<Hold> {
        let mut hold = Hold { budget: self.clone(), holder: holder.clone(), units: 0 };
        hold.grow(units)?;
        Ok(hold)
    }

    /// `bytes` as an answer of `holder`: they are held until the last copy is dropped, which is
    /// when they are written or the connection has ended.
    ///
    /// # Errors
    /// 503 `overloaded`.
    pub fn hold_answer(&self, holder: &Holder, bytes: Bytes) -> Result<Bytes> {
        let hold = self.hold(holder, bytes.len())?;
        Ok(hold.around(bytes))
    }

    /// Units that are held now.
    pub fn used(&self) -> usize {
        let shares = self.shares();
        shares.identities.used + shares.addresses.used
    }
}

/// Units of a budget, free again when this is dropped.
pub struct Hold {
    budget: Budget,
    holder: Holder,
    units: usize,
}

impl Hold {
    /// Holds so many units more.
    ///
    /// # Errors
    /// 503 `overloaded`; what was held stays held.
    pub fn grow(&mut self, units: usize) -> Result<()> {
        if units > 0 {
            self.budget.shares().share(&self.holder).take(&self.holder, units)?;
            self.units += units;
        }
        Ok(())
    }

    /// `bytes`, which keep the hold until their last copy is dropped.
    pub fn around(self, bytes: Bytes) -> Bytes {
        if bytes.is_empty() { bytes } else { Bytes::from_owner(HeldBytes { bytes, _hold: self }) }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.units > 0 {
            self.budget.shares().share(&self.holder).give_back(&self.holder, self.units);
        }
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Hold").field("units", &self.units).finish_non_exhaustive()
    }
}

struct HeldBytes {
    bytes: Bytes,
    _hold: Hold,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parley_protocol::refusal::Reason;

    /// Goal: holders have a quarter of their share, peers without a token a share of their own, and
    /// everything is free again. Method: one budget, filled by both kinds.
    #[test]
    fn shares() {
        let budget = Budget::new(1_600);
        let identity = |name: &str| Holder::Identity(name.into());
        let address = |last| Holder::Address(IpAddr::from([127, 0, 0, last]));
        let refused = |holder: &Holder, bytes| {
            budget.hold(holder, bytes).map_err(|one| one.reason).err() == Some(Reason::Overloaded)
        };
        let mut held: Vec<Hold> = (0..4)
            .map(|last| budget.hold(&address(last), 100).expect("a quarter of the share"))
            .collect();
        assert!(refused(&address(0), 1) && refused(&address(9), 1));
        for name in ["ada", "bob", "cyd", "dee"] {
            held.push(budget.hold(&identity(name), 300).expect("a quarter of the share"));
        }
        assert!(refused(&identity("ada"), 1) && refused(&identity("eve"), 1));
        assert_eq!(budget.used(), 1_600);
        held.clear();
        assert_eq!(budget.used(), 0);
        assert!(budget.shares().identities.by_holder.is_empty());
        let mut hold = budget.hold(&identity("ada"), 200).expect("free again");
        assert!(hold.grow(101).is_err());
        hold.grow(100).expect("the quarter");
        assert_eq!(budget.used(), 300);
    }

    /// Goal: an answer is held until its last copy is dropped. Method: a copy that outlives it.
    #[test]
    fn answers() {
        let budget = Budget::new(1_600);
        let holder = Holder::Identity("local:ada".into());
        let answer = budget.hold_answer(&holder, Bytes::from(vec![7; 200])).expect("free");
        let rest = answer.slice(150..);
        drop(answer);
        assert_eq!((budget.used(), &rest[..]), (200, &[7; 50][..]));
        drop(rest);
        assert_eq!(budget.used(), 0);
    }
}
