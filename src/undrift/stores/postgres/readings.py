"""Readings of histories on the server. Law: derived; a missing or damaged one costs only time."""

from collections.abc import Callable, Collection

from undrift.stores import rows
from undrift.stores.postgres.log import Home
from undrift.stores.postgres.sessions import KnownSession
from undrift.stores.readings import reading_from
from undrift.values.readings import Heads, StretchReading

__all__ = ["find"]

_OF_SESSION = """r.session = (SELECT number FROM sessions WHERE project = %s AND person = %s AND name = %s)"""
_HEADS = f"""SELECT r.number, r.before, r.sha256, r.length FROM readings r WHERE {_OF_SESSION} AND r.key = %s
    ORDER BY r.number"""  # noqa: S608 - constants of ours, as below
_FIND = f"""SELECT r.number, r.record_sha256, r.key, r.before, r.sha256, r.length, r.record FROM readings r
    WHERE {_OF_SESSION} AND r.number = ANY(%s) ORDER BY r.number"""  # noqa: S608


def find(home: Home, known: KnownSession, key: str, chosen: Callable[[Heads], Collection[int]]) -> list[StretchReading]:
    """Return those readings of a session that `chosen` selects, oldest first. Raises StoreCorrupt.

    The server is asked for their heads once for each operation that this process knows: a reading comes with one.
    """
    state = known.state
    session, whose = rows.raw(state.name), (home.project, home.caller.person)
    moment = (key, state.epoch, state.last_seq)
    if known.heads is None or known.heads[0] != moment:
        (found,) = home.server.read(home.caller, (_HEADS, (*whose, session, rows.raw(key))))
        made = [
            (number, StretchReading(key, rows.text_from(bytes(before)), rows.text_from(bytes(sha256)), length))
            for number, before, sha256, length in found
        ]
        known.heads = (moment, made)
    heads = known.heads[1]
    numbers = list(chosen(heads)) if heads else []
    if not numbers:
        return []
    (read,) = home.server.read(home.caller, (_FIND, (*whose, session, numbers)))
    return [
        reading_from((number, bytes(digest), session, *(bytes(one) for one in texts), length, bytes(record)))
        for number, digest, *texts, length, record in read
    ]
