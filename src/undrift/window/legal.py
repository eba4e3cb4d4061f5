"""The last step of a turn that its provider would take. No I/O.

Law: a step that the provider would refuse is not sent; the one before it is, down to the window before the turn.
"""

from collections.abc import Sequence
from typing import Any

from undrift.core.window import check
from undrift.core.window.notes import notes
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window
from undrift.window.conversation import Conversation
from undrift.window.render import Renderer
from undrift.window.request import Request

__all__ = ["last_legal", "problem_of"]


def last_legal(
    steps: Sequence[Window], turn: Turn, conversation: Conversation, renderer: Renderer, request: Request
) -> tuple[Window, list[Any] | None, str]:
    """Return the last legal step, its items, and why later steps are refused; no items if all steps are refused."""
    first_refusal = ""
    last = len(steps) - 1
    for number in range(last, -1, -1):
        window = steps[number]
        if 0 < number < last:
            if window is steps[number + 1]:
                continue
            window = notes(window, turn)  # its text names the removed entries, which are fewer by now
        items = renderer.render(window, request)
        refused = problem_of(window, conversation, renderer, request)
        if not refused:
            return window, items, first_refusal
        first_refusal = first_refusal or refused
    return steps[0], None, first_refusal


def problem_of(window: Window, conversation: Conversation, renderer: Renderer, request: Request) -> str:
    """Return the first fault that an edit added to the history; empty if there is none."""
    if not window.sent or (window.was_checked and not window.new):
        return ""
    before = [e for item in window.looked_at for e in item.entries if not window.is_absorbed(e)]
    left = (pair_id for item in window.gone_unseen.values() for pair_id in item.pairs)
    if broken := check.problems(before, window.entries, left):
        return broken[0]
    form, fields = conversation.form, request.fields
    refused = form.problems(renderer.views(window), fields)
    found = check.added(refused, form.problems(conversation.views, fields)) if refused else ()
    return found[0] if found else ""
