//! Sizes and names.

use super::{all, none};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;
const LINE_CHARACTERS_MAX: usize = 100;

/// Names that say what a file is made of and not what it is for.
const NAMES_FORBIDDEN: [&str; 8] =
    ["util", "utils", "helper", "helpers", "common", "misc", "shared", "stuff"];

/// Goal: no file, function or line is longer than a reader takes in. Method: all are counted.
#[test]
fn sizes() {
    let mut broken = Vec::new();
    for source in all() {
        let lines = source.text.lines().count();
        if lines > FILE_LINES_MAX {
            broken.push(format!("{}: {lines} lines", source.path));
        }
        for (index, line) in source.text.lines().enumerate() {
            let length = line.chars().count();
            if length > LINE_CHARACTERS_MAX {
                broken.push(format!("{}:{}: {length} characters", source.path, index + 1));
            }
        }
        for (line, length) in functions(&source.bare) {
            if length > FUNCTION_LINES_MAX {
                broken.push(format!("{}:{line}: a function of {length} lines", source.path));
            }
        }
    }
    none(broken, "files have at most 500 lines, functions 70, lines 100 characters");
}

/// Goal: a file is named after what it is for. Method: every part of every path.
#[test]
fn names() {
    let mut broken: Vec<String> = all().into_iter().map(|source| source.path).collect();
    broken.retain(|path| path.split(['/', '.']).any(|part| NAMES_FORBIDDEN.contains(&part)));
    none(broken, "no file is named after what it is made of");
}

/// Where each function begins, counted from 1, and how many lines it has.
fn functions(bare: &str) -> Vec<(usize, usize)> {
    let mut functions = Vec::new();
    for (at, _) in bare.match_indices("fn ") {
        let is_word = bare[..at].chars().next_back().is_none_or(|it| !it.is_alphanumeric());
        let named = bare[at + 3..].starts_with(|it: char| it.is_alphabetic() || it == '_');
        if !is_word || !named {
            continue;
        }
        if let Some(end) = body_end(&bare[at..]) {
            let first = bare[..at].matches('\n').count() + 1;
            functions.push((first, bare[at..at + end].matches('\n').count() + 1));
        }
    }
    functions
}

/// Where the body of the function ends that `text` begins with; `None` if it has none.
fn body_end(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    // A semicolon within brackets is that of an array's type.
    let mut brackets = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' if depth == 0 => brackets += 1,
            ')' | ']' if depth == 0 => brackets = brackets.saturating_sub(1),
            ';' if depth == 0 && brackets == 0 => return None,
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Goal: functions are measured as they stand. Method: bodies, none, and one within another.
#[test]
fn measuring() {
    assert_eq!(functions("fn a() {\n  x {\n  }\n}\nfn b();\n"), [(1, 4)]);
    assert_eq!(functions("fn a(x: [u8; 2]) -> B {\n fn c() {\n }\n}"), [(1, 4), (2, 2)]);
    assert_eq!(functions("let f: fn (u8) = x; // not_fn a\n"), []);
}
