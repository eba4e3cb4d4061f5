"""`undrift.wrap` of the SDKs' clients for the clouds of others: managed where the body may change, said where it may not."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

import undrift
from tests.sdk.loops import CLAUDE, FUNCTION, GPT, TOOL, claude_loop, provider, results, text_of
from undrift import Session, Settings
from undrift.sdk.calls import call_of
from undrift.testing import RawUpstream, Say, ScriptedProvider, Send, response

anthropic = pytest.importorskip("anthropic", reason="needs the package anthropic (make setup installs it)")
openai = pytest.importorskip("openai", reason="needs the package openai (make setup installs it)")

SMALL = Settings(budget_tokens=6_000)
VERTEX = {"region": "r", "project_id": "p", "access_token": "t", "max_retries": 0}
BEDROCK = {"aws_region": "r", "max_retries": 0}
AZURE = {"api_key": "k", "api_version": "2025-01-01", "max_retries": 0}
HELLO: Any = {"model": CLAUDE, "max_tokens": 99, "messages": [{"role": "user", "content": "Hello."}]}
REPLY = {
    "id": "m1", "type": "message", "role": "assistant", "model": CLAUDE, "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "Hi."}], "usage": {"input_tokens": 11, "output_tokens": 2},
}  # fmt: skip
AWS_PATH = "/model/claude-opus-4-5/invoke"
GOOGLE_PATH = "/v1/projects/p/locations/r/publishers/anthropic/models/claude-opus-4-5:"

CLAUDES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "vertex": (f"{GOOGLE_PATH}rawPredict", lambda url: anthropic.AnthropicVertex(base_url=f"{url}/v1", **VERTEX)),
    "bedrock": (AWS_PATH, lambda url: anthropic.AnthropicBedrock(api_key="k", base_url=url, **BEDROCK)),
    "mantle": (
        "/anthropic/v1/messages",
        lambda url: anthropic.AnthropicBedrockMantle(api_key="k", base_url=f"{url}/anthropic", **BEDROCK),
    ),
    "aws": ("/v1/messages", lambda url: anthropic.AnthropicAWS(api_key="k", workspace_id="w", base_url=url, **BEDROCK)),
    "google": (
        "/v1/messages",
        lambda url: anthropic.AnthropicGoogleCloud(
            project="p", location="r", workspace_id="w", token_provider=lambda: "t", base_url=url, max_retries=0
        ),
    ),
    "foundry": (
        "/anthropic/v1/messages",
        lambda url: anthropic.AnthropicFoundry(api_key="k", base_url=f"{url}/anthropic", max_retries=0),
    ),
}


def assert_fits(model: ScriptedProvider, shown: list[Any], path: str) -> None:
    assert [seen.refused for seen in model.requests] == [""] * 13
    assert {seen.path for seen in model.requests} == {path}
    assert len(shown) == 13
    assert shown[-1].tokens_before > 6_000 >= shown[-1].tokens_after
    assert text_of("part_0.py") not in model.requests[-1].text


@pytest.mark.parametrize("cloud", CLAUDES)
def test_claude_in_a_cloud_is_managed(home, cloud):
    path, made = CLAUDES[cloud]
    shown: list[Any] = []
    with provider(12) as model, made(model.url) as client:
        claude_loop(undrift.wrap(client, home=home, settings=SMALL, on_prepared=shown.append))
    assert_fits(model, shown, path)


def test_a_stream_of_vertex_is_managed_and_recorded(home):
    async def loop(client: Any) -> None:
        messages: list[Any] = [{"role": "user", "content": "Fix the totals."}]
        for _ in range(13):
            async with client.messages.stream(model=CLAUDE, max_tokens=999, tools=[TOOL], messages=messages) as stream:
                reply = await stream.get_final_message()
            messages += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": results(reply)}]
        await client.close()

    shown: list[Any] = []
    with provider(12) as model, Session.open("mine", home=home, settings=SMALL) as session:
        client = anthropic.AsyncAnthropicVertex(base_url=f"{model.url}/v1", **VERTEX)
        asyncio.run(loop(undrift.wrap(client, session=session, on_prepared=shown.append)))
        assert session.costs.watch.at_ms is not None
    assert_fits(model, shown, f"{GOOGLE_PATH}streamRawPredict")


@pytest.mark.parametrize("cloud", ["bedrock", "vertex"])
def test_a_beta_goes_where_the_cloud_reads_it(home, cloud):
    """To drop thinking before newer words needs a beta; Bedrock reads betas in the body alone."""
    with provider(12) as model, CLAUDES[cloud][1](model.url) as client:
        undrift.wrap(client, home=home, settings=SMALL)
        messages: list[Any] = [{"role": "user", "content": "Fix the totals."}]
        for _ in range(13):
            reply = client.messages.create(
                model="claude-opus-5-5",
                max_tokens=2_000,
                tools=[TOOL],
                messages=messages,
                thinking={"type": "adaptive"},
            )
            messages.append({"role": "assistant", "content": reply.content})
            messages.append({"role": "user", "content": results(reply) or "Go on."})
    assert [seen.refused for seen in model.requests] == [""] * 13
    last = model.requests[-1]
    named = last.body.get("anthropic_beta") if cloud == "bedrock" else last.headers["anthropic-beta"]
    assert "thinking-binding-controls" in str(named)
    assert ("anthropic_beta" in last.body) is (cloud == "bedrock")


def test_a_count_of_tokens_at_vertex_passes(home):
    shown: list[Any] = []
    answer = [Send(response(b'{"input_tokens": 7}'))]
    with RawUpstream(lambda _: answer) as upstream, CLAUDES["vertex"][1](upstream.url) as client:
        undrift.wrap(client, home=home, on_prepared=shown.append)
        assert client.messages.count_tokens(model=CLAUDE, messages=[{"role": "user", "content": "a"}]).input_tokens == 7
    assert shown == []


def chat_loop(client: Any, *, is_async: bool) -> None:
    """The loop of OpenAI's documentation."""

    async def loop() -> None:
        history: list[Any] = [{"role": "user", "content": "Fix the totals."}]
        for _ in range(13):
            reply = client.chat.completions.create(model=GPT, tools=[FUNCTION], messages=history)
            message = (await reply if is_async else reply).choices[0].message
            given = {one.id: json.loads(one.function.arguments)["path"] for one in message.tool_calls or ()}
            answers = [{"role": "tool", "tool_call_id": id_, "content": text_of(path)} for id_, path in given.items()]
            history += [message, *answers]
        if is_async:
            await client.close()
        else:
            client.close()

    asyncio.run(loop())


@pytest.mark.parametrize("is_async", [False, True])
def test_a_deployment_of_azure_is_managed(home, is_async):
    kind = openai.AsyncAzureOpenAI if is_async else openai.AzureOpenAI
    shown: list[Any] = []
    with provider(12) as model:
        client = kind(azure_endpoint=model.url, azure_deployment="mine", **AZURE)
        undrift.wrap(client, home=home, settings=SMALL, on_prepared=shown.append)
        chat_loop(client, is_async=is_async)
    assert_fits(model, shown, "/openai/deployments/mine/chat/completions?api-version=2025-01-01")


def test_the_responses_of_azure_are_managed(home):
    with (
        ScriptedProvider([Say("Hello!")], without_tools=True) as model,
        openai.AzureOpenAI(azure_endpoint=model.url, **AZURE) as client,
    ):
        found = undrift.wrap(client, home=home).responses.with_raw_response.create(model=GPT, input="Hello.")
    assert found.parse().output_text == "Hello!"
    assert "x-undrift-session" in found.headers
    assert model.requests[0].path == "/openai/responses?api-version=2025-01-01"


def test_openai_at_bedrock_is_managed_with_its_key(home):
    shown: list[Any] = []
    with provider(12) as model:
        client = openai.BedrockOpenAI(api_key="k", aws_region="us-east-1", base_url=f"{model.url}/openai/v1")
        chat_loop(undrift.wrap(client, home=home, settings=SMALL, on_prepared=shown.append), is_async=False)
    assert_fits(model, shown, "/openai/v1/chat/completions")


@pytest.mark.parametrize(
    ("path", "wire", "model"),
    [
        ("/model/us.anthropic.claude-opus-5-5-v1:0/invoke", "anthropic", "us.anthropic.claude-opus-5-5-v1:0"),
        ("/model/arn:aws:bedrock:r:1:inference-profile/mine/invoke", "anthropic", "claude"),
        ("/model/claude-opus-5-5/invoke-with-response-stream", "anthropic", "claude-opus-5-5"),
        ("/model/claude-opus-5-5/converse", None, None),
        ("/model/claude-opus-5-5/invoke/more", None, None),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", None, None),
        ("/openai/deployments/mine/embeddings", None, None),
    ],
)
def test_the_paths_of_the_clouds(path, wire, model):
    found = call_of("POST", path)
    assert (found and found.wire, found and found.model) == (wire, model)


def test_another_model_of_bedrock_passes(home):
    """Its body has another form, and says so by the field that it has not."""
    answer = [Send(response(b'{"generation": "Hi."}'))]
    with RawUpstream(lambda _: answer) as upstream, CLAUDES["bedrock"][1](upstream.url) as client:
        undrift.wrap(client, home=home)
        sent = {"messages": [{"role": "user", "content": "Hello."}], "schemaVersion": "messages-v1"}
        http = client._client.post(f"{upstream.url}/model/amazon.nova-pro-v1:0/invoke", json=sent)
    assert http.headers["x-undrift-bypass"] == "not-understood"
    assert json.loads(upstream.requests[0].body) == sent


def signature(body: bytes, session: str) -> str:
    return hashlib.sha256(body + session.encode()).hexdigest()


def test_a_signed_request_goes_out_as_it_was_signed(home, monkeypatch, caplog):
    """The SDK signs body and headers before it sends; only its signer is ours here, because botocore is not installed."""

    def signed(*, headers: Any, data: bytes, **_: Any) -> dict[str, str]:
        return {"authorization": f"AWS4-HMAC-SHA256 Signature={signature(data, headers['x-undrift-session'])}"}

    monkeypatch.setattr("anthropic.lib.bedrock._client.get_auth_headers", signed)
    answer = [Send(response(json.dumps(REPLY).encode()))]
    with (
        RawUpstream(lambda _: answer) as upstream,
        anthropic.AnthropicBedrock(base_url=upstream.url, **BEDROCK) as client,
    ):
        undrift.wrap(client, home=home)
        found = client.messages.with_raw_response.create(**HELLO, extra_headers={"x-undrift-session": "run-1"})
    sent = upstream.requests[0]
    assert sent.header["authorization"].endswith(signature(sent.body, sent.header["x-undrift-session"]))
    assert found.headers["x-undrift-bypass"] == "signed"
    assert found.parse().content[0].text == "Hi."
    assert "with an API key it is managed" in caplog.text
