"""Two clients as the suite of rules needs them: their recordings, and what their windows hold.

Law: a recording has the form in which the client writes it. The sizes of prompts in it are those of a window of
`ClientWindow.full_tokens`; the text is shorter, so that the suite takes minutes.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from undrift.bench.rules_agent import SeenText
from undrift.bench.rules_scene import SceneEvent
from undrift.bench.rules_words import Work
from undrift.profiles import PROFILES, ClientTool, Kind

__all__ = [
    "CONTINUED",
    "ClaudeSession",
    "ClientWindow",
    "CodexSession",
    "RecordedClient",
    "SKILL",
    "call_of",
    "client_for",
    "skill_text",
]

_BEGUN_S = 1_772_359_200  # 2026-03-01T10:00:00Z
CONTINUED = "This session is being continued from a previous conversation that ran out of context.\n\n"
SKILL = "release"
"""The name of the skill that the agent runs."""
_STEP_S = 40


@dataclass(frozen=True, slots=True)
class ClientWindow:
    """The sizes of prompts, in tokens: after the start, after a compaction, and when the client compacts."""

    start_tokens: int
    left_tokens: int
    full_tokens: int


def skill_text(client: str, text: str) -> str:
    """Return the body of a skill as a client puts it into the user's name. `client`: ``claude`` or ``codex``."""
    if client == "codex":
        return f"<skill>\n<name>{SKILL}</name>\n<path>/skills/{SKILL}/SKILL.md</path>\n{text}\n</skill>"
    return f"Base directory for this skill: /skills/{SKILL}\n\n{text}"


@dataclass
class RecordedClient:
    """One session of a client. `window`: what the provider is sent. `now_s`: the session's own clock."""

    session_id: str
    cwd: str
    sizes: ClientWindow
    window: list[SeenText] = field(default_factory=list)
    now_s: int = _BEGUN_S
    name: str = ""
    kept_texts: int = 0
    """How many texts at the beginning of the window the client kept by itself."""

    is_keeping: bool = False
    """True: the client keeps the newest texts of the user by itself, if its profile says so."""

    def __post_init__(self) -> None:
        self._records: list[Mapping[str, Any]] = []
        self._number = 0
        self._tokens = self.sizes.start_tokens

    def begin(self) -> None:
        """Write what stands at the head of a recording."""

    def path(self, home: Path) -> Path:
        """Return the file of the session in the client's folder."""
        raise NotImplementedError

    def happen(self, event: SceneEvent) -> None:
        """Record an event, and take it into the window."""
        self.now_s += _STEP_S
        if event.kind == "typed":
            self.window.append(SeenText("typed", event.text))
            self._typed(event.text)
        elif event.kind == "skill":
            self.window.append(SeenText("skill", event.text))
            self._skill(event.text)
        elif event.work is not None:
            self._tokens += (self.sizes.full_tokens - self._tokens) // 4
            self.window.append(SeenText("result", event.work.result))
            self._work(event.work)

    def compact(self, summary: str) -> None:
        """Replace the window by a summary, and what the client keeps."""
        self.now_s += _STEP_S
        kept = self._kept()
        self._compacted(summary, kept)
        self.kept_texts = len(kept)
        self.window = [*(SeenText("typed", text) for text in kept), SeenText("summary", summary)]
        self._tokens = self.sizes.left_tokens

    def take(self, text: str, event: str) -> None:
        """Put what a hook has printed into the window."""
        self.window.append(SeenText("given", text))
        self._given(text, event)

    def seen(self) -> Sequence[SeenText]:
        """Return what the provider is sent now."""
        return self.window

    def close(self) -> None:
        """Close what is open."""

    def flush(self, path: Path) -> None:
        """Append what happened since to the session's file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in self._records)
        self._records.clear()

    def _kept(self) -> list[str]:
        if not self.is_keeping:
            return []
        kept, tokens = list[str](), 0
        for seen in reversed(self.window):
            if seen.source == "typed":
                tokens += len(seen.text) // 4
                if tokens > PROFILES[self.name].gives_back.user_tokens:
                    break
                kept.append(seen.text)
        return kept[::-1]

    def _typed(self, text: str) -> None:
        raise NotImplementedError

    def _skill(self, text: str) -> None:
        raise NotImplementedError

    def _work(self, done: Work) -> None:
        raise NotImplementedError

    def _compacted(self, summary: str, kept: Sequence[str]) -> None:
        raise NotImplementedError

    def _given(self, text: str, event: str) -> None:
        raise NotImplementedError

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _stamp(self) -> str:
        day, rest = divmod(self.now_s - _BEGUN_S + 36_000, 86_400)
        return f"2026-03-{1 + day:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}.000Z"


class ClaudeSession(RecordedClient):
    """A session of Claude Code."""

    def path(self, home: Path) -> Path:
        return home / "projects" / "-work" / f"{self.session_id}.jsonl"

    def _record(self, kind: str, **more: Any) -> None:
        record = {"type": kind, "isSidechain": False, "userType": "external", "cwd": self.cwd, "version": "2.1.330"}
        ids = {"sessionId": self.session_id, "uuid": f"{self.session_id}-{self._next()}", "timestamp": self._stamp()}
        self._records.append({**record, **ids, **more})

    def _typed(self, text: str) -> None:
        self._record("user", message={"role": "user", "content": text})

    def _skill(self, text: str) -> None:
        body = [{"type": "text", "text": skill_text(self.name, text)}]
        self._record("user", message={"role": "user", "content": body}, isMeta=True)

    def _work(self, done: Work) -> None:
        number = self._next()
        name, given = call_of(done, self.name)
        usage = {"input_tokens": 4, "cache_read_input_tokens": self._tokens - 4, "output_tokens": 90}
        call = {"type": "tool_use", "id": f"toolu_{number:06}", "name": name, "input": given}
        message = {"id": f"msg_{number:06}", "role": "assistant", "model": "claude-opus-4-6", "content": [call]}
        self._record("assistant", message={**message, "usage": usage})
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number:06}", "content": done.result}
        self._record("user", message={"role": "user", "content": [result]})

    def _compacted(self, summary: str, kept: Sequence[str]) -> None:  # noqa: ARG002 - this client keeps none
        about = {"trigger": "auto", "preTokens": self.sizes.full_tokens}
        self._record("system", subtype="compact_boundary", content="Conversation compacted", compactMetadata=about)
        self._record("user", message={"role": "user", "content": CONTINUED + summary}, isCompactSummary=True)

    def _given(self, text: str, event: str) -> None:
        told = {"type": "hook_additional_context", "content": [text], "hookName": event, "hookEvent": event}
        self._record("attachment", attachment=told)


class CodexSession(RecordedClient):
    """A session of Codex. It keeps the newest texts of the user, as far as its profile says."""

    def path(self, home: Path) -> Path:
        name = f"rollout-2026-03-01T10-00-00-{self.session_id}.jsonl"
        return home / "sessions" / "2026" / "03" / "01" / name

    def begin(self) -> None:
        self._record("session_meta", id=self.session_id, cwd=self.cwd, base_instructions={"text": "Work with care."})
        self._record("turn_context", model="gpt-5.5", cwd=self.cwd)

    def _record(self, kind: str, **payload: Any) -> None:
        self._records.append({"timestamp": self._stamp(), "type": kind, "payload": payload})

    def _message(self, role: str, text: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}

    def _typed(self, text: str) -> None:
        self._record("response_item", **self._message("user", text))

    def _skill(self, text: str) -> None:
        self._record("response_item", **self._message("user", skill_text(self.name, text)))

    def _work(self, done: Work) -> None:
        number = self._next()
        name, given = call_of(done, self.name)
        call = {"name": name, "arguments": json.dumps(given), "call_id": f"call_{number:06}"}
        self._record("response_item", type="function_call", **call)
        output = f"Process exited with code 0\nOutput:\n{done.result}"
        self._record("response_item", type="function_call_output", call_id=f"call_{number:06}", output=output)
        last = {"input_tokens": self._tokens, "cached_input_tokens": self._tokens - 500, "output_tokens": 90}
        info = {"last_token_usage": last, "total_token_usage": {"total_tokens": number * 1_000 + self._tokens}}
        self._record("event_msg", type="token_count", info=info)

    def _compacted(self, summary: str, kept: Sequence[str]) -> None:
        history = [self._message("user", text) for text in (*kept, summary)]
        self._record("compacted", message=summary, replacement_history=history)

    def _given(self, text: str, event: str) -> None:  # noqa: ARG002 - this client does not record the event
        self._record("response_item", **self._message("developer", text))


_KINDS: Mapping[str, type[RecordedClient]] = {"claude": ClaudeSession, "codex": CodexSession}


def client_for(name: str, session_id: str, cwd: str, sizes: ClientWindow, *, is_keeping: bool) -> RecordedClient:
    """Return an empty session. `name`: ``claude`` or ``codex``."""
    client = _KINDS[name](session_id, cwd, sizes, name=name, is_keeping=is_keeping)
    client.begin()
    return client


def call_of(done: Work, client: str) -> tuple[str, dict[str, Any]]:
    """Return a call in the words of a client's own tools; what it has no tool for goes to its shell."""
    tool = next(_tools(client, done.kind), None)
    if tool is None or tool.kind == "shell":
        shell = next(_tools(client, "shell"))
        return shell.name, {shell.command: done.words if done.kind == "shell" else f"cat {done.path}"}
    if done.kind == "edit":
        return tool.name, {tool.path: done.path, tool.old: done.old, tool.new: done.new}
    return tool.name, {tool.path: done.path} | ({tool.pattern: done.words} if tool.pattern else {})


def _tools(client: str, kind: Kind) -> Iterator[ClientTool]:
    """Yield the tools of a kind whose calls are written here: with a path or a command, and no code or patch."""
    for tool in PROFILES[client].tools:
        if tool.kind == kind and (tool.command or tool.path) and (kind != "edit" or tool.old):
            yield tool
