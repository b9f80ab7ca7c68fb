//! Sizes and names.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{ALL, none};

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
    for source in ALL.iter() {
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
        for (line, length) in functions(source.text.parse().expect("Rust")) {
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
    let paths = ALL.iter().map(|source| source.path.as_str());
    let broken =
        paths.filter(|path| path.split(['/', '.']).any(|part| NAMES_FORBIDDEN.contains(&part)));
    none(broken, "no file is named after what it is made of");
}

/// Where each function with a body begins, counted from 1, and how many lines it has.
fn functions(tokens: TokenStream) -> Vec<(usize, usize)> {
    let (mut found, mut begin) = (Vec::new(), None);
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "fn" => {
                let is_named = matches!(tokens.peek(), Some(TokenTree::Ident(_)));
                begin = is_named.then(|| word.span().start().line);
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => begin = None,
            TokenTree::Group(group) => {
                let first = begin.filter(|_| group.delimiter() == Delimiter::Brace);
                if let Some(first) = first {
                    found.push((first, group.span().end().line + 1 - first));
                    begin = None;
                }
                found.extend(functions(group.stream()));
            }
            _ => {}
        }
    }
    found
}

/// Goal: functions are measured as they stand. Method: bodies, none, and one within another.
#[test]
fn measuring() {
    let measured = |text: &str| functions(text.parse().expect("Rust"));
    assert_eq!(measured("fn a() {\n  x {\n  }\n}\nfn b();\n"), [(1, 4)]);
    assert_eq!(measured("fn a(x: [u8; 2]) -> B {\n fn c() {\n }\n}"), [(1, 4), (2, 2)]);
    assert_eq!(measured("let f: fn (u8) = x; // not_fn a\n"), []);
}
