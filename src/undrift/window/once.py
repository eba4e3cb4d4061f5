"""One history made to fit, once: `undrift.trim`. No I/O.

Law: the same passes, rendering and checks as a session's turn, with no past and nothing written. So no text that leaves
can be recalled, and none that stays says so.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from undrift.core.cost import Prices
from undrift.core.text.tokens import estimate
from undrift.core.window.low_water import Cache
from undrift.core.window.plan import decided
from undrift.core.window.thinking import opens_with_thinking
from undrift.core.window.turn import Binding, Room, Rules, Tools, Turn
from undrift.core.window.window import Window
from undrift.errors import InputError
from undrift.settings import Settings
from undrift.settings.model_table import lookup
from undrift.values.shown import many, number, quoted, saved
from undrift.window.conversation import Conversation
from undrift.window.decisions import Decisions
from undrift.window.legal import last_legal
from undrift.window.render import Renderer
from undrift.window.request import Request
from undrift.wire.form import Form
from undrift.wire.forms import form_of
from undrift.wire.offered import Offered

__all__ = ["LeftBlock", "Trimmed", "trim"]

M = TypeVar("M")

_VENDORS = {"anthropic": "claude", "openai-chat": "gpt", "openai-responses": "gpt", "gemini": "gemini"}
"""The vendor of each wire, as the table of models names it: a name without a version has the careful figures."""

_ANY_TOOL = Offered({}, loads_others=True)
"""The tools are not known, so each one may be deferred: a result that loads one stays."""


@dataclass(frozen=True, slots=True, repr=False)
class LeftBlock:
    """A block of which all or a part left, with its whole text.

    Args:
        kind: ``pruned`` (left whole), ``cut`` (middle of a long paste left), ``trimmed`` (lines of a result left) or
            ``folded`` (noise of a result left).
        number: The message that held it, from 0, in the list that was given.
        reason: One sentence for a human.
        tokens_saved: What it frees.
        text: The text as it was: of a call its arguments.
    """

    kind: Literal["pruned", "cut", "trimmed", "folded"]
    number: int
    reason: str
    tokens_saved: int
    text: str

    def __repr__(self) -> str:
        parts = (quoted(self.kind), f"message {number(self.number)}", saved(self.tokens_saved), quoted(self.text, 50))
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, slots=True, repr=False)
class Trimmed(Generic[M]):
    """Messages that fit a budget, and what left them; see `undrift.trim`.

    Args:
        messages: What to send: the very list that was given if nothing left.
        tokens_before: Tokens of the messages that were given.
        tokens_after: Tokens of `messages`: above the budget if what must stay does not fit it.
        left: One for each block that left or was shortened, in the order of the messages.
    """

    messages: list[M]
    tokens_before: int
    tokens_after: int
    left: tuple[LeftBlock, ...] = ()

    def __repr__(self) -> str:
        size = f"{number(self.tokens_before)} -> {many(self.tokens_after, 'token')}"
        return f"{type(self).__name__}({size}, {many(len(self.messages), 'message')}, {number(len(self.left))} left)"


def trim(messages: list[M], budget_tokens: int, *, wire: str = "anthropic") -> Trimmed[M]:
    """Return the messages that fit a budget: one call, without a session, a store or a file.

    >>> messages = [{"role": "user", "content": "Who reads our pages?"}]
    >>> for day in range(30):
    ...     read = {"type": "tool_use", "id": f"call-{day}", "name": "Read", "input": {"path": f"{day}.log"}}
    ...     log = "\\n".join(f"{minute} GET /page-{day}-{minute}" for minute in range(100))
    ...     result = {"type": "tool_result", "tool_use_id": f"call-{day}", "content": log}
    ...     messages += [{"role": "assistant", "content": [read]}, {"role": "user", "content": [result]}]
    >>> trimmed = trim(messages, 20_000)
    >>> trimmed
    Trimmed(46,467 -> 19,975 tokens, 27 messages, 34 left)
    >>> one = trimmed.left[1]
    >>> one.kind, one.number, one.text == messages[one.number]["content"][0]["content"]
    ('pruned', 2, True)
    >>> trim(trimmed.messages, 20_000).messages is trimmed.messages  # it fits
    True

    It decides as `Session.prepare` does. The user's words, the newest five tool results and everything after the newest
    answer stay; the rest is ranked by what the agent may need. A call and its result leave together, and the messages
    stay legal for the provider. Pass the whole history each time.

    Nothing is remembered. Each call decides from the start, so the beginning of the prompt changes from turn to turn, and
    the provider writes its prompt cache again. In a loop this can cost more than to send everything. No text that left
    can be recalled later, except from `left`. `Session` keeps the beginning and every text, and counts in the provider's
    own tokens: change to it when that matters.

    Some Claude models bind their thinking to the history and refuse an edited one. `Session` adds what they need;
    docs/trim.md says how to do it here.

    Args:
        messages: The history: ``messages``, for `openai-responses` the items of ``input``, for `gemini` ``contents``. A
            list of dicts or of an SDK's objects; never changed. Messages that were not edited are the dicts that were given.
        budget_tokens: The most tokens of the messages alone, at least 1. The system prompt, the tools and the answer
            need room of their own. Tokens are estimated as the provider's newest models count them: `token_count` times
            1.6 for `anthropic` and 1.1 for `gemini`. Claude before Opus 4.7 counts a quarter less.
        wire: The provider's form: ``anthropic``, ``openai-chat``, ``openai-responses`` or ``gemini``.

    Returns:
        The messages and what left. If nothing has to leave, `messages` is the very list that was given. If what must
        stay is larger than the budget, all that may leave has left, and `tokens_after` is above it.

    Raises:
        InputError: `messages` is no list, the budget is no positive integer, or the wire is unknown.
        WireError: A message has the wrong shape; `path` leads to the place.
    """
    form = form_of(wire)
    if not isinstance(messages, list):
        hint = f": give the list in its field {form.HISTORY}" if isinstance(messages, (dict, bytes)) else ""
        raise InputError(f"messages must be a list, not {type(messages).__name__}{hint}")
    if type(budget_tokens) is not int or budget_tokens < 1:
        raise InputError(f"budget_tokens must be an integer of at least 1, not {str(budget_tokens)[:80]!r}")
    if not messages:
        return Trimmed(messages, 0, 0)
    request = Request({form.HISTORY: messages}, form)
    request.open()
    conversation = _read(form, request, ties_thinking=False)
    before = conversation.window.tokens_before
    if before <= budget_tokens:
        return Trimmed(messages, before, before)
    opens_turns = opens_with_thinking(conversation.window.entries)
    if opens_turns:
        conversation = _read(form, request, ties_thinking=True)
    turn = _turn(conversation, budget_tokens, Binding(opens_turns=opens_turns))
    steps = decided(conversation.window, turn)
    window, items, _ = last_legal(steps, turn, conversation, Renderer(conversation), request)
    if items is None or not window.sent:
        return Trimmed(messages, before, before)
    return Trimmed(items, before, window.tokens_after, _left(window))


def _read(form: Form, request: Request, *, ties_thinking: bool) -> Conversation:
    """Return the history as a conversation without decisions."""
    conversation = Conversation(form, Decisions("", (), ()), _counter(form), ties_thinking=ties_thinking)
    conversation.follow(request, 0, _ANY_TOOL)
    return conversation


def _counter(form: Form) -> Callable[[str], int]:
    """Return the counter in the tokens of the provider's newest models."""
    factor = lookup(_VENDORS[form.NAME]).token_factor
    return lambda text: math.ceil(estimate(text) * factor)


def _turn(conversation: Conversation, budget_tokens: int, binding: Binding) -> Turn:
    """Return the inputs of a first and only turn: no cache is spared, so what leaves is only what has to."""
    settings = Settings(prune_when="over_budget", prune_target_ratio=1.0)
    rules = Rules.of(settings)
    refs: Callable[[str], str] = Decisions("", (), ()).ref_of
    tools = Tools(conversation.count, refs, conversation.known, names_recall=False)
    cache = Cache(Prices(1.0, 1.0), 0, 0)
    return Turn(Room(budget_tokens, 0), rules, tools, 0, cache, binding=binding, is_aside=True)


def _left(window: Window) -> tuple[LeftBlock, ...]:
    """Return what left, in the order of the history."""
    about: dict[str, Any] = {decision.entry_id: decision for decision in window.new}
    return tuple(
        LeftBlock(one.kind, item.number, one.reason, one.tokens_saved, entry.content)
        for item in window.items
        for entry in item.entries
        if (one := about.get(entry.id)) is not None
    )
