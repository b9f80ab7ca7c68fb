//! Requests as sent, and answers as read.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;

/// A client of a server that answers one request with these bytes; the task returns the request.
pub async fn answering(answer: String) -> (Client, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/base", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !is_whole(&request) {
            assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0, "the request broke off");
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(request).unwrap()
    });
    (Client::new(&url, Some("secret")).unwrap(), server)
}

/// An answer with its length.
pub fn whole(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Whether a request's head and announced body have come.
fn is_whole(request: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(request) else { return false };
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_none_or(|length| body.len() >= length.parse().unwrap())
}

/// Goal: a request carries token, type, key and body, below the path of the URL. Method: the bytes
/// that a server of one request received.
#[tokio::test]
async fn requests() {
    let answer = whole("201 Created", r#"{"a": 1}"#);
    let (client, server) = answering(answer).await;
    let key = [(HeaderName::from_static("idempotency-key"), "k-1")];
    let answer = client.post("/v1/messages", &json!({ "kind": "ask" }), &key).await.unwrap();
    assert_eq!((answer.status, answer.json().unwrap()), (201, json!({ "a": 1 })));
    let request = server.await.unwrap();
    assert!(request.starts_with("POST /base/v1/messages HTTP/1.1\r\n"), "{request}");
    for line in
        ["authorization: Bearer secret", "content-type: application/json", "idempotency-key: k-1"]
    {
        assert!(request.contains(&format!("\r\n{line}\r\n")), "{line}: {request}");
    }
    assert!(request.ends_with("\r\n\r\n{\"kind\":\"ask\"}"), "{request}");
}

/// Goal: every wrong answer becomes a failure of one line. Method: a row an answer.
#[tokio::test]
async fn failures() {
    let refused = r#"{"reason":"thread_not_found","detail":"Look."}"#;
    for (answer, want) in [
        (whole("404 Not Found", refused), "thread_not_found"),
        (whole("502 Bad Gateway", "bad"), "answered 502"),
        (whole("200 OK", "bad"), "no JSON"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 30\r\n\r\n{\"a\":".into(), "broke off"),
        ("nonsense\r\n\r\n".into(), "broke off"),
    ] {
        let (client, server) = answering(answer.clone()).await;
        let outcome = client.get("/v1/threads/th_1").await.and_then(|answer| answer.json());
        let failure = format!("{:?}", outcome.unwrap_err());
        assert!(failure.contains(want), "{answer}: {failure}");
        server.await.unwrap();
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let failure = Client::new(&url, None).unwrap().get("/v1/manifest").await.unwrap_err();
    assert!(format!("{failure:?}").contains("parley serve"), "{failure:?}");
}

/// Goal: a list is read to its end. Method: one page without more; two would need two servers on
/// one address.
#[tokio::test]
async fn lists() {
    let answer = whole("200 OK", r#"{"items":[1,2],"cursor":"c","more":false}"#);
    let (client, server) = answering(answer).await;
    let list = client.list("/v1/tokens", &[("status", Some("x".into()))]).await.unwrap();
    assert_eq!(list, json!({ "items": [1, 2], "cursor": "c", "more": false }));
    assert!(server.await.unwrap().starts_with("GET /base/v1/tokens?status=x HTTP/1.1"));
}

/// Goal: only URLs that this client supports are accepted. Method: a row a case.
#[test]
fn urls() {
    for (url, want) in [
        ("http://127.0.0.1:7467", Some("http://127.0.0.1:7467")),
        ("http://[::1]:80/", Some("http://[::1]:80")),
        ("http://host/base/", Some("http://host/base")),
        ("http://host/mcp", None),
        ("http://host/mcp/", None),
        ("http://host/v1", None),
        ("http://host/base/v1/threads", None),
        ("https://host", None),
        ("host:80", None),
        ("http://", None),
        ("http://a@host", None),
        ("http://host/?x=1", None),
        ("", None),
    ] {
        let client = Client::new(url, None).ok();
        assert_eq!(client.map(|client| client.url).as_deref(), want, "{url}");
    }
}

/// Goal: a token never shows, and one that could break the header is refused. Method: debug
/// output and two tokens.
#[test]
fn tokens_stay_hidden() {
    let client = Client::new("http://host", Some("secret\n")).unwrap();
    assert!(!format!("{client:?}").contains("secret"));
    assert!(matches!(Client::new("http://host", Some("a\nb")), Err(CliError::Usage(_))));
}

/// Goal: an argument stays one value. Method: characters with a meaning in URLs.
#[test]
fn encoding() {
    assert_eq!(encode("th_1"), "th_1");
    assert_eq!(encode("a/b?c&d é"), "a%2Fb%3Fc%26d%20%C3%A9");
    let query = [("a", Some("1 2".into())), ("b", None), ("c", Some("x".into()))];
    assert_eq!(with_query("/v1/inbox", &query), "/v1/inbox?a=1%202&c=x");
    assert_eq!(with_query("/v1/inbox", &[("b", None)]), "/v1/inbox");
}

/// Goal: a problem becomes a refusal with reason, detail and field; every other answer a failure.
/// Method: three bodies.
#[test]
fn problems() {
    let client = Client::new("http://host", None).unwrap();
    let text = r#"{"reason":"invalid_body","detail":"Too long.","field":"body"}"#;
    let CliError::Refused(problem) = client.refusal(400, text) else { panic!("no refusal") };
    assert_eq!((problem.status, problem.reason.as_str()), (400, "invalid_body"));
    assert_eq!(problem.field.as_deref(), Some("body"));
    assert!(matches!(client.refusal(502, "<html>"), CliError::Failed(_)));
    let missing = client.refusal(401, r#"{"reason":"token_missing","detail":"A token."}"#);
    let CliError::Refused(problem) = missing else { panic!("no refusal") };
    assert!(problem.detail.contains("PARLEY_TOKEN"));
}
