//! The headers that mirror what a modern request says in its body (mcp.md §3).

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::envelope::{self, Params, RpcRequest};
use super::error::RpcError;
use super::revision::{Revision, VERSION};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A header that should be there once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SingleHeader<'h> {
    /// Not there.
    #[default]
    None,
    /// Its value.
    One(&'h [u8]),
    /// More than once, which says nothing.
    Several,
}

impl<'h> SingleHeader<'h> {
    fn of(headers: &'h HeaderMap, name: &str) -> Self {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Self::None,
            (Some(value), None) => Self::One(value.as_bytes().trim_ascii()),
            (Some(_), Some(_)) => Self::Several,
        }
    }

    /// The value, if it is one and text.
    pub fn text(self) -> Option<&'h str> {
        match self {
            Self::One(value) => std::str::from_utf8(value).ok(),
            Self::None | Self::Several => None,
        }
    }

    fn says(self, text: &str) -> bool {
        matches!(self, Self::One(value) if value == text.as_bytes())
    }
}

/// What a request says in its headers.
#[derive(Clone, Copy, Debug, Default)]
pub struct McpHeaders<'h> {
    /// `MCP-Protocol-Version`.
    pub version: SingleHeader<'h>,
    /// `Mcp-Method`.
    pub method: SingleHeader<'h>,
    /// `Mcp-Name`.
    pub name: SingleHeader<'h>,
}

impl<'h> McpHeaders<'h> {
    /// Out of all headers.
    pub fn of(headers: &'h HeaderMap) -> Self {
        Self {
            version: SingleHeader::of(headers, "mcp-protocol-version"),
            method: SingleHeader::of(headers, "mcp-method"),
            name: SingleHeader::of(headers, "mcp-name"),
        }
    }
}

/// Holds a modern request to its headers, and to what every one must say of its client.
///
/// # Errors
/// 400 with -32020, -32022 or -32602, in the order of mcp.md §3.
pub fn check(
    request: &RpcRequest<'_>,
    params: &Params<'_>,
    headers: &McpHeaders<'_>,
) -> Result<(), RpcError> {
    let version = params.meta(VERSION).and_then(envelope::string).unwrap_or_default();
    if !headers.version.says(&version) {
        let message =
            "`MCP-Protocol-Version` must say the same as the protocol version in `_meta`.";
        return Err(RpcError::header(message));
    }
    if Revision::parse(&version).is_none() {
        return Err(RpcError::version(&version));
    }
    if !headers.method.says(&request.method) {
        return Err(RpcError::header("`Mcp-Method` must say the same as `method`."));
    }
    let mirrored = match &*request.method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    };
    if let Some(member) = mirrored {
        let named = params.text(member);
        if !named.is_some_and(|named| is_named(headers.name, &named)) {
            let message = format!(
                "`Mcp-Name` must say the same as `params.{member}`, as `=?base64?…?=` where that \
                 is not plain ASCII."
            );
            return Err(RpcError::header(message));
        }
    }
    if !params.meta(CAPABILITIES).is_some_and(|raw| raw.get().starts_with('{')) {
        let message = format!("`_meta[\"{CAPABILITIES}\"]` must be an object; `{{}}` will do.");
        return Err(RpcError::meta(message));
    }
    Ok(())
}

/// Whether the header names `name`, plainly or in base64. What is encoded wrongly differs from
/// what is encoded rightly, so nothing needs to be decoded.
fn is_named(header: SingleHeader<'_>, name: &str) -> bool {
    let SingleHeader::One(value) = header else { return false };
    let encoded = value.strip_prefix(b"=?base64?").and_then(|rest| rest.strip_suffix(b"?="));
    match encoded {
        Some(encoded) => encoded == STANDARD.encode(name).as_bytes(),
        None => value == name.as_bytes(),
    }
}
