"""The parts of a server, without any protocol package: tools, prompts, resources, and the context of a call. Pure.

Law: content blocks, resources and messages are mappings in the protocol's own JSON, so that a server only passes them on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from undrift.errors import InputError

__all__ = [
    "Answer",
    "Json",
    "PromptTemplate",
    "ResourcePage",
    "Resources",
    "Stopped",
    "Surface",
    "Tool",
    "ToolArguments",
    "Unknown",
    "text_block",
]

Json = Mapping[str, Any]


class Stopped(Exception):
    """The client cancelled the call and no longer waits for the answer."""


class Unknown(InputError):
    """The resource or prompt does not exist."""


def text_block(text: str) -> Json:
    """Return a text as a content block."""
    return {"type": "text", "text": text}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a tool. `is_error`: whether the call was refused; the text says what to do."""

    blocks: tuple[Json, ...]
    structured: Json | None = field(default=None, hash=False)
    is_error: bool = False

    @classmethod
    def of(cls, text: str, structured: Json | None = None) -> "Answer":
        """Return an answer with one text."""
        return cls((text_block(text),), structured)

    @classmethod
    def of_data(cls, data: str, note: str = "", **structured: Any) -> "Answer":
        """Return recorded text and our remark about it, as text and as structured data: clients show only one."""
        said = {"note": note} if note else {}
        return cls((text_block("\n".join(filter(None, (data, note)))),), {"data": data, **structured, **said})

    @classmethod
    def refused(cls, text: str) -> "Answer":
        """Return an answer that tells the model why nothing was done, and what to do."""
        return cls((text_block(text),), None, is_error=True)


@dataclass(frozen=True, slots=True)
class ToolArguments:
    """The arguments and the context of one tool call.

    `progress`: called with the done part, the whole (None if it is not known) and a word on it.
    """

    arguments: Json = field(default_factory=dict, hash=False)
    session: str = ""
    progress: Callable[[float, float | None, str], None] = lambda _done, _all, _what: None
    stopped: Callable[[], bool] = lambda: False

    def check(self) -> None:
        """Continue only if the client still waits for the answer. Raises Stopped: the client has cancelled the call."""
        if self.stopped():
            raise Stopped

    def step(self, done: float, whole: float | None = None, what: str = "") -> None:
        """Report the progress of a long call. Raises Stopped: the client has cancelled it."""
        self.check()
        self.progress(done, whole, what)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its name, description and schema, and the function that answers a call.

    Args:
        description: The text that it reads before; every word is paid for on every turn.
        run: Does the work; the model reads the text of any `UndriftError` that it raises.
    """

    name: str
    description: str
    input_schema: Json = field(hash=False)
    run: Callable[[ToolArguments], Answer] = field(hash=False)
    output_schema: Json | None = field(default=None, hash=False)
    annotations: Json | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt that a user can choose. `arguments`: each in the protocol's JSON."""

    name: str
    description: str
    run: Callable[[ToolArguments], Sequence[Json]] = field(hash=False)
    arguments: tuple[Json, ...] = field(default=(), hash=False)


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """One page of resources, and the cursor of the next page; empty at the end."""

    resources: tuple[Json, ...] = field(hash=False)
    cursor: str = ""


class Resources(Protocol):
    """The resources that a client can list and read by address."""

    def page(self, cursor: str, call: ToolArguments) -> ResourcePage:
        """Return one page of the resources; an empty cursor means the first page.

        Raises InputError: the cursor is none of ours.
        """
        ...

    def templates(self) -> Sequence[Json]:
        """Return the URI templates of all addresses."""
        ...

    def read(self, uri: str, call: ToolArguments) -> Sequence[Json]:
        """Return the contents of one resource. Raises Unknown: there is no such resource."""
        ...


@dataclass(frozen=True, slots=True)
class Surface:
    """Everything that a server offers.

    Args:
        meet: Called before each call with the client's name, and the folder that it works in; empty if it does not say.
        wants_folder: Whether that folder counts.
    """

    name: str
    version: str
    instructions: str
    tools: tuple[Tool, ...]
    prompts: tuple[PromptTemplate, ...]
    resources: Resources
    meet: Callable[[str, str], None] = lambda _client, _folder: None
    wants_folder: bool = False
