"""The judge of every proof: is all that was acknowledged there, byte for byte, and does the store go on?

``python -m tests.proof.check MANIFEST FOLDER COUNT`` ends with 0: all there, 1: something acknowledged is lost, 2: damaged.
"""

import hashlib
import sys
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from tests.proof.workload import Acknowledged, acknowledged
from tests.stores.builders import commit
from undrift.errors import RecallError, StoreError
from undrift.stores.sqlite import SqliteStore

__all__ = ["Verdict", "judge"]


class Verdict(Enum):
    """What a store is after what was done to it."""

    WHOLE = 0
    LOST = 1
    DAMAGED = 2


def judge(home: Path, promised: Iterable[Acknowledged]) -> tuple[Verdict, str]:
    """Open a home as any process would, look for all that was promised, then write into it; return verdict and why."""
    try:
        with SqliteStore.open(home) as store:
            if wrong := store.integrity():
                return Verdict.DAMAGED, wrong[0]
            for one in promised:
                if missing := _missing(store, one):
                    return Verdict.LOST, f"operation {one.number}: {missing}"
            for row in store.sessions():
                store.operations(row.session_id)
                store.buffer(row.session_id)
                store.pins(row.session_id)
            commit(store, "after", "add", at_ms=1)
    except StoreError as error:
        return Verdict.DAMAGED, f"{type(error).__name__}: {error}"
    return Verdict.WHOLE, ""


def _missing(store: SqliteStore, one: Acknowledged) -> str:
    for ref, sha256 in one.kept:
        try:
            content = store.original(ref).entry.content
        except RecallError:
            return f"original {ref} is not there"
        if hashlib.sha256(content.encode()).hexdigest() != sha256:
            raise StoreError(f"original {ref} has another content")
    for ref in one.left:
        decision = store.decision(ref)
        if decision is None or decision.ref != ref:
            return f"decision about {ref} is not there"
        try:
            store.original(ref)
        except RecallError:
            return f"original {ref} is not there, though it was let go"
    return ""


def main(manifest: str, folder: str, count: str) -> int:
    """Judge one folder."""
    verdict, why = judge(Path(folder), acknowledged(Path(manifest), int(count)))
    if why:
        print(why, file=sys.stderr)
    return verdict.value


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
