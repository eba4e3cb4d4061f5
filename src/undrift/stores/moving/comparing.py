"""Compares what two homes hold: their records under one proof, and the operations of a session one by one. Law: reads only."""

from collections import Counter
from collections.abc import Mapping, Sequence

from undrift.stores import rows
from undrift.stores.moving.memories import Key, keyed
from undrift.stores.moving.proof import FORK, Identity, Places, Proof, quiet_digest, records_in, session_digests
from undrift.stores.moving.values import LogPlace, Numbered, Source

__all__ = ["digests_of", "identities_of", "places_of", "prove"]


def prove(
    proof: Proof,
    home: Source,
    lengths: Mapping[str, int],
    memories: Mapping[str, set[Key] | None],
    others: Mapping[str, set[bytes]] | None = None,
) -> dict[str, set[bytes]]:
    """Add to a proof what a home holds of sessions and memories; return the readings and purges of each session.

    Args:
        lengths: The number of operations of each session that count.
        memories: The memories that count; those of which only some operations do, whenever they were, with these.
        others: The readings and purges that count; None: all.
    """
    found: dict[str, set[bytes]] = {}
    for name, length in lengths.items():
        counts: Counter[str] = Counter()
        digests: list[bytes] = []
        quiet: set[bytes] = set()
        for digest, one in session_digests(home.operations(name)):
            if digest and len(digests) == length:
                break
            if digest:
                digests.append(digest)
            elif others is None or quiet_digest(one) in others[name]:
                quiet.add(quiet_digest(one))
            counts += records_in(one)
        proof.add_session(name, digests, quiet, counts)
        own = [one for one in home.readings(name) if others is None or one.digest in others[name]]
        proof.add_readings(name, own)
        found[name] = {one.digest for one in own} | quiet
    known = identities_of(home.numbered())
    for memory in home.memories():
        if memory.id in memories:
            only = memories[memory.id]
            chosen = None if only is None else {o.at for k, o in keyed(memory, known).items() if k in only}
            proof.add_memory(memory, known, chosen)
    for line in home.lines():
        if line.id in memories:
            fields = [line.fields[name] for name in sorted(line.fields)]
            proof.add("memory lines", line.id, [*map(_packable, fields), line.embedder, line.dimension, line.vectors])
            proof.counts["vectors"] += bool(line.vectors)
    for mark in home.marks():
        if rows.text_from(mark.session) in lengths:
            proof.add("marks", f"{mark.session.hex()} {mark.mark.hex()}", [mark.kind, mark.digest])
    return found


def places_of(operations: Sequence[Numbered]) -> dict[str, Places]:
    """Return the places of the operations of each session."""
    found: dict[str, Places] = {}
    for one in sorted(operations, key=lambda operation: operation.seq):
        found.setdefault(one.session, Places()).add(one.seq, one.kind)
    return found


def identities_of(operations: Sequence[Numbered]) -> dict[LogPlace, Identity]:
    """Return what each operation is in any home."""
    places = places_of(operations)
    return {
        LogPlace(one.session, one.seq): Identity(
            one.session.partition(FORK)[0], places[one.session].until(one.seq), one.at_ms
        )
        for one in operations
    }


def digests_of(home: Source, name: str) -> tuple[list[bytes], frozenset[bytes]]:
    """Return the digests of the operations of a session, and those of its purges and sweeps."""
    found, quiet = [], set()
    for digest, one in session_digests(home.operations(name)):
        if digest:
            found.append(digest)
        else:
            quiet.add(quiet_digest(one))
    return found, frozenset(quiet)


def _packable(value: object) -> object:
    return rows.raw(value) if isinstance(value, str) else value
