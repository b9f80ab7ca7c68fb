//! Bodies that are no JSON: told where and why, on every way in.

use parley_kit::BlockingServer;
use parley_kit::http::{ADMIN, AGENT, Answer, HOST};

/// Where bodies are read, with the token.
const DOORS: [(&str, &str); 5] = [
    ("POST /v1/messages HTTP/1.1", AGENT),
    ("POST /v1/artifacts HTTP/1.1", AGENT),
    ("POST /v1/feed/tickets HTTP/1.1", AGENT),
    ("POST /v1/tokens HTTP/1.1", ADMIN),
    ("POST /mcp HTTP/1.1", AGENT),
];

/// Bodies with the place and the cause that are told.
const BROKEN: [(&[u8], &str, &str); 13] = [
    (b"{\"kind\":\"ask\",\n\"body\":\"a\nb\"}", "byte 25 (line 2, column 10)", "line feed"),
    (b"{\"kind\":\"ask\",}", "byte 15 (line 1, column 15)", "comma"),
    (b"{\"body\":\"caf\xe9\"}", "byte 13 (line 1, column 13)", "Latin-1"),
    (b"\xff\xfe{\0\"\0a\0\"\0:\x001\0}\0", "byte 1 (line 1, column 1)", "UTF-16"),
    (b"{\0\"\0a\0\"\0:\x001\0}\0", "byte 2 (line 1, column 2)", "UTF-16"),
    (b"{'kind':'ask'}", "byte 2 (line 1, column 2)", "single quotation mark"),
    (b"{\"kind\":\"ask\"} // a question", "byte 16 (line 1, column 16)", "comment"),
    (b"{\"body\":\"why?", "byte 14 (line 1, column 14)", "begins at byte 9"),
    (b"{\"kind\":\"ask\",\"body\":", "byte 22 (line 1, column 22)", "before it is complete"),
    (b"{\"number\":007}", "byte 12 (line 1, column 12)", "leading 0"),
    (b"\xef\xbb\xbf{}", "byte 1 (line 1, column 1)", "byte-order mark"),
    (b"{\"kind\":None}", "byte 9 (line 1, column 9)", "Write null"),
    (b"kind=ask&body=why", "byte 1 (line 1, column 1)", "`kind` came"),
];

fn ask(server: &BlockingServer, line: &str, token: &str, body: &[u8]) -> Answer {
    let length = format!("Content-Length: {}", body.len());
    let mut request = server.request(&[line, HOST, token, &length], "").into_bytes();
    request.extend_from_slice(body);
    let mut peer = server.connect();
    peer.send(request);
    peer.answer(false)
}

/// Goal: a body that is no JSON is refused with byte, line and column and the cause in words.
/// Method: each fault at each door, as bytes on the wire.
#[test]
fn told_at_each_door() {
    let server = BlockingServer::start(&[]);
    for (line, token) in DOORS {
        for (body, place, cause) in BROKEN {
            let answer = ask(&server, line, token, body);
            let what = format!("{line} {:?}: {}", String::from_utf8_lossy(body), answer.text());
            assert_eq!(answer.status, 400, "{what}");
            let json = answer.json();
            let said = json["detail"].as_str().or(json["error"]["message"].as_str());
            let said = said.unwrap_or_default();
            assert!(said.contains(place) && said.contains(cause), "{what}");
            if line.contains("mcp") {
                assert_eq!(json["error"]["code"], -32_700, "{what}");
            }
        }
    }
}

/// Goal: so are faults of JSON that have a member. Method: a duplicate, a lone surrogate and a
/// number that is none, where fields are read.
#[test]
fn told_with_the_member() {
    let server = BlockingServer::start(&[]);
    for (body, field, place, cause) in [
        (&b"{\"a\":1,\"kind\":\"ask\",\"kind\":\"ask\"}"[..], "kind", "byte 21 ", "given twice"),
        (b"{\"a\":NaN}", "a", "byte 6 ", "`NaN`"),
        (b"{\"a\":-Infinity}", "a", "byte 6 ", "`-Infinity`"),
    ] {
        let answer = ask(&server, "POST /v1/messages HTTP/1.1", AGENT, body);
        let json = answer.problem("invalid_body", "a member");
        assert_eq!(json["field"], field, "{json}");
        let said = json["detail"].as_str().unwrap_or_default();
        assert!(said.contains(place) && said.contains(cause), "{said}");
    }
    let lone = b"{\"handle\":\"a\\ud800\"}";
    let answer = ask(&server, "POST /v1/tokens HTTP/1.1", ADMIN, lone);
    let json = answer.problem("invalid_body", "a surrogate");
    assert_eq!(json["field"], "handle", "{json}");
    assert!(json["detail"].as_str().unwrap_or_default().contains("byte 13 "), "{json}");
}
