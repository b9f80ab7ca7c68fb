//! The turn of a thread (parley.md §4): the awaited message and the participant that is due.

use serde::{Deserialize, Serialize};

use crate::identity::Participant;
use crate::ids::MessageId;
use crate::time::Millis;

/// The participant that is due.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Due {
    /// Anyone but the participant that asked.
    Anyone,
    /// Exactly this one.
    Participant(Participant),
}

/// The one open turn of a thread (parley.md §4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaiting {
    /// The message that waits for a reply.
    pub message: MessageId,
    /// Its author, which is never due on it.
    pub asker: Participant,
    /// The participant that is due.
    pub due: Due,
    /// When it was set last: the time of the act that named the message.
    pub since: Millis,
}

impl Awaiting {
    /// Whether `participant` may give the reply that is awaited (parley.md §7, inbox): as the bare
    /// line it sees also what is due to any extension of the line, and the questions to anyone
    /// that its extensions asked. `anyone` false leaves out the questions to anyone.
    pub fn concerns(&self, participant: &Participant, anyone: bool) -> bool {
        match &self.due {
            Due::Anyone => anyone && self.asker != *participant,
            Due::Participant(due) => {
                due.identity == participant.identity
                    && (participant.extension.is_none() || due.extension == participant.extension)
            }
        }
    }
}
