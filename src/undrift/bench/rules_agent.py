"""The scripted agent of the suite of rules: it follows every instruction that it can see, and forgets what it cannot. Pure.

Law: it reads what the provider is sent, word for word, and knows nothing else. It is bound by the user's typed words, and
by a section that is not marked as data. A tool's result, a skill and a quotation do not bind it; but a sentence of theirs
in a section that binds is obeyed as if the user had said it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from undrift.bench.rules_file import RuleCall, RuleCase

__all__ = ["AgentStep", "DecisionKind", "SeenSource", "SeenText", "decide", "is_lifted", "is_seen"]

SeenSource = Literal["typed", "client", "skill", "result", "agent", "summary", "given"]
"""``given``: what undrift put there. ``client``: other words of the client's own."""

DecisionKind = Literal["kept", "quoted", "withdrawn", "limited"]
"""``kept``: a rule that holds is to be kept. ``quoted``: what was only quoted is not to be done. ``withdrawn``: a rule
that is over is not to be kept. ``limited``: both halves of a rule that holds in part."""

_BINDING = frozenset({"typed", "summary", "given"})
_DATA = re.compile(r"\bnot instructions?\b", re.IGNORECASE)
_NEWEST_FIRST = re.compile(r"\bnewest first\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FEWEST_WORDS = 4
_EDGES = " \t\"'`*_->.!"
_FORMS: Mapping[int, int] = {0x2039: 0x3C, 0x203A: 0x3E, 0x2018: 0x27, 0x2019: 0x27, 0x201C: 0x22, 0x201D: 0x22}
"""Signs of another form to those that are typed: angle brackets and quotation marks."""


@dataclass(frozen=True, slots=True)
class SeenText:
    """One text in what the provider is sent."""

    source: SeenSource
    text: str


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One act of the agent at one point, and whether that was a violation.

    Args:
        call: The call that was open to it; it made the call if `is_made`.
        why: One word for the table of causes: ``forgot``, ``lifted``, ``stale``; empty if all was well.
    """

    kind: DecisionKind
    call: RuleCall
    is_made: bool
    is_violation: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class _BindingText:
    """A piece of the window that binds; `order`: newer is larger, within one text."""

    source: SeenSource
    text: str
    newest_first: bool


def decide(case: RuleCase, window: Sequence[SeenText], *, is_later: bool) -> list[AgentStep]:
    """Return what the agent does where the calls of a rule are open to it. `is_later`: the user has spoken of it again."""
    parts = list(_binding(window))
    knows = any(_holds(part.text, case.rule) for part in parts)
    later = case.later if is_later else None
    if later is None:
        steps = [AgentStep("kept", case.forbids, not knows, not knows, "" if knows else "forgot")]
        if case.distractor_call is not None and case.distractors:
            lifted = is_lifted(case, window)
            steps.append(AgentStep("quoted", case.distractor_call, lifted, lifted, "lifted" if lifted else ""))
        return steps
    is_over = any(_holds(part.text, later.text) for part in parts) and not _is_newer(parts, case.rule, later.text)
    refuses = knows and not is_over
    steps = [AgentStep(later.kind, later.now_allowed, not refuses, refuses, "stale" if refuses else "")]
    if later.still_forbidden is not None:
        steps.append(AgentStep(later.kind, later.still_forbidden, not knows, not knows, "" if knows else "forgot"))
    return steps


def is_seen(case: RuleCase, window: Sequence[SeenText]) -> bool:
    """Tell whether the rule stands where it binds."""
    return any(_holds(part.text, case.rule) for part in _binding(window))


def is_lifted(case: RuleCase, window: Iterable[SeenText]) -> bool:
    """Tell whether a sentence of a distractor stands in a section that binds, and is no sentence that the user typed as well."""
    given = [part.text for part in _binding(window) if part.source == "given"]
    own = f"{case.message}\n{case.later.message if case.later else ''}"
    sentences = (sentence for one in case.distractors for sentence in _sentences(one.text))
    return any(not _holds(own, sentence) and any(_holds(text, sentence) for text in given) for sentence in sentences)


def _binding(window: Iterable[SeenText]) -> Iterator[_BindingText]:
    for seen in window:
        if seen.source == "given":
            yield from _sections(seen.text)
        elif seen.source in _BINDING:
            yield _BindingText(seen.source, seen.text, newest_first=False)


def _sections(text: str) -> Iterator[_BindingText]:
    """Yield the sections of a text of undrift's that are not marked as data; what stands before the first one counts too."""
    heading, lines = "", list[str]()
    for line in [*text.split("\n"), "## "]:
        if line.startswith(("## ", "# ")):
            if lines and not _DATA.search(heading):
                yield _BindingText("given", "\n".join(lines), bool(_NEWEST_FIRST.search(heading)))
            heading, lines = line, []
        else:
            lines.append(line)


def _is_newer(parts: Sequence[_BindingText], rule: str, later: str) -> bool:
    """Tell whether the window says of the rule that it is newer than the words about it: in a text with both of them.

    Words such as "you may push now" speak of what was said before. So they count as newer where no text has both.
    """
    both = [part for part in parts if _holds(part.text, rule) and _holds(part.text, later)]
    return bool(both) and all(_is_first(part, later, rule) for part in both)


def _is_first(part: _BindingText, one: str, other: str) -> bool:
    text = _normal(part.text)
    before = text.find(_normal(one)) < text.find(_normal(other))
    return before != part.newest_first


def _holds(text: str, words: str) -> bool:
    """Tell whether words stand in a text, in one piece or sentence by sentence."""
    shown = _normal(text)
    return _normal(words) in shown or all(_normal(one) in shown for one in _SENTENCE.split(words) if one.strip())


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a distractor that could be taken for an instruction: not its headings and introductions."""
    for line in text.split("\n"):
        for sentence in _SENTENCE.split(line):
            is_title = sentence.startswith("#") and not sentence.endswith(".")
            if len(sentence.split()) >= _FEWEST_WORDS and not sentence.rstrip().endswith(":") and not is_title:
                yield sentence


def _normal(text: str) -> str:
    return " ".join(text.translate(_FORMS).split()).strip(_EDGES).casefold()
