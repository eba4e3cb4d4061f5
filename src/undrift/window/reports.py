"""The provider's token counts in one session, each with the place in the history at which its request ended. No I/O.

Law: a report counts in every history that contains its place, and in no other. So a sub-agent, whose history is another
one, does not move the counts of the conversation that started it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from typing import Any

from undrift.core.text.calibration import REPORTS, Calibration, UsageReport, calibration_of, is_news

__all__ = ["KIND", "KINDS", "Reports", "payload_of"]

KIND = "calibrate"
"""The kind of the operation that stores a report."""

KINDS = (KIND, "fork")
"""The kinds of the operations that store reports; a fork stores several."""


class Reports:
    """The reports of one session. `payloads`: those of the stored operations, oldest first."""

    def __init__(self, payloads: Iterable[Mapping[str, Any] | None]) -> None:
        self._by_model: dict[str, list[tuple[str, UsageReport]]] = {}
        stored = (given for payload in payloads for given in (payload or {}).get("reports", (payload,)))
        for given in stored:
            if given and "reported_tokens" in given:
                self.add(
                    given["model"], UsageReport(given["counted_tokens"], given["reported_tokens"]), given.get("at")
                )

    def add(self, model: str, report: UsageReport, at: str | None) -> None:
        """Add a report. `at`: the chain id of its place; None if it counts in every history, as in older homes."""
        self._by_model.setdefault(model, []).append((at or "", report))

    def calibration(self, model: str, history: Collection[str]) -> Calibration:
        """Return the calibration of a conversation: from its own reports, or else from the session's newest one.

        `history`: the chain ids of its items.
        """
        own = self._own(model, history)
        return calibration_of(own or [report for _, report in self._by_model.get(model, ())[-1:]])

    def is_news(self, model: str, report: UsageReport, history: Collection[str]) -> bool:
        """Tell whether to keep a report: it is the conversation's first one, or the calibration misses it."""
        own = self._own(model, history)
        return not own or is_news(own, report)

    def inherited(self, history: Collection[str]) -> list[dict[str, Any]]:
        """Return the reports that count in a history, as payloads, oldest first."""
        return [
            payload_of(model, report, at)
            for model, reports in self._by_model.items()
            for at, report in [one for one in reports if one[0] in history][-REPORTS:]
        ]

    def _own(self, model: str, history: Collection[str]) -> list[UsageReport]:
        newest: Iterator[UsageReport] = (
            report for at, report in reversed(self._by_model.get(model, ())) if not at or at in history
        )
        return [*islice(newest, REPORTS)][::-1]


def payload_of(model: str, report: UsageReport, at: str) -> dict[str, Any]:
    """Return the payload of the operation that stores a report."""
    return {"model": model, **asdict(report), "at": at}
