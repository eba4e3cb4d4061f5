"""Reads a client's own figures of its prompts and compactions: tokens sent, cached and written. Pure.

A second, cheap look at a session's file, apart from its reader: lines that hold none of `_MARKS` are not decoded. A figure
that was not recorded is absent, never guessed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from undrift.transcripts import blocks, codex
from undrift.transcripts.lines import decode, list_at, milliseconds, object_at, text_at
from undrift.values.usage import FIVE_MINUTES_S, HOUR_S, CacheEvent, PromptUsage

__all__ = ["Boundary", "FiguresReader", "RecordedFigures", "figures"]

_INTERRUPTED = "[Request interrupted by user"
_MARKS = (
    '"usage"',
    '"compact_boundary"',
    '"isCompactSummary"',
    '"token_count"',
    '"compacted"',
    '"session_meta"',
    '"away_summary"',
    _INTERRUPTED,
)
_LONGEST_MODEL = 200
_LONGEST_VERSION = 40
_HEAD_LINES = 64
"""The first lines are always decoded: they name the session."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A client's record of one compaction.

    Args:
        encrypted: Whether (part of) the summary cannot be read by anyone but the provider.
        has_answer: Whether the summary stands before it as an answer of the model, with the figures of its prompt.
        version: The client's release; empty if it is not recorded.
    """

    line: int
    at_ms: int | None
    trigger: str = ""
    tokens_before: int | None = None
    kept_ids: tuple[str, ...] = ()
    kept_texts: tuple[str, ...] = ()
    encrypted: bool = False
    has_answer: bool = False
    version: str = ""


@dataclass(frozen=True, slots=True)
class RecordedFigures:
    """The figures of all prompts and compactions in one file, in order.

    `sub_agent`: it is a sub-agent's session. `requests`: those without a recorded answer.
    """

    prompts: tuple[PromptUsage, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    sub_agent: bool = False
    requests: tuple[CacheEvent, ...] = ()

    @property
    def cache_seconds(self) -> int | None:
        """The life of the cache that most tokens were written to. None means: the client does not record it."""
        written: Counter[int] = Counter()
        for prompt in self.prompts:
            if prompt.life_seconds is not None:
                written[FIVE_MINUTES_S] += prompt.written_tokens
                written[HOUR_S] += prompt.written_long_tokens
        return max(written, key=lambda seconds: (written[seconds], -seconds)) if any(written.values()) else None

    def in_order(self) -> tuple[PromptUsage | CacheEvent, ...]:
        """Return the prompts, and what else happened to their cache, in the order of the file."""
        compacted = (CacheEvent(one.line, one.at_ms, "compacted") for one in self.boundaries)
        return tuple(sorted((*self.prompts, *self.requests, *compacted), key=lambda one: one.line))


@dataclass(slots=True)
class FiguresReader:
    """Reads a session's figures as its file grows. `format`: a key of `undrift.transcripts.FORMATS`."""

    format: str
    lines: int = 0
    prompts: dict[str, PromptUsage] = field(default_factory=dict)
    boundaries: list[Boundary] = field(default_factory=list)
    requests: list[CacheEvent] = field(default_factory=list)
    sub_agent: bool | None = None
    version: str = ""
    seen: set[str] = field(default_factory=set)
    summary_due: bool = False

    def take(self, lines: Iterable[str]) -> None:
        """Read the lines that follow those that were taken."""
        read = self.codex if self.format == codex.FORMAT else self.claude
        for number, line in enumerate(lines, self.lines + 1):
            self.lines = number
            if number > _HEAD_LINES and not any(mark in line for mark in _MARKS):
                continue
            if line.strip():
                for record in decode(line)[0]:
                    read(number, record)

    def found(self) -> RecordedFigures:
        """Return the figures of all lines that were taken."""
        return RecordedFigures(
            tuple(self.prompts.values()), tuple(self.boundaries), bool(self.sub_agent), tuple(self.requests)
        )

    def claude(self, number: int, record: Mapping[str, Any]) -> None:
        """Read a record of Claude Code; each part of a message repeats the usage, and the last part counts."""
        if self.sub_agent is None and isinstance(record.get("isSidechain"), bool):
            self.sub_agent = bool(record["isSidechain"])
        uuid = text_at(record, "uuid")
        if (record.get("isSidechain") and not self.sub_agent) or uuid in self.seen:
            return
        if uuid:
            self.seen.add(uuid)
        kind, at_ms = record.get("type"), milliseconds(record.get("timestamp"))
        if kind == "system" and record.get("subtype") == "compact_boundary":
            boundary = _boundary(number, at_ms, object_at(record, "compactMetadata"))
            self.boundaries.append(replace(boundary, version=text_at(record, "version")[:_LONGEST_VERSION]))
            self.summary_due = True
        elif kind == "user" and record.get("isCompactSummary"):
            if not self.summary_due:  # written by a client that marks no boundary
                self.boundaries.append(Boundary(number, at_ms, version=text_at(record, "version")[:_LONGEST_VERSION]))
            self.summary_due = False
        elif _is_request(record):
            self.requests.append(CacheEvent(number, at_ms, "request"))
        elif kind == "assistant" and not record.get("isApiErrorMessage"):
            self.summary_due = False
            message = object_at(record, "message")
            found = _usage(number, at_ms, object_at(message, "usage"), text_at(message, "model"))
            self._prompt(text_at(message, "id") or f"line {number}", found)

    def codex(self, number: int, record: Mapping[str, Any]) -> None:
        """Read a record of Codex; usage follows each answer and is sometimes repeated."""
        kind, payload = text_at(record, "type"), object_at(record, "payload")
        at_ms = milliseconds(record.get("timestamp"))
        if kind == "session_meta" and self.sub_agent is None:
            source = payload.get("source")
            self.sub_agent = isinstance(source, dict) and "subagent" in source
            self.version = text_at(payload, "cli_version")[:_LONGEST_VERSION]
        elif kind == "compacted":
            self.boundaries.append(replace(_replaced(number, at_ms, payload), version=self.version))
        elif kind == "event_msg" and payload.get("type") == "token_count":
            info = object_at(payload, "info")
            last, total = object_at(info, "last_token_usage"), object_at(info, "total_token_usage")
            sent, cached = _tokens(last, "input_tokens"), _tokens(last, "cached_input_tokens")
            answered = _tokens(last, "output_tokens")
            usage = PromptUsage(number, at_ms, sent, cached, sent - cached, ended_ms=at_ms, answer_tokens=answered)
            self._prompt(f"total {_tokens(total, 'total_tokens')}", usage)

    def _prompt(self, name: str, usage: PromptUsage) -> None:
        if usage.prompt_tokens:
            first = self.prompts.get(name)  # its place and time are those of the first part
            self.prompts[name] = usage if first is None else replace(usage, line=first.line, at_ms=first.at_ms)


def figures(lines: Iterable[str], *, format: str) -> RecordedFigures:  # noqa: A002 - as `read` calls it
    """Read the figures that a client recorded about its prompts and compactions.

    `format`: a key of `undrift.transcripts.FORMATS`; of a format without such figures there are none.
    """
    reader = FiguresReader(format)
    reader.take(lines)
    return reader.found()


def _is_request(record: Mapping[str, Any]) -> bool:
    """Return whether a record shows a request without a recorded answer: one of the client's own, or an interrupted one."""
    if record.get("type") != "user":
        return record.get("type") == "system" and record.get("subtype") == "away_summary"
    content = object_at(record, "message").get("content")
    parts = content if isinstance(content, list) else [content]
    texts = (text_at(part, "text") if isinstance(part, dict) else part for part in parts)
    return any(isinstance(text, str) and text.startswith(_INTERRUPTED) for text in texts)


def _tokens(record: Mapping[str, Any], key: str) -> int:
    value = record.get(key)
    return value if type(value) is int and 0 <= value < 1 << 40 else 0


def _usage(line: int, at_ms: int | None, usage: Mapping[str, Any], model: str) -> PromptUsage:
    cached = _tokens(usage, "cache_read_input_tokens")
    written = _tokens(usage, "cache_creation_input_tokens")
    by_life = object_at(usage, "cache_creation")
    long = min(written, _tokens(by_life, "ephemeral_1h_input_tokens"))
    life = HOUR_S if long else FIVE_MINUTES_S if _tokens(by_life, "ephemeral_5m_input_tokens") else None
    prompt = _tokens(usage, "input_tokens") + cached + written
    answered = _tokens(usage, "output_tokens")
    return PromptUsage(
        line, at_ms, prompt, cached, written - long, long, model[:_LONGEST_MODEL], at_ms, life, answer_tokens=answered
    )


def _boundary(line: int, at_ms: int | None, given: Mapping[str, Any]) -> Boundary:
    kept = object_at(given, "preservedMessages")
    ids = list_at(kept, "allUuids") or list_at(kept, "uuids")
    return Boundary(
        line,
        at_ms,
        trigger=text_at(given, "trigger")[:40],
        tokens_before=_tokens(given, "preTokens") or None,
        kept_ids=tuple(name for name in ids if isinstance(name, str)),
    )


def _replaced(line: int, at_ms: int | None, payload: Mapping[str, Any]) -> Boundary:
    texts: list[str] = []
    encrypted = False
    for item in list_at(payload, "replacement_history"):
        if isinstance(item, dict):
            encrypted = encrypted or "encrypted_content" in item
            texts += [blocks.flatten(part)[0] for part in _parts(item.get("content"))]
    return Boundary(
        line,
        at_ms,
        kept_texts=tuple(text for text in texts if text.strip()),
        encrypted=encrypted,
        has_answer=not encrypted,
    )


def _parts(content: Any) -> list[Any]:
    return [content] if isinstance(content, str) else content if isinstance(content, list) else []
