"""Things that are known by words inside of a call: places, statements of SQL, words of a message, lines of a list. Frozen, pure.

Law: words that a program only shows or searches for are used for nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from undrift.core.rules.ban_words import words_in
from undrift.core.rules.effects import Effect
from undrift.core.rules.programs import TALKERS

__all__ = ["DependTarget", "SqlTarget", "TextTarget", "WordTarget"]


@dataclass(frozen=True, slots=True)
class WordTarget:
    """A server or a place by its name, as any part of a command that does something with it."""

    name: str

    def holds(self, effect: Effect, cwd: str) -> bool:
        del cwd
        if "fetch" in effect.does:
            return self._is_in(effect.shown)
        if "run" not in effect.does or effect.words[0] in TALKERS or effect.words[0] in ("git", "gh"):
            return False
        return any(self._is_in(word) for word in (*effect.words[1:], *effect.before))

    def _is_in(self, word: str) -> bool:
        if len(word) > 2_000:
            return False
        parts = re.split(r"[/@:=,\s'\"${}]+", word.lower())
        if self.name in _STAGES and any(self.name in re.split(r"[-_.]", part) for part in parts):
            return True
        return any(part == self.name or part.startswith(self.name + ".") for part in parts)


@dataclass(frozen=True, slots=True)
class SqlTarget:
    """A statement of SQL that a program for a database is given, by its first two words."""

    words: tuple[str, ...]

    def holds(self, effect: Effect, cwd: str) -> bool:
        del cwd
        if not ("run" in effect.does and effect.words[0] in _DATABASES) and not ("tool" in effect.does and effect.text):
            return False
        texts = [" ".join(word[:4_000].lower().split()) for word in (*effect.words[1:], effect.text)]
        return any(_begins(statement, self.words) for text in texts for statement in _statements(text))


def _statements(text: str) -> list[str]:
    """Return the statements of a text, in small letters; what is in quotes or brackets may be one."""
    return [part.strip().removeprefix("begin ").strip() for part in re.split(r"[;(\"'{]", text)]


def _begins(statement: str, starts: Sequence[str]) -> bool:
    return any(statement.startswith(start.strip() + " ") for start in starts)


@dataclass(frozen=True, slots=True)
class TextTarget:
    """Words in the message of a commit or in the text of a pull request, in small letters."""

    text: str

    def holds(self, effect: Effect, cwd: str) -> bool:
        del cwd
        is_message = (
            effect.words[:1] in (("git",), ("gh",)) and "run" in effect.does and bool(_SAYING & set(effect.words[1:8]))
        )
        return is_message and any(self.text in word.lower() for word in (*effect.words[2:], effect.text))


_SAYING = frozenset({"commit", "merge", "tag", "revert", "create", "edit", "comment", "review", "amend"})
_STAGES = frozenset({"prod", "production", "live", "prd", "staging", "stg", "mainnet"})
"""Names of places that are a part of the names of what stands there: ``prod-eu-1``."""

_DATABASES = words_in(
    """psql mysql mariadb snowsql bq sqlcmd redis-cli wrangler supabase athena trino presto cqlsh sqlite3 mongosh mongo
    clickhouse-client cockroach duckdb"""
)


@dataclass(frozen=True, slots=True)
class DependTarget:
    """A line more in a list of dependencies."""

    def holds(self, effect: Effect, cwd: str) -> bool:
        del cwd
        return "depend" in effect.does
