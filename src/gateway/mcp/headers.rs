//! The headers of a modern request, which repeat members of its body (mcp.md §3).

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::envelope::{self, Params, RpcRequest};
use super::error::RpcError;
use super::method::McpMethod;
use super::revision::{ProtocolFamily, Revision, VERSION};

/// The member of `_meta` with the client's capabilities.
pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A header that may be sent once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SingleHeader<'h> {
    /// Not sent.
    #[default]
    None,
    /// Its value.
    One(&'h [u8]),
    /// Sent more than once, and so without a value.
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

    /// The value, if it was sent once and is UTF-8.
    pub fn text(self) -> Option<&'h str> {
        match self {
            Self::One(value) => std::str::from_utf8(value).ok(),
            Self::None | Self::Several => None,
        }
    }

    fn equals(self, text: &str) -> bool {
        matches!(self, Self::One(value) if value == text.as_bytes())
    }
}

/// The MCP headers of a request.
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
    /// Picks them from all headers.
    pub fn of(headers: &'h HeaderMap) -> Self {
        Self {
            version: SingleHeader::of(headers, "mcp-protocol-version"),
            method: SingleHeader::of(headers, "mcp-method"),
            name: SingleHeader::of(headers, "mcp-name"),
        }
    }
}

/// Checks that the headers of a modern request repeat its body, and that `_meta` names the client's
/// capabilities.
///
/// # Errors
/// 400 with -32020, -32022 or -32602, in the order of mcp.md §3.
pub fn check(
    request: &RpcRequest<'_>,
    params: &Params<'_>,
    headers: &McpHeaders<'_>,
) -> Result<(), RpcError> {
    let version = params.meta(VERSION).and_then(envelope::string).unwrap_or_default();
    if !headers.version.equals(&version) {
        let message =
            "`MCP-Protocol-Version` must say the same as the protocol version in `_meta`.";
        return Err(RpcError::header(message));
    }
    if Revision::parse(&version).is_none() {
        return Err(RpcError::version(&version));
    }
    if !headers.method.equals(&request.method) {
        return Err(RpcError::header("`Mcp-Method` must say the same as `method`."));
    }
    let method = McpMethod::parse(&request.method, ProtocolFamily::Modern);
    if let Some(member) = method.and_then(McpMethod::mirrored) {
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

/// Whether the header equals `name`, plain or in base64. Comparing the encoded forms refuses wrong
/// encodings without decoding.
fn is_named(header: SingleHeader<'_>, name: &str) -> bool {
    let SingleHeader::One(value) = header else { return false };
    let encoded = value.strip_prefix(b"=?base64?").and_then(|rest| rest.strip_suffix(b"?="));
    match encoded {
        Some(encoded) => encoded == STANDARD.encode(name).as_bytes(),
        None => value == name.as_bytes(),
    }
}
