//! How the tables are written: rows of cells parted by `|`, remarks after `#`, a line `= play`
//! above a grid.

use parley_protocol::refusal::Reason;

/// A case: where it stands, what was played, the act under test, and what is expected of it.
pub struct Case {
    pub place: String,
    pub play: String,
    pub act: String,
    pub want: String,
}

impl Case {
    fn new(line: usize, play: &str, act: String, want: String) -> Self {
        let place = format!("line {line}: `{play}` then `{act}`");
        Self { place, play: play.to_owned(), act, want }
    }
}

/// The rows of a file, each with its line's number from 1 and its cells, trimmed.
fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let lines = (1..).zip(text.lines());
    lines
        .map(|(number, line)| (number, line.split('#').next().unwrap_or("").trim()))
        .filter(|(_, line)| !line.is_empty())
        .map(|(number, line)| (number, line.split('|').map(str::trim).collect()))
}

/// The cases of a table without grids, a row each.
pub fn rows(text: &str) -> Vec<Case> {
    let case = |(number, cells): (usize, Vec<&str>)| {
        Case::new(number, cells[0], cells[1].to_owned(), cells[2..].join(" | "))
    };
    lines(text).map(case).collect()
}

/// Holds that each case comes out as it is expected, and that there are so many at least.
pub fn hold(cases: &[Case], at_least: usize, outcome: impl Fn(&Case) -> String) {
    assert!(cases.len() >= at_least, "{} cases", cases.len());
    let wrong = cases.iter().filter_map(|case| {
        let got = outcome(case);
        (got != case.want).then(|| format!("{}\n  want {}\n  got  {got}", case.place, case.want))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The word for a refusal that keeps a grid narrow.
pub fn short(reason: Reason) -> &'static str {
    match reason {
        Reason::ThreadAuthorityMissing => "authority",
        Reason::TokenRightMissing => "right",
        Reason::MessageNotFound => "missing",
        Reason::MessageRetracted => "gone",
        Reason::SelfReply | Reason::SelfAttest => "self",
        Reason::ThreadClosed => "locked",
        Reason::InvalidTransition => "no_move",
        Reason::InvalidBody => "no_parent",
        Reason::StateMoved => "moved",
        Reason::AlreadyAttested => "already",
        Reason::ClaimSettled => "settled",
        Reason::ClaimNotSupported => "no_support",
        other => other.as_str(),
    }
}

/// The cases of a file of grids, one for each column of a row. A column `-` adds nothing to a
/// row's act; one that begins with `>` a parent; a claim operation is what the participant of the
/// row does; any other column says who does what the row says.
pub fn cases(text: &str) -> Vec<Case> {
    let (mut cases, mut play, mut columns) = (Vec::new(), "", Vec::new());
    for (number, cells) in lines(text) {
        if let Some(next) = cells[0].strip_prefix("= ") {
            (play, columns) = (next, Vec::new());
            continue;
        }
        if columns.is_empty() {
            columns = cells;
            continue;
        }
        assert_eq!(cells.len(), columns.len(), "line {number}: cells");
        let head = cells[0];
        for (column, want) in columns.iter().zip(cells).skip(1).filter(|(_, want)| *want != "n/a") {
            let act = match *column {
                "-" => head.to_owned(),
                parent if parent.starts_with('>') => format!("{head}{parent}"),
                change if change.contains(['@', '^']) => format!("{head}:{change}"),
                who => format!("{who}:{head}"),
            };
            cases.push(Case::new(number, play, act, want.to_owned()));
        }
    }
    cases
}
