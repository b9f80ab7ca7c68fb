//! Which objections are passed over (`artifacts.md` §3.1, 4 and 5).
//!
//! A *judge* is an artifact that must account for objections: a final decision that is a
//! target or that a completed target refers to, and a deadlock or exhaustion that is a
//! target. Each has a closure of its own, marked by a bit, so that one
//! walk over the graph serves 128 judges.

use std::collections::{BTreeMap, BTreeSet};

use super::super::content::{DecisionContent, TerminationState};
use super::super::report::{ClosureFailure, Notice, ReportedObjection, notice};
use super::super::{ArtifactType, Identifier, ViolationClass};
use super::components::Components;
use super::graph::{Graph, read};
use super::{ArtifactStore, VerifyOptions};

/// One bit for each judge of a walk.
type Bits = u128;

const BITS: usize = Bits::BITS as usize;

#[derive(Debug)]
struct ObjectionJudge {
    at: usize,
    is_decision: bool,
    order: Option<u64>,
}

/// An objection that may have to be accounted for.
#[derive(Debug)]
struct Objection {
    id: Identifier,
    blocking: bool,
    /// Its place in the closure; `None` if it is only in the store.
    at: Option<usize>,
    /// The artifacts of the closure that it objects to.
    objects_to: Vec<usize>,
    order: Option<u64>,
    /// Whether the report lists it: all of the closure, and those outside that a judge has
    /// to account for.
    is_covered: bool,
    is_later: bool,
}

/// The work of steps 4 and 5.
#[derive(Debug)]
pub(super) struct Judgement<'a> {
    graph: &'a Graph,
    judges: Vec<ObjectionJudge>,
    /// The completed targets.
    completed: Vec<usize>,
    /// The decisions whose word on an objection comes before that of others.
    speakers: BTreeSet<usize>,
    objections: Vec<Objection>,
    warnings: Vec<Notice>,
}

/// One walk over the graph, for up to [`BITS`] judges.
struct Walk<'a> {
    judges: &'a [ObjectionJudge],
    decisions: Bits,
    /// For each artifact, the judges in whose closure it is.
    reach: Vec<Bits>,
}

impl<'a> Judgement<'a> {
    pub(super) fn new(graph: &'a Graph, targets: &[Identifier]) -> Self {
        let mut decisions = BTreeSet::new();
        let mut speakers = BTreeSet::new();
        let mut stalemates = Vec::new();
        let mut completed = Vec::new();
        let is_final = |at: usize| graph.nodes[at].decision.as_ref().is_some_and(|it| it.is_final);
        for at in targets.iter().filter_map(|target| graph.index.get(target).copied()) {
            speakers.insert(at);
            match graph.nodes[at].state {
                Some(TerminationState::Completed) => {
                    completed.push(at);
                    decisions.extend(graph.references(at).filter(|at| is_final(*at)));
                }
                Some(TerminationState::Deadlock | TerminationState::Exhausted) => {
                    stalemates.push(at);
                }
                None if is_final(at) => {
                    decisions.insert(at);
                }
                Some(TerminationState::Suspended | TerminationState::Cancelled) | None => {}
            }
        }
        speakers.extend(&decisions);
        let judge = |is_decision| move |at| ObjectionJudge { at, is_decision, order: None };
        let judges = decisions.into_iter().map(judge(true));
        let judges = judges.chain(stalemates.into_iter().map(judge(false))).collect();
        let nodes = graph.nodes.iter().enumerate();
        let objections = nodes
            .filter(|(_, node)| node.artifact_type == Some(ArtifactType::Objection))
            .map(|(at, node)| Objection {
                id: node.id,
                blocking: node.blocking,
                at: Some(at),
                objects_to: node.objects_to.clone(),
                order: None,
                is_covered: true,
                is_later: false,
            })
            .collect();
        Self { graph, judges, completed, speakers, objections, warnings: Vec::new() }
    }

    /// Asks the store for what strict mode needs: the order of judges and objections, and the
    /// objections outside of the closure. `false` if there are more of these than a closure
    /// may have artifacts, those left out that came after every judge: no author can make an old
    /// decision fail by objecting to it often.
    pub(super) fn objections_outside<S: ArtifactStore>(
        &mut self,
        store: &S,
        options: VerifyOptions,
    ) -> Result<bool, S::Error> {
        if !options.strict || self.judges.is_empty() {
            return Ok(true);
        }
        for judge in &mut self.judges {
            judge.order = store.order(&self.graph.nodes[judge.at].id)?;
        }
        // Judges by rising order, unknown ones last: those before an objection are a prefix.
        self.judges.sort_by_key(|judge| (judge.order.is_none(), judge.order));
        for objection in &mut self.objections {
            objection.order = store.order(&objection.id)?;
        }
        let mut outside = BTreeSet::new();
        for node in &self.graph.nodes {
            let known = store.objections_to(&node.id)?;
            outside.extend(known.into_iter().filter(|id| !self.graph.index.contains_key(id)));
        }
        let last = self.judges.last().and_then(|judge| judge.order);
        let mut count = 0;
        for id in outside {
            let order = store.order(&id)?;
            count += usize::from(!matches!((order, last), (Some(o), Some(l)) if o > l));
            if count > options.artifacts_max {
                return Ok(false);
            }
            self.add_outside(store, id, order)?;
        }
        Ok(true)
    }

    fn add_outside<S: ArtifactStore>(
        &mut self,
        store: &S,
        id: Identifier,
        order: Option<u64>,
    ) -> Result<(), S::Error> {
        let Some(bytes) = store.load(&id)? else {
            self.warnings.push(notice(ViolationClass::ReferenceUnavailable, id));
            return Ok(());
        };
        let loaded = read(id, &bytes);
        // What does not verify is no objection; that it was there is worth knowing.
        if let Some(failure) = loaded.failures.first() {
            self.warnings.push(notice(failure.class, id));
            return Ok(());
        }
        let objected = loaded.content.objects_to();
        self.objections.push(Objection {
            id,
            blocking: loaded.content.blocking,
            at: None,
            objects_to: objected.filter_map(|id| self.graph.index.get(&id).copied()).collect(),
            order,
            is_covered: false,
            is_later: false,
        });
        Ok(())
    }

    /// Steps 4 and 5, on a closure without cycles and without other failures.
    pub(super) fn judge(&mut self, components: &Components, strict: bool) -> Vec<ClosureFailure> {
        let places = self.places();
        // Objections passed over, each with the smallest of the judges that pass it over.
        let mut passed: BTreeMap<(ViolationClass, Identifier), Identifier> = BTreeMap::new();
        let mut failed_decisions = BTreeSet::new();
        for judges in self.judges.chunks(BITS) {
            let walk = Walk::new(self.graph, components, judges);
            let named = walk.named(self.graph, &places, self.objections.len());
            for (objection, named) in self.objections.iter_mut().zip(named) {
                let hits = walk.passed_over(objection, named, strict);
                for bit in bits(hits) {
                    let judge = &judges[bit];
                    let class = if judge.is_decision {
                        failed_decisions.insert(judge.at);
                        ViolationClass::HiddenObjection
                    } else {
                        ViolationClass::ObjectionNotPreserved
                    };
                    let judge = self.graph.nodes[judge.at].id;
                    let first = passed.entry((class, objection.id)).or_insert(judge);
                    *first = judge.min(*first);
                }
            }
        }
        let mut failures: Vec<ClosureFailure> = passed.into_iter().map(passed_over).collect();
        failures.extend(self.without_decision(&failed_decisions));
        failures
    }

    /// The index of each objection in the list.
    fn places(&self) -> BTreeMap<Identifier, usize> {
        self.objections.iter().enumerate().map(|(place, it)| (it.id, place)).collect()
    }

    /// The completed targets none of whose final decisions verifies.
    fn without_decision(&self, failed_decisions: &BTreeSet<usize>) -> Vec<ClosureFailure> {
        let nodes = &self.graph.nodes;
        let verifies = |at: usize| {
            nodes[at].decision.as_ref().is_some_and(|it| it.is_final)
                && !failed_decisions.contains(&at)
        };
        let failed = self.completed.iter().filter(|at| !self.graph.references(**at).any(verifies));
        let class = ViolationClass::TerminationWithoutDecision;
        let detail = "The termination refers to no final decision whose closure verifies.";
        failed.map(|at| ClosureFailure::of(class, nodes[*at].id, detail)).collect()
    }

    /// The objections covered, each with its disposition: first by a target or a decision
    /// that is judged, then by a decision that disposes of it, then by the smallest.
    pub(super) fn reported_objections(&self) -> Vec<ReportedObjection> {
        let places = self.places();
        let mut best = BTreeMap::new();
        for (at, node) in self.graph.nodes.iter().enumerate() {
            let Some(decision) = &node.decision else { continue };
            let is_other = !self.speakers.contains(&at);
            for (rank, (id, disposes, word)) in words(decision).enumerate() {
                let Some(place) = places.get(&id) else { continue };
                let candidate = (is_other, !disposes, node.id, rank, word);
                let kept = best.entry(*place).or_insert(candidate);
                *kept = candidate.min(*kept);
            }
        }
        let objections = self.objections.iter().enumerate().filter(|(_, it)| it.is_covered);
        let mut reported: Vec<ReportedObjection> = objections
            .map(|(place, objection)| ReportedObjection {
                artifact_id: objection.id,
                blocking: objection.blocking,
                disposition: best.get(&place).map(|(.., word)| (*word).to_owned()),
            })
            .collect();
        reported.sort_unstable_by_key(|objection| objection.artifact_id);
        reported
    }

    /// The blocking objections that a judge passes over because they came after it.
    pub(super) fn later_objections(&self) -> Vec<Notice> {
        let later = self.objections.iter().filter(|objection| objection.is_later);
        let mut notices: Vec<Notice> =
            later.map(|objection| notice(ViolationClass::LaterObjection, objection.id)).collect();
        notices.sort_unstable();
        notices
    }

    pub(super) fn into_warnings(self) -> Vec<Notice> {
        self.warnings
    }
}

impl<'a> Walk<'a> {
    fn new(graph: &Graph, components: &Components, judges: &'a [ObjectionJudge]) -> Self {
        let mut reach = vec![0; graph.nodes.len()];
        let mut decisions = 0;
        for (bit, judge) in judges.iter().enumerate() {
            reach[judge.at] |= 1 << bit;
            decisions |= Bits::from(judge.is_decision) << bit;
        }
        for at in components.referrers_first() {
            for other in graph.references(at) {
                reach[other] |= reach[at];
            }
        }
        Self { judges, decisions, reach }
    }

    /// For each objection, the judges that account for it: a decision that names it, a
    /// deadlock or exhaustion with a decision in its closure that disposes of it.
    fn named(
        &self,
        graph: &Graph,
        places: &BTreeMap<Identifier, usize>,
        count: usize,
    ) -> Vec<Bits> {
        let mut named = vec![0; count];
        for (bit, judge) in self.judges.iter().enumerate() {
            let decision = graph.nodes[judge.at].decision.as_deref();
            for id in decision.into_iter().flat_map(accounted_for) {
                if let Some(place) = places.get(&id) {
                    named[*place] |= 1 << bit;
                }
            }
        }
        for (node, reach) in graph.nodes.iter().zip(&self.reach) {
            let stalemates = reach & !self.decisions;
            let decision = node.decision.as_deref().filter(|_| stalemates != 0);
            for id in decision.into_iter().flat_map(disposed_of) {
                if let Some(place) = places.get(&id) {
                    named[*place] |= stalemates;
                }
            }
        }
        named
    }

    /// The judges that pass over the objection. Notes on the way whether it is covered and
    /// whether it came too late for a judge.
    fn passed_over(&self, objection: &mut Objection, named: Bits, strict: bool) -> Bits {
        let inside = objection.at.map_or(0, |at| self.reach[at]);
        let touched = objection.objects_to.iter().fold(0, |bits, at| bits | self.reach[*at]);
        let outside = if strict { touched & !inside } else { 0 };
        let later = outside & self.before(objection.order);
        objection.is_covered |= outside & !later != 0;
        if !objection.blocking {
            return 0;
        }
        objection.is_later |= later & !named != 0;
        // What a deadlock or exhaustion reaches is preserved; a decision must name it.
        ((inside & self.decisions) | (outside & !later)) & !named
    }

    /// The judges known to have been stored before.
    fn before(&self, order: Option<u64>) -> Bits {
        let Some(order) = order else { return 0 };
        let is_before = |judge: &ObjectionJudge| judge.order.is_some_and(|it| it < order);
        match self.judges.partition_point(is_before) {
            0 => 0,
            count => Bits::MAX >> (BITS - count),
        }
    }
}

fn passed_over(
    ((class, objection), judge): ((ViolationClass, Identifier), Identifier),
) -> ClosureFailure {
    let detail = match class {
        ViolationClass::HiddenObjection => {
            format!("The final decision {judge} does not account for it.")
        }
        _ => format!("The termination {judge} leaves it behind."),
    };
    ClosureFailure::of(class, objection, detail)
}

/// The places of the bits set, ascending.
fn bits(mut bits: Bits) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (place < BITS).then_some(place)
    })
}

/// The objections that a decision disposes of without a contrary disposition.
fn disposed_of(decision: &DecisionContent) -> BTreeSet<Identifier> {
    let (disposed, open): (Vec<_>, Vec<_>) =
        decision.dispositions.iter().partition(|disposition| disposition.disposes());
    let mut ids: BTreeSet<Identifier> = disposed.iter().map(|it| it.objection).collect();
    for disposition in open {
        ids.remove(&disposition.objection);
    }
    ids
}

/// The objections a decision names as it must: disposed of, or listed as unresolved.
fn accounted_for(decision: &DecisionContent) -> BTreeSet<Identifier> {
    let mut ids = disposed_of(decision);
    ids.extend(&decision.unresolved);
    ids
}

/// The words of a decision for objections, its dispositions before its unresolved issues.
fn words(decision: &DecisionContent) -> impl Iterator<Item = (Identifier, bool, &str)> {
    let dispositions = decision.dispositions.iter();
    let dispositions = dispositions.map(|it| (it.objection, it.disposes(), it.word.as_str()));
    dispositions.chain(decision.unresolved.iter().map(|id| (*id, false, "unresolved")))
}
