"""Names a session for people: by its folder, its client and the user's first words. Pure.

Law: a name is for reading, nothing is decided by it. A client's or a tool's text is shown short, on one line, in
printable characters, its secrets masked.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from undrift.core.text.secrets import mask
from undrift.profiles import profile_of
from undrift.window.request import Request
from undrift.wire.form import Form

__all__ = ["Kind", "Name", "folder_of", "kind_of", "name_from", "name_of"]

Kind = Literal["main", "agent", "side"]
"""The kinds of a request: the conversation with the user; a sub-agent's; a side request such as one for a title. A side
request offers no tools, although its client works with tools."""

_FOLDER_CHARACTERS = 40
_CLIENT_CHARACTERS = 24
_WORDS_CHARACTERS = 60
_LOOKED_AT = 8  # items from the start: clients put environment and rules before the first words
_LOOKED_AT_CHARACTERS = 200_000
_MASKED_CHARACTERS = 2_000  # before it is cut, so that no half of a secret is left
_MOST_WRAPPERS = 16

_LATER_TOOLS = "additional_tools"
"""The type of an item that offers tools, in place of the field."""
_LOOKED_AT_FOR_TOOLS = 2  # items from the start

_FOLDER = re.compile(
    r"(?:[Ww]orking directory|[Cc]urrent directory|<cwd>|working in the directory|Workspace Directories|"
    r"AGENTS\.md instructions for)[:*\s`\"'-]{0,8}(?P<path>(?:/|~[/\\]|[A-Za-z]:[\\/])[^\n\r<>`\"'|*?]{0,400})"
)
_WRAPPER = re.compile(r"\s{0,20}<(?P<tag>[A-Za-z][A-Za-z0-9_ -]{0,40})>")
_NOT_THE_USERS = ("# AGENTS.md", "This session is being continued from", "Caveat: The messages below")


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a session.

    `folder`: the last part of the folder in which the client works; empty if it does not say.
    """

    folder: str = ""
    client: str = ""
    words: str = ""

    @property
    def place(self) -> str:
        """The folder and the client: a log may show them, because they contain none of the conversation."""
        return " · ".join(filter(None, (self.folder, self.client)))

    @property
    def text(self) -> str:
        """The whole name: folder, client and words."""
        return " · ".join(filter(None, (self.folder, self.client, self.words)))

    def as_json(self) -> dict[str, str]:
        """Return the record of the name for the store."""
        return {"name": self.text, "folder": self.folder, "client": self.client, "words": self.words}


def name_from(stored: Mapping[str, Any] | None) -> Name:
    """Read a session's name from a stored record; absent parts are empty."""
    found = stored or {}
    return Name(*(str(found.get(part, "")) for part in ("folder", "client", "words")))


def name_of(form: Form, request: Request, agent: str) -> Name:
    """Return the name of a session, from one of its requests.

    Raises WireError: one of the first items has the wrong shape.
    """
    texts = list(_texts(form, request))
    folder = next((found["path"] for _, text in texts if (found := _FOLDER.search(text))), "")
    words = next(filter(None, (_words(text) for role, text in texts if role == "user")), "")
    return Name(_base(folder), _client(agent, [text for role, text in texts if role == "system"]), words)


def folder_of(form: Form, request: Request) -> str:
    """Return the path of the folder in which a client says that it works; empty if it does not say.

    The client's own instructions come first: a user's text can hold anything. Raises WireError: as `name_of`.
    """
    texts = sorted(_texts(form, request), key=lambda one: one[0] != "system")
    path = next((found["path"] for _, text in texts if (found := _FOLDER.search(text))), "")
    return path.strip().rstrip(".,; ")


def kind_of(request: Request, agent: str, *, is_sub: bool) -> Kind:
    """Return whether an open request belongs to the main conversation, a sub-agent or a side task.

    Raises WireError: one of the first items has the wrong shape.
    """
    if is_sub:
        return "agent"
    client = profile_of(agent)
    return "main" if client is None or not client.always_tools or _offers_tools(request) else "side"


def _offers_tools(request: Request) -> bool:
    if request.has("tools"):
        return True
    first = (request.load(number) for number in range(min(_LOOKED_AT_FOR_TOOLS, request.count)))
    return any(isinstance(item, Mapping) and item.get("type") == _LATER_TOOLS for item in first)


def _texts(form: Form, request: Request) -> Iterator[tuple[str, str]]:
    """Yield the first texts of a request, each with its role: items first, because tools are long."""
    left = _LOOKED_AT_CHARACTERS
    for number in range(min(_LOOKED_AT, request.count)):
        view = form.read(request.load(number), f"{form.HISTORY}[{number}]")
        for block in view.blocks:
            if block.kind == "text" and view.role in ("system", "user") and left > 0:
                yield view.role, block.text[:left]
                left -= len(block.text)
    for text in form.beside_texts(request.fields):
        if left <= 0:
            return
        yield "system", text[:left]
        left -= len(text)


def _words(text: str) -> str:
    """Return the user's first words, without the text that the client added around them."""
    for _ in range(_MOST_WRAPPERS):
        if not (opened := _WRAPPER.match(text)):
            break
        closing = f"</{opened['tag']}>"
        end = text.find(closing, opened.end())
        if end < 0:
            return ""
        text = text[end + len(closing) :]
    text = text.lstrip()
    if text.startswith(_NOT_THE_USERS):
        return ""
    return _line(mask(text[:_MASKED_CHARACTERS]).text, _WORDS_CHARACTERS)


def _base(path: str) -> str:
    parts = re.split(r"[/\\]", path.strip().rstrip("/\\.,; "))
    return _line(parts[-1], _FOLDER_CHARACTERS)


def _client(agent: str, system_texts: list[str]) -> str:
    known = profile_of(agent, system_texts)
    return known.title if known else _line(agent.partition("/")[0].partition(" ")[0], _CLIENT_CHARACTERS)


def _line(text: str, most: int) -> str:
    """Return the beginning of a text on one line, without characters that cannot be printed."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 8 * most]).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
