//! Rust without its comments and the insides of its literals.

use proc_macro2::{TokenStream, TokenTree};

/// `text` with comments and literals of text and characters replaced by spaces, so that what is
/// left is code. Lines stay lines.
pub fn bare(text: &str) -> String {
    let tokens = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
    let blank = |byte| if byte == b'\n' { b'\n' } else { b' ' };
    let mut bare = text.bytes().map(blank).collect();
    keep(tokens, text, &mut bare);
    String::from_utf8(bare).expect("whole tokens of a text")
}

/// Puts the code among `tokens` of `text` where it stands.
fn keep(tokens: TokenStream, text: &str, bare: &mut Vec<u8>) {
    for token in tokens {
        let range = token.span().byte_range();
        let word = &text[range.clone()];
        match token {
            // As far as tokens go, a comment of documentation is an attribute.
            _ if word.starts_with("//") || word.starts_with("/*") => {}
            TokenTree::Literal(_) if word.contains(['"', '\'']) => {}
            TokenTree::Group(group) => {
                for at in [range.start, range.end - 1] {
                    bare[at] = text.as_bytes()[at];
                }
                keep(group.stream(), text, bare);
            }
            _ => bare[range].copy_from_slice(word.as_bytes()),
        }
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
        ("br\"a\"", "     "),
        ("'{' 'a '\\'' '\\u{7f}' b", "    'a               b"),
        ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
    ] {
        assert_eq!(bare(text), want, "{text}");
    }
}
