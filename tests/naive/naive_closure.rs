//! A second implementation of the closure, written along `artifacts.md` §3.1 for small stores:
//! sets of identifiers, everything computed anew wherever it is asked for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{naive, naive_semantics};

/// A store: identifier → bytes, and the place of each in the order where there is one.
#[derive(Clone, Debug, Default)]
pub struct Store {
    /// The bytes stored under an identifier.
    pub artifacts: BTreeMap<String, Vec<u8>>,
    /// Places.
    pub order: BTreeMap<String, u64>,
}

/// What a verification comes to, details and pointers left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Class and artifact.
    pub failures: BTreeSet<(&'static str, String)>,
    /// The objections that came too late.
    pub later: BTreeSet<String>,
    /// The objections covered.
    pub objections: BTreeSet<String>,
    /// Artifacts of the closure.
    pub artifact_count: usize,
    /// References on the longest path; `None` where there is a cycle.
    pub depth: Option<usize>,
}

type Ids = BTreeSet<String>;

impl Store {
    /// The artifact stored under an identifier; null if there is none or it cannot be read.
    fn value(&self, id: &str) -> Value {
        let canonical = self.artifacts.get(id).map(|bytes| naive::canonicalize(bytes));
        canonical.and_then(|bytes| serde_json::from_slice(&bytes.ok()?).ok()).unwrap_or_default()
    }

    /// What an artifact refers to, with relations, as far as it is well-formed.
    fn references(&self, id: &str) -> Vec<(String, String)> {
        let items = self.value(id)["references"].as_array().cloned().unwrap_or_default();
        let named = items.iter().filter_map(|item| {
            let id =
                item["artifact_id"].as_str().filter(|id| naive_semantics::is_identifier(id))?;
            Some((id.to_owned(), item["relation"].as_str().unwrap_or_default().to_owned()))
        });
        named.collect()
    }

    /// Everything reachable from `tips` that is there, and what is missing.
    fn closure(&self, tips: &[String]) -> (Ids, Ids) {
        let (mut there, mut missing) = (Ids::new(), Ids::new());
        let mut open = tips.to_vec();
        while let Some(id) = open.pop() {
            if !self.artifacts.contains_key(&id) {
                missing.insert(id);
            } else if there.insert(id.clone()) {
                open.extend(self.references(&id).into_iter().map(|(id, _)| id));
            }
        }
        (there, missing)
    }

    /// What is wrong with the artifact stored under an identifier.
    fn faults(&self, id: &str) -> BTreeSet<&'static str> {
        let value = self.value(id);
        if value.is_null() {
            // With several faults any class is right: all are given.
            return naive::faults(&self.artifacts[id]);
        }
        let mut faults = BTreeSet::new();
        let computed = naive::identifier(&self.artifacts[id]).expect("canonical");
        match value["artifact_id"].as_str().filter(|id| naive_semantics::is_identifier(id)) {
            Some(stated) if stated == computed && stated == id => {}
            Some(_) => drop(faults.insert("artifact_identifier_mismatch")),
            None => drop(faults.insert("invalid_artifact_identifier_syntax")),
        }
        faults.extend(naive_semantics::examine(&value).0.into_iter().map(|(class, _)| class));
        faults
    }

    fn is(&self, id: &str, artifact_type: &str) -> bool {
        self.value(id)["artifact_type"] == artifact_type
    }

    fn is_blocking(&self, id: &str) -> bool {
        self.value(id)["payload"]["blocking"] == true
    }

    fn is_final(&self, id: &str) -> bool {
        self.is(id, "DECISION") && self.value(id)["payload"]["status"] == "final"
    }

    fn state(&self, id: &str) -> Option<String> {
        let value = self.value(id);
        let state = value["payload"]["state"].as_str().filter(|_| self.is(id, "TERMINATION"));
        state.map(str::to_owned)
    }

    /// The objections a decision disposes of: named with one of three words, and with no other.
    fn disposed(&self, decision: &str) -> Ids {
        let value = self.value(decision);
        let items = value["payload"]["objection_dispositions"].as_array().cloned();
        let (mut disposed, mut open) = (Ids::new(), Ids::new());
        for item in items.unwrap_or_default() {
            let named = item.get("artifact_id").or_else(|| item.get("objection"));
            let id = named.and_then(Value::as_str).unwrap_or_default().to_owned();
            let word = item["disposition"].as_str().unwrap_or_default();
            let closes = ["resolved", "overruled", "withdrawn"].contains(&word);
            if closes { &mut disposed } else { &mut open }.insert(id);
        }
        disposed.difference(&open).cloned().collect()
    }

    fn unresolved(&self, decision: &str) -> Ids {
        let value = self.value(decision);
        let items = value["payload"]["unresolved_issues"].as_array().cloned().unwrap_or_default();
        let id = |item: &Value| item.as_str().or(item["artifact_id"].as_str()).map(str::to_owned);
        items.iter().filter_map(id).collect()
    }

    /// The objections known that verify and object to something in `closure` from outside of it.
    fn outside(&self, closure: &Ids) -> Ids {
        let objects = |id: &&String| {
            self.is(id, "OBJECTION")
                && self.faults(id).is_empty()
                && self
                    .references(id)
                    .iter()
                    .any(|(id, relation)| relation == "objects-to" && closure.contains(id))
        };
        let known = self.artifacts.keys().filter(|id| !closure.contains(*id));
        known.filter(objects).cloned().collect()
    }

    fn is_later(&self, objection: &str, judge: &str) -> bool {
        let places = self.order.get(objection).zip(self.order.get(judge));
        places.is_some_and(|(objection, judge)| objection > judge)
    }

    /// Verifies targets.
    pub fn verify(&self, targets: &[String], strict: bool) -> Outcome {
        let (closure, missing) = self.closure(targets);
        let objections = closure.iter().filter(|id| self.is(id, "OBJECTION"));
        let mut outcome = Outcome {
            objections: objections.cloned().collect(),
            artifact_count: closure.len(),
            ..Outcome::default()
        };
        let fail = |class: &'static str, id: &String| (class, id.clone());
        outcome.failures.extend(missing.iter().map(|id| fail("reference_unavailable", id)));
        for id in &closure {
            outcome.failures.extend(self.faults(id).into_iter().map(|class| fail(class, id)));
            let next: Vec<String> = self.references(id).into_iter().map(|(id, _)| id).collect();
            if self.closure(&next).0.contains(id) {
                outcome.failures.insert(fail("reference_cycle", id));
            }
        }
        let is_cyclic = outcome.failures.iter().any(|(class, _)| *class == "reference_cycle");
        outcome.depth = (!is_cyclic).then(|| self.depth(&closure));
        if outcome.failures.is_empty() {
            self.judge(targets, strict, &mut outcome);
        }
        outcome
    }

    /// Steps 4 and 5.
    fn judge(&self, targets: &[String], strict: bool, outcome: &mut Outcome) {
        let mut decisions = Ids::new();
        for target in targets {
            if self.is_final(target) {
                decisions.insert(target.clone());
            }
            if self.state(target).as_deref() == Some("completed") {
                let named = self.references(target).into_iter().map(|(id, _)| id);
                decisions.extend(named.filter(|id| self.is_final(id)));
            }
        }
        let mut failed = Ids::new();
        for decision in &decisions {
            let mut named = self.disposed(decision);
            named.extend(self.unresolved(decision));
            let inside = self.closure(std::slice::from_ref(decision)).0;
            let mut owed: Ids =
                inside.iter().filter(|id| self.is(id, "OBJECTION")).cloned().collect();
            owed.extend(self.covered(&inside, decision, strict, &named, outcome));
            let hidden = owed.iter().filter(|id| self.is_blocking(id) && !named.contains(*id));
            for objection in hidden {
                failed.insert(decision.clone());
                outcome.failures.insert(("hidden_objection", objection.clone()));
            }
        }
        for target in targets {
            match self.state(target).as_deref() {
                Some("completed") => {
                    let references = self.references(target);
                    let verifies = |id: &String| decisions.contains(id) && !failed.contains(id);
                    if !references.iter().any(|(id, _)| verifies(id)) {
                        outcome.failures.insert(("termination_without_decision", target.clone()));
                    }
                }
                Some("deadlock" | "exhausted") => {
                    let inside = self.closure(std::slice::from_ref(target)).0;
                    let disposed: Ids = inside.iter().flat_map(|id| self.disposed(id)).collect();
                    let owed = self.covered(&inside, target, strict, &disposed, outcome);
                    let left = owed.iter().filter(|id| self.is_blocking(id));
                    for objection in left.filter(|id| !disposed.contains(*id)) {
                        outcome.failures.insert(("objection_not_preserved", objection.clone()));
                    }
                }
                _ => {}
            }
        }
    }

    /// What strict mode adds to what a judge must account for. Notes what came too late.
    fn covered(
        &self,
        inside: &Ids,
        judge: &str,
        strict: bool,
        named: &Ids,
        outcome: &mut Outcome,
    ) -> Ids {
        let outside = if strict { self.outside(inside) } else { Ids::new() };
        let (later, covered): (Ids, Ids) =
            outside.into_iter().partition(|id| self.is_later(id, judge));
        let later = later.into_iter().filter(|id| self.is_blocking(id) && !named.contains(id));
        outcome.later.extend(later);
        outcome.objections.extend(covered.iter().cloned());
        covered
    }

    /// References on the longest path, without cycles.
    fn depth(&self, closure: &Ids) -> usize {
        let mut lengths: BTreeMap<String, usize> = BTreeMap::new();
        // As often as there are artifacts: no path is longer.
        for _ in closure {
            for id in closure {
                let there = self.references(id).into_iter().filter(|(id, _)| closure.contains(id));
                let longest = there.map(|(id, _)| lengths.get(&id).map_or(1, |length| length + 1));
                lengths.insert(id.clone(), longest.max().unwrap_or(0));
            }
        }
        lengths.into_values().max().unwrap_or(0)
    }
}
