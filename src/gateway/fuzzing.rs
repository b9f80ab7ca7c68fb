//! What fuzzing reaches of the gateway (tests/fuzz): the parsers of what comes from the network
//! and that no public path leads to, as functions. Nothing of it is an interface.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue, Uri};
use parley_protocol::refusal::Result;

use super::authentication::{self, Bearer};
use super::host::HostRules;
use super::request_id::RequestIds;
use super::{accept, feed, mcp};
use crate::config::{Config, Network};

pub use super::mcp::fuzzing::{MessageOutcome, judged};

/// Judges the query of a feed.
///
/// # Errors
/// 400 `invalid_parameter`.
pub fn feed_query(query: &str) -> Result<()> {
    feed::check_query(query)
}

/// What is read out of the headers of a request.
#[derive(Debug)]
pub struct ReadHeaders {
    /// The type chosen of those offered.
    pub negotiated: Result<&'static str>,
    /// Whether the type of the body is JSON.
    pub content_type: Result<()>,
    /// Whether an MCP result goes out as an event.
    pub is_event: bool,
    /// The token.
    pub token: Option<String>,
    /// Where the request comes from, behind proxies of 127.0.0.0/8.
    pub address: IpAddr,
    /// The name of the request.
    pub request_id: HeaderValue,
    /// The origin allowed, by a server on 127.0.0.1:7467.
    pub origin: Result<Option<HeaderValue>>,
}

/// The types that [`headers`] chooses from.
pub const OFFERED: [&str; 2] = ["application/json", "application/jsonl"];

/// Reads the headers of a request to `uri` as the gateway does.
pub fn headers(uri: &Uri, headers: &HeaderMap) -> ReadHeaders {
    let own = SocketAddr::from((Ipv4Addr::LOCALHOST, 7467));
    let proxies = [Network::parse("127.0.0.0/8")].map(|proxy| proxy.expect("a block"));
    let token = match authentication::bearer(headers) {
        Bearer::Token(token) => Some(token.to_owned()),
        Bearer::None | Bearer::Malformed => None,
    };
    ReadHeaders {
        negotiated: accept::negotiate(headers, &OFFERED),
        content_type: accept::check_content_type(headers, &["application/json"]),
        is_event: mcp::wants_event(headers),
        token,
        address: authentication::address(Ipv4Addr::LOCALHOST.into(), headers, &proxies),
        request_id: RequestIds::default().of(headers),
        origin: HostRules::new(own, &Config::default()).check(uri, headers),
    }
}
