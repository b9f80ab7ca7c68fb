//! A client as a task: calls one after the other over one connection, under one token.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::connection::Connection;
use crate::http::{Answer, request};

/// A client. It connects when it first needs to.
#[derive(Debug)]
pub struct Client {
    pub address: SocketAddr,
    /// Its token; none if empty.
    pub token: String,
    connection: Option<Connection>,
}

impl Client {
    pub fn new(address: SocketAddr, token: &str) -> Self {
        Self { address, token: token.to_owned(), connection: None }
    }

    /// Asks, with header lines and a body.
    pub async fn ask(&mut self, line: &str, headers: &str, body: impl AsRef<[u8]>) -> Answer {
        let bytes = request(self.address, &self.token, line, headers, body);
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.address).await.unwrap(),
        };
        let answer = connection.ask(&bytes).await.unwrap();
        self.connection = (!answer.closes()).then_some(connection);
        answer
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), "", "").await
    }

    pub async fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.ask(&format!("POST {path}"), "", body.to_string()).await
    }

    /// Posts a message that is taken; gives the answer.
    pub async fn say(&mut self, message: Value) -> Value {
        self.post("/v1/messages", &message).await.expect(201)
    }

    /// Opens a thread; gives its identifier.
    pub async fn open(&mut self, body: &str) -> String {
        let opened = self.say(json!({ "kind": "ask", "body": body })).await;
        opened["thread"]["id"].as_str().unwrap().to_owned()
    }

    /// Adds to a thread what needs no reply.
    pub async fn inform(&mut self, thread: &str, body: &str) {
        self.say(json!({ "kind": "inform", "thread": thread, "body": body })).await;
    }

    /// Makes a token, as an administrator; gives its identifier and its secret.
    pub async fn make_token(&mut self, handle: &str, rights: &[&str]) -> (String, String) {
        let asked = json!({ "handle": handle, "rights": rights });
        let made = self.post("/v1/tokens", &asked).await.expect(201);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&made["token"]["id"]), text(&made["secret"]))
    }

    /// A client that reads and writes as `handle`, made by an administrator.
    pub async fn writer(&mut self, handle: &str) -> Self {
        let (_, secret) = self.make_token(handle, &["read", "write"]).await;
        Self::new(self.address, &secret)
    }
}
