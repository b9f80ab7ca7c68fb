//! The reader: recursive descent over bytes known to be UTF-8.

use super::explain::Wanted;
use super::{
    JsonFault, JsonFaultKind, JsonMember, JsonNumber, JsonObject, JsonValue, NESTING_CEILING,
};

/// Up to this many members, comparing each name with each is cheaper than sorting.
const PAIRWISE_MAX: usize = 8;

fn malformed<T>(at: usize, wanted: Wanted) -> Result<T, JsonFault> {
    Err(JsonFault { wanted, ..JsonFault::new(JsonFaultKind::Malformed, at) })
}

/// A string as read. Surrogates without their partner are kept as the three bytes that
/// UTF-8 would give them, so that names with different ones stay different.
enum JsonText {
    Unicode(String),
    Surrogates(Vec<u8>),
}

impl JsonText {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Unicode(text) => text.as_bytes(),
            Self::Surrogates(bytes) => bytes,
        }
    }

    fn into_lossy(self) -> String {
        match self {
            Self::Unicode(text) => text,
            Self::Surrogates(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

/// A text being read.
pub(super) struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    nesting_max: usize,
    surrogates_kept: bool,
}

impl<'a> JsonReader<'a> {
    pub(super) fn new(
        bytes: &'a [u8],
        nesting_max: usize,
        surrogates_kept: bool,
    ) -> Result<Self, JsonFault> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => return malformed(error.valid_up_to(), Wanted::Encoding),
        };
        let nesting_max = nesting_max.min(NESTING_CEILING);
        Ok(Self { text, at: 0, nesting_max, surrogates_kept })
    }

    pub(super) fn document(mut self) -> Result<JsonValue, JsonFault> {
        self.skip_white_space();
        let value = self.value(1)?;
        self.skip_white_space();
        // A byte-order mark needs no rule of its own: it is no white space and no value.
        if self.at == self.text.len() { Ok(value) } else { self.malformed(Wanted::End) }
    }

    fn malformed<T>(&self, wanted: Wanted) -> Result<T, JsonFault> {
        malformed(self.at, wanted)
    }

    fn fault(&self, kind: JsonFaultKind) -> JsonFault {
        JsonFault::new(kind, self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn accept(&mut self, text: &str) -> bool {
        let found = self.text.as_bytes()[self.at..].starts_with(text.as_bytes());
        if found {
            self.at += text.len();
        }
        found
    }

    fn expect(&mut self, text: &str, wanted: Wanted) -> Result<(), JsonFault> {
        if self.accept(text) { Ok(()) } else { self.malformed(wanted) }
    }

    /// Reads a value that, if it is an object or an array, has this nesting.
    fn value(&mut self, nesting: usize) -> Result<JsonValue, JsonFault> {
        match self.peek() {
            Some(b'n') => self.expect("null", Wanted::Value).map(|()| JsonValue::Null),
            Some(b't') => self.expect("true", Wanted::Value).map(|()| JsonValue::Bool(true)),
            Some(b'f') => self.expect("false", Wanted::Value).map(|()| JsonValue::Bool(false)),
            Some(b'"') => self.string_value(),
            Some(b'[' | b'{') if nesting > self.nesting_max => {
                Err(self.fault(JsonFaultKind::TooDeep))
            }
            Some(b'[') => self.array(nesting),
            Some(b'{') => self.object(nesting),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => self.number(),
            _ => self.malformed(Wanted::Value),
        }
    }

    fn string_value(&mut self) -> Result<JsonValue, JsonFault> {
        match self.string()? {
            JsonText::Unicode(text) => Ok(JsonValue::String(text)),
            JsonText::Surrogates(_) => Ok(JsonValue::Surrogate),
        }
    }

    fn array(&mut self, nesting: usize) -> Result<JsonValue, JsonFault> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_white_space();
        if self.accept("]") {
            return Ok(JsonValue::Array(items));
        }
        loop {
            self.skip_white_space();
            let item = self.value(nesting + 1);
            items.push(item.map_err(|fault| fault.under(&items.len().to_string()))?);
            self.skip_white_space();
            if self.accept("]") {
                return Ok(JsonValue::Array(items));
            }
            self.expect(",", Wanted::Comma)?;
        }
    }

    fn object(&mut self, nesting: usize) -> Result<JsonValue, JsonFault> {
        self.at += 1;
        let mut names = Vec::new();
        let mut values = Vec::new();
        self.skip_white_space();
        if !self.accept("}") {
            loop {
                self.skip_white_space();
                let place = self.at;
                let name = self.name()?;
                self.skip_white_space();
                self.expect(":", Wanted::Colon)?;
                self.skip_white_space();
                let start = self.at;
                match self.value(nesting + 1) {
                    Ok(value) => values.push((value, start..self.at, place)),
                    Err(fault) => return Err(fault.under(&name.into_lossy())),
                }
                names.push(name);
                self.skip_white_space();
                if self.accept("}") {
                    break;
                }
                self.expect(",", Wanted::Comma)?;
            }
        }
        if let Some(index) = repeated(&names) {
            let name = names.swap_remove(index).into_lossy();
            let place = values[index].2;
            return Err(JsonFault::new(JsonFaultKind::Duplicate, place).under(&name));
        }
        let members = names.into_iter().zip(values).map(|(name, (value, span, _))| JsonMember {
            name: name.into_lossy(),
            value,
            span,
        });
        Ok(JsonValue::Object(JsonObject::from_members(members.collect())))
    }

    fn name(&mut self) -> Result<JsonText, JsonFault> {
        if self.peek() != Some(b'"') {
            return self.malformed(Wanted::Name);
        }
        self.string()
    }

    /// Reads a string from its opening quotation mark to behind its closing one.
    fn string(&mut self) -> Result<JsonText, JsonFault> {
        let opening = self.at;
        self.at += 1;
        let mut buffer = Vec::new();
        let mut unpaired = None;
        loop {
            let start = self.at;
            let rest = &self.text.as_bytes()[start..];
            let found = memchr::memchr2(b'"', b'\\', rest);
            let length = found.unwrap_or(rest.len());
            let controls = rest[..length].iter().fold(0, |any, &byte| any | u8::from(byte < 0x20));
            if controls != 0 {
                let first = rest.iter().position(|byte| *byte < 0x20).unwrap_or_default();
                return malformed(start + first, Wanted::StringByte);
            }
            if found.is_none() {
                return malformed(self.text.len(), Wanted::StringEnd(opening));
            }
            self.at += length;
            if rest[length] == b'\\' {
                buffer.extend_from_slice(&rest[..length]);
                let escape = self.at;
                if self.escape(&mut buffer)? {
                    unpaired.get_or_insert(escape);
                }
                continue;
            }
            self.at += 1;
            if buffer.is_empty() {
                // Most strings are written as they are.
                return Ok(JsonText::Unicode(self.text[start..start + length].to_owned()));
            }
            buffer.extend_from_slice(&rest[..length]);
            break;
        }
        match (unpaired, self.surrogates_kept) {
            (Some(_), true) => return Ok(JsonText::Surrogates(buffer)),
            (Some(at), false) => return Err(JsonFault::new(JsonFaultKind::Surrogate, at)),
            (None, _) => {}
        }
        // Only whole characters were put together, so this cannot fail; should it, the text
        // is refused.
        String::from_utf8(buffer).map_or_else(
            |_| malformed(opening, Wanted::Encoding),
            |text| Ok(JsonText::Unicode(text)),
        )
    }

    /// Reads one escape, or two that make one character; whether it is an unpaired surrogate.
    fn escape(&mut self, buffer: &mut Vec<u8>) -> Result<bool, JsonFault> {
        let backslash = self.at;
        self.at += 1;
        let Some(kind) = self.peek() else { return self.malformed(Wanted::Escape) };
        self.at += 1;
        let byte = match kind {
            b'"' | b'\\' | b'/' => kind,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.unicode_escape(buffer),
            _ => return malformed(backslash, Wanted::Escape),
        };
        buffer.push(byte);
        Ok(false)
    }

    fn unicode_escape(&mut self, buffer: &mut Vec<u8>) -> Result<bool, JsonFault> {
        let first = self.hex()?;
        let mut code = first;
        if (0xd800..0xdc00).contains(&first) {
            let after_first = self.at;
            if self.accept("\\u") {
                let second = self.hex()?;
                if (0xdc00..0xe000).contains(&second) {
                    code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                } else {
                    self.at = after_first;
                }
            }
        }
        match char::from_u32(code) {
            Some(character) => {
                buffer.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                Ok(false)
            }
            None => {
                buffer.push(0xe0 | (code >> 12) as u8);
                buffer.push(0x80 | ((code >> 6) & 0x3f) as u8);
                buffer.push(0x80 | (code & 0x3f) as u8);
                Ok(true)
            }
        }
    }

    fn hex(&mut self) -> Result<u32, JsonFault> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.malformed(Wanted::Hexadecimal);
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<JsonValue, JsonFault> {
        let start = self.at;
        self.accept("-");
        if self.accept("Infinity") || (self.at == start && self.accept("NaN")) {
            return Err(JsonFault::new(JsonFaultKind::Number, start));
        }
        if matches!(self.peek(), Some(b'N' | b'I')) {
            return malformed(start, Wanted::Value);
        }
        if !self.accept("0") {
            self.digits()?;
        }
        if self.accept(".") {
            self.digits()?;
        }
        if self.accept("e") || self.accept("E") {
            if !self.accept("+") {
                self.accept("-");
            }
            self.digits()?;
        }
        // The caller expects a comma or an end, and so refuses a digit after a leading zero.
        Ok(JsonValue::Number(JsonNumber::from_text(&self.text[start..self.at])))
    }

    fn digits(&mut self) -> Result<(), JsonFault> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { self.malformed(Wanted::Digit) }
    }
}

/// The index of the first name that stood there before. Sorting instead of hashing: the
/// worst case is known for any names, without a random key.
fn repeated(names: &[JsonText]) -> Option<usize> {
    if names.len() <= PAIRWISE_MAX {
        let is_repeated = |index: &usize| {
            names[..*index].iter().any(|name| name.bytes() == names[*index].bytes())
        };
        return (1..names.len()).find(is_repeated);
    }
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|&left, &right| names[left].bytes().cmp(names[right].bytes()));
    let equal = order.windows(2).filter(|pair| names[pair[0]].bytes() == names[pair[1]].bytes());
    equal.map(|pair| pair[1]).min()
}
