//! JSON-RPC messages out of bytes (mcp.md §2): what is JSON, what is a request, what is silent.
//!
//! A message is taken apart one level at a time and its parts stay as they were written: the
//! arguments of a tool are judged by their own text, by the same reader as a body over HTTP, with
//! all their faults. Taking apart does not recurse, however deep a text nests.

use std::borrow::Cow;
use std::fmt;

use parley_protocol::json::{self, JsonMember, JsonValue, NESTING_CEILING};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::{PARSE_ERROR, RpcError};
use super::rpc_id::RpcId;

/// A message that can be answered, or needs not.
#[derive(Debug)]
pub enum RpcMessage<'b> {
    /// Wants an answer.
    Request(RpcRequest<'b>),
    /// A notification or a response.
    NoReply,
}

/// A request.
#[derive(Debug)]
pub struct RpcRequest<'b> {
    /// What the answer names.
    pub id: RpcId,
    /// What is asked for.
    pub method: Cow<'b, str>,
    /// `params`, or why they are none.
    pub params: Result<Params<'b>, &'static str>,
}

/// Names and texts of members, in their order.
type NamedMembers<'b> = Vec<(Cow<'b, str>, &'b RawValue)>;

/// `params`, member by member.
#[derive(Debug, Default)]
pub struct Params<'b> {
    members: NamedMembers<'b>,
    meta: NamedMembers<'b>,
}

impl<'b> Params<'b> {
    /// The member of that name; null is none.
    pub fn get(&self, name: &str) -> Option<&'b RawValue> {
        named(&self.members, name).filter(|raw| raw.get() != "null")
    }

    /// The member of that name, if it is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'b, str>> {
        self.get(name).and_then(string)
    }

    /// The member of `_meta` of that name, null too.
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

/// A message that is none, and the id that it had all the same.
pub type InvalidMessage = (Option<RpcId>, RpcError);

/// The text of a body.
#[derive(Debug)]
pub enum RpcBody<'b> {
    /// One message.
    One(&'b str),
    /// An array.
    Batch(Vec<&'b RawValue>),
}

impl<'b> RpcBody<'b> {
    /// Takes the bytes apart as far as it shows whether there is one message or several.
    ///
    /// # Errors
    /// 400, -32700.
    pub fn read(bytes: &'b [u8]) -> Result<Self, RpcError> {
        let broken = || {
            let message =
                "Parse error: the body is not JSON (RFC 8259, UTF-8, no byte-order mark).";
            RpcError::new(400, PARSE_ERROR, message)
        };
        let text = std::str::from_utf8(bytes).map_err(|_| broken())?;
        let start = text.trim_start_matches([' ', '\t', '\n', '\r']);
        if start.starts_with('[') {
            return serde_json::from_str(text).map(Self::Batch).map_err(|_| broken());
        }
        // An object is looked through when it is taken apart.
        if start.starts_with('{') || serde_json::from_str::<&RawValue>(text).is_ok() {
            return Ok(Self::One(text));
        }
        Err(broken())
    }
}

/// Reads one message.
///
/// # Errors
/// 400 with -32700 or -32600.
pub fn read(text: &str) -> Result<RpcMessage<'_>, InvalidMessage> {
    let Some(members) = members(text) else {
        let failure = match serde_json::from_str::<&RawValue>(text) {
            Err(_) => RpcError::new(400, PARSE_ERROR, "Parse error: the body is not JSON."),
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
    let Some(method) = string(method) else {
        return refuse("`method` must be a string.");
    };
    let Some(id) = id else { return Ok(RpcMessage::NoReply) };
    let params = get("params").map_or(Ok(Params::default()), Params::read);
    Ok(RpcMessage::Request(RpcRequest { id, method, params }))
}

/// The string that the text is, copied only if it has escapes.
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

/// Up to this many members, comparing each name with each is cheaper than sorting.
const PAIRWISE_MAX: usize = 8;

/// The members of an object in their order, none of them twice; `None` for whatever else.
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

/// The members of `_meta`. What clients tell of themselves may hold anything but a member twice,
/// at any depth up to the deepest there is.
fn meta_members(text: &str) -> Option<NamedMembers<'_>> {
    if let Some(members) = members(text)
        && members.iter().all(|(_, raw)| is_once(raw))
    {
        return Some(members);
    }
    // A name that is no text is left.
    match json::parse_keeping_surrogates(text.as_bytes(), NESTING_CEILING) {
        Ok(JsonValue::Object(meta)) => {
            let raw = |member: &JsonMember| serde_json::from_str(&text[member.span.clone()]).ok();
            let members = meta.members().iter();
            members.map(|member| Some((member.name.clone().into(), raw(member)?))).collect()
        }
        _ => None,
    }
}

/// Whether no object in it has a member twice. Small values need not be read for that.
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
struct MemberName<'b>(Cow<'b, str>);

impl<'de> Deserialize<'de> for MemberName<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberNameVisitor;
        impl<'de> Visitor<'de> for MemberNameVisitor {
            type Value = MemberName<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(MemberName(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(MemberName(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(MemberNameVisitor)
    }
}
