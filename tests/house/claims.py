"""Claims of a text that a table of ours knows better: commands, lists of clients and formats, versions. Pure: texts in, claims out."""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence

import click

__all__ = ["commands_in", "lists_of", "refused", "versions_in"]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = ("", "sh", "bash", "console")
_SPAN = re.compile(r"`([^`\n]+)`")
_END = re.compile(r"\s+(?:#|[|<>&]).*$")
_LEAD = re.compile(r"^(?:\$ |[A-Z_]+=\S* )*")
_OPEN = re.compile(r"[A-Z<\[@{].*|\.\.\.|…")
"""A word that the reader replaces."""


def commands_in(text: str) -> Iterator[str]:
    """Yield each command line of ours in the shell blocks and code spans of a Markdown text or of a program's message."""
    for kind, block in _BLOCK.findall(text):
        for line in block.splitlines() if kind in _SHELL else ():
            bare = _LEAD.sub("", line)
            if bare.startswith("undrift "):
                yield _END.sub("", bare)
    spans = (_END.sub("", span) for span in _SPAN.findall(_BLOCK.sub("", text)))
    yield from (span for span in spans if re.match("undrift [^0-9]", span))  # a status line begins with figures


def refused(root: click.Group, line: str) -> str:
    """Return why the program would not take a command line; empty if it would, or if too much of it is a placeholder."""
    try:
        words = shlex.split(line)[1:]
    except ValueError:
        return "its quotes do not match"
    command: click.Command = root
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        word = words.pop(0)
        if _OPEN.fullmatch(word):
            return ""
        inner = command.get_command(click.Context(command), word)
        if inner is None:
            return f"there is no command {word!r}"
        command = inner
    return _refused_options(command, words) or _refused_choice(command, words)


def _refused_options(command: click.Command, words: Sequence[str]) -> str:
    """Return the first option that the command has not; all behind a client's name may be the client's own."""
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help", "-h"}
    for word in words:
        if word == "--" or (not _is_interspersed(command) and not word.startswith("-")):
            return ""
        name = word.partition("=")[0].rstrip(".,;:")
        if name.startswith("-") and name.strip("-…") and name not in known and not name.endswith("…"):
            return f"it has no option {name!r}"
    return ""


def _is_interspersed(command: click.Command) -> bool:
    return bool(command.context_settings.get("allow_interspersed_args", command.allow_interspersed_args))


def _refused_choice(command: click.Command, words: Sequence[str]) -> str:
    """Return the first plain word that is none of the words that the command's first argument takes."""
    first = next((one for one in command.params if isinstance(one, click.Argument)), None)
    if first is None or not isinstance(first.type, click.Choice) or not words or words[0].startswith("-"):
        return ""
    word = words[0]
    return "" if _OPEN.fullmatch(word) or word in first.type.choices else f"it does not take {word!r}"


def lists_of(names: Collection[str], text: str, *, least: int = 3) -> Iterator[tuple[str, ...]]:
    """Yield each list of so many of the names or more: joined by commas, slashes, bars, “or” or “and”."""
    one = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    named = rf"[`*]{{0,2}}(?<![\w-])(?:{one})(?![\w-])[`*]{{0,2}}"
    joined = r"(?:\s*[,/|]\s*(?:or\s+|and\s+)?|\s+(?:or|and)\s+)"
    for found in re.finditer(rf"{named}(?:{joined}{named}){{{least - 1},}}", text):
        yield tuple(re.findall(rf"(?<![\w-])(?:{one})(?![\w-])", found[0]))


def versions_in(title: str, text: str) -> set[str]:
    """Return the versions that a text names right behind a title, as in “Codex 0.169.0”."""
    return set(re.findall(rf"{re.escape(title)} (\d+(?:\.\d+){{2,}})", text))
