//! Numbers for acts that are judged again, beside the forum.

use parley_protocol::entry::Act;
use parley_protocol::ids::{ClaimId, EventId, MessageId, Numbers};

/// The numbers that an act was given.
pub struct Given<'a>(pub &'a Act);

impl Numbers for Given<'_> {
    fn message(&mut self) -> MessageId {
        self.0.message().map_or(MessageId(0), |message| message.id)
    }

    fn event(&mut self) -> EventId {
        self.0.event.as_ref().map_or(EventId(0), |event| event.id)
    }

    fn claim(&mut self) -> ClaimId {
        self.0.claims().next().unwrap_or(ClaimId(0))
    }
}

/// Numbers for what is only asked about.
pub struct Nowhere;

impl Numbers for Nowhere {
    fn message(&mut self) -> MessageId {
        MessageId(u64::MAX)
    }

    fn event(&mut self) -> EventId {
        EventId(u64::MAX)
    }

    fn claim(&mut self) -> ClaimId {
        ClaimId(u64::MAX)
    }
}
