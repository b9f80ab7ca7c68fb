//! What stands in the code and must stand in the documents too.

use std::collections::BTreeSet;

use parley::metric::METRICS;
use parley_protocol::act::ACTS;
use parley_protocol::command::Language;
use parley_protocol::feed::Scope;
use parley_protocol::limits::Limits;
use parley_protocol::operation::{Operation, Profiles};
use parley_protocol::refusal::Reason;
use parley_protocol::schema::{OpenApiFacts, openapi};
use parley_protocol::state::State;
use serde_json::Value;

use super::{document, none, sources};

/// Goal: whoever is refused finds what to do. Method: a section of docs/guide/REASONS.md for each
/// reason, and none for what is no reason.
#[test]
fn reasons() {
    let text = document("docs/guide/REASONS.md");
    let head = |it: &Reason| format!("### `{}` · {}", it.as_str(), it.status());
    let heads: Vec<String> = Reason::ALL.iter().map(head).collect();
    let sections: Vec<&str> = text.lines().filter(|line| line.starts_with("### `")).collect();
    let missing = heads.iter().filter(|head| !sections.iter().any(|it| it.starts_with(*head)));
    none(missing, "docs/guide/REASONS.md has a section for each reason");
    let unknown = sections.iter().filter(|it| !heads.iter().any(|head| it.starts_with(&**head)));
    none(unknown, "docs/guide/REASONS.md has sections for reasons alone");
}

/// The words that are no code span of `page`.
fn missing<'w>(page: &str, words: impl IntoIterator<Item = &'w str>) -> Vec<&'w str> {
    words.into_iter().filter(|word| !page.contains(&format!("`{word}`"))).collect()
}

/// Goal: every operation is found from its clause. Method: each name, in docs/PROTOCOL.md.
#[test]
fn operations() {
    let text = document("docs/PROTOCOL.md");
    let broken = missing(&text, Operation::ALL.map(Operation::as_str));
    none(broken, "docs/PROTOCOL.md names each operation");
}

/// Goal: the clause table points at files that exist. Method: every path in it.
#[test]
fn the_table_points_at_files() {
    let text = document("docs/PROTOCOL.md");
    let paths = text.split('`').filter(|word| {
        let is_path = word.starts_with("src/") || word.starts_with("tests/");
        is_path && !word.contains(char::is_whitespace)
    });
    let broken = paths.filter(|path| !super::root().join(path).exists());
    none(broken, "docs/PROTOCOL.md names files that exist");
}

/// Goal: an operator finds every key. Method: each name, or its section, in
/// docs/guide/OPERATIONS.md.
#[test]
fn configuration_keys() {
    let text = document("docs/guide/OPERATIONS.md");
    let names = parley::config::keys::KEYS.iter().map(|key| key.name);
    let mut broken = missing(&text, names);
    broken.retain(|name| {
        let section = name.split_once('.').map(|(section, _)| format!("`{section}.*`"));
        !section.is_some_and(|section| text.contains(&section))
    });
    none(broken, "docs/guide/OPERATIONS.md names each key or its section");
}

/// Goal: an operator finds every metric. Method: each name that stands in the code, in
/// docs/guide/OPERATIONS.md.
#[test]
fn metrics() {
    let text = document("docs/guide/OPERATIONS.md");
    let mut broken = Vec::new();
    for source in sources(&["src"]) {
        for word in source.text.split('"').filter(|word| word.starts_with("parley_")) {
            let is_name = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            if is_name && word != "parley_protocol" && !text.contains(&format!("`{word}`")) {
                broken.push(format!("{}: {word}", source.path));
            }
        }
    }
    none(broken, "docs/guide/OPERATIONS.md names each metric");
}

/// Goal: the specification has each word of the tables. Method: each as a code span on the page
/// that defines it; of the acts the row with its rule for the parent.
#[test]
fn the_specification_has_each_word() {
    let limits = Limits::default();
    let limits = serde_json::to_value(&limits).expect("JSON");
    let limits: Vec<&str> = limits.as_object().expect("members").keys().map(|it| &**it).collect();
    let reasons: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    let operations = Operation::ALL.map(Operation::as_str);
    let pages = ["parley", "bindings", "mcp", "artifacts", "operations"];
    let pages = pages.map(|page| document(&format!("docs/spec/{page}.md")));
    let [parley, bindings, _, artifacts, operating] = &pages;
    let both = format!("{bindings}{artifacts}");
    let guide = document("docs/guide/ARTIFACTS.md");
    let acts = ACTS.iter().map(|act| act.word).collect::<Vec<_>>();
    // README.md, docs/GLOSSARY.md, docs/PROTOCOL.md and docs/spec name this number, or each act.
    const { assert!(ACTS.len() == 9) };
    let mut broken = Vec::new();
    for (page, words) in [
        (artifacts, acts.clone()),
        (&guide, acts),
        (parley, reasons),
        (parley, limits),
        (parley, State::ALL.map(State::as_str).into()),
        (bindings, Language::ALL.map(Language::as_str).into()),
        (bindings, Scope::ALL.map(Scope::as_str).into()),
        (&both, operations.into()),
        (operating, METRICS.iter().map(|metric| metric.name).collect()),
    ] {
        broken.extend(missing(page, words).into_iter().map(str::to_owned));
    }
    for act in &ACTS {
        let row = format!("| `{}` |", act.word);
        let mut rows = parley.lines().filter(|line| line.starts_with(&row));
        if !rows.any(|row| row.contains(&format!("| {}", act.parent.as_str()))) {
            broken.push(format!("{row} {}", act.parent.as_str()));
        }
    }
    none(broken, "docs/spec has each word of the tables");
}

/// The names of members and parameters in a document of OpenAPI.
fn names<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(members) => {
            let properties = members.get("properties").and_then(Value::as_object);
            found.extend(properties.into_iter().flat_map(|all| all.keys().map(String::as_str)));
            if members.contains_key("in") {
                found.extend(members.get("name").and_then(Value::as_str));
            }
            members.values().for_each(|value| names(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| names(value, found)),
        _ => {}
    }
}

/// Goal: the specification has each path, each parameter and each member of a body. Method: those
/// of the OpenAPI document, in any of the pages.
#[test]
fn the_specification_has_each_member() {
    let limits = Limits::default();
    let facts = OpenApiFacts { version: "0", profiles: Profiles::ALL, limits: &limits };
    let shown = openapi(&facts);
    let pages = ["parley", "bindings", "artifacts", "operations"];
    let text = pages.map(|page| document(&format!("docs/spec/{page}.md"))).concat();
    let is_name = |it: char| it.is_alphanumeric() || it == '_';
    let words: BTreeSet<&str> = text.split(|it| !is_name(it)).collect();
    let mut members = BTreeSet::new();
    names(&shown, &mut members);
    assert!(members.len() > 100, "{members:?}");
    let missing = members.iter().filter(|name| name.split('-').any(|part| !words.contains(part)));
    none(missing, "docs/spec has each parameter and member");
    let paths = shown["paths"].as_object().expect("paths").keys();
    none(paths.filter(|path| !text.contains(*path)), "docs/spec has each path");
}

/// Goal: each reason is given, and each metric recorded. Method: the name of each in the sources,
/// outside of the table that declares it.
#[test]
fn reasons_are_given_and_metrics_recorded() {
    let sources = sources(&["src"]);
    let used = |name: &str, table: &str| {
        let others = sources.iter().filter(|source| source.path != table);
        let end = |rest: &str| rest.starts_with(|it: char| it.is_alphanumeric() || it == '_');
        others.flat_map(|source| source.bare.split(name).skip(1)).any(|rest| !end(rest))
    };
    let reasons = Reason::ALL.iter().map(|reason| format!("Reason::{reason:?}"));
    let vain = reasons.filter(|reason| !used(reason, "src/protocol/refusal/mod.rs"));
    none(vain, "each reason is given");
    let table = "src/metric.rs";
    let rows = document(table);
    let constants = rows.lines().filter_map(|line| line.split_once(" \"parley_"));
    let constants: Vec<&str> = constants.map(|(constant, _)| constant.trim()).collect();
    assert_eq!(constants.len(), METRICS.len());
    let vain = constants.into_iter().filter(|name| !used(&format!("metric::{name}"), table));
    none(vain, "each metric is recorded");
}
