//! Queries: the selection of lists, and their pages.

use std::sync::Arc;

use crate::ids::ThreadId;
use crate::state::State;

words! {
    /// The order of `list_threads`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ThreadOrder {
        /// By creation, oldest first.
        #[default]
        Created = "created",
        /// By last change, oldest first.
        Updated = "updated",
        /// By creation, newest first.
        CreatedDescending = "-created",
        /// By last change, newest first.
        UpdatedDescending = "-updated",
    }
}

/// The query of `list_threads`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadQuery {
    /// Only those in this state.
    pub state: Option<State>,
    /// Only those of this identity.
    pub creator: Option<Box<str>>,
    /// Only those that await a reply, or none.
    pub awaiting: Option<bool>,
    /// Only those that are locked, or are not.
    pub locked: Option<bool>,
    /// The order.
    pub order: ThreadOrder,
    /// The page.
    pub page: PageQuery,
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageQuery {
    /// The cursor as given; judged by the part that issued it.
    pub cursor: Option<Box<str>>,
    /// Items at most; `None` is the default page.
    pub limit: Option<u64>,
}

/// The query of `read_inbox`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxQuery {
    /// The participant's extension; `None` is the bare line.
    pub extension: Option<Arc<str>>,
    /// `since` and `limit`.
    pub page: PageQuery,
    /// Seconds to be held back while nothing is new.
    pub wait_seconds: u64,
    /// Whether questions to anyone are in it.
    pub anyone: bool,
}

/// The query of `list_artifacts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactQuery {
    /// Only those of this type.
    pub kind: Option<Box<str>>,
    /// Only those that refer to this one.
    pub references: Option<[u8; 32]>,
    /// Only those published with this thread in `extensions["parley/1"]`.
    pub thread: Option<ThreadId>,
    /// The page.
    pub page: PageQuery,
}
