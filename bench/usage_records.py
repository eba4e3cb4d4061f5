"""What clients recorded of the provider's usage: the tokens of each prompt and of its answer. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.transcripts.collect import Collector
from undrift.transcripts.document import members
from undrift.transcripts.lines import decode, list_at, object_at, text_at

__all__ = ["Answer", "answers_in"]

_GATEWAYS = frozenset({"github-copilot"})  # figures of its own: at times they fall where the prompt has only grown


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the provider.

    Args:
        model: As the client names it.
        reported_tokens: The whole prompt, cached or not (WIRE A20).
        output_tokens: What the answer itself holds; None where the client recorded the figure of a stream's start.
    """

    model: str
    reported_tokens: int
    output_tokens: int | None


def answers_in(lines: Sequence[str], format_name: str) -> dict[int | str, Answer]:
    """Give the answer that each line (or, in a document, each id of a record) belongs to."""
    reader = _READERS.get(format_name)
    return dict(reader(lines)) if reader else {}


def _records(lines: Iterable[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(lines, 1):
        for record in decode(line)[0] if line.strip() else ():
            yield number, record


def _sum(record: Mapping[str, Any], *names: str) -> int:
    return sum(value for name in names if type(value := record.get(name)) is int and 0 <= value < 1 << 40)


def _claude(lines: Sequence[str]) -> Iterator[tuple[int, Answer]]:
    """A message is written in parts; the last one has the figures that count, an earlier one may have no stop reason."""
    parts: dict[str, list[int]] = {}
    found: dict[str, Answer] = {}
    for number, record in _records(lines):
        message = object_at(record, "message")
        usage = object_at(message, "usage")
        total = _sum(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        if record.get("type") != "assistant" or record.get("isApiErrorMessage") or not total:
            continue
        name = text_at(message, "id")
        parts.setdefault(name, []).append(number)
        output = _sum(usage, "output_tokens") if message.get("stop_reason") else None
        found[name] = Answer(text_at(message, "model"), total, output)
    for name, numbers in parts.items():
        yield from ((number, found[name]) for number in numbers)


def _codex(lines: Sequence[str]) -> Iterator[tuple[int, Answer]]:
    """The figures follow the answer's items, among which results may stand already; some are written twice."""
    model, begun, seen = "", 0, set[int]()
    for number, record in _records(lines):
        payload = object_at(record, "payload")
        kind = text_at(payload, "type")
        if record.get("type") == "turn_context":
            model = text_at(payload, "model") or model
        elif record.get("type") == "response_item" and not kind.endswith("_output"):
            is_answer = kind != "message" or payload.get("role") == "assistant"
            begun = begun or (number if is_answer else 0)
        elif kind == "token_count":
            info = object_at(payload, "info")
            last, total = (
                object_at(info, "last_token_usage"),
                _sum(object_at(info, "total_token_usage"), "total_tokens"),
            )
            if not _sum(last, "input_tokens") or total in seen:
                continue
            seen.add(total)
            answer = Answer(model, _sum(last, "input_tokens"), _sum(last, "output_tokens"))
            yield from ((line, answer) for line in range(begun or number, number))
            begun = 0


def _pi(lines: Sequence[str]) -> Iterator[tuple[int, Answer]]:
    for number, record in _records(lines):
        message = object_at(record, "message")
        usage = object_at(message, "usage")
        if message.get("role") == "assistant" and (total := _sum(usage, "input", "cacheRead", "cacheWrite")):
            yield number, Answer(text_at(message, "model"), total, _sum(usage, "output"))


def _opencode(lines: Sequence[str]) -> Iterator[tuple[str, Answer]]:
    for _, _, record in members(Collector("opencode"), lines, ("messages",)):
        info = object_at(record, "info") if isinstance(record, dict) else {}
        tokens = object_at(info, "tokens")
        total = _sum(tokens, "input") + _sum(object_at(tokens, "cache"), "read", "write")
        if info.get("role") == "assistant" and total and info.get("providerID") not in _GATEWAYS:
            answer = Answer(text_at(info, "modelID"), total, _sum(tokens, "output", "reasoning"))
            yield from ((text_at(part, "id"), answer) for part in list_at(record, "parts") if isinstance(part, dict))


def _gemini(lines: Sequence[str]) -> Iterator[tuple[str, Answer]]:
    for _, _, record in members(Collector("gemini-cli"), lines, ("messages",)):
        tokens = object_at(record, "tokens") if isinstance(record, dict) else {}
        if total := _sum(tokens, "input"):  # the cached ones are among them; thoughts are not sent again
            yield text_at(record, "id"), Answer(text_at(record, "model"), total, _sum(tokens, "output"))


_READERS: Mapping[str, Callable[[Sequence[str]], Iterator[tuple[int | str, Answer]]]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini-cli": _gemini,
    "opencode": _opencode,
    "pi": _pi,
}
