"""The hooks: payloads and transcripts that are damaged.

An input begins with ``hook EVENT SOURCE``; the next line is the payload, in which ``{transcript}`` and ``{folder}`` mean
paths; what follows is the transcript. Nothing may come out but the one object of a client, nor stand in the log but an
error of ours or of the disk.
"""

import builtins
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.sessions import claude_code, turns
from tests.fuzz.surface import MEMORY, Surface, Take, head_of
from tests.hooks.builders import SESSION, User
from undrift import errors
from undrift.hooks.answer import answer
from undrift.hooks.events import EVENTS

__all__ = ["HOOKS_SURFACE"]

_LOGGED = re.compile(r"claude \S* ?[^:]*: (\w+): ")
_MOST_CHARACTERS = 60_000


class _Hooks:
    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0

    def take(self, data: bytes) -> None:
        words, rest = head_of(data)
        if len(words) != 3 or words[0] != "hook" or words[1] not in EVENTS or words[2] == "startup":
            return
        given, _, recorded = rest.partition(b"\n")
        self._number += 1
        place = self._folder / str(self._number)
        user = User(place)
        user.transcript().parent.mkdir(parents=True)
        user.transcript().write_bytes(recorded)
        for name, path in ((b"{transcript}", user.transcript()), (b"{folder}", place)):
            given = given.replace(name, str(path).encode())
        before = _beside(place)
        # first what a compaction prepares, so that no other process has to be started for it
        prepared = answer("PreCompact", user.payload("PreCompact"), user.options())
        assert prepared == "", "PreCompact says something"
        if words[1] != "SessionStart" or b'"compact"' in given:
            for part in (1, 2):
                _is_answer(answer(words[1], given, user.options(part)))
        assert user.transcript().read_bytes() == recorded, "the transcript was changed"
        assert _beside(place) == before, "written beside the home"
        for line in user.log():
            found = _LOGGED.search(line)
            assert found is None or _is_ours(found[1]), f"not our own error: {line}"


def _beside(place: Path) -> set[Path]:
    return {path for path in place.rglob("*") if path.relative_to(place).parts[0] != "undrift"}


def _is_ours(name: str) -> bool:
    kind = getattr(errors, name, None) or getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, (errors.UndriftError, OSError))


def _is_answer(said: str) -> None:
    """Nothing, or one object that the client takes."""
    if said:
        assert len(said) < _MOST_CHARACTERS, "the answer is too long"
        assert said.endswith("}\n"), "more than one line"
        assert set(json.loads(said)) <= {"hookSpecificOutput", "systemMessage"}, "not what a client takes"


@contextmanager
def _opened() -> Iterator[Take]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield _Hooks(Path(folder)).take


def _input(event: str, source: str, lines: list[str]) -> bytes:
    payload = {"session_id": SESSION, "transcript_path": "{transcript}", "cwd": "{folder}", "hook_event_name": event}
    given = json.dumps({**payload, "source": source}).encode()
    return f"hook {event} {source}\n".encode() + given + b"\n" + "\n".join(map(str.strip, lines)).encode() + b"\n"


HOOKS_SURFACE = Surface(
    "hooks",
    _opened,
    st.builds(
        _input,
        st.sampled_from(sorted(EVENTS)),
        st.sampled_from(["compact", "compact", "user", "resume"]),
        turns.map(claude_code),
    ),
    (
        *(b"{transcript}", b"{folder}/../x", b"/etc/passwd", b'"isCompactSummary":true', b'"isSidechain":true'),
        *(b'"timestamp":"9999-99-99"', b'"type":"attachment"', b"\\u0000", b"\\ud800", b'"uuid":"u0"', b"\x1b[2J"),
    ),
)
"""Payloads and transcripts of a client."""
