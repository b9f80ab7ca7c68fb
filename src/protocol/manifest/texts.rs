//! The sentences of the manifest: one file a language, the same keys in each.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::act::Kind;
use crate::command::Language;
use crate::feed::Scope;
use crate::limits::{
    BODY_MAX, COMMIT_MAX, COMMIT_MIN, EXTENSION_MAX, HEX_256, HEX_512, KEY_HOURS_MIN, KEY_MAX,
    NESTING_MAX, NOTE_MAX, PROVENANCE_MAX, REF_MAX, SUPERSEDES_MAX,
};

// Each file names this number in a word.
const _: () = assert!(Kind::ALL.len() == 9);

/// A sentence for each word of a table.
pub(super) type ByWord = BTreeMap<String, String>;

/// The sentences in one language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Texts {
    /// The fields of the envelope (parley.md §2).
    pub(super) fields: ByWord,
    /// The purpose of each act.
    pub(super) acts: ByWord,
    /// The meaning of each state.
    pub(super) states: ByWord,
    /// The operations that each right allows.
    pub(super) rights: ByWord,
    /// The actions that need each authority (parley.md §6).
    pub(super) authority: ByWord,
    /// The meaning of each reason, and the way on.
    pub(super) reasons: ByWord,
    /// The rules of every body.
    pub(super) envelope: Vec<String>,
    /// The rules of the turn (parley.md §3.2, §4).
    pub(super) turn: Vec<String>,
    /// The rules of states (parley.md §5).
    pub(super) marks: Vec<String>,
    /// The rules of reading (parley.md §7).
    pub(super) reading: Vec<String>,
    /// Advice, above all for swarms.
    pub(super) hints: Vec<String>,
    /// Profile `dialectic` (parley.md §8).
    pub(super) dialectic: Vec<String>,
    /// Profile `feed` (bindings.md §6).
    pub(super) feed: Vec<String>,
    /// Profile `artifacts` (artifacts.md).
    pub(super) artifacts: Vec<String>,
}

static TEXTS: LazyLock<[Texts; Language::ALL.len()]> = LazyLock::new(|| Language::ALL.map(read));

impl Texts {
    /// The sentences in `language`.
    pub(super) fn of(language: Language) -> &'static Self {
        &TEXTS[language as usize]
    }
}

fn read(language: Language) -> Texts {
    let file = match language {
        Language::En => include_str!("texts/en.json"),
        Language::De => include_str!("texts/de.json"),
        Language::Fr => include_str!("texts/fr.json"),
    };
    serde_json::from_str(&with_numbers(file)).expect("a test reads every file")
}

/// The text with the values of the constants that it names in braces.
fn with_numbers(text: &str) -> String {
    let numbers = [
        ("{BODY_MAX}", BODY_MAX as u64),
        ("{COMMIT_MAX}", COMMIT_MAX as u64),
        ("{COMMIT_MIN}", COMMIT_MIN as u64),
        ("{EXTENSION_MAX}", EXTENSION_MAX as u64),
        ("{HEX_256}", HEX_256 as u64),
        ("{HEX_512}", HEX_512 as u64),
        ("{KEY_HOURS_MIN}", KEY_HOURS_MIN),
        ("{KEY_MAX}", KEY_MAX as u64),
        ("{NESTING_MAX}", NESTING_MAX as u64),
        ("{NOTE_MAX}", NOTE_MAX as u64),
        ("{PROVENANCE_MAX}", PROVENANCE_MAX as u64),
        ("{REF_MAX}", REF_MAX as u64),
        ("{SUPERSEDES_MAX}", SUPERSEDES_MAX as u64),
    ];
    let scopes = Scope::ALL.map(|scope| format!("`{}`", scope.as_str())).join(", ");
    let text = text.replace("{FEED_SCOPES}", &scopes);
    numbers.iter().fold(text, |text, (name, number)| text.replace(name, &number.to_string()))
}
