"""The sweep of a store: the originals of old sessions go, within the limits of the home.

Law: nothing is swept without a limit; what goes is shown before it goes.
"""

from collections.abc import Callable, Sequence
from functools import partial

from undrift.stores.contract import Store
from undrift.values.retention import SessionSize
from undrift.window.blanking import blanked

__all__ = ["sweep_sessions"]

_PACKED_BYTES = 256_000
"""Bytes of plain originals that one step compresses: some hundredths of a second."""


def sweep_sessions(
    store: Store, chosen: Sequence[SessionSize], *, at_ms: int, tell: Callable[[int], None] = lambda _: None
) -> int:
    """Destroy the originals of sessions, then compress old plain ones of the others; return how many were destroyed.

    `tell`: is called with the number of sessions that are done.
    """
    destroyed = 0
    for number, one in enumerate(chosen):
        tell(number)
        destroyed += store.sweep(one.session_id, partial(blanked, act="swept", at_ms=at_ms), at_ms=at_ms)
    tell(len(chosen))
    while store.pack(_PACKED_BYTES):
        pass
    return destroyed
