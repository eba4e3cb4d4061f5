"""Does a summary meet a criterion? Names exactly, words by their stems, and never by a clause that denies. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from undrift.core.text.words import words_of
from undrift.core.validate.words import FAIL_STEMS, PASS, Sentence, SummaryClause, is_denied, meaning_of, plain

__all__ = ["Criterion", "WORD_SHARE", "criterion_of", "is_met", "names_of"]

WORD_SHARE = 0.6
"""Least share of a criterion's significant words that a summary must hold: both of two, two of three, three of four."""

_EDGE = ".,;:!?()[]{}<>\"'“”\u2018\u2019*"
_NAME = re.compile(r"[_/\\\d]|[a-z][A-Z]|::|\w\.\w|^--?\w")
_QUOTED = re.compile(r"`([^`\n]{1,200})`|\"([^\"\n]{2,200})\"")
_STOP = frozenset({
    "a", "an", "the", "and", "or", "of", "in", "on", "at", "to", "for", "from", "by", "with", "as", "into", "over",
    "under", "is", "are", "be", "been", "being", "was", "were", "am", "it", "its", "this", "that", "these", "those",
    "there", "here", "must", "should", "shall", "will", "would", "can", "could", "may", "might", "have", "has",
    "had", "do", "does", "did", "all", "any", "every", "each", "both", "some", "such", "so", "than", "then", "too",
    "very", "also", "just", "only", "own", "same", "more", "most", "other", "which", "who", "whom", "whose", "what",
    "when", "where", "why", "how", "if", "out", "up", "down", "off", "again", "once", "about", "above", "below",
    "between", "during", "through", "we", "i", "you", "they", "he", "she", "them", "our", "your", "their", "my",
    "me", "us", "his", "her", "need", "needs", "needed", "ensure", "sure", "make", "makes", "please", "correctly",
    "reports", "exits", "returns", "shows", "gives",
    "properly", "fully", "not", "no", "never", "without",
})  # fmt: skip
_REPORTING = frozenset({
    "say", "state", "report", "tell", "list", "find", "describe", "explain", "show", "name", "note", "give",
    "determine", "identify", "verify", "check", "confirm", "measure", "locate", "investigate", "know",
})  # fmt: skip
"""A criterion that opens with one of these asks the summary to say what follows; the word itself is not looked for."""

_TOOLS = frozenset({
    "npm", "npx", "yarn", "pnpm", "bun", "deno", "node", "cargo", "rustc", "pytest", "python", "python3", "pip",
    "uv", "tox", "nox", "ruff", "mypy", "flake8", "black", "eslint", "prettier", "tsc", "jest", "vitest", "docker",
    "docker-compose", "kubectl", "helm", "terraform", "ansible", "git", "gh", "mix", "bundle", "rake", "rspec",
    "rails", "gradle", "gradlew", "mvn", "mvnw", "dotnet", "swift", "cmake", "ctest", "bazel", "tsx",
    "curl", "pre-commit", "golangci-lint",
})  # fmt: skip
_TARGETS = {
    "make": frozenset({
        "all", "build", "check", "ci", "clean", "demo", "deploy", "e2e", "fmt", "install", "lint", "bench", "release",
        "test", "tests", "verify",
    }),
    "go": frozenset({"build", "fmt", "generate", "install", "mod", "run", "test", "vet"}),
}  # fmt: skip
_SUBCOMMANDS = frozenset({
    "add", "apply", "audit", "bench", "build", "check", "ci", "clippy", "clone", "commit", "compose", "diff", "doc",
    "exec", "fetch", "fmt", "format", "install", "lint", "log", "merge", "migrate", "plan", "publish", "pull",
    "push", "rebase", "restore", "rspec", "run", "start", "status", "sync", "test", "tests", "tsc", "up", "vet",
})  # fmt: skip
_COMMAND_ENDS = frozenset({
    "is", "are", "must", "should", "shall", "will", "can", "may", "has", "have", "had", "does", "do", "exit",
    "exits", "return", "returns", "report", "reports", "run", "runs", "pass", "passes", "passed", "succeed",
    "succeeds", "succeeded", "work", "works", "complete", "completes", "finish", "finishes", "give", "gives",
    "show", "shows", "and", "or", "with", "without", "on", "in", "for", "to", "again", "cleanly", "still", "stays",
    "stay", "be", "ok", "green", "no", "zero",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion after it was read.

    Args:
        exact: Names, paths, numbers, quoted words and commands that must be there as written.
        wants_pass: Whether it asks for a good verdict, or names a command and nothing else.
    """

    text: str
    exact: tuple[str, ...]
    stems: tuple[str, ...]
    wants_pass: bool
    commands: tuple[str, ...]
    denied: bool


def criterion_of(text: str) -> Criterion:
    """Read one criterion."""
    line = " ".join(text.split())
    rest = plain(line)
    quoted = tuple(a or b for a, b in _QUOTED.findall(rest))
    rest = _QUOTED.sub(" ", rest)
    tokens = [bare for token in rest.split() if (bare := _bare(token))]
    commands, tokens = _commands(tokens)
    exact = [*quoted, *commands, *(token for token in tokens if _is_name(token))]
    words = [word for token in tokens if not _is_name(token) for word in words_of(token)]
    if len(words) > 1 and words[0] in _REPORTING:
        words = words[1:]
    stems = [meaning_of(word) for word in words if word not in _STOP]
    if not exact and not stems:
        exact = [line]
    # "must not fail" asks for a pass: two denials.
    no_fail = bool({"not", "never", "without"} & set(words)) and bool(FAIL_STEMS & set(stems))
    if no_fail:
        stems = [PASS if each in FAIL_STEMS else each for each in stems]
    return Criterion(
        text=line,
        exact=tuple(dict.fromkeys(exact)),
        stems=tuple(dict.fromkeys(stems)),
        wants_pass=PASS in stems or bool(commands and not FAIL_STEMS & set(stems)),
        commands=tuple(commands),
        denied=not no_fail and _asks_for_absence(words),
    )


def is_met(criterion: Criterion, sentences: Sequence[Sentence]) -> bool:
    """Tell whether what a summary says, and does not deny, meets a criterion; the last word on it counts."""
    clauses = [clause for sentence in sentences for clause in sentence.clauses]
    holding = [clause for clause in clauses if _supports(criterion, clause)]
    if not _covers(criterion, holding):
        return False
    if PASS in criterion.stems and not any(_passes(criterion, sentence) for sentence in sentences):
        return False
    whole = [clause for clause in clauses if _covers(criterion, [clause], verdict=False)]
    return not whole or _supports(criterion, whole[-1])


def names_of(text: str) -> tuple[str, ...]:
    """Return the names, paths and numbers of a text, without the punctuation around them, each once."""
    return tuple(dict.fromkeys(bare for token in text.split() if (bare := _bare(token)) and _is_name(bare)))


def _supports(criterion: Criterion, clause: SummaryClause) -> bool:
    """Tell whether a clause may count for a criterion: it has its polarity, and no failure where a pass is asked for."""
    if criterion.denied:
        return clause.denied
    if clause.denied:
        return False
    return not (criterion.wants_pass and clause.stems & FAIL_STEMS)


def _covers(criterion: Criterion, clauses: Sequence[SummaryClause], *, verdict: bool = True) -> bool:
    """Tell whether clauses hold every exact term and enough of the words; without `verdict` that of a pass is left out."""
    if not all(any(_holds(clause.text, term) for clause in clauses) for term in criterion.exact):
        return False
    wanted = [each for each in criterion.stems if verdict or each != PASS]
    held = frozenset().union(*(clause.stems for clause in clauses)) if clauses else frozenset[str]()
    found = sum(each in held or _in_script(each, clauses) for each in wanted)
    if not wanted:
        return bool(clauses) and bool(criterion.exact or verdict)
    return bool(clauses) and found >= WORD_SHARE * len(wanted)


def _passes(criterion: Criterion, sentence: Sentence) -> bool:
    """Tell whether a sentence says, undenied, that what the criterion names has passed."""
    if not any(PASS in clause.stems and _supports(criterion, clause) for clause in sentence.clauses):
        return False
    others = [each for each in criterion.stems if each != PASS]
    if not others and not criterion.exact:
        return True
    said = sentence.stems
    return any(each in said for each in others) or any(
        _holds(clause.text, term) for clause in sentence.clauses for term in criterion.exact
    )


def _holds(text: str, term: str) -> bool:
    """Tell whether a text holds a term as written, not as a part of a longer name."""
    start = text.find(term)
    while start >= 0:
        before, after = text[:start][-1:], text[start + len(term) :][:2]
        joined = after[:1].isalnum() or after[:1] == "_" or (after[:1] in "./-" and after[1:2].isalnum())
        if not joined and not (before.isalnum() or before in ("_", "-", "/")):
            return True
        if term[:1] == "-" and before in ("", " ", "`") and not joined:
            return True
        start = text.find(term, start + 1)
    return False


def _in_script(word: str, clauses: Sequence[SummaryClause]) -> bool:
    """Find a word of a script that puts no blanks between words."""
    return not word.isascii() and any(word in clause.text.lower() for clause in clauses)


def _bare(token: str) -> str:
    bare = token.strip("`").rstrip(_EDGE).lstrip(_EDGE.replace(".", "").replace(":", "") + "…").strip("`")
    return bare.removeprefix("./")


def _is_name(token: str) -> bool:
    return bool(_NAME.search(token)) and any(map(str.isalnum, token))


def _asks_for_absence(words: Sequence[str]) -> bool:
    return is_denied(
        " ".join(word for word in words if word not in ("must", "should", "will", "shall", "may", "could"))
    )


def _commands(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a criterion's words into the commands it names and the rest; a bare tool is a word like others."""
    commands: list[str] = []
    rest: list[str] = []
    at = 0
    while at < len(tokens):
        stop = at + 1
        if stop < len(tokens) and _starts_command(tokens[at], tokens[stop]):
            stop += 1
            while stop < len(tokens) and _continues(tokens[stop]):
                stop += 1
        if stop > at + 1:
            commands.append(" ".join(tokens[at:stop]))
        else:
            rest.append(tokens[at])
        at = stop
    return commands, rest


def _starts_command(tool: str, word: str) -> bool:
    """Tell "npm run" from "docker images": the second word is a known one, a flag or a path."""
    if tool in _TARGETS:
        return word in _TARGETS[tool]
    return tool in _TOOLS and (word in _SUBCOMMANDS or not word.isalpha())


def _continues(token: str) -> bool:
    return token.lower() not in _COMMAND_ENDS and token != "nofailure" and not token[:1].isupper()
