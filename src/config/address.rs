//! Hosts, origins and address blocks of the configuration (bindings.md §6, last point).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// A host without its port, in normal form: lower case, IPv6 without brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// An address; an IPv4 address mapped into IPv6 is stored as IPv4.
    Address(IpAddr),
    /// A name.
    Name(Box<str>),
}

impl Host {
    /// Parses a host of a `Host` header or a URL; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(address.to_canonical()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Address(IpAddr::V4(address)));
        }
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let named = (1..=253).contains(&text.len())
            && text.bytes().all(good)
            && text.bytes().any(|byte| byte.is_ascii_alphabetic());
        named.then(|| Self::Name(text.to_ascii_lowercase().into_boxed_str()))
    }

    /// Whether this is `localhost` or a loopback address.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Address(address) => address.is_loopback(),
            Self::Name(name) => &**name == "localhost",
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// `host` or `host:port`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPort {
    /// The host.
    pub host: Host,
    /// The port, if it is given.
    pub port: Option<u16>,
}

impl HostPort {
    /// Parses `host` or `host:port`; `None` for other texts.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.rfind(':') {
            Some(at) if !text[at..].contains(']') => (&text[..at], Some(&text[at + 1..])),
            _ => (text, None),
        };
        let port = match port {
            Some(port) if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) => {
                return None;
            }
            Some(port) => Some(port.parse().ok()?),
            None => None,
        };
        Host::parse(host).map(|host| Self { host, port })
    }

    /// Whether `host` and `port` match; without a port of its own every port does.
    pub fn matches(&self, host: &Host, port: u16) -> bool {
        self.host == *host && self.port.is_none_or(|own| own == port)
    }
}

/// `scheme://host` or `scheme://host:port`, as browsers send it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WebOrigin {
    /// `http`, `https` or another scheme, in lower case.
    pub scheme: Box<str>,
    /// The host.
    pub host: Host,
    /// The port, by default that of the scheme; 0 if that has none.
    pub port: u16,
}

impl WebOrigin {
    /// Parses an origin; `None` for other texts, `null` among them.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if !scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            || !scheme.bytes().all(good)
        {
            return None;
        }
        let scheme = scheme.to_ascii_lowercase().into_boxed_str();
        let HostPort { host, port } = HostPort::parse(authority)?;
        let port = port.unwrap_or(match &*scheme {
            "http" | "ws" => 80,
            "https" | "wss" => 443,
            _ => 0,
        });
        Some(Self { scheme, host, port })
    }
}

/// The URL under which clients reach the server, http or https.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicUrl {
    /// As given, without a slash at the end.
    pub text: Box<str>,
    /// Its host and port.
    pub authority: HostPort,
}

impl PublicUrl {
    /// Its origin.
    pub fn origin(&self) -> Option<WebOrigin> {
        let end = self.text.find("://")? + 3;
        let authority = self.text.get(end..)?.split('/').next()?;
        WebOrigin::parse(&format!("{}{authority}", self.text.get(..end)?))
    }

    /// Parses an http or https URL without path, query and fragment; `None` for other texts. What
    /// the server names, as in `Location`, begins at the root of the host.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return None;
        }
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) || rest.contains(['?', '#', '@']) {
            return None;
        }
        let authority = HostPort::parse(rest.strip_suffix('/').unwrap_or(rest))?;
        Some(Self { text: text.trim_end_matches('/').into(), authority })
    }
}

/// An address or a block of addresses: `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network(IpNet);

impl Network {
    /// Parses an address or a block; `None` for other texts.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        // The parser of the library refuses prefixes such as `+8` and `008`, which are accepted
        // here.
        match prefix {
            Some(prefix) => IpNet::new(address, prefix.parse().ok()?).ok().map(Self),
            None => Some(Self(address.into())),
        }
    }

    /// Whether the block contains `address`; an IPv4 address mapped into IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

macro_rules! text_form {
    ($($name:ident $what:literal |$value:ident, $f:ident| $write:expr;)*) => { $(
        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                Self::parse(text).ok_or_else(|| format!("`{text}` is not {}", $what))
            }
        }
        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, $f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $value = self;
                $write
            }
        }
    )* };
}

text_form! {
    HostPort "a host, or a host and a port" |value, f| match value.port {
        Some(port) => write!(f, "{}:{port}", value.host),
        None => write!(f, "{}", value.host),
    };
    WebOrigin "an origin such as https://example.org" |value, f|
        match (&*value.scheme, value.port) {
        ("http" | "ws", 80) | ("https" | "wss", 443) => {
            write!(f, "{}://{}", value.scheme, value.host)
        }
        (scheme, 0) if !matches!(scheme, "http" | "https" | "ws" | "wss") => {
            write!(f, "{scheme}://{}", value.host)
        }
        (scheme, port) => write!(f, "{scheme}://{}:{port}", value.host),
    };
    PublicUrl "an http or https URL without a path" |value, f| f.write_str(&value.text);
    Network "an address, or a block such as 10.0.0.0/8" |value, f| write!(f, "{}", value.0);
}

/// The URL of a server that listens on `address`, from its own machine.
pub fn url_of(mut address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("http://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: hosts and ports are parsed into one form, and malformed ones refused. Method: a row a
    /// case.
    #[test]
    fn authorities() {
        for (text, want) in [
            ("localhost", Some("localhost")),
            ("LOCALHOST:80", Some("localhost:80")),
            ("127.0.0.1:7467", Some("127.0.0.1:7467")),
            ("[::1]:7467", Some("[::1]:7467")),
            ("[0:0::1]", Some("[::1]")),
            ("[::ffff:127.0.0.1]", Some("127.0.0.1")),
            ("a.example", Some("a.example")),
            ("", None),
            (":80", None),
            ("a:", None),
            ("a:+1", None),
            ("a:99999", None),
            ("::1", None),
            ("a b", None),
            ("u@a", None),
            ("a/b", None),
            ("[::1", None),
            ("1.2.3", None),
            ("127.1", None),
            ("2130706433", None),
        ] {
            assert_eq!(HostPort::parse(text).map(|a| a.to_string()).as_deref(), want, "{text}");
        }
    }

    /// Goal: origins compare by scheme, host and port, by default the port of the scheme.
    /// Method: a row a pair.
    #[test]
    fn origins() {
        for (one, other, same) in [
            ("https://a.example", "https://A.example:443", true),
            ("http://a.example", "http://a.example:80", true),
            ("http://a.example", "https://a.example", false),
            ("https://a.example", "https://a.example:8443", false),
            ("http://a.example", "http://a.example:0", false),
        ] {
            assert_eq!(WebOrigin::parse(one) == WebOrigin::parse(other), same, "{one} {other}");
        }
        for text in ["null", "", "a.example", "https://", "https://a/b", "https://a ", "://a"] {
            assert_eq!(WebOrigin::parse(text), None, "{text}");
        }
    }

    /// Goal: a block contains its addresses and no others. Method: a row a case.
    #[test]
    fn networks() {
        for (block, address, inside) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe80::1", false),
            ("::/0", "1.2.3.4", false),
        ] {
            let block = Network::parse(block).expect("a block");
            assert_eq!(block.contains(address.parse().expect("an address")), inside, "{block}");
        }
        for text in ["10.0.0.0/33", "a", "", "10.0.0.0/", "::/129"] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }

    /// Goal: a server that listens everywhere is reached on the loopback. Method: a row a case.
    #[test]
    fn urls() {
        for (listen, want) in [
            ("127.0.0.1:7467", "http://127.0.0.1:7467"),
            ("0.0.0.0:80", "http://127.0.0.1:80"),
            ("[::]:80", "http://[::1]:80"),
            ("10.0.0.1:80", "http://10.0.0.1:80"),
        ] {
            assert_eq!(url_of(listen.parse().unwrap()), want);
        }
    }
}
