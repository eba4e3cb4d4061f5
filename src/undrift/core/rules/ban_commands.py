"""Reads the commands that a rule's sentence names: in code, in plain text, options alone, statements of SQL. Pure, bounded."""

import re

from undrift.core.rules.ban_marks import RuleToken
from undrift.core.rules.ban_spot import NamedThing, Spot
from undrift.core.rules.ban_words import AMBIGUOUS, PROGRAMS, STOPS, verb_of, words_in
from undrift.core.rules.programs import as_written
from undrift.core.rules.targets import CommandTarget, SqlTarget, TextTarget

__all__ = ["bare_command", "command_target", "commands_in", "flags_at", "statement_at", "words_at"]

_FLAG = re.compile(r"-{1,2}[A-Za-z][\w-]*(?:=\S*)?")
_ASSIGNED = re.compile(r"[A-Z][A-Z0-9_]{1,60}=\S{0,60}")
_PIPED = re.compile(r"(?:curl|wget)\b[^|]{0,60}\|\s*(?:sudo )?(?:ba|z)?sh\b")
_STATEMENTS = {
    "DROP": "drop ", "TRUNCATE": "truncate ", "DELETE": "delete from", "UPDATE": "update ", "INSERT": "insert into", "ALTER": "alter "
}  # fmt: skip
_TRAILERS = frozenset({"co-authored-by", "co-author", "signed-off-by", "[skip", "co-authored"})
_SAID_OF = words_in(
    """scripts hooks config version cache files file works calls flags options counts runs stays goes for"""
)
_MEANT = words_in("use run using running call invoke execute or and plain bare the")
_NOUNS = {
    "installs": "install", "commits": "commit", "pushes": "push", "runs": "run", "deploys": "deploy", "applies": "apply"
}  # fmt: skip
_MOST_WORDS = 6


def commands_in(text: str) -> tuple[CommandTarget, ...]:
    """Return the command that a piece of code is; with ``|`` in it, of what is piped into a shell."""
    if _PIPED.search(text):
        return (CommandTarget(piped=True),)
    words = [word for word in text.split()[:12] if word not in ("...", "…", "<...>", "$")]
    assigned = next((word for word in words if _ASSIGNED.fullmatch(word)), "")
    while words and _ASSIGNED.fullmatch(words[0]):
        words = words[1:]
    if not words:
        return (CommandTarget(assigned=assigned),) if assigned else ()
    return (command_target(words),)


def command_target(words: list[str]) -> CommandTarget:
    """Return the target of a command's words: its program and first words, and its options apart."""
    flags = tuple(word.partition("=")[0] for word in words if _FLAG.fullmatch(word))
    plain = [word for word in words if not _FLAG.fullmatch(word) and word not in ("*", "--", "<x>")]
    plain = [word for word in plain if word[:1] not in "<[{$"]
    if "-m" in flags and plain[:1] in (["python"], ["python3"]):
        plain, flags = plain[1:], tuple(flag for flag in flags if flag != "-m")
    if plain[:1] == ["sudo"] and len(plain) > 1:
        plain = plain[1:]
    if plain[:2] == ["git", "checkout"] and ("--" in words or "." in plain):
        return CommandTarget(("git", "checkout"), of_files=True)
    if len(plain) == 1 and plain[0] in ("npm", "pnpm") and {"-g", "--global"} & set(flags):
        plain = [*plain, "install"]
    return CommandTarget(as_written(tuple(plain)) if plain else (), flags)


def flags_at(spot: Spot) -> NamedThing | None:
    """Read options that stand alone, and assignments."""
    raw = spot.raw
    if _ASSIGNED.fullmatch(raw):
        return NamedThing("command", (CommandTarget(assigned=raw),), 1)
    parts = raw.split("/") if raw.startswith("-") else [raw]
    if all(_FLAG.fullmatch(part) for part in parts):
        return NamedThing("flag", tuple(CommandTarget(flags=(part.partition("=")[0],)) for part in parts[:6]), 1)
    return None


def bare_command(spot: Spot) -> NamedThing | None:
    """Read a command in plain text, as far as its words are a command's."""
    parts = spot.raw.split("/")
    if len(parts) > 1 and all(part in PROGRAMS for part in parts):
        return NamedThing("command", tuple(command_target([part]) for part in parts), 1)
    name = spot.text if spot.text in PROGRAMS else spot.raw
    if name not in PROGRAMS or (name in AMBIGUOUS and not _is_meant(spot)):
        return None
    words = [name, *_words_behind(spot)]
    length = len(words)
    if found := _with_what_follows(spot, words):
        return found
    if length > 1:
        words[-1] = _NOUNS.get(words[-1], words[-1])
    if length > 1 and words[-1] in ("commands", "containers", "images"):
        words.pop()
    if flags := [part for word in words[1:] if "/" in word and word.startswith("-") for part in word.split("/")]:
        base = [word for word in words if not word.startswith("-")]
        return NamedThing("command", tuple(command_target([*base, flag]) for flag in flags[:6]), length)
    if spot.before in ("recursive", "recursively") and len(words) == 1:
        words.append("-R")
    return NamedThing("command", (command_target(words),), length)


def _words_behind(spot: Spot) -> list[str]:
    """Return the further words of the command, without those of the sentence around it."""
    found: list[str] = []
    for token in spot.tokens[spot.at + 1 : spot.at + _MOST_WORDS]:
        is_word = token.kind == "word" and token.text not in STOPS and token.text not in _SAID_OF
        if not is_word or token.raw == "/" or not re.fullmatch(r"[\w.:/@=*+-]+", token.raw):
            break
        found.append(token.raw)
    return found


def _with_what_follows(spot: Spot, words: list[str]) -> NamedThing | None:
    """Read ``git checkout -- .``, ``apply / destroy`` and a pipe into a shell."""
    end = spot.at + len(words)
    rest = spot.tokens[end : end + 2]
    first = rest[0] if rest else RuleToken("sign", "", "", 0)
    if first.kind == "dash" and words == ["git", "checkout"]:
        return NamedThing("command", (CommandTarget(("git", "checkout"), of_files=True),), len(words) + 1)
    if len(rest) < 2:
        return None
    if first.raw == "/" and len(words) > 1 and rest[1].raw not in PROGRAMS:
        other = [*words[:-1], rest[1].raw]
        return NamedThing("command", (command_target(words), command_target(other)), len(words) + 2)
    if first.kind == "pipe" and rest[1].text in ("sh", "bash", "zsh"):
        return NamedThing("command", (CommandTarget(piped=True),), len(words) + 2)
    return None


def _is_meant(spot: Spot) -> bool:
    """Return whether a plain word is the program of this name: it is used or run, or has an option."""
    following = spot.tokens[spot.at + 1] if spot.at + 1 < len(spot.tokens) else None
    if following is not None and following.kind == "word" and _FLAG.fullmatch(following.raw):
        return True
    return spot.verb == "run" and (spot.before in _MEANT or verb_of(spot.before) == "run")


def statement_at(spot: Spot) -> NamedThing | None:
    """Read a statement of SQL, which is written in capital letters."""
    start = _STATEMENTS.get(spot.raw)
    return NamedThing("sql", (SqlTarget((start,)),), 1) if start else None


def words_at(spot: Spot) -> NamedThing | None:
    """Read the beginning of a line that a message of a commit must not have."""
    return NamedThing("text", (TextTarget(spot.text.strip("[")),), 1) if spot.text in _TRAILERS else None
