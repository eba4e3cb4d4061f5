"""The histories that Gemini refuses: one rule, one function, the provider's words in its docstring. Pure.

Which signature belongs to which call the provider alone knows; that is kept by never altering a part.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from undrift.wire.form import Block, Kind, View

__all__ = ["problems"]


def problems(views: Sequence[View], beside: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: ARG001 - the interface of all forms
    """Say what the provider would refuse; see `Form.problems`."""
    return tuple(text for rule in _RULES for text in rule(views))


def _parts(views: Sequence[View]) -> Iterator[str]:
    """``* GenerateContentRequest.contents[N].parts: contents.parts must not be empty.``"""
    for number, view in enumerate(views):
        if not view.blocks:
            yield f"* GenerateContentRequest.contents[{number}].parts: contents.parts must not be empty."


def _first(views: Sequence[View]) -> Iterator[str]:
    """``Please ensure that multiturn requests alternate between user and model.``: the user speaks first."""
    if views and views[0].role == "assistant" and not _of(views[0], "call"):
        yield "Please ensure that multiturn requests alternate between user and model."


def _mixed(views: Sequence[View]) -> Iterator[str]:
    """``Please ensure that function call turn contains at least one function_call part which can not be mixed ...`` (G3)."""
    for view in views:
        calls, results = _of(view, "call"), _of(view, "result")
        if (calls and (results or view.role != "assistant")) or (results and view.role == "assistant"):
            yield (
                "Please ensure that function call turn contains at least one function_call part which can not be mixed "
                "with function_response parts."
            )


def _behind_the_user(views: Sequence[View]) -> Iterator[str]:
    """``Please ensure that function call turn comes immediately after a user turn or after ...`` (G5)."""
    for number, view in enumerate(views):
        if _of(view, "call") and (not number or views[number - 1].role == "assistant"):
            yield (
                "Please ensure that function call turn comes immediately after a user turn or after a function response "
                "turn."
            )


def _answered(views: Sequence[View]) -> Iterator[str]:
    """``Please ensure that the number of function response parts is equal to the number of function call parts ...`` (G4).

    And if nothing was called: ``Please ensure that function response turn comes immediately after a function call turn.``
    """
    called = 0
    for view in views:
        responses = len(_of(view, "result"))
        if responses and not called:
            yield "Please ensure that function response turn comes immediately after a function call turn."
        elif responses != called:
            yield _NUMBER
        called = len(_of(view, "call"))
    if called:
        yield _NUMBER


def _signed(views: Sequence[View]) -> Iterator[str]:
    """``Function call `NAME` in the `N.` content block is missing a `thought_signature`.`` (G1).

    It is asked of the first call of each content of the current turn, which begins at the newest content of the user
    that is more than responses; and only by models that sign, which shows in the history.
    """
    if not any(block.is_signed for view in views for block in _of(view, "call")):
        return
    begins = (number for number in range(len(views) - 1, -1, -1) if _begins_turn(views[number]))
    for number in range(next(begins, 0), len(views)):
        calls = _of(views[number], "call")
        if calls and not calls[0].is_signed:
            yield (
                f"Function call `{calls[0].tool_name}` in the `{number}.` content block is missing a `thought_signature`."
            )


_NUMBER = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
_RULES: tuple[Callable[[Sequence[View]], Iterator[str]], ...] = (
    _parts,
    _first,
    _mixed,
    _behind_the_user,
    _answered,
    _signed,
)


def _of(view: View, kind: Kind) -> list[Block]:
    return [block for block in view.blocks if block.kind == kind]


def _begins_turn(view: View) -> bool:
    return view.role != "assistant" and any(block.kind != "result" for block in view.blocks)
