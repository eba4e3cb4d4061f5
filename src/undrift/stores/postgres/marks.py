"""Marks on the server. Law: knows only its own table; a damaged mark is skipped like an unknown one."""

from collections.abc import Sequence

from undrift.errors import InputError, StoreCorrupt
from undrift.stores import rows
from undrift.stores.base import KnownMark, Mark
from undrift.stores.marks import MOST_MARKS, mark_from, mark_row
from undrift.stores.postgres.log import Home

__all__ = ["add", "find"]

_FIND = """SELECT m.number, m.record_sha256, m.session, m.mark, m.kind::bytea, f.sessions, EXISTS (
        SELECT 1 FROM marks t WHERE t.project = m.project AND t.person = m.person AND t.session = m.session AND t.kind = 'turn')
    FROM (SELECT max(number) AS newest, count(*) AS sessions FROM marks
        WHERE project = %s AND person = %s AND mark = ANY(%s) GROUP BY mark, kind) f
    JOIN marks m ON m.number = f.newest ORDER BY m.number"""
_ADD = """INSERT INTO marks(organisation, person, project, session, mark, kind, record_sha256)
    SELECT %(organisation)s, %(person)s, %(project)s, %(session)s, x.mark, x.kind, x.digest
    FROM unnest(%(marks)s::bytea[], %(kinds)s::text[], %(digests)s::bytea[]) WITH ORDINALITY AS x(mark, kind, digest, n)
    WHERE NOT (%(is_claim)s AND EXISTS (SELECT 1 FROM marks t WHERE t.project = %(project)s AND t.person = %(person)s
        AND t.session = %(session)s AND t.kind = 'turn'))
    ORDER BY x.n ON CONFLICT (project, person, mark, session) DO NOTHING"""
_HOLD = "SELECT pg_advisory_xact_lock(hashtextextended(encode(%s, 'hex'), %s))"
"""Others that add marks to the session wait."""
_HAS_TURNS = "SELECT EXISTS (SELECT 1 FROM marks WHERE project = %s AND person = %s AND session = %s AND kind = 'turn')"
_THIN = """DELETE FROM marks WHERE project = %s AND person = %s AND session = %s AND kind <> 'birth' AND number <= (
    SELECT number FROM marks WHERE project = %s AND person = %s AND session = %s ORDER BY number DESC LIMIT 1 OFFSET %s)"""


def find(home: Home, texts: Sequence[str]) -> list[KnownMark]:
    """Return the stored mark for each text and kind, oldest first."""
    values = (home.project, home.caller.person, [rows.raw(one) for one in texts])
    (found,) = home.server.read(home.caller, (_FIND, values))
    known = []
    for number, digest, session, text, kind, sessions, has_turns in found:
        try:
            mark, session_id = mark_from((number, bytes(digest), bytes(session), bytes(text), bytes(kind)))
        except StoreCorrupt:
            continue
        known.append(KnownMark(mark, session_id, sessions, bool(has_turns)))
    return known


def add(home: Home, session_id: str, marks: Sequence[Mark], *, is_claim: bool) -> bool:
    """Add new marks, and drop the session's oldest beyond `MOST_MARKS`; False means: a claim came too late."""
    if not session_id:
        raise InputError("a session id must not be empty")
    new = [mark_row(session_id, one) for one in marks]
    session, whose = rows.raw(session_id), (home.project, home.caller.person)
    values = {
        "organisation": home.caller.organisation, "person": whose[1], "project": whose[0], "session": session,
        "marks": [rows.stored(one[0]) for one in new], "kinds": [str(one[1]) for one in new],
        "digests": [one[3] for one in new], "is_claim": is_claim,
    }  # fmt: skip
    _, had, *_ = home.server.write(
        home.caller, (_HOLD, (session, home.project)), (_HAS_TURNS, (*whose, session)), (_ADD, values),
        (_THIN, (*whose, session, *whose, session, MOST_MARKS)), is_durable=False,
    )  # fmt: skip
    return not (is_claim and had[0][0])
