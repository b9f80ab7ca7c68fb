//! Time as integer milliseconds; RFC 3339 at the edges (parley.md §2, §8).

use std::fmt;

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};
use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Millis(pub u64);

/// The last millisecond of the year 9999, beyond which RFC 3339 has no form.
pub const MILLIS_MAX: Millis = Millis(253_402_300_799_999);

const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

impl Millis {
    /// Reads any RFC 3339 date-time but a second 60, cut to milliseconds; `None` if it is none or
    /// lies before 1970 or after 9999.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let digits = |from: usize, to: usize| -> Option<i16> {
            let part = bytes.get(from..to)?;
            part.iter().try_fold(0, |sum, byte| {
                byte.is_ascii_digit().then(|| sum * 10 + i16::from(byte - b'0'))
            })
        };
        let pair = |from: usize| digits(from, from + 2).and_then(|pair| i8::try_from(pair).ok());
        let is = |at: usize, set: &[u8]| bytes.get(at).is_some_and(|byte| set.contains(byte));
        if !(is(4, b"-") && is(7, b"-") && is(10, b"Tt") && is(13, b":") && is(16, b":")) {
            return None;
        }
        let mut at = 19;
        let mut millis = 0;
        if is(at, b".") {
            let fraction = &bytes[at + 1..];
            let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if length == 0 {
                return None;
            }
            at += 1 + length;
            let digits = fraction[..length].iter().chain(b"00").take(3);
            millis = digits.fold(0, |sum, byte| sum * 10 + i32::from(byte - b'0'));
        }
        let offset = if is(at, b"Zz") && bytes.len() == at + 1 {
            0
        } else if is(at, b"+-") && is(at + 3, b":") && bytes.len() == at + 6 {
            let (hours, minutes) = (pair(at + 1)?, pair(at + 4)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (i64::from(hours) * 60 + i64::from(minutes)) * if is(at, b"-") { -1 } else { 1 }
        } else {
            return None;
        };
        let nanos = millis * 1_000_000;
        let (hour, minute, second) = (pair(11)?, pair(14)?, pair(17)?);
        let local = DateTime::new(digits(0, 4)?, pair(5)?, pair(8)?, hour, minute, second, nanos);
        let utc = local.ok()?.checked_sub(SignedDuration::from_mins(offset)).ok()?;
        let since = utc.duration_since(EPOCH).as_millis();
        u64::try_from(since).ok().map(Self).filter(|at| *at <= MILLIS_MAX)
    }

    /// RFC 3339 in UTC with milliseconds; times after the year 9999 as its end.
    pub fn to_ascii(self) -> [u8; 24] {
        let at = self.min(MILLIS_MAX).0;
        let since = SignedDuration::from_millis(at.cast_signed());
        let utc = EPOCH.checked_add(since).unwrap_or(DateTime::MAX);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |from: usize, to: usize, mut number: u64| {
            for digit in text[from..to].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        };
        put(0, 4, utc.year().unsigned_abs().into());
        put(5, 7, utc.month().unsigned_abs().into());
        put(8, 10, utc.day().unsigned_abs().into());
        put(11, 13, utc.hour().unsigned_abs().into());
        put(14, 16, utc.minute().unsigned_abs().into());
        put(17, 19, utc.second().unsigned_abs().into());
        put(20, 23, at % 1_000);
        text
    }

    /// This time and `millis` milliseconds more, at most the end of the year 9999.
    pub fn plus(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis)).min(MILLIS_MAX)
    }
}

impl fmt::Display for Millis {
    /// RFC 3339 in UTC with milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.to_ascii();
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: RFC 3339 is read exactly and written in UTC. Method: a row a case.
    #[test]
    fn read_and_written() {
        for (text, want) in [
            ("2026-11-29T20:00:00.000Z", Some("2026-11-29T20:00:00.000Z")),
            ("2026-11-29t20:00:00z", Some("2026-11-29T20:00:00.000Z")),
            ("2026-11-29T20:00:00.123999+01:30", Some("2026-11-29T18:30:00.123Z")),
            ("2026-11-29T20:00:00.5-00:00", Some("2026-11-29T20:00:00.500Z")),
            ("2024-02-29T00:00:00Z", Some("2024-02-29T00:00:00.000Z")),
            ("2100-02-29T00:00:00Z", None),
            ("2026-11-29T20:00:60Z", None),
            ("2026-11-29T24:00:00Z", None),
            ("2026-11-29 20:00:00Z", None),
            ("2026-11-29T20:00:00", None),
            ("2026-11-29T20:00Z", None),
            ("2026-11-29T20:00:00.Z", None),
            ("2026-11-29T20:00:00+0100", None),
            ("2026-11-29T20:00:00Z ", None),
            ("1969-12-31T23:59:59Z", None),
            ("9999-12-31T23:59:59.999Z", Some("9999-12-31T23:59:59.999Z")),
            ("9999-12-31T23:59:59-01:00", None),
        ] {
            assert_eq!(Millis::parse(text).map(|at| at.to_string()).as_deref(), want, "{text}");
        }
    }
}
