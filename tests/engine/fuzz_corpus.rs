//! The corpora that fuzzing left: every input of each is read anew, without a fuzzer.

use std::path::Path;

use parley_kit::fuzz::TARGETS;

/// The bytes of a line: `\\` is a backslash, `\xNN` a byte, all else itself.
fn unescaped(line: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let (byte, after) = match (first, after) {
            (b'\\', [b'\\', after @ ..]) => (b'\\', after),
            (b'\\', [b'x', high, low, after @ ..]) => {
                let digit = |digit: &u8| char::from(*digit).to_digit(16).expect("a hex digit");
                (u8::try_from(digit(high) << 4 | digit(low)).expect("a byte"), after)
            }
            (b'\\', _) => panic!("no such escape: {line}"),
            (plain, after) => (*plain, after),
        };
        bytes.push(byte);
        rest = after;
    }
    bytes
}

/// Goal: what fuzzing once reached still holds: no panic, no disagreement between two readings.
/// Method: every line of every corpus through its target. A failing input is printed, and goes
/// into the corpus when it is mended.
#[test]
fn corpora() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let mut inputs = 0;
    for (name, target) in TARGETS {
        let path = folder.join(format!("{name}.txt"));
        let text = std::fs::read_to_string(&path).expect("a corpus for each target");
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut count = 0;
        for line in lines {
            let bytes = unescaped(line);
            let ran = std::panic::catch_unwind(|| target(&bytes));
            assert!(ran.is_ok(), "{name}: {line}");
            count += 1;
        }
        println!("{name}: {count} inputs");
        assert!(count >= 20, "{name} has a corpus of {count}");
        inputs += count;
    }
    println!("{inputs} inputs in all");
}

/// Goal: a corpus and its targets are the same set, so that none is left out of a run. Method: the
/// names of both.
#[test]
fn none_left_out() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let mut names: Vec<String> = TARGETS.iter().map(|(name, _)| format!("{name}.txt")).collect();
    names.sort_unstable();
    assert_eq!(parley_kit::folder::names(&corpora), names);
}
