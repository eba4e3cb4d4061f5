"""Reads a shell's text once into its simple commands, as far as an agent's command has to be understood. Pure, linear.

Law: nothing is expanded and nothing is run. A text that no shell would take is read as far as it goes.
"""

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

__all__ = ["ShellCommand", "commands_of"]

_READ_CHARACTERS = 4_000
"""The part of a text that is read; a longer text is a file that the agent writes."""
_DEEPEST = 3  # a shell within a shell

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]++|\\\n|\#[^\n]*+)
      | (?P<into>\d{0,2}(?:>>|>\||>&|<>|>(?!\())|&>>?)
      | (?P<here><<-?(?!<))
      | (?P<inner>\$\(|[<>]\()
      | (?P<from><<<|<&|<)
      | (?P<end>(?!\{\})(?:;|\n|&&|\|\||&|[(){}`]))
      | (?P<pipe>\|)
      | (?P<word>(?>(?:\{\}|'[^']*+'?|"(?>(?:[^"\\]|\\.)*)"?|\\.|\$(?!\()|[^\s'"\\;|&<>(){}`$])+))
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r"""'([^']*+)'?|"((?>(?:[^"\\]|\\.)*))"?|\\(.)""", re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\$`])')
_MESSAGE = re.compile(r"""\"\$\(cat[ ]<<-?[ ]*(['"\\]?)(\w{1,80})\1[ ]*\n""")
"""The beginning of a long text in quotes, as agents write the message of a commit."""

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
        before: The words before the program: assignments, ``sudo``, ``env``.
        into: The files that its output goes into.
        feeds: True: its output goes into the next command, or into the words of a later one.
        given: The text of its own (here-document, here-string); empty if it has none.
    """

    words: tuple[str, ...]
    heads: bool
    writes: bool
    before: tuple[str, ...] = ()
    into: tuple[str, ...] = ()
    feeds: bool = False
    given: str = ""


def commands_of(text: str, most: int = _READ_CHARACTERS) -> tuple[ShellCommand, ...]:
    """Return the simple commands of a shell's text, in order; of a shell within it those that it is given.

    `most`: the characters that are read.
    """
    return _commands(text[:most])


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
    into: list[str] = field(default_factory=list)
    feeds: bool = False
    given: str = ""


def _read(text: str, depth: int) -> list[ShellCommand]:
    found: list[ShellCommand] = []
    bodies: list[tuple[str, _Begun]] = []
    outer: list[_Begun] = []  # the commands whose words the present one gives
    now, place = _Begun(), 0
    while place < len(text):
        if text.startswith('"$(cat', place) and (end := _behind_message(text, place)):
            _take(now, text[place:end], bodies)
            place = end
            continue
        token = _TOKEN.match(text, place)
        assert token is not None  # the last alternative takes anything
        kind, place = token.lastgroup, token.end()
        if kind == "word":
            _take(now, _unquoted(token[0]), bodies)
        elif kind in ("into", "here", "from"):
            now.target = "text" if token[0] == "<<<" else kind
            now.writes = now.writes or kind == "here"
        elif kind == "inner":
            outer.append(now)
            now = _Begun(heads=False, feeds=True)
        elif kind in ("end", "pipe"):
            now.feeds = now.feeds or kind == "pipe"
            if token[0] == "\n" and bodies:
                place = _after_bodies(text, place, bodies)
                bodies = []
            found += _command(now, depth)
            is_closed = token[0] == ")" and outer
            now = outer.pop() if is_closed else _Begun(heads=kind == "end" and not outer, feeds=bool(outer))
    for begun in (now, *reversed(outer)):
        found += _command(begun, depth)
    return found


def _behind_message(text: str, place: int) -> int:
    """Return the place behind a text in quotes that begins here; 0 if none does or it has no end."""
    begun = _MESSAGE.match(text, place)
    end = text.find(f"\n{begun[2]}\n", begun.end() - 1) if begun else -1
    closed = text.find(')"', end) if end >= 0 else -1
    return closed + 2 if closed >= 0 else 0


def _take(now: _Begun, word: str, bodies: list[tuple[str, _Begun]]) -> None:
    if now.target == "here":
        bodies.append((word, now))
    elif now.target == "text":
        now.given = now.given or word
    elif now.target == "into":
        if word not in ("/dev/null", "1", "2"):
            now.writes = True
            now.into.append(word)
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
    if program in _SHELLS and depth < _DEEPEST:
        script = _script(others, begun.given)
        if script and not script.startswith(("$(", "`")):
            return _read(script, depth + 1)
        inside = [replace(one, feeds=True) for one in _read(script, depth + 1)]
        return (
            [*inside, ShellCommand((program, *others), begun.heads, begun.writes)]
            if inside
            else [_simple(begun, first)]
        )
    return [_simple(begun, first)]


def _simple(begun: _Begun, first: int) -> ShellCommand:
    program, *others = begun.words[first:]
    words = (program.rpartition("/")[2] or program, *others)
    return ShellCommand(
        words, begun.heads, begun.writes, tuple(begun.words[:first]), tuple(begun.into), begun.feeds, begun.given
    )


def _script(others: list[str], given: str) -> str:
    """Return the text that a shell runs, of its words or given to it; empty if it is a file's."""
    flag = next((n for n, word in enumerate(others[:3]) if word[:1] == "-" and word.endswith("c")), None)
    if flag is not None and flag + 1 < len(others):
        return others[flag + 1]
    return given if all(word[:1] == "-" for word in others) else ""


def _after_bodies(text: str, place: int, bodies: list[tuple[str, _Begun]]) -> int:
    """Return the place behind the texts that commands of this line are given (here-documents), and note them."""
    for ending, begun in bodies:
        start = place
        while place < len(text):
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            line, place, last = text[place:end], end + 1, place
            if line.strip("\t") == ending:
                begun.given = text[start:last]
                break
    return min(place, len(text))


def _unquoted(word: str) -> str:
    return _QUOTED.sub(_plain, word)


def _plain(found: re.Match[str]) -> str:
    single, double, escaped = found.groups()
    return _ESCAPED.sub(r"\1", double) if double is not None else single or escaped or ""
