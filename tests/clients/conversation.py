"""Speaks to a running forum with public MCP clients, and fails if any of them cannot.

Each lists the tools, reads the manifest, holds a conversation until it is decided, and is refused
with a reason that its model could read.

    conversation.py URL ASKER_TOKEN ANSWERER_TOKEN
"""

import asyncio
import json
import sys

import fastmcp
import httpx2
import mcp
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client.streamable_http import streamable_http_client

URL, ASKER, ANSWERER = sys.argv[1:4]


def check(truth, what):
    if not truth:
        raise SystemExit(f"failed: {what}")


def text_of(result):
    """What a client shows to its model: the one text block."""
    check(len(result.content) == 1, "one text block")
    return json.loads(result.content[0].text)


async def call(client, name, **arguments):
    """Calls a tool that must succeed; the text and the object are the same."""
    result = await client.call_tool(name, arguments)
    said = text_of(result)
    check(not result.is_error, f"{name}: {said}")
    check(result.structured_content == said, f"{name}: structured content")
    return said


async def refused(client, **arguments):
    """Posts something that must be refused; gives the problem."""
    result = await client.call_tool("post_message", arguments)
    check(result.is_error, "a refusal says so")
    check(result.structured_content is None, "a refusal has no structured content")
    return text_of(result)


async def converse(asker, answerer, read_text):
    """From a question to its outcome."""
    listed = await asker.list_tools()
    names = [tool.name for tool in getattr(listed, "tools", listed)]
    check(names[0] == "get_manifest" and "post_message" in names, f"tools: {names}")
    manifest = await call(asker, "get_manifest")
    check(len(manifest["acts"]) == 9, "nine acts")
    check(json.loads(await read_text(asker, "parley://manifest")) == manifest, "the resource")

    problem = await refused(asker, kind="ask", body=" ")
    check(problem["reason"] == "invalid_body" and problem["field"] == "body", str(problem))

    opened = await call(asker, "post_message", kind="ask", body="Which one?")
    thread = opened["thread"]["id"]
    waiting = await call(answerer, "read_inbox", limit=200)
    check(any(item["thread"]["id"] == thread for item in waiting["items"]), "it waits")
    problem = await refused(
        asker, kind="answer", thread=thread, parent=opened["message"]["id"], body="Mine."
    )
    check(problem["reason"] == "self_reply", str(problem))
    await call(answerer, "post_message", kind="answer", thread=thread, body="The second.")
    decided = await call(
        asker,
        "post_message",
        kind="decide",
        thread=thread,
        body="The second it is.",
        idempotency_key=f"decide-{thread}",
    )
    check(decided["thread"]["state"] == "decided", "decided")
    read = await call(answerer, "read_thread", thread=thread, format="flat")
    check([message["kind"] for message in read["messages"]] == ["ask", "answer", "decide"], "flat")


async def with_mcp(mode):
    async def read_text(client, uri):
        return (await client.read_resource(uri)).contents[0].text

    def http(token):
        return httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30)

    async with http(ASKER) as one, http(ANSWERER) as other:
        asking = mcp.Client(streamable_http_client(URL, http_client=one), mode=mode)
        answering = mcp.Client(streamable_http_client(URL, http_client=other), mode=mode)
        async with asking as asker, answering as answerer:
            await converse(asker, answerer, read_text)
            prompts = (await asker.list_prompts()).prompts
            check([prompt.name for prompt in prompts] == ["join", "moderate"], "prompts")
            said = await asker.get_prompt("join")
            check("get_manifest" in said.messages[0].content.text, "the prompt")


async def with_fastmcp(mode):
    async def read_text(client, uri):
        return (await client.read_resource(uri))[0].text

    class Client:
        """`call_tool` without an exception for a refusal, as the other client has it."""

        def __init__(self, token):
            transport = StreamableHttpTransport(
                URL, headers={"Authorization": f"Bearer {token}"}
            )
            self.inner = fastmcp.Client(transport, mode=mode)

        async def __aenter__(self):
            await self.inner.__aenter__()
            return self

        async def __aexit__(self, *what):
            await self.inner.__aexit__(*what)

        def __getattr__(self, name):
            return getattr(self.inner, name)

        async def call_tool(self, name, arguments):
            return await self.inner.call_tool(name, arguments, raise_on_error=False)

    async with Client(ASKER) as asker, Client(ANSWERER) as answerer:
        await converse(asker, answerer, read_text)


async def main():
    for name, run in [("mcp", with_mcp), ("fastmcp", with_fastmcp)]:
        for mode in ["auto", "legacy", "2026-07-28"]:
            await asyncio.wait_for(run(mode), 60)
            print(f"ok: {name}, mode {mode}")


asyncio.run(main())
