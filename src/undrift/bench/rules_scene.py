"""The script of one session in the suite of rules: what is typed, shown and done in each window.

Law: a rule, a seed and a placement give the same script; a shorter session is the beginning of a longer one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

from undrift.bench.rules_file import Distractor, RuleCase
from undrift.bench.rules_words import Work, log, quotation, request, work

__all__ = ["PLACEMENTS", "Placement", "Scene", "SceneEvent", "scene_of"]

Placement = Literal["first", "long", "between", "late"]
"""The places of a rule: in the first message, deep in a long one, between two others, and just before the first compaction."""

PLACEMENTS: tuple[Placement, ...] = ("first", "long", "between", "late")

_CALLS = 5
"""The calls of a window; with three or fewer the client takes its compactions for a loop and gives up."""

_AGAIN_EVERY = 5
"""In every so many windows the distractors come up again, newer than the rule."""

_LONG_REMARKS = 14
_PASTED_CHARACTERS = 8_000


@dataclass(frozen=True, slots=True)
class SceneEvent:
    """One thing that happens. `text`: what is typed, or the body of a skill. `work`: a call and its result."""

    kind: Literal["typed", "skill", "work"]
    text: str = ""
    work: Work | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """A session's windows, between compactions.

    Args:
        ruled_at: The window and the event in it by which the rule is typed.
        later_at: The window in which the user speaks of the rule again, so that it counts from the next one; None if never.
    """

    windows: tuple[tuple[SceneEvent, ...], ...]
    later_at: int | None

    def is_later(self, window: int) -> bool:
        """Tell whether the user has spoken of the rule again before a window began."""
        return self.later_at is not None and window > self.later_at


def scene_of(
    case: RuleCase, placement: Placement, seed: int, *, windows: int, characters: int, is_wordy: bool = False
) -> Scene:
    """Return a session's script.

    Args:
        windows: One more than the compactions.
        characters: About the size of the results in a window.
        is_wordy: The user pastes much, as into a client that keeps the newest texts of the user by itself.
    """
    later_at = None
    if case.later is not None:
        later_at = 0 if Random(f"{seed} {case.id} {placement} later").random() < 0.5 else 2
    found = []
    for number in range(windows):
        random = Random(f"{seed} {case.id} {placement} {number}")
        found.append(tuple(_window(case, placement, number, random, (later_at, characters, is_wordy))))
    return Scene(tuple(found), later_at)


def _window(
    case: RuleCase, placement: Placement, number: int, random: Random, how: tuple[int | None, int, bool]
) -> Iterator[SceneEvent]:
    later_at, characters, is_wordy = how
    around = _around(case, random) if number % _AGAIN_EVERY == 0 else []
    first, rest = around[: len(around) // 2], around[len(around) // 2 :]
    said = _rule(case, placement, random) if not number else ""
    yield SceneEvent("typed", said if placement in ("first", "long") and said else _asked(random, is_wordy))
    yield from first
    for place in range(_CALLS):
        yield SceneEvent("work", work=work(random, characters // _CALLS))
        if place == 1 and placement == "between" and said:
            yield SceneEvent("typed", said)
            yield SceneEvent("typed", _asked(random, is_wordy))
        if place == 2:
            yield from rest
    if placement == "late" and said:
        yield SceneEvent("typed", said)
    if number == later_at and case.later is not None:
        yield SceneEvent("typed", case.later.message)
    yield SceneEvent("work", work=work(random, characters // _CALLS))


def _rule(case: RuleCase, placement: Placement, random: Random) -> str:
    if placement != "long":
        return case.message
    before, after = request(random, _LONG_REMARKS), request(random, _LONG_REMARKS)
    return f"{before}\n\n{case.message}\n\n{after}"


def _asked(random: Random, is_wordy: bool) -> str:
    if not is_wordy:
        return request(random, random.randrange(3))
    return f"{request(random, 2)}\n\n```\n{log(random, _PASTED_CHARACTERS)}\n```"


def _around(case: RuleCase, random: Random) -> list[SceneEvent]:
    return [_distracting(one, random) for one in case.distractors]


def _distracting(one: Distractor, random: Random) -> SceneEvent:
    if one.source == "skill":
        return SceneEvent("skill", one.text)
    if one.source == "quote":
        return SceneEvent("typed", quotation(random, one.text))
    found = work(random, 400)
    lines = found.result.split("\n")
    result = "\n".join([*lines[: len(lines) // 2], one.text, *lines[len(lines) // 2 :]])
    kind = found.kind if found.kind in ("read", "shell") else "read"
    return SceneEvent("work", work=Work(kind, found.path, found.words or "run-tests all", "", "", result))
