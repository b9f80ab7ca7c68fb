//! Reading tables of cases.

/// The rows of a table with their line numbers, comments and empty lines left out.
pub fn rows(table: &'static str) -> impl Iterator<Item = (usize, &'static str)> {
    let lines = table.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The bytes a notation stands for: `<hex>` are bytes, `<text*count>` is a text repeated.
pub fn bytes(notation: &str) -> Vec<u8> {
    let mut output = Vec::new();
    let mut rest = notation;
    while let Some((before, after)) = rest.split_once('<') {
        output.extend_from_slice(before.as_bytes());
        let (inside, behind) = after.split_once('>').expect("a closing >");
        match inside.rsplit_once('*') {
            Some((text, count)) => {
                output.extend(text.repeat(count.parse().expect("a count")).bytes());
            }
            None => output.extend(
                (0..inside.len())
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&inside[at..at + 2], 16).expect("two hex digits")),
            ),
        }
        rest = behind;
    }
    output.extend_from_slice(rest.as_bytes());
    output
}
