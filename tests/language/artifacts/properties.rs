//! Properties of the canonical form, on values and texts made by rng. The generators are
//! seeded with constants, so every run is the same.

use std::collections::{BTreeMap, BTreeSet};

use parley_naive::rng::Rng;
use parley_protocol::artifact::{canonicalize, identity};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use unicode_normalization::UnicodeNormalization;

use super::naive;
use crate::notation;

/// A value without a form: how it is written is chosen apart.
#[derive(Clone, Debug, PartialEq)]
enum Tree {
    Word(&'static str),
    Integer(i64),
    Text(String),
    List(Vec<Tree>),
    Map(BTreeMap<String, Tree>),
}

/// Texts in NFC, of characters that normalization, escaping or sorting treat differently.
fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        3 => proptest::char::range(' ', '~'),
        2 => proptest::char::range('\0', '\u{1f}'),
        2 => proptest::char::range('À', 'ſ'),
        1 => proptest::char::range('\u{300}', '\u{345}'),
        1 => proptest::char::range('가', '힣'),
        1 => any::<char>(),
    ];
    vec(character, 0..8).prop_map(|characters| characters.into_iter().nfc().collect())
}

fn tree() -> impl Strategy<Value = Tree> {
    let integer = -9_007_199_254_740_991_i64..=9_007_199_254_740_991;
    let leaf = prop_oneof![
        prop_oneof![Just("null"), Just("true"), Just("false")].prop_map(Tree::Word),
        integer.prop_map(Tree::Integer),
        text().prop_map(Tree::Text),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Tree::List),
            btree_map(text(), inner, 0..5).prop_map(Tree::Map),
        ]
    })
}

fn top() -> impl Strategy<Value = Tree> {
    btree_map(text(), tree(), 0..6).prop_map(Tree::Map)
}

/// Writes a tree in one of its many forms.
struct Writer {
    rng: Rng,
    output: String,
}

impl Writer {
    fn write(tree: &Tree, seed: u64) -> String {
        let mut writer = Self { rng: Rng::new(seed), output: String::new() };
        writer.value(tree);
        writer.output
    }

    fn space(&mut self) {
        let spaces = ["", "", "", " ", "\n\t", "\r\n  "];
        self.output.push_str(spaces[self.rng.index(spaces.len())]);
    }

    fn value(&mut self, tree: &Tree) {
        self.space();
        match tree {
            Tree::Word(word) => self.output.push_str(word),
            Tree::Integer(0) if self.rng.index(2) == 0 => self.output.push_str("-0"),
            Tree::Integer(value) => self.output.push_str(&value.to_string()),
            Tree::Text(text) => self.text(text),
            Tree::List(items) => {
                self.output.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.comma(index);
                    self.value(item);
                }
                self.output.push(']');
            }
            Tree::Map(members) => self.members(members),
        }
        self.space();
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.output.push(',');
        }
    }

    fn members(&mut self, members: &BTreeMap<String, Tree>) {
        let mut order: Vec<_> = members.iter().collect();
        for last in (1..order.len()).rev() {
            order.swap(last, self.rng.index(last + 1));
        }
        self.output.push('{');
        self.space();
        for (index, (name, value)) in order.into_iter().enumerate() {
            self.comma(index);
            self.space();
            self.text(name);
            self.space();
            self.output.push(':');
            self.value(value);
        }
        self.output.push('}');
    }

    fn text(&mut self, text: &str) {
        let text: String = match self.rng.index(2) {
            0 => text.to_owned(),
            _ => text.nfd().collect(),
        };
        self.output.push('"');
        for character in text.chars() {
            let is_special = character < ' ' || character == '"' || character == '\\';
            if is_special || self.rng.index(4) == 0 {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let is_lower = self.rng.index(2) == 0;
                    let digits =
                        if is_lower { format!("{unit:04x}") } else { format!("{unit:04X}") };
                    self.output.push_str("\\u");
                    self.output.push_str(&digits);
                }
            } else {
                self.output.push(character);
            }
        }
        self.output.push('"');
    }
}

/// Runs a property on chosen values, from a constant seed that is printed.
fn property<S: Strategy>(
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) -> Result<(), String> {
    const SEED: [u8; 32] = *b"canonical JSON, artifacts.md, 1.";
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    TestRunner::new_with_rng(config, rng)
        .run(strategy, test)
        .map_err(|error| format!("seed {}: {error}", String::from_utf8_lossy(&SEED)))
}

fn canonical(text: &str) -> Result<Vec<u8>, TestCaseError> {
    let canonical = canonicalize(text.as_bytes());
    let canonical = canonical.map_err(|fault| TestCaseError::fail(format!("{fault:?}: {text}")))?;
    Ok(canonical.bytes())
}

/// Canonicalizing twice is canonicalizing once: the form is taken for input.
#[test]
fn canonical_text_is_its_own_form() -> Result<(), String> {
    property(&(top(), any::<u64>()), |(tree, seed)| {
        let once = canonical(&Writer::write(&tree, seed))?;
        let text = String::from_utf8(once.clone()).expect("UTF-8");
        prop_assert_eq!(canonical(&text)?, once);
        Ok(())
    })
}

/// Texts that differ only in the order of members, white space, escapes or normalization have
/// one identifier: a value is written in two ways.
#[test]
fn one_value_has_one_identifier() -> Result<(), String> {
    property(&(top(), any::<u64>(), any::<u64>()), |(tree, left, right)| {
        let [left, right] = [left, right].map(|seed| Writer::write(&tree, seed));
        prop_assert_eq!(canonical(&left)?, canonical(&right)?);
        let id = |text: &str| canonicalize(text.as_bytes()).map(|it| identity::compute(&it));
        prop_assert_eq!(id(&left), id(&right));
        Ok(())
    })
}

/// Different values have different identifiers: two trees are written, and a tree and the
/// same with one member more. The member `artifact_id` alone makes no difference.
#[test]
fn other_values_have_other_identifiers() -> Result<(), String> {
    property(&(top(), top(), any::<u64>(), text()), |(left, right, seed, name)| {
        let id = |tree: &Tree| {
            let text = Writer::write(tree, seed);
            canonicalize(text.as_bytes()).map(|it| identity::compute(&it)).ok()
        };
        prop_assert_eq!(id(&left) == id(&right), left == right);
        let Tree::Map(mut members) = left.clone() else { unreachable!("a top level") };
        if members.insert(name, Tree::Word("null")).is_none() {
            prop_assert_ne!(id(&left), id(&Tree::Map(members.clone())));
        }
        let before = id(&Tree::Map(members.clone()));
        members.insert("artifact_id".to_owned(), Tree::Integer(1));
        prop_assert_eq!(before, id(&Tree::Map(members)));
        Ok(())
    })
}

/// One change of a text, at a place and of a random kind.
fn mutate(text: &mut Vec<u8>, pieces: &[&[u8]], rng: &Rng) {
    let at = rng.index(text.len() + 1);
    let to = at + rng.index((text.len() - at).min(6) + 1);
    match rng.index(4) {
        0 => drop(text.drain(at..to)),
        1 => {
            let copy = text[at..to].to_vec();
            text.splice(at..at, copy);
        }
        2 => {
            let piece = pieces[rng.index(pieces.len())];
            text.splice(at..to, piece.iter().copied());
        }
        _ if at < text.len() => {
            let bytes = b"{}[]:,\"\\u0019.eE-+ntf \xc3\xa9\x80";
            text[at] = bytes[rng.index(bytes.len())];
        }
        _ => {}
    }
}

/// Two implementations written apart agree on texts broken by rng, on the bytes or on
/// there being none: rows of the table and values, changed one to three times, from a
/// constant seed. Where both refuse, the class may differ: there may be several faults.
#[test]
fn implementations_agree_on_broken_texts() {
    const SEED: u64 = 20_260_801;
    println!("seed {SEED}");
    let rows = notation::rows(include_str!("canonical.txt")).filter_map(|(_, row)| {
        let input = row.split_once(" => ").or_else(|| row.split_once(" !! "))?.0;
        (input.len() < 200 && !input.starts_with("verify ")).then(|| notation::bytes(input))
    });
    let mut texts: Vec<Vec<u8>> = rows.filter(|text| text.len() < 500).collect();
    let written = |tree: Tree| Writer::write(&tree, SEED).into_bytes();
    let mut runner = TestRunner::deterministic();
    for _ in 0..200 {
        let tree = top().new_tree(&mut runner).expect("a tree");
        texts.push(written(proptest::strategy::ValueTree::current(&tree)));
    }
    let pieces =
        b"\\ud800 \\udc00 \\u0000 e\xcc\x81 \xc3\xa9 \"a\":1, -0 1.0 9007199254740992 NaN \
        -Infinity \xef\xbb\xbf [[ \xed\xa0\x80";
    let pieces: Vec<&[u8]> = pieces.split(|byte| *byte == b' ').collect();
    let rng = Rng::new(SEED);
    let mut outcomes = BTreeSet::new();
    let mut admitted = 0;
    for _ in 0..40_000 {
        let mut text = texts[rng.index(texts.len())].clone();
        for _ in 0..=rng.index(3) {
            mutate(&mut text, &pieces, &rng);
        }
        let found = canonicalize(&text).map(|canonical| canonical.bytes());
        let naive = naive::canonicalize(&text);
        let shown = String::from_utf8_lossy(&text);
        match (found, naive) {
            (Ok(found), Ok(naive)) => {
                admitted += 1;
                assert_eq!(found, naive, "{shown}");
            }
            (Err(fault), Err(_)) => drop(outcomes.insert(fault.class)),
            (found, naive) => panic!("{shown}\n{found:?}\n{naive:?}"),
        }
    }
    assert!(admitted > 2_000, "{admitted} admitted");
    assert_eq!(outcomes.len(), 4, "every class a broken text can have: {outcomes:?}");
}
