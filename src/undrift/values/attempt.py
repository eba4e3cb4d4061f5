"""One thing that was tried in a session and came to nothing. Frozen.

Law: every word of it stands in the recording; the entries that it was read from are named.
"""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Attempt", "AttemptKind"]

AttemptKind = Literal["command", "change", "statement", "rejection"]
"""``command``: it failed. ``change``: it was undone. ``statement``: an agent said that something does not work.
``rejection``: the user said no."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something that was tried and given up.

    Args:
        what: The command, the file with the line that was written, the agent's sentence, or what the user said no to.
        outcome: The telling line of its output, or what became of it; empty if ``what`` says it.
        reason: Why it was given up, in the agent's or the user's words; empty if neither gave one.
        worked: The command that worked in its place; empty if none did.
        entry_ids: The entries that show it, oldest first.
        place: The number of the last of these entries.
        lasts: Whether it would fail in another session too: its cause is the environment, or the agent's sentence says so.
    """

    kind: AttemptKind
    what: str
    outcome: str
    reason: str
    worked: str
    entry_ids: tuple[str, ...]
    place: int
    lasts: bool = False
