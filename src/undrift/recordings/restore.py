"""Writes the text for an agent after a compaction, from a recorded session or from its entries.

Law: only ever reads; what is chosen, and how it is said, is decided in `undrift.core.restore`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from undrift.core.restore import Restored
from undrift.core.restore import restore as restore_entries
from undrift.core.text.tokens import characters_per_4
from undrift.errors import InputError
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
        InputError: The budget is less than 1, or something else was given, as messages.
    """
    if isinstance(path_or_entries, str | os.PathLike):
        entries: Sequence[ContextEntry] = open_recording(path_or_entries).entries
    else:
        entries = _entries(path_or_entries)
    return restore_entries(entries, budget_tokens=budget_tokens, count=characters_per_4)


def _entries(given: Any) -> Sequence[ContextEntry]:
    is_listed = isinstance(given, Iterable) and not isinstance(given, Mapping | bytes)
    entries = list(given) if is_listed and not hasattr(given, "model_dump") else [given]
    wrong = next((one for one in entries if not isinstance(one, ContextEntry)), None)
    if wrong is not None or not is_listed:
        raise InputError(
            f"restore takes a recorded session's file or a list of ContextEntry, not {type(wrong).__name__}. For the "
            "messages of a running session there is Session.prepare"
        )
    return entries
