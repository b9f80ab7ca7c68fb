//! What stands in the code and must stand in the documents too.

use parley_protocol::operation::Operation;
use parley_protocol::refusal::Reason;

use super::{document, none};

/// Goal: whoever is refused finds what to do. Method: a section of docs/guide/REASONS.md for each
/// reason, and none for what is no reason.
#[test]
fn reasons() {
    let text = document("docs/guide/REASONS.md");
    let sections: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### `"))
        .map(|rest| rest.split('`').next().unwrap_or(rest))
        .collect();
    let words: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    let missing = words.iter().filter(|word| !sections.contains(word));
    let unknown = sections.iter().filter(|section| !words.contains(section));
    let broken: Vec<_> = missing
        .map(|word| format!("{word} is missing"))
        .chain(unknown.map(|section| format!("{section} is no reason")))
        .collect();
    none(&broken, "docs/guide/REASONS.md has one section for each reason");
    for reason in Reason::ALL {
        let head = format!("### `{}` · {}", reason.as_str(), reason.status());
        assert!(text.contains(&head), "docs/guide/REASONS.md: {head}");
    }
}

/// Goal: every operation is found from its clause. Method: each name, in docs/PROTOCOL.md.
#[test]
fn operations() {
    let text = document("docs/PROTOCOL.md");
    let names = Operation::ALL.map(Operation::as_str).into_iter();
    let broken: Vec<_> =
        names.filter(|name| !text.contains(&format!("`{name}`"))).map(str::to_owned).collect();
    none(&broken, "docs/PROTOCOL.md names each operation");
}

/// Goal: the clause table points at files that exist. Method: every path in it.
#[test]
fn the_table_points_at_files() {
    let text = document("docs/PROTOCOL.md");
    let paths = text.split('`').filter(|word| {
        let is_path = word.starts_with("src/") || word.starts_with("tests/");
        is_path && !word.contains(char::is_whitespace)
    });
    let broken: Vec<_> =
        paths.filter(|path| !super::root().join(path).exists()).map(str::to_owned).collect();
    none(&broken, "docs/PROTOCOL.md names files that exist");
}

/// Goal: an operator finds every key. Method: each name, or its section, in
/// docs/guide/OPERATIONS.md.
#[test]
fn configuration_keys() {
    let text = document("docs/guide/OPERATIONS.md");
    let names = parley::config::keys::KEYS.iter().map(|key| key.name);
    let broken: Vec<_> = names
        .filter(|name| {
            let section = name.split_once('.').map(|(section, _)| format!("`{section}.*`"));
            let is_named = text.contains(&format!("`{name}`"));
            !is_named && !section.is_some_and(|section| text.contains(&section))
        })
        .map(str::to_owned)
        .collect();
    none(&broken, "docs/guide/OPERATIONS.md names each key or its section");
}

/// Goal: an operator finds every metric. Method: each name that stands in the code, in
/// docs/guide/OPERATIONS.md.
#[test]
fn metrics() {
    let text = document("docs/guide/OPERATIONS.md");
    let mut broken = Vec::new();
    for source in super::sources(&["src"]) {
        for word in source.text.split('"').filter(|word| word.starts_with("parley_")) {
            let is_name = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            if is_name && word != "parley_protocol" && !text.contains(&format!("`{word}`")) {
                broken.push(format!("{}: {word}", source.path));
            }
        }
    }
    none(&broken, "docs/guide/OPERATIONS.md names each metric");
}
