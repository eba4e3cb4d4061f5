"""Tells where something is said to be, from what is done: ``in commit messages`` is a place, ``test failures`` are no test run. Pure.

Law: a word that only says which text, which place or which result is meant forbids no call by itself.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from undrift.core.rules.ban_marks import RuleToken
from undrift.core.rules.ban_table import TableRow
from undrift.core.rules.ban_words import words_in

__all__ = [
    "is_behind_place",
    "is_of_texts",
    "is_place",
    "is_text",
    "is_told_of",
    "of_files",
    "result_at",
    "script_words",
]

_TEXTS = words_in(
    """message messages title titles subject subjects body bodies description descriptions name names text texts wording
    summary summaries heading headings comment comments docstring docstrings naming string strings"""
)
"""Words for what is read by people."""

_RESULTS = words_in(
    """output outputs result results failure failures error errors warning warnings coverage count counts time times
    status speed framework frameworks style number numbers tool tools assertion assertions isolation timeout timeouts order steps step
    helper helpers"""
)
"""Words for what comes of a run, or how it is done."""

_OF_GIT = words_in("commit commits pr prs mr mrs merge tag branch issue ticket release pull-request")
_OF_RUNS = words_in("test tests build builds lint linter compiler benchmark unit typecheck deploy suite")
_PLACES = words_in("in into inside within for throughout from during per")
_SMALL = words_in("plain clear a an the any our your my all new unit these those production public")
_BOOKS = frozenset({"doc", "readme", "changelog"})
_DOINGS = (
    frozenset({"pull request", "issue"})
    | _BOOKS
    | words_in(
        "container test e2e benchmark build format lint typecheck release deploy migration seed codegen ci commit merge push"
    )
)
"""The rows of the table that are done, and so are no place where a call runs."""

_TOLD = re.compile(
    r"^(?:but |and |so |because )?(?:i|we|they|it|he|she|you|there|this|the \w+) (?:have |had |has )?never "
    r"(?:had|was|were|did|got|went|made|ran|saw|knew|wrote|took|built|came|kept|sent|found|gave|been|(?!need|feed|seed|embed|exceed|proceed)\w{2,20}ed)\b"
    r"|^never (?:had|did|was|were|went|saw|knew|wrote|took|came|gave|ran|\w{2,20}ed (?:an?|the|any|our|it|them|this|that|with)) "
    r"|(?:n't|\bnot|\bnever|\bcannot|\bavoid|\bno) (?:ever |accidentally |please |just |let \w+ )?"
    r"(?:break(?:s|ing|age)?|fail(?:s|ing)?|slow(?:s|ing|er)?|crash(?:es|ing)?|ruin(?:s|ing)?|regress(?:es|ing)?)\b(?! (?:or|and|nor)\b)"
    r"|\b(?:push|commit|merg|ship|deploy|publish|releas|introduc|land|with)\w* (?:a |any |the |your )?"
    r"(?:breaking|broken|failing|red|unformatted|untested|non-working|unfinished|half-done) \w"
)
_TOLD_MORE = re.compile(
    r"(?:n't|\bnot|\bnever) (?:ever )?(?:make|let|leave|cause|get) (?:[\w-]+ ){1,4}(?:slow(?:er)?|fail|break|broken|red|flak\w+|worse|failing)\b"
    r"|\blet (?:the |our |any |unit |your )*(?:tests?|code|builds?|apps?|functions?|components?|ci|pages?|handlers?|api)\b"
    r"|(?:n't|\bnot|\bnever) (?:ever |just )?(?:assume|claim|say|pretend|believe|expect|suppose|guess|think|declare|ignore|trust|depend on|rely on) "
    r"|\b(?:write|put|send|dump|log|emit|include|paste|add)\w* (?:[\w-]+ ){1,4}(?:to|in|into) (?:the |our )?(?:(?:git )?(?:logs?|history)|stdout|stderr|console|answers?|repl(?:y|ies)|chat)\b"
)
_TOLD_TOO = re.compile(
    r"\b(?:huge|large|big|giant|long|massive|small|tiny|unrelated) (?:\w+ )?(?:commits?|prs?|pull requests?|mrs?|diffs?|functions?|class(?:es)?)\b"
    r"|\bcommit to (?:an? )(?:\w+ )?(?:api|design|plan|date|deadline|approach|solution|schedule|name)\b|\bbranch(?:ing)? on "
    r"|\b(?:tell|ask|remind|invite|force) (?:me|us|users?|people|them|the user) to |\btreat (?:[\w./-]+ ){1,3}as "
    r"|\bon (?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|every|each|save|startup|the command line)\b"
    r"|\b(?:run|start|execute)\w* (?:the |all )*(?:tests?|builds?|lint\w*|servers?|suite) with (?:[a-z]+ ){0,2}(?:output|mode|logging|settings|timeouts?|retries)\b"
    r"|\b(?:write|add|create|generate|make)\w* (?:[\w-]+ ){0,2}(?:tests?|code|functions?|comments?|docs|commits?) (?:that|which|you|with) "
    r"|^nobody (?:reads|knows|cares|likes|wants|needs|\w+ed (?:the|an?|my|our))\b"
)
"""Clauses that tell how things were, or that only judge what comes of a call."""


def is_told_of(text: str) -> bool:
    """Say whether a clause with a word of denial forbids no call: ``we never had one``, ``don't break the build``."""
    return any(pattern.search(text) for pattern in (_TOLD, _TOLD_MORE, _TOLD_TOO))


def is_behind_place(tokens: Sequence[RuleToken], at: int) -> bool:
    """Say whether a word stands behind ``in`` or ``for``, with only small words between."""
    at -= 1
    while at >= 0 and tokens[at].text in _SMALL:
        at -= 1
    return at >= 0 and tokens[at].kind == "word" and tokens[at].text in _PLACES


def result_at(tokens: Sequence[RuleToken], at: int) -> int:
    """Return how many tokens ``commit messages`` or ``test failures`` take that begin at a place; 0 if none do."""
    if at + 1 >= len(tokens) or tokens[at].kind != "word":
        return 0
    first, second = tokens[at].text, tokens[at + 1].text
    if first in _OF_RUNS and second in ("case", "suite", "file", "run", "function") and at + 2 < len(tokens):
        return 3 if tokens[at + 2].text in _TEXTS | _RESULTS else 0
    if first == "pull" and second.startswith("request") and at + 2 < len(tokens):
        return 3 if tokens[at + 2].text in _TEXTS else 0
    if first == "merge" and second.startswith(("commit", "conflict")):
        return 2
    if first in _OF_GIT | _OF_RUNS and second in _TEXTS:
        return 0 if second.startswith("comment") else 2
    return 2 if first in _OF_RUNS and second in _RESULTS else 0


def is_of_texts(tokens: Sequence[RuleToken], at: int, length: int) -> bool:
    """Say whether the tokens at a place are a text in which something stands: ``in commit messages``, ``in comments``."""
    return tokens[at + length - 1].text in _TEXTS and is_behind_place(tokens, at)


def is_doing(row: TableRow) -> bool:
    """Say whether a row is something that is done, and no place where a call runs."""
    return row.name in _DOINGS


def is_text(row: TableRow) -> bool:
    """Say whether a row is what is read by people."""
    return row.name in _BOOKS


def is_place(row: TableRow, tokens: Sequence[RuleToken], at: int) -> bool:
    """Say whether a row at a place only says where: ``in tests``, ``to new files``."""
    if row.name == "new file":
        return at > 0 and tokens[at - 1].text in ("to", "in", "into")
    return is_doing(row) and is_behind_place(tokens, at)


@lru_cache(maxsize=64)
def of_files(row: TableRow) -> TableRow:
    """Return the row as a place: only its files."""
    return TableRow(row.name, {"files": row.of("files")})


def script_words(tokens: Sequence[RuleToken], at: int, length: int) -> tuple[str, ...]:
    """Return the words that name a script: of ``the release script``; none if the thing at a place is no script."""
    words = [token.text for token in tokens[at : at + length]]
    behind = tokens[at + length].text if at + length < len(tokens) else ""
    if words[-1] in ("script", "scripts"):
        return tuple(words[:-1])
    return tuple(words) if behind in ("script", "scripts") else ()
