//! How the tables are written: rows of cells parted by `|`, remarks after `#`, a line `= play`
//! above a grid.

use parley_protocol::refusal::Reason;

/// A row and where it stands, for messages.
pub struct Row<'a> {
    /// The line's number, from 1.
    pub line: usize,
    /// The cells, trimmed.
    pub cells: Vec<&'a str>,
}

/// A grid: what was played, and a row a case for each of its columns.
pub struct Grid<'a> {
    /// The play before each case.
    pub play: &'a str,
    /// The heads of the columns; the first belongs to the rows' heads.
    pub columns: Vec<&'a str>,
    /// The rows, the head of each first.
    pub rows: Vec<Row<'a>>,
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines
        .map(|(number, line)| (number, line.split('#').next().unwrap_or("").trim()))
        .filter(|(_, line)| !line.is_empty())
}

fn row(line: usize, text: &str) -> Row<'_> {
    Row { line, cells: text.split('|').map(str::trim).collect() }
}

/// The rows of a table without grids.
pub fn rows(text: &str) -> Vec<Row<'_>> {
    lines(text).map(|(number, line)| row(number, line)).collect()
}

/// The grids of a file.
pub fn grids(text: &str) -> Vec<Grid<'_>> {
    let mut grids: Vec<Grid<'_>> = Vec::new();
    for (number, line) in lines(text) {
        if let Some(play) = line.strip_prefix("= ") {
            grids.push(Grid { play, columns: Vec::new(), rows: Vec::new() });
            continue;
        }
        let grid = grids.last_mut().expect("a grid begins with its play");
        let row = row(number, line);
        if grid.columns.is_empty() {
            grid.columns = row.cells;
        } else {
            assert_eq!(row.cells.len(), grid.columns.len(), "line {number}: cells");
            grid.rows.push(row);
        }
    }
    grids
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

/// Each case of the grids: where it stands, the play, the act and what is expected. A column
/// `-` adds nothing to a row's act; one that begins with `>` a parent; a claim operation is what
/// the participant of the row does; any other column says who does what the row says.
pub fn cases(text: &str) -> Vec<(String, String, String, String)> {
    let mut cases = Vec::new();
    for grid in grids(text) {
        for row in &grid.rows {
            for (column, want) in grid.columns.iter().zip(&row.cells).skip(1) {
                if *want == "n/a" {
                    continue;
                }
                let head = row.cells[0];
                let act = match *column {
                    "-" => head.to_owned(),
                    parent if parent.starts_with('>') => format!("{head}{parent}"),
                    change if change.contains(['@', '^']) => format!("{head}:{change}"),
                    who => format!("{who}:{head}"),
                };
                let place = format!("line {}: `{}` then `{act}`", row.line, grid.play);
                cases.push((place, grid.play.to_owned(), act, (*want).to_owned()));
            }
        }
    }
    cases
}
