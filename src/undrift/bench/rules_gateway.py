"""A client behind the gateway in the suite of rules: its requests, and what the provider is sent in their place.

Law: nothing is mocked but the model. Each request goes through the gateway's own sessions, for a share of the episodes over
HTTP, and then to a strict provider, which answers with the call of the script. The client compacts by itself.
"""

import json
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from undrift.bench.rules_agent import SeenText
from undrift.bench.rules_client import CONTINUED, SKILL, RecordedClient, call_of, skill_text
from undrift.bench.rules_words import Work
from undrift.errors import UndriftError
from undrift.proxy import GatewayConfig, Server, upstream_of
from undrift.proxy.ask import Ask
from undrift.proxy.sessions import OpenSessions
from undrift.settings import Settings
from undrift.testing import ClientHistory, Result, Say, ScriptedProvider, Turn, Use, history_for, simulator_for
from undrift.testing.script import answer_to
from undrift.values.provider import PROVIDERS

__all__ = ["GatewayClient", "GatewayWay", "HttpWay", "InProcessWay"]

_WIRES = {"claude": "anthropic", "codex": "openai-responses"}
_MODELS = {"claude": "claude-opus-4-6", "codex": "gpt-5.5"}
_AGENTS = {"claude": "claude-cli/2.1.330 (external, cli)", "codex": "codex_cli_rs/0.169.0"}
_PATHS = {"claude": "/v1/messages", "codex": "/responses"}
_PROVIDERS = {"claude": "anthropic", "codex": "openai"}
_ASKS_FOR_SUMMARY = {
    "claude": "CRITICAL: Respond with TEXT ONLY. Please create a detailed summary of the conversation so far.",
    "codex": "You are performing a CONTEXT CHECKPOINT COMPACTION. Write a summary for the model that continues.",
}
_DEADLINE_S = 60.0
_DONE = "Done."


class GatewayWay:
    """The way of a request to the provider."""

    def send(self, body: dict[str, Any], turn: Turn | None) -> tuple[dict[str, Any], Any]:
        """Send a request; return the body that the provider was sent, and its answer.

        `turn`: the answer; None for a compaction's request, to which the scripted provider has an answer of its own.
        """
        raise NotImplementedError

    def look(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body that the provider would be sent now."""
        return self.send(body, Say(_DONE))[0]

    def close(self) -> None:
        """Close what is open; a second call does nothing."""


class InProcessWay(GatewayWay):
    """Through the gateway's sessions in this process. `client`: ``claude`` or ``codex``. `home`: of undrift."""

    def __init__(self, client: str, home: Path) -> None:
        self._client, self._wire = client, _WIRES[client]
        self._sessions = OpenSessions(GatewayConfig(settings=Settings(home=str(home))))
        self._provider = simulator_for(self._wire)

    def send(self, body: dict[str, Any], turn: Turn | None) -> tuple[dict[str, Any], Any]:
        managed = self._sessions.prepare(self._ask(body))
        sent = json.loads(managed.body)
        tools: dict[str, Any] = {str(tool.get("name")): {} for tool in body.get("tools", ())}
        reply = self._provider.send(sent, turn=answer_to(turn or Say(_DONE), tools, sent))
        self._sessions.record(managed, self._wire, json.dumps(reply.body).encode())
        return sent, reply.body

    def look(self, body: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._sessions.prepare(self._ask(body)).body)
        return found

    def close(self) -> None:
        self._sessions.close()

    def _ask(self, body: dict[str, Any]) -> Ask:
        deadline_s = time.monotonic() + _DEADLINE_S
        return Ask(
            self._wire, json.dumps(body).encode(), None, "", "", deadline_s, _AGENTS[self._client], has_turn=True
        )


class HttpWay(GatewayWay):
    """Through a gateway that listens, to a scripted provider that listens as well; both on the loopback interface."""

    def __init__(self, client: str, home: Path) -> None:
        self._client = client
        self._stack = ExitStack()
        self._provider = self._stack.enter_context(ScriptedProvider(without_tools=True))
        upstreams = {name: upstream_of(self._provider.url) for name in PROVIDERS}
        config = GatewayConfig(settings=Settings(home=str(home)), upstreams=upstreams, port=0)
        self._server = self._stack.enter_context(Server(config))

    def send(self, body: dict[str, Any], turn: Turn | None) -> tuple[dict[str, Any], Any]:
        base = next(url for name, url in self._server.base_urls.items() if name == _PROVIDERS[self._client])
        before = len(self._provider.requests)
        if turn is not None:
            self._provider.say(turn)
        headers = {"content-type": "application/json", "user-agent": _AGENTS[self._client]}
        url = base.removesuffix("/v1") + _PATHS[self._client]
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - of our own server
        with urllib.request.urlopen(request, timeout=_DEADLINE_S) as answer:  # noqa: S310
            reply = json.load(answer)
        seen = self._provider.requests[before]
        if seen.refused:
            raise UndriftError(f"the provider refused a request: {seen.refused}")
        return seen.body, reply

    def close(self) -> None:
        self._stack.close()


@dataclass
class GatewayClient(RecordedClient):
    """A client whose requests go through a gateway; what it says and gets is its own history, as the form has it."""

    way: GatewayWay = field(default_factory=GatewayWay)

    def begin(self) -> None:
        self._known: dict[str, SeenText] = {}
        shell = call_of(Work("shell", "a", "ls", "", "", ""), self.name)[0]
        reader = call_of(Work("read", "a", "", "", "", ""), self.name)[0]
        names = dict.fromkeys(call_of(Work(kind, "a", "b", "", "", ""), self.name)[0] for kind in ("search", "edit"))
        more: dict[str, Any] = {"prompt_cache_key": self.session_id}
        if _WIRES[self.name] == "anthropic":
            more = {"metadata": {"user_id": json.dumps({"device_id": "0" * 64, "session_id": self.session_id})}}
        system = f"Work with care.\n - Primary working directory: {self.cwd}\n"
        tools = tuple(dict.fromkeys((shell, reader, *names)))
        self._history: ClientHistory = history_for(
            _WIRES[self.name], model=_MODELS[self.name], system=system, tools=tools, **more
        )
        self._is_answered = True

    def seen(self) -> Sequence[SeenText]:
        return list(self._texts(self.way.look(self._history.body())))

    def close(self) -> None:
        self.way.close()

    def _typed(self, text: str) -> None:
        self._answered()
        self._know("typed", text)
        self._history.say(text)
        self._is_answered = False

    def _skill(self, text: str) -> None:
        self._answered()
        body = skill_text(self.name, text)
        if self.name == "codex":
            self._know("skill", body)
            self._history.say(body)
        else:
            command = f"<command-message>{SKILL}</command-message>\n<command-name>/{SKILL}</command-name>"
            self._know("client", command)
            self._know("skill", body)
            content = [{"type": "text", "text": command}, {"type": "text", "text": body}]
            self._history.items.append({"role": "user", "content": content})
        self._is_answered = False

    def _work(self, done: Work) -> None:
        name, given = call_of(done, self.name)
        _, reply = self.way.send(self._history.body(), Use(name, given))
        self._history.take(reply)
        self._know("result", done.result)
        self._history.answer([Result(done.result)])
        self._is_answered = False

    def _compacted(self, summary: str, kept: Sequence[str]) -> None:
        self._answered()
        asking = self._history.fork()
        asking.say(_ASKS_FOR_SUMMARY[self.name])
        self.way.send(asking.body(), None)
        self._history.cut(0)
        for text in kept:
            self._history.say(text)
        said = CONTINUED + summary
        self._know("summary", said)
        self._history.say(said)
        self._is_answered = False

    def _given(self, text: str, event: str) -> None:  # no hook runs in this client
        raise NotImplementedError

    def flush(self, path: Path) -> None:
        """Nothing is recorded on disk."""

    def _answered(self) -> None:
        """Let the model end its turn before the user types the next text."""
        if not self._is_answered:
            _, reply = self.way.send(self._history.body(), Say(_DONE))
            self._history.take(reply)
            self._is_answered = True

    def _know(self, source: Any, text: str) -> None:
        self._known[text] = SeenText(source, text)

    def _texts(self, body: Mapping[str, Any]) -> Iterator[SeenText]:
        """Yield the texts of a request that was sent; what is none of the client's own is undrift's."""
        for text in _strings(body.get("system") or body.get("instructions")):
            yield from self._of(text, "client" if text == self._history.system else "given")
        for item in body.get("messages") or body.get("input") or ():
            role = item.get("role")
            if item.get("type") in ("function_call_output", "custom_tool_call_output"):
                yield from (SeenText("result", text) for text in _strings(item.get("output")))
            elif role == "assistant" or (role is None and "call_id" in item) or item.get("type") == "reasoning":
                continue
            else:
                yield from self._of_content(item.get("content"))

    def _of_content(self, content: Any) -> Iterator[SeenText]:
        for part in [content] if isinstance(content, str) else content or ():
            if isinstance(part, Mapping) and part.get("type") == "tool_result":
                yield from (SeenText("result", text) for text in _strings(part.get("content")))
            else:
                for text in _strings(part):
                    yield from self._of(text, "given")

    def _of(self, text: str, otherwise: Any) -> Iterator[SeenText]:
        if text in self._known:
            yield self._known[text]
            return
        own = max((known for known in self._known if text.startswith(known)), key=len, default="")
        if own:
            yield self._known[own]
        yield SeenText(otherwise, text[len(own) :])


def _strings(content: Any) -> Iterator[str]:
    for part in [content] if isinstance(content, str | Mapping) else content or ():
        text = part if isinstance(part, str) else part.get("text") if isinstance(part, Mapping) else None
        if isinstance(text, str) and text:
            yield text
