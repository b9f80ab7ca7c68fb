//! A second implementation of the canonical profile, written for being obvious: characters
//! in a list, a value as its canonical text, an object as a sorted map. It says nothing of
//! places. What is wrong is noted and reading goes on, as far as it makes sense: with several
//! faults any of their classes is right, and this tells them all.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

type Read<T> = Result<T, &'static str>;

const MALFORMED: &str = "malformed_input";
const UNSUPPORTED: &str = "unsupported_value";
const COLLISION: &str = "normalization_collision";
const LIMIT: &str = "limit_exceeded";

/// The canonical bytes, or the class of the fault met first.
pub fn canonicalize(bytes: &[u8]) -> Read<Vec<u8>> {
    top(bytes).map(|members| object(&members).into_bytes())
}

/// The classes of all faults up to the first after which nothing can be read.
pub fn faults(bytes: &[u8]) -> BTreeSet<&'static str> {
    read(bytes).1.into_iter().collect()
}

/// The identifier.
pub fn identifier(bytes: &[u8]) -> Read<String> {
    let mut members = top(bytes)?;
    members.remove("artifact_id");
    let digest = Sha256::digest(object(&members).as_bytes());
    let hex: Vec<String> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sha256:{}", hex.concat()))
}

fn top(bytes: &[u8]) -> Read<BTreeMap<String, String>> {
    let (members, faults) = read(bytes);
    faults.first().map_or(Ok(members), |class| Err(class))
}

/// The members, and the classes of what is wrong in the order in which it was met.
fn read(bytes: &[u8]) -> (BTreeMap<String, String>, Vec<&'static str>) {
    if bytes.len() > 65_536 {
        return (BTreeMap::new(), vec![LIMIT]);
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return (BTreeMap::new(), vec![MALFORMED]) };
    let mut input = Input { rest: text.chars().rev().collect(), faults: Vec::new() };
    input.space();
    let is_object = input.next_is('{');
    let members =
        if is_object { input.members(1) } else { input.value(1).map(|_| BTreeMap::new()) };
    input.space();
    match &members {
        Err(class) => input.faults.push(class),
        Ok(_) if !input.rest.is_empty() => input.faults.push(MALFORMED),
        Ok(_) => {}
    }
    if !is_object && members.is_ok() {
        input.faults.push(UNSUPPORTED);
    }
    (members.unwrap_or_default(), input.faults)
}

fn object(members: &BTreeMap<String, String>) -> String {
    let members = members.iter().map(|(name, value)| format!("{}:{value}", quoted(name)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn quoted(text: &str) -> String {
    let mut output = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => output.extend(['\\', character]),
            '\u{8}' => output += "\\b",
            '\u{c}' => output += "\\f",
            '\n' => output += "\\n",
            '\r' => output += "\\r",
            '\t' => output += "\\t",
            '\0'..' ' => output.extend(format!("\\u{:04x}", u32::from(character)).chars()),
            _ => output.push(character),
        }
    }
    output + "\""
}

/// The characters still to be read, last first, and what was wrong with those before. An error
/// is a fault after which nothing can be read.
struct Input {
    rest: Vec<char>,
    faults: Vec<&'static str>,
}

impl Input {
    fn space(&mut self) {
        while matches!(self.rest.last(), Some(' ' | '\t' | '\n' | '\r')) {
            self.rest.pop();
        }
    }

    fn next_is(&self, character: char) -> bool {
        self.rest.last() == Some(&character)
    }

    fn take(&mut self, character: char) -> bool {
        let found = self.next_is(character);
        if found {
            self.rest.pop();
        }
        found
    }

    fn must(&mut self, text: &str) -> Read<()> {
        text.chars().all(|character| self.take(character)).then_some(()).ok_or(MALFORMED)
    }

    fn value(&mut self, level: usize) -> Read<String> {
        match self.rest.last().ok_or(MALFORMED)? {
            '{' | '[' if level > 64 => Err(LIMIT),
            '{' => self.members(level).map(|members| object(&members)),
            '[' => self.items(level),
            '"' => {
                let units = self.text()?;
                let text = self.unicode(&units);
                Ok(quoted(&text.nfc().collect::<String>()))
            }
            't' => self.must("true").map(|()| "true".to_owned()),
            'f' => self.must("false").map(|()| "false".to_owned()),
            'n' => self.must("null").map(|()| "null".to_owned()),
            _ => self.number(),
        }
    }

    fn items(&mut self, level: usize) -> Read<String> {
        self.must("[")?;
        let mut items = Vec::new();
        self.space();
        while !self.take(']') {
            if !items.is_empty() {
                self.must(",")?;
                self.space();
            }
            items.push(self.value(level + 1)?);
            self.space();
        }
        Ok(format!("[{}]", items.join(",")))
    }

    fn members(&mut self, level: usize) -> Read<BTreeMap<String, String>> {
        self.must("{")?;
        let mut as_given = BTreeSet::new();
        let mut members = BTreeMap::new();
        let mut has_collision = false;
        self.space();
        while !self.take('}') {
            if !as_given.is_empty() {
                self.must(",")?;
                self.space();
            }
            let units = self.text()?;
            let name = self.unicode(&units);
            self.space();
            self.must(":")?;
            self.space();
            let value = self.value(level + 1)?;
            self.space();
            if as_given.insert(units) {
                has_collision |= members.insert(name.nfc().collect(), value).is_some();
            } else {
                self.faults.push(MALFORMED);
            }
        }
        if has_collision {
            self.faults.push(COLLISION);
        }
        Ok(members)
    }

    /// The text, with something in the place of a surrogate without its partner.
    fn unicode(&mut self, units: &[u16]) -> String {
        String::from_utf16(units).unwrap_or_else(|_| {
            self.faults.push(UNSUPPORTED);
            String::from_utf16_lossy(units)
        })
    }

    /// A string as UTF-16, in which an unpaired surrogate is just another unit.
    fn text(&mut self) -> Read<Vec<u16>> {
        self.must("\"")?;
        let mut units = Vec::new();
        loop {
            let character = match self.rest.pop().ok_or(MALFORMED)? {
                '"' => return Ok(units),
                '\0'..'\u{20}' => return Err(MALFORMED),
                '\\' => match self.rest.pop().ok_or(MALFORMED)? {
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'u' => {
                        units.push(self.unit()?);
                        continue;
                    }
                    escaped @ ('"' | '\\' | '/') => escaped,
                    _ => return Err(MALFORMED),
                },
                plain => plain,
            };
            units.extend_from_slice(character.encode_utf16(&mut [0; 2]));
        }
    }

    fn unit(&mut self) -> Read<u16> {
        let mut digits = String::new();
        for _ in 0..4 {
            digits.push(self.rest.pop().filter(char::is_ascii_hexdigit).ok_or(MALFORMED)?);
        }
        u16::from_str_radix(&digits, 16).map_err(|_| MALFORMED)
    }

    fn number(&mut self) -> Read<String> {
        let mut text = String::new();
        while let Some(character) =
            self.rest.last().filter(|it| it.is_ascii_alphanumeric() || "+-.".contains(**it))
        {
            text.push(*character);
            self.rest.pop();
        }
        if ["NaN", "Infinity", "-Infinity"].iter().any(|name| text.starts_with(name)) {
            self.faults.push(UNSUPPORTED);
            let is_all = ["NaN", "Infinity", "-Infinity"].contains(&text.as_str());
            return if is_all { Ok(text) } else { Err(MALFORMED) };
        }
        let digits = text.strip_prefix('-').unwrap_or(&text);
        let (whole, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let (whole, fraction) = whole.split_once('.').unwrap_or((whole, "0"));
        let is_digits = |it: &str| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit());
        let has_zero = whole.len() > 1 && whole.starts_with('0');
        if has_zero || ![whole, fraction, exponent].into_iter().all(is_digits) {
            return Err(MALFORMED);
        }
        match text.parse::<i128>() {
            Ok(value) if value.unsigned_abs() < 1 << 53 => Ok(value.to_string()),
            _ => {
                self.faults.push(UNSUPPORTED);
                Ok(text)
            }
        }
    }
}
