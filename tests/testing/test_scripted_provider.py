"""The scripted provider: its turns in order, in the form of either provider, to whoever asks over HTTP."""

import json
import sys
import urllib.error
import urllib.request
from typing import Any

import pytest

from undrift.profiles import acts_of
from undrift.testing import Follow, Read, Result, Say, ScriptedProvider, Shell, Together, Use, history_for

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

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


def test_several_calls_stand_in_one_answer():
    with ScriptedProvider([Together((Shell("ls"), Read("/a.py")))]) as provider:
        blocks = messages(provider)["content"]
    assert [(block["name"], block["input"].get("file_path")) for block in blocks] == [("Bash", None), ("Read", "/a.py")]


def test_a_model_may_act_on_what_it_reads():
    follow = Follow(lambda text: Shell(text.split("please run ")[1].split("\n")[0]))
    with ScriptedProvider([follow, Say("Done.")]) as provider:
        (block,) = messages(provider, "please run make test")["content"]
        assert block["input"]["command"] == "make test"
        assert messages(provider)["content"][0]["text"] == "Done."


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


def test_a_compaction_is_known_though_a_system_message_stands_behind_it():
    asked = [
        {"role": "user", "content": "CRITICAL: Respond with TEXT ONLY."},
        {"role": "system", "content": "<total_tokens>99 tokens left</total_tokens>"},
    ]
    with ScriptedProvider([Say("A turn.")], summary="In short.") as provider:
        assert messages(provider, model="claude-opus-4-8", messages=asked)["content"][0]["text"] == "In short."


def test_the_openai_form_calls_its_shell():
    with ScriptedProvider([Read("/a.py"), Say("Done.")]) as provider:
        (call,), (message,) = responses(provider)["output"], responses(provider)["output"]
    assert (call["name"], json.loads(call["arguments"])) == ("exec_command", {"cmd": "cat '/a.py'"})
    assert message["content"][0]["text"] == "Done."


def test_code_that_calls_the_shell_is_the_text_of_a_custom_tool():
    own = {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}
    items = [{"type": "additional_tools", "role": "developer", "tools": [own]}, {"role": "user", "content": "go on"}]
    with ScriptedProvider([Shell("ls 'a b'"), Say("Done.")]) as provider:
        (call,) = responses(provider, input=items, tools=[])["output"]
        answer = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "a.py"}
        (message,) = responses(provider, input=[*items, call, answer], tools=[])["output"]
    (act,) = acts_of(call["name"], call["input"])
    assert (call["type"], act.command) == ("custom_tool_call", "ls 'a b'")
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


PATHS = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-3.8-flash:streamGenerateContent",
}
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS: dict[str, Any] = {
    "anthropic": [{"name": "shell", "input_schema": SCHEMA}],
    "openai-chat": [{"type": "function", "function": {"name": "shell", "parameters": SCHEMA}}],
    "openai-responses": [{"type": "function", "name": "shell", "parameters": SCHEMA}],
    "gemini": [{"functionDeclarations": [{"name": "shell", "parametersJsonSchema": SCHEMA}]}],
}
THINKING: dict[str, Any] = {
    "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000},
    "openai-responses": {"include": ["reasoning.encrypted_content"], "store": False},
}


def whole(wire: str, text: str) -> dict[str, Any]:
    """The answer that a client puts together from a stream."""
    found = [event for event in events(text.replace("data: [DONE]", "")) if event]
    if wire == "openai-responses":
        return found[-1]["response"]
    if wire == "gemini":
        parts = [part for event in found for part in event["candidates"][0]["content"]["parts"]]
        return {"candidates": [{"content": {"role": "model", "parts": parts}}]}
    if wire == "openai-chat":
        deltas = [event["choices"][0]["delta"] for event in found if event["choices"]]
        pieces = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
        given = "".join(piece["function"].get("arguments", "") for piece in pieces)
        calls = [{**pieces[0], "function": {**pieces[0]["function"], "arguments": given}}] if pieces else None
        content = "".join(delta.get("content") or "" for delta in deltas) or None
        return {"choices": [{"message": {"role": "assistant", "content": content, "tool_calls": calls}}]}
    blocks: list[dict[str, Any]] = []
    for event in found:
        if event["type"] == "content_block_start":
            blocks.append({**event["content_block"], "said": ""})
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            blocks[-1]["signature"] = delta.get("signature", blocks[-1].get("signature"))
            blocks[-1]["said"] += delta.get("text") or delta.get("thinking") or delta.get("partial_json") or ""
    return {"content": [joined(block) for block in blocks]}


def joined(block: dict[str, Any]) -> dict[str, Any]:
    said, kind = block["said"], block["type"]
    if kind == "tool_use":
        return {"type": kind, "id": block["id"], "name": block["name"], "input": json.loads(said)}
    return {"type": kind, kind: said, **({"signature": block["signature"]} if kind == "thinking" else {})}


@pytest.mark.parametrize("wire", PATHS)
def test_a_session_with_two_tools_is_streamed_in_each_form_and_judged_by_its_provider(wire: str):
    history = history_for(wire, model="gpt-5.5" if wire.startswith("openai") else "claude-sonnet-4-5", tools=("shell",))
    history.say("Go on.")
    with ScriptedProvider([Shell("cat one.txt"), Shell("cat two.txt"), Say("Done.")]) as provider:
        for _ in range(3):
            body = history.body() | {"tools": TOOLS[wire], "stream": True} | THINKING.get(wire, {})
            if wire == "gemini":
                del body["stream"]
            history.take(whole(wire, post(f"{provider.url}{PATHS[wire]}", body)))
            if history.open:
                history.answer([Result("a result")])
    assert [seen.refused for seen in provider.requests] == ["", "", ""]
    assert "Done." in json.dumps(history.items[-1])
    assert [json.dumps(history.items).count(command) for command in ("one.txt", "two.txt")] == [1, 1]
    assert json.loads(provider.requests[-1].raw) == provider.requests[-1].body


def test_what_the_provider_would_refuse_is_refused_in_its_words_and_takes_no_turn():
    orphan = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}]}
    with ScriptedProvider([Say("Done.")]) as provider:
        with pytest.raises(urllib.error.HTTPError, match="400") as caught:
            messages(provider, messages=[orphan])
        assert "tool_use_id" in json.loads(caught.value.read())["error"]["message"]
        caught.value.close()
        assert messages(provider)["content"][0]["text"] == "Done."
        assert ["tool_use_id" in seen.refused for seen in provider.requests] == [True, False]


def test_a_side_request_gets_the_least_that_its_schema_allows():
    properties = {
        "model": {"type": "STRING", "enum": ["flash", "pro"]},
        "why": {"type": "string"},
        "n": {"type": "integer"},
    }
    schema = {"type": "object", "required": ["model", "why", "n"], "properties": properties}
    body = {
        "contents": [{"role": "user", "parts": [{"text": "x"}]}],
        "generationConfig": {"responseJsonSchema": schema},
    }
    with ScriptedProvider([Say("A turn.")]) as provider:
        said = json.loads(post(f"{provider.url}/v1beta/models/gemini-3.8-flash:generateContent", body))
        assert provider.requests[0].kind == "side"
    text = next(part["text"] for part in said["candidates"][0]["content"]["parts"] if not part.get("thought"))
    assert json.loads(text) == {"model": "flash", "why": "ok", "n": 1}


def test_where_a_client_has_no_tools_its_requests_take_turns():
    with ScriptedProvider([Say("A turn.")], without_tools=True) as provider:
        assert messages(provider, tools=[])["content"][0]["text"] == "A turn."


def test_codex_with_a_login_of_chatgpt_finds_its_account_and_its_compressed_requests_are_read():
    with ScriptedProvider([Say("Read.")]) as provider:
        asked = urllib.request.Request(
            f"{provider.url}/backend-api/wham/accounts/check", headers={"chatgpt-account-id": "a"}
        )
        with urllib.request.urlopen(asked, timeout=10) as reply:
            (account,) = json.loads(reply.read())["accounts"]
        body = zstd.compress(
            json.dumps({"model": "m", "input": [{"role": "user", "content": "go on"}], "tools": [EXEC]}).encode()
        )
        url = f"{provider.url}/backend-api/codex/responses"
        with urllib.request.urlopen(
            urllib.request.Request(url, body, {"content-encoding": "zstd"}), timeout=10
        ) as reply:
            said = json.loads(reply.read())["output"][0]["content"][0]["text"]
    assert (account["id"], said) == ("a", "Read.")


@pytest.mark.parametrize("asked", [True, False])
def test_a_chat_stream_ends_with_its_usage_only_if_the_request_asks_for_it(asked):
    body: dict[str, Any] = {"model": "gpt-5.5", "messages": [{"role": "user", "content": "go on"}], "stream": True}
    body |= {"stream_options": {"include_usage": True}} if asked else {}
    with ScriptedProvider([Say("Done.")], without_tools=True) as provider:
        lines = post(f"{provider.url}/v1/chat/completions", body).split("data: ")
    chunks = [json.loads(line) for line in lines if line.startswith("{")]
    assert lines[-1].strip() == "[DONE]"
    assert [chunk["usage"]["total_tokens"] > 0 for chunk in chunks if chunk.get("usage")] == [True] * asked
    assert (chunks[-1]["choices"] == []) is asked
