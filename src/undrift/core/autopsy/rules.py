"""Rules that the user gave and that nothing mentioned again. Pure.

A rule is a sentence of the user with a word of obligation (must, never, always, do not, make sure, only use ...). It counts as mentioned
when one later sentence, by any author, holds at least half of its significant words; so a rule that is shown as lost is lost.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from undrift.core.autopsy.findings import LostRule
from undrift.core.autopsy.steps import Step
from undrift.core.text.secrets import mask

__all__ = ["lost", "rules_of"]

_OBLIGES = re.compile(
    r"\b(?:m(?:ust(?:n['\u2019]?t)?|ake sure)|never|do(?: not|n['\u2019]?t)|from now on"
    r"|a(?:lways|void|dd only)|c(?:hange|ommit) only|r(?:ead|un) only|(?:edit|touch|use|write) only"
    r"|(?<!-)only (?:add|change|commit|edit|read|run|touch|use|write))\b|^only\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:maybe|perhaps|probably|thinking aloud)\b|_probably_"
    r"|\b(?:i|we|you|they|it|that)\s+(?:do not|don['\u2019]?t|never|always|only)\b(?!\s+want)|\?\s*$",
    re.IGNORECASE,
)
"""``I don't know``, ``maybe``, a question: thinking aloud, no rule."""

_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{0,60})(?: [^<>]{0,200})?>")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_END = re.compile(r"(?<=[.!?])\s+|\n+")
_BULLET = re.compile(r"^\s*(?:[-*+>•]|\d{1,3}[.)])?\s+|^\s+")
_WORD = re.compile(r"[^\W_]{4,}")
_STOP = re.compile(
    "about|after|also|always|been|before|both|cannot|could|does|each|else|ensure|every|from|have|here|into|"
    "just|keep|like|make|more|most|must|need|never|only|other|over|please|prefer|same|shall|should|some|such|"
    "sure|than|that|their|them|then|there|these|they|this|those|through|under|unless|until|very|want|well|were|"
    "what|when|where|which|while|will|with|without|would|your"
)
"""Words of four letters and more that every sentence may have."""

_CHARACTERS = range(12, 401)
_PASTE_CHARACTERS = 6_000
"""A longer text is a document that was pasted; its sentences are not the user's own."""
_STEM_CHARACTERS = 6
_NOT_THE_USER = ("Implement the following plan:", "Caveat:", "This session is being continued")
"""How texts begin that a client writes in the user's name."""


def rules_of(steps: Iterable[Step]) -> tuple[LostRule, ...]:
    """Give the rules that the user stated, each once, in order; `calls_before` is yet the call at which it was said."""
    found: dict[str, LostRule] = {}
    for step in steps:
        content = step.entry.content
        if step.kind == "user" and len(content) <= _PASTE_CHARACTERS and not content.startswith(_NOT_THE_USER):
            for sentence in _sentences(_FENCED.sub("\n", _untagged(content))):
                if _is_rule(sentence):
                    found.setdefault(sentence.casefold(), LostRule(sentence, step.entry.id, step.call))
    return tuple(found.values())


def _untagged(content: str) -> str:
    """Put a line end in the place of each ``<tag>...</tag>``. The ends of all tags are read once: a search for each is slow."""
    ends: dict[str, list[int]] = {}
    for tag in _TAG.finditer(content):
        if tag[1] and tag.end() == tag.end(2) + 1:
            ends.setdefault(tag[2], []).append(tag.end())
    kept, at = list[str](), 0
    for tag in _TAG.finditer(content):
        closing = ends.get(tag[2], ())
        which = bisect_right(closing, tag.end())
        if not tag[1] and tag.start() >= at and which < len(closing):
            kept += (content[at : tag.start()], "\n")
            at = closing[which]
    return "".join((*kept, content[at:]))


def lost(
    rules: Sequence[LostRule], texts: Iterable[str], results: Iterable[str], *, calls: int
) -> tuple[LostRule, ...]:
    """Give the rules that no later text mentions.

    Args:
        texts: What was said after, the summary included: a sentence with half of the telling words mentions a rule.
        results: What tools showed after: there a rule counts as mentioned where it stands word for word.
    """
    open_rules = {rule: _stems(rule.text) for rule in rules}
    for text in texts:
        if not open_rules:
            return ()
        for sentence in _sentences(text):
            words = _stems(sentence)
            for rule in [rule for rule, wanted in open_rules.items() if 2 * len(wanted & words) >= len(wanted)]:
                del open_rules[rule]
    for text in results:
        folded = text.casefold() if open_rules else ""
        for rule in [rule for rule in open_rules if rule.text.casefold() in folded]:
            del open_rules[rule]
    return tuple(
        LostRule(mask(rule.text).text, rule.entry_id, max(0, calls - rule.calls_before)) for rule in open_rules
    )


def _is_rule(sentence: str) -> bool:
    if len(sentence) not in _CHARACTERS or not _OBLIGES.search(sentence) or _ASIDE.search(sentence):
        return False
    letters = sum(character.isalpha() or character == " " for character in sentence)
    return letters >= 0.75 * len(sentence) and len(_stems(sentence)) >= 2  # a line of code or of a log is none


def _sentences(text: str) -> Iterator[str]:
    for part in _END.split(text):
        if sentence := _BULLET.sub("", part, count=1).strip():
            yield sentence


def _stems(sentence: str) -> frozenset[str]:
    """Give the beginnings of the telling words, so that ``commits`` and ``committing`` are one."""
    words = (word.casefold() for word in _WORD.findall(sentence))
    return frozenset(word[:_STEM_CHARACTERS] for word in words if not _STOP.fullmatch(word))
