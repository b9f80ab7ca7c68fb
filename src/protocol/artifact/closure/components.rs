//! The components of a closure: its cycles, its depth, and an order in which to walk it
//! (`artifacts.md` §3.1, 3).

use super::super::ViolationClass;
use super::super::report::ClosureFailure;
use super::graph::Graph;

const UNSEEN: usize = usize::MAX;

/// The strongly connected components of a closure. A component of more than one artifact, or
/// of one that refers to itself, is made of cycles; all others are single artifacts.
#[derive(Debug)]
pub(super) struct Components {
    /// The artifacts, component by component, each component after all it refers to.
    order: Vec<usize>,
    /// Where each component ends in `order`.
    ends: Vec<usize>,
    /// The component of each artifact.
    component: Vec<usize>,
    depth: usize,
}

/// Tarjan's algorithm with its recursion turned into `path`.
struct ComponentSearch<'a> {
    graph: &'a Graph,
    /// When each artifact was first seen.
    seen: Vec<usize>,
    /// The earliest artifact still open that is known to be reachable.
    low: Vec<usize>,
    /// Artifacts seen whose component is not complete.
    open: Vec<usize>,
    /// The artifacts on the way to where the search is, and the next reference of each.
    path: Vec<(usize, usize)>,
    clock: usize,
    components: Components,
}

impl Components {
    pub(super) fn of(graph: &Graph) -> Self {
        let count = graph.nodes.len();
        let mut search = ComponentSearch {
            graph,
            seen: vec![UNSEEN; count],
            low: vec![0; count],
            open: Vec::new(),
            path: Vec::new(),
            clock: 0,
            components: Self {
                order: Vec::with_capacity(count),
                ends: Vec::new(),
                component: vec![UNSEEN; count],
                depth: 0,
            },
        };
        for start in 0..count {
            if search.seen[start] == UNSEEN {
                search.from(start);
            }
        }
        let mut components = search.components;
        components.depth = components.longest_path(graph);
        components
    }

    /// The artifacts, each before all it refers to; only meaningful without cycles.
    pub(super) fn referrers_first(&self) -> impl Iterator<Item = usize> {
        self.order.iter().rev().copied()
    }

    /// The number of references on the longest path, those within a component left out.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// A failure for each artifact on a cycle, naming the one that comes next.
    pub(super) fn cycles(&self, graph: &Graph) -> Vec<ClosureFailure> {
        let mut failures = Vec::new();
        for (at, node) in graph.nodes.iter().enumerate() {
            let is_inside = |other: &usize| self.component[*other] == self.component[at];
            let next = graph.references(at).filter(is_inside).map(|other| graph.nodes[other].id);
            failures.extend(next.min().map(|next| {
                let detail = format!("The artifact stands on a cycle, which goes on with {next}.");
                ClosureFailure::of(ViolationClass::ReferenceCycle, node.id, detail)
            }));
        }
        failures
    }

    fn longest_path(&self, graph: &Graph) -> usize {
        let mut lengths: Vec<usize> = Vec::with_capacity(self.ends.len());
        let mut start = 0;
        for (component, &end) in self.ends.iter().enumerate() {
            let members = &self.order[start..end];
            let references = members.iter().flat_map(|at| graph.references(*at));
            let outside = references.map(|at| self.component[at]).filter(|at| *at != component);
            // What a component refers to comes before it and has its length already.
            lengths.push(outside.map(|other| lengths[other] + 1).max().unwrap_or(0));
            start = end;
        }
        lengths.into_iter().max().unwrap_or(0)
    }
}

impl ComponentSearch<'_> {
    fn from(&mut self, start: usize) {
        self.enter(start);
        while let Some((at, next)) = self.path.last_mut() {
            let (at, reference) = (*at, self.graph.references(*at).nth(*next));
            *next += 1;
            match reference {
                Some(other) if self.seen[other] == UNSEEN => self.enter(other),
                Some(other) if self.components.component[other] == UNSEEN => {
                    self.low[at] = self.low[at].min(self.seen[other]);
                }
                Some(_) => {}
                None => self.leave(at),
            }
        }
    }

    fn enter(&mut self, at: usize) {
        self.seen[at] = self.clock;
        self.low[at] = self.clock;
        self.clock += 1;
        self.open.push(at);
        self.path.push((at, 0));
    }

    fn leave(&mut self, at: usize) {
        self.path.pop();
        if let Some((parent, _)) = self.path.last() {
            self.low[*parent] = self.low[*parent].min(self.low[at]);
        }
        if self.low[at] != self.seen[at] {
            return;
        }
        let component = self.components.ends.len();
        while let Some(member) = self.open.pop() {
            self.components.component[member] = component;
            self.components.order.push(member);
            if member == at {
                break;
            }
        }
        self.components.ends.push(self.components.order.len());
    }
}
