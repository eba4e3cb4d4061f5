"""The list of sessions on a server, and what is read over all of them. Law: reads only."""

from typing import Any

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.base import SessionRow
from undrift.stores.postgres.log import Home, payload_place
from undrift.stores.postgres.sealing import Seal

__all__ = ["newest", "ratings", "sessions"]

_SESSIONS = """SELECT s.name, s.archived + s.originals, s.decisions, s.first_at_ms, s.last_at_ms, s.key, o.seq, o.payload,
        (SELECT count(*) FROM operations c WHERE c.month = s.month AND c.session = s.number)
    FROM sessions s LEFT JOIN LATERAL (SELECT seq, payload FROM operations n WHERE n.month = s.month AND n.session = s.number
        AND n.kind = 'named'::bytea ORDER BY seq LIMIT 1) o ON true
    WHERE s.project = %s AND s.person = %s AND s.last_seq > 0 ORDER BY s.written DESC"""
_NEWEST = """SELECT name FROM sessions WHERE project = %s AND person = %s AND last_seq > 0
    ORDER BY written DESC LIMIT 1"""
_RATED = """SELECT s.key, o.seq, o.payload FROM operations o JOIN sessions s ON s.month = o.month AND s.number = o.session
    WHERE s.project = %s AND s.person = %s AND o.kind = 'rate_search'::bytea ORDER BY o.at_ms DESC, o.clock DESC, o.seq DESC LIMIT %s"""
_MOST_RATED = 1_000


def sessions(home: Home) -> tuple[SessionRow, ...]:
    """Return the sessions of the scope, the most recently written first."""
    (found,) = home.server.read(home.caller, (_SESSIONS, (home.project, home.caller.person)))
    rows_ = []
    for name, originals, decisions, first, last, key, seq, payload, operations in found:
        title = "" if payload is None else _title(home, bytes(key), seq, bytes(payload))
        rows_.append(SessionRow(rows.shown_text(name), operations, originals, decisions, first, last, title))
    return tuple(rows_)


def newest(home: Home) -> str | None:
    """Return the most recently written session. None means: there are no sessions."""
    (found,) = home.server.read(home.caller, (_NEWEST, (home.project, home.caller.person)))
    return next((rows.shown_text(name) for (name,) in found), None)


def ratings(home: Home, most: int) -> list[tuple[int, int]]:
    """Return the numbers of all results and of useful results, for each of the newest rated searches, newest first."""
    (found,) = home.server.read(home.caller, (_RATED, (home.project, home.caller.person, _MOST_RATED)))
    rated: list[tuple[int, int]] = []
    for key, seq, stored in found:
        payload = {} if stored is None else _payload(home, bytes(key), seq, bytes(stored))
        if payload.get("returned", 0) > 0:
            rated.append((payload["returned"], payload["useful"]))
        if len(rated) >= most:
            break
    return rated[: max(most, 0)]


def _title(home: Home, key: bytes, seq: int, payload: bytes) -> str:
    """Return a session's readable name; empty if the record with it is damaged."""
    try:
        name = _payload(home, key, seq, payload)["name"]
    except (StoreCorrupt, ValueError, LookupError, TypeError):
        return ""
    return name if isinstance(name, str) else ""


def _payload(home: Home, key: bytes, seq: int, payload: bytes) -> Any:
    """Open the payload of an operation of a session with this key. Raises StoreCorrupt."""
    return rows.load(Seal(home.seal.open(key, b"session")).open(payload, payload_place(seq)))
