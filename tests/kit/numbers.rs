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

/// Numbers that rise, each sequence from 1.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    message: u64,
    event: u64,
    claim: u64,
}

impl Numbers for Counters {
    fn message(&mut self) -> MessageId {
        self.message += 1;
        MessageId(self.message)
    }

    fn event(&mut self) -> EventId {
        self.event += 1;
        EventId(self.event)
    }

    fn claim(&mut self) -> ClaimId {
        self.claim += 1;
        ClaimId(self.claim)
    }
}
