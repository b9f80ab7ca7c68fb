//! Calls: one of one operation.

use super::Command;
use super::language::{Language, ManifestPart};
use super::query::{ArtifactQuery, InboxQuery, PageQuery, ThreadQuery};
use crate::claim::ClaimStatus;
use crate::ids::{ClaimId, ThreadId};

/// One call of one operation of bindings.md §3 or artifacts.md §4, well-formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// `get_manifest`.
    GetManifest(Language, ManifestPart),
    /// The writes of threads and claims. The thread is `None` for an `ask` that opens one, and
    /// for `attest_claim` and `refute_claim`, whose claim names it.
    Write(Option<ThreadId>, Command),
    /// `publish_artifact`: the artifact's bytes.
    PublishArtifact(Box<[u8]>),
    /// `read_inbox`, which may be held back.
    ReadInbox(InboxQuery),
    /// The reads that are answered at once.
    Read(ReadCall),
}

/// A read that one view answers at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadCall {
    /// `list_threads`.
    ListThreads(ThreadQuery),
    /// `read_thread` as a tree.
    Tree(ThreadId),
    /// `read_thread` flat; the page's cursor is `since`.
    Flat(ThreadId, PageQuery),
    /// `read_events`.
    Events(ThreadId, PageQuery),
    /// `read_claim`.
    Claim(ClaimId),
    /// `list_claims`, of one status or all.
    ListClaims(ThreadId, Option<ClaimStatus>, PageQuery),
    /// `read_artifact`.
    Artifact([u8; 32]),
    /// `list_artifacts`.
    ListArtifacts(ArtifactQuery),
    /// `verify_closure`, strict or literal.
    VerifyClosure([u8; 32], bool),
    /// `export_thread`, a page of it.
    Export(ThreadId, PageQuery),
}
