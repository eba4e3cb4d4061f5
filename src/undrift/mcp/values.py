"""What a server offers, apart from any protocol package: tools, prompts, resources, and what a call brings along. Pure.

Law: content blocks, resources and messages are mappings in the protocol's own JSON, so that whoever serves them only passes
them on.
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
    """The client takes the call back; nobody waits for its answer."""


class Unknown(InputError):
    """There is no such resource, or no such prompt."""


def text_block(text: str) -> Json:
    """Return a text as a content block."""
    return {"type": "text", "text": text}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answers.

    Args:
        blocks: Content blocks, for a model to read.
        structured: The same for a program, as the tool's output schema says.
        is_error: Whether the call was refused; the text says what to do.
    """

    blocks: tuple[Json, ...]
    structured: Json | None = field(default=None, hash=False)
    is_error: bool = False

    @classmethod
    def of(cls, text: str, structured: Json | None = None) -> "Answer":
        """Return an answer of one text."""
        return cls((text_block(text),), structured)

    @classmethod
    def of_data(cls, data: str, note: str = "", **structured: Any) -> "Answer":
        """Return recorded text and a word of ours on it: each in the text and in the structured form, as clients show a model one of the two.

        Args:
            data: In its frame; empty where there is none.
            note: What the model must know of it.
            structured: What else a program wants to know.
        """
        said = {"note": note} if note else {}
        return cls((text_block("\n".join(filter(None, (data, note)))),), {"data": data, **structured, **said})

    @classmethod
    def refused(cls, text: str) -> "Answer":
        """Return what tells the model why nothing was done, and what to do."""
        return cls((text_block(text),), None, is_error=True)


@dataclass(frozen=True, slots=True)
class ToolArguments:
    """One call as it came in.

    Args:
        arguments: As the client gave them.
        session: The session that the client names beside them; empty where it names none.
        told: Takes what is done, the whole (None where it is not known) and a word on it.
        stopped: Whether the client has taken the call back.
    """

    arguments: Json = field(default_factory=dict, hash=False)
    session: str = ""
    told: Callable[[float, float | None, str], None] = lambda _done, _all, _what: None
    stopped: Callable[[], bool] = lambda: False

    def check(self) -> None:
        """Go on only where somebody waits for the answer.

        Raises:
            Stopped: The client has taken the call back.
        """
        if self.stopped():
            raise Stopped

    def step(self, done: float, whole: float | None = None, what: str = "") -> None:
        """Say how far a long call is.

        Raises:
            Stopped: The client has taken it back.
        """
        self.check()
        self.told(done, whole, what)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool.

    Args:
        name: What a model calls.
        description: What it reads before that; every word is paid for on every turn.
        input_schema: JSON schema of an object.
        run: Does it; whatever it raises as an `UndriftError` is told to the model.
        output_schema: JSON schema of `Answer.structured`.
        annotations: The protocol's hints, true ones.
    """

    name: str
    description: str
    input_schema: Json = field(hash=False)
    run: Callable[[ToolArguments], Answer] = field(hash=False)
    output_schema: Json | None = field(default=None, hash=False)
    annotations: Json | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt that a user can call up.

    Args:
        name: Of it.
        description: One sentence.
        run: Makes its messages.
        arguments: Each in the protocol's JSON.
    """

    name: str
    description: str
    run: Callable[[ToolArguments], Sequence[Json]] = field(hash=False)
    arguments: tuple[Json, ...] = field(default=(), hash=False)


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """Some of the resources, and the cursor of the next page; empty where there is none."""

    resources: tuple[Json, ...] = field(hash=False)
    cursor: str = ""


class Resources(Protocol):
    """What can be read by address."""

    def page(self, cursor: str, call: ToolArguments) -> ResourcePage:
        """Return one page of what there is; the first one for an empty cursor.

        Raises:
            InputError: The cursor is none of ours.
        """
        ...

    def templates(self) -> Sequence[Json]:
        """Return the forms of all addresses."""
        ...

    def read(self, uri: str, call: ToolArguments) -> Sequence[Json]:
        """Return the contents of one.

        Raises:
            Unknown: There is no such resource.
        """
        ...


@dataclass(frozen=True, slots=True)
class Surface:
    """All that a server offers.

    Args:
        name: Of the server.
        version: Of it.
        instructions: What a client tells its model about it.
        tools: In the order of the list.
        prompts: Likewise.
        resources: What can be read.
        meet: Told the name of the client before each of its calls.
    """

    name: str
    version: str
    instructions: str
    tools: tuple[Tool, ...]
    prompts: tuple[PromptTemplate, ...]
    resources: Resources
    meet: Callable[[str], None] = lambda _client: None
