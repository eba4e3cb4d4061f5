"""The choice of tool results to fold in a prune. Pure.

Law: a result is folded only in a turn that rewrites the window anyway; never a pin, never the user's words. Why:
docs/adr/0022-folding.md.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from undrift.core.window.fold import Fold, Folded, fold_lines
from undrift.core.window.paste import cut_text
from undrift.core.window.thinking import key_of
from undrift.core.window.trim import trim_text
from undrift.values.window import ContextEntry, Decision

__all__ = ["Lean", "lean", "shortened"]

_LEAST_SHARE = 0.04
"""The least saving, as a share of the result; else the result is not folded."""


@dataclass(frozen=True, slots=True)
class Lean:
    """A tool result after folding: the range of the fold, the lines and the tokens."""

    fold: Fold
    folded: Folded
    tokens: int


def lean(
    entries: Sequence[ContextEntry],
    protected: Collection[Hashable],
    *,
    count: Callable[[str], int],
    ref_of: Callable[[str], str],
) -> tuple[dict[str, Lean], list[ContextEntry]]:
    """Return two values: by id, the results that are folded or that a fold makes shorter; and the window with their new token counts."""
    found: dict[str, Lean] = {}
    for entry in entries:
        if not _is_plain(entry) or key_of(entry) in protected:
            continue
        fold: Fold | None = entry.meta("fold")
        folded = fold_lines(entry.content, "all")
        if folded.what and fold != "all":
            tokens = count(trim_text(entry.content, entry.meta("rows"), ref_of(entry.id), "all"))
            if tokens < (1 - _LEAST_SHARE) * entry.token_count:
                found[entry.id] = Lean("all", folded, tokens)
                continue
        if fold is not None:
            found[entry.id] = Lean(fold, fold_lines(entry.content, fold), entry.token_count)
    return found, [replace(e, token_count=found[e.id].tokens) if e.id in found else e for e in entries]


def shortened(entry: ContextEntry, decision: Decision) -> tuple[str, dict[str, Any]]:
    """Return the text that remains after a decision, and its metadata in the window."""
    detail = decision.detail
    ref = None if detail.get("untold") else detail.get("shown") or decision.ref
    if decision.kind == "cut":
        text = cut_text(entry.content, detail["keep_head"], detail["keep_tail"], ref, detail.get("rules", ()))
        return text, {"cut": True}
    rows = None if "rows" not in detail else tuple((start, end) for start, end in detail["rows"])
    fold: Fold | None = detail.get("fold")
    known = {"rows": rows, "fold": fold, "whole_tokens": entry.token_count}
    return trim_text(entry.content, rows, ref, fold), known


def _is_plain(entry: ContextEntry) -> bool:
    """Return whether an entry is a tool's result that consists of one text."""
    return entry.type == "tool_result" and entry.meta("kind") == "result" and not entry.meta("mixed")
