"""Our server in a configuration that lists MCP servers by name, in JSON or TOML: put in and taken out. Pure.

As with hooks, what is put in is one piece of text and nothing else is touched; with that piece remembered, taking it out
gives the very bytes from before. A server of our name that is not ours is left alone.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from undrift.clients.hookfile import Edited
from undrift.clients.jsonedit import inserted, member_span, shown
from undrift.clients.jsontext import Node, line_end_of, parse
from undrift.errors import InputError

__all__ = ["JsonServers", "NAME", "Nested", "ServerFile", "TomlServers", "is_our_server"]

NAME = "undrift"
"""Under which our server is listed."""

_BLANK = "\ufeff \t\r\n"
_OTHERS = f"lists another server named {NAME!r}: rename that one"


def is_our_server(words: object) -> bool:
    """Tell whether these words start our server, of this version or another."""
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return False
    programs = [re.split(r"[\\/]", word)[-1].removesuffix(".exe") for word in words]
    return "undrift" in programs and "mcp" in words and any(word.startswith("--home=") for word in words)


class ServerFile(Protocol):
    """The form in which a client's file lists servers."""

    def words(self, text: str) -> list[str] | None:
        """Return the words that start our server, or None if it is not listed.

        Raises InputError: the text is malformed, or another server has our name.
        """
        ...

    def put(self, text: str, words: Sequence[str]) -> Edited:
        """Put our server into a text that does not list it; raises as `words` does."""
        ...

    def take(self, text: str, pieces: Sequence[str], containers: Sequence[str] | None) -> str:
        """Take our server out; `pieces` and `containers` as remembered from `put`, raises as `words` does."""
        ...


def _without_pieces(text: str, pieces: Sequence[str]) -> str | None:
    """The text without exactly these pieces; None if one of them is not there as it was put in."""
    for piece in reversed(pieces):
        if text.count(piece) != 1:
            return None
        text = text.replace(piece, "")
    return text if pieces else None


@dataclass(frozen=True, slots=True)
class Nested:
    """A second form of a list of servers, one object deeper; taken where a file has it already."""

    name: str
    entry: Callable[[Sequence[str]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class JsonServers:
    """A JSON file. `nested`: the form of newer versions of the client, which read the plain one too."""

    container: str
    entry: Callable[[Sequence[str]], Mapping[str, Any]]
    command: Callable[[Any], list[str] | None]
    comments: bool = False
    nested: Nested | None = None

    def words(self, text: str) -> list[str] | None:
        """See `ServerFile`."""
        if not text.strip(_BLANK):
            return None
        found = [self.command(servers.members[NAME].value) for servers in self._listing(text)]
        if not all(map(is_our_server, found)):
            raise InputError(_OTHERS)
        return found[0] if found else None

    def put(self, text: str, words: Sequence[str]) -> Edited:
        """See `ServerFile`."""
        entry = self.entry(words)
        if not text.strip(_BLANK):
            document = json.dumps({self.container: {NAME: entry}}, indent=2, ensure_ascii=False) + "\n"
            return Edited(text + document, (document,), (self.container,))
        root = self._root(text)
        servers = self._servers(root)
        if servers is None:
            part = f"{json.dumps(self.container)}: {shown({NAME: entry}, text, 1)}"
            after, piece = inserted(text, root, [part], 1)
            return Edited(after, (piece,), (self.container,))
        depth = 2
        if self.nested is not None and (inner := self._inner(servers)) is not None:
            servers, entry, depth = inner, self.nested.entry(words), 3
        after, piece = inserted(text, servers, [f"{json.dumps(NAME)}: {shown(entry, text, depth)}"], depth)
        return Edited(after, (piece,), ())

    def take(self, text: str, pieces: Sequence[str], containers: Sequence[str] | None) -> str:
        """See `ServerFile`."""
        if self.words(text) is None:
            return text
        exact = _without_pieces(text, pieces)
        if exact is not None and (not exact.strip(_BLANK) or self._is_whole(exact, text)):
            return exact
        while listing := self._listing(text):
            start, end = member_span(listing[0], NAME)
            text = text[:start] + text[end:]
        root = self._root(text)
        servers = self._servers(root)
        if servers is not None and not servers.members and (containers is None or self.container in containers):
            start, end = member_span(root, self.container)
            text = text[:start] + text[end:]
        return text

    def _is_whole(self, text: str, before: str) -> bool:
        """Return whether a text is as well-formed as it was before, and does not list our server."""
        try:
            return self.words(text) is None and (not _is_plain(before) or _is_plain(text))
        except InputError:
            return False

    def _root(self, text: str) -> Node:
        root = parse(text, comments=self.comments)
        if root.kind != "object":
            raise InputError("is not a JSON object")
        return root

    def _listing(self, text: str) -> list[Node]:
        """The lists that name our server; the one that the client prefers comes first."""
        servers = self._servers(self._root(text))
        lists = [] if servers is None else [self._inner(servers), servers]
        return [one for one in lists if one is not None and NAME in one.members]

    def _inner(self, servers: Node) -> Node | None:
        """The nested list; not a server that happens to have its name, whose members are not all objects."""
        inner = servers.members.get(self.nested.name) if self.nested is not None else None
        if inner is None or inner.kind != "object" or any(one.kind != "object" for one in inner.members.values()):
            return None
        return inner

    def _servers(self, root: Node) -> Node | None:
        servers = root.members.get(self.container)
        if servers is not None and servers.kind != "object":
            raise InputError(f"keeps something else under {self.container!r}")
        return servers


def _is_plain(text: str) -> bool:
    """Return whether a text is JSON without comments and commas after the last member."""
    try:
        parse(text)
    except InputError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class TomlServers:
    """A TOML file with a table for each server."""

    container: str

    def words(self, text: str) -> list[str] | None:
        """See `ServerFile`."""
        servers = _toml(text).get(self.container, {})
        if not isinstance(servers, dict):
            raise InputError(f"keeps something else under {self.container!r}")
        entry = servers.get(NAME)
        if entry is None:
            return None
        words = _program_and_arguments(entry)
        if not is_our_server(words):
            raise InputError(_OTHERS)
        return words

    def put(self, text: str, words: Sequence[str]) -> Edited:
        """See `ServerFile`."""
        end = line_end_of(text)
        quoted = [json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f") for word in words]
        lines = [f"[{self.container}.{NAME}]", f"command = {quoted[0]}", f"args = [{', '.join(quoted[1:])}]", ""]
        before = "" if not text.strip(_BLANK) else end if text.endswith(("\n", "\r\n")) else 2 * end
        piece = before + end.join(lines)
        after = text + piece
        servers = {**_toml(text).get(self.container, {}), NAME: {"command": words[0], "args": list(words[1:])}}
        try:
            is_right = _toml(after) == {**_toml(text), self.container: servers}
        except InputError:
            is_right = False
        if not is_right:
            raise InputError(f"its {self.container!r} is written so that nothing can be added behind it")
        return Edited(after, (piece,), ())

    def take(self, text: str, pieces: Sequence[str], containers: Sequence[str] | None) -> str:  # noqa: ARG002 - one form for both
        """See `ServerFile`."""
        if self.words(text) is None:
            return text
        exact = _without_pieces(text, pieces)
        header = (
            rf"(?:\r?\n)?^\[{self.container}\.{NAME}(?:\.[^\]\n]*)?\][^\n]*\n?(?:(?!\[)[^\n]*(?:\n|\Z))*?(?=^\[|\Z)"
        )
        found = exact if exact is not None else re.sub(header, "", text, flags=re.MULTILINE)
        wanted = _toml(text)
        del wanted[self.container][NAME]
        if not wanted[self.container]:
            del wanted[self.container]
        left = _toml(found)
        if not left.get(self.container, True):
            del left[self.container]
        if left != wanted:
            raise InputError(f"lists {NAME!r} in a way that undrift does not write: take it out yourself")
        return found


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"is not valid TOML: {error}") from error


def _program_and_arguments(entry: Any) -> list[str] | None:
    """The words of an entry with ``command`` and ``args``."""
    if not isinstance(entry, dict) or not isinstance(entry.get("args", []), list):
        return None
    return [entry.get("command"), *entry.get("args", [])]
