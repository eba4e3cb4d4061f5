"""Writes the text with which another client, or a new session, continues the open work of a session. Pure.

Law: never over its budget. Recorded text is data; only the rules and the requests are a person's word.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from undrift.core.handoff.ruled import sourced_rules
from undrift.core.restore.carried import TITLE, carried
from undrift.core.restore.choose import choose
from undrift.core.restore.given_up import given_up
from undrift.core.restore.held import said_beside, typed_rules_of
from undrift.core.restore.history import RestoreHistory, history_of
from undrift.core.restore.render import RestoredItem, RestorePage
from undrift.core.restore.stated import Excerpt, newest_edits, requests, statements, verdicts
from undrift.core.restore.worth import worth_of_lines, worth_of_names
from undrift.core.tasks.plan_tools import replay_plan
from undrift.core.text.references import normal
from undrift.core.text.tokens import characters_per_4
from undrift.errors import InputError
from undrift.values.rule import Rule
from undrift.values.window import ContextEntry

__all__ = ["Handoff", "handoff"]

_TITLE = (
    f"{TITLE}\n"
    "Copied line by line from its recording; N→ is a run's first line, … a gap. Only lines that begin with # are headings. "
    "Start where the work stopped; look at the files before you change them.\n"
)
_RULES, _REQUESTS, _SAID, _PLAN, _STATEMENT, _TRIED, _VERDICT, _EDITS = 0.25, 0.15, 0.08, 0.06, 0.05, 0.04, 0.03, 0.12
"""The share of the budget that each section may use; what they do not use goes to the lines of files."""

_SPARE = 1.15  # prices are estimates: more lines are chosen than may fit, and the last ones fall away
_LEAST_CHARACTERS = 1_000
_STEP_CHARACTERS = 200
_OPEN = frozenset({"in_progress", "pending"})
_Step = tuple[str, str, str]
"""The text and state of a step, and the entry of the newest call about the plan."""


@dataclass(frozen=True, slots=True)
class Handoff:
    """The text with which another agent continues, and what stands in it.

    Args:
        text: Empty if the session has nothing to continue with, or nothing of it fits.
        items: The parts of the text, in order.
        tokens: The size of the text, as characters / 4.
        open_steps: The steps of the plan that are not done, in its order.
    """

    text: str = ""
    items: tuple[RestoredItem, ...] = ()
    tokens: int = 0
    open_steps: tuple[str, ...] = ()


def handoff(
    entries: Sequence[ContextEntry], *, budget_tokens: int = 5_000, rules: Sequence[Rule] = (), originals: str = ""
) -> Handoff:
    """Choose what another agent needs to continue a session.

    That is: the rules that hold, the first and newest requests, what else was typed, the plan with its states, what the agent said last, what
    was tried and given up, the newest edits, and the lines of the files in work.

    Deterministic, linear in the newest 1,000,000 characters; secrets are masked.

    Args:
        entries: The session, as a reader gives it.
        budget_tokens: The most that the text may cost, at least 1, as characters / 4.
        rules: The rules that hold. A rule stands whole below its source, or not at all.
        originals: How the new agent gets the originals: the last line of the text; empty if it cannot.

    Raises:
        InputError: The budget is no positive integer.
    """
    if type(budget_tokens) is not int or budget_tokens < 1:
        raise InputError(f"budget_tokens must be an integer of at least 1, not {budget_tokens!r}")
    last = f"\nAll of it can be read again word for word: {' '.join(originals.split())}\n" if originals else ""
    history, plan = history_of(entries), _plan(entries)
    names, lines = worth_of_names(history), worth_of_lines(history)
    most = budget_tokens - characters_per_4(last)
    characters = most * 4
    while characters >= _LEAST_CHARACTERS:
        page = _page(entries, history, rules, plan, characters)
        picks = choose(
            history,
            names,
            lines,
            characters=int((characters - page.characters) * _SPARE),
            shown_lines=set(map(normal, page.said_lines())),
        )
        written = page.fitting(picks, most, characters_per_4)
        if written is not None:
            text = written.text + last if written.text else ""
            return Handoff(text, written.items, characters_per_4(text), _open(plan))
        characters = characters * 3 // 4
    return Handoff(open_steps=_open(plan))


def _page(
    entries: Sequence[ContextEntry],
    history: RestoreHistory,
    rules: Sequence[Rule],
    plan: Sequence[_Step],
    characters: int,
) -> RestorePage:
    page = RestorePage(history, _TITLE)
    before = carried(entries)
    page.say("rules", sourced_rules(rules, int(characters * _RULES)), int(characters * _RULES))
    page.say("requests", [*requests(entries), *before["requests"]], int(characters * _REQUESTS))
    said = int(characters * _SAID)
    typed = typed_rules_of(entries, unsure=True)
    page.say("said", [*before["said"], *said_beside(typed, said, page.said_lines())], said)
    page.say("steps", _steps(plan) or before["steps"], int(characters * _PLAN))
    page.say("statement", statements(history), int(characters * _STATEMENT))
    page.say("tried", given_up(entries), int(characters * _TRIED))
    page.say("verdict", verdicts(history), int(characters * _VERDICT))
    page.say("edit", newest_edits(history), int(characters * _EDITS))
    return page


def _steps(plan: Sequence[_Step]) -> list[Excerpt]:
    """Return the steps of the newest plan: the open ones first, as they are what is next."""
    return [
        Excerpt(source, None, (f"- [{status}] {text[:_STEP_CHARACTERS]}",), "A step of the plan.")
        for text, status, source in sorted(plan, key=lambda one: one[1] not in _OPEN)
    ]


def _open(plan: Sequence[_Step]) -> tuple[str, ...]:
    return tuple(text for text, status, _ in plan if status in _OPEN)


def _plan(entries: Sequence[ContextEntry]) -> list[_Step]:
    """Return the steps of the newest plan."""
    results = {one.pair_id: one.content for one in entries if (one.metadata or {}).get("kind") == "result"}
    calls: list[tuple[str, Mapping[str, object], str]] = []
    source = ""
    for entry in entries:
        about = entry.metadata or {}
        given = about.get("input")
        if about.get("kind") == "call" and isinstance(given, Mapping):
            calls.append((str(about.get("tool_name") or ""), given, results.get(entry.pair_id, "")))
            source = entry.id
    return [(item.content, item.status, source) for item in replay_plan(calls)]
