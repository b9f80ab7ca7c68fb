//! Who may know whom: the table of docs/ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, none, sources};

/// Words that code under a folder must not use, and what keeps it from them.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    (
        "src/protocol/",
        &[
            "tokio",
            "ractor",
            "axum",
            "redb",
            "hyper",
            "getrandom",
            "std::fs",
            "std::net",
            "std::env",
            "std::thread",
            "std::process",
            "SystemTime",
            "Instant",
        ],
        "the language does no I/O, reads no clock, draws no randomness, knows no runtime",
    ),
    (
        "src/gateway/",
        &["ractor", "redb", "crate::threads::actor", "crate::feed::inbox", "crate::cli"],
        "the gateway reaches actors and store by way of the router alone",
    ),
    (
        "src/journal/",
        &["axum", "crate::gateway", "crate::forum", "crate::threads::actor", "crate::cli"],
        "the journal knows nobody upstream",
    ),
    (
        "src/feed/",
        &["crate::gateway", "crate::forum", "crate::threads::actor", "crate::cli"],
        "the feed is told, and calls nobody upstream",
    ),
    ("src/router/", &["axum", "redb", "crate::gateway", "crate::cli"], "the router is no gateway"),
    ("src/thread/", &["axum", "redb", "crate::gateway", "crate::cli"], "actors know no wire"),
    ("src/inbox/", &["axum", "redb", "crate::gateway", "crate::cli"], "actors know no wire"),
    (
        "src/cli/",
        &["ractor", "redb", "axum", "crate::forum", "crate::threads::actor", "crate::gateway"],
        "the command line is a client, or opens a stopped folder by way of the journal",
    ),
    ("load/src/", &["parley::"], "the harness knows the wire and the protocol, not the server"),
];

/// Parts of the journal that the gateway may know: tokens, and what a read is answered from.
const GATEWAY_KNOWS_OF_JOURNAL: [&str; 2] = ["tokens", "view"];

/// Goal: the walls between the parts stand. Method: the words that would go through one, in all
/// code of each part but its tests and examples.
#[test]
fn walls() {
    let mut broken = Vec::new();
    for source in sources(&["src", "load/src"]) {
        let code = without_tests(&source);
        for (folder, words, why) in FORBIDDEN {
            if !source.path.starts_with(folder) {
                continue;
            }
            for word in words.iter().filter(|word| uses(code, word)) {
                broken.push(format!("{}: {word} ({why})", source.path));
            }
        }
    }
    none(&broken, "a part uses only what it may know");
}

/// Goal: the gateway touches nothing of the journal that writes. Method: every mention.
#[test]
fn gateway_and_journal() {
    let mut broken = Vec::new();
    for source in sources(&["src"]).iter().filter(|source| source.path.starts_with("src/gateway/"))
    {
        let code = without_tests(source);
        for (at, word) in code.match_indices("crate::journal::") {
            let rest = &code[at + word.len()..];
            if !GATEWAY_KNOWS_OF_JOURNAL.iter().any(|part| rest.starts_with(part)) {
                let line = code[..at].matches('\n').count() + 1;
                broken.push(format!("{}:{line}", source.path));
            }
        }
    }
    none(&broken, "the gateway knows of the journal only tokens and views");
}

/// Goal: no part depends on itself by way of others. Method: the graph of `crate::` paths between
/// the parts of the root crate, searched for a cycle.
#[test]
fn no_cycle() {
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources(&["src"]).iter().filter(|it| !it.path.starts_with("src/protocol/")) {
        let part = part(&source.path);
        // The root names its parts and wires none.
        if part == "lib" || part == "main" {
            continue;
        }
        let code = without_tests(source);
        for (at, word) in code.match_indices("crate::") {
            let name: String =
                code[at + word.len()..].chars().take_while(|it| is_name(*it)).collect();
            if !name.is_empty() && name != part {
                graph.entry(part.to_owned()).or_default().insert(name);
            }
        }
    }
    let mut left = graph.clone();
    // Parts that depend on nothing left are fine; what stays stands in, or behind, a cycle.
    loop {
        let free: Vec<_> = left
            .iter()
            .filter(|(_, on)| on.iter().all(|on| !left.contains_key(on)))
            .map(|(part, _)| part.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        for part in free {
            left.remove(&part);
        }
    }
    let broken: Vec<_> = left.iter().map(|(part, on)| format!("{part} -> {on:?}")).collect();
    none(&broken, "no cycle between the parts");
}

/// The part of the root crate that a file belongs to.
fn part(path: &str) -> &str {
    let path = path.strip_prefix("src/").unwrap_or(path);
    path.split('/').next().unwrap_or(path).trim_end_matches(".rs")
}

/// The code of a file without its tests, which may know more.
fn without_tests(source: &Source) -> &str {
    let is_aside = ["/tests.rs", "/tests/", "/examples/"];
    if is_aside.iter().any(|part| source.path.contains(part)) {
        return "";
    }
    let end = source.bare.find("#[cfg(test)]").unwrap_or(source.bare.len());
    &source.bare[..end]
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Whether `code` uses `word`, which is no part of a longer name there.
fn uses(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(is_name) && (word.ends_with(':') || !after.is_some_and(is_name))
    })
}

/// Goal: a word is found as a word. Method: a row a case.
#[test]
fn words() {
    for (code, word, want) in [
        ("use tokio::sync;", "tokio", true),
        ("use tokio_util::sync;", "tokio", false),
        ("let instant = 1;", "Instant", false),
        ("x.Instant", "Instant", true),
        ("use parley::cli;", "parley::", true),
        ("use parley_protocol::ids;", "parley::", false),
    ] {
        assert_eq!(uses(code, word), want, "{code}");
    }
}
