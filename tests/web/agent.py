"""An agent that works beside the page as Claude Code does: it sends its history through the gateway, and records it in its own folder."""

import json
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.cli.builders import listing

__all__ = ["SESSION", "Agent", "counted_answer"]

SESSION = "0199f1d2-bbbb-4bbb-8ccc-000000000007"
_CHARACTERS_A_TOKEN = 4


def counted_answer() -> Callable[[bytes], bytes]:
    """Return a provider that counts what it gets: it reads from its cache what the request before began with, and writes the rest."""
    before = [b""]

    def answer(body: bytes) -> bytes:
        same = next(
            (n for n, (a, b) in enumerate(zip(before[0], body, strict=False)) if a != b), min(len(before[0]), len(body))
        )
        before[0] = body
        read, written = same // _CHARACTERS_A_TOKEN, (len(body) - same) // _CHARACTERS_A_TOKEN
        usage = {
            "input_tokens": 3,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 40,
        }
        said = {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "ok"}]}
        return json.dumps({**said, "usage": usage}).encode()

    return answer


class Agent:
    """One session. `url`: the base URL of the gateway, with its token."""

    def __init__(self, home: Path, url: str, *, asks: str = "Find the parser of dates.") -> None:
        self._url = url
        self._folder = home / "shop"
        self._folder.mkdir(exist_ok=True)
        self._path = home / ".claude" / "projects" / "-shop" / f"{SESSION}.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._messages: list[dict[str, Any]] = []
        self._say("user", asks)

    def reads(self, number: int) -> None:
        """Ask the model once, which reads a file; record its answer and the result."""
        usage = self._ask()
        call = {
            "type": "tool_use",
            "id": f"call-{number}",
            "name": "Read",
            "input": {"file_path": f"/shop/part_{number}.py"},
        }
        self._say("assistant", [call], usage)
        self._say("user", [{"type": "tool_result", "tool_use_id": f"call-{number}", "content": listing(number)}])

    def _ask(self) -> dict[str, Any]:
        body = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 99,
            "metadata": {"user_id": json.dumps({"session_id": SESSION})},
            "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
            "messages": self._messages,
        }
        headers = {"content-type": "application/json", "user-agent": "claude-cli/2.1.330 (external, cli)"}
        request = urllib.request.Request(f"{self._url}/v1/messages", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            usage: dict[str, Any] = json.load(answer)["usage"]
        return usage

    def _say(self, role: str, content: Any, usage: dict[str, Any] | None = None) -> None:
        message: dict[str, Any] = {"role": role, "content": content}
        record = {
            "type": role,
            "uuid": f"u-{len(self._messages)}",
            "sessionId": SESSION,
            "isSidechain": False,
            "cwd": str(self._folder),
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        shown = dict(message)
        if usage is not None:
            shown |= {"model": "claude-sonnet-4-5", "id": f"msg-{len(self._messages)}", "usage": usage}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**record, "message": shown}) + "\n")
        self._messages.append(message)
