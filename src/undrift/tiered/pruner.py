"""ContextPruner: the seeds' class. A thin shell that logs, over the pure rule of `core.prune`."""

import logging
from collections.abc import Sequence

from undrift.core.window.prune import PruneResult, prune
from undrift.settings import Settings
from undrift.values.window import ContextEntry

__all__ = ["ContextPruner", "named"]

_log = logging.getLogger("undrift.tiered")

_NAMED = 20  # ids in one line of the log


def named(entry_ids: Sequence[str]) -> str:
    """Return ids for a line of the log, escaped if they could steer a terminal or forge a line; a long list is cut."""
    shown = ", ".join(one if one.isprintable() else ascii(one) for one in entry_ids[:_NAMED]) or "none"
    return shown if len(entry_ids) <= _NAMED else f"{shown} and {len(entry_ids) - _NAMED:,} more"


class ContextPruner:
    """Cut a list of entries down to a token budget, and never what is pinned.

    The pin rule: entries of the types in `undrift.PINNED_TYPES` (tas, requirements, spec) stay under any budget. So do
    the newest N tool results with their calls. The budget contract, [3_MCP-RISK-303]: the result is at or under the
    budget whenever the pinned entries are.

    Args:
        settings: N is their `keep_tool_results`; default: read from the environment now, once.

    Raises:
        SettingsError: A setting in the environment is wrong.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings if settings is not None else Settings.from_environment()
        self._is_over = False

    def prune(self, entries: Sequence[ContextEntry], token_budget: int) -> list[ContextEntry]:
        """Return the entries that stay, ascending by time; the list given is not changed.

        The newest unpinned entries stay as long as they fit; at the first that does not, everything older leaves.
        Pinned entries are returned even when they alone exceed `token_budget`; that is logged as CRITICAL, once per
        transition.

        Args:
            entries: In order of insertion, with unique ids.
            token_budget: Tokens, at least 0.

        Raises:
            WindowError: A duplicate id, something that is no entry, or a negative budget.
        """
        result = self.explain(entries, token_budget)
        _log.debug("anchored observations: %s", named(result.anchored_ids))
        if result.over_budget and not self._is_over:
            _log.critical(
                "pinned entries hold %d tokens, %d more than the budget of %d; all of them are kept (anchored: %s)",
                result.pinned_tokens,
                result.pinned_tokens - token_budget,
                token_budget,
                named(result.anchored_ids),
            )
        self._is_over = result.over_budget
        if result.oversize_ids:
            _log.warning("too large to fit even alone: %s", named(result.oversize_ids))
        return list(result.kept)

    def explain(self, entries: Sequence[ContextEntry], token_budget: int) -> PruneResult:
        """Return the whole decision of `prune`; nothing is logged."""
        return prune(entries, token_budget, keep_tool_results=self._settings.keep_tool_results)
