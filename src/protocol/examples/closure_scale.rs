//! Measures that verifying a closure costs in proportion to its size: two graphs, one ten
//! times the other, the ratio of their times, and the memory of the process. Run it with
//! `--release`.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "measures, and prints the figures"
)]

use std::time::Instant;

use parley_protocol::artifact::closure::{self, VerifyOptions};
use parley_protocol::artifact::collection::Collection;
use parley_protocol::artifact::{Identifier, canonicalize, identity};

/// References of each artifact to artifacts before it.
const REFERENCES: usize = 4;
/// Every so many artifacts one is an objection, which the decision disposes of.
const OBJECTION_EVERY: usize = 1_000;
/// Runs of each size, of which the fastest counts.
const RUNS: usize = 7;

fn artifact(artifact_type: &str, payload: &str, references: &[(Identifier, &str)]) -> String {
    let references: Vec<String> = references
        .iter()
        .map(|(id, relation)| format!(r#"{{"artifact_id":"{id}","relation":"{relation}"}}"#))
        .collect();
    let members = format!(
        r#""artifact_type":"{artifact_type}","payload":{payload},"protocol_version":"0.1""#
    );
    let members = format!(r#"{members},"references":[{}]"#, references.join(","));
    let canonical = canonicalize(format!("{{{members}}}").as_bytes());
    let id = identity::compute(&canonical.expect("admissible"));
    format!(r#"{{"artifact_id":"{id}",{members}}}"#)
}

/// A graph of that many artifacts under a final decision, and the decision.
fn graph(count: usize) -> (Collection, Identifier) {
    let mut collection = Collection::default();
    let mut ids: Vec<Identifier> = Vec::with_capacity(count);
    let mut dispositions = Vec::new();
    let mut add = |text: String| collection.add(text.as_bytes()).expect("an artifact");
    for number in 0..count - 1 {
        // The one before and some further back, at distances that differ.
        let distances = (0..REFERENCES).map(|step| 1 + step * (number % 97 + step));
        let before = distances.filter_map(|distance| number.checked_sub(distance));
        let is_objection = number > 0 && number % OBJECTION_EVERY == 0;
        let relation = if is_objection { "objects-to" } else { "considers" };
        let references: Vec<_> = before.map(|at| (ids[at], relation)).collect();
        let id = if is_objection {
            let payload = format!(r#"{{"statement":"objection {number}","blocking":true}}"#);
            add(artifact("OBJECTION", &payload, &references))
        } else {
            let payload = format!(r#"{{"statement":"claim {number}"}}"#);
            add(artifact("CLAIM", &payload, &references))
        };
        if is_objection {
            dispositions.push(format!(r#"{{"artifact_id":"{id}","disposition":"resolved"}}"#));
        }
        ids.push(id);
    }
    let dispositions = dispositions.join(",");
    let payload =
        format!(r#"{{"outcome":"o","status":"final","objection_dispositions":[{dispositions}],"#)
            + r#""unresolved_issues":[]}"#;
    let last = ids[ids.len() - 1];
    let decision = add(artifact("DECISION", &payload, &[(last, "decides")]));
    (collection, decision)
}

/// A size of this process in MiB, from Linux; none elsewhere.
fn memory_mib(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib / 1_024)
}

fn main() {
    let graphs = [10_000, 100_000].map(|count| (count, graph(count)));
    let stored = memory_mib("VmRSS");
    let mut fastest = [f64::INFINITY; 2];
    // By turns: what else the machine does meanwhile then slows both.
    for _ in 0..RUNS {
        for (fastest, (count, (collection, decision))) in fastest.iter_mut().zip(&graphs) {
            let start = Instant::now();
            let Ok(report) = closure::verify(collection, &[*decision], VerifyOptions::STRICT);
            assert!(report.ok && report.artifact_count == *count, "the graph verifies");
            *fastest = fastest.min(start.elapsed().as_secs_f64());
        }
    }
    for (seconds, (count, _)) in fastest.iter().zip(&graphs) {
        println!("{count} artifacts: {:.1} ms", seconds * 1_000.0);
    }
    if let (Some(stored), Some(peak)) = (stored, memory_mib("VmHWM")) {
        println!("memory: {stored} MiB with both stores, {peak} MiB at most while verifying");
    }
    println!("ratio: {:.2} for ten times the graph (at most 12)", fastest[1] / fastest[0]);
}
