"""Sessions under a name that a person knows again: on every place where they are told of, and harmless there."""

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import undrift
from tests.proxy.builders import PATHS, ask, gateway, token
from undrift.proxy.naming import Name, kind_of, name_of
from undrift.testing import RawUpstream, Send, response
from undrift.window.request import Request
from undrift.wire.forms import form_of

CLAUDE = "claude-cli/2.1.330 (external, sdk-cli)"
TOOLS = [{"name": "Read", "input_schema": {"type": "object"}}]
ANSWER = b'{"id": "m", "content": [], "usage": {"input_tokens": 5, "output_tokens": 1}}'


@pytest.fixture
def upstream():
    with RawUpstream(lambda _: [Send(response(ANSWER))]) as found:
        yield found


def body(*texts: str, system: str = "", tools: bool = True, **more: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text} for text in texts]
    given = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": blocks}], **more}
    return {**given, **({"system": system} if system else {}), **({"tools": TOOLS} if tools else {})}


def named(form: str, given: Any, agent: str = CLAUDE) -> Name:
    request = Request(given, form_of(form))
    request.open()
    return name_of(form_of(form), request, agent)


def sessions(server: Any, home: Path) -> list[dict[str, Any]]:
    heard = ask(server.url, "/undrift/sessions", method="GET", headers={"x-undrift-token": token(home)})
    found: list[dict[str, Any]] = heard.json["sessions"]
    return found


def test_what_each_client_shows_of_itself():
    reminder = "<system-reminder>\nBe kind: Working directory is a phrase.\n</system-reminder>"
    env = "<env>\nWorking directory: /home/u/my project\nIs git: yes\n</env>"
    claude = named("anthropic", body(reminder, "Fix the   login\nbug", system=f"You help.\n{env}"))
    assert claude.text == "my project · Claude Code · Fix the login bug"
    items = [
        {"role": "developer", "content": "You are Codex."},
        {"role": "user", "content": "<environment_context>\n  <cwd>/srv/app/</cwd>\n</environment_context>"},
        {"role": "user", "content": "# AGENTS.md instructions for /srv/app\n\nBe brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "Add a test"}]},
    ]
    codex = named("openai-responses", {"model": "gpt-5.5", "input": items}, "codex_exec/0.169.0 (Debian)")
    assert codex == Name("app", "Codex", "Add a test")
    contents = [
        {"role": "user", "parts": [{"text": "I'm currently working in the directory: C:\\work\\site\n"}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
    ]
    gemini = named("gemini", {"contents": contents}, "GeminiCLI-tui/0.61.0/gemini (linux)")
    assert (gemini.folder, gemini.client) == ("site", "Gemini CLI")
    said = [{"role": "system", "content": "Act as an expert software developer."}, {"role": "user", "content": "Hello"}]
    assert named("openai-chat", {"messages": said}, "OpenAI/Python 2.20.0") == Name("", "aider", "Hello")
    assert named("openai-chat", {"messages": said[1:]}, "my-tool/1.0 beta") == Name("", "my-tool", "Hello")


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[2J\x1b]0;x\x07",
        "a\u202eb\u2066c\u200b",
        "\ud800 lone",
        "x" * 5_000_000,
        "<a" * 100_000,
        "<a>" * 100_000,
        "Working directory: " * 50_000,
        "Working directory: /" + "a" * 1_000_000,
        "\x00\r\n\t",
        "key sk-ant-api03-" + "a" * 95,
    ],
    ids=["escapes", "turned", "surrogate", "long", "open", "tags", "folders", "path", "controls", "secret"],
)
def test_a_name_is_short_printable_and_holds_no_secret(text: str):
    for given in (body(text, system=text), body(f"Do {text}", system=f"Working directory: /x/{text}")):
        found = named("anthropic", given, f"{text[:300]}/1")
        assert len(found.text) < 140
        assert found.text.isprintable()
        assert "a" * 90 not in found.text
        json.dumps(found.as_json()).encode("ascii")


def test_a_session_is_told_of_under_its_name_and_stored_once(upstream, tmp_path, caplog):
    caplog.set_level(logging.INFO, "undrift.proxy")
    asked = {"user-agent": CLAUDE}
    system = "Working directory: /home/u/shop"
    with gateway(tmp_path, upstream.url) as server:
        ask(server.url, body=body("Canary words of the user", system=system), headers=asked)
        (told,) = sessions(server, tmp_path)
        until = time.monotonic() + 20
        while undrift("sessions", "--home", tmp_path).exit_code and time.monotonic() < until:
            time.sleep(0.05)  # the name is written beside the answer's way
    assert told["name"] == "shop · Claude Code · Canary words of the user"
    assert told["requests"] == {"main": 1}
    (line,) = [one for one in map(json.loads, caplog.messages) if one["event"] == "request"]
    assert line["name"] == "shop · Claude Code"
    assert "Canary" not in caplog.text
    listed = json.loads(undrift("sessions", "--home", tmp_path, "--json").stdout)
    assert [(one["name"], one["operations"]) for one in listed["sessions"]] == [(told["name"], 1)]
    with gateway(tmp_path, upstream.url) as server:  # the name stays, whatever comes after a restart
        again = body("Canary words of the user", system=system.replace("shop", "other"))
        ask(server.url, body=again, headers={**asked, "x-undrift-session": told["session"]})
        assert [one["name"] for one in sessions(server, tmp_path)] == [told["name"]]
    assert "shop · Claude Code · Canary words" in undrift("sessions", "--home", tmp_path).stdout


def test_requests_of_sub_agents_and_for_titles_are_kept_apart(upstream, tmp_path, caplog):
    caplog.set_level(logging.INFO, "undrift.proxy")
    user = {"user_id": json.dumps({"session_id": "b583237d-88f3-4ab3-ba01-287f3af6ef47"})}
    asked = {"user-agent": CLAUDE}
    with gateway(tmp_path, upstream.url) as server:
        for given, more in (
            (body("Name this", tools=False, metadata=user), {}),
            (body("Look around", metadata=user), {"x-claude-code-agent-id": "a1"}),
            (body("Fix it", metadata=user), {}),
            (body("Look again", metadata=user), {"x-claude-code-agent-id": "a2"}),
        ):
            ask(server.url, body=given, headers={**asked, **more})
        (told,) = sessions(server, tmp_path)
    assert told["name"] == "Claude Code · Fix it"
    assert told["requests"] == {"side": 1, "agent": 2, "main": 1}
    lines = [one for one in map(json.loads, caplog.messages) if one["event"] == "request"]
    assert [one.get("from") for one in lines] == ["side", "agent", None, "agent"]


def test_a_session_of_side_requests_alone_is_not_the_newest_of_its_home(upstream, tmp_path):
    with gateway(tmp_path, upstream.url) as server:
        ask(server.url, body=body("Name this", tools=False), headers={"user-agent": CLAUDE})
    assert undrift("sessions", "--home", tmp_path).exit_code == 1


@pytest.mark.parametrize("wire", PATHS)
def test_tools_are_seen_in_every_form(wire: str):
    history: dict[str, Any] = {form_of(wire).HISTORY: []}
    for tools, expected in (({}, "side"), ({"tools": []}, "side"), ({"tools": [{"x": 1}]}, "main")):
        for given in (history | tools, json.dumps(history | tools).encode()):
            assert kind_of(Request(given, form_of(wire)), CLAUDE, is_sub=False) == expected


def test_tools_in_the_first_item_are_tools():
    tools = {"type": "additional_tools", "tools": [{"type": "custom", "name": "exec"}]}
    said = {"role": "user", "content": "Add a test"}
    for items, expected in (([tools, said], "main"), ([said], "side"), (["text", said], "side")):
        for given in ({"input": items}, json.dumps({"input": items, "tools": []}).encode()):
            request = Request(given, form_of("openai-responses"))
            request.open()
            assert kind_of(request, "codex_exec/0.169.0 (Debian)", is_sub=False) == expected
