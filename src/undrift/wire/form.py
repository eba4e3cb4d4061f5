"""The interface of a wire form: it reads the items of a history, and writes edited items. Pure.

A form is a module. It knows one provider's JSON and nothing of budgets; the engine knows budgets and nothing of JSON.
An item is one element of the history's array: a message, a content, an input item.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from undrift.errors import WireError
from undrift.values.window import ContextEntry, Edit, EntryType
from undrift.wire import raw
from undrift.wire.offered import Offered

__all__ = [
    "Block",
    "BlockPlace",
    "Bundle",
    "Edit",
    "Form",
    "Kind",
    "MAX_ITEMS",
    "ProviderReply",
    "Replaces",
    "ToolCall",
    "ToolResult",
    "View",
    "count_at",
    "entry_of",
    "json_or_empty",
    "json_text",
    "marker_of",
    "string_at",
    "unique_id",
]

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

Kind = Literal["text", "call", "result", "thinking", "image", "other"]

Replaces = Literal["", "all", "work"]
"""The part of the history before a provider's own compaction that it replaces."""

Bundle = Literal["", "item", "run"]
"""Parts that leave together, more than a call and its result. ``""``: none. ``item``: the calls of one item, with their
results. ``run``: the run of the model's items that begins here, with the results of its calls. On an item that is not the
model's, ``run`` says that it belongs to the run directly before it."""

MAX_ITEMS = 100_000
"""The longest history that any provider documents."""


@dataclass(frozen=True, slots=True)
class Block:
    """One parsed block of an item.

    Args:
        kind: What it is to the window. ``thinking`` stands first in its answer; reasoning that is bound to what follows
            it instead is ``other``.
        text: What `recall` gives back: its text, else its JSON.
        counted: The part of `text` that is billed as text; None if all of it is.
        is_pinned: Whether it must never leave, as a provider's own compaction.
        marker: The time to live of the cache marker on it, or None.
        loads: The tools that the model sees by it, as name and definition: it must not leave while the request defers
            one of them. The definition is empty if the request itself holds it.
        offers: The tools that it adds to those of the request.
        replaces: What the provider drops before it: everything, or the work alone, without words of user and system.
    """

    kind: Kind
    text: str
    call_id: str | None = None
    answers: bool = False
    tool_name: str | None = None
    extra_tokens: int = 0
    counted: str | None = None
    is_pinned: bool = False
    marker: str | None = None
    is_signed: bool = False
    loads: tuple[tuple[str, str], ...] = ()
    offers: Offered | None = None
    replaces: Replaces = ""


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """The place of a block: the chain id of its item, and its number in the item. Also the time when it was read: in Unix
    milliseconds and as a running number."""

    item_id: str
    number: int
    at_ms: int = 0
    seq: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """One parsed item of a history.

    `role`: ``user``, ``assistant`` (the model), ``system`` (system and developer), ``tool``, or what was given.
    """

    role: str
    blocks: tuple[Block, ...]
    bundle: Bundle = ""
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call in an answer: its id (may be empty), the tool, and the arguments as JSON text."""

    id: str
    tool_name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: the id of the call, a text for the model, and whether the call failed."""

    call_id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ProviderReply:
    """A provider's answer in a form that is the same for all providers.

    Args:
        input_tokens: All that was sent, cached or not; None if the answer has no usage.
        cached_tokens: The tokens among them that the provider read from its cache.
        written_tokens: The tokens among them that it wrote into its cache.
        output_tokens: All that the model wrote, thinking included.
        text: The text of the answer.
        calls: Its calls of tools.
        task_results: The results of its calls of the task tool, from `Session.record`; send them back.
        cache_seconds: The time for which the provider keeps its cache, in seconds; None if it does not say.
        is_promised: True: it keeps the cache at least so long; False: at most.
    """

    input_tokens: int | None = None
    cached_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int = 0
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    task_results: tuple[ToolResult, ...] = ()
    cache_seconds: int | None = None
    is_promised: bool = False


class Form(Protocol):
    """One provider's wire form; each module of `undrift.wire.forms` implements it.

    Law: pure and lossless. An untouched item is never rebuilt; an edited one keeps every field and block that no edit
    names. Bad input raises `WireError` with the path into the JSON, and nothing else.
    """

    NAME: str
    """As `Session.prepare` takes it."""

    HISTORY: str
    """The field that holds the items."""

    BESIDE: tuple[str, ...]
    """Fields beside the history that are sent with it and counted, or that the rules look at."""

    CACHED: tuple[str, ...]
    """Fields beside the history that stand before it in the provider's prompt cache: if one changes, all is written again."""

    ADJACENT: bool
    """True if a result must follow its call directly; else it is found by its id at any place."""

    def items(self, history: Any) -> list[Any]:
        """Return the items of a history, if its field allows several notations.

        Raises WireError: it is no history.
        """

    def read(self, item: Any, path: str) -> View:
        """Read one item. Raises WireError: the item has the wrong shape; the error's path begins with `path`."""

    def digest(self, item: Any) -> bytes:
        """Return 32 bytes that are equal for items with the same meaning, in any notation."""

    def edit(self, item: Any, edits: Mapping[int, Edit], appended: Sequence[str]) -> dict[str, Any] | None:
        """Return a copy of an item with `edits` by block number and texts `appended`. None means: nothing remains."""

    def user_item(self, text: str) -> dict[str, Any]:
        """Return an item in which the user says `text`."""

    def beside_texts(self, beside: Mapping[str, Any]) -> Iterator[str]:
        """Yield the texts that cost tokens next to the history: system prompt and tools."""

    def problems(self, views: Sequence[View], beside: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the reasons for which the provider would refuse this history, in its words; () if it would not."""

    def delta(self, body: Mapping[str, Any]) -> str | None:
        """Return the name of the field by which a request refers to a history at the provider; None without one."""

    def session_id(self, body: Mapping[str, Any]) -> str | None:
        """Return the session id that the client writes in the body. None means: it writes none."""

    def reply(self, answer: Mapping[str, Any]) -> ProviderReply:
        """Read an answer; absent or malformed parts keep their defaults."""


def json_text(value: Any, path: str = "") -> str:
    """Return a JSON value as compact text. Raises WireError: it is no JSON, or nested too deep."""
    return raw.encode(value, path).decode("utf-8")


def json_or_empty(value: Any) -> str:
    """Return a JSON value of an answer as compact text; empty if it is no JSON."""
    try:
        return json_text(value)
    except WireError:
        return ""


def count_at(usage: Any, name: str) -> int | None:
    """Return a number of tokens from an object. None means: it is absent or impossible."""
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if type(value) is int and 0 <= value < 2**53 else None


def marker_of(part: Mapping[str, Any]) -> str | None:
    """Return the time to live in Anthropic's cache marker; None without a marker. Other gateways accept it too.

    A time that is not known counts as the longest: a warm cache is never taken for a cold one.
    """
    marker = part.get("cache_control")
    if not isinstance(marker, Mapping):
        return None
    return "5m" if marker.get("ttl") in (None, "5m") else "1h"


def string_at(part: Mapping[str, Any], name: str, path: str) -> str:
    """Return the string in this field. Raises WireError: the field has no string."""
    value = part.get(name)
    if not isinstance(value, str):
        raise WireError(f"must be a string, not {type(value).__name__}", path=f"{path}.{name}")
    return value


def unique_id(value: Any) -> str | None:
    """Return a value if it is a UUID, because no two sessions share one; else None."""
    return value if isinstance(value, str) and _UUID.fullmatch(value) else None


def entry_of(
    block: Block, role: str, place: BlockPlace, pair_id: str | None, count: Callable[[str], int]
) -> ContextEntry:
    """Make the entry of one block. Its type is `spec` for system text, `tool_result` for a result, else `reasoning`.

    Args:
        place: The block's place; the entry's id is the item's and the number, joined by a point.
        pair_id: The id that a call and its result share, if any, or all of a bundle.
    """
    type_: EntryType = "reasoning"
    if role == "system" or block.is_pinned:
        type_ = "spec"
    elif block.kind == "result":
        type_ = "tool_result"
    metadata: dict[str, str] = {"role": role, "kind": block.kind, "message": place.item_id}
    if pair_id is not None:
        metadata["pair_id"] = pair_id
    if block.tool_name is not None:
        metadata["tool_name"] = block.tool_name
    if block.kind == "result" and (block.extra_tokens or block.counted not in (None, block.text)):
        metadata["mixed"] = "parts"  # not one plain text: it stays or leaves as a whole
    tokens = count(block.text if block.counted is None else block.counted) + block.extra_tokens
    id_ = f"{place.item_id}.{place.number}"
    return ContextEntry(id_, type_, block.text, tokens, place.at_ms, metadata, seq=place.seq)
