"""The page of a gateway: a process of its own, which only the owner finds, and which ends with the gateway."""

import http.client
import json
import time
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.proxy.builders import ask, gateway
from undrift.proxy import Server
from undrift.testing import RawUpstream, Send, response
from undrift.web.gateways import OpenInGateways

BODY = json.dumps(
    {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
).encode()


def got(server: Server, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", path, headers=headers or {})
    answer = connection.getresponse()
    location = answer.headers.get("location", "")
    answer.read()
    connection.close()
    return answer.status, location


@pytest.fixture
def upstream() -> Any:
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as found:
        yield found


def test_the_page_is_a_process_of_its_own_that_shows_this_gateway_and_ends_with_it(
    upstream: RawUpstream, tmp_path: Path
):
    home = tmp_path / "home"
    with gateway(home, upstream.url) as server:
        path = urlsplit(server.page_url).path
        token = path.split("/")[1]
        assert ask(f"{server.url}/{token}", body=BODY).status == 200
        status, location = got(server, path)
        assert status == 307
        assert urlsplit(location).hostname == "127.0.0.1"
        assert urlsplit(location).port != server.port
        assert got(server, path) == (307, location), "one process is enough"
        with urllib.request.urlopen(location, timeout=30) as page:
            assert b"<title>undrift</title>" in page.read()
        with urllib.request.urlopen(f"{location}api/now", timeout=30) as now:
            assert json.load(now)["gateway"] is True
        (row,) = OpenInGateways(home, token).sessions()
        assert row["tokens_before"] >= row["tokens_after"] > 0
    assert ended(location)
    assert OpenInGateways(home, token).sessions() == []


def ended(url: str) -> bool:
    for _ in range(200):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("path", ["/undrift/", "/undrift", f"/{'0' * 64}/undrift/"])
def test_without_the_token_nobody_learns_where_the_page_is(upstream: RawUpstream, tmp_path: Path, path: str):
    with gateway(tmp_path / "home", upstream.url) as server:
        assert got(server, path) == (401, "")
        assert got(server, path, {"origin": "http://evil.example"})[0] in (401, 403)
