//! Content negotiation: `Content-Type` and `Accept` (bindings.md §1).

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use parley_protocol::refusal::{Refusal, Result};

/// The media types of a route with a body.
#[derive(Clone, Copy, Debug)]
pub struct MediaTypes {
    /// Those of the body; without the header the first is assumed.
    pub body: &'static [&'static str],
    /// Those of the answer; with none `Accept` is not judged.
    pub answer: &'static [&'static str],
}

impl MediaTypes {
    /// JSON both ways.
    pub const JSON: Self = Self { body: &["application/json"], answer: &["application/json"] };

    /// Judges both headers.
    ///
    /// # Errors
    /// 415 `unsupported_media_type`, 406 `not_acceptable`.
    pub fn check(&self, headers: &HeaderMap) -> Result<()> {
        check_content_type(headers, self.body)?;
        if self.answer.is_empty() { Ok(()) } else { negotiate(headers, self.answer).map(|_| ()) }
    }
}

/// Refuses a `Content-Type` that is not in `allowed`; without the header the first is assumed.
///
/// # Errors
/// 415 `unsupported_media_type`.
pub fn check_content_type(headers: &HeaderMap, allowed: &[&str]) -> Result<()> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let good = match (types.next(), types.next()) {
        (None, _) => true,
        (Some(kind), None) if kind.is_empty() => true,
        (Some(kind), None) => {
            let essence = kind.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
            allowed.iter().any(|one| one.as_bytes().eq_ignore_ascii_case(essence.trim_ascii()))
        }
        (Some(_), Some(_)) => false,
    };
    if !good {
        return Err(Refusal::unsupported_media_type(allowed));
    }
    // An empty header names no coding.
    let plain = |value: &HeaderValue| {
        value.is_empty() || value.as_bytes().eq_ignore_ascii_case(b"identity")
    };
    if !headers.get_all(CONTENT_ENCODING).iter().all(plain) {
        return Err(Refusal::unsupported_encoding());
    }
    Ok(())
}

/// The type of `offered` that the client prefers, the first of equals (RFC 9110 §12.5.1).
/// Parameters other than `q` are ignored.
///
/// # Errors
/// 406 `not_acceptable`.
pub fn negotiate<'o>(headers: &HeaderMap, offered: &[&'o str]) -> Result<&'o str> {
    let first = offered.first().copied().unwrap_or_default();
    let mut values = headers.get_all(ACCEPT).iter();
    match (values.next(), values.next()) {
        (None, _) => return Ok(first),
        (Some(only), None) if only.is_empty() || only == "*/*" || only == first => {
            return Ok(first);
        }
        _ => {}
    }
    let mut best: Option<(u16, &'o str)> = None;
    for one in offered {
        let quality = quality(headers, one);
        if quality > 0 && best.is_none_or(|(known, _)| quality > known) {
            best = Some((quality, one));
        }
    }
    best.map(|(_, one)| one).ok_or_else(|| Refusal::not_acceptable(offered))
}

/// The weight of the most specific matching range, in thousandths; 0 without a match.
fn quality(headers: &HeaderMap, offered: &str) -> u16 {
    let family = offered.split('/').next().unwrap_or_default();
    let mut found = (0, 0);
    for range in headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()) {
        for range in range.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let essence = parts.next().unwrap_or_default();
            let specific = if essence.eq_ignore_ascii_case(offered) {
                3
            } else if essence == "*/*" {
                1
            } else if essence.strip_suffix("/*").is_some_and(|f| f.eq_ignore_ascii_case(family)) {
                2
            } else {
                continue;
            };
            let given = parts.find_map(|part| {
                let (name, value) = part.split_once('=')?;
                name.trim().eq_ignore_ascii_case("q").then(|| thousandths(value.trim()))
            });
            let quality = given.unwrap_or(1_000);
            if specific > found.0 || (specific == found.0 && quality > found.1) {
                found = (specific, quality);
            }
        }
    }
    found.1
}

/// A weight of 0 to 1 with at most three decimals, in thousandths; a malformed one counts as 1,
/// since its sender named the type.
fn thousandths(text: &str) -> u16 {
    let good = text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match text.parse::<f32>() {
        Ok(weight) if good && weight <= 1.0 => (weight * 1_000.0).round() as u16,
        _ => 1_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::answer::headers_of;

    /// Goal: ranges, weights and precedence follow RFC 9110. Method: a row a header.
    #[test]
    fn accept() {
        let offered = ["application/json", "application/jsonl"];
        for (accept, want) in [
            ("*/*", Some(0)),
            ("", Some(0)),
            ("application/json", Some(0)),
            ("Application/JSON; charset=utf-8", Some(0)),
            ("application/*", Some(0)),
            ("text/html, */*;q=0.1", Some(0)),
            ("application/jsonl", Some(1)),
            ("application/json;q=0.5, application/jsonl", Some(1)),
            ("application/json;q=0, */*", Some(1)),
            ("text/html", None),
            ("*/*;q=0", None),
            ("application/json;q=0.000,application/jsonl;q=0", None),
            ("application/problem+json", None),
            ("nonsense", None),
        ] {
            let got = negotiate(&headers_of([(ACCEPT, Some(accept))]), &offered).ok();
            assert_eq!(got, want.map(|at: usize| offered[at]), "{accept}");
        }
        assert_eq!(negotiate(&HeaderMap::new(), &offered).ok(), Some(offered[0]));
    }

    /// Goal: no type counts as JSON; other types and compressed bodies are refused. Method: a row a
    /// pair of headers.
    #[test]
    fn content_type() {
        for (kind, encoding, good) in [
            (None, None, true),
            (Some("application/json"), None, true),
            (Some("APPLICATION/json;charset=utf-8"), Some("identity"), true),
            (Some("application/x-www-form-urlencoded"), None, false),
            (Some("text/plain"), None, false),
            (Some("application/jsonx"), None, false),
            (Some("application/json"), Some(""), true),
            (Some("application/json"), Some("gzip"), false),
            (None, Some("br"), false),
        ] {
            let headers = headers_of([(CONTENT_TYPE, kind), (CONTENT_ENCODING, encoding)]);
            let got = check_content_type(&headers, &["application/json"]);
            assert_eq!(got.is_ok(), good, "{kind:?} {encoding:?}");
        }
    }
}
