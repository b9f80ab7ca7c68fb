"""Listens with the public `websockets` client: live, from a cursor, with a ticket, until revoked."""

import asyncio
import json
import os
import urllib.request

import websockets
from websockets.asyncio.client import connect

URL = os.environ["FEED_URL"]
FEED = URL.replace("http", "ws", 1) + "/v1/feed"


def call(method, path, token, body=None):
    request = urllib.request.Request(URL + path, method=method)
    request.add_header("Authorization", f"Bearer {token}")
    data = None
    if body is not None:
        request.add_header("Content-Type", "application/json")
        data = json.dumps(body).encode()
    with urllib.request.urlopen(request, data) as answer:
        return json.loads(answer.read() or b"null")


async def frames(socket, count):
    return [json.loads(await asyncio.wait_for(socket.recv(), 10)) for _ in range(count)]


def kinds(heard):
    return [frame["type"] for frame in heard]


async def listen():
    ada = os.environ["FEED_ADA"]
    made = call("POST", "/v1/tokens", os.environ["FEED_ADMIN"],
                {"handle": "cora", "rights": ["read"]})
    cora = made["secret"]
    headers = {"Authorization": f"Bearer {cora}"}
    async with connect(f"{FEED}?scope=all", additional_headers=headers,
                       subprotocols=["parley.v1"]) as socket:
        assert socket.subprotocol == "parley.v1"
        hello, = await frames(socket, 1)
        assert hello["type"] == "hello" and hello["resumed"] is False, hello
        call("POST", "/v1/messages", ada, {"kind": "ask", "body": "who hears Python?"})
        live = await frames(socket, 3)
        assert kinds(live) == ["message", "event", "awaiting"], kinds(live)
        await socket.send("{}")
        assert kinds(await frames(socket, 1)) == ["notice"]
        await socket.ping()
    query = f"?scope=all&since={hello['cursor']}"
    async with connect(FEED + query, additional_headers=headers) as socket:
        again = await frames(socket, 5)
        assert kinds(again) == ["hello", "message", "event", "awaiting", "caught_up"], kinds(again)
        assert [frame["cursor"] for frame in again[1:4]] == [frame["cursor"] for frame in live]
    ticket = call("POST", "/v1/feed/tickets", cora, {})["ticket"]
    protocols = ["parley.v1", f"ticket.{ticket}"]
    async with connect(FEED, subprotocols=protocols) as socket:
        hello, = await frames(socket, 1)
        assert hello["participant"]["identity"].endswith(":cora"), hello
        call("DELETE", f"/v1/tokens/{made['token']['id']}", os.environ["FEED_ADMIN"])
        try:
            await asyncio.wait_for(socket.recv(), 10)
            raise AssertionError("a revoked token hears on")
        except websockets.ConnectionClosed as closed:
            assert closed.rcvd.code == 4001, closed
            assert closed.rcvd.reason == f"token_unknown {hello['cursor']}", closed
    try:
        await connect(FEED, subprotocols=protocols)
        raise AssertionError("a ticket was good twice")
    except websockets.InvalidStatus as refused:
        assert refused.response.status_code == 401, refused


asyncio.run(listen())
