"""The index of examined sessions: what an autopsy found in each recording, kept so that a recording is read once.

Law: derived data. Without the index every figure is the same, only later. It holds no text of a session but its title,
its folder and the name of its model, with secrets masked. A recording that changed is read again.
"""

import hashlib
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import msgspec

from undrift.core.autopsy.findings import Compaction, LostRule
from undrift.core.text.secrets import mask
from undrift.errors import StoreError, TranscriptError
from undrift.recordings.autopsy import Postmortem, SubAgentSession, examine, names_a_compaction
from undrift.recordings.restore import DEFAULT_BUDGET_TOKENS
from undrift.recordings.workers import processors, shared
from undrift.settings.model_table import Model
from undrift.stores.autopsies import AutopsyRow, AutopsyRows

__all__ = ["AutopsyIndex", "AutopsyReading", "examined"]

_ROOMS = ("core", "profiles", "recordings", "settings", "transcripts", "values")
"""Their source decides what an autopsy finds: when it changes, the index is of no use."""

_WORTH_PROCESSES_BYTES = 16 << 20
"""To start a process takes as long as to read 4 MB."""

_TITLE_CHARACTERS = 160
_FOLDER_CHARACTERS = 1_000
_NAME_CHARACTERS = 200
_MESSAGE_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class AutopsyReading:
    """The result of reading one recording.

    Args:
        found: The findings, if the file is a user's session with a compaction; `early_compactions` count.
        failure: Why it could not be examined; it names the file and the remedy.
        is_final: Whether the file would give the same again; a file that may not be read now may be readable later.
    """

    path: str
    found: Postmortem | None = None
    is_sub_agent: bool = False
    failure: str = ""
    is_final: bool = True

    @property
    def compacted(self) -> Postmortem | None:
        """The findings of a session with a compaction that can be judged."""
        return self.found if self.found is not None and self.found.autopsy.compactions else None

    def without_texts(self) -> "AutopsyReading":
        """Return what the index keeps: all that totals and a line of a table need."""
        found = self.found
        if found is None or found.brief:
            return replace(self, failure=_clean(self.failure, _MESSAGE_CHARACTERS))
        brief = replace(
            found,
            model=None if found.model is None else _clean(found.model, _NAME_CHARACTERS),
            priced_as=_clean(found.priced_as, _NAME_CHARACTERS),
            title=_clean(found.title, _TITLE_CHARACTERS),
            cwd=_clean(found.cwd, _FOLDER_CHARACTERS),
            autopsy=replace(found.autopsy, compactions=tuple(map(_brief, found.autopsy.compactions)), timeline=()),
            brief=True,
        )
        return replace(self, found=brief)

    def at(self, path: str) -> "AutopsyReading":
        """Return the same reading for a recording of this path."""
        return replace(self, path=path, found=None if self.found is None else replace(self.found, path=path))


def examined(
    paths: Iterable[Path], home: Path, *, budget_tokens: int = DEFAULT_BUDGET_TOKENS, models: Sequence[Model] = ()
) -> Iterator[Postmortem]:
    """Yield the findings that the index of a home has of these recordings, in their order; no recording is read.

    The findings are brief: without texts and timelines. Recordings without a compaction give none.
    """
    paths = list(paths)
    known = AutopsyIndex(home, budget_tokens=budget_tokens, models=models).known(paths)
    for path in paths:
        if (reading := known.get(path)) is not None and reading.found is not None:
            yield reading.found


class AutopsyIndex:
    """The index of one home, for one budget.

    `problem`: why nothing can be kept; empty as long as all is well.
    """

    def __init__(self, home: Path, *, budget_tokens: int = DEFAULT_BUDGET_TOKENS, models: Sequence[Model] = ()) -> None:
        self.problem = ""
        self._budget_tokens = budget_tokens
        self._models = tuple(models)
        self._rows = AutopsyRows(home, budget_tokens=budget_tokens, rules=_rules(self._models))

    def known(self, paths: Iterable[Path]) -> dict[Path, AutopsyReading]:
        """Return what is known of these recordings, unless they have changed; no recording is read."""
        try:
            rows = {row.path: row for row in self._rows.load()}
        except StoreError as error:
            self.problem = str(error)
            return {}
        found: dict[Path, AutopsyReading] = {}
        for path in paths:
            row = rows.get(_key(path))
            if row is not None and row.stamp == _stamp(path) and (reading := _decoded(row, path)) is not None:
                found[path] = reading
        return found

    def read(self, paths: Sequence[Path], *, texts: bool = False) -> Generator[AutopsyReading, None, None]:
        """Examine recordings, the first ones first, and keep what was found; yield each result when it is ready.

        `texts`: whether the findings have all texts. It may be closed at any time: what was yielded is kept.
        """
        work = partial(_read, budget_tokens=self._budget_tokens, models=self._models)
        size_bytes = sum(map(_size, paths))
        processes = processors() if size_bytes >= _WORTH_PROCESSES_BYTES else 1
        for stamp, reading in shared(work, [str(path) for path in paths], processes):
            brief = reading.without_texts()
            self._keep(stamp, brief)
            yield reading if texts else brief

    def forget_missing(self, known: Iterable[Path]) -> None:
        """Delete what is kept of recordings that are gone; `known`: those that are there."""
        kept = {_key(path) for path in known}
        with suppress(StoreError):
            self._rows.forget(row.path for row in self._rows.load() if row.path not in kept and not _is_there(row.path))

    def close(self) -> None:
        """Close the file of the index."""
        self._rows.close()

    def _keep(self, stamp: str, reading: AutopsyReading) -> None:
        if self.problem or not stamp or not reading.is_final:
            return
        try:
            content = msgspec.json.encode(reading.at(""))
            self._rows.keep(AutopsyRow(_key(Path(reading.path)), stamp, content))
        except StoreError as error:
            self.problem = str(error)


def _read(path: str, *, budget_tokens: int, models: Sequence[Model]) -> tuple[str, AutopsyReading]:
    """Examine one recording; return its stamp before it was read, and the result."""
    stamp = _stamp(Path(path))
    if not names_a_compaction(Path(path)):
        return stamp, AutopsyReading(path)
    try:
        found = examine(path, budget_tokens=budget_tokens, models=models)
    except SubAgentSession:
        return stamp, AutopsyReading(path, is_sub_agent=True)
    except TranscriptError as error:
        return stamp, AutopsyReading(path, failure=str(error), is_final=not isinstance(error.__cause__, OSError))
    return stamp, AutopsyReading(path, found if found.autopsy.compactions or found.autopsy.early_compactions else None)


def _brief(one: Compaction) -> Compaction:
    """Keep how many results were read again and how large; a hash tells whether two lost rules are the same."""
    fetches = tuple(replace(fetch, tool="", what="", entry_id="") for fetch in one.fetches_in_window)
    rules = tuple(LostRule("", _hash(rule.entry_id + rule.text), rule.calls_before) for rule in one.lost_rules)
    return replace(
        one, trigger=_clean(one.trigger, _NAME_CHARACTERS), fetches=fetches, lost_rules=rules, repeated=False
    )


def _decoded(row: AutopsyRow, path: Path) -> AutopsyReading | None:
    """Return the reading of a row. None means: it has another form, so the recording is read again."""
    try:
        return _decoder().decode(row.content).at(str(path))
    except (msgspec.MsgspecError, ValueError):
        return None


@lru_cache(maxsize=1)
def _decoder() -> msgspec.json.Decoder[AutopsyReading]:
    return msgspec.json.Decoder(AutopsyReading)


def _rules(models: Sequence[Model]) -> str:
    """Return a hash of all that decides what an autopsy finds: our own source, and the user's models."""
    found = hashlib.blake2b(repr(models).encode("utf-8", "replace"), digest_size=16)
    package = Path(__file__).parents[1]
    for room in _ROOMS:
        for path in sorted((package / room).rglob("*.py")):
            with suppress(OSError):
                found.update(path.read_bytes())
    return found.hexdigest()


def _stamp(path: Path) -> str:
    """Return what changes when a recording does: its identity, size and time. Empty: it is not there."""
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _is_there(path: str) -> bool:
    return os.path.lexists(path)


def _key(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - it keeps links, as two names are two recordings


def _clean(text: str, limit_characters: int) -> str:
    """Mask secrets, then cut: half a secret is not recognised."""
    return mask(text[: 4 * limit_characters]).text[:limit_characters].encode("utf-8", "replace").decode()


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
