"""Whose a request is: keys of the configuration and of a store, tokens of an issuer, and everything else is nobody's."""

import asyncio
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.builders import ask
from tests.proxy.team.builders import ANA, BEN, BODY, OPERATOR, serving
from undrift.errors import StoreError
from undrift.proxy.team.app import KEY_HEADER
from undrift.proxy.team.people import People, TooManyWrong, client_of
from undrift.testing import RawUpstream, Send, response
from undrift.values.member import Member, hash_of
from undrift.values.serving import KeyLine, OidcConfig, ServeConfig

jwt = pytest.importorskip("jwt", reason="PyJWT is not installed")
rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa", reason="cryptography is not installed")

WRONG = "9" * 64
AUDIENCE = "undrift"


@pytest.fixture
def upstream() -> Iterator[RawUpstream]:
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as found:
        yield found


class Issuer:
    """An issuer of tokens on this machine, with one key; `jwks_url` serves its public half."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        shown = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        document = json.dumps({"keys": [{**shown, "kid": "one", "alg": "RS256", "use": "sig"}]}).encode()
        self.asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler) -> None:  # noqa: N805 - the name of the standard library; `self` is the issuer
                self.asked.append(handler.path)
                handler.send_response(200)
                handler.send_header("content-length", str(len(document)))
                handler.end_headers()
                handler.wfile.write(document)

            def log_message(handler, *_: Any) -> None:  # noqa: N805
                """Say nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def config(self) -> OidcConfig:
        return OidcConfig(issuer=self.url, audience=AUDIENCE, jwks_url=f"{self.url}/keys")

    def token(self, *, key: Any = None, algorithm: str = "RS256", **claims: Any) -> str:
        until = datetime.now(UTC) + timedelta(minutes=5)
        base = {"iss": self.url, "aud": AUDIENCE, "exp": until, "email": "ana@example.com", "project": "shop"}
        named = {name: value for name, value in {**base, **claims}.items() if value is not None}
        return str(jwt.encode(named, key or self.key, algorithm=algorithm, headers={"kid": "one"}))


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    found = Issuer()
    yield found
    found.server.shutdown()
    found.server.server_close()


def found(people: People, key: str, *, wanted: str = "", client: str = "192.0.2.1") -> Member | None:
    return asyncio.run(people.find(key, wanted, client))


def test_a_key_is_known_by_its_hash_and_every_other_text_is_nobodys():
    people = People(ServeConfig(home="h", keys=(KeyLine("ana", "shop", hash_of(ANA)),), organisation="acme"))
    assert found(people, ANA) == Member("ana", "shop", "acme", hash_of(ANA)[:12])
    for wrong in ("", ANA[:-1], f"{ANA}0", ANA.upper(), hash_of(ANA), "a" * 20_000, "\udcff" * 64):
        assert found(people, wrong) is None


class Shelf:
    """Keys as a store keeps them, in memory."""

    def __init__(self) -> None:
        self.members = {BEN: Member("ben", "shop", key_id="k1")}
        self.asked = 0

    def member(self, key: str) -> Member | None:
        self.asked += 1
        if key == "unreachable" * 6:
            raise StoreError("the store cannot be reached")
        return self.members.get(key)


def test_the_store_is_asked_for_other_keys_and_a_withdrawn_one_ends_within_a_minute():
    shelf, now = Shelf(), [0.0]
    people = People(ServeConfig(home="h"), shelf, clock=lambda: now[0])
    assert [found(people, BEN), found(people, BEN)] == [shelf.members[BEN]] * 2
    assert shelf.asked == 1
    shelf.members.clear()
    now[0] = 59.0
    assert found(people, BEN) is not None
    now[0] = 61.0
    assert found(people, BEN) is None
    with pytest.raises(StoreError):
        found(people, "unreachable" * 6)


def test_too_many_wrong_keys_of_one_address_make_no_more_look_ups_and_hinder_no_other_address():
    shelf, now = Shelf(), [0.0]
    keys = (KeyLine("ana", "shop", hash_of(ANA)),)
    people = People(ServeConfig(home="h", keys=keys, wrong_keys_per_minute=3), shelf, clock=lambda: now[0])
    assert [found(people, WRONG) for _ in range(3)] == [None] * 3
    with pytest.raises(TooManyWrong) as error:
        found(people, WRONG)
    assert 0 < error.value.wait_s <= 20
    assert shelf.asked == 3
    assert found(people, ANA) is not None  # a right key of the configuration is never held up
    assert found(people, BEN, client="192.0.2.2") is not None
    now[0] = error.value.wait_s
    assert found(people, WRONG) is None


def test_a_token_of_the_issuer_names_its_member(issuer: Issuer):
    people = People(ServeConfig(home="h", oidc=issuer.config(), organisation="acme"))
    token = issuer.token()
    assert found(people, token) == Member("ana@example.com", "shop", "acme", hash_of(token)[:12])
    several = issuer.token(project=["shop", "site"])
    assert found(people, several) is None
    member = found(people, several, wanted="site")
    assert member is not None
    assert member.project == "site"
    assert found(people, several, wanted="bank") is None


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://another.example"},
        {"aud": "another"},
        {"exp": None},
        {"exp": datetime(2020, 1, 1, tzinfo=UTC)},
        {"nbf": datetime(2120, 1, 1, tzinfo=UTC)},
        {"iss": None},
        {"email": None},
        {"email": ""},
        {"email": 7},
        {"project": None},
        {"project": "two\nlines"},
    ],
    ids=str,
)
def test_a_token_with_a_wrong_claim_is_nobodys(issuer: Issuer, claims: dict[str, Any]):
    assert found(People(ServeConfig(home="h", oidc=issuer.config())), issuer.token(**claims)) is None


def test_a_token_that_another_key_signed_or_none_is_nobodys(issuer: Issuer):
    people = People(ServeConfig(home="h", oidc=issuer.config()))
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = issuer.key.public_key()
    encoding = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    pem = public.public_bytes(encoding.Encoding.PEM, encoding.PublicFormat.SubjectPublicKeyInfo)
    head, body, signature = issuer.token().split(".")
    by_hand = jwt.utils.base64url_encode
    confused = by_hand(b'{"alg":"HS256","typ":"JWT","kid":"one"}').decode() + f".{body}"
    hashed = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(confused.encode(), pem)
    unsigned = by_hand(b'{"alg":"none","kid":"one"}').decode() + f".{body}."
    for wrong in (
        issuer.token(key=other),
        f"{head}.{body}.{signature[:-8]}AAAAAAAA",
        f"{confused}.{by_hand(hashed).decode()}",
        unsigned,
        "a.b.c",
        f"{head}.{body}.{signature}.more",
    ):
        assert found(people, wrong) is None, wrong[:40]


def test_an_issuer_that_cannot_be_reached_is_told_from_a_wrong_token(issuer: Issuer):
    config = OidcConfig(issuer=issuer.url, audience=AUDIENCE, jwks_url="http://127.0.0.1:9/keys")
    with pytest.raises(StoreError, match="cannot be had"):
        found(People(ServeConfig(home="h", oidc=config)), issuer.token())


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.9", "", "192.0.2.9"),
        ("192.0.2.9", "203.0.113.5", "192.0.2.9"),  # no trusted proxy says it
        ("10.0.0.1", "203.0.113.5", "203.0.113.5"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.5, 10.0.0.7", "203.0.113.5"),  # the first is the client's own word
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.2", "10.0.0.1"),
        ("", "203.0.113.5", ""),
    ],
)
def test_only_a_trusted_proxy_says_who_the_client_is(peer: str, forwarded: str, client: str):
    given = {"x-forwarded-for": forwarded} if forwarded else {}
    assert client_of(peer, given, [ip_network("10.0.0.0/8")]) == client


def test_a_real_gateway_answers_members_alone(upstream: RawUpstream, issuer: Issuer, tmp_path: Path):
    oidc = f'[oidc]\nissuer = "{issuer.url}"\naudience = "{AUDIENCE}"\njwks_url = "{issuer.url}/keys"\n'
    with serving(tmp_path, upstream.url, oidc) as gateway:
        good = [
            gateway.ask(ANA).status,
            ask(gateway.url, "/via/anthropic/v1/messages", BODY, headers={KEY_HEADER: BEN}).status,
            gateway.ask(issuer.token()).status,
            ask(gateway.url, "/v1/messages", BODY, headers={KEY_HEADER: issuer.token()}).status,
        ]
        count = len(upstream.requests)
        none = ask(gateway.url, "/v1/messages", BODY)
        wrong = gateway.ask(WRONG)
        for path in ("/undrift", "/undrift/metrics", "/undrift/sessions", "/undrift/window/one", "/", "/v1/models"):
            assert gateway.get(path).status == 401, path
            assert gateway.get(path, WRONG).status == 401, path
        assert gateway.get("/undrift/metrics", ANA).status == 401  # a member sees no others
        assert gateway.get("/undrift/metrics", OPERATOR).status == 200
        assert gateway.ask(OPERATOR).status == 401
        misplaced = gateway.ask(ANA, path=f"/v1/messages?key={ANA}").status
        log = gateway.log.read_text()
    assert good == [200] * 4
    assert (none.status, wrong.status, misplaced) == (401, 401, 400)
    assert "put your key in front of /via/PROVIDER" in none.json["error"]["message"]
    assert "not known" in wrong.json["error"]["message"]
    assert len(upstream.requests) == count
    for request in upstream.requests:
        assert ANA not in f"{request.target}{request.headers}"
        assert not any(name.startswith("x-undrift") for name, _ in request.headers)
    assert all(one not in log for one in (ANA, BEN, WRONG, OPERATOR))
    assert '"person": "ana", "project": "shop"' in log


def test_wrong_keys_are_slowed_down_at_a_real_gateway(upstream: RawUpstream, tmp_path: Path):
    with serving(tmp_path, upstream.url, UNDRIFT_SERVE_WRONG_KEYS_PER_MINUTE="2") as gateway:
        heard = [gateway.ask(WRONG) for _ in range(3)]
        assert gateway.ask(ANA).status == 200
    assert [one.status for one in heard] == [401, 401, 429]
    assert 0 < int(heard[-1].headers["retry-after"]) <= 31
