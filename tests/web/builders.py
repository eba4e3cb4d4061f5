"""A home with recorded sessions for the page, and the page as its server answers it, without a port."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.builders import Record, answered, called, claude, listing, written
from tests.hooks.builders import with_ids
from undrift.recordings.files import Homes
from undrift.web.app import PageApp
from undrift.web.source import PageSource

__all__ = ["TOKEN", "Answer", "asked", "recorded", "source_of", "turns"]

TOKEN = "a" * 64


def turns(prompts: list[int], *, first: int = 0, cached: float = 0.9, title: str = "Find the parser.") -> list[Record]:
    """A session of Claude Code with a turn for each prompt of so many tokens; `cached`: the share read from the cache."""
    records = [claude("user", title)] if not first else []
    for number, tokens in enumerate(prompts, first):
        read = int(tokens * cached) if number else 0
        usage = {
            "input_tokens": 5,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": tokens - read - 5,
            "cache_creation": {"ephemeral_5m_input_tokens": tokens - read - 5},
            "output_tokens": 40,
        }
        answer = claude("assistant", [called(number, file_path=f"/repo/shop/part_{number}.py")], at_s=number)
        answer["message"] |= {"usage": usage, "id": f"msg-{number}"}
        records += [answer, claude("user", [answered(number, listing(number))], at_s=number)]
    return [{**record, "cwd": "/repo/shop"} for record in (records if first else with_ids(records))]


def recorded(home: Path, name: str, records: list[Record]) -> Path:
    return written(home / ".claude" / "projects" / "-repo-shop" / f"{name}.jsonl", records)


def source_of(home: Path) -> PageSource:
    return PageSource(home / ".undrift", Homes(claude=home / ".claude", codex=home / ".codex"))


@dataclass
class Answer:
    """What the server sent: its status, its headers, and the body."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def asked(
    source: PageSource,
    path: str,
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "GET",
    token: str = TOKEN,
    ends: bool = True,
) -> Answer:
    """Ask the page's application once. `ends`: the client stays until the answer has ended; else it closes at once."""
    target, _, query = path.partition("?")
    given = {"host": "127.0.0.1:8788", **(headers or {})}
    scope = {
        "type": "http",
        "method": method,
        "raw_path": f"{'/' + token if token else ''}{target}".encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    answer = Answer()

    async def receive() -> dict[str, Any]:
        if ends:
            await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def send(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        answer.body += message.get("body", b"")

    asyncio.run(PageApp(source, TOKEN)(scope, receive, send))
    return answer
