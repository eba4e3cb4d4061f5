"""One conversation as a quick start plays it: what the user asks, what the tools give, and what the program sees."""

import dataclasses
import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from undrift.testing import Say, Together, Turn, Use

__all__ = ["DESCRIPTION", "PATH_SCHEMA", "Play", "Script", "Shape", "file_text"]

DESCRIPTION = "Read one file of the project."
PATH_SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "Relative to the project."}},
    "required": ["path"],
    "additionalProperties": False,
}
_TWO_CALLS_EVERY = 5
_CHANGING = frozenset(
    {
        "encrypted_content",  # made from the whole prefix, as the signatures are
        "input_transformations",  # bound thinking that Anthropic left out, as less stands before it
        "sdk_http_response",  # holds the time
        "signature",
        "thought_signature",
        "usage",
        "usage_metadata",
    }
)
"""Fields of an answer that are others if less was sent."""


@dataclass(frozen=True, slots=True)
class Script:
    """The size of a conversation.

    Args:
        turns: Answers of the model.
        asked_every: After so many answers the model ends with a text, and the user asks again.
        lines: Of each file that the model reads.
    """

    turns: int
    asked_every: int
    lines: int

    def ends(self, *, in_one: bool) -> list[int]:
        """Return the numbers of the answers that are texts. `in_one`: the user asks only once."""
        if in_one:
            return [self.turns]
        return [number for number in range(1, self.turns + 1) if number in (self.turns, *self._asked())]

    def _asked(self) -> range:
        return range(self.asked_every, self.turns, self.asked_every)

    def model(self, shape: "Shape") -> list[Turn]:
        """Return what the model does: it reads one file after the other, at times two at once, and says so at the end."""
        ends = self.ends(in_one=shape.has_one_question)
        said = '{"part": %d, "is_read": true}' if shape.is_parsed else "Part %d is read."
        two_every = 0 if shape.has_single_calls else _TWO_CALLS_EVERY
        return [
            Say(said % number) if number in ends else _reading(number, two_every) for number in range(1, self.turns + 1)
        ]

    def questions(self, shape: "Shape") -> tuple[str, ...]:
        """Return what the user asks: one question for each text of the model."""
        ends = self.ends(in_one=shape.has_one_question)
        return tuple(f"Read the files of part {number}, one after the other ({shape})." for number in ends)


def _reading(number: int, two_every: int) -> Turn:
    first = Use("read_file", {"path": f"src/file_{number}.py"})
    second = Use("read_file", {"path": f"tests/test_{number}.py"})
    return Together((first, second)) if two_every and number % two_every == 0 else first


@dataclass(slots=True)
class Play:
    """One conversation and all that its program has seen of it.

    Args:
        questions: What the user asks.
        lines: Of each file.
        trace: What the program has seen so far.
    """

    questions: tuple[str, ...]
    lines: int
    trace: list[Any] = field(default_factory=list)

    def tool(self, name: str, given: Mapping[str, Any]) -> str:
        """Carry out a call of the model: the same text for the same path on each run, and no line twice."""
        self.trace.append(["call", name, dict(given)])
        return file_text(given["path"], self.lines)

    def see(self, thing: Any) -> None:
        """Note something that the SDK gave the program."""
        self.trace.append([type(thing).__name__, _stable(thing)])


def file_text(path: str, lines: int) -> str:
    """Return a file of the project."""
    marks = (hashlib.sha256(f"{path}:{line}".encode()).hexdigest() for line in range(lines))
    return "\n".join(f"def {mark[:8]}_{line}(value):  # {mark[8:40]}" for line, mark in enumerate(marks))


def _stable(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return _stable(value.model_dump(mode="json", warnings=False))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _stable({one.name: getattr(value, one.name) for one in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return {name: _stable(child) for name, child in value.items() if name not in _CHANGING}
    if isinstance(value, list | tuple):
        return [_stable(child) for child in value]
    return value


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to talk to a provider that an SDK documents.

    Args:
        wire: The form of its requests.
        name: For the table.
        play: Plays the whole conversation; a coroutine function for an asynchronous client.
        is_parsed: The model's texts are JSON, as the request asks for it.
        has_one_question: The conversation has one question alone.
        has_single_calls: The model makes one call at a time: google-genai puts the chunks of a stream with automatic calls
            into a content each, which Gemini refuses if two of them hold calls.
        is_held: The provider holds the history, so that nothing of it can be managed.
    """

    wire: str
    name: str
    play: Callable[[Any, Play], Any]
    is_parsed: bool = False
    has_one_question: bool = False
    has_single_calls: bool = False
    is_held: bool = False

    def __str__(self) -> str:
        return f"{self.wire}: {self.name}, {'async' if self.is_async else 'sync'}"

    @property
    def is_async(self) -> bool:
        """True if it needs the asynchronous client."""
        return inspect.iscoroutinefunction(self.play)
