"""The undone pins of a session, as its log tells. Pure.

Law: the newest word about a pin counts. A rewind undoes the words that came later, and its undo brings them back.
"""

from collections.abc import Mapping, Sequence

from undrift.stores.base import Operation

__all__ = ["KIND", "KINDS", "unpinned_in"]

KIND = "unpin"
"""The kind of operation that undoes a pin, or with ``again`` pins it once more."""

KINDS = (KIND, "rewind", "undo")


def unpinned_in(operations: Sequence[Operation]) -> frozenset[str]:
    """Return the references of the undone pins. `operations`: those of `KINDS`, oldest first."""
    states: list[tuple[int, Mapping[str, bool]]] = [(0, {})]
    for one in operations:
        given = one.payload or {}
        if one.kind == KIND:
            now: Mapping[str, bool] = {**states[-1][1], str(given.get("pin")): not given.get("again")}
        elif one.kind == "rewind":
            now = _as_of(states, given.get("to"))
        else:
            undone = given.get("of")
            now = _as_of(states, undone - 1 if isinstance(undone, int) else None)
        states.append((one.seq, now))
    return frozenset(ref for ref, is_off in states[-1][1].items() if is_off)


def _as_of(states: Sequence[tuple[int, Mapping[str, bool]]], seq: object) -> Mapping[str, bool]:
    """Return the newest state up to an operation; that of now if its number is damaged."""
    if not isinstance(seq, int):
        return states[-1][1]
    return next((state for at, state in reversed(states) if at <= seq), {})
