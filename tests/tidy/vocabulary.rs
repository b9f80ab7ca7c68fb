//! One word, one meaning: type names, and citations of the specification.

use std::collections::{BTreeMap, BTreeSet};

use super::{ALL, Source, document, none, root, sources};

/// Type names that may be defined more than once, each with the reason. At most five.
const REPEATED: [(&str, &str); 0] = [];

/// Each name of a public type, with the files that define it.
fn public_types<'s>(
    sources: impl IntoIterator<Item = &'s Source>,
) -> BTreeMap<&'s str, Vec<&'s str>> {
    let mut types: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for source in sources {
        let words = source.bare.split(|it: char| !it.is_alphanumeric() && it != '_');
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        for at in 1..words.len() {
            let is_type = ["struct", "enum", "trait", "type", "union"].contains(&words[at - 1]);
            let before = &words[at.saturating_sub(3)..at - 1];
            let is_public = matches!(before, [.., "pub"] | [.., "pub", "crate" | "super" | "self"]);
            // A macro's `$name` is a definition for each use, none of them here.
            if is_type && is_public && words[at].starts_with(char::is_uppercase) {
                types.entry(words[at]).or_default().push(&source.path);
            }
        }
    }
    types
}

/// The names defined more than once that no exception allows.
fn repeated<'s>(sources: impl IntoIterator<Item = &'s Source>) -> Vec<String> {
    let is_allowed = |name: &str| REPEATED.iter().any(|(allowed, _)| *allowed == name);
    let types = public_types(sources).into_iter();
    let twice = types.filter(|(name, files)| files.len() > 1 && !is_allowed(name));
    twice.map(|(name, files)| format!("{name}: {}", files.join(", "))).collect()
}

/// Goal: a name of a type means one thing in the server. Method: every public definition in src.
#[test]
fn each_type_has_a_name_of_its_own() {
    const { assert!(REPEATED.len() <= 5) };
    none(repeated(sources(&["src"])), "a public type's name is defined once");
}

/// The numbers of the headings of a page: `3.2` of `### 3.2 Loop protection`.
fn headings(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let numbers =
        headings.filter_map(|line| line.trim_start_matches('#').split_whitespace().next());
    numbers.map(|number| number.trim_end_matches('.').to_owned()).collect()
}

/// What `text` cites: page and number of each `page.md §n`, those after a comma too.
fn citations(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(".md") {
        let is_part = |it: char| it.is_alphanumeric() || matches!(it, '-' | '_');
        let begin = text[..at].rfind(|it| !is_part(it)).map_or(0, |it| it + 1);
        let page = format!("{}.md", &text[begin..at]);
        let mut rest = text[at + 3..].trim_start_matches('`');
        loop {
            let skip = |it: char| it.is_whitespace() || matches!(it, ',' | '/' | '!');
            let next = rest.trim_start_matches(skip);
            let next = next.strip_prefix("and ").unwrap_or(next);
            let Some(number) = next.strip_prefix('§') else { break };
            let end = number.find(|it: char| !it.is_ascii_digit() && it != '.');
            let (number, after) = number.split_at(end.unwrap_or(number.len()));
            found.push((page.clone(), number.trim_end_matches('.').to_owned()));
            rest = after;
        }
    }
    found
}

/// Each citation in `sources` that names no heading of `pages`.
fn dangling<'s>(
    sources: impl IntoIterator<Item = &'s Source>,
    pages: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<String> {
    let mut broken = Vec::new();
    for source in sources {
        for (page, number) in citations(&source.text) {
            if !pages.get(&page).is_some_and(|headings| headings.contains(&number)) {
                broken.push(format!("{}: {page} §{number}", source.path));
            }
        }
    }
    broken
}

/// Goal: whoever follows a citation finds the clause. Method: each `page.md §n` in the sources
/// against the headings of docs/spec.
#[test]
fn citations_name_a_clause() {
    let mut pages = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("docs/spec")).expect("the specification") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        pages.insert(name.clone(), headings(&document(&format!("docs/spec/{name}"))));
    }
    let sources = ALL.iter().filter(|source| source.path != "tests/tidy/vocabulary.rs");
    none(dangling(sources, &pages), "a citation names a heading of docs/spec");
}

/// Goal: the terms of the code are explained once each, in order. Method: the lines of the
/// glossary.
#[test]
fn the_glossary_is_in_order() {
    let text = document("docs/GLOSSARY.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.split(" |").next()).skip(1);
    let words: Vec<String> = cells.map(str::to_lowercase).collect();
    assert!(words.len() > 100, "{} words", words.len());
    let broken =
        words.windows(2).filter(|pair| pair[0] >= pair[1]).map(|pair| pair.join(" before "));
    none(broken, "the glossary has each word once, in alphabetical order");
}

/// Goal: each rule finds what breaks it. Method: one violation of each, planted.
#[test]
fn planted_violations() {
    let types = [
        Source::new("src/a.rs", "pub struct Held<T>(T);\nstruct Own;"),
        Source::new("src/b.rs", "    pub(super) enum Held {}\nstruct Own;\n// pub struct Said;"),
        Source::new("src/c.rs", "pub type Said = u8;"),
    ];
    assert_eq!(repeated(&types), ["Held: src/a.rs, src/b.rs"]);
    let pages = BTreeMap::from([("p.md".to_owned(), headings("# P\n## 1. One\n### 1.2 Two\n"))]);
    let cited = [Source::new("src/a.rs", "// p.md §1, §1.2 and §3; `q.md` §1 (p.md §1.2).")];
    assert_eq!(dangling(&cited, &pages), ["src/a.rs: p.md §3", "src/a.rs: q.md §1"]);
}
