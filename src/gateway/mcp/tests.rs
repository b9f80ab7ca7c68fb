//! Dispatch alone: headers and bytes in, steps out. No server, no socket.

use super::dispatch::{Dispatch, MessageStep, dispatch};
use super::error::RpcError;
use super::headers::{McpHeaders, SingleHeader};
use super::resources::ResourceUri;
use super::revision::{ProtocolFamily, Revision};
use super::rpc_id::RpcId;

const META: &str = "\"io.modelcontextprotocol/protocolVersion\"";
const CAPABILITIES: &str = "\"io.modelcontextprotocol/clientCapabilities\":{}";

fn given(value: Option<&str>) -> SingleHeader<'_> {
    value.map_or(SingleHeader::None, |value| SingleHeader::One(value.as_bytes()))
}

fn headers<'h>(
    version: Option<&'h str>,
    method: Option<&'h str>,
    name: Option<&'h str>,
) -> McpHeaders<'h> {
    McpHeaders { version: given(version), method: given(method), name: given(name) }
}

/// One step as a few words: `silent`, `status code`, or the family and the method.
fn label(step: &MessageStep<'_>) -> String {
    match step {
        MessageStep::NoReply => "silent".to_owned(),
        MessageStep::Fail(_, RpcError { status, code, .. }) => format!("{status} {code}"),
        MessageStep::Perform(task) => {
            let family = match task.family {
                ProtocolFamily::Legacy(revision) => revision.as_str(),
                ProtocolFamily::Modern => "modern",
            };
            format!("{family} {:?}", task.method)
        }
    }
}

fn one(headers: &McpHeaders<'_>, body: &[u8]) -> String {
    match dispatch(headers, body) {
        Dispatch::One(step) => label(&step),
        Dispatch::Batch(steps) => steps.iter().map(label).collect::<Vec<_>>().join(", "),
    }
}

fn request(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{params}}}")
}

fn modern(version: &str, rest: &str) -> String {
    format!("{{\"_meta\":{{{META}:{version},{CAPABILITIES}}}{rest}}}")
}

/// Goal: the four rules of mcp.md §1 apply in their order. Method: a row a method, `_meta` and
/// header.
#[test]
fn eras() {
    let november = Some("2025-11-25");
    for (method, meta, header, want) in [
        // 1: with any version and any header.
        ("initialize", None, None, "2025-11-25 Initialize"),
        ("initialize", None, Some("2026-07-28"), "2025-11-25 Initialize"),
        ("initialize", None, Some("nonsense"), "2025-11-25 Initialize"),
        // 2: the key makes it modern.
        ("tools/list", Some("\"2026-07-28\""), Some("2026-07-28"), "modern ListTools"),
        ("tools/list", Some("7"), Some("2026-07-28"), "400 -32602"),
        ("tools/list", Some("null"), None, "400 -32602"),
        ("tools/list", Some("\"2025-11-25\""), november, "400 -32602"),
        ("tools/list", Some("\"2025-03-26\""), None, "400 -32602"),
        ("initialize", Some("\"2025-11-25\""), november, "400 -32602"),
        ("initialize", Some("\"2026-07-28\""), Some("2026-07-28"), "404 -32601"),
        ("initialize", Some("\"2026-07-28\""), None, "400 -32020"),
        // 3: a modern header, or a modern method, without the key.
        ("tools/list", None, Some("2026-07-28"), "400 -32602"),
        ("tools/list", None, Some("2027-01-01"), "400 -32602"),
        ("nonsense", None, Some("2026-07-28"), "400 -32602"),
        ("server/discover", None, None, "400 -32602"),
        ("server/discover", None, november, "400 -32602"),
        // 4: legacy.
        ("tools/list", None, None, "2025-03-26 ListTools"),
        ("tools/list", None, Some("2025-03-26"), "2025-03-26 ListTools"),
        ("tools/list", None, Some("2025-06-18"), "2025-06-18 ListTools"),
        ("tools/list", None, november, "2025-11-25 ListTools"),
        ("tools/list", None, Some("2024-10-07"), "400 -32600"),
        ("tools/list", None, Some("2024-11-05"), "2024-11-05 ListTools"),
        ("tools/list", None, Some("2026-07-27"), "400 -32600"),
        ("tools/list", None, Some("9999-99-99"), "400 -32600"),
        ("tools/list", None, Some("2026-7-28"), "400 -32600"),
        ("tools/list", None, Some(""), "400 -32600"),
        ("tools/list", None, Some("2025-11-25, 2025-11-25"), "400 -32600"),
        // Methods of the other family.
        ("ping", None, None, "2025-03-26 Ping"),
        ("ping", Some("\"2026-07-28\""), Some("2026-07-28"), "404 -32601"),
        ("logging/setLevel", None, None, "2025-03-26 SetLevel"),
        ("logging/setLevel", Some("\"2026-07-28\""), Some("2026-07-28"), "404 -32601"),
        ("resources/subscribe", None, None, "200 -32601"),
        ("resources/subscribe", Some("\"2026-07-28\""), Some("2026-07-28"), "404 -32601"),
        ("completion/complete", None, None, "200 -32601"),
        ("completion/complete", Some("\"2026-07-28\""), Some("2026-07-28"), "404 -32601"),
        ("subscriptions/listen", None, None, "200 -32601"),
        ("Tools/List", None, None, "200 -32601"),
        ("", None, None, "200 -32601"),
    ] {
        let params = match meta {
            None => "{}".to_owned(),
            Some(version) => modern(version, ""),
        };
        let body = request(method, &params);
        let got = one(&headers(header, Some(method), None), body.as_bytes());
        assert_eq!(got, want, "{method} {meta:?} {header:?}");
    }
}

/// Goal: `initialize` is answered with the version asked for, if that is served. Method: each.
#[test]
fn initialize() {
    for (asked, want) in [
        ("\"2024-11-05\"", Revision::November2024),
        ("\"2025-03-26\"", Revision::March2025),
        ("\"2025-06-18\"", Revision::June2025),
        ("\"2025-11-25\"", Revision::November2025),
        ("\"2026-07-28\"", Revision::November2025),
        ("\"2024-10-07\"", Revision::November2025),
        ("7", Revision::November2025),
        ("null", Revision::November2025),
    ] {
        let body = request("initialize", &format!("{{\"protocolVersion\":{asked}}}"));
        let want = format!("{} Initialize", want.as_str());
        assert_eq!(one(&McpHeaders::default(), body.as_bytes()), want, "{asked}");
    }
}

/// Goal: the checks of mcp.md §3, in their order. Method: a row a request, each with the faults
/// that stand behind the one that answers too.
#[test]
fn mirrored_headers() {
    let now = Some("2026-07-28");
    let named = |name: &str| modern("\"2026-07-28\"", &format!(",\"name\":{name}"));
    let plain = || modern("\"2026-07-28\"", "");
    let call = Some("tools/call");
    for (method, params, version, header, name, want) in [
        ("tools/list", plain(), None, None, None, "400 -32020"),
        ("tools/list", modern("\"1\"", ""), now, None, None, "400 -32020"),
        ("tools/list", modern("\"1\"", ""), Some("1"), None, None, "400 -32022"),
        ("tools/list", modern("\"\"", ""), Some(""), None, None, "400 -32022"),
        ("tools/list", plain(), now, None, None, "400 -32020"),
        ("tools/list", plain(), now, Some("TOOLS/LIST"), None, "400 -32020"),
        ("tools/list", plain(), now, Some("tools/list"), None, "modern ListTools"),
        ("nonsense", plain(), now, Some("tools/list"), None, "400 -32020"),
        ("nonsense", plain(), now, Some("nonsense"), None, "404 -32601"),
        ("tools/call", named("\"a\""), now, call, None, "400 -32020"),
        ("tools/call", named("\"a\""), now, call, Some("b"), "400 -32020"),
        ("tools/call", named("\"a\""), now, call, Some("a"), "modern CallTool"),
        ("tools/call", named("\"a\""), now, call, Some("=?base64?YQ==?="), "modern CallTool"),
        ("tools/call", named("\"a\""), now, call, Some("=?base64?YQ?="), "400 -32020"),
        ("tools/call", named("\"a\""), now, call, Some("=?base64?!!!!?="), "400 -32020"),
        ("tools/call", named("\"a\""), now, call, Some("YQ=="), "400 -32020"),
        ("tools/call", named("\"\u{e4}\""), now, call, Some("=?base64?w6Q=?="), "modern CallTool"),
        ("tools/call", named("\"abc\""), now, call, Some("=?base64?YWJj?="), "modern CallTool"),
        ("tools/call", named("\"ab\""), now, call, Some("=?base64?YWI=?="), "modern CallTool"),
        ("tools/call", named("7"), now, call, Some("7"), "400 -32020"),
        ("prompts/get", named("\"a\""), now, Some("prompts/get"), None, "400 -32020"),
        ("prompts/get", named("\"a\""), now, Some("prompts/get"), Some("a"), "modern GetPrompt"),
    ] {
        let got = one(&headers(version, header, name), request(method, &params).as_bytes());
        assert_eq!(got, want, "{method} {params} {version:?} {header:?} {name:?}");
    }
    let uri = modern("\"2026-07-28\"", ",\"uri\":\"parley://inbox\"");
    let read = Some("resources/read");
    let body = request("resources/read", &uri);
    for (name, want) in [(None, "400 -32020"), (Some("parley://inbox"), "modern ReadResource")] {
        assert_eq!(one(&headers(now, read, name), body.as_bytes()), want);
    }
}

/// Goal: capabilities come last of what a modern request must say, and a client need not name
/// itself. Method: what else could stand there.
#[test]
fn capabilities() {
    for (capabilities, want) in [
        (CAPABILITIES, "modern ListTools"),
        ("\"io.modelcontextprotocol/clientCapabilities\":[]", "400 -32602"),
        ("\"io.modelcontextprotocol/clientCapabilities\":null", "400 -32602"),
        ("\"io.modelcontextprotocol/clientInfo\":{}", "400 -32602"),
    ] {
        let params = format!("{{\"_meta\":{{{META}:\"2026-07-28\",{capabilities}}}}}");
        let headers = headers(Some("2026-07-28"), Some("tools/list"), None);
        let got = one(&headers, request("tools/list", &params).as_bytes());
        assert_eq!(got, want, "{capabilities}");
    }
}

/// A body, how it is taken, and the id that an error about it carries.
type BodyCase = (&'static str, &'static str, Option<&'static str>);

/// Bodies that are no message, or whose id is invalid.
const BROKEN: &[BodyCase] = &[
    ("", "400 -32700", None),
    (" ", "400 -32700", None),
    ("\u{feff}{}", "400 -32700", None),
    ("{", "400 -32700", None),
    ("[", "400 -32700", None),
    ("[1,]", "400 -32700", None),
    ("nonsense", "400 -32700", None),
    (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, "400 -32700", None),
    (r#"{"a":NaN}"#, "400 -32700", None),
    ("{}", "400 -32600", None),
    ("7", "400 -32600", None),
    ("null", "400 -32600", None),
    (r#""ping""#, "400 -32600", None),
    (r#"{"id":1,"method":"ping"}"#, "400 -32600", Some("1")),
    (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "400 -32600", Some("1")),
    (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, "400 -32600", Some("1")),
    (r#"{"jsonrpc":"2.0","id":1}"#, "400 -32600", Some("1")),
    (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "400 -32600", Some("1")),
    (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "400 -32600", None),
    (r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#, "400 -32600", None),
    (r#"{"jsonrpc":"2.0","id":1e2,"method":"ping"}"#, "400 -32600", None),
    (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, "400 -32600", None),
    (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, "400 -32600", None),
    (r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#, "400 -32600", None),
    (r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#, "400 -32600", None),
    (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#, "400 -32600", None),
    (r#"{"jsonrpc":"2.0","id":1,"\u0069d":1,"method":"ping"}"#, "400 -32600", None),
    (r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, "400 -32600", Some("1")),
];

/// Bodies that are valid, with and without an answer.
const TAKEN: &[BodyCase] = &[
    (r#"{"jsonrpc":"2.0","id":-7,"method":"ping"}"#, "2025-03-26 Ping", None),
    (r#"{"jsonrpc":"2.0","id":9223372036854775807,"method":"ping"}"#, "2025-03-26 Ping", None),
    (r#"{"jsonrpc":"2.0","id":"","method":"ping"}"#, "2025-03-26 Ping", None),
    (" {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"m\\u0065thod\":\"ping\"}\n", "2025-03-26 Ping", None),
    (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#, "2025-03-26 Ping", None),
    (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, "200 -32602", Some("1")),
    (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, "200 -32602", Some("1")),
    (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":1}}"#, "200 -32602", Some("1")),
    (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":7}}"#, "200 -32602", Some("1")),
    (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "silent", None),
    (r#"{"jsonrpc":"2.0","method":"nonsense","params":7}"#, "silent", None),
    (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "silent", None),
    (r#"{"jsonrpc":"2.0","id":1,"error":{}}"#, "silent", None),
    (r#"{"jsonrpc":"2.0","error":{}}"#, "silent", None),
    (r#"{"jsonrpc":"2.0","result":{}}"#, "400 -32600", None),
    (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, "400 -32600", Some("1")),
];

/// Goal: what is JSON, what is a message, what is silent, and whose id an error carries. Method: a
/// row a body.
#[test]
fn messages() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(9_000), "]".repeat(9_000));
    let deep_arguments = request("tools/call", &format!("{{\"name\":\"x\",\"arguments\":{deep}}}"));
    let deep: [(&str, _, _); 2] =
        [(&deep, "400 -32600", None), (&deep_arguments, "2025-03-26 CallTool", None)];
    for &(body, want, id) in BROKEN.iter().chain(TAKEN).chain(&deep) {
        let Dispatch::One(step) = dispatch(&McpHeaders::default(), body.as_bytes()) else {
            panic!("a batch: {body}");
        };
        let excerpt: String = body.chars().take(80).collect();
        assert_eq!(label(&step), want, "{excerpt}");
        if let MessageStep::Fail(got, _) = &step {
            assert_eq!(got.as_ref().map(RpcId::text), id, "{excerpt}");
        }
    }
    assert_eq!(one(&McpHeaders::default(), b"{\"a\":\"\xff\"}"), "400 -32700");
    // A notification is held to no header.
    let body = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}";
    assert_eq!(one(&headers(Some("2026-07-28"), None, None), body), "silent");
}

/// Goal: batches in the first revision only, of 1 to 50, each entry judged for itself. Method: a
/// row a batch.
#[test]
fn batches() {
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    let note = "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}";
    let start = request("initialize", "{}");
    let now = request("tools/list", &modern("\"2026-07-28\"", ""));
    let discover = request("server/discover", "{}");
    let many = |count: usize| format!("[{}]", vec![ping; count].join(","));
    let fifty = vec!["2025-03-26 Ping"; 50].join(", ");
    for (version, body, want) in [
        (None, "[]".to_owned(), "400 -32600"),
        (None, many(51), "400 -32600"),
        (Some("2025-06-18"), many(1), "400 -32600"),
        (Some("2025-11-25"), many(1), "400 -32600"),
        (Some("2026-07-28"), many(1), "400 -32600"),
        (Some("nonsense"), many(1), "400 -32600"),
        (None, many(1), "2025-03-26 Ping"),
        (Some("2025-03-26"), many(2), "2025-03-26 Ping, 2025-03-26 Ping"),
        (None, many(50), &fifty),
        (None, format!("[{note},{note}]"), "silent, silent"),
        (
            None,
            format!("[{ping},7,{note},{{}}]"),
            "2025-03-26 Ping, 400 -32600, silent, 400 -32600",
        ),
        (None, format!("[{start},{now}]"), "400 -32600, 400 -32600"),
        (None, format!("[{discover},[{ping}]]"), "400 -32602, 400 -32600"),
    ] {
        let got = one(&headers(version, None, None), body.as_bytes());
        assert_eq!(got, want, "{version:?} {body}");
    }
}

/// Goal: an address is a resource, fits a template, or is nothing. Method: a row an address.
#[test]
fn addresses() {
    let inbox = |extension: &str| Some(ResourceUri::Inbox(Some(extension.to_owned().into())));
    for (uri, want) in [
        ("parley://manifest", Some(ResourceUri::Manifest)),
        ("parley://inbox", Some(ResourceUri::Inbox(None))),
        ("parley://inbox/worker-2", inbox("worker-2")),
        ("parley://inbox/a%2Eb", inbox("a.b")),
        ("parley://inbox?anyone=false", Some(ResourceUri::OpenInbox("false".into()))),
        ("parley://inbox?anyone=", Some(ResourceUri::OpenInbox("".into()))),
        ("parley://inbox?anyone", None),
        ("parley://inbox?since=x", None),
        ("parley://inbox/w?anyone=true", None),
        ("parley://threads/th_1", Some(ResourceUri::Thread("th_1".into()))),
        ("parley://threads/x", Some(ResourceUri::Thread("x".into()))),
        ("parley://threads/", None),
        ("parley://threads", None),
        ("parley://threads/1/2", None),
        ("parley://threads/1?x", None),
        ("parley://threads/%ff", None),
        ("parley://manifest/", None),
        ("PARLEY://manifest", None),
        ("", None),
        ("http://localhost/", None),
    ] {
        assert_eq!(ResourceUri::parse(uri), want, "{uri}");
    }
}
