"""What is not managed: which provider it goes to, with which headers, and that nothing of it changes."""

import json
from typing import Any

import pytest

from tests.proxy.builders import ask, gateway
from undrift import Settings
from undrift.proxy import GatewayConfig, Server, upstream_of
from undrift.proxy.headers import downstream, upstream
from undrift.proxy.routes import Route, route_of
from undrift.testing import RawUpstream, Send, response
from undrift.values.provider import PROVIDERS


def where(method: str, path: str, query: str = "", **headers: str) -> tuple[str, str, str] | None:
    found = route_of(method, path, query, {name.replace("_", "-"): value for name, value in headers.items()})
    return None if found is None else (found.provider, found.path, found.wire)


@pytest.mark.parametrize(
    ("path", "provider", "wire"),
    [
        ("/v1/messages", "anthropic", "anthropic"),
        ("/messages", "anthropic", "anthropic"),
        ("/v1/messages/count_tokens", "anthropic", ""),
        ("/v1/messages/batches", "anthropic", ""),
        ("/v1/chat/completions", "openai", "openai-chat"),
        ("/chat/completions", "openai", "openai-chat"),
        ("/v1/responses", "openai", "openai-responses"),
        ("/responses", "openai", "openai-responses"),
        ("/v1/responses/compact", "openai", ""),
        ("/v1/embeddings", "openai", ""),
        ("/v1/models/gemini-3.1-pro:generateContent", "gemini", "gemini"),
        ("/v1beta/models/gemini-3.1-pro:streamGenerateContent", "gemini", "gemini"),
        ("/v1beta/models/gemini-3.1-pro:countTokens", "gemini", ""),
        ("/v1/projects/p/locations/l/publishers/google/models/g:generateContent", "gemini", "gemini"),
        ("/v1beta1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent", "gemini", "gemini"),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-5@1:rawPredict", "vertex", "anthropic"),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/c:streamRawPredict", "vertex", "anthropic"),
        ("/projects/p/locations/l/publishers/anthropic/models/c:streamRawPredict", "vertex", "anthropic"),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", "vertex", ""),
        ("/v1/projects/p/locations/l/publishers/mistralai/models/m:rawPredict", "gemini", ""),
        ("/model/us.anthropic.claude-opus-5-v1%3A0/invoke", "bedrock", "anthropic"),
        ("/model/arn%3Aaws%3Abedrock%3Ax%2Fy/invoke-with-response-stream", "bedrock", "anthropic"),
        ("/model/amazon.nova-pro-v1%3A0/converse", "bedrock", ""),
        ("/model/m/invoke-with-bidirectional-stream", "bedrock", ""),
        ("/backend-api/codex/responses", "chatgpt", "openai-responses"),
        ("/backend-api/codex/responses/compact", "chatgpt", ""),
        ("/backend-api/wham/usage", "chatgpt", ""),
        ("/v1internal:streamGenerateContent", "gemini", ""),
        ("/v1beta/openai/chat/completions", "gemini", "openai-chat"),
        ("/openai/deployments/d/chat/completions", "openai", "openai-chat"),
    ],
)
def test_the_path_tells_whose_a_request_is(path: str, provider: str, wire: str):
    assert where("POST", path) == (provider, path, wire)
    assert where("POST", f"/via/{provider}{path}") == (provider, path, wire)


def test_where_the_path_does_not_tell_headers_do_and_else_nobody_is_asked():
    assert where("GET", "/v1/models") is None
    assert where("GET", "/v1/models", anthropic_version="2023-06-01") == ("anthropic", "/v1/models", "")
    assert where("GET", "/v1/models", user_agent="OpenAI/Python 3.54.0") == ("openai", "/v1/models", "")
    assert where("GET", "/v1/models", "key=x") == ("gemini", "/v1/models", "")
    assert where("GET", "/v1/models", anthropic_version="1", x_goog_api_key="2") is None
    assert where("GET", "/via/openai/v1/models", anthropic_version="1") == ("openai", "/v1/models", "")
    assert where("GET", "/via/nobody/v1/models") is None
    assert where("GET", "/v1/messages") == ("anthropic", "/v1/messages", "")
    assert where("HEAD", "/") is None


@pytest.mark.parametrize(
    ("agent", "provider"),
    [
        ("Anthropic/Python 2.12.0", "anthropic"),
        ("AsyncAnthropic/Python 2.12.0", "anthropic"),
        ("OpenAI/Python 3.54.0", "openai"),
        ("AsyncOpenAI/Python 3.54.0", "openai"),
        ("AzureOpenAI/Python 3.54.0", "openai"),
        ("AsyncAzureOpenAI/Python 3.54.0", "openai"),
        ("google-genai-sdk/3.4.0 gl-python/3.11.7", "gemini"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/v1/files", "/v1/batches", "/v1/models/m-1", "/models"])
def test_each_sdks_lists_find_their_provider_with_a_bearer_alone(agent: str, provider: str, path: str):
    assert where("GET", path, user_agent=agent, authorization="Bearer k") == (provider, path, "")
    assert where("GET", path, user_agent=f"Not{agent}", authorization="Bearer k") is None


def test_the_model_of_gemini_stands_in_the_path():
    path = "/v1beta/models/gemini-3.1-pro:generateContent"
    assert route_of("POST", path, "", {}) == Route("gemini", path, "gemini", "gemini-3.1-pro")


def test_a_model_in_a_cloud_is_looked_up_by_its_name_and_a_profile_of_the_users_own_as_some_claude():
    paths = (
        "us.anthropic.claude-opus-4-5-v1%3A0",
        "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aapplication-inference-profile%2Fx",
    )
    found = [route_of("POST", f"/model/{name}/invoke", "", {}) for name in paths]
    assert [route and (route.model, route.needs) for route in found] == [
        ("claude-opus-4-5-v1", "anthropic_version"),
        ("claude", "anthropic_version"),
    ]


def test_messages_of_foundry_are_managed_where_their_provider_is_known():
    path = "/anthropic/v1/messages"
    assert where("POST", f"/via/anthropic{path}") == ("anthropic", path, "anthropic")
    assert where("POST", path, anthropic_version="2023-06-01") == ("anthropic", path, "anthropic")
    assert where("POST", path, authorization="Bearer k") is None
    assert where("GET", path, anthropic_version="2023-06-01") == ("anthropic", path, "")


def test_a_providers_key_is_shown_to_no_other_provider():
    given = [
        ("authorization", "Bearer a"),
        ("x-api-key", "b"),
        ("x-goog-api-key", "c"),
        ("api-key", "d"),
        ("cookie", "e"),
        ("x-amz-security-token", "f"),
        ("chatgpt-account-id", "g"),
    ]
    sent = {name: dict(upstream(name, given, is_read=False)) for name in PROVIDERS}
    assert {name: sorted(pairs) for name, pairs in sent.items()} == {
        "anthropic": ["authorization", "x-api-key"],
        "openai": ["api-key", "authorization", "chatgpt-account-id"],
        "chatgpt": ["api-key", "authorization", "chatgpt-account-id"],
        "gemini": ["authorization", "x-goog-api-key"],
        "vertex": ["authorization", "x-goog-api-key"],
        "bedrock": ["authorization", "x-amz-security-token"],
    }


def test_what_an_edited_body_needs_joins_what_the_client_sends():
    given = [("anthropic-beta", "a-1, b-2"), ("accept-encoding", "gzip;q=1, br, zstd")]
    out = upstream("anthropic", given, is_read=True, added={"anthropic-beta": "b-2,c-3"})
    assert out == [("anthropic-beta", "a-1, b-2,c-3"), ("accept-encoding", "gzip;q=1")]
    assert upstream("anthropic", [], is_read=True, added={"anthropic-beta": "c-3"}) == [("anthropic-beta", "c-3")]
    assert dict(upstream("anthropic", [("accept-encoding", "br")], is_read=True)) == {"accept-encoding": "identity"}


def test_headers_of_the_connection_stay_behind():
    given = [
        (b"Connection", b"close"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Request-Id", b"r"),
        (b"Set-Cookie", b"x"),
    ]
    assert downstream(given) == [(b"request-id", b"r"), (b"set-cookie", b"x")]


def test_bytes_headers_and_queries_cross_as_they_are(tmp_path):
    odd = b'{ "input" : "\\u00e9\xc3\xa9",\n "input":2 }'
    answer = response(odd, headers={"request-id": "req_1", "x-ratelimit-limit": "7"})
    with RawUpstream(lambda _: [Send(answer)]) as up, gateway(tmp_path, up.url) as server:
        heard = ask(
            server.url,
            "/v1/messages/count_tokens?beta=true&x=%2F+%20a",
            odd,
            headers={"authorization": "Bearer oauth-token", "anthropic-beta": "unknown-2027", "x-unknown": "1"},
        )
    assert (heard.body, heard.headers["request-id"], heard.headers["x-ratelimit-limit"]) == (odd, "req_1", "7")
    assert not [name for name in heard.headers if name.startswith("x-undrift")]
    (seen,) = up.requests
    assert (seen.body, seen.target) == (odd, "/v1/messages/count_tokens?beta=true&x=%2F+%20a")
    assert (seen.header["authorization"], seen.header["anthropic-beta"]) == ("Bearer oauth-token", "unknown-2027")
    assert "x-unknown" not in seen.header
    assert "user-agent" not in seen.header  # the client sent none


def test_two_user_agents_pass(tmp_path):
    import socket
    from urllib.parse import urlsplit

    with RawUpstream(lambda _: [Send(response(b"{}"))]) as up, gateway(tmp_path, up.url) as server:
        parts = urlsplit(server.url)
        with socket.create_connection((parts.hostname, parts.port), timeout=10) as client:
            lines = [
                "POST /v1beta/models/g:countTokens HTTP/1.1",
                f"host: {parts.netloc}",
                "user-agent: a",
                "user-agent: b",
            ]
            client.sendall("\r\n".join([*lines, "content-length: 2", "connection: close", "", "{}"]).encode())
            while client.recv(65536):
                pass
    assert [value for name, value in up.requests[0].headers if name == "user-agent"] == ["a", "b"]


def test_a_long_upload_crosses_while_it_comes_in(tmp_path):
    large = b"x" * (3 << 20)
    with RawUpstream(lambda _: [Send(response(b"{}"))]) as up, gateway(tmp_path, up.url) as server:
        heard = ask(server.url, "/via/openai/v1/files", large)
    assert heard.status == 200
    assert up.requests[0].body == large


def test_an_unknown_path_goes_nowhere(tmp_path):
    with RawUpstream(lambda _: [Send(response(b"{}"))]) as up, gateway(tmp_path, up.url) as server:
        heard = ask(server.url, "/v1/models", method="GET", headers={"authorization": "Bearer x"})
    assert heard.status == 404
    assert "/via/openai" in heard.json["error"]["message"]
    assert up.requests == ()


def test_each_provider_has_its_own_upstream(tmp_path):
    def named(name: str) -> RawUpstream:
        return RawUpstream(lambda _: [Send(response(json.dumps(name).encode()))])

    with named("a") as a, named("o") as o, named("g") as g:
        upstreams: Any = {
            "anthropic": upstream_of(a.url),
            "openai": upstream_of(f"{o.url}/base/v1"),
            "gemini": upstream_of(g.url),
        }
        config = GatewayConfig(settings=Settings(home=str(tmp_path)), upstreams=upstreams, port=0)
        with Server(config) as server:
            heard = [ask(server.url, path).json for path in ("/v1/messages", "/v1/responses", "/v1beta/models/g:x")]
    assert heard == ["a", "o", "g"]
    assert o.requests[0].target == "/base/v1/responses"
