//! The import table of docs/ARCHITECTURE.md, parsed and held against the sources.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, document, none, sources};

/// The heading above the import table.
const HEADING: &str = "## Which part may use which";

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    /// The other parts that the part may name as `crate::part`.
    uses: BTreeSet<String>,
    /// Words that must not stand in its code: crates, or paths within one.
    without: BTreeSet<String>,
}

/// The rows of the table, by part. A part is a folder or file of `src`, `protocol` or `load`.
fn table(text: &str) -> BTreeMap<String, Row> {
    let section = text.split(HEADING).nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let words = |cell: &str| {
        let ticked = cell.split('`').skip(1).step_by(2);
        ticked.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let mut rows = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let [parts, uses, without] = cells[..] else { panic!("three columns: {line}") };
        for part in words(parts) {
            rows.insert(part, Row { uses: words(uses), without: words(without) });
        }
    }
    rows
}

/// Every use in `sources` that the table does not allow, and every part that it does not list.
fn violations<'s>(
    table: &BTreeMap<String, Row>,
    sources: impl IntoIterator<Item = &'s Source>,
) -> Vec<String> {
    let mut broken = Vec::new();
    for source in sources {
        let part = part(&source.path);
        if part == "lib" || part == "main" {
            continue;
        }
        let Some(row) = table.get(part) else {
            broken.push(format!("{}: the table has no row for `{part}`", source.path));
            continue;
        };
        let code = without_tests(source);
        if !matches!(part, "protocol" | "load") {
            let named = paths(code).filter(|name| *name != part && table.contains_key(*name));
            let alien = named.filter(|name| !row.uses.contains(*name));
            broken.extend(alien.map(|name| format!("{}: crate::{name}", source.path)));
        }
        let words = row.without.iter().filter(|word| uses(code, word));
        broken.extend(words.map(|word| format!("{}: {word}", source.path)));
    }
    broken
}

/// The parts on a cycle of the table, or behind one.
fn cycle(table: &BTreeMap<String, Row>) -> Vec<String> {
    on_circles(table.iter().map(|(part, row)| (part.clone(), row.uses.clone())).collect())
}

/// The nodes of `graph`, each with those that it names, on a circle or before one.
fn on_circles<N: Clone + Ord>(mut graph: BTreeMap<N, BTreeSet<N>>) -> Vec<N> {
    loop {
        let count = graph.len();
        let left: BTreeSet<N> = graph.keys().cloned().collect();
        graph.retain(|_, on| !on.is_disjoint(&left));
        if graph.len() == count {
            return graph.into_keys().collect();
        }
    }
}

/// Goal: the walls between the parts stand. Method: every import of every part against the table.
#[test]
fn walls() {
    let table = table(&document("docs/ARCHITECTURE.md"));
    none(violations(&table, sources(&["src", "load/src"])), "a part uses what the table allows");
}

/// Goal: the table allows no circle, and lists no use that nothing makes. Method: its own graph,
/// and the imports of the sources.
#[test]
fn the_table_is_tight() {
    let table = table(&document("docs/ARCHITECTURE.md"));
    assert_eq!(cycle(&table), [""; 0]);
    let sources = sources(&["src"]);
    let mut broken = Vec::new();
    for (part, row) in &table {
        let of_part = sources.iter().filter(|source| self::part(&source.path) == part);
        let made: BTreeSet<_> = of_part.flat_map(|source| paths(without_tests(source))).collect();
        let vain = row.uses.iter().filter(|name| *name != "protocol" && !made.contains(&name[..]));
        broken.extend(vain.map(|name| format!("{part}: {name}")));
    }
    none(broken, "the table lists the imports that there are");
}

/// Goal: a file imports no file that imports it. Method: the graph of `crate::` and `super::`
/// paths between the files of each crate; a file may name its own ancestors.
#[test]
fn no_circle_of_files() {
    for folder in ["src/protocol", "src", "load/src"] {
        let mut files = sources(&[folder]);
        files.retain(|source| folder != "src" || !source.path.starts_with("src/protocol/"));
        none(circles(folder, &files), "no circle between files");
    }
}

/// The files of `folder` that stand on a circle of imports, or behind one.
fn circles(folder: &str, files: &[&Source]) -> Vec<String> {
    let modules: BTreeSet<Vec<&str>> =
        files.iter().map(|source| module(folder, &source.path)).collect();
    let mut graph: BTreeMap<Vec<&str>, BTreeSet<Vec<&str>>> = BTreeMap::new();
    for source in files {
        let own = module(folder, &source.path);
        let mut on = BTreeSet::new();
        for path in imports(without_tests(source)) {
            let mut target = match path.first() {
                Some(&"crate") => path[1..].to_vec(),
                Some(&("super" | "self")) => {
                    let ups = path.iter().filter(|name| **name == "super").count();
                    let names = path.iter().filter(|name| !matches!(**name, "super" | "self"));
                    let stays = own.len().saturating_sub(ups);
                    own[..stays].iter().chain(names).copied().collect()
                }
                Some(name) if modules.contains(&[&own[..], &[name]].concat()) => {
                    [&own[..], &path[..]].concat()
                }
                _ => continue,
            };
            while !target.is_empty() && !modules.contains(&target) {
                target.pop();
            }
            if !target.is_empty() && !own.starts_with(&target) {
                on.insert(target);
            }
        }
        graph.insert(own, on);
    }
    on_circles(graph).iter().map(|own| own.join("::")).collect()
}

/// The path of a file's module within its crate.
fn module<'p>(folder: &str, path: &'p str) -> Vec<&'p str> {
    let path = path.strip_prefix(folder).unwrap_or(path).trim_matches('/');
    let mut names: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    if matches!(names.last(), Some(&("mod" | "lib" | "main"))) {
        names.pop();
    }
    names
}

/// The paths that `use` declarations name, braces expanded.
fn imports(code: &str) -> Vec<Vec<&str>> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let before = code[..at].trim_end();
        let begins = before.is_empty() || before.ends_with([';', '}', '{', ']', ')']);
        let is_public = before.ends_with("pub") || before.ends_with("pub(crate)");
        if begins || is_public {
            let tree = code[at + 4..].split(';').next().unwrap_or_default();
            expand(tree.trim(), &[], &mut paths);
        }
    }
    paths
}

fn expand<'c>(tree: &'c str, before: &[&'c str], paths: &mut Vec<Vec<&'c str>>) {
    let (names, rest) = tree.split_once('{').map_or((tree, None), |(one, two)| (one, Some(two)));
    let names = names.split(" as ").next().unwrap_or_default();
    let names = names.split("::").map(str::trim).filter(|name| !name.is_empty());
    let path: Vec<&str> = before.iter().copied().chain(names).collect();
    let Some(rest) = rest else { return paths.push(path) };
    let (mut depth, mut begin) = (0_usize, 0);
    for (at, character) in rest.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let item = rest[begin..at].trim();
                if !item.is_empty() {
                    expand(item, &path, paths);
                }
                begin = at + 1;
            }
            _ => {}
        }
    }
}

/// The first names after `crate::`.
fn paths(code: &str) -> impl Iterator<Item = &str> {
    code.match_indices("crate::").map(|(at, word)| {
        let rest = &code[at + word.len()..];
        let end = rest.find(|it| !is_name(it)).unwrap_or(rest.len());
        &rest[..end]
    })
}

/// The part that a file belongs to.
fn part(path: &str) -> &str {
    if path.starts_with("load/") {
        return "load";
    }
    let path = path.strip_prefix("src/").unwrap_or(path);
    path.split('/').next().unwrap_or(path).trim_end_matches(".rs")
}

/// The code of a file without its tests, which may know more.
fn without_tests(source: &Source) -> &str {
    &source.bare[..source.tests_at()]
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

/// Goal: each violation of the table is found. Method: one of each kind, planted, and a table with
/// a circle.
#[test]
fn planted_violations() {
    let text = format!(
        "{HEADING}\n\n| part | uses | not |\n|---|---|---|\n| `a` | `b` | `redb` |\n| `b` | | |\n"
    );
    let allowed = table(&text);
    let good =
        [Source::new("src/a/x.rs", "use crate::b::Y;"), Source::new("src/b.rs", "// crate::a")];
    assert_eq!(violations(&allowed, &good), [""; 0]);
    let bad = [
        Source::new("src/a.rs", "use redb::Database;"),
        Source::new("src/b/z.rs", "fn f() { crate::a::g(); }"),
        Source::new("src/c.rs", ""),
    ];
    let found = violations(&allowed, &bad);
    assert_eq!(found.len(), 3, "{found:?}");
    let round = table(&text.replace("| `b` | | |", "| `b` | `a` | |"));
    assert_eq!(cycle(&round), ["a", "b"]);
    let files = [
        Source::new("src/a/mod.rs", "mod x; mod y; pub use x::X;"),
        Source::new("src/a/x.rs", "use super::y::{Y, Z};"),
        Source::new("src/a/y.rs", "use crate::{a::x::X, b};"),
        Source::new("src/b.rs", ""),
    ];
    let found = circles("src", &files.iter().collect::<Vec<_>>());
    assert_eq!(found, ["a", "a::x", "a::y"]);
}
