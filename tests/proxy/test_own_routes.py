"""Who may ask the gateway what: every route of its own, and the names and origins under which it answers at all."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.builders import ask, gateway, metrics, token
from undrift import Settings
from undrift.errors import SettingsError
from undrift.proxy import GatewayConfig, Server, upstream_of
from undrift.proxy.guard import foreign
from undrift.testing import RawUpstream, Send, response

BODY = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "canary-content"}]}
OWN = (
    "/undrift",
    "/undrift/",
    "/undrift/metrics",
    "/undrift/sessions",
    "/undrift/manage",
    "/undrift/ui",
    "/undrift/../undrift/metrics",
)


@pytest.fixture
def upstream() -> Iterator[RawUpstream]:
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as found:
        yield found


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, RawUpstream, str]]:
    """A gateway for all requests of which none may reach the provider, the provider, and the token."""
    home = tmp_path_factory.mktemp("home")
    with RawUpstream(lambda _: [Send(response(b"{}"))]) as provider, gateway(home, provider.url) as server:
        yield server, provider, token(home)


@pytest.mark.parametrize("path", OWN)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_without_the_token_no_route_of_ours_answers(path: str, method: str, untouched):
    server, provider, shown = untouched
    for wrong in ({}, {"authorization": "Bearer no"}, {"authorization": f"Basic {shown}"}):
        assert ask(server.url, path, method=method, headers=wrong).status == 401
    shown_to_owner = {"/undrift/metrics": 200, "/undrift/sessions": 200, "/undrift": 307, "/undrift/": 307}
    expected = shown_to_owner.get(path, 404) if method == "GET" else 404
    assert ask(server.url, path, method=method, headers={"x-undrift-token": shown}).status == expected
    assert provider.requests == ()


@pytest.mark.parametrize("path", [*OWN, "/undrift/health", "/v1/messages", "/nowhere"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:80"}, 421),
        ({"host": ""}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://[bad"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
    ],
)
def test_no_route_answers_a_foreign_host_or_origin(path: str, headers: Any, status: int, untouched):
    server, provider, shown = untouched
    known = {"x-undrift-token": shown}
    assert ask(server.url, path, method="GET", headers={**known, **headers}).status == status
    assert ask(server.url, path, method="GET", headers=headers).status == (421 if status == 421 else 401)
    assert provider.requests == ()


@pytest.mark.parametrize("name", ["127.0.0.1:8787", "localhost", "LOCALHOST:1", "[::1]:8787"])
def test_our_own_names_and_pages_are_not_foreign(name: str):
    assert foreign({"host": name}, "127.0.0.1") == ""
    assert foreign({"host": name, "origin": f"http://{name}"}, "127.0.0.1") == ""


def test_opened_to_a_network_it_answers_to_addresses_and_its_own_name_alone():
    assert foreign({"host": "192.168.1.7:8787"}, "0.0.0.0") == ""
    assert foreign({"host": "box.lan"}, "box.lan") == ""
    assert foreign({"host": "evil.example"}, "0.0.0.0") == "host"


def test_health_writes_and_reads_the_store(upstream, tmp_path):
    with gateway(tmp_path, upstream.url) as server:
        heard = ask(server.url, "/undrift/health", method="GET")
    assert (heard.status, heard.json["status"], heard.json["store"]) == (200, "ok", "ok")


def test_figures_are_in_the_form_of_prometheus(upstream, tmp_path):
    with gateway(tmp_path, upstream.url) as server:
        ask(server.url, body=BODY)
        text = metrics(server.url, tmp_path)
    assert 'undrift_requests_total{provider="anthropic",managed="yes",status="2xx"} 1\n' in text
    assert "undrift_manage_seconds_count 1\n" in text
    assert "undrift_sessions_open 1\n" in text
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        assert line.startswith("# TYPE undrift_") or (name.startswith("undrift_") and float(value) >= 0)


def test_no_key_content_or_hostile_id_reaches_the_log_or_the_home(upstream, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    keys = {
        "authorization": "Bearer canary-bearer",
        "x-api-key": "canary-key",
        "cookie": "canary-cookie",
        "x-undrift-session": "a\x85b\xffc" + "d" * 300,
    }
    with gateway(tmp_path, upstream.url) as server:
        ask(server.url, body=BODY, headers=keys)
        ask(server.url, "/v1/messages/batches?key=canary-query", method="GET", headers=keys)
        ask(server.url, "/v1beta/models?key=canary-query", method="GET", headers={"x-goog-api-key": "canary-google"})
        text = metrics(server.url, tmp_path)
    lines = [record.getMessage() for record in caplog.records if record.name == "undrift.proxy"]
    assert len(lines) == 3
    assert all(json.loads(line)["event"] == "request" for line in lines)
    assert "canary" not in caplog.text + text
    assert all(line.isascii() for line in lines)
    kept = b"".join(path.read_bytes() for path in Path(tmp_path).rglob("*") if path.is_file())
    assert not [key for key in ("bearer", "key", "google", "cookie", "query") if f"canary-{key}".encode() in kept]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com",
        "ftp://a.example",
        "https://user:secret@a.example",
        "https://a.example/?x",
        "http://a.example:x",
    ],
)
def test_an_upstream_must_be_an_address(url: str):
    with pytest.raises(SettingsError) as caught:
        upstream_of(url)
    assert "secret" not in str(caught.value)


def test_the_version_at_the_end_of_an_upstream_is_what_requests_bring_themselves():
    found = upstream_of("https://a.example/api/v1/")
    assert (found.host, found.port, found.path) == ("a.example", 443, "/api")


def test_a_gateway_is_not_its_own_upstream(tmp_path):
    with gateway(tmp_path, "http://127.0.0.1:1") as server:
        config = GatewayConfig(settings=Settings(home=str(tmp_path)), port=server.port)
        with pytest.raises(SettingsError, match="cannot be listened on"):
            Server(config)


def test_a_websocket_is_answered_at_once_with_the_status_at_which_codex_goes_on_over_http(upstream, tmp_path):
    with gateway(tmp_path, upstream.url) as server:
        upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-key": "x", "originator": "codex"}
        heard = ask(server.url, "/v1/responses", method="GET", headers=upgrade)
    assert heard.status == 426
    assert "HTTP" in heard.json["error"]["message"]
    assert upstream.requests == ()
