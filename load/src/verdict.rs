//! Bounds of a run, and whether the run keeps them.

use std::fmt::Write as _;

use serde::Serialize;

use crate::options::{Mode, Options};

/// One bound with the measured value.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// The name of the value.
    pub what: String,
    /// The measured value.
    pub value: f64,
    /// The bound.
    pub bound: f64,
    /// Whether the bound is an upper bound, else a lower one.
    pub at_most: bool,
    /// Whether other load on the machine makes the value meaningless.
    pub void: bool,
    /// Whether the bound is kept.
    pub kept: bool,
}

impl Verdict {
    /// A value that must not exceed its bound.
    pub fn at_most(what: &str, value: f64, bound: f64) -> Self {
        Self::new(what, value, bound, true)
    }

    /// A value that must reach its bound.
    pub fn at_least(what: &str, value: f64, bound: f64) -> Self {
        Self::new(what, value, bound, false)
    }

    fn new(what: &str, value: f64, bound: f64, at_most: bool) -> Self {
        let kept = if at_most { value <= bound } else { value >= bound };
        Self { what: what.to_owned(), value, bound, at_most, void: false, kept }
    }

    /// Writes the line of the table.
    pub fn line(&self, text: &mut String) -> std::fmt::Result {
        let word = match (self.void, self.kept) {
            (true, _) => "VOID",
            (false, true) => "kept",
            (false, false) => "MISSED",
        };
        let limit = if self.at_most { "at most" } else { "at least" };
        let Self { what, value, bound, .. } = self;
        writeln!(text, "{word:<7} {what:<56} {value:>12.2}  {limit} {bound:.2}")
    }
}

/// The least share of the ceiling's rate for a mode, and the largest multiple of the ceiling's 99th
/// percentile.
pub fn shares(options: &Options) -> Option<(f64, Option<f64>)> {
    let over_mcp = options.mcp > 0.0;
    match options.mode {
        Mode::Post if options.mcp >= 1.0 => Some((0.40, None)),
        Mode::Post if !over_mcp => Some((0.55, Some(2.5))),
        Mode::Hot if !over_mcp => Some((0.40, None)),
        Mode::Fanout => Some((0.70, None)),
        Mode::Post
        | Mode::Hot
        | Mode::Swarm
        | Mode::Ceiling
        | Mode::Idle
        | Mode::Inbox
        | Mode::Crash
        | Mode::Soak
        | Mode::Read
        | Mode::Abuse => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a bound is kept on its permitted side and by equality. Method: three values of
    /// each kind.
    #[test]
    fn sides() {
        let most = |value| Verdict::at_most("it", value, 2.0).kept;
        let least = |value| Verdict::at_least("it", value, 2.0).kept;
        assert_eq!([most(1.0), most(2.0), most(2.1)], [true, true, false]);
        assert_eq!([least(1.9), least(2.0), least(3.0)], [false, true, true]);
        assert!(!most(f64::NAN) && !least(f64::NAN));
    }
}
