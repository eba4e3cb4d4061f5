"""The sub-agents of recorded sessions: their own recordings, each with what it was asked and its last words.

Law: a recording is read once, then only its new lines. A sub-agent belongs to the session that its recording, or its folder,
names; nothing is matched by time or by words.
"""

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from undrift import transcripts
from undrift.core.text.tokens import characters_per_4
from undrift.errors import TranscriptError
from undrift.settings.model_table import Model
from undrift.web.watching import WatchedSession

__all__ = ["AgentBook", "WatchedAgent"]

_MOST_AGENTS = 200
_MOST_KNOWN = 600
_HEAD_BYTES = 1 << 20
_META_BYTES = 64 << 10
_WORDS_CHARACTERS = 4_000
_NAME_CHARACTERS = 200
_CLAUDE, _CODEX = "claude-code", "codex"
_COMPACTS = "acompact"
"""The ids begin so that Claude Code gives to its own requests for a summary."""


class WatchedAgent(WatchedSession):
    """One sub-agent. `look` reads what is new, as for a session."""

    def __init__(self, path: Path, models: Sequence[Model] = ()) -> None:
        super().__init__(path, models)
        self.agent_id = path.stem.removeprefix("agent-")
        self.kind = self.name = self.parent_agent = ""
        self.prompt = self.said = ""
        """The beginnings of what it was asked, and of its last words."""
        self.said_tokens = self.calls = 0
        self.is_fork = False
        """It begins with a copy of its parent's history."""

    def look(self) -> None:
        """Read what is new in the recording, and the note beside it that names the sub-agent."""
        super().look()
        if self.session_id and self.format == _CODEX:
            self.agent_id = self.session_id
        if not self.kind:
            note = _json(_beginning(self.path.with_suffix(".meta.json"), _META_BYTES))
            self.kind, self.name = _text(note, "agentType"), _text(note, "name") or _text(note, "description")
            self.parent_agent = _text(note, "parentAgentId")
            if not self.kind and self.agent_id.startswith(_COMPACTS):
                self.kind = "compaction by the client"

    def _begin(self) -> None:
        super()._begin()
        self.prompt = self.said = ""
        self.said_tokens = self.calls = 0

    def _count_kinds(self, lines: list[str], before: int) -> None:
        """Read the words in place of the window's parts: no view shows the window of a sub-agent."""
        if not before and lines and self.format == _CODEX:
            about = _object(_json(lines[0]).get("payload"))
            spawned = _spawned(about)
            self.is_fork = bool(about.get("forked_from_id"))
            self.kind = _text(spawned, "agent_role") or _text(about, "agent_role") or "sub-agent"
            self.name = _text(spawned, "agent_path").rpartition("/")[2] or _text(spawned, "agent_nickname")
        try:
            entries = transcripts.read(lines, format=self.format).entries
        except TranscriptError:
            return
        for entry in entries:
            kind, role = entry.meta("kind"), entry.meta("role")
            if kind == "call":
                self.calls += 1
            elif kind == "text" and role == "assistant":
                self.said, self.said_tokens = _cut(entry.content), characters_per_4(entry.content)
            elif (
                kind == "text"
                and not self.prompt
                and not self.is_fork
                and _is_asked(role, entry.metadata, entry.content)
            ):
                self.prompt = _cut(entry.content)


@dataclass
class AgentBook:
    """The sub-agents that were looked for. `models`: those of the settings, before those of the table."""

    models: Sequence[Model] = ()
    _known: OrderedDict[Path, WatchedAgent] = field(default_factory=OrderedDict)
    _parents: dict[Path, str] = field(default_factory=dict)

    def of(self, one: WatchedSession, others: Iterable[WatchedSession]) -> list[WatchedAgent]:
        """Return the newest sub-agents of a session, up to 200, the first one first. `others`: all recordings known."""
        found = []
        for path in self.paths(one, others)[:_MOST_AGENTS]:
            agent = self._known.pop(path, None) or WatchedAgent(path, self.models)
            self._known[path] = agent
            agent.look()
            if agent.format:
                found.append(agent)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return sorted(found, key=lambda agent: (_began_ms(agent), agent.agent_id))

    def paths(self, one: WatchedSession, others: Iterable[WatchedSession]) -> list[Path]:
        """Return the recordings of a session's sub-agents, the newest first; none of them is read."""
        own = {one.session_id, one.key} - {""}
        found = set(_below(one)) if one.format == _CLAUDE else set()
        for other in others:
            if other.figures.sub_agent and other.format == one.format and self._parent(other) in own:
                found.add(other.path)
        return [path for _, path in sorted((-_written_ns(path), path) for path in found)]

    def _parent(self, other: WatchedSession) -> str:
        if other.format == _CLAUDE:  # an earlier release wrote it beside its parent, with its parent's id
            return other.session_id
        if other.path not in self._parents:
            head = _json(_beginning(other.path, _HEAD_BYTES).split("\n", 1)[0])
            about = _object(head.get("payload"))
            spawned = _spawned(about)
            self._parents[other.path] = _text(spawned, "parent_thread_id") or _text(about, "forked_from_id")
        return self._parents[other.path]


def _cut(text: str) -> str:
    """Return the beginning of a text; it ends with a word, because half a secret is not known as one."""
    if len(text) <= _WORDS_CHARACTERS:
        return text
    text = text[:_WORDS_CHARACTERS]
    return text[: max(text.rfind("\n"), text.rfind(" "), 0)]


def _below(one: WatchedSession) -> Iterator[Path]:
    folder = one.path.with_suffix("") / "subagents"
    try:
        yield from folder.rglob("agent-*.jsonl")
    except OSError:
        return


def _spawned(about: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what Codex notes about the thread from which a sub-agent was started."""
    return _object(_object(_object(about.get("source")).get("subagent")).get("thread_spawn"))


def _is_asked(role: Any, about: Mapping[str, Any] | None, text: str) -> bool:
    return role == "user" and not (about or {}).get("meta") and not text.startswith("<")


def _began_ms(agent: WatchedAgent) -> int:
    return next((one.at_ms for one in agent.figures.prompts if one.at_ms), agent.last_ms)


def _written_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # gone in the meantime
        return 0


def _beginning(path: Path, most_bytes: int) -> str:
    """Return the beginning of a regular file; empty if there is none."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(most_bytes).decode("utf-8", "replace")
    except OSError:
        return ""


def _json(text: str) -> Mapping[str, Any]:
    try:
        return _object(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value[:_NAME_CHARACTERS] if isinstance(value, str) else ""
