//! How long a peer is waited for, how many there may be, and how a stop treats them.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use parley_kit::http::{ADMIN, AGENT, HOST};
use parley_kit::{BlockingServer, Peer};

/// A body that is refused.
const BODY: &str = r#"{"a":123}"#;
const ASK: &str = r#"{"kind":"ask","body":"why?"}"#;

/// Waits for the end of a connection that was given `seconds`; gives what came before.
fn ends_within(peer: Peer, seconds: u64, what: &str) -> String {
    let started = Instant::now();
    let said = peer.rest();
    let took = started.elapsed();
    let (early, late) = (Duration::from_millis(seconds * 900), Duration::from_secs(seconds + 8));
    assert!((early..late).contains(&took), "{what}: {took:?}");
    said
}

/// Goal: who sends nothing, or a header too slowly, or rests too long, loses the connection, and
/// a body that does not come is refused. Method: peers that do each.
#[test]
fn slow_peers() {
    let server = BlockingServer::start(&[
        ("gateway.header_seconds", "1"),
        ("gateway.body_seconds", "1"),
        ("gateway.idle_seconds", "2"),
    ]);
    assert_eq!(ends_within(server.connect(), 1, "nothing"), "");
    let mut slow = server.connect();
    slow.send("GET /v1/threads HTTP/1.1\r\nHost: ");
    assert_eq!(ends_within(slow, 1, "half a header"), "");
    let mut rests = server.connect();
    rests.send(server.request(&["GET /healthz HTTP/1.1", HOST], ""));
    assert_eq!(rests.answer(false).status, 200);
    assert_eq!(ends_within(rests, 2, "rest"), "");
    let mut second = server.connect();
    second.send(server.request(&["GET /healthz HTTP/1.1", HOST], ""));
    assert_eq!(second.answer(false).status, 200);
    second.send("GET /healthz");
    assert_eq!(ends_within(second, 1, "half a second header"), "");
    let mut body = server.connect();
    let head =
        server.request(&["POST /v1/messages HTTP/1.1", HOST, AGENT, "Content-Length: 10"], "");
    body.send(format!("{head}{{"));
    let answer = body.answer(false);
    assert_eq!(answer.status, 400);
    answer.problem("invalid_body", "half a body");
}

/// Goal: a slow peer holds no other up, and a connection serves many requests, also sent at once.
/// Method: requests in one piece, answers in order.
#[test]
fn one_connection_many_requests() {
    let server = BlockingServer::start(&[]);
    let mut peer = server.connect();
    let mut all = String::new();
    for path in ["/healthz", "/none", "/v1/threads", "/v1/messages"] {
        all.push_str(&server.request(&[&format!("GET {path} HTTP/1.1"), HOST, AGENT], ""));
    }
    peer.send(&all);
    for status in [200, 404, 200, 405] {
        assert_eq!(peer.answer(false).status, status);
    }
    peer.send(server.request(&["POST /v1/messages HTTP/1.1", HOST], ASK));
    assert_eq!(peer.answer(false).status, 401, "with a body that was not wanted");
    peer.send(server.request(&["POST /v1/messages HTTP/1.1", HOST, AGENT], ASK));
    assert_eq!(peer.answer(false).status, 201, "and it goes on");
}

/// Goal: a request that was read whole is answered, though its sender then shuts its sending side;
/// a held inbox answers at once, a stream ends. Method: a request of each kind, the end sent right
/// behind it, and after another request was answered meanwhile.
#[test]
fn senders_that_shut() {
    let server = BlockingServer::start(&[]);
    let held = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_inbox",
        "arguments":{"wait_seconds":25,"anyone":false}}}"#;
    let chunked = "Transfer-Encoding: chunked";
    let chunks = format!("{:x}\r\n{ASK}\r\n0\r\n\r\n", ASK.len());
    let post = "POST /v1/messages HTTP/1.1";
    let stream = "Accept: text/event-stream";
    let wait = "GET /v1/inbox?wait_seconds=25&anyone=false HTTP/1.1";
    let started = Instant::now();
    for (request, wanted) in [
        (server.request(&["GET /healthz HTTP/1.1", HOST], ""), "HTTP/1.1 200"),
        (server.request(&[post, HOST, AGENT], ASK), "HTTP/1.1 201"),
        (server.request(&[post, HOST, AGENT, chunked], "") + &chunks, "HTTP/1.1 201"),
        (server.request(&[post, HOST], ASK), "HTTP/1.1 401"),
        (server.request(&[wait, HOST, AGENT], ""), "\"items\":[]"),
        (server.request(&["POST /mcp HTTP/1.1", HOST, AGENT], held), "\"items\":[]"),
        (server.request(&["GET /v1/feed HTTP/1.1", HOST, AGENT, stream], ""), "event: hello"),
        (server.request(&[post, HOST, AGENT, "Content-Length: 9"], "") + "{", "invalid_body"),
    ] {
        for is_later in [false, true] {
            let mut peer = server.connect();
            peer.send(&request);
            if is_later {
                let other = server.ask(&["GET /healthz HTTP/1.1", HOST], "");
                assert_eq!(other.status, 200);
            }
            peer.send_nothing_more();
            let answer = peer.rest();
            assert!(answer.contains(wanted), "{request}\n{answer}");
        }
    }
    assert!(started.elapsed() < Duration::from_secs(20), "nothing was held");
}

/// Goal: what a head is refused for is told without its body, also to a client that waits for
/// `100 Continue`; the answer says that the connection closes. Method: heads whose bodies never
/// come.
#[test]
fn told_before_the_body() {
    let server = BlockingServer::start(&[]);
    let started = Instant::now();
    let post = "POST /v1/messages HTTP/1.1";
    let mcp = "POST /mcp HTTP/1.1";
    let (length, expect) = ("Content-Length: 60000", "Expect: 100-continue");
    let nobody = "Authorization: Bearer nobody";
    for (lines, status) in [
        (&[post, HOST, length][..], 401),
        (&[post, HOST, nobody, length], 401),
        (&[post, HOST, nobody, "Transfer-Encoding: chunked"], 401),
        (&[mcp, HOST, nobody, length], 401),
        (&[post, HOST, AGENT, "Content-Length: 80000"], 413),
        (&[post, HOST, AGENT, length, "Content-Type: text/plain"], 415),
        (&[post, HOST, AGENT, length, expect, "Content-Type: text/plain"], 415),
        (&[post, HOST, AGENT, length, expect, "Accept: text/html"], 406),
        (&["POST /v1/feed/tickets HTTP/1.1", HOST, AGENT, length, expect, "Accept: a/b"], 406),
        (&["POST /v1/tokens HTTP/1.1", HOST, ADMIN, length, expect, "Content-Type: a/b"], 415),
        (&[mcp, HOST, AGENT, length, expect, "Content-Type: text/plain"], 415),
        (&["POST /none HTTP/1.1", HOST, length, expect], 404),
        (&["GET /healthz HTTP/1.1", HOST, length], 200),
    ] {
        let mut peer = server.connect();
        peer.send(server.request(lines, ""));
        let answer = peer.answer(false);
        assert_eq!(answer.status, status, "{lines:?}: {}", answer.text());
        assert_eq!(answer.header("connection"), Some("close"), "{lines:?}");
        assert!(peer.is_closed());
    }
    assert!(started.elapsed() < Duration::from_secs(2), "nothing was waited for");
}

/// Goal: a held read whose client is gone ends, and frees its place. Method: one place, taken by a
/// client whose socket is closed with an answer unread, which resets the connection.
#[test]
fn a_client_that_is_gone() {
    let server = BlockingServer::start(&[("gateway.connections_max", "1")]);
    let health = server.request(&["GET /healthz HTTP/1.1", HOST], "");
    let wait = "GET /v1/inbox?wait_seconds=25&anyone=false HTTP/1.1";
    let mut socket = TcpStream::connect(server.address).expect("the server listens");
    let both = health.clone() + &server.request(&[wait, HOST, AGENT], "");
    socket.write_all(both.as_bytes()).expect("the server reads");
    assert_eq!(socket.peek(&mut [0]).expect("an answer"), 1);
    let mut second = server.connect();
    second.send(&health);
    assert_eq!(second.answer(false).status, 503, "the place is taken");
    let started = Instant::now();
    drop(socket);
    loop {
        let mut next = server.connect();
        next.send(&health);
        if next.answer(false).status == 200 {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "the place is still taken");
    }
}

/// A connection with a request under way: its body has not come.
fn under_way(server: &BlockingServer) -> Peer {
    let mut peer = server.connect();
    let lines = ["POST /v1/messages HTTP/1.1", HOST, AGENT, "Expect: 100-continue"];
    let whole = server.request(&lines, BODY);
    peer.send(&whole[..whole.len() - BODY.len()]);
    assert_eq!(peer.head().expect("it may go on").status, 100);
    peer
}

/// Goal: above the cap a connection is told 503 and closed if none of the others rests, and below
/// it all goes on. Method: a cap of two, and two connections with a request under way.
#[test]
fn cap() {
    let server = BlockingServer::start(&[("gateway.connections_max", "2")]);
    let health = server.request(&["GET /healthz HTTP/1.1", HOST], "");
    let mut kept: Vec<Peer> = (0..2).map(|_| under_way(&server)).collect();
    let mut third = server.connect();
    third.send(&health);
    let answer = third.answer(false);
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    answer.problem("overloaded", "above the cap");
    assert!(third.is_closed());
    for peer in &mut kept {
        peer.send(BODY);
        peer.answer(false).problem("invalid_body", "it was still waited for");
        peer.send(&health);
        assert_eq!(peer.answer(false).status, 200);
    }
}

/// Goal: what is beyond the bounds of a header, or no request at all, is a problem like every
/// other error, also for who is still sending. Method: a header too long, too many, a target too
/// long, and broken ones; each on a connection that has just been answered and on a new one.
#[test]
fn unreadable() {
    let server = BlockingServer::start(&[]);
    let host = format!("Host: {}\r\n", server.address);
    let large = "x".repeat(100_000);
    let health = server.request(&["GET /healthz HTTP/1.1", HOST], "");
    for (request, status, reason) in [
        (format!("GET /healthz HTTP/1.1\r\n{host}X-Long: {large}\r\n\r\n"), 413, LARGE),
        (format!("GET / HTTP/1.1\r\n{host}{}\r\n", "X-Many: 1\r\n".repeat(200)), 413, LARGE),
        (format!("GET /v1/threads?cursor={large} HTTP/1.1\r\n{host}\r\n"), 413, LARGE),
        (format!("GET / HTTP/1.1\r\n{host}Not A Header\r\n\r\n"), 400, BROKEN),
        (format!("GET / HTTP/1.1\r\n{host}Content-Length: many\r\n\r\n"), 400, BROKEN),
        ("GET /\u{1} HTTP/1.1\r\n\r\n".to_owned(), 400, BROKEN),
        ("hello\r\n\r\n".to_owned(), 400, BROKEN),
    ] {
        for is_known in [false, true] {
            let mut peer = server.connect();
            if is_known {
                peer.send(&health);
                assert_eq!(peer.answer(false).status, 200);
            }
            peer.send(&request);
            let answer = peer.answer(false);
            assert_eq!(answer.status, status, "{request:.60}");
            answer.problem(reason, &request[..request.len().min(60)]);
            assert!(answer.header("x-request-id").is_some());
            peer.send_nothing_more();
            assert!(peer.is_closed(), "{request:.60}");
        }
    }
}

const LARGE: &str = "request_too_large";
const BROKEN: &str = "invalid_parameter";

/// Goal: the connection that has rested longest gives its place to a new one, whatever it said
/// before; one with a request under way keeps it. Method: all places taken, by one that is under
/// way, by one that was answered, and by a silent one.
#[test]
fn rest_makes_room() {
    let server = BlockingServer::start(&[("gateway.connections_max", "3")]);
    let health = server.request(&["GET /healthz HTTP/1.1", HOST], "");
    let mut busy = under_way(&server);
    let mut spoke = server.connect();
    spoke.send(&health);
    assert_eq!(spoke.answer(false).status, 200);
    let silent = server.connect();
    let mut third = server.connect();
    third.send(&health);
    assert_eq!(third.answer(false).status, 200);
    assert_eq!(spoke.rest(), "", "the longest resting one goes");
    let mut fourth = server.connect();
    fourth.send(&health);
    assert_eq!(fourth.answer(false).status, 200);
    assert_eq!(silent.rest(), "", "then the silent one");
    busy.send(BODY);
    busy.answer(false).problem("invalid_body", "it was waited for");
}

/// Goal: a connection that was refused with its body unread, and whose client stays, gives its place
/// to a new one. Method: two places, taken by such clients.
#[test]
fn refused_ones_make_room() {
    let server = BlockingServer::start(&[("gateway.connections_max", "2")]);
    let head = server.request(&["POST /v1/messages HTTP/1.1", HOST, "Content-Length: 60000"], "");
    let mut stay: Vec<Peer> = (0..2).map(|_| server.connect()).collect();
    for peer in &mut stay {
        peer.send(&head);
        assert_eq!(peer.answer(false).status, 401);
        assert!(peer.is_closed(), "the server sends no more");
    }
    let answer = server.ask(&["GET /healthz HTTP/1.1", HOST], "");
    assert_eq!(answer.status, 200);
}

/// Goal: connections without a good token do not keep out those with one, which may be many from
/// one address. Method: more silent strangers than places, then an administrator, many times.
#[test]
fn strangers_keep_nobody_out() {
    let server = BlockingServer::start(&[("gateway.connections_max", "60")]);
    let health = server.request(&["GET /healthz HTTP/1.1", HOST], "");
    let mut strangers: Vec<Peer> = Vec::new();
    for _ in 0..80 {
        let mut peer = server.connect();
        peer.send(&health);
        assert_eq!(peer.answer(false).status, 200);
        strangers.push(peer);
    }
    let own = server.request(&["GET /v1/threads HTTP/1.1", HOST, AGENT], "");
    let mut known: Vec<Peer> = Vec::new();
    for number in 0..50 {
        let mut peer = server.connect();
        peer.send(&own);
        let status = peer.answer(false).status;
        assert!(status != 503, "the connection {number} with a token: {status}");
        known.push(peer);
    }
    for peer in &mut known {
        peer.send(&own);
        assert!(peer.answer(false).status != 503, "a known connection stays");
    }
}

/// Goal: a stop answers what is under way, held inboxes at once, closes what rests, and takes
/// nothing new; the question whether it is ready is answered `shutting_down`. Method: a connection
/// in each state while the server stops.
#[test]
fn graceful_stop() {
    let server = BlockingServer::start(&[]);
    let address = server.address;
    let mut rests = server.connect();
    rests.send(server.request(&["GET /healthz HTTP/1.1", HOST], ""));
    assert_eq!(rests.answer(false).status, 200);
    let mut held = server.connect();
    let wait = "GET /v1/inbox?wait_seconds=25&anyone=false HTTP/1.1";
    held.send(server.request(&[wait, HOST, AGENT], ""));
    let mut writes = server.connect();
    let post = server.request(&["POST /v1/messages HTTP/1.1", HOST, AGENT], ASK);
    let (most, last) = post.split_at(post.len() - 1);
    writes.send(most);
    let mut asks = server.connect();
    let ready = server.request(&["GET /readyz HTTP/1.1", HOST], "");
    let (begun, rest) = ready.split_at(20);
    asks.send(begun);
    let silent = server.connect();
    // All were taken before the stop: this one came after them and is answered.
    assert_eq!(server.ask(&["GET /healthz HTTP/1.1", HOST], "").status, 200);
    let started = Instant::now();
    server.stop(|| {
        assert_eq!(rests.rest(), "");
        let answer = held.answer(false);
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
        writes.send(last);
        let answer = writes.answer(false);
        assert_eq!((answer.status, answer.header("connection")), (201, Some("close")));
        assert!(writes.is_closed());
        asks.send(rest);
        let answer = asks.answer(false);
        assert_eq!((answer.status, answer.header("connection")), (503, Some("close")));
        answer.problem("shutting_down", "asked during the stop");
        assert_eq!(silent.rest(), "");
    });
    assert!(started.elapsed() < Duration::from_secs(9), "nothing was cut off");
    assert!(TcpStream::connect(address).is_err(), "nobody listens");
}
