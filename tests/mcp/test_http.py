"""Over HTTP: every route of the application is behind the guard, and the real client gets through with the token."""

import http.client
import stat
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install undrift[mcp]")

from tests.cli.builders import environment
from tests.mcp.builders import Served, command, reached, run, said, served
from undrift import __version__
from undrift.mcp.over_http import application
from undrift.mcp.place import Place
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


def routes(home: Path) -> list[str]:
    """Every path that the application knows."""
    app = application(surface_of(Place(home, Settings()), __version__), 1)
    return [route.path for route in app.routes]


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
