"""Over HTTP: every route of the application is behind the guard, and the real client gets through with the token."""

import asyncio
import contextlib
import http.client
import socket
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install 'undrift[mcp]'")

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route
from uvicorn.server import ServerState

from tests.cli.builders import environment
from tests.mcp.builders import Served, command, reached, run, said, served
from undrift import __version__
from undrift.mcp import over_http
from undrift.mcp.over_http import Guard, application, names_of
from undrift.mcp.place import ServedHome
from undrift.mcp.surface import surface_of
from undrift.settings import Settings
from undrift.stores.secret import TOKEN_NAME

METHODS = ["GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD", "TRACE"]
ELSEWHERE = [
    "/",
    "/undrift/health",
    "/docs",
    "/.well-known/oauth-protected-resource",
    "//mcp",
    "/mcp/",
    "/../etc/passwd",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    with served(tmp_path_factory.mktemp("over-http") / "home") as running:
        yield running


def paths_of(routes: Sequence[Any], before: str = "") -> list[str]:
    """Every path of these routes, those of mounted parts included."""
    found: list[str] = []
    for route in routes:
        inner = getattr(route, "routes", None)
        found += paths_of(inner, before + route.path) if inner is not None else [before + route.path]
    return found


def routes(home: Path) -> list[str]:
    """Every path that the application knows."""
    return paths_of(application(surface_of(ServedHome(home, Settings()), __version__), 1).routes)


def status(server: Served, method: str, path: str, *headers: tuple[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True)
        for name, value in (*headers, ("Content-Length", "0")):
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status
    finally:
        connection.close()


def test_every_route_refuses_a_foreign_host_a_foreign_origin_and_a_missing_token(server: Served, tmp_path: Path):
    paths = routes(tmp_path)
    assert paths
    own = ("Host", f"127.0.0.1:{server.port}")
    token = ("Authorization", f"Bearer {server.token}")
    for path in (*paths, *ELSEWHERE):
        for method in METHODS:
            for host in (
                "evil.example",
                f"evil.example:{server.port}",
                "127.0.0.1",
                "127.0.0.1:1",
                f"127.0.0.1:{server.port}@evil",
            ):
                assert status(server, method, path, ("Host", host), token) == 421
            for origin in ("http://evil.example", "null", "http://localhost:1", f"https://127.0.0.1:{server.port}"):
                assert status(server, method, path, own, ("Origin", origin), token) == 403
            for wrong in (
                (),
                (("Authorization", ""),),
                (("Authorization", "Bearer x"),),
                (("Authorization", server.token),),
                (token, token),
            ):
                assert status(server, method, path, own, *wrong) == 401
    with_query = f"{paths[0]}?token={server.token}"
    assert status(server, "POST", with_query, own) == 401


@pytest.mark.parametrize("host", ["evil.example", ""])
@pytest.mark.parametrize("more", ["", "upgrade: websocket\r\nconnection: upgrade\r\n"])
def test_who_has_no_token_learns_nothing(host: str, more: str, server: Served):
    host = host or f"127.0.0.1:{server.port}"
    head = f"GET /mcp HTTP/1.1\r\nhost: {host}\r\norigin: http://evil.example\r\n{more}\r\n"
    answer = sent(server.port, head.encode())
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert answer.endswith(b'\r\n\r\n{"error": "unauthorized"}')


@pytest.mark.parametrize("head", [b"x-a: " + b"a" * (66 << 10), b"".join(b"x-%d: a\r\n" % n for n in range(7_000))])
def test_a_head_that_is_too_large_is_refused(head: bytes, server: Served):
    assert sent(server.port, b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n" + head).startswith(b"HTTP/1.1 400 ")


def sent(port: int, data: bytes) -> bytes:
    """Send bytes; return all that comes back until the server closes the connection."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(data)
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(1 << 16):
                answer += piece
    return answer


def test_a_connection_without_a_request_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(over_http, "_HEAD_S", 0.05)
    config = uvicorn.Config(lambda *_: None, log_config=None)

    async def heard(data: bytes) -> bytes:
        made = over_http._protocol()
        serving = await asyncio.get_running_loop().create_server(
            lambda: made(config, ServerState(), {}),  # type: ignore[call-arg]
            "127.0.0.1",
            0,
        )
        async with serving:
            reader, writer = await asyncio.open_connection(*serving.sockets[0].getsockname())
            writer.write(data)
            answer = await reader.read()
            writer.close()
            return answer

    assert asyncio.run(heard(b"")) == b""
    assert asyncio.run(heard(b"POST /mcp HTTP/1.1\r\nhost: 127")) == b""


def test_a_request_without_or_with_two_hosts_is_refused(server: Served):
    token = ("Authorization", f"Bearer {server.token}")
    own = ("Host", f"127.0.0.1:{server.port}")
    assert status(server, "POST", "/mcp", token) in (400, 421)
    assert status(server, "POST", "/mcp", own, ("Host", "evil.example"), token) in (400, 421)


def test_what_is_ours_passes_the_guard(server: Served):
    token = ("Authorization", f"Bearer {server.token}")
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        host = ("Host", f"{name}:{server.port}")
        origin = ("Origin", f"http://{name}:{server.port}")
        assert status(server, "GET", "/no-such-path", host, origin, token) == 404


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_client_works_with_the_token(server: Served, mode: str):
    async def work() -> None:
        async with reached(server, mode=mode, session="web") as client:
            assert len((await client.list_tools()).tools) == 4
            kept = await client.call_tool("remember", {"text": "Tabs are four spaces wide."})
            assert said(kept).startswith("Remembered as m")
            found = await client.call_tool("search", {"query": "how wide is a tab"})
            assert "Tabs are four spaces wide." in said(found)

    run(work)


def test_the_token_is_for_the_owner_alone_and_stays(server: Served):
    path = server.home / TOKEN_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == server.token
    assert len(server.token) == 64


def test_a_port_that_is_taken_is_one_line(server: Served, tmp_path: Path):
    words = command(tmp_path, "--http", "--port", str(server.port))
    result = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert "choose another --port" in result.stderr
    assert result.stderr.count("\n") == 1
    assert server.token not in result.stderr


HEADERS: dict[str, tuple[int, list[tuple[str, str]]]] = {
    "a foreign host": (421, [("host", "evil.example"), ("authorization", "Bearer t")]),
    "no host": (421, [("authorization", "Bearer t")]),
    "a foreign origin": (
        403,
        [("host", "localhost:1"), ("origin", "http://evil.example"), ("authorization", "Bearer t")],
    ),
    "no token": (401, [("host", "localhost:1")]),
    "another token": (401, [("host", "localhost:1"), ("authorization", "Bearer u")]),
    "a token of no scheme": (401, [("host", "localhost:1"), ("authorization", "t")]),
}


class Answering:
    """An application that answers everything, and says what reached it."""

    def __init__(self) -> None:
        self.reached: list[str] = []

    async def __call__(self, scope: Any, _receive: Any, send: Any) -> None:
        self.reached.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def asked(app: Any, kind: str, path: str, headers: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Send one request, or open one socket; return what is sent back."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        raise AssertionError("nothing is to be read of what is refused")

    encoded = [(name.encode(), value.encode()) for name, value in headers]
    scope = {"type": kind, "method": "POST", "path": path, "headers": encoded, "query_string": b""}

    async def work() -> None:
        await app(scope, receive, send)

    run(work)
    return sent


@pytest.mark.parametrize("name", HEADERS)
def test_no_route_is_reached_by_what_the_guard_refuses(name: str, tmp_path: Path):
    status, headers = HEADERS[name]
    inner = Answering()
    guard = Guard(inner, names_of(1), "t")
    for path in (*routes(tmp_path), *ELSEWHERE):
        assert asked(inner, "http", path, headers)[0]["status"] == 200, "without the guard it is answered"
        inner.reached.clear()
        assert asked(guard, "http", path, headers)[0]["status"] == status
        assert asked(guard, "websocket", path, headers) == [{"type": "websocket.close", "code": 1008}]
        assert inner.reached == []


def test_the_guard_lets_through_what_is_ours(tmp_path: Path):
    inner = Answering()
    for path in routes(tmp_path):
        asked(Guard(inner, names_of(1), "t"), "http", path, [("host", "localhost:1"), ("authorization", "Bearer t")])
    assert inner.reached == routes(tmp_path)


def test_a_route_in_a_mounted_part_is_found_too(tmp_path: Path):
    app = application(surface_of(ServedHome(tmp_path, Settings()), __version__), 1)
    app.mount("/part", Starlette(routes=[Route("/deep", Answering())]))
    assert paths_of(app.routes)[-1] == "/part/deep"
