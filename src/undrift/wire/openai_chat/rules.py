"""The Chat Completions histories that OpenAI refuses: one rule, one function, the provider's words in its docstring. Pure.

Calls of the old ``function_call`` are held to none of them: what the provider demands there is not known.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.wire.form import Block, View
from undrift.wire.openai_chat.reading import is_legacy

__all__ = ["problems"]

_ROLES = ("system", "assistant", "user", "tool")


@dataclass(frozen=True, slots=True)
class _Round:
    """A message with calls and the tool messages after it: the message's number, its calls, and each result's id."""

    number: int
    calls: tuple[str, ...]
    results: tuple[tuple[int, str], ...]


def problems(views: Sequence[View], beside: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: ARG001 - of all forms
    """Say what the provider would refuse; see `Form.problems`."""
    return tuple(text for rule in _RULES for text in rule(views))


def _known_roles(views: Sequence[View]) -> Iterator[str]:
    """``Invalid value: 'model'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.``"""
    for number, view in enumerate(views):
        if view.role not in _ROLES:
            yield (
                f"messages[{number}].role: Invalid value: '{view.role}'. Supported values are: 'system', 'assistant', "
                "'user', 'function', 'tool', and 'developer'."
            )


def _content(views: Sequence[View]) -> Iterator[str]:
    """``Invalid value for 'content': expected a string, got null.`` (C3), ``Invalid 'messages[N].content': empty array. ...``

    The empty string is legal.
    """
    for number, view in enumerate(views):
        if view.blocks:
            continue
        if view.is_empty:
            yield (
                f"Invalid 'messages[{number}].content': empty array. Expected an array with minimum length 1, but got "
                "an empty array instead."
            )
        else:
            yield f"messages[{number}]: Invalid value for 'content': expected a string, got null."


def _answered(views: Sequence[View]) -> Iterator[str]:
    """``An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. ...`` (C1)."""
    for round_ in _rounds(views):
        answered = {id_ for _, id_ in round_.results}
        missing = [id_ for id_ in round_.calls if id_ not in answered]
        if missing:
            yield (
                f"messages[{round_.number}]: An assistant message with 'tool_calls' must be followed by tool messages "
                "responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
                f"{', '.join(missing)}"
            )


def _asked(views: Sequence[View]) -> Iterator[str]:
    """``Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.`` (C2)."""
    for round_ in _rounds(views):
        for number, id_ in round_.results:
            if id_ not in round_.calls:
                yield (
                    f"messages[{number}]: Invalid parameter: messages with role 'tool' must be a response to a "
                    f"preceeding message with 'tool_calls'. ({id_})"
                )


def _unique(views: Sequence[View]) -> Iterator[str]:
    """``Invalid parameter: Duplicate value for 'tool_call_id' of 'call_...', in messages[7] and messages[8].`` (C1).

    In another round the same id is another call: some models restart their numbers in each.
    """
    for round_ in _rounds(views):
        named = [(round_.number, id_) for id_ in round_.calls]
        for ids in (named, round_.results):
            first: dict[str, int] = {}
            for number, id_ in ids:
                if id_ in first:
                    yield (
                        f"Invalid parameter: Duplicate value for 'tool_call_id' of '{id_}', in messages[{first[id_]}] "
                        f"and messages[{number}]."
                    )
                first.setdefault(id_, number)


_RULES: tuple[Callable[[Sequence[View]], Iterator[str]], ...] = (_known_roles, _content, _answered, _asked, _unique)


def _rounds(views: Sequence[View]) -> Iterator[_Round]:
    """Yield each message with calls, and each run of tool messages, with the message before it."""
    asked, answers = -1, list[tuple[int, str]]()
    for number, view in enumerate(views):
        if view.role == "tool":
            answers.extend((number, id_) for id_ in _ids(view.blocks, "result"))
            continue
        yield _round(views, asked, answers)
        asked, answers = number, []
    yield _round(views, asked, answers)


def _round(views: Sequence[View], asked: int, answers: list[tuple[int, str]]) -> _Round:
    calls = _ids(views[asked].blocks, "call") if asked >= 0 else ()
    return _Round(asked, tuple(calls), tuple(answers))


def _ids(blocks: Sequence[Block], kind: str) -> list[str]:
    return [b.call_id for b in blocks if b.kind == kind and b.call_id is not None and not is_legacy(b)]
