"""A home with recorded sessions for the page, and the page as its server answers it, without a port."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.cli.builders import Record, answered, called, claude, listing, written
from tests.hooks.builders import with_ids
from undrift.recordings.files import Homes
from undrift.session.identity import Recognised
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.opening import open_store
from undrift.stores.projects import keep
from undrift.values.scope import Scope
from undrift.web.app import PageApp
from undrift.web.serve import PageServer
from undrift.web.source import PageSource
from undrift.window.context import SessionContext
from undrift.window.sent_recorder import SentRecorder

__all__ = ["TOKEN", "Answer", "RecordedClock", "acted", "asked", "managed", "recorded", "serving", "source_of", "turns"]

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


def managed(home: Path, name: str, records: list[Record], *, budget_tokens: int, since: int = 0) -> list[Any]:
    """Send a recorded session through a session of the gateway, turn by turn; return the prepared requests.

    Each request stands in time where its answer stands in the recording, so that both can be matched. `since`: the turn from which
    requests are sent, from 0.
    """
    source = source_of(home)
    place = keep(source.place("/repo/shop"))
    store = open_store(place, Scope())
    clock = RecordedClock()
    settings = Settings(home=str(place.records), budget_tokens=budget_tokens, token_counter="characters/4")
    context = SessionContext.of(f"anthropic:{name}", store, settings, clock.now, home=place, keeps_notes=False)
    found = Recognised(f"anthropic:{name}", "given")
    prepared = []
    with Session(context, recognised=found, sent=SentRecorder(context)) as session:
        messages: list[dict[str, Any]] = []
        turn = 0
        for record in records:
            message = record["message"]
            turn += record["type"] == "assistant"
            if record["type"] == "assistant" and turn > since:
                clock.to(record)
                body = {"model": "claude-opus-4-8", "max_tokens": 99, "messages": list(messages)}
                prepared.append(session.prepare(body))
            messages.append({"role": message["role"], "content": message["content"]})
    return prepared


@dataclass
class RecordedClock:
    """The time of a recording: just before the answer that is asked for."""

    at_ms: int = 0

    def to(self, record: Record) -> None:
        self.at_ms = int(datetime.fromisoformat(record["timestamp"]).timestamp() * 1_000) - 1

    def now(self) -> int:
        return self.at_ms


@contextmanager
def serving(source: PageSource) -> Iterator[str]:
    """Serve the page in a thread; yield its address, with the token."""
    server = PageServer(source, TOKEN, 0)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.url
    finally:
        server.stop()
        thread.join(30)
    assert not thread.is_alive()


@dataclass
class Answer:
    """An answer of the server: its status, its headers, and the body."""

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
    body: bytes = b"",
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

    waiting = [body] if body else []

    async def receive() -> dict[str, Any]:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
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


def acted(source: PageSource, name: str, given: Mapping[str, Any]) -> Answer:
    """Ask the page's application for an action."""
    headers = {"content-type": "application/json"}
    return asked(source, f"/undrift/api/{name}", headers, method="POST", body=json.dumps(given).encode())
