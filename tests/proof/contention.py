"""`make contention`: twelve processes, one home, a hundred operations each, and the history of every one of them.

Each process keeps a line for what it began and what came back. Afterwards the store is compared with all histories:
everything acknowledged is there exactly once, nothing is there that nobody began, and nobody was told "busy".
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.stores.builders import commit, entry, original, prune, python
from undrift import Session, Settings
from undrift.core.text.refs import ref_of
from undrift.errors import RecallError
from undrift.stores.sqlite import SqliteStore

__all__ = ["History", "histories", "main", "problems"]

WRITER = """
import sys, time
from pathlib import Path
from tests.proof.contention import operate
home, name, count, start = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
operate(home, name, count, start)
"""
SHARED_EVERY = 10  # operations: the same one by all processes, as when a request is repeated


@dataclass(frozen=True, slots=True)
class History:
    """One process: what it began, the sequence numbers that came back, what was refused, and how long each took."""

    name: str
    began: tuple[str, ...]
    acknowledged: dict[str, int]
    refused: tuple[str, ...]
    took_ms: tuple[float, ...]


def operate(home: Path, name: str, count: int, start: float) -> None:
    """Write into one home as one of many processes; print the history. All begin at the same moment."""
    time.sleep(max(0.0, start - time.time()))
    with (
        SqliteStore.open(home) as store,
        Session.open("together", home=home, settings=Settings()) as session,
    ):
        for number in range(count):
            id_ = f"shared-{number}" if number % SHARED_EVERY == 0 else f"{name}-{number}"
            one = original(id_, f"of {id_} " * 100, session="all")
            print("BEGIN", id_, flush=True)
            began = time.perf_counter()
            try:
                seq = commit(store, "all", name, at_ms=number, originals=[one], decisions=[prune(one)])
                if number % 7 == 0:
                    session.pin("spec", f"pin {id_}")
            except Exception as error:  # noqa: BLE001 - whatever it is, it goes into the history
                print("REFUSED", id_, type(error).__name__, str(error).replace("\n", " "), flush=True)
            else:
                print("ACK", id_, seq, 1_000 * (time.perf_counter() - began), flush=True)


def histories(home: Path, processes: int, count: int) -> list[History]:
    """Run the processes and return their histories."""
    start = time.time() + 1 + processes / 8
    names = [f"p{number}" for number in range(processes)]
    writers = [python(WRITER, home, name, count, start) for name in names]
    found = []
    for name, writer in zip(names, writers, strict=True):
        out, errors = writer.communicate()
        assert writer.returncode == 0, errors
        lines = [line.split(" ", 2) for line in out.splitlines()]
        acknowledged = {id_: rest.split() for kind, id_, *more in lines if kind == "ACK" for rest in more}
        found.append(
            History(
                name,
                tuple(line[1] for line in lines if line[0] == "BEGIN"),
                {id_: int(seq) for id_, (seq, _) in acknowledged.items()},
                tuple(" ".join(line) for line in lines if line[0] == "REFUSED"),
                tuple(float(took) for _, took in acknowledged.values()),
            )
        )
    return found


def problems(home: Path, found: list[History]) -> list[str]:
    """Return what the store and the histories disagree about."""
    wrong = [line for history in found for line in history.refused]
    with SqliteStore.open(home) as store:
        operations = store.operations("all")
        by_seq = {operation.seq: (operation.kind, operation.at_ms) for operation in operations}
        wrong += store.integrity()
        for history in found:
            seqs = list(history.acknowledged.values())
            if seqs != sorted(seqs):
                wrong.append(f"{history.name}: the numbers run backwards")
            for number, id_ in enumerate(history.began):
                if by_seq.get(history.acknowledged.get(id_, -1)) != (history.name, number):
                    wrong.append(f"{history.name}: {id_} is lost")
        if len(operations) != sum(len(history.began) for history in found):
            wrong.append(f"{len(operations)} operations are there, {sum(len(h.began) for h in found)} were begun")
        ids = {id_ for history in found for id_ in history.began}
        wrong += [f"{id_}: its decision is lost, or nobody's" for id_ in ids ^ set(store.decisions("all"))]
        (row,) = [row for row in store.sessions() if row.session_id == "all"]
        if (row.originals, row.decisions) != (len(ids), len(ids)):
            wrong.append(f"{row.originals} originals and {row.decisions} decisions are there, {len(ids)} were begun")
        wrong += [f"{id_}: {said}" for id_ in ids if (said := _content(store, id_))]
        pins = Counter(pin.entry.content for pin in store.pins("together"))
        pinned = {f"pin {id_}" for history in found for number, id_ in enumerate(history.began) if number % 7 == 0}
        if pins != Counter(pinned):
            wrong.append(f"the pins differ: {(pins - Counter(pinned)) + (Counter(pinned) - pins)}")
    return wrong


def _content(store: SqliteStore, id_: str) -> str:
    try:
        found = store.original(ref_of("all", id_)).entry
    except RecallError:
        return "its original is lost"
    return "" if found == entry(id_, f"of {id_} " * 100) else "another content"


def main(arguments: list[str]) -> int:
    """Run and print; return 0 where nothing was refused, lost or doubled."""
    parser = argparse.ArgumentParser(prog="make contention", description=__doc__)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--operations", type=int, default=100)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "home")
        found = histories(home, chosen.processes, chosen.operations)
        wrong = problems(home, found)
    took = sorted(took for history in found for took in history.took_ms)
    busy = sum("StoreBusy" in line for line in wrong)
    print(
        f"{chosen.processes} processes x {chosen.operations} operations: {len(took):,} acknowledged, {busy} busy, "
        f"{len(wrong)} lost, doubled or otherwise wrong; p50 {took[len(took) // 2]:.1f} ms, "
        f"p99 {took[len(took) * 99 // 100]:.1f} ms, longest {took[-1]:.1f} ms"
    )
    for line in wrong[:10]:
        print(line)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
