"""The ledger of a soak: a file outside the home with every acknowledged reference and the SHA-256 of its text; and its judge."""

import hashlib
import json
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

from undrift import Session
from undrift.errors import RecallError, StoreError
from undrift.stores.contract import Store
from undrift.stores.opening import open_store
from undrift.values.project import Place
from undrift.values.scope import Scope

__all__ = ["Ledger", "Noted", "lost", "sha256"]

_NEWEST = 400


@dataclass(frozen=True, slots=True)
class Noted:
    """One acknowledged reference.

    Args:
        kind: ``original``, ``memory`` or ``task``.
        by: The part that got it.
        ref: The reference, or the id of a memory or a task; empty if it is not known.
        sha256: Of its text; empty if only the reference is known.
        session: Of an original whose reference is not known.
    """

    kind: str
    by: str
    ref: str
    sha256: str = ""
    session: str = ""


@dataclass(slots=True)
class Ledger:
    """All that was acknowledged; any thread may use it.

    Args:
        path: Of the file: one line of JSON for each reference.
    """

    path: Path
    noted: list[Noted] = field(default_factory=list)
    _known: set[tuple[str, str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, by: str, ref: str, text: str | None = None, *, session: str = "") -> None:
        """Write a reference down, once. `text`: None if only the reference is known."""
        one = Noted(kind, by, ref, "" if text is None else sha256(text), session)
        with self._lock:
            if (ref or session, one.sha256) in self._known:
                return
            self._known.add((ref or session, one.sha256))
            self.noted.append(one)
            with self.path.open("a", encoding="ascii") as file:
                file.write(json.dumps(asdict(one)) + "\n")

    def any(self, kind: str, random: Random) -> Noted | None:
        """Return one of the newest whose reference and text are known. None means: there is none yet."""
        with self._lock:
            found = [one for one in self.noted[-_NEWEST:] if one.kind == kind and one.ref and one.sha256]
        return random.choice(found) if found else None

    def all(self) -> tuple[Noted, ...]:
        """Return what stands in it so far."""
        with self._lock:
            return tuple(self.noted)


def lost(place: Place, session: str, noted: Iterable[Noted]) -> list[str]:
    """Return a sentence for each reference whose text is not there byte for byte. `session`: of the memories and the tasks."""
    noted = tuple(noted)
    rest = [one for one in noted if one.kind != "original"]
    with open_store(place, Scope(), create=False) as store:
        wrong = [said for one in noted if one.kind == "original" and one.ref and (said := _wrong(store, one))]
        for name in {one.session for one in noted if one.kind == "original" and not one.ref}:
            refs = {decision.ref for decision in store.decisions(name).values() if decision.ref}
            there = {sha256(store.original(ref).entry.content) for ref in refs}
            gone = [one for one in noted if one.session == name and one.sha256 not in there]
            wrong += [f"{one.by}: a text of session {name} that left its window" for one in gone]
    if rest:
        with Session.open(session, home=place.records) as opened:
            known = {("memory", one.id, sha256(one.content)) for one in opened.memories()}
            known |= {("task", one.id, "") for one in opened.tasks()}
        wrong += [f"{one.by}: {one.kind} {one.ref}" for one in rest if (one.kind, one.ref, one.sha256) not in known]
    return wrong


def _wrong(store: Store, one: Noted) -> str:
    try:
        text = store.original(one.ref).entry.content
    except (RecallError, StoreError) as error:
        return f"{one.by}: original {one.ref}: {type(error).__name__}: {error}"
    return f"{one.by}: original {one.ref} has another text" if one.sha256 and sha256(text) != one.sha256 else ""


def sha256(text: str) -> str:
    """Return the SHA-256 of a text in hex."""
    return hashlib.sha256(text.encode()).hexdigest()
