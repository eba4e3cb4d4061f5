"""Find the text that a hook of undrift gave back after a compaction, and how much of it the agent used. Pure.

Law: the text is a help like the client's summary, so it does not count as new words of the user or as a result.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from undrift.core.autopsy.findings import GivenUse
from undrift.core.autopsy.steps import Step
from undrift.core.autopsy.used import Learned, Used, count_held
from undrift.core.text.references import Reference, references_in
from undrift.core.text.tokens import characters_per_4
from undrift.values.restored import GOES_ON, TITLE

__all__ = ["GivenTexts", "given_texts", "use_of"]


@dataclass(frozen=True, slots=True)
class GivenTexts:
    """The texts that a hook gave back after one compaction, and the indices of their steps."""

    places: frozenset[int] = frozenset()
    texts: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(map(characters_per_4, self.texts))


def given_texts(after: Sequence[Step]) -> GivenTexts:
    """Find the texts between a compaction and the agent's next word."""
    opening = takewhile(lambda step: step.kind not in ("said", "call"), after)
    found = [step for step in opening if step.kind in ("client", "system") and _is_ours(step.entry.content)]
    return GivenTexts(frozenset(step.index for step in found), tuple(step.entry.content for step in found))


def use_of(
    given: GivenTexts,
    learned: Learned,
    used: Used,
    *,
    native: frozenset[Reference],
    before: Sequence[Step],
    cost: float,
) -> GivenUse | None:
    """Return the agent's use of given texts. None means: nothing was given back.

    Args:
        native: Of what was used, what the client's own summary holds.
        before: All steps of the session before the compaction.
        cost: The price of the texts.
    """
    if not given.texts:
        return None
    held = learned.references_held(used, given.texts, strict=True)
    alone = held - native - used.fetched
    results = _last_shown(alone, before)
    tokens = sum(step.entry.token_count for step in results)
    return GivenUse(
        tokens=given.tokens,
        held=count_held(held, given.tokens),
        together=count_held(held | native, given.tokens),
        alone=count_held(alone, tokens),
        results=len(results),
        cost=cost,
    )


def _last_shown(wanted: Iterable[Reference], before: Sequence[Step]) -> list[Step]:
    """Find the newest results that show the references."""
    left, found = set(wanted), []
    for step in reversed(before):
        if not left:
            break
        if step.kind == "result" and (shown := references_in(step.entry.content) & left):
            left -= shown
            found.append(step)
    return found


def _is_ours(text: str) -> bool:
    return TITLE in text or GOES_ON in text
