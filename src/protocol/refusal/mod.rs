//! Refusals (parley.md §10): a stable reason, its HTTP status, a sentence with the way on.

/// Constructors of the refusals whose text is always the same: name, reason, member at
/// fault or time to try again, text.
macro_rules! fixed {
    ($(
        $(#[$doc:meta])*
        $name:ident: Reason::$reason:ident $(.$with:ident($value:expr))? = $detail:literal;
    )+) => {
        impl Refusal {$(
            $(#[$doc])*
            pub fn $name() -> Self {
                Self::new(Reason::$reason, $detail)$(.$with($value))?
            }
        )+}
    };
}

mod claim;
mod request;
mod server;
mod thread;
mod token;

use std::borrow::Cow;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::identity::Right;
use crate::ids::ThreadId;
use crate::state::State;

macro_rules! reasons {
    ($($name:ident $word:literal $status:literal $title:literal,)*) => {
        /// The reason of a refusal. Adding one is a compatible change; renaming is not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason { $(#[doc = $title] $name,)* }

        impl Reason {
            /// All of them, in the order of the page, which is the order of checks within 409.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// The HTTP status.
            pub fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }

            /// A short title, the same for every occurrence.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

reasons! {
    InvalidBody "invalid_body" 400 "The body is not what the operation takes",
    InvalidParameter "invalid_parameter" 400 "A parameter is not what the operation takes",
    InvalidCursor "invalid_cursor" 400 "The cursor is not one of this instance",
    ProofMissing "proof_missing" 400 "Proof is missing",
    ArtifactInvalid "artifact_invalid" 400 "The artifact is not valid",
    TokenMissing "token_missing" 401 "A token is needed",
    TokenUnknown "token_unknown" 401 "The token is not known",
    TokenRightMissing "token_right_missing" 403 "The token lacks a right",
    ThreadAuthorityMissing "thread_authority_missing" 403 "Authority over the thread is missing",
    OriginForbidden "origin_forbidden" 403 "The host or origin is not allowed",
    ThreadNotFound "thread_not_found" 404 "There is no such thread",
    MessageNotFound "message_not_found" 404 "There is no such message in the thread",
    ClaimNotFound "claim_not_found" 404 "There is no such claim",
    ArtifactNotFound "artifact_not_found" 404 "There is no such artifact",
    NotFound "not_found" 404 "There is nothing here",
    MethodNotAllowed "method_not_allowed" 405 "The method is not allowed here",
    NotAcceptable "not_acceptable" 406 "No acceptable form can be given",
    ThreadClosed "thread_closed" 409 "The thread is closed and locked",
    MessageRetracted "message_retracted" 409 "The message was retracted",
    SelfReply "self_reply" 409 "A participant cannot reply to itself",
    ConsecutiveLimit "consecutive_limit" 409 "Too many messages in a row",
    LoopLimit "loop_limit" 409 "Two models have gone on long enough",
    DepthLimit "depth_limit" 409 "The thread is too deep here",
    ThreadFull "thread_full" 409 "The thread is full",
    InvalidTransition "invalid_transition" 409 "The state cannot change so",
    StateMoved "state_moved" 409 "The thread is in another state",
    SelfAttest "self_attest" 409 "One's own claim cannot be attested",
    ClaimSettled "claim_settled" 409 "The claim is settled",
    AlreadyAttested "already_attested" 409 "The identity attested already",
    ClaimNotSupported "claim_not_supported" 409 "The claim lacks support by another",
    IdempotencyConflict "idempotency_conflict" 409 "The key was used for something else",
    HandleConflict "handle_conflict" 409 "The name conflicts with one in use",
    LastAdmin "last_admin" 409 "The last admin token must stay",
    ClosureRefused "closure_refused" 409 "The closure does not verify",
    RequestTooLarge "request_too_large" 413 "The request is too large",
    UnsupportedMediaType "unsupported_media_type" 415 "The content type is not supported",
    RateLimited "rate_limited" 429 "Too many requests",
    Internal "internal" 500 "The server failed",
    Overloaded "overloaded" 503 "The server is overloaded",
    StorageUnavailable "storage_unavailable" 503 "The store takes no writes",
    ShuttingDown "shutting_down" 503 "The server is shutting down",
}

impl Reason {
    /// The reason of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.as_str() == word)
    }
}

/// A refusal: nothing has changed. Serializes as the problem object of bindings.md §1.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The stable reason.
    pub reason: Reason,
    /// A sentence for the client: the cause and the way on.
    pub detail: Cow<'static, str>,
    /// The member at fault: a JSON Pointer without the first slash, or a parameter's name.
    pub field: Option<Box<str>>,
    /// The first right that is lacking.
    pub right: Option<Right>,
    /// The thread concerned.
    pub thread: Option<ThreadId>,
    /// The state that the thread is in.
    pub state: Option<State>,
    /// The state that was attempted.
    pub attempted: Option<State>,
    /// When to try again, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Members that one reason has beyond these (artifacts.md §4: `class`, `pointer`, `report`,
    /// `failure_artifact`).
    pub more: Option<Box<serde_json::Map<String, serde_json::Value>>>,
}

/// The result of a call that can be refused.
pub type Result<T, E = Refusal> = std::result::Result<T, E>;

impl Refusal {
    /// A refusal without further members. Each text belongs to a constructor of a submodule.
    fn new(reason: Reason, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason,
            detail: detail.into(),
            field: None,
            right: None,
            thread: None,
            state: None,
            attempted: None,
            retry_after_ms: None,
            more: None,
        }
    }

    /// The same, about `thread`.
    pub fn of(self, thread: ThreadId) -> Self {
        Self { thread: Some(thread), ..self }
    }

    /// The same, naming the member at fault.
    pub fn at(self, field: &str) -> Self {
        Self { field: Some(field.into()), ..self }
    }

    /// The same, to be tried again after `millis`.
    pub fn retry_after(self, millis: u64) -> Self {
        Self { retry_after_ms: Some(millis), ..self }
    }

    /// The problem object of bindings.md §1 as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether the refusal is remembered under an idempotency key (bindings.md §1): those from
    /// "found" on in the order of checks.
    pub fn is_remembered(&self) -> bool {
        match self.reason.status() {
            404 => true,
            409 => self.reason != Reason::IdempotencyConflict,
            403 => self.reason == Reason::ThreadAuthorityMissing,
            400 => self.reason == Reason::InvalidBody && self.thread.is_some(),
            _ => false,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.as_str(), self.detail)
    }
}

impl std::error::Error for Refusal {}

impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let reason = self.reason.as_str();
        map.serialize_entry("type", &format_args!("urn:parley:reason:{reason}"))?;
        map.serialize_entry("title", self.reason.title())?;
        map.serialize_entry("status", &self.reason.status())?;
        map.serialize_entry("detail", &self.detail)?;
        map.serialize_entry("reason", reason)?;
        let members = [
            ("field", self.field.as_deref().map(Cow::Borrowed)),
            ("right", self.right.map(|right| right.as_str().into())),
            ("thread", self.thread.map(|thread| thread.to_string().into())),
            ("state", self.state.map(|state| state.as_str().into())),
            ("attempted", self.attempted.map(|state| state.as_str().into())),
        ];
        for (name, value) in
            members.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
        {
            map.serialize_entry(name, value)?;
        }
        if let Some(millis) = self.retry_after_ms {
            map.serialize_entry("retry_after_ms", &millis)?;
        }
        for (name, value) in self.more.iter().flat_map(|more| more.iter()) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// A refusal as it is stored under an idempotency key: the problem object, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredRefusal {
    /// The HTTP status.
    pub status: u16,
    /// The problem object as JSON.
    pub problem: Box<[u8]>,
}

impl From<&Refusal> for StoredRefusal {
    fn from(refusal: &Refusal) -> Self {
        Self { status: refusal.reason.status(), problem: refusal.to_json().into() }
    }
}
