"""The windows that the client itself would have sent: after each of its compactions its summary, then what followed. Pure.

Law: the trajectory is the recorded one. A text that the agent fetched again after a compaction stands in every way to send it.
"""

from collections.abc import Mapping, Sequence

from undrift.core.autopsy.native import CompactionRecord
from undrift.core.autopsy.survival import Needs
from undrift.core.cost import OUTPUT_PRICE
from undrift.recordings.replay.history import ReplayedHistory, Restart
from undrift.recordings.replay.report import NativeCost
from undrift.recordings.replay.side import Market, Side
from undrift.recordings.replay.texts import ReplayTexts, Text
from undrift.values.window import ContextEntry

__all__ = ["NativeSide"]


class NativeSide:
    """Sends a session as its client did: the window restarts at each recorded compaction, whose summary call is paid.

    `records`: the client's figures of each compaction, by its index among the entries of the recording.
    """

    def __init__(
        self,
        history: ReplayedHistory,
        texts: ReplayTexts,
        records: Mapping[int, CompactionRecord],
        market: Market,
        needs: Needs,
    ) -> None:
        self._history = history
        self._texts = texts
        self._records = records
        self._market = market
        self._side = Side(market, needs)
        self.window: list[Text] = list(texts.system)
        self._read = (0, 0)  # messages and blocks of the last of them that were added to the window
        self._paid = 0
        self._summaries = 0.0
        self._largest = 0

    def add(self, number: int, at_ms: int | None) -> None:
        """Add the prompt that message `number` answers."""
        restarts = self._history.restarts
        while self._paid < len(restarts) and restarts[self._paid].messages <= number:
            self._restart(restarts[self._paid])
            self._paid += 1
        self._follow((number, 0))
        self._side.add(number, self.window, at_ms)

    @property
    def result(self) -> NativeCost | None:
        """The cost of the session as its client compacted it. None means: it never did."""
        if not self._paid:
            return None
        paid = self._history.restarts[: self._paid]
        return NativeCost(
            compactions=self._paid,
            unreadable=sum(self._record(restart).encrypted for restart in paid),
            limit_tokens=self._largest,
            tokens=self._side.tokens,
            peak=self._side.peak,
            prompts=self._side.cost.cost_tokens,
            summaries=self._summaries,
            refetch=self._side.refetch,
            survival=self._side.survival.result,
        )

    def _restart(self, restart: Restart) -> None:
        self._follow((restart.messages - 1, restart.blocks))
        window = sum(tokens for _, tokens in self.window) + self._market.fixed_tokens
        written = sum(self._market.count(entry.content) for entry in restart.put_in if entry.type == "summary")
        self._summaries += self._market.prices.read * window + OUTPUT_PRICE * written
        self._largest = max(self._largest, window)
        contents = dict.fromkeys([*(entry.content for entry in restart.put_in), *self._kept(restart)])
        self.window = [*self._texts.system, *((text, self._market.count(text)) for text in contents)]

    def _follow(self, to: tuple[int, int]) -> None:
        """Add the history up to a place: so many messages, and so many blocks of the next one."""
        messages = self._history.messages
        first, start = self._read
        for number in range(first, min(to[0] + 1, len(messages))):
            stop = to[1] if number == to[0] else None
            self.window += self._texts.of_message(messages[number])[start if number == first else 0 : stop]
        self._read = to

    def _kept(self, restart: Restart) -> list[str]:
        """Give the texts of the history that the client's record says it kept."""
        record = self._record(restart)
        kept: Sequence[ContextEntry] = ()
        if record.kept_ids:
            entries = (entry for before in self._history.entries[: restart.messages] for entry in before)
            kept = [entry for entry in entries if entry.id.rsplit(":", 1)[0] in record.kept_ids]
        return [*(entry.content for entry in kept), *record.kept_texts]

    def _record(self, restart: Restart) -> CompactionRecord:
        return self._records.get(restart.index, CompactionRecord())
