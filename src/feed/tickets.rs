//! Issues and redeems tickets (bindings.md §6): secrets valid for one upgrade each, for browsers,
//! which cannot send a token with it. Held hashed, in memory, and bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use parley_protocol::identity::{Identity, Principal};
use parley_protocol::ids::TokenId;
use parley_protocol::limits::TICKET_SECONDS;
use parley_protocol::refusal::{Refusal, Result};
use sha2::{Digest, Sha256};

use super::{lock, release};
use crate::clock::{Moment, entropy};

/// Milliseconds for which a ticket is valid.
pub const TICKET_MS: u64 = TICKET_SECONDS * 1_000;
/// Tickets in all; beyond, 503 `overloaded`.
pub const TICKETS_MAX: usize = 16_384;
/// Tickets of one identity; beyond, 429 `rate_limited`.
pub const TICKETS_PER_IDENTITY_MAX: usize = 256;

type TicketHash = [u8; 32];

struct Ticket {
    principal: Arc<Principal>,
    expires_at: Moment,
}

#[derive(Default)]
struct TicketTable {
    by_hash: HashMap<TicketHash, Ticket>,
    per_identity: HashMap<Identity, usize>,
}

/// The valid tickets.
#[derive(Default)]
pub struct Tickets(Mutex<TicketTable>);

impl Tickets {
    /// Makes a ticket for `principal`, valid for [`TICKET_MS`]; gives its secret.
    ///
    /// # Errors
    /// 429 `rate_limited`, 503 `overloaded`.
    pub fn issue(&self, principal: &Arc<Principal>, now: Moment) -> Result<String> {
        let mut held = lock(&self.0);
        let count = held.per_identity.get(&principal.identity).copied().unwrap_or_default();
        if held.by_hash.len() >= TICKETS_MAX || count >= TICKETS_PER_IDENTITY_MAX {
            held.drop_if(|ticket| ticket.expires_at <= now);
        }
        let count = held.per_identity.get(&principal.identity).copied().unwrap_or_default();
        if count >= TICKETS_PER_IDENTITY_MAX {
            return Err(Refusal::tickets_of_identity(TICKET_MS));
        }
        if held.by_hash.len() >= TICKETS_MAX {
            return Err(Refusal::tickets_full());
        }
        let secret = entropy::<32>().map(|byte| format!("{byte:02x}")).concat();
        let expires_at = Moment(now.0 + TICKET_MS);
        let ticket = Ticket { principal: Arc::clone(principal), expires_at };
        held.by_hash.insert(hash(&secret), ticket);
        held.per_identity.insert(Arc::clone(&principal.identity), count + 1);
        Ok(secret)
    }

    /// Removes a ticket; gives its principal, if it was valid.
    pub fn redeem(&self, secret: &str, now: Moment) -> Option<Arc<Principal>> {
        let mut held = lock(&self.0);
        let ticket = held.by_hash.remove(&hash(secret))?;
        release(&mut held.per_identity, &ticket.principal.identity);
        (now < ticket.expires_at).then_some(ticket.principal)
    }

    /// Drops the tickets of a token that was revoked.
    pub fn revoke(&self, token: TokenId) {
        lock(&self.0).drop_if(|ticket| ticket.principal.token == token);
    }
}

impl TicketTable {
    fn drop_if(&mut self, is_over: impl Fn(&Ticket) -> bool) {
        let over: Vec<_> = self.by_hash.extract_if(|_, ticket| is_over(ticket)).collect();
        for (_, ticket) in over {
            release(&mut self.per_identity, &ticket.principal.identity);
        }
    }
}

fn hash(secret: &str) -> TicketHash {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parley_protocol::refusal::Reason;

    use parley_protocol::identity::{AuthorKind, Rights};

    fn principal(identity: &str, token: u64) -> Arc<Principal> {
        Arc::new(Principal {
            token: TokenId(token),
            identity: identity.into(),
            author_kind: AuthorKind::Llm,
            rights: Rights::default(),
            label: None,
        })
    }

    /// Goal: a ticket is valid once, for 30 s, and not after its token was revoked. Method: one
    /// for each case.
    #[test]
    fn once() {
        let tickets = Tickets::default();
        let ada = principal("local:ada", 1);
        let issue = || tickets.issue(&ada, Moment(1_000)).unwrap();
        let used = issue();
        assert_eq!(tickets.redeem(&used, Moment(30_999)).unwrap().token, TokenId(1));
        assert!(tickets.redeem(&used, Moment(1_001)).is_none());
        let late = issue();
        assert!(tickets.redeem(&late, Moment(31_000)).is_none());
        let revoked = issue();
        tickets.revoke(TokenId(1));
        assert!(tickets.redeem(&revoked, Moment(1_001)).is_none());
        assert!(tickets.redeem("", Moment(1_001)).is_none());
        assert!(lock(&tickets.0).per_identity.is_empty());
    }

    /// Goal: unused tickets are few, for one identity and in all, and make room when they end.
    /// Method: as many as are held, one more, one more later.
    #[test]
    fn few() {
        let tickets = Tickets::default();
        let identities = TICKETS_MAX / TICKETS_PER_IDENTITY_MAX;
        for place in 0..identities {
            let one = principal(&format!("local:{place}"), 1);
            for _ in 0..TICKETS_PER_IDENTITY_MAX {
                tickets.issue(&one, Moment(0)).unwrap();
            }
            let refusal = tickets.issue(&one, Moment(0)).unwrap_err();
            assert_eq!(refusal.reason, Reason::RateLimited);
        }
        let other = principal("local:other", 2);
        assert_eq!(tickets.issue(&other, Moment(1)).unwrap_err().reason, Reason::Overloaded);
        tickets.issue(&other, Moment(TICKET_MS)).unwrap();
        assert_eq!(lock(&tickets.0).by_hash.len(), 1);
    }
}
