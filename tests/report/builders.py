"""A recorded session of Claude Code that was compacted once, small enough to reckon by hand."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Record = dict[str, Any]

RULE = "Never touch the vendored parser in third_party."
CALLS_BEFORE = 20
CALL_S = 20
"""Seconds from one call to the next."""

CLIENT_CODE = "".join(
    f"    retry_delay_{number} = compute_backoff(attempt_{number}, jitter_seed_{number})\n" for number in range(24)
)
EDITED = "".join(CLIENT_CODE.splitlines(keepends=True)[6:9])
"""Ten identifiers; of its three lines all but the first stand alone on a line of the call's JSON."""


class Session:
    """Writes records one after the other, `CALL_S` seconds apart a call."""

    def __init__(self, *, model: str = "claude-opus-4-6") -> None:
        self.records: list[Record] = []
        self._model = model
        self._at_s = 0
        self._calls = 0

    def _add(self, type_: str, **more: Any) -> None:
        minutes, seconds = divmod(self._at_s, 60)
        stamp = f"2026-03-01T{10 + minutes // 60:02}:{minutes % 60:02}:{seconds:02}.000Z"
        record = {"type": type_, "uuid": f"u-{len(self.records)}", "isSidechain": False, "sessionId": "s-1"}
        self.records.append({**record, "timestamp": stamp, **more})

    def pause(self, seconds: int) -> "Session":
        self._at_s += seconds
        return self

    def user(self, text: str, **more: Any) -> "Session":
        self._add("user", message={"role": "user", "content": text}, **more)
        return self

    def said(self, text: str, usage: Record | None = None) -> "Session":
        return self._assistant({"type": "text", "text": text}, usage)

    def _assistant(self, block: Record, usage: Record | None) -> "Session":
        message = {"role": "assistant", "id": f"m-{len(self.records)}", "model": self._model, "content": [block]}
        self._add("assistant", message=message | ({"usage": usage} if usage else {}))
        return self

    def call(self, tool: str, result: str, usage: Record | None = None, **given: Any) -> "Session":
        self._calls += 1
        self._at_s += CALL_S
        name = f"call-{self._calls}"
        self._assistant({"type": "tool_use", "id": name, "name": tool, "input": given}, usage)
        answer = {"type": "tool_result", "tool_use_id": name, "content": result}
        self._add("user", message={"role": "user", "content": [answer]})
        return self

    def compaction(self, summary: str, **metadata: Any) -> "Session":
        self._add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto", **metadata})
        return self.user(summary, isCompactSummary=True)

    def written(self, path: Path) -> Path:
        return written(path, self.records)


def written(path: Path, records: Iterable[Record]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def usage(prompt: int, *, cached: int = 0, long: int = 0) -> Record:
    """What the provider counts for a prompt: all of it cached or written, `long` of it for an hour."""
    new = prompt - cached
    return {
        "input_tokens": 0,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": new,
        "cache_creation": {"ephemeral_5m_input_tokens": new - long, "ephemeral_1h_input_tokens": long},
        "output_tokens": 10,
    }


def part(number: int) -> str:
    """What a file of its own holds."""
    return "".join(f"export const part_{number}_{line} = load_part(config_{number}, {line});\n" for line in range(20))


def work(session: Session, calls: int = CALLS_BEFORE, *, recorded: bool = True) -> Session:
    """The work before a compaction: the client's code first, then a file after the other."""
    tokens = 20_000
    for number in range(calls):
        path, text = ("src/client.py", CLIENT_CODE) if number == 0 else (f"src/part_{number}.ts", part(number))
        figures = usage(tokens, cached=tokens - 1_000 if number else 0) if recorded else None
        session.call("Read", text, figures, file_path=f"/repo/{path}")
        tokens += 1_000
    return session


def compacted_session(
    *, summary: str = "We were working on time-outs.", rule: str = RULE, recorded: bool = True
) -> Session:
    """The user gives a rule; the agent reads 20 files, is compacted, reads the first one again and edits it."""
    session = Session().user(f"Make the retries of the client configurable. {rule}")
    work(session, recorded=recorded).compaction(summary, preTokens=41_000)
    after = usage(21_000) if recorded else None
    session.call("Read", CLIENT_CODE, after, file_path="/repo/src/client.py")
    return session.call(
        "Edit", "The file was updated.", file_path="/repo/src/client.py", old_string=EDITED, new_string="    pass"
    ).said("The retries are configurable now.")
