//! The rules of docs/STYLE.md that no compiler and no lint holds.
//!
//! Each test reads the sources of this project as text and lists every place that breaks a rule.

mod bare;
mod imports;
mod registers;
mod shape;
mod tests_of_tests;
mod vocabulary;

use std::fmt::Display;
use std::path::Path;
use std::sync::LazyLock;

/// A source file of the project.
struct Source {
    /// Where it is, from the top of the project, with slashes.
    path: String,
    /// As it is.
    text: String,
    /// With comments and the insides of literals blanked out, line by line the same.
    bare: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.into(), bare: bare::bare(text) }
    }

    /// Where in it the tests begin: at once in a file of tests.
    fn tests_at(&self) -> usize {
        let is_aside = ["/tests.rs", "/tests/", "/examples/"];
        if self.path.starts_with("tests/") || is_aside.iter().any(|part| self.path.contains(part)) {
            return 0;
        }
        self.bare.find("#[cfg(test)]").unwrap_or(self.bare.len())
    }
}

/// The top of the project.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust of the project, by path.
static ALL: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let mut waiting = ["src", "load/src", "tests"].map(|folder| root().join(folder)).to_vec();
    let mut sources = Vec::new();
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the project") {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file in UTF-8");
                let path = path.strip_prefix(root()).expect("within the project");
                sources.push(Source::new(&path.to_string_lossy(), &text));
            }
        }
    }
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    sources
});

/// Every Rust file under these folders of the project, by path.
fn sources(folders: &[&str]) -> Vec<&'static Source> {
    let is_under = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
    let sources: Vec<_> = ALL.iter().filter(|source| is_under(source.path.as_ref())).collect();
    assert!(!sources.is_empty(), "no source in {folders:?}");
    sources
}

/// What a document of the project says.
fn document(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Fails with every place that breaks the rule.
fn none<T: Display>(broken: impl IntoIterator<Item = T>, rule: &str) {
    let broken: Vec<_> = broken.into_iter().map(|place| format!("\n  {place}")).collect();
    assert!(broken.is_empty(), "{rule}:{}", broken.concat());
}
