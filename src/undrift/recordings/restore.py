"""Writes the text for an agent after a compaction, from a recorded session or from its entries.

Law: only ever reads; what is chosen, and how it is said, is decided in `undrift.core.restore`.
"""

import os
from collections.abc import Sequence

from undrift.core.restore import Restored
from undrift.core.restore import restore as restore_entries
from undrift.core.text.tokens import characters_per_4
from undrift.recordings.files import open_recording
from undrift.values.window import ContextEntry

__all__ = ["DEFAULT_BUDGET_TOKENS", "Restored", "restore"]

DEFAULT_BUDGET_TOKENS = 5_000


def restore(
    path_or_entries: str | os.PathLike[str] | Sequence[ContextEntry], *, budget_tokens: int = DEFAULT_BUDGET_TOKENS
) -> Restored:
    """Choose the facts that an agent needs after a compaction, from its session so far.

    >>> said = {"role": "user", "kind": "text", "message": 0}
    >>> entries = [ContextEntry("e1", "reasoning", "Never touch the file pay.py.", 9, 1, said)]
    >>> "pay.py" in restore(entries, budget_tokens=500).text
    True

    Args:
        path_or_entries: A recorded session's file, or entries as a reader of `undrift.transcripts` gives them.
        budget_tokens: The most tokens of the text, at least 1, counted as characters / 4: a client bounds what a hook
            may say in characters.

    Raises:
        TranscriptError: The file cannot be read; the message names it and the remedy.
        InputError: The budget is less than 1.
    """
    entries = (
        open_recording(path_or_entries).entries if isinstance(path_or_entries, str | os.PathLike) else path_or_entries
    )
    return restore_entries(entries, budget_tokens=budget_tokens, count=characters_per_4)
