"""The clauses of a statement, and its words that say nothing or little. Pure.

Law: linear in the text.
"""

import re

from undrift.core.text.words import opened

__all__ = ["MANY", "NEUTRAL", "STOP", "clauses_of", "is_plain", "stated", "without_refusals"]

_LEAST_ITEMS = 2
_CLAUSE_END = re.compile(
    r"(?<=[.!?;])\s+|;|\n+|,\s+(?=(?:and|but|so)\s+(?:we|i|it|they|the)\b)|\s(?=but\s+(?:we|i|it|they|the)\b)",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(
    r"^[ \t>]*(?:#{1,6}[ \t]+)?(?:[-*+\u2022][ \t]+)?[*_]{0,2}\(?\d{1,3}(?:\.\d{1,3}){0,3}[.)][*_]{0,2}[ \t]+",
    re.MULTILINE,
)
"""In front of a heading or of a list's item: it counts, and states no amount."""
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
"""The comma of 1,200."""
_LIST_ITEM = re.compile(r"^[ \t>]{0,20}(?:[-*+\u2022]|\(?\d{1,3}[.)])[ \t]+\S", re.MULTILINE)
_CODE = re.compile(r"```|~~~|^(?: {4}|\t)\S|[;{}]$|^\$ \S", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]{0,3}>|[\"\u201c\u201e](?:[^\s\"\u201c\u201d\u201e]++\s++){4}", re.MULTILINE)
"""A line that is quoted, or five words between marks."""
_KEYED = re.compile(r"^\s*[`\"']?([A-Za-z][\w .`/-]{0,60}?)[`\"']?\s{0,20}(?::\s+|=\s*|:=\s*)(?=\S)")

_NO_NEGATION = re.compile(
    r"(?:,|\bbut|\band) (?:not|never|no)\b.*|\bno (?:later|more|less|fewer|earlier) than\b|\bnot only\b"
    r"|\bno doubt\b|\bwhether or not\b",
    re.IGNORECASE,
)


def clauses_of(text: str) -> list[str]:
    """Split a text into clauses that can each be true or false, without the numbers of lists."""
    parts = (" ".join(part.split()) for part in _CLAUSE_END.split(_LIST_NUMBER.sub("", text)) if part)
    return [part for part in parts if part.strip(" .;,")]


def is_plain(text: str) -> bool:
    """Tell whether a text is a statement of its own words: no list, no code, no quotation."""
    items = _LIST_ITEM.findall(text)
    return len(items) < _LEAST_ITEMS and _CODE.search(text) is None and _QUOTE.search(text) is None


def stated(clause: str) -> str:
    """Return a clause with its negations opened (``can not``) and ``key: value`` as ``key is value``."""
    text = opened(_GROUPED.sub("", clause))
    keyed = _KEYED.match(text)
    return f"{keyed[1]} is {text[keyed.end() :]}" if keyed and len(keyed[1].split()) <= 5 else text


def without_refusals(opened: str) -> str:
    """Return a clause without what it says by the way that it does not mean ("but not on Windows")."""
    return _NO_NEGATION.sub(" ", opened)


STOP: frozenset[str] = frozenset({
    "a", "an", "the", "this", "that", "these", "those", "our", "my", "your", "their", "its", "his", "her", "we",
    "i", "you", "they", "he", "she", "it", "us", "me", "them", "there", "here", "is", "are", "was", "were", "be",
    "been", "being", "am", "do", "does", "did", "done", "as", "and", "or", "but", "so", "then", "than", "also",
    "too", "very", "just", "only", "s", "t", "re", "ve", "ll", "d", "let", "lets", "please", "always", "still",
    "has", "had", "will", "would", "shall", "should", "must", "can", "could", "of", "in", "on", "at", "to", "for",
    "from", "by", "with", "into", "onto", "currently", "already", "again", "one", "ones", "some", "any", "all",
    "each", "every", "such", "which", "who", "whom", "what", "when", "where", "how", "if", "up", "out", "off",
    "over", "under", "about", "per", "via", "now", "today", "actually", "instead", "correction", "update", "no",
    "not", "never", "none", "nor", "neither", "without", "longer", "more", "anymore", "rather", "presently",
    "henceforth", "onwards", "turned", "switched", "may", "might", "nobody", "nothing", "someone", "somebody",
    "everyone", "everybody", "something",
})  # fmt: skip
"""Words that carry no meaning of their own when two statements are compared."""

NEUTRAL: frozenset[str] = frozenset({
    "use", "store", "run", "live", "persist", "back", "keep", "go", "manage", "build", "write", "rewrite",
    "implement", "host", "install", "make", "set", "move", "migrate", "switch", "replace", "change", "rename", "drop",
    "agree", "decide", "choose", "pick", "adopt", "prefer", "want", "need", "work", "handle", "do", "get", "put",
    "come", "serve", "power", "configure", "target", "pin", "bump", "upgrade", "downgrade", "stay", "depend",
    "require", "latest", "current", "project", "repo", "repository", "codebase", "follow", "publish", "license",
    "contain", "call", "name", "locate", "place", "listen", "connect", "deploy", "ship", "send", "level", "type",
    "kind", "thing", "turn", "mark", "carry", "escalate", "raise", "increase", "decrease", "reduce", "extend", "shorten",
    "postpone", "reschedule", "push", "convert", "assign", "user-facing", "bought", "based",
})  # fmt: skip
"""Words that relate a value to its place; the place itself is in the other words."""

MANY: frozenset[str] = frozenset({
    "support", "include", "contain", "list", "allow", "expose", "offer", "accept", "cover", "mention", "add",
    "import", "review", "modify", "fix", "touch", "read", "edit", "delete", "depend", "speak", "permit", "provide",
    "recommend", "like", "know", "visit", "have",
})  # fmt: skip
"""Verbs whose objects stand side by side: that the SDK supports Python does not end its support of Go."""
