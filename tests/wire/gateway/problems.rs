//! Every error that the transport gives, and the order in which they are found.

use parley_kit::BlockingServer;
use parley_kit::http::{ADMIN, AGENT, HOST};

const TEXT: &str = "Content-Type: text/plain";
const HTML: &str = "Accept: text/html";
const GZIP: &str = "Content-Encoding: gzip";
const ASK: &str = r#"{"kind":"ask","body":"why?"}"#;

struct Row {
    lines: &'static [&'static str],
    body: &'static str,
    status: u16,
    reason: &'static str,
    /// One that the answer has.
    header: Option<(&'static str, &'static str)>,
}

impl Row {
    const fn has(self, header: (&'static str, &'static str)) -> Self {
        Self { header: Some(header), ..self }
    }
}

const fn row(lines: &'static [&'static str], status: u16, reason: &'static str) -> Row {
    Row { lines, body: "", status, reason, header: None }
}

const fn with(body: &'static str, row: Row) -> Row {
    Row { body, ..row }
}

fn hold(rows: &[Row]) {
    let server = BlockingServer::start(&[]);
    for Row { lines, body, status, reason, header } in rows {
        let answer = server.ask(lines, body);
        let what = format!("{lines:?} {body:.60}");
        assert_eq!(answer.status, *status, "{what}: {}", answer.text());
        answer.problem(reason, &what);
        assert!(answer.header("x-request-id").is_some_and(|id| !id.is_empty()), "{what}");
        if let Some((name, value)) = header {
            assert_eq!(answer.header(name), Some(*value), "{what}");
        }
    }
}

/// Goal: what is wrong before a body is read is a problem with its reason, status and headers.
/// Method: a row an error, over a raw socket.
#[test]
fn before_the_request_is_read() {
    hold(&[
        row(&["GET /v1/threads HTTP/1.1", "Host: evil.example", AGENT], 403, "origin_forbidden"),
        row(&["GET /v1/threads HTTP/1.1", AGENT], 403, "origin_forbidden"),
        row(&["GET /v1/threads HTTP/1.1", HOST, HOST, AGENT], 403, "origin_forbidden"),
        row(&["GET /v1/threads HTTP/1.1", HOST, AGENT, "Origin: null"], 403, "origin_forbidden"),
        row(&["GET http://evil.example/ HTTP/1.1", HOST], 403, "origin_forbidden"),
        row(&["GET /v1 HTTP/1.1", HOST], 404, "not_found"),
        row(&["GET /v1/threads/ HTTP/1.1", HOST, AGENT], 404, "not_found"),
        row(&["GET /v1//threads HTTP/1.1", HOST, AGENT], 404, "not_found"),
        row(&["POST /V1/MESSAGES HTTP/1.1", HOST, AGENT], 404, "not_found"),
        row(&["GET /index.php HTTP/1.1", HOST], 404, "not_found"),
        row(&["GET /.well-known/oauth-protected-resource HTTP/1.1", HOST], 404, "not_found"),
        row(&["GET /v1/threads HTTP/1.1", HOST], 401, "token_missing").has(BEARER),
        row(&["GET /v1/threads HTTP/1.1", HOST, NOBODY], 401, "token_unknown").has(INVALID),
        row(&["GET /v1/messages HTTP/1.1", HOST], 405, METHOD).has(("allow", "POST")),
        row(&["DELETE /v1/threads/th_1 HTTP/1.1", HOST], 405, METHOD).has(("allow", "GET, HEAD")),
        row(&["PUT /v1/tokens HTTP/1.1", HOST], 405, METHOD).has(("allow", "GET, HEAD, POST")),
        row(&["GET /v1/tokens/tok_1 HTTP/1.1", HOST], 405, METHOD).has(("allow", "DELETE")),
        row(&["OPTIONS /v1/messages HTTP/1.1", HOST], 405, METHOD).has(("allow", "POST")),
        row(&["BREW /v1/messages HTTP/1.1", HOST], 405, METHOD).has(("allow", "POST")),
    ]);
}

const METHOD: &str = "method_not_allowed";
const NOBODY: &str = "Authorization: Bearer nobody";
const BEARER: (&str, &str) = ("www-authenticate", "Bearer");
const INVALID: (&str, &str) = ("www-authenticate", "Bearer error=\"invalid_token\"");
const CHUNKED: &str = "Transfer-Encoding: chunked\r\n\r\nnonsense";

/// Goal: what is wrong with a body is a problem with its reason, status and headers.
/// Method: a row an error, over a raw socket.
#[test]
fn body_and_parameters() {
    hold(&[
        row(&["GET /v1/tokens HTTP/1.1", HOST, AGENT], 403, "token_right_missing"),
        row(&["GET /metrics HTTP/1.1", HOST, AGENT], 403, "token_right_missing"),
        with("{", row(&["POST /v1/messages HTTP/1.1", HOST, AGENT], 400, "invalid_body")),
        with("[]", row(&["POST /v1/messages HTTP/1.1", HOST, AGENT], 400, "invalid_body")),
        with("\u{feff}{}", row(&["POST /v1/messages HTTP/1.1", HOST, AGENT], 400, "invalid_body")),
        row(&["POST /v1/messages HTTP/1.1", HOST, AGENT], 400, "invalid_body"),
        row(&["POST /v1/messages HTTP/1.1", HOST, AGENT, CHUNKED], 400, "invalid_body"),
        with(ASK, row(&["POST /v1/messages?a=b HTTP/1.1", HOST, AGENT], 400, "invalid_parameter")),
        row(&["GET /v1/threads?limit=0 HTTP/1.1", HOST, AGENT], 400, "invalid_parameter"),
        row(&["GET /v1/threads?limit=1&limit=1 HTTP/1.1", HOST, AGENT], 400, "invalid_parameter"),
        row(&["GET /v1/threads?state= HTTP/1.1", HOST, AGENT], 400, "invalid_parameter"),
        row(&["GET /v1/threads?%ff=1 HTTP/1.1", HOST, AGENT], 400, "invalid_parameter"),
        row(&["GET /v1/tokens?limit=201 HTTP/1.1", HOST, ADMIN], 400, "invalid_parameter"),
        row(&["GET /v1/tokens?page=1 HTTP/1.1", HOST, ADMIN], 400, "invalid_parameter"),
        row(&["GET /v1/tokens?cursor=2 HTTP/1.1", HOST, ADMIN], 400, "invalid_cursor"),
    ]);
}

/// Goal: what is wrong with a type is a problem with its reason, status and headers.
/// Method: a row an error, over a raw socket.
#[test]
fn types_and_things() {
    hold(&[
        with(ASK, row(&["POST /v1/messages HTTP/1.1", HOST, AGENT, TEXT], 415, MEDIA)),
        with(ASK, row(&["POST /v1/messages HTTP/1.1", HOST, AGENT, GZIP], 415, MEDIA)),
        with(ASK, row(&["POST /v1/messages HTTP/1.1", HOST, AGENT, HTML], 406, "not_acceptable")),
        row(&["GET /v1/manifest HTTP/1.1", HOST, HTML], 406, "not_acceptable"),
        row(&["GET / HTTP/1.1", HOST, "Accept: application/json"], 406, "not_acceptable"),
        row(&["GET /v1/threads/none HTTP/1.1", HOST, AGENT], 404, "thread_not_found"),
        row(&["GET /v1/threads/%ff HTTP/1.1", HOST, AGENT], 404, "thread_not_found"),
        row(&["GET /v1/threads/th_7 HTTP/1.1", HOST, AGENT], 404, "thread_not_found"),
        row(&["DELETE /v1/tokens/tok_99 HTTP/1.1", HOST, ADMIN], 404, "not_found"),
        row(&["DELETE /v1/tokens/none HTTP/1.1", HOST, ADMIN], 404, "not_found"),
        row(&["DELETE /v1/tokens/tok_1 HTTP/1.1", HOST, ADMIN], 409, "last_admin"),
    ]);
}

const MEDIA: &str = "unsupported_media_type";

/// Goal: an idempotency key is judged where it is taken, refused where none is, and ignored on
/// reads. Method: a row a request.
#[test]
fn keys() {
    const LONG: &str = "Idempotency-Key: \
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    const KEY: &str = "Idempotency-Key: k";
    let post = "POST /v1/messages HTTP/1.1";
    let server = BlockingServer::start(&[]);
    for (lines, body, reason) in [
        (&[post, HOST, AGENT, "Idempotency-Key: a b"][..], ASK, "invalid_parameter"),
        (&[post, HOST, AGENT, "Idempotency-Key:"], ASK, "invalid_parameter"),
        (&[post, HOST, AGENT, LONG], ASK, "invalid_parameter"),
        (&[post, HOST, AGENT, KEY, KEY], ASK, "invalid_parameter"),
        (&["POST /v1/tokens HTTP/1.1", HOST, ADMIN, KEY], "{}", "invalid_parameter"),
        (&["DELETE /v1/tokens/tok_2 HTTP/1.1", HOST, ADMIN, KEY], "", "invalid_parameter"),
    ] {
        let answer = server.ask(lines, body);
        assert_eq!(answer.status, 400, "{lines:?}");
        answer.problem(reason, "a key");
    }
    let read = server.ask(&["GET /v1/threads HTTP/1.1", HOST, AGENT, "Idempotency-Key: a b"], "");
    assert_eq!(read.status, 200);
    let first = server.ask(&[post, HOST, AGENT, KEY], ASK);
    assert_eq!((first.status, first.header("idempotent-replayed")), (201, None));
    assert_eq!(first.header("location"), Some("/v1/threads/th_1"));
    let again = server.ask(&[post, HOST, AGENT, KEY], ASK);
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, Some("true")));
    assert_eq!(again.json()["message"], first.json()["message"]);
}

/// Goal: of several faults the first in the order of parley.md §6 answers. Method: requests that
/// have two or more.
#[test]
fn order_of_checks() {
    let large = "x".repeat(70_000);
    let server = BlockingServer::start(&[]);
    let wrong = "Authorization: Bearer nobody";
    for (lines, body, reason) in [
        (&["GET /none HTTP/1.1", "Host: evil.example"][..], "", "origin_forbidden"),
        (&["GET /v1/messages HTTP/1.1", HOST, "Origin: null"], "", "origin_forbidden"),
        (&["GET /none HTTP/1.1", HOST, wrong], "", "not_found"),
        (&["GET /v1/messages HTTP/1.1", HOST, wrong], "", "method_not_allowed"),
        (&["POST /v1/messages HTTP/1.1", HOST, TEXT], ASK, "token_missing"),
        (&["POST /v1/tokens HTTP/1.1", HOST, AGENT, TEXT], ASK, "token_right_missing"),
        (&["POST /v1/messages HTTP/1.1", HOST, AGENT, TEXT, HTML], &large, "request_too_large"),
        (&["POST /v1/messages HTTP/1.1", HOST, AGENT, TEXT, HTML], "{", "unsupported_media_type"),
        (&["POST /v1/messages HTTP/1.1", HOST, AGENT, HTML], "{", "not_acceptable"),
        (&["POST /v1/threads/none/mark HTTP/1.1", HOST, AGENT], "{", "invalid_body"),
        (&["GET /v1/threads/none?a=b HTTP/1.1", HOST, AGENT], "", "invalid_parameter"),
        (&["GET /v1/manifest HTTP/1.1", HOST, wrong, HTML], "", "token_unknown"),
    ] {
        server.ask(lines, body).problem(reason, &format!("{lines:?}"));
    }
}

/// Goal: an oversized body is told to its sender, who is still writing, however large it is.
/// Method: bodies over the bound, with a length and in chunks.
#[test]
fn too_large() {
    let server = BlockingServer::start(&[]);
    let post = "POST /v1/messages HTTP/1.1";
    for length in [65_537, 200_000, 4_000_000] {
        let answer = server.ask(&[post, HOST, AGENT], &"x".repeat(length));
        answer.refusal(413, "request_too_large");
    }
    let mut peer = server.connect();
    let head = server.request(&[post, HOST, AGENT, "Transfer-Encoding: chunked"], "");
    peer.send(format!("{head}20000\r\n{}\r\n0\r\n\r\n", "x".repeat(0x2_0000)));
    peer.answer(false).refusal(413, "request_too_large");
    let fits = format!("{{\"kind\":\"ask\",\"body\":\"a\"{}}}", " ".repeat(65_500));
    assert_eq!(server.ask(&[post, HOST, AGENT], &fits).status, 201);
}
