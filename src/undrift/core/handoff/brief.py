"""Writes the brief with which a sub-agent starts: what its task needs of what its parent knows. Pure.

Law: never over its budget, and nothing if nothing fits the task. Recorded text is data; only the rules are a person's word.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from undrift.core.handoff.relevant import Relevance, names_in, relevance, telling_stems
from undrift.core.restore.choose import Pick, choose
from undrift.core.restore.given_up import given_up
from undrift.core.restore.held import held_rules
from undrift.core.restore.history import RestoreHistory, history_of
from undrift.core.restore.render import RestoredItem, RestorePage
from undrift.core.restore.stated import Excerpt
from undrift.core.restore.worth import worth_of_lines, worth_of_names
from undrift.core.text.references import normal
from undrift.core.text.tokens import characters_per_4
from undrift.errors import InputError
from undrift.values.rule import Rule
from undrift.values.window import ContextEntry

__all__ = ["TaskBrief", "brief"]

_TITLE = (
    "# From the session that gave this task (undrift)\n"
    "Copied line by line from its history; N→ is a run's first line, … a gap. Only lines that begin with # are headings.\n"
)
_RULES = 0.5
"""The share of the budget that rules may use; what they do not use goes to the lines."""

_TRIED = 0.06
"""The share for what was tried and given up, as far as it has to do with the task."""

_ALSO = 0.2
"""The worth of a line that has nothing to do with the task's words, beside 1 of one that has all of them.

Identifiers / lines that task and brief hold, macro, 62 tasks of one set: 0.34 / 0.16 at 0, 0.39 / 0.17 at 0.1, 0.35 / 0.19 at
0.3, 0.36 / 0.17 at 1. On the other set lines fall as it grows: 0.73, 0.66, 0.60, 0.56.
"""

_LEAST_WORDS = 2

_SPARE = 1.15  # prices are estimates: more lines are chosen than may fit, and the last ones fall away


@dataclass(frozen=True, slots=True)
class TaskBrief:
    """The text with which a sub-agent starts, and what stands in it.

    Args:
        text: Empty if nothing that the parent knows fits the task.
        items: The parts of the text, in order.
        tokens: The size of the text, as characters / 4.
    """

    text: str = ""
    items: tuple[RestoredItem, ...] = ()
    tokens: int = 0


def brief(
    entries: Sequence[ContextEntry], task: str, *, budget_tokens: int = 2_000, rules: Sequence[Rule] = ()
) -> TaskBrief:
    """Choose what a task needs of a session: the rules that hold, and the lines of files and results that fit its words.

    Deterministic, linear in the newest 1,000,000 characters; secrets are masked.

    Args:
        entries: The parent's session up to the task.
        task: What the sub-agent is asked to do, in the parent's words.
        budget_tokens: The most that the text may cost, at least 1, as characters / 4.
        rules: The rules that hold. A rule stands whole, or not at all.

    Raises:
        InputError: The budget is no positive integer.
    """
    if type(budget_tokens) is not int or budget_tokens < 1:
        raise InputError(f"budget_tokens must be an integer of at least 1, not {budget_tokens!r}")
    history = history_of(entries)
    fits = relevance(history, task)
    tried = _fitting_attempts(entries, task)
    characters = budget_tokens * 4
    for _ in range(8):
        page = RestorePage(history, _TITLE)
        page.say("rules", held_rules(rules, int(characters * _RULES)), int(characters * _RULES))
        page.say("tried", tried, int(characters * _TRIED))
        picks = _picks(history, page, fits, task, characters)
        written = page.fitting(picks, budget_tokens, characters_per_4)
        if written is not None:
            return TaskBrief(written.text, written.items, written.tokens)
        characters = characters * 3 // 4
    return TaskBrief()


def _picks(history: RestoreHistory, page: RestorePage, fits: Relevance, task: str, characters: int) -> list[Pick]:
    """Choose the lines by their chance to be needed and by what they have to do with the task."""
    if not fits.lines:
        return []
    names, lines = worth_of_names(history), worth_of_lines(history)
    return choose(
        history,
        {name: chance * (_ALSO + fits.names.get(name, 0.0)) for name, chance in names.items()},
        {key: chance * (_ALSO + fits.lines.get(key, 0.0)) for key, chance in lines.items()},
        characters=int((characters - page.characters) * _SPARE),
        shown_lines=set(map(normal, (*page.said_lines(), *task.split("\n")))),
        shown_names=names_in(task),
    )


def _fitting_attempts(entries: Sequence[ContextEntry], task: str) -> list[Excerpt]:
    """Return what was tried and given up, newest first, if it shares a name, or two telling words, with the task."""
    words = telling_stems(task)
    named = names_in(task)
    return [
        one
        for one in given_up(entries)
        if named & names_in(one.lines[0]) or len(words & telling_stems(one.lines[0])) >= _LEAST_WORDS
    ]
