"""The owner's pins, notes and memories go into the owner's requests alone, and nobody else's requests into a session."""

import itertools
import json
import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.proxy import stranger
from tests.proxy.builders import PATHS, ask, gateway, metrics, token
from tests.proxy.stranger import NOBODY
from tests.proxy.strangers import ask_as_nobody, needs_linux, needs_other_users, send_as_nobody
from undrift import Session, Settings
from undrift.proxy import owner, peer
from undrift.testing import RawUpstream, Send, response
from undrift.values.provider import PROVIDERS

SECRETS = ("canary-of-the-pin", "canary-of-the-notes", "canary-of-the-memory")
BODY = {
    "model": "claude-opus-4-5",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Where is the canary vault? stranger-canary"}],
}
VICTIM = {"x-undrift-session": "victim", "x-undrift-task": "stranger-task", "x-api-key": "a-key-of-its-own"}


@pytest.fixture
def upstream() -> Iterator[RawUpstream]:
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as found:
        yield found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which the owner has begun a session."""
    home = tmp_path / "home"
    with Session.open("victim", home=str(home), settings=settings(home)) as session:
        session.pin("spec", f"The acquisition is {SECRETS[0]}.")
        session.scratchpad.write(f"Ask for {SECRETS[1]}.")
        session.remember(f"The canary vault is {SECRETS[2]}.", type="note", source="user")
    return home


def settings(home: Path, **more: Any) -> Settings:
    return Settings(home=str(home), token_counter="characters/4", memory_tokens=300, **more)


@contextmanager
def opened(home: Path, upstream: RawUpstream, **config: Any) -> Iterator[str]:
    with gateway(home, upstream.url, settings(home), **config) as server:
        yield server.url


def kept(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


STRANGERS_PATHS = (
    *PATHS.values(),
    f"/via/anthropic{PATHS['anthropic']}",
    f"/{'0' * 64}/via/anthropic{PATHS['anthropic']}",
    "/via/anthropic/../../admin",
    "/via/openai/v1/models",
    "/undrift",
    "/undrift/health",
    "/undrift/metrics",
    "/undrift/window/victim",
    "/nowhere",
    "http://evil.example/v1/messages",
)
STRANGERS_HEADERS: tuple[dict[str, str], ...] = (
    {},
    VICTIM,
    {"x-undrift-token": "0" * 64, "authorization": f"Bearer {'0' * 64}", "x-forwarded-for": "127.0.0.1"},
    {"host": "evil.example", "origin": "http://127.0.0.1"},
    {"upgrade": "websocket", "connection": "upgrade"},
    {"transfer-encoding": "chunked", "expect": "100-continue"},
)
PAGES: tuple[dict[str, str], ...] = (
    {"origin": "http://localhost:3000"},
    {"origin": "http://127.0.0.1"},
    {"origin": "null"},
    {"origin": "https://evil.example", "sec-fetch-site": "none"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "same-origin"},
    {"sec-fetch-site": ""},
)


def requests_of(each: tuple[dict[str, str], ...]) -> list[str]:
    """Requests with a body that has the word stranger, on all paths with all these headers."""
    found = []
    for method, path, headers in itertools.product(("POST", "GET", "TRACE", "OPTIONS"), STRANGERS_PATHS, each):
        given = {"host": "127.0.0.1", "content-length": "8", **headers}
        if "transfer-encoding" in headers:
            del given["content-length"]
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
        body = "8\r\nstranger\r\n0\r\n\r\n" if "transfer-encoding" in headers else "stranger"
        found.append("\r\n".join([*lines, "", body]))
    return found


def assert_unauthorized(answers: list[str], home: Path) -> None:
    """All of them are one answer, and it tells nothing."""
    (answer,) = set(answers)
    head, _, body = answer.partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 401 ")
    assert "connection: close" in head
    assert "x-undrift" not in answer
    assert json.loads(body) == {
        "type": "error",
        "error": {"type": "authentication_error", "message": "undrift: unauthorized"},
    }
    assert str(home) not in answer
    assert b"stranger" not in kept(home)


@needs_other_users
def test_another_user_gets_401_and_nothing_else_on_every_path(upstream, home):
    asked = requests_of(STRANGERS_HEADERS)
    with opened(home, upstream) as url:
        answers = send_as_nobody(url, asked)
        figures = metrics(url, home)
    assert len(answers) == len(asked) == 4 * 14 * 6
    assert_unauthorized(answers, home)
    assert f'undrift_refused_total{{status="401"}} {len(asked)}\n' in figures
    assert "undrift_incoming_bytes 0\n" in figures
    assert upstream.requests == ()


def test_a_page_gets_401_and_nothing_else_on_every_path(upstream, home):
    with opened(home, upstream) as url:
        answers = [stranger.sent(urlsplit(url).port or 0, one.encode()).decode() for one in requests_of(PAGES)]
    assert_unauthorized(answers, home)
    assert upstream.requests == ()


def test_the_log_says_once_how_to_prove_it(upstream, home, caplog):
    with opened(home, upstream) as url:
        for _ in range(3):
            assert ask(url, body=BODY, headers={"origin": "http://localhost:3000"}).status == 401
    (line,) = [json.loads(one.getMessage()) for one in caplog.records if "401" in one.getMessage()]
    assert (line["event"], line["status"]) == ("refused", 401)
    assert "`undrift wrap CLIENT`" in line["at"]
    assert token(home) not in caplog.text


@needs_other_users
def test_who_has_left_at_once_is_not_taken_for_root(upstream, home):
    """The system shows a connection that nobody holds any more as one of the user 0, who may be the owner."""
    with opened(home, upstream) as url:
        ask_as_nobody(url, BODY, headers=VICTIM, leaves=20)
        while "undrift_streams 0" not in metrics(url, home):
            time.sleep(0.01)
    assert b"stranger" not in kept(home)
    assert not [one for one in upstream.requests if any(secret.encode() in one.body for secret in SECRETS)]


@needs_other_users
@pytest.mark.parametrize("via", ["", "/via/anthropic"])
def test_the_token_in_the_path_makes_a_request_the_owners_and_goes_nowhere(via: str, upstream, home, caplog):
    caplog.set_level(logging.DEBUG)
    with opened(home, upstream) as url:
        shown = token(home)
        heard = ask_as_nobody(url, BODY, path=f"/{shown}{via}{PATHS['anthropic']}", headers=VICTIM)
        figures = metrics(url, home)
    assert heard is not None
    assert (heard.status, heard.headers["x-undrift-session"]) == (200, "victim")
    (request,) = upstream.requests
    assert all(secret.encode() in request.body for secret in SECRETS)
    assert request.target == PATHS["anthropic"]
    assert shown.encode() not in request.target.encode() + repr(request.headers).encode() + request.body
    assert shown not in caplog.text + figures
    others = [path for path in home.rglob("*") if path.is_file() and path.name != "http-token"]
    assert not [path for path in others if shown.encode() in path.read_bytes()]


@needs_linux
@pytest.mark.parametrize("marks", [{}, {"sec-fetch-mode": "cors"}, {"sec-fetch-site": "none"}])  # Node sends the second
def test_a_process_of_the_owner_needs_no_token(marks: dict[str, str], upstream, home):
    with opened(home, upstream) as url:
        heard = ask(url, body=BODY, headers={**VICTIM, **marks})
    assert heard.headers["x-undrift-session"] == "victim"
    assert all(secret.encode() in upstream.requests[0].body for secret in SECRETS)


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1:5173"])
def test_a_page_is_not_its_users_own(origin: str, upstream, home):
    with opened(home, upstream) as url:
        assert ask(url, body=BODY, headers={**VICTIM, "origin": origin}).status == 401
        assert upstream.requests == ()
        path = f"/{token(home)}{PATHS['anthropic']}"
        assert ask(url, path, BODY, headers={**VICTIM, "origin": origin}).headers["x-undrift-session"] == "victim"


@needs_other_users
def test_the_token_in_a_header_makes_a_request_the_owners_and_goes_nowhere(upstream, home):
    with opened(home, upstream) as url:
        shown = {"x-undrift-token": token(home)}
        heard = ask_as_nobody(url, BODY, headers={**VICTIM, **shown})
        bearer = ask_as_nobody(url, BODY, headers={"authorization": f"Bearer {token(home)}"})  # the provider's place
    assert heard is not None
    assert bearer is not None
    assert (heard.headers["x-undrift-session"], bearer.status) == ("victim", 401)
    (request,) = upstream.requests
    assert shown["x-undrift-token"] not in repr(request.headers)


def test_a_token_in_the_path_opens_health_and_the_page_and_no_other_route_of_ours(upstream, home):
    with opened(home, upstream) as url:
        for path in ("/undrift/metrics", "/undrift/sessions", "/undrift/window/s", "/undrift/page"):
            assert ask(url, f"/{token(home)}{path}", method="GET").status == 401
        page = {"origin": "http://localhost:3000"}
        assert ask(url, f"/{token(home)}/undrift/health", method="GET", headers=page).status == 200
        assert ask(url, f"/{token(home)}", method="GET").status == 404
    assert upstream.requests == ()


@pytest.mark.parametrize("path", ["/{0}/{0}/v1/messages", "/via/anthropic/{0}/v1/messages", "/v1/messages?key={0}"])
def test_a_token_that_would_go_on_to_the_provider_goes_nowhere(path: str, upstream, home):
    with opened(home, upstream) as url:
        heard = ask(url, path.format(token(home)), BODY)
        assert heard.status == 400
        assert token(home).encode() not in heard.body
    assert upstream.requests == ()


def test_the_base_urls_lead_to_each_provider(upstream, home):
    with gateway(home, upstream.url) as server:
        for provider in PROVIDERS:
            base = server.base_urls[provider]
            assert base == f"{server.url}/{token(home)}/via/{provider}"
            assert ask(server.url, f"{base.removeprefix(server.url)}/v1/models", method="GET").status == 200
    assert [one.target for one in upstream.requests] == ["/v1/models"] * len(PROVIDERS)


def test_where_the_home_has_no_token_the_gateway_makes_one_of_its_own(upstream, home):
    (home / "http-token").write_text("read by all")
    (home / "http-token").chmod(0o644)
    with gateway(home, upstream.url) as server:
        path = server.base_urls["anthropic"].removeprefix(server.url)
        heard = ask(server.url, f"{path}{PATHS['anthropic']}", BODY, headers={"origin": "http://localhost"})
    assert "x-undrift-bypass" not in heard.headers
    assert upstream.requests[0].target == PATHS["anthropic"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"/{'a1' * 32}/via/openai/v1/models", ("a1" * 32, "/via/openai/v1/models")),
        (f"/{'a1' * 32}", ("a1" * 32, "/")),
        (f"/{'a1' * 32}?x", ("", f"/{'a1' * 32}?x")),
        (f"/{'A1' * 32}/v1", ("", f"/{'A1' * 32}/v1")),
        (f"/{'a1' * 31}/v1", ("", f"/{'a1' * 31}/v1")),
        (f"//{'a1' * 32}/v1", ("", f"//{'a1' * 32}/v1")),
        ("/v1/messages", ("", "/v1/messages")),
        ("", ("", "")),
    ],
)
def test_a_token_is_the_first_part_of_a_path_or_none(path: str, expected: tuple[str, str]):
    assert owner.split(path) == expected


def test_nothing_shown_is_no_token():
    assert not owner.is_token("", "")
    assert not owner.is_token("ü", "a" * 64)
    assert owner.is_token("a" * 64, "a" * 64)


@contextmanager
def connected(family: int, host: str, listens: int | None = None) -> Iterator[tuple[owner.End, owner.End]]:
    """A connection, as the serving end sees it: its client and itself."""
    with socket.socket(listens or family, socket.SOCK_STREAM) as listening:
        listening.bind(("127.0.0.1" if listens == socket.AF_INET else host, 0))
        listening.listen()
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.connect((host, listening.getsockname()[1]))
            with listening.accept()[0] as serving:
                yield owner.end_of(*serving.getpeername()[:2]), owner.end_of(*serving.getsockname()[:2])


@needs_linux
@pytest.mark.parametrize(
    ("family", "host", "listens"),
    [
        (socket.AF_INET, "127.0.0.1", None),
        (socket.AF_INET6, "::1", None),
        (socket.AF_INET6, "::ffff:127.0.0.1", socket.AF_INET),
        (socket.AF_INET6, "::ffff:127.0.0.1", socket.AF_INET6),
    ],
)
def test_the_system_says_whose_a_connection_is_in_both_its_ways(family: int, host: str, listens: int | None):
    try:
        with connected(family, host, listens) as (client, server):
            assert peer._looked_up(client, server) == os.geteuid()
            assert peer._asked(client, server) in (os.geteuid(), None)  # a kernel may have no such part
            assert owner.is_of_this_machine(client, server)
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    assert peer._looked_up(client, server) is None
    assert peer._asked(client, server) is None


@needs_linux
def test_a_socket_that_listens_on_the_clients_port_is_not_the_client():
    with socket.create_server(("127.0.0.1", 0)) as mine:
        client, server = owner.end_of(*mine.getsockname()), owner.end_of("127.0.0.1", 9)
        assert peer._asked(client, server) is None
        assert peer._looked_up(client, server) is None


ROW = "   1: 0100007F:9C40 0100007F:2253 {state} 00000000:00000000 00:00000000 00000000 {uid} 0 {inode} 1 0 100 0 0 10 0\n"
CLIENT, SERVER = owner.end_of("127.0.0.1", 40_000), owner.end_of("127.0.0.1", 8_787)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("01", 1000, 77)], 1000),
        ([("06", 0, 0)], None),  # waits for late packets: nobody's any more
        ([("05", 0, 0)], None),  # closed by its process
        ([("06", 0, 0), ("01", NOBODY, 77)], NOBODY),
        ([("01", 0, 77), ("01", NOBODY, 78)], None),
        ([], None),
    ],
)
def test_a_row_without_a_holder_proves_nothing(rows: list[tuple[str, int, int]], expected: int | None):
    table = "  sl  local_address rem_address\n" + "".join(
        ROW.format(state=state, uid=uid, inode=inode) for state, uid, inode in rows
    )
    assert owner.uid_in_table(table, CLIENT, SERVER) == expected
    assert owner.uid_in_table(table, SERVER, CLIENT) is None


@pytest.mark.parametrize("answer", [b"", b"\0" * 10, b"\0" * 200, b"\xff" * 200])
def test_an_answer_of_another_shape_proves_nothing(answer: bytes):
    assert owner.uid_in_answer(answer, CLIENT, SERVER) is None


def test_whoever_comes_from_another_machine_is_not_looked_for_on_this_one():
    here, there = owner.end_of("192.168.1.7", 8_787), owner.end_of("192.168.1.8", 40_000)
    assert not owner.is_of_this_machine(there, here)
    assert owner.is_of_this_machine(owner.end_of("192.168.1.7", 40_000), here)
    assert owner.end_of("::ffff:127.0.0.1", 1) == owner.end_of("127.0.0.1", 1)
    assert owner.end_of("fe80::1%eth0", 1) == owner.end_of("fe80::1", 1)
