//! The notation of tables with a row a case: comments after `#`, bytes written out.

/// The rows of a table with their line numbers, comments and empty lines left out.
pub fn rows(table: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = table.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The bytes of a text in which `<hex>` or `<xhex>` are bytes, `<text*count>` a repeated text.
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
            None => {
                let hex = inside.strip_prefix('x').unwrap_or(inside);
                let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("two hex digits");
                output.extend((0..hex.len()).step_by(2).map(byte));
            }
        }
        rest = behind;
    }
    output.extend_from_slice(rest.as_bytes());
    output
}
