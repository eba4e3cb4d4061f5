"""The answers of a scripted provider, and the requests that it got. Pure."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from undrift.profiles import PROFILES, ClientTool
from undrift.profiles import Kind as ToolKind
from undrift.testing.simulators import Bill, Call, ModelTurn

__all__ = [
    "Follow",
    "Kind",
    "Read",
    "Say",
    "Seen",
    "Shell",
    "Together",
    "Turn",
    "Use",
    "answer_to",
    "filled",
    "kind_of",
    "texts_of",
]

Kind = Literal["main", "summary", "side"]

_SUMMARY_WORDS = (
    "CRITICAL: Respond with TEXT ONLY",  # Claude Code
    "CONTEXT CHECKPOINT COMPACTION",  # Codex
    "create a detailed summary of the conversation",
    "the component that summarizes a conversation",  # Qwen Code, which asks again in other words
    "produce the <state_snapshot> XML",
    "Create a handoff summary for the",  # Kimi Code
    "concise summary of our conversation so far",  # Continue
)


@dataclass(frozen=True, slots=True)
class Say:
    """A final text: the client's turn ends."""

    text: str


@dataclass(frozen=True, slots=True)
class Shell:
    """One call of the client's shell, under any name."""

    command: str


@dataclass(frozen=True, slots=True)
class Read:
    """One call that reads a file: by the client's own tool if it has one, else by its shell.

    `path`: absolute, as Claude Code wants it.
    """

    path: str


@dataclass(frozen=True, slots=True)
class Use:
    """One call of a tool by its name; for OpenAI Responses ``group.name`` is a tool of a group.

    `text`: the input of a tool that takes text in place of arguments.
    """

    tool: str
    given: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Together:
    """Several calls in one answer."""

    turns: tuple[Shell | Read | Use, ...]


@dataclass(frozen=True, slots=True)
class Follow:
    """The answer of a model that acts on what it reads: `decide` makes it from all text of the request."""

    decide: Callable[[str], "Turn"]


Turn = Say | Shell | Read | Use | Together | Follow
"""One answer of the model."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One request that came in.

    Args:
        kind: ``main`` (took a turn of the script), ``summary`` (a compaction), ``side`` (a title, a count, a probe).
        headers: By lower-case name, keys and cookies left out.
        raw: The bytes of the body, without their content coding.
        refused: The provider's words; empty if it accepted the request.
        bill: What the answer costs; empty where nothing is billed.
        at_ms: The provider's time, in Unix milliseconds; None if it has no clock.
    """

    kind: Kind
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes = field(default=b"", repr=False)
    refused: str = ""
    bill: Bill = field(default_factory=Bill)
    at_ms: int | None = None

    @property
    def text(self) -> str:
        """Every text in the body, one after the other."""
        return "\n".join(texts_of(self.body))


def texts_of(value: Any) -> Iterator[str]:
    """Yield every string in a JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for child in value.values():
            yield from texts_of(child)
    elif isinstance(value, list):
        for child in value:
            yield from texts_of(child)


def kind_of(messages: Sequence[Any], tools: Mapping[str, Any]) -> Kind:
    """Tell a compaction's request and a side request from one of the session."""
    said = [one for one in messages if not (isinstance(one, Mapping) and one.get("role") == "system")]
    newest = json.dumps(said[-1], ensure_ascii=False) if said else ""  # Claude Code adds a count of tokens behind it
    if any(words in newest for words in _SUMMARY_WORDS):
        return "summary"
    return "main" if tools else "side"


def answer_to(turn: Turn, tools: Mapping[str, Any], body: Any = None) -> ModelTurn:
    """Put a turn into the words of the client's own tools. `body`: the request."""
    if isinstance(turn, Follow):
        return answer_to(turn.decide("\n".join(texts_of(body))), tools, body)
    if isinstance(turn, Say):
        return ModelTurn(turn.text)
    if isinstance(turn, Together):
        answers = [answer_to(one, tools) for one in turn.turns]
        return ModelTurn("".join(one.text for one in answers), tuple(call for one in answers for call in one.calls))
    if isinstance(turn, Use):
        return ModelTurn(calls=(Call(turn.tool, turn.given, turn.text),))
    if isinstance(turn, Read) and (reader := _offered(tools, "read")):
        return ModelTurn(calls=(Call(reader.name, {reader.path: turn.path}),))
    command = turn.command if isinstance(turn, Shell) else f"cat '{turn.path}'"
    if known := _offered(tools, "shell"):
        return ModelTurn(calls=(_shell_call(known, tools[known.name] or {}, command),))
    return ModelTurn(f"(the client has no shell for: {command})")


def _offered(tools: Mapping[str, Any], kind: ToolKind) -> ClientTool | None:
    """Return the first tool of a kind that a profile knows and the request offers."""
    known = (tool for profile in PROFILES.values() for tool in profile.tools if tool.kind == kind)
    return next((tool for tool in known if tool.name in tools and (tool.path or tool.command or tool.code)), None)


def _shell_call(tool: ClientTool, schema: Mapping[str, Any], command: str) -> Call:
    if tool.code:
        shells = (one for profile in PROFILES.values() if tool in profile.tools for one in profile.tools if one.command)
        shell = next(shells)
        asked = json.dumps({shell.command: command})
        return Call(tool.name, text=f"const r = await tools.{shell.name}({asked}); text(r.output);")
    properties = schema.get("properties", {})
    wants_list = properties.get(tool.command, {}).get("type") == "array"
    given: dict[str, Any] = {tool.command: ["bash", "-lc", command] if wants_list else command}
    if "description" in properties:
        given["description"] = "a step of the script"
    return Call(tool.name, given)


def filled(schema: Any) -> Any:
    """Return the least value that a JSON schema allows, as far as a scripted answer needs it."""
    given = schema if isinstance(schema, Mapping) else {}
    if given.get("enum"):
        return given["enum"][0]
    kind = given.get("type")
    kind = str(kind[0] if isinstance(kind, list) else kind).lower()
    if kind == "object":
        known = given.get("properties") or {}
        return {name: filled(known.get(name)) for name in given.get("required") or ()}
    return {"integer": 1, "number": 1, "boolean": True, "array": []}.get(kind, "ok")
