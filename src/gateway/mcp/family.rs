//! Determines the protocol family of a request (mcp.md §1).

use super::envelope::{self, RpcRequest};
use super::error::RpcError;
use super::headers::{CAPABILITIES, McpHeaders, SingleHeader};
use super::revision::{ProtocolFamily, Revision, VERSION, served};

/// The first revision of the modern family.
const FIRST_MODERN: &str = Revision::July2026.as_str();

/// The family of a request.
///
/// # Errors
/// 400 with -32602, or -32600 for a header that names no revision.
pub fn of_request(
    request: &RpcRequest<'_>,
    headers: &McpHeaders<'_>,
) -> Result<ProtocolFamily, RpcError> {
    let params = request.params.as_ref().ok();
    match params.and_then(|params| params.meta(VERSION)).map(envelope::string) {
        None if request.method == "initialize" => {
            let asked = params.and_then(|params| params.text("protocolVersion"));
            let known = asked.as_deref().and_then(Revision::legacy);
            Ok(ProtocolFamily::Legacy(known.unwrap_or(Revision::November2025)))
        }
        Some(Some(version)) if Revision::legacy(&version).is_none() => Ok(ProtocolFamily::Modern),
        Some(_) => {
            let message = format!(
                "`_meta[\"{VERSION}\"]` names revisions from {FIRST_MODERN} on. For an earlier one \
                 leave it out and begin with `initialize`."
            );
            Err(RpcError::meta(message))
        }
        None if headers.version.text().is_some_and(is_modern_date)
            || request.method == "server/discover" =>
        {
            let message = format!(
                "From revision {FIRST_MODERN} on every request carries \
                 `params._meta[\"{VERSION}\"]` and `params._meta[\"{CAPABILITIES}\"]`."
            );
            Err(RpcError::meta(message))
        }
        None => legacy_of(headers.version).map(ProtocolFamily::Legacy),
    }
}

/// The legacy revision that the header names; the first without a header.
///
/// # Errors
/// 400 with -32600 for a header that names none.
pub fn legacy_of(header: SingleHeader<'_>) -> Result<Revision, RpcError> {
    let named = match header {
        SingleHeader::None => Some(Revision::March2025),
        SingleHeader::One(_) | SingleHeader::Several => header.text().and_then(Revision::legacy),
    };
    named.ok_or_else(|| {
        let served = served().join(", ");
        RpcError::no_request(format!("`MCP-Protocol-Version` names none of {served}."))
    })
}

/// Whether `text` is a date not before the first modern revision.
fn is_modern_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |from: usize, to: usize| {
        let part = bytes.get(from..to)?;
        part.iter().all(u8::is_ascii_digit).then(|| text[from..to].parse::<u32>().ok())?
    };
    let dashes = bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-';
    let plausible = digits(0, 4).is_some()
        && digits(5, 7).is_some_and(|month| (1..=12).contains(&month))
        && digits(8, 10).is_some_and(|day| (1..=31).contains(&day));
    dashes && plausible && text >= FIRST_MODERN
}
