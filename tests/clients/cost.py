"""What a call costs the server over MCP and over HTTP, in microseconds of its own CPU, side by side.

    cost.py PID URL TOKEN      fails if MCP costs more than 1.5 times as much, in either era

Each request goes out as one write, so that what is measured is the call and not how often a client
wakes the server for it. What a round costs comes from the scheduler's own account of the threads of
the server; the operations take turns, so that what else the machine does meets all, and the median
of the rounds counts.
"""

import json
import os
import socket
import statistics
import sys

PID, URL, TOKEN = sys.argv[1:4]
HOST, PORT = URL.removeprefix("http://").split(":")
ROUNDS, CALLS = 7, 1000
RATIO_MAX = 1.5
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "cost", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def cpu_us():
    """Time that threads of the server ran, theirs that ended since left out: a server keeps its own."""
    tasks = f"/proc/{PID}/task"
    times = [open(f"{tasks}/{task}/schedstat").read().split()[0] for task in os.listdir(tasks)]
    return sum(map(int, times)) / 1000


def request(method, path, body=None, headers=""):
    head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}:{PORT}\r\nAuthorization: Bearer {TOKEN}\r\n"
    if body is None:
        return f"{head}\r\n".encode()
    body = json.dumps(body)
    kind = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    return f"{head}{headers}{kind}Content-Length: {len(body)}\r\n\r\n{body}".encode()


def answer(connection):
    """The whole answer; its head and its body."""
    said = connection.recv(1 << 18)
    while b"\r\n\r\n" not in said:
        said += connection.recv(1 << 18)
    head, body = said.split(b"\r\n\r\n", 1)
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    parts = [body]
    missing = length - len(body)
    while missing > 0:
        parts.append(connection.recv(1 << 18))
        missing -= len(parts[-1])
    return head, b"".join(parts)


def cost_us(connection, asked):
    before = cpu_us()
    for _ in range(CALLS):
        connection.sendall(asked)
        head, body = answer(connection)
        if not head.startswith(b"HTTP/1.1 20") or b'"isError":true' in body:
            sys.exit(f"failed: {asked[:200]}: {head} {body[:200]}")
    return (cpu_us() - before) / CALLS


def ways(name, method, path, body, arguments):
    """The request over HTTP, in a legacy and in the modern revision."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    params = {"name": name, "arguments": arguments}
    legacy = request("POST", "/mcp", {**call, "params": params})
    names = f"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n"
    modern = request("POST", "/mcp", {**call, "params": {**params, "_meta": META}}, names)
    return [request(method, path, body), legacy, modern]


def ask(method, path, body):
    connection.sendall(request(method, path, body))
    return json.loads(answer(connection)[1])


connection = socket.create_connection((HOST, int(PORT)))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
ASK = {"kind": "ask", "body": "What does a call cost? " * 8}
for _ in range(25):
    ask("POST", "/v1/messages", ASK)
ask("POST", "/v1/threads/1/claims", {"statement": "It costs little."})
OPERATIONS = [
    ("post_message", "POST", "/v1/messages", ASK, ASK),
    ("read_thread", "GET", "/v1/threads/1", None, {"thread": "th_1"}),
    ("read_events", "GET", "/v1/threads/1/events", None, {"thread": "th_1"}),
    ("read_claim", "GET", "/v1/claims/1", None, {"claim": "cl_1"}),
    ("list_claims", "GET", "/v1/threads/1/claims", None, {"thread": "th_1"}),
    ("list_threads", "GET", "/v1/threads?limit=20", None, {"limit": 20}),
    ("read_inbox", "GET", "/v1/inbox?limit=20", None, {"limit": 20}),
    ("get_manifest", "GET", "/v1/manifest", None, {}),
]
dear = []
print(f"{'':14} {'HTTP':>9} {'legacy':>9} {'modern':>9}   ratios")
for operation in OPERATIONS:
    rounds = [[cost_us(connection, asked) for asked in ways(*operation)] for _ in range(ROUNDS)]
    costs = [statistics.median(way) for way in zip(*rounds)]
    ratios = [cost / costs[0] for cost in costs[1:]]
    shown = " ".join(f"{cost:6.1f} us" for cost in costs)
    print(f"{operation[0]:14} {shown}   {ratios[0]:.2f} {ratios[1]:.2f}", flush=True)
    if max(ratios) > RATIO_MAX:
        dear.append(operation[0])
if dear:
    sys.exit(f"more than {RATIO_MAX} times as dear: {', '.join(dear)}")
