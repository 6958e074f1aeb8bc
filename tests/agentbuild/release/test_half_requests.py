"""Requests whose headers never end: they keep a place for a moment, and then the next caller has it."""

import asyncio

import httpx
import uvicorn

from sophron.agentbuild.release import a2a_server

MOST = 3


async def hello(scope, receive, send):
    """The smallest application."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def test_half_requests_give_their_places_back(monkeypatch):
    monkeypatch.setattr(a2a_server, "HEADERS_S", 1.0)

    async def run():
        config = uvicorn.Config(
            hello, port=0, lifespan="off", log_level="error", http=a2a_server.Impatient, limit_concurrency=MOST
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST)]
        for _, writer in slow:
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        async with httpx.AsyncClient() as client, asyncio.timeout(20):
            assert (await client.get(f"http://127.0.0.1:{port}/")).status_code == 503
            assert [await reader.read() for reader, _ in slow] == [b""] * MOST
            assert (await client.get(f"http://127.0.0.1:{port}/")).status_code == 200
        server.should_exit = True
        await serving

    asyncio.run(run())
