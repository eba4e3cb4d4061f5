"""Reads a client's own figures of its prompts and compactions: tokens sent, cached and written. Pure.

A second, cheap look at a session's file, apart from its reader: lines that hold none of `_MARKS` are not decoded. A figure
that was not recorded is absent, never guessed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from undrift.transcripts import blocks, claude_code, codex
from undrift.transcripts.lines import decode, list_at, milliseconds, object_at, text_at

__all__ = ["Boundary", "PromptUsage", "RecordedFigures", "figures"]

_MARKS = ('"usage"', '"compact_boundary"', '"isCompactSummary"', '"token_count"', '"compacted"', '"session_meta"')
_HEAD_LINES = 64
"""The first lines are always decoded: they name the session."""

_SHORT_SECONDS, _LONG_SECONDS = 300, 3_600


@dataclass(frozen=True, slots=True)
class PromptUsage:
    """The provider's counts for one prompt.

    Args:
        written_tokens: Of these, written to a cache of five minutes.
        written_long_tokens: Of these, written to a cache of one hour.
    """

    line: int
    at_ms: int | None
    prompt_tokens: int
    cached_tokens: int
    written_tokens: int = 0
    written_long_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Boundary:
    """A client's record of one compaction.

    Args:
        encrypted: Whether (part of) the summary cannot be read by anyone but the provider.
        has_answer: Whether the summary stands before it as an answer of the model, with the figures of its prompt.
    """

    line: int
    at_ms: int | None
    trigger: str = ""
    tokens_before: int | None = None
    kept_ids: tuple[str, ...] = ()
    kept_texts: tuple[str, ...] = ()
    encrypted: bool = False
    has_answer: bool = False


@dataclass(frozen=True, slots=True)
class RecordedFigures:
    """The figures of all prompts and compactions in one file, in order.

    Args:
        sub_agent: Whether it is a sub-agent's session.
        cache_seconds: The life of the cache that most tokens were written to. None: the client does not record it.
    """

    prompts: tuple[PromptUsage, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    sub_agent: bool = False
    cache_seconds: int | None = None


@dataclass(slots=True)
class _FiguresReader:
    prompts: dict[str, PromptUsage] = field(default_factory=dict)
    boundaries: list[Boundary] = field(default_factory=list)
    sub_agent: bool | None = None
    seen: set[str] = field(default_factory=set)
    summary_due: bool = False

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
            self.boundaries.append(_boundary(number, at_ms, object_at(record, "compactMetadata")))
            self.summary_due = True
        elif kind == "user" and record.get("isCompactSummary"):
            if not self.summary_due:  # written by a client that marks no boundary
                self.boundaries.append(Boundary(number, at_ms))
            self.summary_due = False
        elif kind == "assistant" and not record.get("isApiErrorMessage"):
            self.summary_due = False
            message = object_at(record, "message")
            self._prompt(text_at(message, "id") or f"line {number}", _usage(number, at_ms, object_at(message, "usage")))

    def codex(self, number: int, record: Mapping[str, Any]) -> None:
        """Read a record of Codex; usage follows each answer and is sometimes repeated."""
        kind, payload = text_at(record, "type"), object_at(record, "payload")
        at_ms = milliseconds(record.get("timestamp"))
        if kind == "session_meta" and self.sub_agent is None:
            source = payload.get("source")
            self.sub_agent = isinstance(source, dict) and "subagent" in source
        elif kind == "compacted":
            self.boundaries.append(_replaced(number, at_ms, payload))
        elif kind == "event_msg" and payload.get("type") == "token_count":
            info = object_at(payload, "info")
            last, total = object_at(info, "last_token_usage"), object_at(info, "total_token_usage")
            sent, cached = _tokens(last, "input_tokens"), _tokens(last, "cached_input_tokens")
            self._prompt(
                f"total {_tokens(total, 'total_tokens')}", PromptUsage(number, at_ms, sent, cached, sent - cached)
            )

    def _prompt(self, name: str, usage: PromptUsage) -> None:
        if usage.prompt_tokens:
            first = self.prompts.get(name)  # its place and time are those of the first part
            at = usage if first is None else PromptUsage(first.line, first.at_ms, *_counts(usage))
            self.prompts[name] = at


def figures(lines: Iterable[str], *, format: str) -> RecordedFigures:  # noqa: A002 - as `read` calls it
    """Read the figures that a client recorded about its prompts and compactions.

    `format`: a key of `undrift.transcripts.FORMATS`; of a format without such figures there are none.
    """
    reader = _FiguresReader()
    take = reader.codex if format == codex.FORMAT else reader.claude
    for number, line in enumerate(lines, 1):
        if number > _HEAD_LINES and not any(mark in line for mark in _MARKS):
            continue
        if line.strip():
            for record in decode(line)[0]:
                take(number, record)
    prompts = tuple(reader.prompts.values())
    life = _cache_seconds(prompts) if format == claude_code.FORMAT else None
    return RecordedFigures(prompts, tuple(reader.boundaries), bool(reader.sub_agent), life)


def _cache_seconds(prompts: Sequence[PromptUsage]) -> int | None:
    short, long = sum(p.written_tokens for p in prompts), sum(p.written_long_tokens for p in prompts)
    return None if not short + long else _LONG_SECONDS if long > short else _SHORT_SECONDS


def _counts(usage: PromptUsage) -> tuple[int, int, int, int]:
    return usage.prompt_tokens, usage.cached_tokens, usage.written_tokens, usage.written_long_tokens


def _tokens(record: Mapping[str, Any], key: str) -> int:
    value = record.get(key)
    return value if type(value) is int and 0 <= value < 1 << 40 else 0


def _usage(line: int, at_ms: int | None, usage: Mapping[str, Any]) -> PromptUsage:
    cached = _tokens(usage, "cache_read_input_tokens")
    written = _tokens(usage, "cache_creation_input_tokens")
    long = min(written, _tokens(object_at(usage, "cache_creation"), "ephemeral_1h_input_tokens"))
    prompt = _tokens(usage, "input_tokens") + cached + written
    return PromptUsage(line, at_ms, prompt, cached, written - long, long)


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
