//! What a test may be.

use super::{ALL, Source, none};

/// Goal: no test is left out, waits for luck, or is tried again. Method: the words for that, in
/// all tests.
#[test]
fn no_way_out() {
    let words = ["#[ignore", "sleep(", "sleep_until(", "retries"];
    let mut broken = Vec::new();
    for source in ALL.iter() {
        for (line, code) in tests_of(source) {
            for word in words.iter().filter(|word| code.contains(*word)) {
                broken.push(format!("{}:{line}: {word}", source.path));
            }
        }
    }
    none(broken, "a test is never ignored, sleeps or is tried again");
}

/// Goal: a reader learns from each test what it is for and how it goes about it. Method: the
/// comment above every test.
#[test]
fn every_test_says_its_goal() {
    let mut broken = Vec::new();
    for source in ALL.iter() {
        let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
        let bare: Vec<&str> = source.bare.lines().map(str::trim).collect();
        let is_test = |line: &str| line == "#[test]" || line.starts_with("#[tokio::test");
        for (index, _) in bare.iter().enumerate().filter(|(_, line)| is_test(line)) {
            let above = lines[..index].iter().rev().find(|line| !line.starts_with("#["));
            if !above.is_some_and(|line| line.starts_with("///")) {
                broken.push(format!("{}:{}", source.path, index + 1));
            }
        }
    }
    none(broken, "a comment above each test says goal and method");
}

/// The lines of a file that are tests, with their numbers.
fn tests_of(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let before = source.bare[..source.tests_at()].lines().count();
    (1..).zip(source.bare.lines()).skip(before)
}
