//! Rust without its comments and the insides of its literals.

/// `text` with comments and the insides of string and character literals replaced by spaces, so
/// that what is left is code. Lines stay lines.
pub fn bare(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut bare = String::with_capacity(text.len());
    let mut at = 0;
    while at < characters.len() {
        let end = match characters[at] {
            '/' if characters.get(at + 1) == Some(&'/') => line_end(&characters, at),
            '/' if characters.get(at + 1) == Some(&'*') => comment_end(&characters, at),
            '"' => string_end(&characters, at + 1),
            'r' if starts_word(&characters, at) => raw_end(&characters, at),
            '\'' => character_end(&characters, at),
            _ => at,
        };
        if end == at {
            bare.push(characters[at]);
            at += 1;
            continue;
        }
        let blank = |it: &char| if *it == '\n' { '\n' } else { ' ' };
        bare.extend(characters[at..end].iter().map(blank));
        at = end;
    }
    bare
}

fn line_end(characters: &[char], from: usize) -> usize {
    let length = characters[from..].iter().take_while(|it| **it != '\n').count();
    from + length
}

fn comment_end(characters: &[char], from: usize) -> usize {
    let mut depth = 0;
    let mut at = from;
    while at + 1 < characters.len() {
        match (characters[at], characters[at + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    characters.len()
}

fn string_end(characters: &[char], from: usize) -> usize {
    let mut at = from;
    while at < characters.len() {
        match characters[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    characters.len()
}

/// Whether no name goes on at `at`, so that an `r` there may begin a raw string. The prefixes
/// `br` and `cr` are words of their own.
fn starts_word(characters: &[char], at: usize) -> bool {
    let is_name = |it: &char| it.is_alphanumeric() || *it == '_';
    let before = |steps: usize| at.checked_sub(steps).and_then(|at| characters.get(at));
    match before(1) {
        Some('b' | 'c') => !before(2).is_some_and(is_name),
        other => !other.is_some_and(is_name),
    }
}

/// The end of the raw string that begins at `at`; `at` if none does.
fn raw_end(characters: &[char], at: usize) -> usize {
    let hashes = characters[at + 1..].iter().take_while(|it| **it == '#').count();
    let open = at + 1 + hashes;
    if characters.get(open) != Some(&'"') {
        return at;
    }
    let mut close = vec!['"'];
    close.extend(std::iter::repeat_n('#', hashes));
    let rest = &characters[open + 1..];
    let found = rest.windows(close.len()).position(|window| window == close);
    found.map_or(characters.len(), |found| open + 1 + found + close.len())
}

/// The end of the character literal that begins at `at`; `at` if a lifetime begins there.
fn character_end(characters: &[char], at: usize) -> usize {
    match (characters.get(at + 1), characters.get(at + 2)) {
        (Some('\\'), Some(_)) => {
            let rest = characters[at + 3..].iter().take_while(|it| **it != '\'').count();
            at + 3 + rest + 1
        }
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}

/// Goal: code stays, comments and literals go. Method: a row a form.
#[test]
fn forms() {
    for (text, want) in [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ d */ e", "a                   e"),
        ("f(\"x { \\\" }\")", "f(          )"),
        ("r#\"a \" b\"# c", "           c"),
        ("for r in x", "for r in x"),
        ("br\"a\"", "b    "),
        ("'{' 'a '\\'' '\\u{7f}' b", "    'a               b"),
        ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
    ] {
        assert_eq!(bare(text), want, "{text}");
    }
}
