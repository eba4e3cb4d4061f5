"""Thinking signatures, bound to all that came before them, and the prompt as the model reads it.

Law: knows only what it has issued itself. The digest of a conversation grows block by block, so a request costs time in
proportion to its length.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from undrift.testing.simulators.anthropic_models import reads
from undrift.testing.simulators.anthropic_rules import BINDING_BETA, drops_blocks
from undrift.testing.simulators.anthropic_shape import CheckedBlock, CheckedMessage, CheckedRequest, invalid
from undrift.testing.simulators.base import Count, canonical, mark_of
from undrift.testing.simulators.cache import LONG_MS, SHORT_MS, PromptPiece

__all__ = ["Signatures", "ThinkingReading"]


@dataclass(frozen=True, slots=True)
class _IssuedThinking:
    """The content of one signature."""

    model: str
    thinking: str
    digest: bytes
    before: str
    count: int
    calls: frozenset[str]


@dataclass(slots=True)
class ThinkingReading:
    """A request as the model reads it.

    `last`: signature of the last thinking block that the model reads; ``""`` for none.
    """

    digest: bytes = b""
    pieces: list[PromptPiece] = field(default_factory=list)
    last: str = ""
    count: int = 0
    notes: list[Mapping[str, Any]] = field(default_factory=list)


class Signatures:
    """The thinking that one account was given, and the check of it when it comes back.

    A signature covers the model, the digest of `system`, `tools` and the messages before the block (thinking and
    `cache_control` left out; the order of keys, a string for one text block, and where neighbours of one role divide
    make no difference), and the list of the thinking blocks before it that the model read. On a later request of a
    binding model a block is valid where the digest of what now stands before it is the same, and the thinking blocks
    before it that the model reads now are the end of that list. So thinking may be removed from the start, from the
    end, or as a whole; removal from the middle, or putting a block back once a later one was made without it, makes
    the later ones invalid. The blocks before it in the same answer belong to its prefix. A tool with
    `defer_loading` belongs to no prefix. A block that was dropped is not read: what the model thinks after it stays valid
    when the request comes again. The thinking of Haiku 5.5, on another model, is judged by the digest alone.

    To compare the lists takes no list: the block before has been judged by the same rule, so that its signature and the
    length of the list are enough.
    """

    def __init__(self, count: Count) -> None:
        self._count = count
        self._issued: dict[str, _IssuedThinking] = {}

    def issue(self, model: str, thinking: str, reading: ThinkingReading, calls: Sequence[str]) -> str:
        """Return the signature of new thinking that answers what was read."""
        signature = mark_of(len(self._issued), model, reading.digest, thinking)
        self._issued[signature] = _IssuedThinking(
            model, thinking, reading.digest, reading.last, reading.count, frozenset(calls)
        )
        return signature

    def read(self, request: CheckedRequest, *, binds: bool) -> ThinkingReading:
        """Read a request block by block, judging each thinking block where it stands.

        Raises Refused: a thinking block is not the one that was issued, or not in its place.
        """
        reading = ThinkingReading()
        for tool in request.tools:
            if not tool.get("defer_loading"):
                self._add(reading, b"tool:", "tool", _plain(tool), tool)
        for block in request.system:
            self._add(reading, b"system:", "text", _plain(block), block)
        settings = hashlib.sha256(_settings(request)).digest()
        reading.pieces.append(PromptPiece(settings, 0, ""))
        latest = next((group.messages for group in reversed(request.groups) if group.role == "assistant"), ())
        newest = latest[0].index if latest else len(request.messages)
        for message in request.messages:
            self._read_message(reading, request, message, binds=binds, is_latest=message.index >= newest)
        _mark_last(reading.pieces, request)
        return reading

    def _read_message(
        self,
        reading: ThinkingReading,
        request: CheckedRequest,
        message: CheckedMessage,
        *,
        binds: bool,
        is_latest: bool,
    ) -> None:
        tag = f"{message.role}:".encode()
        if message.extras:
            self._add(reading, tag, "", dict(message.extras), {})
        calls: set[str] = set()
        for block in message.blocks:
            if not block.is_thinking:
                if block.kind == "tool_use":
                    calls.add(block.value["id"])
                self._add(reading, tag, block.kind, _plain(block.value), block.value)
                continue
            issued = self._known(block, is_latest=is_latest, calls=calls)
            reason = _fault(issued, reading, request.model, binds=binds)
            if reason == "prefix_binding_mismatch" and not drops_blocks(request):
                raise _bound_elsewhere(block, request)
            if reason:
                reading.notes.append({"type": "thinking_dropped", "path": block.path, "reason": reason})
                continue
            data = canonical(_plain(block.value))
            reading.pieces.append(PromptPiece(hashlib.sha256(tag + data).digest(), self._tokens(data), block.kind))
            reading.last, reading.count = block.value["signature"], reading.count + 1

    def _add(
        self, reading: ThinkingReading, tag: bytes, kind: str, value: Mapping[str, Any], marked: Mapping[str, Any]
    ) -> None:
        """Put a block that is no thinking into both the digest and the prompt."""
        data = canonical(value)
        digest = hashlib.sha256(tag + data).digest()
        reading.digest = hashlib.sha256(reading.digest + digest).digest()
        reading.pieces.append(PromptPiece(digest, self._tokens(data), kind, _ttl_ms(marked)))

    def _tokens(self, data: bytes) -> int:
        return self._count(data.decode("utf-8"))

    def _known(self, block: CheckedBlock, *, is_latest: bool, calls: set[str]) -> _IssuedThinking:
        """The signature must have been issued for this text; in the latest answer, no block may move (rule A8).

        ``messages.N.content.M: Invalid `signature` in `thinking` block``
        """
        if block.kind == "redacted_thinking":
            raise invalid(f"{block.path}: Invalid `data` in `redacted_thinking` block", "A8")
        issued = self._issued.get(block.value["signature"])
        if issued is None:
            raise invalid(f"{block.path}: Invalid `signature` in `thinking` block", "A8")
        is_altered = issued.thinking != block.value["thinking"]
        if is_latest and (is_altered or not calls.isdisjoint(issued.calls)):
            raise invalid(
                f"{block.path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
                "modified. These blocks must remain as they were in the original response.",
                "A8",
            )
        if is_altered:
            raise invalid(f"{block.path}: Invalid `signature` in `thinking` block", "A8")
        return issued


def _fault(issued: _IssuedThinking, reading: ThinkingReading, model: str, *, binds: bool) -> str:
    """Return why the model does not read a block; ``""`` if it does. A15 comes before A10."""
    if not reads(model, issued.model):
        return "model_binding_mismatch"
    if not binds:
        return ""
    is_foreign = model != issued.model  # its list is of what another model read, which is not what this one reads
    is_end_of_list = reading.last == issued.before and reading.count <= issued.count
    is_end_of_list = is_end_of_list or is_foreign or not reading.count
    return "" if issued.digest == reading.digest and is_end_of_list else "prefix_binding_mismatch"


def _bound_elsewhere(block: CheckedBlock, request: CheckedRequest) -> Exception:
    """The text before the block must be unchanged since the block was issued (rule A10)."""
    text = (
        f"{block.path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove "
        'the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    )
    if BINDING_BETA not in request.betas:
        text += f" That setting requires the `{BINDING_BETA}` value in the `anthropic-beta` header."
    return invalid(text, "A10")


def _plain(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a block without its marker and its nulls, a tool result's text as a list of blocks."""
    kind = value.get("type")
    if kind != "tool_result" and "cache_control" not in value and None not in value.values():
        return value
    plain = {key: item for key, item in value.items() if key != "cache_control" and item is not None}
    if kind == "tool_result":
        content = plain.get("content", "")
        if isinstance(content, str):
            plain["content"] = [{"type": "text", "text": content}] if content else []
        else:
            plain["content"] = [_plain(block) for block in content]
    return plain


def _ttl_ms(value: Mapping[str, Any]) -> int | None:
    """Return how long a marker on the block, or on a block in its tool result, keeps; None without one."""
    marker = value.get("cache_control")
    if marker is None and value.get("type") == "tool_result" and isinstance(value.get("content"), list | tuple):
        within = [block["cache_control"] for block in value["content"] if block.get("cache_control") is not None]
        marker = within[-1] if within else None
    return None if marker is None else _kept_ms(marker)


def _kept_ms(marker: Mapping[str, Any]) -> int:
    return LONG_MS if marker.get("ttl") == "1h" else SHORT_MS


def _mark_last(pieces: list[PromptPiece], request: CheckedRequest) -> None:
    """Let the marker of the whole request stand on the last block that can carry one."""
    marker = request.body.get("cache_control")
    if marker is None:
        return
    for index in range(len(pieces) - 1, -1, -1):
        piece = pieces[index]
        if piece.kind not in ("thinking", ""):
            if piece.ttl_ms is None:
                pieces[index] = PromptPiece(piece.digest, piece.tokens, piece.kind, _kept_ms(marker))
            return


def _settings(request: CheckedRequest) -> bytes:
    """Return the settings whose change spoils the cache of the messages, and of nothing else."""
    thinking = {key: value for key, value in request.thinking.items() if key not in ("display", "block_binding")}
    output = request.body.get("output_config")
    effort = output.get("effort") if isinstance(output, Mapping) else None
    return canonical([request.body.get("tool_choice") or {"type": "auto"}, thinking, effort])
