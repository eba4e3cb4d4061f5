"""Hostile inputs of up to a megabyte: texts, bodies of the four wires, and recorded sessions. The same each time."""

import json
from collections.abc import Callable
from typing import Any

__all__ = ["BODIES", "MEGABYTE", "SESSIONS", "TEXTS", "turn"]

MEGABYTE = 1_000_000
Body = dict[str, Any]

_PUMPS = {
    "a command with many words": ("nl", "-head"),
    "equal signs": ("", "a="),
    "names of keys": ("", "key="),
    "names of tokens": ("", "token: '"),
    "addresses": ("", "://a:b"),
    "tokens of three parts": ("", "eyJ"),
    "private keys": ("", "-----BEGIN RSA PRIVATE KEY-----"),
    "backslashes": ("", "\\"),
    "percent signs": ("", "%25"),
    "escaped colours": ("", "\\u001b["),
    "colours": ("", "\x1b["),
    "codes in base64": ("", "QUtJQUlPU0ZPRE5O"),
    "wrapped lines": ("", "a" * 70 + "\n"),
    "fences": ("", "```\n"),
    "tags": ("", "<a "),
    "brackets": ("", "["),
    "JSON": ("", '{"a":'),
    "a list": ("", "1. "),
    "statements": ("", "the port is 8080. "),
    "rules": ("", "You must always use X. "),
    "dates": ("", "2026-01-01 "),
    "paths": ("", "/a/b.c:1 "),
    "a patch": ("", "+a\n-b\n"),
    "verdicts": ("", "3 passed, 1 failed in 0.1s\n"),
    "combining marks": ("", "a\u0301"),
    "zero width": ("", "\u200b"),
    "newlines": ("", "\n"),
    "returns": ("", "x\r"),
    "our marks of secrets": ("", "[masked:secret]"),
    "our marks of a prune": ("", "[Pruned 0123456789abcdef: "),
    "one word": ("", "a"),
    "hexadecimal digits": ("", "0123456789abcdef"),
    "a trace": ("", '  File "a.py", line 1, in f\n'),
    "marks of tasks": ("", "[[task:start T1]]"),
    "tabs": ("", "\t"),
    "half characters": ("", "\ud800"),
    "joined characters": ("", "\U0001f469\u200d"),
    "quotation marks": ("", "'\"$("),
    "cookies": ("Cookie: ", "sid=a1b2c3d4e5f6g7h8; "),
}


def _filled(before: str, body: str) -> str:
    return (before + body * (MEGABYTE // len(body)))[:MEGABYTE]


TEXTS: dict[str, Callable[[], str]] = {
    name: (lambda pump=pump: _filled(*pump))  # type: ignore[misc]
    for name, pump in _PUMPS.items()
}


def turn(text: str) -> Body:
    """A history in which a text is an argument, a result and the newest words."""
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": text[: MEGABYTE // 2]}}
    return {
        "model": "claude-opus-4-5",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}]},
            {"role": "assistant", "content": "ok"},
            {"role": "user", "content": text[:100_000]},
        ],
    }


def _deep(depth: int) -> Any:
    found: Any = "x"
    for _ in range(depth):
        found = {"a": [found]}
    return found


def _tiny(number: int, own: str) -> list[tuple[str, str]]:
    return [(("user", own)[place % 2], "x") for place in range(number)]


def _anthropic(messages: list[Any], **more: Any) -> Body:
    return {"model": "claude-opus-4-5", "max_tokens": 9, "messages": messages, **more}


def _calls(number: int, given: Callable[[int], Any]) -> Body:
    calls = [{"type": "tool_use", "id": f"t{place}", "name": "Bash", "input": given(place)} for place in range(number)]
    results = [{"type": "tool_result", "tool_use_id": f"t{place}", "content": "r"} for place in range(number)]
    begin = {"role": "user", "content": "x"}
    return _anthropic([begin, {"role": "assistant", "content": calls}, {"role": "user", "content": results}])


def _turns(number: int) -> Body:
    messages: list[Any] = []
    for place in range(number):
        call = {"type": "tool_use", "id": f"t{place}", "name": "Read", "input": {"file_path": f"/w/{place % 7}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{place}", "content": "def f():\n    return 1\n" * 20}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return _anthropic([{"role": "user", "content": "x"}, *messages])


BODIES: dict[str, tuple[str, Callable[[], Body]]] = {
    "tiny messages, anthropic": (
        "anthropic",
        lambda: _anthropic([{"role": role, "content": text} for role, text in _tiny(25_001, "assistant")]),
    ),
    "tiny messages, openai-chat": (
        "openai-chat",
        lambda: {"model": "m", "messages": [{"role": r, "content": t} for r, t in _tiny(25_001, "assistant")]},
    ),
    "tiny messages, openai-responses": (
        "openai-responses",
        lambda: {"model": "m", "input": [{"role": r, "content": t} for r, t in _tiny(25_001, "assistant")]},
    ),
    "tiny messages, gemini": (
        "gemini",
        lambda: {"contents": [{"role": r, "parts": [{"text": t}]} for r, t in _tiny(20_001, "model")]},
    ),
    "parallel calls": ("anthropic", lambda: _calls(8_000, lambda place: {})),
    "calls with hostile commands": ("anthropic", lambda: _calls(400, lambda place: {"command": "nl" + "-head" * 399})),
    "turns with the same files": ("anthropic", lambda: _turns(900)),
    "blocks in one message": (
        "anthropic",
        lambda: _anthropic([{"role": "user", "content": [{"type": "text", "text": "x"}] * 20_000}]),
    ),
    "a deep argument": ("anthropic", lambda: _calls(1, lambda place: _deep(200))),
    "wide arguments": ("anthropic", lambda: _calls(1, lambda place: {f"k{number}": "x" for number in range(40_000)})),
    "tools": (
        "anthropic",
        lambda: _anthropic(
            [{"role": "user", "content": "x"}],
            tools=[
                {"name": f"t{n}", "description": "does x", "input_schema": {"type": "object", "properties": {}}}
                for n in range(8_000)
            ],
        ),
    ),
    "long ids": (
        "anthropic",
        lambda: _anthropic(
            [
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t" * 400_000, "name": "B", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t" * 400_000, "content": "r"}]},
            ]
        ),
    ),
}

_COMMANDS = {
    "a command with many words": "nl" + "-head" * 399,
    "one path of folders": "cat " + "~/" * 1_000,
    "many commands": "a && " * 500,
    "open quotes": "'\"$(" * 600,
    "heredocs": "cat <<'E'\n" * 200,
    "many paths": "/a/b.py " * 300,
}


def _session(command: str) -> str:
    """A recording of Claude Code: calls with this command up to a megabyte, a compaction, and more of them."""
    lines: list[str] = []

    def add(kind: str, content: Any, **more: Any) -> None:
        number = len(lines)
        answer = {"id": f"m{number}", "model": "claude-opus-4-5", "usage": {"input_tokens": 10, "output_tokens": 5}}
        record = {
            "type": kind,
            "isSidechain": False,
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": "s1",
            "cwd": "/w",
            "version": "2.1.0",
            "timestamp": f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}.000Z",
            "message": {"role": kind, "content": content, **(answer if kind == "assistant" else {})},
            **more,
        }
        lines.append(json.dumps(record))

    def called(number: int) -> None:
        add("assistant", [{"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}])
        add("user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": f"ok {number}"}])

    add("user", "Please do the thing.")
    calls = (MEGABYTE - 20_000) // (len(json.dumps(command)) + 900)
    for number in range(calls):
        called(number)
    lines.append(
        json.dumps(
            {"type": "system", "subtype": "compact_boundary", "isSidechain": False, "uuid": "cb", "parentUuid": None}
            | {"sessionId": "s1", "timestamp": "2026-01-01T02:00:00.000Z", "content": "Conversation compacted"}
            | {"compactMetadata": {"trigger": "auto", "preTokens": 150_000}}
        )
    )
    add("user", "This session is being continued from a previous conversation.", isCompactSummary=True)
    for number in range(calls, calls + 5):
        called(number)
    return "\n".join(lines) + "\n"


SESSIONS: dict[str, Callable[[], str]] = {
    name: (lambda command=command: _session(command))  # type: ignore[misc]
    for name, command in _COMMANDS.items()
}
