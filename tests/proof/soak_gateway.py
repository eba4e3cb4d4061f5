"""The gateway's part of a soak: kept alive by its keeper, with sessions of two forms before it and the strict provider behind it."""

import http.client
import itertools
import json
import re
import sys
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.proof.soak_parts import REF, TRIES, Part, Soaked, text_of
from undrift.cli import keeper
from undrift.testing import ClientHistory, Result, ScriptedProvider, Shell, history_for

__all__ = ["LEAK", "Gateway", "StrictProvider"]

MARK = re.compile(rb"Conversation (\d+)\b")
ROUNDS = 40  # of a session
BUDGET = "14k"
MEMORY = "192M"  # so that ended sessions are closed from the beginning on
PATHS = {"anthropic": "/v1/messages", "openai-chat": "/v1/chat/completions"}
MODELS = {"anthropic": "claude-opus-4-5", "openai-chat": "gpt-5.5"}
LEAK = """
import os, threading, time
kept = []
def leak():
    while True:
        kept.append((b"x" * 150_000, os.dup(2)))
        time.sleep(0.05)
threading.Thread(target=leak, daemon=True).start()
from undrift.__main__ import run
run()
"""
"""The control: a gateway that lets its memory and its descriptors grow."""


class StrictProvider(ScriptedProvider):
    """The scripted provider, without an end and without a memory of what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals: list[str] = []
        self.newest: dict[int, Any] = {}
        self.asked = 0

    def _respond(self, method: str, target: str, headers: Mapping[str, str], raw: bytes) -> Any:
        self.asked += 1
        self.say(Shell(f"make part_{self.asked}"))
        reply = super()._respond(method, target, headers, raw)
        with self._lock:
            self.refusals += [seen.refused for seen in self._seen if seen.refused]
            self._seen.clear()
            del self._turns[8:]
        if found := MARK.search(raw):
            self.newest[int(found[1])] = json.loads(raw)
        return reply


class Gateway(Part):
    """Sessions that take turns, and are resent whole with each request.

    Args:
        soaked: What all parts share.
        provider: It answers.
        sessions: Number of sessions at a time.
        leaks: The control.
    """

    name = "gateway"

    def __init__(self, soaked: Soaked, provider: StrictProvider, sessions: int = 6, *, leaks: bool = False) -> None:
        super().__init__(soaked)
        self._provider, self._log = provider, soaked.home / keeper.LOG
        start = ["-c", LEAK] if leaks else ["-P", "-m", "undrift"]
        words = [f"--upstream-anthropic={provider.url}", f"--upstream-openai={provider.url}/v1"]
        words += [f"--home={soaked.home}", f"--budget={BUDGET}", f"--memory={MEMORY}", f"--project={soaked.repo}"]
        self.url = keeper.start([sys.executable, *start, "proxy", *words, "--recall-reachable"], self._log)
        self._talks = deque(_Talk(soaked, number) for number in range(sessions))
        self._numbers, self._newest = itertools.count(sessions), 0

    def pid(self) -> int:
        """The newest gateway that the keeper has started."""
        with self._log.open("rb") as file:
            file.seek(max(0, self._log.stat().st_size - (1 << 20)))
            started = [line for line in file.read().splitlines() if line.startswith(b'{"event": "started"')]
        if started:
            self._newest = int(json.loads(started[-1])["pid"])
        return self._newest if Path(f"/proc/{self._newest}").exists() else 0

    def step(self) -> None:
        talk = self._talks.popleft()  # so that several threads may do a step
        try:
            if talk.rounds >= ROUNDS:
                talk.close()
                self._provider.newest.pop(talk.number, None)
                talk = _Talk(self.soaked, next(self._numbers))
            self._ask(talk)
        finally:
            self._talks.append(talk)

    def _ask(self, talk: "_Talk") -> None:
        body = json.dumps(talk.history.body()).encode()
        for _ in range(TRIES):
            began_s = min(talk.connected_s, time.monotonic())  # a kill breaks a connection that waits as well
            try:
                status, headers, answer = talk.ask(self.url, body)
            except (OSError, http.client.HTTPException) as error:
                talk.close()
                if not self.failed(began_s, f"{type(error).__name__}: {error}"):
                    return
                continue
            if status != 200 or "x-undrift-bypass" in headers:
                why = headers.get("x-undrift-bypass") or answer[:200].decode(errors="replace")
                self.soaked.refused.append(f"gateway: {status} {why}")
                return
            talk.note_what_left(self._provider.newest[talk.number], headers.get("x-undrift-session", ""))
            talk.take(answer)
            self.succeeded()
            return
        self.soaked.refused.append(f"gateway: no answer in {TRIES} tries")

    def close(self) -> None:
        for talk in self._talks:
            talk.close()

    def ask_wrongly(self) -> None:
        """The control: a request that the provider refuses."""
        talk = _Talk(self.soaked, next(self._numbers))
        body = {**talk.history.body(), "messages": [{"role": "nobody", "content": "x"}]}
        talk.ask(self.url, json.dumps(body).encode())
        talk.close()


class _Talk:
    """One session of a client."""

    def __init__(self, soaked: Soaked, number: int) -> None:
        self.number, self.rounds = number, 0
        self._soaked, self._wire = soaked, "openai-chat" if number % 3 == 2 else "anthropic"
        self._is_streamed = number % 2 == 0
        fields = {"stream": True} if self._is_streamed else {}
        tools = ("Bash", "mcp__undrift__recall")
        self.history: ClientHistory = history_for(self._wire, model=MODELS[self._wire], tools=tools, **fields)
        self.history.say(f"Conversation {number}: say what the program does.")
        self._results: dict[str, str] = {}
        self._connection: http.client.HTTPConnection | None = None
        self.connected_s = time.monotonic()

    def ask(self, url: str, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """Send a request; return status, headers and body."""
        parts = urlsplit(url)
        if self._connection is None:
            self.connected_s = time.monotonic()
            self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        headers = {"content-type": "application/json", "x-api-key": "a-key", "authorization": "Bearer a-key"}
        headers |= {"anthropic-version": "2023-06-01"} if self._wire == "anthropic" else {}
        self._connection.request("POST", parts.path.rstrip("/") + PATHS[self._wire], body, headers)
        with self._connection.getresponse() as answer:
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()

    def take(self, answer: bytes) -> None:
        """Take the answer in, and carry out its calls."""
        self.rounds += 1
        self.history.take(answer)
        results = []
        for id_, _ in self.history.open:
            text = text_of(
                self._soaked.random, f"part {self.number}.{self.rounds}", 30 + self._soaked.random.randrange(30)
            )
            self._results[id_] = text
            results.append(Result(text))
        if results:
            self.history.answer(results)
        else:
            self.history.say("Go on.")

    def note_what_left(self, sent: Mapping[str, Any], session: str) -> None:
        """Note each result that the provider did not get as it was."""
        there = _results_in(sent)
        for id_, text in list(self._results.items()):
            if there.get(id_) == text:
                continue
            found = REF.findall(there.get(id_, ""))
            if found:
                self._soaked.ledger.note("original", "gateway", found[0], text)
            else:
                self._soaked.ledger.note("original", "gateway", "", text, session=session)
            del self._results[id_]

    def close(self) -> None:
        """Close the connection; a later request opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _results_in(sent: Mapping[str, Any]) -> dict[str, str]:
    """Return the results of a request by the ids of their calls."""
    found = {}
    for message in sent["messages"]:
        content = message.get("content")
        if message["role"] == "tool":
            found[message["tool_call_id"]] = _text(content)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and part.get("type") == "tool_result":
                found[part["tool_use_id"]] = _text(part.get("content"))
    return found


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
