//! Random changes of a small corpus, against the second implementation.

use parley_naive::rng::Rng;

use super::fuzzed::canonical::{Reached, agree};
use super::fuzzed::publish::{self, renamed};
use crate::notation;

const CORPUS: &str = include_str!("corpus.txt");
const THREAD: &str = include_str!("../../../docs/generated/example-thread.jsonl");

/// What is put in somewhere: what the grammar, the profile or the semantics treat as special,
/// apart by spaces; a space and a line end beside them.
const WORDS: &str = "{ } [ ] : , \" \\ \\u0000 \\ud800 \\udc00 \\ud83d\\ude00 \\u00e9 e\u{301} \
                     \u{e9} \u{212b} \u{feff} \u{0} \u{7f} \u{1d160} -0 1.0 1e2 9007199254740991 \
                     9007199254740992 -9007199254740992 NaN Infinity null true false \"a\":1, \
                     \"artifact_id\": \"relation\":\"objects-to\" \"relation\":\"supports\" \
                     \"CLAIM\" \"OBJECTION\" \"DECISION\" \"TERMINATION\" \"blocking\":true \
                     \"final\" \"completed\" \"x.y\" [[[[[[[[ ]]]]]]]]";

fn corpus() -> Vec<Vec<u8>> {
    let rows = notation::rows(CORPUS).map(|(_, row)| notation::bytes(row));
    rows.chain(THREAD.lines().map(|line| line.as_bytes().to_vec())).collect()
}

/// One change of an input.
fn change(input: &mut Vec<u8>, words: &[&str], other: &[u8], rng: &Rng) {
    let place = |rng: &Rng, end: usize| rng.below(end as u64 + 1) as usize;
    let (one, two) = (place(rng, input.len()), place(rng, input.len()));
    let (from, to) = (one.min(two), one.max(two).min(one.min(two) + 40));
    match rng.below(8) {
        0 if from < input.len() => input[from] ^= 1 << rng.below(8),
        1 => drop(input.drain(from..to)),
        2 => {
            let again = input[from..to].to_vec();
            input.splice(from..from, again);
        }
        3 => {
            let (a, b) = (place(rng, other.len()), place(rng, other.len()));
            input.splice(from..to, other[a.min(b)..a.max(b)].iter().copied());
        }
        4 => input.truncate(one.max(two)),
        _ => drop(input.splice(from..from, rng.pick(words).bytes())),
    }
}

/// Goal: no input makes the canonicalizer or what publishing asks of an artifact panic, or differ
/// from the second implementation. Method: the corpus, then seeded changes of it, every other one
/// named anew so that it comes as far as the semantics; `FUZZ_SEED` and `FUZZ_CASES` make another
/// and a longer run.
#[test]
fn chance_and_corpus() {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => default,
    };
    let seed = number("FUZZ_SEED", 20_261_130);
    println!("FUZZ_SEED {seed}");
    let corpus = corpus();
    let words: Vec<&str> = WORDS.split(' ').chain([" ", "\n"]).collect();
    let mut reached = [0_u64; 4];
    let mut judge = |input: &[u8]| {
        publish::run(input);
        reached[agree(input) as usize] += 1;
    };
    for input in &corpus {
        judge(input);
    }
    let rng = Rng::new(seed);
    for _ in 0..number("FUZZ_CASES", 8_000) {
        let mut input = rng.pick(&corpus);
        for _ in 0..=rng.below(3) {
            let other = rng.pick(&corpus);
            change(&mut input, &words, &other, &rng);
        }
        if rng.percent(50) {
            input = renamed(&input).unwrap_or(input);
        }
        judge(&input);
    }
    println!("how far they come, from {:?} on: {reached:?}", Reached::Refused);
    assert!(reached.iter().all(|count| *count >= 50), "too few come far: {reached:?}");
}
