//! Loads the artifacts that the targets rest on, each once (`artifacts.md` §3.1, 1 and 2).

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Range;

use super::super::content::{DecisionContent, TerminationState};
use super::super::identity::Keyed;
use super::super::report::{ClosureFailure, Notice, notice};
use super::super::{
    ArtifactType, Content, Examination, Identifier, Violation, ViolationClass, canonicalize,
    examine, identity,
};
use super::ArtifactStore;

/// An artifact of the closure. Artifacts are named by their place in [`Graph::nodes`].
#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: Identifier,
    pub(super) artifact_type: Option<ArtifactType>,
    /// The range in [`Graph::references`] of the artifacts it refers to that are there.
    references: Range<usize>,
    /// The artifacts it objects to that are there; empty unless it is an objection.
    pub(super) objects_to: Vec<usize>,
    pub(super) blocking: bool,
    pub(super) decision: Option<Box<DecisionContent>>,
    pub(super) state: Option<TerminationState>,
}

/// Places by identifier. The key comes from the targets: no author can aim artifacts at one slot
/// of the table, since a target's identifier, and so the key, changes with every artifact it
/// rests on. And unlike with a random key, the same closure always costs the same.
pub(super) type NodeIndex = HashMap<Identifier, usize, Keyed>;

/// A closure. Missing artifacts are kept in a tree: a reference may name anything its author
/// likes, and a tree has no worst case to be aimed at.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// The references of all artifacts in one piece, artifact by artifact: a list for each
    /// would be spread over the memory, and large closures cost what memory costs. A closure
    /// has fewer artifacts than 32 bits can count.
    references: Vec<u32>,
    pub(super) index: NodeIndex,
    pub(super) missing: BTreeSet<Identifier>,
    pub(super) failures: Vec<ClosureFailure>,
    pub(super) warnings: Vec<Notice>,
}

/// The artifact stored under an identifier, as read.
pub(super) struct LoadedArtifact {
    pub(super) content: Content,
    pub(super) failures: Vec<ClosureFailure>,
    pub(super) warnings: Vec<ViolationClass>,
}

impl Graph {
    /// Loads everything reachable from the targets; `None` if over `artifacts_max` artifacts
    /// are there, or as many are missing.
    pub(super) fn load<S: ArtifactStore>(
        store: &S,
        targets: &[Identifier],
        artifacts_max: usize,
    ) -> Result<Option<Self>, S::Error> {
        let mut graph = Self {
            nodes: Vec::new(),
            references: Vec::new(),
            index: NodeIndex::with_hasher(Keyed::by(targets)),
            missing: BTreeSet::new(),
            failures: Vec::new(),
            warnings: Vec::new(),
        };
        // The contents of artifacts found and not yet followed, in the order of `nodes`.
        let mut found = VecDeque::new();
        for target in targets {
            graph.find(store, *target, &mut found)?;
        }
        let mut at = 0;
        while let Some(content) = found.pop_front() {
            if graph.nodes.len().max(graph.missing.len()) > artifacts_max {
                return Ok(None);
            }
            let start = graph.references.len();
            for reference in &content.references {
                let place = graph.find(store, reference.artifact_id, &mut found)?;
                graph.references.extend(place.map(|place| place as u32));
            }
            let objects_to = content.objects_to().filter_map(|id| graph.index.get(&id).copied());
            graph.nodes[at].objects_to = objects_to.collect();
            graph.nodes[at].references = start..graph.references.len();
            at += 1;
        }
        let is_over = graph.nodes.len().max(graph.missing.len()) > artifacts_max;
        Ok(if is_over { None } else { Some(graph) })
    }

    /// The artifacts that an artifact refers to and that are there, in its order.
    pub(super) fn references(&self, at: usize) -> impl ExactSizeIterator<Item = usize> + use<'_> {
        self.references[self.nodes[at].references.clone()].iter().map(|place| *place as usize)
    }

    /// The place of an artifact, loading it when it is met for the first time.
    fn find<S: ArtifactStore>(
        &mut self,
        store: &S,
        id: Identifier,
        found: &mut VecDeque<Content>,
    ) -> Result<Option<usize>, S::Error> {
        if let Some(at) = self.index.get(&id) {
            return Ok(Some(*at));
        }
        if self.missing.contains(&id) {
            return Ok(None);
        }
        let Some(bytes) = store.load(&id)? else {
            self.missing.insert(id);
            return Ok(None);
        };
        let LoadedArtifact { mut content, failures, warnings } = read(id, &bytes);
        self.failures.extend(failures);
        self.warnings.extend(warnings.into_iter().map(|class| notice(class, id)));
        let at = self.nodes.len();
        self.nodes.push(Node {
            id,
            artifact_type: content.artifact_type,
            references: 0..0,
            objects_to: Vec::new(),
            blocking: content.blocking,
            decision: content.decision.take().map(Box::new),
            state: content.state,
        });
        self.index.insert(id, at);
        found.push_back(content);
        Ok(Some(at))
    }
}

/// Verifies identifier and semantics of the artifact stored under an identifier. A wrong
/// identifier does not keep the references from being followed: all steps report.
pub(super) fn read(id: Identifier, bytes: &[u8]) -> LoadedArtifact {
    let canonical = match canonicalize(bytes) {
        Ok(canonical) => canonical,
        Err(fault) => {
            let failures = vec![ClosureFailure::of(fault.class, id, fault.detail)];
            return LoadedArtifact { content: Content::default(), failures, warnings: Vec::new() };
        }
    };
    let mut failures = Vec::new();
    match identity::verify(&canonical) {
        Err(fault) => failures.push(ClosureFailure::of(fault.class, id, fault.detail)),
        Ok(stated) if stated != id => {
            let detail = "The artifact is stored under another identifier than its own.";
            let class = ViolationClass::ArtifactIdentifierMismatch;
            failures.push(ClosureFailure::of(class, id, detail));
        }
        Ok(_) => {}
    }
    let Examination { content, violations, warnings } = examine(&canonical);
    failures.extend(violations.into_iter().map(|Violation { class, pointer, detail }| {
        // The pointer says where semantics fail, and nothing else.
        let is_limit = class == ViolationClass::LimitExceeded;
        let pointer = if is_limit { String::new() } else { pointer };
        ClosureFailure { pointer, ..ClosureFailure::of(class, id, detail) }
    }));
    LoadedArtifact { content, failures, warnings }
}
