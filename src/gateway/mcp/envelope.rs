//! Parses JSON-RPC messages (mcp.md §2).
//!
//! Parsing goes one level at a time and keeps the text of the members: the reader of HTTP bodies
//! parses the arguments of a tool from their own text, and reports the same faults. The parser does
//! not recurse, however deep a text nests.

use std::borrow::Cow;
use std::fmt;

use parley_protocol::json::{self, JsonFaultKind, JsonMember, JsonValue, NESTING_CEILING};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::{PARSE_ERROR, RpcError};
use super::rpc_id::RpcId;

/// A valid message.
#[derive(Debug)]
pub enum RpcMessage<'b> {
    /// A request, which gets an answer.
    Request(RpcRequest<'b>),
    /// A notification or a response, which get none.
    NoReply,
}

/// A request.
#[derive(Debug)]
pub struct RpcRequest<'b> {
    /// The id of the answer.
    pub id: RpcId,
    /// The method's name.
    pub method: Cow<'b, str>,
    /// `params`, or the fault in them.
    pub params: Result<Params<'b>, &'static str>,
}

/// Names and texts of members, in the order of the text.
type NamedMembers<'b> = Vec<(Cow<'b, str>, &'b RawValue)>;

/// `params`, member by member.
#[derive(Debug, Default)]
pub struct Params<'b> {
    members: NamedMembers<'b>,
    meta: NamedMembers<'b>,
}

impl<'b> Params<'b> {
    /// The member `name`; `None` for null.
    pub fn get(&self, name: &str) -> Option<&'b RawValue> {
        named(&self.members, name).filter(|raw| raw.get() != "null")
    }

    /// The member `name`, if it is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'b, str>> {
        self.get(name).and_then(string)
    }

    /// The member `name` of `_meta`, null included.
    pub fn meta(&self, name: &str) -> Option<&'b RawValue> {
        named(&self.meta, name)
    }

    fn read(raw: &'b RawValue) -> Result<Self, &'static str> {
        let text = raw.get();
        if !text.starts_with('{') {
            return Err("`params` must be an object.");
        }
        let Some(members) = members(text) else {
            return Err("`params` gives a member twice, or one whose name is no text.");
        };
        let mut params = Self { members, meta: Vec::new() };
        if let Some(meta) = params.get("_meta") {
            params.meta = meta_members(meta.get())
                .ok_or("`params._meta` must be an object with each member once.")?;
        }
        Ok(params)
    }
}

/// The id of an invalid message, if it has one, and its fault.
pub type InvalidMessage = (Option<RpcId>, RpcError);

/// A body, split into messages.
#[derive(Debug)]
pub enum RpcBody<'b> {
    /// One message.
    One(&'b str),
    /// An array.
    Batch(Vec<&'b RawValue>),
}

impl<'b> RpcBody<'b> {
    /// Splits a body into messages.
    ///
    /// # Errors
    /// 400, -32700.
    pub fn read(bytes: &'b [u8]) -> Result<Self, RpcError> {
        let broken = || broken(bytes);
        let text = std::str::from_utf8(bytes).map_err(|_| broken())?;
        let start = text.trim_start_matches([' ', '\t', '\n', '\r']);
        if start.starts_with('[') {
            return serde_json::from_str(text).map(Self::Batch).map_err(|_| broken());
        }
        // An object is checked when its members are read.
        if start.starts_with('{') || serde_json::from_str::<&RawValue>(text).is_ok() {
            return Ok(Self::One(text));
        }
        Err(broken())
    }
}

/// The error of a body that is no JSON, with the place.
fn broken(body: &[u8]) -> RpcError {
    let cause = match json::parse_keeping_surrogates(body, NESTING_CEILING) {
        Err(fault) if fault.kind == JsonFaultKind::Malformed => fault.told(body),
        Err(fault) if fault.kind == JsonFaultKind::Number => fault.told(body),
        // Deeper, or a lone surrogate, which the reader of messages takes for no JSON.
        _ => "the body is not JSON that is read here (RFC 8259, UTF-8).".to_owned(),
    };
    RpcError::new(400, PARSE_ERROR, format!("Parse error: {cause}"))
}

/// Reads one message.
///
/// # Errors
/// 400 with -32700 or -32600.
pub fn read(text: &str) -> Result<RpcMessage<'_>, InvalidMessage> {
    let Some(members) = members(text) else {
        let failure = match serde_json::from_str::<&RawValue>(text) {
            Err(_) => broken(text.as_bytes()),
            Ok(_) => RpcError::no_request("A message is one JSON object, each member given once."),
        };
        return Err((None, failure));
    };
    let get = |name: &str| named(&members, name);
    let written = get("id");
    let id = written.and_then(RpcId::read);
    let refuse = |message: &'static str| Err((id.clone(), RpcError::no_request(message)));
    if written.is_some() && id.is_none() {
        return refuse("`id` must be a string, or an integer within 64 bits.");
    }
    if get("jsonrpc").and_then(string).as_deref() != Some("2.0") {
        return refuse("`jsonrpc` must be \"2.0\".");
    }
    let Some(method) = get("method") else {
        let answers = [get("result"), get("error")].iter().flatten().count();
        if answers == 1 && (id.is_some() || get("error").is_some()) {
            return Ok(RpcMessage::NoReply);
        }
        return refuse("A request names its `method`.");
    };
    let Some(method) = string(method) else { return refuse("`method` must be a string.") };
    let Some(id) = id else { return Ok(RpcMessage::NoReply) };
    let params = get("params").map_or(Ok(Params::default()), Params::read);
    Ok(RpcMessage::Request(RpcRequest { id, method, params }))
}

/// The string of a JSON text, copied only if it has escapes; `None` for other values.
pub fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"').and_then(|text| text.strip_suffix('"'))?;
    if inner.contains('\\') {
        return serde_json::from_str(raw.get()).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

fn named<'b>(members: &NamedMembers<'b>, name: &str) -> Option<&'b RawValue> {
    members.iter().find(|(known, _)| known == name).map(|(_, raw)| *raw)
}

/// Members up to which comparing all pairs of names is cheaper than sorting.
const PAIRWISE_MAX: usize = 8;

/// The members of an object in the order of the text; `None` for other values and for duplicates.
fn members(text: &str) -> Option<NamedMembers<'_>> {
    let RawMembers(members) = serde_json::from_str(text).ok()?;
    let is_once = if members.len() <= PAIRWISE_MAX {
        let before = |at: usize| members[..at].iter().map(|(name, _)| name);
        members.iter().enumerate().all(|(at, (name, _))| before(at).all(|known| known != name))
    } else {
        let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        names.windows(2).all(|pair| pair[0] != pair[1])
    };
    is_once.then_some(members)
}

/// The members of `_meta`, which may hold any JSON without duplicate members, to the greatest
/// depth.
fn meta_members(text: &str) -> Option<NamedMembers<'_>> {
    if let Some(members) = members(text)
        && members.iter().all(|(_, raw)| is_once(raw))
    {
        return Some(members);
    }
    // A name with a lone surrogate is allowed here.
    match json::parse_keeping_surrogates(text.as_bytes(), NESTING_CEILING) {
        Ok(JsonValue::Object(meta)) => {
            let raw = |member: &JsonMember| serde_json::from_str(&text[member.span.clone()]).ok();
            let members = meta.members().iter();
            members.map(|member| Some((member.name.clone().into(), raw(member)?))).collect()
        }
        _ => None,
    }
}

/// Whether no object in the value has a duplicate member. Scalars and empty values are not parsed.
fn is_once(raw: &RawValue) -> bool {
    match raw.get().as_bytes() {
        b"{}" | b"[]" => true,
        [b'{' | b'[', ..] => {
            json::parse_keeping_surrogates(raw.get().as_bytes(), NESTING_CEILING - 1).is_ok()
        }
        _ => true,
    }
}

struct RawMembers<'b>(Vec<(Cow<'b, str>, &'b RawValue)>);

impl<'de> Deserialize<'de> for RawMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawMembersVisitor;
        impl<'de> Visitor<'de> for RawMembersVisitor {
            type Value = RawMembers<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(4);
                while let Some((MemberName(name), raw)) = map.next_entry()? {
                    members.push((name, raw));
                }
                Ok(RawMembers(members))
            }
        }
        deserializer.deserialize_map(RawMembersVisitor)
    }
}

/// A member's name, copied only if it has escapes.
#[derive(Deserialize)]
struct MemberName<'b>(#[serde(borrow)] Cow<'b, str>);
