"""Reads a shell's text once into its simple commands, as far as an agent's command has to be understood. Pure, linear.

Law: nothing is expanded and nothing is run. A text that no shell would take is read as far as it goes.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

__all__ = ["ShellCommand", "commands_of"]

_READ_CHARACTERS = 4_000
"""The part of a text that is read; a longer text is a file that the agent writes."""
_DEEPEST = 3  # a shell within a shell

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]++|\\\n|\#[^\n]*+)
      | (?P<into>\d{0,2}(?:>>|>\||>&|<>|>)|&>>?)
      | (?P<here><<-?(?!<))
      | (?P<from><<<|<&|<)
      | (?P<end>;|\n|&&|\|\||&|[(){}`]|\$\()
      | (?P<pipe>\|)
      | (?P<word>(?:'[^']*+'?|"(?:[^"\\]|\\.)*+"?|\\.|\$(?!\()|[^\s'"\\;|&<>(){}`$])++)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r"""'([^']*+)'?|"((?:[^"\\]|\\.)*+)"?|\\(.)""", re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\$`])')
_ASSIGNED = re.compile(r"\w{1,80}=")
_BEFORE = frozenset(
    {"!", "command", "do", "else", "env", "exec", "if", "nohup", "sudo", "then", "time", "until", "while"}
)
_SHELLS = frozenset({"bash", "dash", "sh", "zsh"})


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One simple command.

    Args:
        words: Its words without quotes, assignments and redirections; the first is the program, without its folder.
        heads: True: nothing is piped into it, and its output is shown: it is not put into another command's words.
        writes: True: its output goes into a file, or it is given a text of its own.
    """

    words: tuple[str, ...]
    heads: bool
    writes: bool


def commands_of(text: str) -> tuple[ShellCommand, ...]:
    """Return the simple commands of a shell's text, in order; of a shell within it those that it is given."""
    return _commands(text[:_READ_CHARACTERS])


@lru_cache(maxsize=1_024)
def _commands(text: str) -> tuple[ShellCommand, ...]:
    return tuple(_read(text, 0))


@dataclass(slots=True)
class _Begun:
    """A command that is being read. `target`: the redirection that the next word belongs to."""

    heads: bool = True
    words: list[str] = field(default_factory=list)
    writes: bool = False
    target: str = ""


def _read(text: str, depth: int) -> list[ShellCommand]:
    found: list[ShellCommand] = []
    bodies: list[str] = []
    outer: list[_Begun] = []  # the commands whose words the present one gives
    now, place = _Begun(), 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        assert token is not None  # the last alternative takes anything
        kind, place = token.lastgroup, token.end()
        if kind == "word":
            _take(now, _unquoted(token[0]), bodies)
        elif kind in ("into", "here", "from"):
            now.target, now.writes = kind, now.writes or kind == "here"
        elif token[0] == "$(":
            outer.append(now)
            now = _Begun(heads=False)
        elif kind in ("end", "pipe"):
            found += _command(now, depth)
            is_closed = token[0] == ")" and outer
            now = outer.pop() if is_closed else _Begun(heads=kind == "end" and not outer)
            if token[0] == "\n" and bodies:
                place, bodies = _after_bodies(text, place, bodies), []
    for begun in (now, *reversed(outer)):
        found += _command(begun, depth)
    return found


def _take(now: _Begun, word: str, bodies: list[str]) -> None:
    if now.target == "here":
        bodies.append(word)
    elif now.target == "into":
        now.writes = now.writes or word not in ("/dev/null", "1", "2")
    else:
        now.words.append(word)
    now.target = ""


def _command(begun: _Begun, depth: int) -> list[ShellCommand]:
    words = begun.words
    first = next((n for n, word in enumerate(words) if word not in _BEFORE and not _ASSIGNED.match(word)), len(words))
    if first == len(words):
        return []
    program, *others = words[first:]
    program = program.rpartition("/")[2]
    script = next((n for n, word in enumerate(others[:3]) if word[:1] == "-" and word.endswith("c")), None)
    if program in _SHELLS and script is not None and script + 1 < len(others) and depth < _DEEPEST:
        return _read(others[script + 1], depth + 1)
    return [ShellCommand((program, *others), begun.heads, begun.writes)]


def _after_bodies(text: str, place: int, bodies: list[str]) -> int:
    """Return the place behind the texts that commands of this line are given (here-documents)."""
    for ending in bodies:
        while place < len(text):
            line, _, _ = text[place:].partition("\n")
            place += len(line) + 1
            if line.strip("\t") == ending:
                break
    return min(place, len(text))


def _unquoted(word: str) -> str:
    return _QUOTED.sub(_plain, word)


def _plain(found: re.Match[str]) -> str:
    single, double, escaped = found.groups()
    return _ESCAPED.sub(r"\1", double) if double is not None else single or escaped or ""
