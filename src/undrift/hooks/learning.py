"""Teaches the memory of a project by a client's sessions: the one that is recorded, and earlier ones of its folder.

Law: a fault of the memory never keeps a session from being recorded. A session is read from where the last reading ended.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import islice

from undrift import transcripts
from undrift.core.memory.lessons import lessons
from undrift.errors import InputError, StoreConflict, TranscriptError, UndriftError
from undrift.hooks import home
from undrift.hooks.call import HookCall
from undrift.hooks.earlier import ID_CHARACTERS, MOST_DAYS, earlier_files
from undrift.hooks.transcript import ReadPosition, Transcript, lines_before, stored_position
from undrift.memory.learning import Learning
from undrift.memory.repository import repository_of
from undrift.memory.scopes import ScopedMemories
from undrift.memory.turns import repeated
from undrift.settings import Settings
from undrift.stores.base import Context
from undrift.stores.contract import Store
from undrift.stores.memory_values import MemoryChange
from undrift.stores.opening import open_store
from undrift.transcripts.figures import figures
from undrift.values.clock import now_ms
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry
from undrift.window.context import SessionContext

__all__ = ["Teaching", "is_of_agent", "learn_earlier"]

_LEARNED = "learned.json"
_HEAD_BYTES = 512 << 10
_BATCH_BYTES = 8 << 20
_MOST_FILES = 5
_DAY_MS = 24 * 60 * 60 * 1000


class Teaching:
    """Finds what the entries of one session teach.

    Args:
        store: The store of the session's project.
        call: The call that is about the session.
        is_of_agent: True: its user is another agent, so it teaches nothing.
    """

    def __init__(self, store: Store, call: HookCall, *, is_of_agent: bool) -> None:
        self._store = store
        self._call = call
        self._is_of_agent = is_of_agent
        self._learning: Learning | None = None

    def change(self, entries: Sequence[ContextEntry], at_ms: int) -> MemoryChange | None:
        """Return the change that stores new lessons in another commit; None if there are none, or at a fault.

        Raises StoreConflict: another process writes memories; the caller repeats its commit.
        """
        if self._is_of_agent or not (found := lessons(entries)):
            return None
        try:
            learning = self._opened()
            return None if learning is None else learning.change(found, at_ms)
        except StoreConflict:
            raise
        except UndriftError as error:
            home.note(self._call.home, f"{self._call.client}: nothing is learned: {error}")
            return None

    def _opened(self) -> Learning | None:
        if self._learning is None:
            settings = Settings.from_environment()
            if settings.learns != "all":
                self._is_of_agent = True
                return None
            name, folder = f"{self._call.client}:{self._call.session_id}", self._call.place()
            context = SessionContext.of(name, self._store, settings, now_ms, home=folder, keeps_notes=False)
            memories = ScopedMemories(context, repository_of(self._store, settings)).project
            self._learning = Learning(context, memories)
        return self._learning


def learn_earlier(call: HookCall) -> int:
    """Learn from the newest other sessions of the call's folder; return the number of their new memories.

    Raises StoreError: the store refused; what was not learned is tried again the next time.
    """
    if Settings.from_environment().learns != "all":
        return 0
    learned, since_ms = 0, now_ms() - MOST_DAYS * _DAY_MS
    for path, modified_ms in islice(earlier_files(call), _MOST_FILES):
        if modified_ms < since_ms:
            break
        try:
            with Transcript.open(str(path), call.sessions) as transcript:
                learned += _learn_from(
                    replace(call, session_id=path.stem[-ID_CHARACTERS:], transcript=str(path)), transcript
                )
        except (InputError, OSError) as error:
            home.note(call.home, f"{call.client}: an earlier session is not read: {error}")
    return learned


def _learn_from(call: HookCall, transcript: Transcript) -> int:
    folder, number = call.folder(), 0
    position = stored_position(folder / _LEARNED)
    if not transcript.knows(position):
        position = ReadPosition(*transcript.identity)
    if position.offset >= transcript.size or not _is_of_folder(transcript, call):
        return 0
    with open_store(call.place(), Scope()) as store:
        teaching = Teaching(store, call, is_of_agent=is_of_agent(transcript, call.format))
        while batch := transcript.batch(position.offset, _BATCH_BYTES):
            number += _learned(store, teaching, call, [*lines_before(position.lines), *(line.text for line in batch)])
            position = transcript.position(batch[-1].end, position.lines + len(batch))
            home.write_small(folder / _LEARNED, json.dumps(asdict(position)).encode("ascii"))
    return number


def _learned(store: Store, teaching: Teaching, call: HookCall, lines: Sequence[str]) -> int:
    try:
        entries = transcripts.read(lines, format=call.format).entries
    except TranscriptError:
        return 0  # no message among them

    def once() -> int:
        at_ms = now_ms()
        if (change := teaching.change(entries, at_ms)) is None:
            return 0
        place = Context(store.scope.of(f"{call.client}:{call.session_id}"), at_ms)
        store.commit(place, "learn", change.changes, payload=change.payload)
        return len(change.payload["remembered"])

    return repeated(once)


def is_of_agent(transcript: Transcript, format_name: str) -> bool:
    """Tell whether a session is a sub-agent's, by its first lines."""
    return figures(transcript.head(_HEAD_BYTES), format=format_name).sub_agent


def _is_of_folder(transcript: Transcript, call: HookCall) -> bool:
    """Tell whether a session worked in the folder of the call."""
    try:
        cwd = transcripts.read(transcript.head(_HEAD_BYTES), format=call.format).cwd
    except TranscriptError:
        return False
    return bool(cwd) and os.path.realpath(str(cwd)) == os.path.realpath(call.cwd or ".")
