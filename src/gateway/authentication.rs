//! Bearer tokens (bindings.md §1), and the limit on wrong ones.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use parley_protocol::refusal::Refusal;
use tokio::time::Instant;

use crate::clock::entropy;
use crate::config::Network;

/// The value of `Authorization`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearer<'h> {
    /// No bearer token.
    None,
    /// A bearer token.
    Token(&'h str),
    /// A value that no token of this server can have.
    Malformed,
}

/// The beginning of every token.
const TOKEN_START: &str = "ply_";

/// Reads `Authorization: Bearer <token>`. Another scheme is no token.
pub fn bearer(headers: &HeaderMap) -> Bearer<'_> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Bearer::None,
        (Some(value), None) => value,
        (Some(_), Some(_)) => return Bearer::Malformed,
    };
    let Ok(value) = value.to_str() else { return Bearer::Malformed };
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    let token = token.trim_matches(' ');
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
        return Bearer::None;
    }
    Bearer::Token(token)
}

/// What is wrong with an `Authorization` that holds no good token, where the value shows it.
pub fn mistake(headers: &HeaderMap) -> Option<&'static str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?.trim_matches(' ');
    if values.next().is_some() {
        return Some("`Authorization` came more than once. Send it once.");
    }
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    let token = token.trim_matches(' ');
    let is_quoted = |text: &str| text.contains(['"', '\'', '`']);
    if is_quoted(value) {
        return Some(
            "Quotation marks stand in `Authorization`. Send `Bearer <token>` without them; in a \
             shell the quotes go round the whole header.",
        );
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Some(if value.starts_with(TOKEN_START) {
            "The token came without its scheme. Send `Authorization: Bearer <token>`."
        } else {
            "`Authorization` is of another scheme. Send `Authorization: Bearer <token>`."
        });
    }
    let again = token.split(' ').next().unwrap_or_default();
    if token.is_empty() {
        Some("No token came behind `Bearer`: the variable that should hold it is perhaps empty.")
    } else if again.eq_ignore_ascii_case("bearer") {
        Some("`Bearer` came twice: the client adds it by itself. Give it the token alone.")
    } else if token.contains(['$', '{', '}', '%']) {
        Some(
            "The name of a variable came instead of the token: it was not replaced. Set the \
             variable where the client starts, or write the token itself.",
        )
    } else if token.contains(['<', '>']) {
        Some("A placeholder came instead of the token. Write the token in its place.")
    } else if token.contains(' ') {
        Some("The token has a space in it. A token is one word.")
    } else if !token.starts_with(TOKEN_START) {
        Some(
            "This is no token of a Parley server, whose tokens begin with `ply_`. Ask an \
             administrator for one.",
        )
    } else {
        None
    }
}

/// Buckets of the table, a power of two. Addresses that share a bucket share the count of failures,
/// which never affects a right token.
const BUCKETS: usize = 8_192;

/// Limits wrong tokens per address: one token bucket per address, in a table of fixed size.
pub struct WrongTokens {
    key: u64,
    start: Instant,
    /// Milliseconds in which one failure is forgiven.
    interval_ms: u64,
    /// Failures that are allowed at once.
    burst: u64,
    /// For each bucket the time, in milliseconds since `start`, at which all failures are forgiven.
    forgiven_at: Box<[AtomicU64]>,
}

impl WrongTokens {
    /// `per_minute` failures a minute, and as many at once.
    pub fn new(per_minute: u64) -> Self {
        Self {
            key: u64::from_le_bytes(entropy()),
            start: Instant::now(),
            interval_ms: (60_000 / per_minute.max(1)).max(1),
            burst: per_minute,
            forgiven_at: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Counts a wrong token from `address`: 401, or 429 if there were too many.
    pub fn refuse(&self, address: IpAddr) -> Refusal {
        let now = self.start.elapsed().as_millis() as u64;
        let bucket = &self.forgiven_at[self.bucket(address)];
        let bound = self.interval_ms.saturating_mul(self.burst);
        let counted = bucket.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |forgiven_at| {
            let next = forgiven_at.max(now) + self.interval_ms;
            (next - now <= bound).then_some(next)
        });
        match counted {
            Ok(_) => Refusal::token_unknown(),
            Err(forgiven_at) => {
                let wait = (forgiven_at + self.interval_ms).saturating_sub(now + bound).max(1);
                Refusal::wrong_tokens(wait)
            }
        }
    }

    fn bucket(&self, address: IpAddr) -> usize {
        let text = match address.to_canonical() {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            // The owner of one IPv6 address usually has its whole /64.
            IpAddr::V6(address) => address.to_bits() >> 64 << 64,
        };
        let hash =
            siphasher::sip::SipHasher24::new_with_keys(self.key, 0).hash(&text.to_le_bytes());
        hash as usize % BUCKETS
    }
}

/// The client's address: the peer, or behind trusted proxies the last address in `X-Forwarded-For`
/// that is no trusted proxy.
pub fn address(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address| trusted.iter().any(|network| network.contains(address));
    if trusted.is_empty() || !is_trusted(peer) {
        return peer;
    }
    let mut address = peer;
    let forwarded = headers.get_all("x-forwarded-for");
    let values: Vec<&str> = forwarded.iter().filter_map(|value| value.to_str().ok()).collect();
    for hop in values.iter().rev().flat_map(|value| value.rsplit(',')) {
        let Some(hop) = forwarded_address(hop.trim()) else { break };
        address = hop.to_canonical();
        if !is_trusted(address) {
            break;
        }
    }
    address
}

/// The address of an entry of `X-Forwarded-For`, to which some proxies add the port.
fn forwarded_address(entry: &str) -> Option<IpAddr> {
    let inner = entry.strip_prefix('[').and_then(|rest| rest.split(']').next());
    let address = inner.unwrap_or(entry).parse().ok();
    address.or_else(|| entry.parse().ok().map(|socket: SocketAddr| socket.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parley_protocol::refusal::Reason;
    use std::time::Duration;

    use axum::http::HeaderName;

    use crate::gateway::answer::headers_of;

    /// Goal: only a bearer token is read as a token. Method: a row a header.
    #[test]
    fn bearers() {
        for (value, want) in [
            (None, Bearer::None),
            (Some("Bearer abc"), Bearer::Token("abc")),
            (Some("bearer  abc "), Bearer::Token("abc")),
            (Some("Bearer"), Bearer::None),
            (Some("Bearer "), Bearer::None),
            (Some("Basic abc"), Bearer::None),
            (Some("Bearer a b"), Bearer::Token("a b")),
        ] {
            assert_eq!(bearer(&headers_of([(AUTHORIZATION, value)])), want, "{value:?}");
        }
    }

    /// Goal: where the value shows the mistake, it is named. Method: a row a header.
    #[test]
    fn mistakes() {
        for (value, want) in [
            (None, None),
            (Some("Bearer ply_abc"), None),
            (Some("Bearer Bearer ply_abc"), Some("twice")),
            (Some("Bearer ${PARLEY_TOKEN}"), Some("variable")),
            (Some("Bearer $PARLEY_TOKEN"), Some("variable")),
            (Some("Bearer %PARLEY_TOKEN%"), Some("variable")),
            (Some("Bearer \"ply_abc\""), Some("Quotation marks")),
            (Some("\"Bearer ply_abc\""), Some("Quotation marks")),
            (Some("'Bearer ply_abc'"), Some("Quotation marks")),
            (Some("Bearer <token>"), Some("placeholder")),
            (Some("Bearer"), Some("empty")),
            (Some("Bearer "), Some("empty")),
            (Some("ply_abc"), Some("without its scheme")),
            (Some("Basic YTpi"), Some("another scheme")),
            (Some("Bearer ply_a b"), Some("space")),
            (Some("Bearer nobody"), Some("`ply_`")),
        ] {
            let said = mistake(&headers_of([(AUTHORIZATION, value)]));
            let is_told = match (said, want) {
                (Some(said), Some(want)) => said.contains(want),
                (said, want) => said == want,
            };
            assert!(is_told, "{value:?}: {said:?}");
        }
    }

    /// Goal: only trusted proxies may name another address. Method: a row a case.
    #[test]
    fn addresses() {
        let trusted = [Network::parse("10.0.0.0/8").expect("a block")];
        for (peer, forwarded, want) in [
            ("1.1.1.1", Some("2.2.2.2"), "1.1.1.1"),
            ("10.0.0.1", Some("2.2.2.2"), "2.2.2.2"),
            ("10.0.0.1", Some("9.9.9.9, 2.2.2.2, 10.0.0.7"), "2.2.2.2"),
            ("10.0.0.1", Some("2.2.2.2, nonsense"), "10.0.0.1"),
            ("10.0.0.1", Some("[2001:db8::1]:44"), "2001:db8::1"),
            ("10.0.0.1", Some("[2001:db8::1]"), "2001:db8::1"),
            ("10.0.0.1", Some("2.2.2.2:5555"), "2.2.2.2"),
            ("10.0.0.1", Some("9.9.9.9:1, 2.2.2.2:65535, 10.0.0.7:80"), "2.2.2.2"),
            ("10.0.0.1", Some("2.2.2.2:x"), "10.0.0.1"),
            ("10.0.0.1", None, "10.0.0.1"),
        ] {
            let name = HeaderName::from_static("x-forwarded-for");
            let headers = headers_of([(name, forwarded)]);
            let peer: IpAddr = peer.parse().expect("an address");
            let got = address(peer, &headers, &trusted);
            assert_eq!(got.to_string(), want, "{peer} {forwarded:?}");
        }
    }

    /// Goal: after the burst wrong tokens of one address get 429, those of other addresses do not,
    /// and time forgives them. Method: a paused clock.
    #[tokio::test(start_paused = true)]
    async fn failures() {
        let failures = WrongTokens::new(60);
        let (one, other) = ([127, 0, 0, 1].into(), [127, 0, 0, 2].into());
        for _ in 0..60 {
            assert_eq!(failures.refuse(one).reason, Reason::TokenUnknown);
        }
        let refusal = failures.refuse(one);
        assert_eq!(refusal.reason, Reason::RateLimited);
        assert_eq!(refusal.retry_after_ms, Some(1_000));
        if failures.bucket(one) != failures.bucket(other) {
            assert_eq!(failures.refuse(other).reason, Reason::TokenUnknown);
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(failures.refuse(one).reason, Reason::TokenUnknown);
        assert_eq!(failures.refuse(one).reason, Reason::RateLimited);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(failures.refuse(one).reason, Reason::TokenUnknown);
    }
}
