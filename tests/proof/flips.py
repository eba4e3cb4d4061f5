"""`make flips`: a bit of the store's file is flipped, a thousand times; no wrong content is ever given out.

What is damaged is refused by name, or is missing and then found by the integrity check; the rest is served. A file that
is cut, blank or no database is refused, and stays as it is.
"""

import argparse
import hashlib
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from tests.stores.builders import add, database, noise, original, prune
from undrift.errors import RecallError, StoreCorrupt, StoreError
from undrift.stores.sqlite import SqliteStore
from undrift.values.window import Decision, Original

__all__ = ["flipped", "main", "ruined"]

ORIGINALS = 60
_BAD = ("wrong", "gone without a word", "overwritten", "not named")
Truth = dict[str, Original]


def _filled(home: Path) -> Truth:
    """A store that was closed as it should be, so that all of it is in one file; segments have a good part of it."""
    truth = {one.ref: one for one in (original(f"e{i}", f"content {i} {noise(800 + i)}") for i in range(ORIGINALS))}
    with SqliteStore.open(home) as store:
        for one in truth.values():
            add(store, one, prune_them=True)
        pins = [original(f"p{i}", f"pin {i}", source="pin") for i in range(5)]
        buffered = [original(f"b{i}", f"buffered {i}", source="buffer") for i in range(5)]
        add(store, *pins, *buffered)
    return truth | {one.ref: one for one in (*pins, *buffered)}


def flipped(trials: int, seed: int) -> Counter[str]:
    """Flip one bit in each of so many copies and read all that is in it; return what came of it, in numbers."""
    random, found = Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        truth = _filled(Path(scratch, "whole"))
        whole = database(Path(scratch, "whole")).read_bytes()
        for trial in range(trials):
            damaged = bytearray(whole)
            place = random.randrange(len(whole))
            damaged[place] ^= 1 << random.randrange(8)
            home = Path(scratch, str(trial))
            home.mkdir()
            database(home).write_bytes(damaged)
            came = _read_all(home, truth)
            if came["wrong"] or came["gone without a word"] or came["not named"]:
                found[f"byte {place} of the file"] += 1
            found["trials"] += 1
            found.update({name: 1 for name, number in came.items() if number and name != "served"})
            found["served"] += came["served"]
            found["to serve"] += len(truth)
            if came["refused whole"]:
                found["overwritten"] += database(home).read_bytes() != damaged
            database(home).unlink()
    return found


def _read_all(home: Path, truth: Truth) -> Counter[str]:
    came = Counter[str]()
    try:
        with SqliteStore.open(home) as store:
            for ref, given in truth.items():
                try:
                    came["served" if store.original(ref) == given else "wrong"] += 1
                except RecallError:
                    came["missing"] += 1
                except StoreError as error:
                    came["refused"] += 1
                    is_named = isinstance(error, StoreCorrupt) and (ref in str(error) or "undrift.db" in str(error))
                    came["named" if is_named else "not named"] += 1
            wanted = {given.entry.id: prune(given) for given in truth.values() if given.source == "window"}
            came += _lists(store, truth, wanted)
            came["reported"] = bool(store.integrity())
    except StoreError:
        came["refused whole"] += 1
    came["gone without a word"] = (came["missing"] or came["short"]) and not (came["reported"] or came["refused whole"])
    return came


def _lists(store: SqliteStore, truth: Truth, wanted: dict[str, Decision]) -> Counter[str]:
    came = Counter[str]()
    for read, all_of_it in (
        (lambda: list(store.decisions("s").values()), list(wanted.values())),
        (lambda: list(store.pins("s")), [given for given in truth.values() if given.source == "pin"]),
        (lambda: [entry.id for entry in store.buffer("s")], [f"b{i}" for i in range(5)]),
        (lambda: [one.ref for one in store.find("content", limit=200) if "damaged" not in one.snippet], list(truth)),
    ):
        try:
            given = read()
        except StoreError:
            came["refused"] += 1
            continue
        came["wrong"] += any(one not in all_of_it for one in given)
        came["short"] += len(given) < min(len(all_of_it), ORIGINALS)
    return came


def ruined() -> dict[str, str]:
    """Cut, blank and replace whole files; return what each brought, where it was not a refusal that changes nothing."""
    wrong = {}
    with tempfile.TemporaryDirectory() as scratch:
        _filled(Path(scratch, "whole"))
        whole = database(Path(scratch, "whole")).read_bytes()
        contents = {
            "cut to half": whole[: len(whole) // 2],
            "its header blank": bytes(100) + whole[100:],
            "random bytes": Random(1).randbytes(len(whole)),
            "a text": b"hello world\n" * 1_000,
            "one page": whole[:4_096],
            "empty, with a log beside it": b"",
        }
        for name, content in contents.items():
            home = Path(scratch, hashlib.sha256(name.encode()).hexdigest())
            home.mkdir()
            database(home).write_bytes(content)
            log = Path(f"{database(home)}-wal")
            if not content:
                log.write_bytes(whole)
            try:
                with SqliteStore.open(home) as store:
                    if not store.integrity():
                        wrong[name] = "it passed for a whole store"
            except StoreError as error:
                if database(home).read_bytes() != content or (not content and log.read_bytes() != whole):
                    wrong[name] = "it was overwritten"
                elif "undrift store restore" not in str(error):
                    wrong[name] = f"no remedy: {error}"
    return wrong


def main(arguments: list[str]) -> int:
    """Run and print; return 0 where nothing wrong was given out."""
    parser = argparse.ArgumentParser(prog="make flips", description=__doc__)
    parser.add_argument("--flips", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    found, wrong = flipped(chosen.flips, chosen.seed), ruined()
    print(
        f"{found['trials']:,} flipped bits (seed {chosen.seed}): {found['wrong']} gave out a wrong content, "
        f"{found['gone without a word']} hid something without a finding, {found['overwritten']} files overwritten, {found['not named']} refused without a name. "
        f"In {found['reported']:,} the integrity check says so, in {found['named']:,} a record was refused by name, "
        f"in {found['refused whole']:,} the file; {found['served']:,} of {found['to serve']:,} originals were served",
        *(text for text in found if text.startswith("byte ")),
    )
    for name, why in wrong.items():
        print(f"{name}: {why}")
    print(
        "FAILED" if wrong else "ruined files: each was refused with the remedy, or found damaged, and stayed as it was"
    )
    return int(bool(wrong or any(found[bad] for bad in _BAD)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
