"""Claude on Bedrock and Vertex AI through the gateway: managed, recorded, and left alone where a signature covers the body."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.builders import ask, gateway
from undrift import Settings
from undrift.proxy import GatewayConfig, Server, upstream_of
from undrift.proxy.config import DEFAULT_UPSTREAMS, Upstream, regional
from undrift.proxy.routes import Route, by_login
from undrift.stores.sqlite import SqliteStore
from undrift.testing import RawUpstream, ScriptedProvider, Send, Use, response
from undrift.values.provider import Provider
from undrift.wire import sse

BEDROCK = "/model/us.anthropic.claude-opus-5-5-v1%3A0/invoke"
VERTEX = "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-5-5@20261001:"
PATHS = {
    "bedrock": BEDROCK,
    "bedrock stream": f"{BEDROCK}-with-response-stream",
    "vertex": f"{VERTEX}rawPredict",
    "vertex stream": f"{VERTEX}streamRawPredict",
}
READ = {
    "name": "Read",
    "description": "Reads.",
    "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
}
KEY = {"authorization": "Bearer k"}
SIGNED = {"authorization": "AWS4-HMAC-SHA256 Credential=A/20261122/us-east-1/bedrock/aws4_request, Signature=0"}


class Client:
    """A client of Claude in a cloud, which sends its whole history each time."""

    def __init__(self, url: str, place: str, version: str = "", **fields: Any) -> None:
        self.url, self.place = url, place
        self.messages: list[Any] = [{"role": "user", "content": "Read the files."}]
        version = version or ("bedrock-2023-05-31" if "bedrock" in place else "vertex-2023-10-16")
        stream = {"stream": True} if place == "vertex stream" else {}
        self.fields = {"anthropic_version": version, "max_tokens": 2_000, "tools": [READ], **stream, **fields}

    def ask(self, **headers: str) -> Any:
        body = {**self.fields, "messages": self.messages}
        heard = ask(self.url, PATHS[self.place], body, headers={**KEY, "x-undrift-session": "s", **headers})
        assert heard.status == 200, heard.body
        answer = sse.answer_of("anthropic", heard.body)
        assert answer is not None
        self.messages.append({"role": "assistant", "content": answer["content"]})
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": f"value_{call['input']['n']} " * 700}
            for call in answer["content"]
            if call["type"] == "tool_use"
        ]
        if results:
            self.messages.append({"role": "user", "content": results})
        return heard


def settings(home: Path) -> Settings:
    return Settings(home=str(home), token_counter="characters/4", keep_tool_results=1, budget_tokens=4_000)


@pytest.mark.parametrize(("place", "version"), [*((place, "") for place in PATHS), ("bedrock", "2026-10-21")])
def test_a_long_session_is_managed_recorded_and_never_refused(place: str, version: str, tmp_path):
    """The SDK of today sends the version of the API itself to each cloud."""
    turns = [Use("Read", {"n": number}) for number in range(12)]
    given = Settings(home=str(tmp_path), keep_tool_results=1, budget_tokens=4_000)
    with ScriptedProvider(turns) as provider, gateway(tmp_path, provider.url, given) as server:
        client = Client(server.url, place, version, thinking={"type": "adaptive"})
        heard = [client.ask() for _ in range(13)]
    assert [seen.refused for seen in provider.requests] == [""] * 13
    assert [one.headers.get("x-undrift-bypass") for one in heard] == [None] * 13
    assert max(int(one.headers["x-undrift-tokens-after"]) for one in heard) <= 4_000
    last = provider.requests[-1]
    assert len(last.raw) < len(json.dumps(client.messages)) / 2
    assert "authorization" not in last.headers  # the provider kept none; it was shown the client's own
    beta = last.body.get("anthropic_beta", last.headers.get("anthropic-beta"))
    assert "thinking-binding-controls" in str(beta)
    assert ("anthropic_beta" in last.body) == ("bedrock" in place)
    assert reports(tmp_path)


def reports(home: Path) -> int:
    """How many answers were recorded: each gives a report of usage."""
    with SqliteStore.open(home) as store:
        return sum(operation.kind == "calibrate" for operation in store.operations("s"))


@pytest.mark.parametrize("place", PATHS)
def test_with_room_enough_the_body_is_the_clients_own(place: str, tmp_path):
    with ScriptedProvider() as provider, gateway(tmp_path, provider.url) as server:
        client = Client(server.url, place)
        sent = json.dumps({**client.fields, "messages": client.messages}).encode()
        heard = ask(server.url, PATHS[place], sent, headers=KEY)
    assert heard.status == 200
    assert provider.requests[0].raw == sent
    assert provider.requests[0].path == PATHS[place]


@pytest.mark.parametrize("query", ["", "?X-Amz-Signature=0"])
def test_a_body_under_a_signature_passes_as_it_came(query: str, tmp_path):
    headers = KEY if query else SIGNED
    with (
        RawUpstream(lambda _: [Send(response(b'{"message": "no"}', status=403))]) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path)) as server,
    ):
        client = Client(server.url, "bedrock")
        client.messages[0]["content"] = "x" * 40_000
        sent = json.dumps({**client.fields, "messages": client.messages}).encode()
        heard = ask(server.url, BEDROCK + query, sent, headers=headers)
    assert (heard.status, heard.headers["x-undrift-bypass"]) == (403, "signed")
    assert upstream.requests[0].body == sent
    assert upstream.requests[0].header["authorization"] == headers["authorization"]


@pytest.mark.parametrize("place", PATHS)
def test_the_guards_stand_before_every_cloud(place: str, tmp_path):
    """A foreign name is refused, and a page of this machine is not known to be the owner's."""
    with (
        RawUpstream(lambda _: [Send(response(b"{}"))]) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path)) as server,
    ):
        client = Client(server.url, place)
        client.messages[0]["content"] = "x" * 40_000
        sent = json.dumps({**client.fields, "messages": client.messages}).encode()
        refused = [
            ask(server.url, PATHS[place], sent, headers={**KEY, **one}).status
            for one in ({"host": "evil.example"}, {"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"})
        ]
        wrong_token = f"/{'0' * 64}/via/{'bedrock' if 'bedrock' in place else 'vertex'}{PATHS[place]}"
        page = {**KEY, "origin": "http://localhost:3000"}
        heard = [ask(server.url, path, sent, headers=page) for path in (PATHS[place], wrong_token)]
    assert refused == [421, 401, 401]
    assert [one.status for one in heard] == [401, 401]
    assert upstream.requests == ()


def test_another_model_of_bedrock_is_left_alone(tmp_path):
    body = {"messages": [{"role": "user", "content": [{"text": "x" * 40_000}]}], "inferenceConfig": {}}
    with (
        RawUpstream(lambda _: [Send(response(b"{}"))]) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path)) as server,
    ):
        heard = ask(server.url, "/model/amazon.nova-pro-v1%3A0/invoke", body, headers=KEY)
    assert heard.headers["x-undrift-bypass"] == "not-understood"
    assert json.loads(upstream.requests[0].body) == body


def test_a_length_that_bedrock_refuses_is_answered_with_a_smaller_request(tmp_path):
    steps = iter([response(b'{"message": "Input is too long for requested model."}', status=400), response(b"{}")])
    with (
        RawUpstream(lambda _: [Send(next(steps))]) as upstream,
        gateway(tmp_path, upstream.url) as server,
    ):
        client = Client(server.url, "bedrock")
        for number in range(12):
            call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"n": number}}
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"value_{number} " * 700}
            client.messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        heard = ask(server.url, BEDROCK, {**client.fields, "messages": client.messages}, headers=KEY)
    assert heard.status == 200
    first, second = upstream.requests
    assert len(second.body) < len(first.body)


@pytest.mark.parametrize("path", ["/via/openai/v1/responses", "/via/openai/responses", "/v1/responses"])
def test_a_login_of_chatgpt_goes_to_chatgpt_and_a_key_to_openai(path: str, tmp_path):
    """Codex has one base URL for both. What a gateway sends to another address on purpose goes there in both cases."""
    body = {"model": "gpt-5.5", "input": "Hi."}
    login = {"authorization": "Bearer a", "chatgpt-account-id": "b"}
    with (
        RawUpstream(lambda _: [Send(response(b"{}"))]) as chatgpt,
        RawUpstream(lambda _: [Send(response(b"{}"))]) as relay,
    ):
        given = Settings(home=str(tmp_path))
        upstreams: dict[Provider, Upstream] = {
            "openai": upstream_of("https://api.openai.com/v1"),
            "chatgpt": upstream_of(chatgpt.url),
        }
        with Server(GatewayConfig(settings=given, upstreams=upstreams, port=0)) as server:
            assert ask(server.url, path, body, headers=login).headers["x-undrift-tokens-after"]
            assert ask(server.url, "/via/openai/v1/models", method="GET", headers=login).status == 200
        upstreams["openai"] = upstream_of(relay.url)
        with Server(GatewayConfig(settings=given, upstreams=upstreams, port=0)) as server:
            assert ask(server.url, path, body, headers=login).status == 200
    assert [one.target for one in chatgpt.requests] == ["/backend-api/codex/responses", "/backend-api/codex/models"]
    assert [one.header["chatgpt-account-id"] for one in chatgpt.requests] == ["b", "b"]
    assert [one.target for one in relay.requests] == [path.removeprefix("/via/openai")]
    assert by_login(Route("openai", "/v1/responses"), KEY) == Route("openai", "/v1/responses")
    assert by_login(Route("openai", "/backend-api/codex/x"), login).path == "/backend-api/codex/x"


@pytest.mark.parametrize(
    ("variables", "bedrock", "vertex"),
    [
        ({}, DEFAULT_UPSTREAMS["bedrock"], DEFAULT_UPSTREAMS["vertex"]),
        (
            {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-west-2", "CLOUD_ML_REGION": "us-east5"},
            "https://bedrock-runtime.eu-west-1.amazonaws.com",
            "https://us-east5-aiplatform.googleapis.com",
        ),
        (
            {"AWS_DEFAULT_REGION": "cn-north-1", "CLOUD_ML_REGION": "eu"},
            "https://bedrock-runtime.cn-north-1.amazonaws.com.cn",
            "https://aiplatform.eu.rep.googleapis.com",
        ),
        ({"CLOUD_ML_REGION": "global"}, DEFAULT_UPSTREAMS["bedrock"], "https://aiplatform.googleapis.com"),
    ],
)
def test_the_users_region_chooses_the_address(variables: dict[str, str], bedrock: str, vertex: str):
    found = regional(variables)
    assert (found["bedrock"], found["vertex"]) == (bedrock, vertex)


@pytest.mark.parametrize("odd", ["evil.example/", "us-east-1.evil", "a@b", "x" * 60, "us-east-1\n", "#"])
def test_a_region_that_is_none_chooses_no_address(odd: str):
    assert regional({"AWS_REGION": odd, "CLOUD_ML_REGION": odd}) == DEFAULT_UPSTREAMS
