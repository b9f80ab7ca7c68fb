//! Principals and the commands that they give.

use std::sync::Arc;

use parley_protocol::act::Kind;
use parley_protocol::command::{Assertion, Command, Envelope, Mark};
use parley_protocol::identity::{AuthorKind, Principal, Right, Rights};
use parley_protocol::ids::{ClaimId, MessageId, ThreadId, TokenId};
use parley_protocol::state::State;

/// Who calls with a token of `identity`: a model that reads and writes, or a human, who may do
/// anything in any thread.
pub fn principal(identity: &str) -> Principal {
    let human = identity.starts_with("human:");
    let model = [Right::Read, Right::Write].into_iter().collect();
    Principal {
        token: TokenId(1),
        identity: identity.into(),
        author_kind: if human { AuthorKind::Human } else { AuthorKind::Llm },
        rights: if human { Rights::HUMAN } else { model },
        label: None,
    }
}

pub fn model(name: &str) -> Principal {
    principal(&format!("local:{name}"))
}

pub fn human(name: &str) -> Principal {
    principal(&format!("human:{name}"))
}

/// A message of this kind, in `thread` or opening one.
pub fn message(
    kind: Kind,
    thread: Option<ThreadId>,
    parent: Option<MessageId>,
    extension: Option<Arc<str>>,
    body: &str,
) -> Command {
    let body = body.into();
    Command::Post(Envelope { kind, thread, parent, extension, body, provenance: None })
}

/// The same of the bare line, without a parent.
pub fn post(kind: Kind, thread: Option<ThreadId>, body: &str) -> Command {
    message(kind, thread, None, None, body)
}

/// A mark with a reason.
pub fn mark(state: State, reason: &str) -> Mark {
    Mark { state, reason: Some(reason.into()), extension: None }
}

/// A claim without evidence.
pub fn assertion(
    statement: &str,
    supersedes: Option<ClaimId>,
    extension: Option<Arc<str>>,
) -> Command {
    let (evidence, supersedes) = (Vec::new(), supersedes.into_iter().collect());
    let statement = statement.into();
    Command::Assert(Assertion { statement, evidence, supersedes, valid_until: None, extension })
}
