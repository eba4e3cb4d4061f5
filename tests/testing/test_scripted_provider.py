"""The scripted provider: its turns in order, in the form of either provider, to whoever asks over HTTP."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from undrift.testing import Read, Say, ScriptedProvider, Shell, Use

BASH = {"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}, "description": {}}}}
READ = {"name": "Read", "input_schema": {"properties": {"file_path": {"type": "string"}}}}
EXEC = {"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {"type": "string"}}}}


def post(url: str, body: dict[str, Any], **headers: str) -> str:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=10) as reply:
        text: str = reply.read().decode()
    return text


def messages(provider: ScriptedProvider, text: str = "go on", **more: Any) -> Any:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], "tools": [BASH, READ], **more}
    return json.loads(post(f"{provider.url}/v1/messages?beta=true", body))


def responses(provider: ScriptedProvider, **more: Any) -> Any:
    body = {"model": "m", "input": [{"role": "user", "content": "go on"}], "tools": [EXEC], **more}
    return json.loads(post(f"{provider.url}/v1/responses", body))


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


def test_turns_come_in_order_in_the_words_of_the_clients_tools():
    with ScriptedProvider([Shell("ls"), Read("/a.py"), Use("Edit", {"a": 1}), Say("Done.")]) as provider:
        blocks = [messages(provider)["content"][0] for _ in range(4)]
    assert [(block.get("name"), block.get("input"), block.get("text")) for block in blocks] == [
        ("Bash", {"command": "ls", "description": "a step of the script"}, None),
        ("Read", {"file_path": "/a.py"}, None),
        ("Edit", {"a": 1}, None),
        (None, None, "Done."),
    ]
    assert len({block["id"] for block in blocks[:3]}) == 3


def test_after_the_script_it_says_so():
    with ScriptedProvider() as provider:
        assert messages(provider)["content"][0]["text"] == "The script is done."
        provider.say(Say("More."))
        assert messages(provider)["content"][0]["text"] == "More."


def test_a_compaction_gets_the_summary_and_takes_no_turn():
    with ScriptedProvider([Say("A turn.")], summary="In short.") as provider:
        assert messages(provider, "CRITICAL: Respond with TEXT ONLY.")["content"][0]["text"] == "In short."
        assert messages(provider, tools=[])["content"][0]["text"] == "ok"
        assert messages(provider)["content"][0]["text"] == "A turn."
        assert [seen.kind for seen in provider.requests] == ["summary", "side", "main"]


def test_the_openai_form_calls_its_shell():
    with ScriptedProvider([Read("/a.py"), Say("Done.")]) as provider:
        (call,), (message,) = responses(provider)["output"], responses(provider)["output"]
    assert (call["name"], json.loads(call["arguments"])) == ("exec_command", {"cmd": "cat '/a.py'"})
    assert message["content"][0]["text"] == "Done."


@pytest.mark.parametrize("turn", [Shell("ls"), Say("Done.")])
def test_a_stream_says_the_same_as_the_whole(turn: Any):
    with ScriptedProvider([turn, turn]) as provider:
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [BASH], "stream": True}
        streamed = events(post(f"{provider.url}/v1/messages", body))
        whole = messages(provider)["content"][0]
    deltas = [event["delta"] for event in streamed if event["type"] == "content_block_delta"]
    said = "".join(delta.get("text") or delta.get("partial_json") for delta in deltas)
    assert (json.loads(said) if isinstance(turn, Shell) else said) == (whole.get("input") or whole["text"])
    assert [streamed[0]["type"], streamed[-1]["type"]] == ["message_start", "message_stop"]


@pytest.mark.parametrize("turn", [Shell("ls"), Say("Done.")])
def test_a_stream_of_the_openai_form_ends_with_the_whole(turn: Any):
    with ScriptedProvider([turn]) as provider:
        body = {"model": "m", "input": "x", "tools": [EXEC], "stream": True}
        streamed = events(post(f"{provider.url}/v1/responses", body))
    assert [event["sequence_number"] for event in streamed] == list(range(len(streamed)))
    assert streamed[-1]["type"] == "response.completed"
    assert streamed[-1]["response"]["output"] == [streamed[-2]["item"]]


def test_requests_are_kept_without_keys():
    secret = "sk-" + "ant-1234"
    with ScriptedProvider([Say("Done.")]) as provider:
        body = {"model": "m", "messages": [{"role": "user", "content": "remember me"}], "tools": [BASH]}
        post(f"{provider.url}/v1/messages", body, **{"x-api-key": secret, "Authorization": secret, "x-other": "kept"})
        (seen,) = provider.requests
    assert secret not in repr(seen)
    assert seen.headers["x-other"] == "kept"
    assert "remember me" in seen.text


def test_an_unknown_route_is_an_error_and_a_second_close_is_none():
    with ScriptedProvider() as provider:
        with pytest.raises(urllib.error.HTTPError, match="404") as caught:
            post(f"{provider.url}/v1/nothing", {})
        caught.value.close()
        provider.close()
    provider.close()
