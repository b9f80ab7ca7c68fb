"""What a call costs the server over MCP and over HTTP, in microseconds of its own CPU, side by side.

    cost.py PID URL TOKEN      fails if MCP costs more than 1.5 times as much
"""

import http.client
import json
import os
import sys

PID, URL, TOKEN = sys.argv[1:4]
HOST = URL.removeprefix("http://")
ROUNDS, CALLS = 5, 2000
RATIO_MAX = 1.5


def cpu_us():
    with open(f"/proc/{PID}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1e6


def cost_us(connection, method, path, body):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    if body is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(body)
    before = cpu_us()
    for _ in range(CALLS):
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status >= 300 or b'"isError":true' in said:
            sys.exit(f"failed: {path}: {answer.status} {said[:200]}")
    return (cpu_us() - before) / CALLS


ASK = {"kind": "ask", "body": "What does a call cost? " * 8}
OPERATIONS = [
    ("post_message", "POST", "/v1/messages", ASK, ASK),
    ("read_thread", "GET", "/v1/threads/1", None, {"thread": "th_1"}),
    ("list_threads", "GET", "/v1/threads?limit=20", None, {"limit": 20}),
    ("read_inbox", "GET", "/v1/inbox?limit=20", None, {"limit": 20}),
    ("get_manifest", "GET", "/v1/manifest", None, {}),
]

connection = http.client.HTTPConnection(HOST)
dear = []
for name, method, path, body, arguments in OPERATIONS:
    params = {"name": name, "arguments": arguments}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    over_http, over_mcp = [], []
    # By turns, so that what else the machine does meets both.
    for _ in range(ROUNDS):
        over_http.append(cost_us(connection, method, path, body))
        over_mcp.append(cost_us(connection, "POST", "/mcp", call))
    one, other = min(over_http), min(over_mcp)
    ratio = other / one
    print(f"{name:14} HTTP {one:7.1f} us   MCP {other:7.1f} us   {ratio:.2f}")
    if ratio > RATIO_MAX:
        dear.append(name)
if dear:
    sys.exit(f"more than {RATIO_MAX} times as dear: {', '.join(dear)}")
