//! The hosts that the server answers to and the origins that may call it (bindings.md §6, last
//! point): protects local servers from pages in a browser.

use std::borrow::Cow;
use std::net::SocketAddr;

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_MAX_AGE, HOST,
    HeaderMap, HeaderName, HeaderValue, ORIGIN,
};
use axum::http::{StatusCode, Uri};
use parley_protocol::refusal::{Refusal, Result};

use super::answer::{self, HttpResponse};
use crate::config::{Config, Host, HostPort, PublicUrl, WebOrigin};

const HTTP: u16 = 80;
const HTTPS: u16 = 443;

/// Asked by a page of a public network that calls a server of a private one.
const ASKS_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-request-private-network");
const ALLOWS_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-allow-private-network");
/// The headers that pages of other origins may send.
const HEADERS: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Idempotency-Key, \
     Last-Event-ID, If-None-Match, X-Request-Id, Cache-Control, Mcp-Session-Id, traceparent, \
     tracestate, baggage, X-Requested-With",
);

/// The rules in force.
#[derive(Clone, Debug)]
pub struct HostRules {
    own: SocketAddr,
    /// The usual spellings of the own address, compared without parsing.
    common: [Box<str>; 2],
    /// `allowed_hosts`.
    allowed: Vec<HostPort>,
    /// That of `public_url`.
    public: Option<WebOrigin>,
    origins: Vec<WebOrigin>,
}

impl HostRules {
    /// The rules of `config` for a server that listens on `own`.
    pub fn new(own: SocketAddr, config: &Config) -> Self {
        let public = config.public_url.as_ref().and_then(PublicUrl::origin);
        let mut origins = config.allowed_origins.clone();
        origins.extend(public.clone());
        Self {
            own,
            common: [own.to_string().into(), format!("localhost:{}", own.port()).into()],
            allowed: config.allowed_hosts.clone(),
            public,
            origins,
        }
    }

    /// Checks `Host` and `Origin`; returns the origin, if there is one.
    ///
    /// # Errors
    /// 403 `origin_forbidden`.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<Option<HeaderValue>> {
        self.check_host(uri, headers)?;
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => Ok(None),
            (Some(origin), None) if self.is_allowed_origin(origin) => Ok(Some(origin.clone())),
            (Some(origin), _) => Err(Refusal::origin_forbidden(origin.as_bytes())),
        }
    }

    /// Checks `Host`, and the authority in the request target, if a proxy sent one.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<()> {
        if let Some(named) = uri.authority()
            && !self.is_allowed_host(named.as_str())
        {
            return Err(Refusal::host_forbidden(named.as_str().as_bytes()));
        }
        let mut hosts = headers.get_all(HOST).iter();
        match (hosts.next(), hosts.next()) {
            (Some(host), None) if host.to_str().is_ok_and(|it| self.is_allowed_host(it)) => Ok(()),
            (Some(host), None) => Err(Refusal::host_forbidden(host.as_bytes())),
            (Some(_), Some(_)) => Err(Refusal::hosts_forbidden()),
            (None, _) => Err(Refusal::host_forbidden(b"")),
        }
    }

    fn is_allowed_host(&self, text: &str) -> bool {
        if self.common.iter().any(|common| **common == *text) {
            return true;
        }
        let Some(HostPort { host, port }) = HostPort::parse(&without_last_dot(text)) else {
            return false;
        };
        // A proxy may name the host without a port, and a container has another one outside.
        host.is_loopback()
            || port.is_some_and(|port| port == self.own.port() && self.is_own(&host))
            || port.is_none() && self.own.port() == HTTP && self.is_own(&host)
            || self.public.as_ref().is_some_and(|public| {
                public.host == host && port.is_none_or(|port| port == public.port)
            })
            || self.allowed.iter().any(|allowed| match port {
                Some(port) => allowed.matches(&host, port),
                // The default port is unknown: a proxy may have terminated TLS.
                None => allowed.matches(&host, HTTP) || allowed.matches(&host, HTTPS),
            })
    }

    fn is_allowed_origin(&self, origin: &HeaderValue) -> bool {
        let Some(origin) = origin.to_str().ok().and_then(WebOrigin::parse) else { return false };
        let own = &*origin.scheme == "http"
            && origin.port == self.own.port()
            && (origin.host.is_loopback() || self.is_own(&origin.host));
        own || self.origins.contains(&origin)
    }

    /// Whether `host` is an address on which the server listens.
    fn is_own(&self, host: &Host) -> bool {
        let own = self.own.ip();
        matches!(host, Host::Address(address)
            if own.is_unspecified() || *address == own.to_canonical())
    }
}

/// `text` without a dot at the end of its host name.
fn without_last_dot(text: &str) -> Cow<'_, str> {
    match text.split_once(".:") {
        Some((host, port)) if !host.is_empty() => Cow::Owned(format!("{host}:{port}")),
        _ => Cow::Borrowed(text.strip_suffix('.').filter(|host| !host.is_empty()).unwrap_or(text)),
    }
}

/// The answer to a preflight of an allowed origin.
pub fn preflight(methods: &[&'static str], request: &HeaderMap) -> HttpResponse {
    let mut reply = answer::empty(StatusCode::NO_CONTENT);
    let headers = reply.headers_mut();
    if let Ok(methods) = HeaderValue::from_str(&methods.join(", ")) {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    }
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if request.contains_key(ASKS_PRIVATE_NETWORK) {
        headers.insert(ALLOWS_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(own: &str, host: &'static str, origin: Option<&'static str>) -> bool {
        let config = Config {
            public_url: Some("https://forum.example".parse().expect("a URL")),
            allowed_hosts: vec![
                "inner.example".parse().expect("a host"),
                "ported.example:8080".parse().expect("a host"),
            ],
            allowed_origins: vec![
                "https://app.example".parse().expect("an origin"),
                "vscode-webview://abc".parse().expect("an origin"),
            ],
            ..Config::default()
        };
        let hosts = HostRules::new(own.parse().expect("an address"), &config);
        let headers = answer::headers_of([(HOST, Some(host)), (ORIGIN, origin)]);
        hosts.check(&Uri::from_static("/v1/threads"), &headers).is_ok()
    }

    /// Goal: the server answers only to the hosts of bindings.md §6, last point. Method: a row a
    /// host.
    #[test]
    fn hosts() {
        for (own, host, good) in [
            ("127.0.0.1:7467", "127.0.0.1:7467", true),
            ("127.0.0.1:7467", "localhost:7467", true),
            ("127.0.0.1:7467", "LocalHost:7467", true),
            ("127.0.0.1:7467", "127.9.9.9:7467", true),
            ("127.0.0.1:7467", "[::1]:7467", true),
            ("127.0.0.1:7467", "[::ffff:127.0.0.1]:7467", true),
            ("127.0.0.1:7467", "127.0.0.1", true),
            ("127.0.0.1:7467", "127.0.0.1:80", true),
            ("127.0.0.1:7467", "localhost", true),
            ("127.0.0.1:80", "localhost", true),
            ("127.0.0.1:80", "127.0.0.1", true),
            ("127.0.0.1:7467", "localhost.:7467", true),
            ("127.0.0.1:7467", "localhost:8080", true),
            ("127.0.0.1:7467", "forum.example.", true),
            ("127.0.0.1:7467", "forum.example.:443", true),
            ("127.0.0.1:7467", "forum.example:8443", false),
            ("127.0.0.1:7467", "inner.example.", true),
            ("127.0.0.1:7467", ".", false),
            ("127.0.0.1:7467", "localhost.evil.example:7467", false),
            ("127.0.0.1:7467", "evil.example", false),
            ("127.0.0.1:7467", "evil.example:7467", false),
            ("127.0.0.1:7467", "10.0.0.1:7467", false),
            ("127.0.0.1:7467", "", false),
            ("127.0.0.1:7467", "user@127.0.0.1:7467", false),
            ("127.0.0.1:7467", "forum.example", true),
            ("127.0.0.1:7467", "FORUM.example:443", true),
            ("127.0.0.1:7467", "inner.example:1", true),
            ("127.0.0.1:7467", "ported.example:8080", true),
            ("127.0.0.1:7467", "ported.example:8081", false),
            ("127.0.0.1:7467", "ported.example", false),
            ("10.0.0.1:7467", "10.0.0.1:7467", true),
            ("10.0.0.1:7467", "127.0.0.1:7467", true),
            ("10.0.0.1:7467", "10.0.0.2:7467", false),
            ("0.0.0.0:7467", "10.0.0.2:7467", true),
            ("0.0.0.0:7467", "[fe80::1]:7467", true),
            ("[::]:7467", "192.168.1.1:7467", true),
            ("0.0.0.0:7467", "10.0.0.2:7468", false),
            ("0.0.0.0:7467", "evil.example:7467", false),
        ] {
            assert_eq!(check(own, host, None), good, "{own} {host}");
        }
    }

    /// Goal: origins are allowed by the same hosts, or by scheme, host and port. Method: a row an
    /// origin.
    #[test]
    fn origins() {
        for (origin, good) in [
            ("http://127.0.0.1:7467", true),
            ("http://localhost:7467", true),
            ("http://localhost", false),
            ("http://localhost:3000", false),
            ("https://forum.example", true),
            ("http://forum.example:8080", false),
            ("http://forum.example", false),
            ("https://127.0.0.1:7467", false),
            ("https://inner.example:444", false),
            ("http://ported.example:8080", false),
            ("http://ported.example", false),
            ("https://app.example", true),
            ("https://app.example:443", true),
            ("http://app.example", false),
            ("https://app.example:8443", false),
            ("https://evil.example", false),
            ("vscode-webview://abc", true),
            ("vscode-webview://abcd", false),
            ("chrome-extension://localhost:7467", false),
            ("null", false),
            ("", false),
            ("http://localhost:7467/", false),
            ("http://localhost:7467 http://evil.example", false),
        ] {
            assert_eq!(check("127.0.0.1:7467", "127.0.0.1:7467", Some(origin)), good, "{origin}");
        }
    }
}
