//! Time as integer milliseconds; RFC 3339 at the edges (parley.md §2, §8).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Millis(pub u64);

/// The last millisecond of the year 9999, beyond which RFC 3339 has no form.
pub const MILLIS_MAX: Millis = Millis(253_402_300_799_999);

const DAY_MS: u64 = 86_400_000;

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The date (year, month, day) of a day since 1970-01-01.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

impl Millis {
    /// Reads any RFC 3339 date-time but a second 60, cut to milliseconds; `None` if it is none or
    /// lies before 1970 or after 9999.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let digits = |from: usize, to: usize| -> Option<i64> {
            let part = bytes.get(from..to)?;
            part.iter().try_fold(0, |sum, byte| {
                byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'))
            })
        };
        let is = |at: usize, set: &[u8]| bytes.get(at).is_some_and(|byte| set.contains(byte));
        if !(is(4, b"-") && is(7, b"-") && is(10, b"Tt") && is(13, b":") && is(16, b":")) {
            return None;
        }
        let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
        let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
        let dated = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
        if !dated || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let mut at = 19;
        let mut millis = 0;
        if is(at, b".") {
            let from = at + 1;
            at = from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if at == from {
                return None;
            }
            for place in 0..3 {
                let digit =
                    if from + place < at { i64::from(bytes[from + place] - b'0') } else { 0 };
                millis = millis * 10 + digit;
            }
        }
        let offset = if is(at, b"Zz") && bytes.len() == at + 1 {
            0
        } else if is(at, b"+-") && is(at + 3, b":") && bytes.len() == at + 6 {
            let (hours, minutes) = (digits(at + 1, at + 3)?, digits(at + 4, at + 6)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 60 + minutes) * if is(at, b"-") { -1 } else { 1 }
        } else {
            return None;
        };
        let minutes = days_from_civil(year, month, day) * 1_440 + hour * 60 + minute - offset;
        let total = (minutes * 60 + second) * 1_000 + millis;
        u64::try_from(total).ok().map(Self).filter(|at| *at <= MILLIS_MAX)
    }

    /// RFC 3339 in UTC with milliseconds; times after the year 9999 as its end.
    pub fn to_ascii(self) -> [u8; 24] {
        let at = self.min(MILLIS_MAX).0;
        let (year, month, day) = civil_from_days((at / DAY_MS).cast_signed());
        let rest = at % DAY_MS;
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |from: usize, to: usize, mut number: u64| {
            for digit in text[from..to].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        };
        put(0, 4, year.unsigned_abs());
        put(5, 7, month.unsigned_abs());
        put(8, 10, day.unsigned_abs());
        put(11, 13, rest / 3_600_000);
        put(14, 16, rest / 60_000 % 60);
        put(17, 19, rest / 1_000 % 60);
        put(20, 23, rest % 1_000);
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
