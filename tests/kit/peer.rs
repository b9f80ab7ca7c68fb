//! One end of a connection that blocks, and calls over it: for tests without a runtime.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use serde_json::Value;

use crate::http::{self, Answer, PATIENCE};

/// One end of a connection.
#[derive(Debug)]
pub struct Peer {
    socket: TcpStream,
    unread: Vec<u8>,
}

impl Peer {
    pub fn try_connect(address: SocketAddr) -> io::Result<Self> {
        let socket = TcpStream::connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, unread: Vec::new() })
    }

    pub fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).expect("the server listens")
    }

    /// Sends these bytes.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).expect("the server reads");
    }

    /// Closes this side.
    pub fn send_nothing_more(&mut self) {
        self.socket.shutdown(Shutdown::Write).expect("a connection");
    }

    fn read(&mut self) -> io::Result<usize> {
        let mut bytes = [0; 16 << 10];
        let count = self.socket.read(&mut bytes)?;
        self.unread.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    /// Reads until `take` finds what it takes.
    fn take<T>(&mut self, take: impl Fn(&mut Vec<u8>) -> Option<T>) -> io::Result<T> {
        loop {
            if let Some(taken) = take(&mut self.unread) {
                return Ok(taken);
            }
            if self.read()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Reads an answer up to its body.
    pub fn head(&mut self) -> io::Result<Answer> {
        self.take(http::take_head)
    }

    /// The next chunk of a body; the last one is empty.
    pub fn chunk(&mut self) -> io::Result<Vec<u8>> {
        self.take(http::take_chunk)
    }

    /// Reads an answer; to a `HEAD` there is no body.
    pub fn try_answer(&mut self, headless: bool) -> io::Result<Answer> {
        let mut answer = self.head()?;
        if headless {
            return Ok(answer);
        }
        let mut body = self.take(|unread| answer.take_body(unread))?;
        let mut more = answer.is_chunked();
        while more {
            let chunk = self.chunk()?;
            more = !chunk.is_empty();
            body.extend(chunk);
        }
        answer.body = body;
        Ok(answer)
    }

    /// The same of an answer that must come.
    pub fn answer(&mut self, headless: bool) -> Answer {
        self.try_answer(headless).expect("an answer within the time")
    }

    /// Waits until the server closes the connection; gives what came before that.
    pub fn rest(mut self) -> String {
        while self.read().is_ok_and(|count| count > 0) {}
        String::from_utf8_lossy(&self.unread).into_owned()
    }

    /// Whether the server has closed the connection, once it says anything.
    pub fn is_closed(&mut self) -> bool {
        self.read().expect("an end within the time") == 0
    }
}

/// The events of an event stream, one after the other.
#[derive(Debug)]
pub struct Events {
    peer: Peer,
    text: String,
}

impl Events {
    /// Asks for `line`, such as `GET /v1/feed`; it must be answered with a stream.
    pub fn open(address: SocketAddr, token: &str, line: &str) -> io::Result<Self> {
        let mut peer = Peer::try_connect(address)?;
        let request = http::request(address, token, line, "accept: text/event-stream\r\n", "");
        peer.socket.write_all(&request)?;
        let head = peer.head()?;
        assert_eq!(head.status, 200, "{line}: {head:?}");
        Ok(Self { peer, text: String::new() })
    }

    /// The next event, comments passed over; an error once the stream has ended.
    pub fn event(&mut self) -> io::Result<String> {
        loop {
            if let Some(event) = http::take_event(&mut self.text) {
                return Ok(event);
            }
            let chunk = self.peer.chunk()?;
            if chunk.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.text.push_str(&String::from_utf8(chunk).expect("events of text"));
        }
    }
}

/// Calls over one connection, under one token.
#[derive(Debug)]
pub struct Caller {
    address: SocketAddr,
    token: String,
    peer: Peer,
}

impl Caller {
    pub fn connect(address: SocketAddr, token: &str) -> io::Result<Self> {
        Ok(Self { address, token: token.to_owned(), peer: Peer::try_connect(address)? })
    }

    /// Asks, and reads the answer; an error if the server goes away before it has answered.
    pub fn ask(&mut self, line: &str, headers: &str, body: impl AsRef<[u8]>) -> io::Result<Answer> {
        let request = http::request(self.address, &self.token, line, headers, body);
        self.peer.socket.write_all(&request)?;
        self.peer.try_answer(line.starts_with("HEAD "))
    }
}

/// Asks over a connection of its own.
pub fn ask(
    address: SocketAddr,
    token: &str,
    line: &str,
    headers: &str,
    body: impl AsRef<[u8]>,
) -> Answer {
    let caller = Caller::connect(address, token);
    caller.and_then(|mut it| it.ask(line, headers, body)).expect("an answer within the time")
}

/// Reads JSON.
pub fn get(address: SocketAddr, token: &str, path: &str) -> Value {
    ask(address, token, &format!("GET {path}"), "", "").expect(200)
}

/// All items `name` of a list, and its last page; `get` reads each page.
pub fn pages(path: &str, name: &str, mut get: impl FnMut(&str) -> Value) -> (Vec<Value>, Value) {
    let word = if name == "messages" { "since" } else { "cursor" };
    let (mut items, mut more) = (Vec::new(), String::new());
    loop {
        let page = get(&format!("{path}{more}"));
        items.extend(page[name].as_array().expect("a list").iter().cloned());
        if page["more"] != true {
            return (items, page);
        }
        more = format!("&{word}={}", page["cursor"].as_str().expect("a cursor"));
    }
}

/// Sends JSON; gives what is answered, whatever it is.
pub fn post(address: SocketAddr, token: &str, path: &str, body: &Value) -> Value {
    ask(address, token, &format!("POST {path}"), "", body.to_string()).json()
}
