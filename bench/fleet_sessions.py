"""The sessions whose requests measure a fleet's needs: recorded ones, or texts of the standard library."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from bench.bytes import seen_tokens, sessions_below
from bench.commits import library_lines
from undrift.bench.sessions import Case

__all__ = ["BUDGET_TOKENS", "ReplaySession", "ReplayTurn", "recorded_sessions", "synthetic_sessions"]

BUDGET_TOKENS = 40_000
_MODEL = "claude-sonnet-4-5"
_PEOPLE = 4


class ReplayTurn(NamedTuple):
    """One request, as a client sent it at a time."""

    at_ms: int
    body: bytes


class ReplaySession(NamedTuple):
    """One session: every request that its client sent, and what is in it."""

    name: str
    person: str
    tokens: int
    turns: list[ReplayTurn]


def recorded_sessions(folder: Path, most: int) -> tuple[list[ReplaySession], str]:
    """Return the sessions of a folder with the least SHA-256, and the SHA-256 of these."""
    found = sessions_below([str(folder)])
    digests = sorted((hashlib.sha256(path.read_bytes()).hexdigest(), path) for path in found)[:most]
    made = []
    for number, (_, path) in enumerate(digests):
        recording = found[path]
        history = Case(path.name, recording).history
        system = [{"type": "text", "text": entry.content} for entry in history.system]
        fields = {"model": recording.model or _MODEL, "max_tokens": 9, "system": system}
        turns, last_ms = [], 0
        for turn in history.turns:
            last_ms = max(history.entries[turn][0].timestamp, last_ms + 1)
            turns.append(ReplayTurn(last_ms, _body(fields, history.messages[:turn], number)))
        made.append(ReplaySession(_name(number), f"person-{number % _PEOPLE}", seen_tokens([recording]), turns))
    return made, hashlib.sha256("".join(digest for digest, _ in digests).encode()).hexdigest()


def synthetic_sessions(count: int, turns: int = 60) -> list[ReplaySession]:
    """Return sessions of calls and results with texts of the standard library."""
    chance, lines, made = Random(11), library_lines(), []
    for number in range(count):
        messages: list[Any] = [{"role": "user", "content": "Read the library and say what it does."}]
        found, at_ms = [], 1_700_000_000_000
        for turn in range(turns):
            at_ms += chance.randrange(5_000, 60_000)
            found.append(ReplayTurn(at_ms, _body({"model": _MODEL, "max_tokens": 9}, messages, number)))
            start, size = chance.randrange(len(lines) - 200), chance.randrange(40, 200)
            call = {"type": "tool_use", "id": f"call_{turn}", "name": "read", "input": {"path": f"{start}.py"}}
            text = "\n".join(lines[start : start + size])
            result = {"type": "tool_result", "tool_use_id": f"call_{turn}", "content": text}
            messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        made.append(ReplaySession(_name(number), f"person-{number % _PEOPLE}", len(found[-1].body) // 4, found))
    return made


def _name(number: int) -> str:
    """Return an id as long as a client's own."""
    digest = hashlib.sha256(f"fleet {number}".encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


def _body(fields: Mapping[str, Any], messages: Sequence[Any], number: int) -> bytes:
    named = {"metadata": {"user_id": json.dumps({"session_id": _name(number)})}}
    return json.dumps({"stream": True, **fields, **named, "messages": messages}).encode()
