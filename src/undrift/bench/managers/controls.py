"""Managers that must fail, and the plain tail that they are held against. If one of them does well, the measure is wrong."""

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from undrift.bench.managers import Fit, Message, WindowManager
from undrift.bench.sessions import Case
from undrift.core.text.references import references_in

__all__ = ["BAG", "ECHO", "SOUP", "TAIL"]

_BAG_SHARE = 0.1


def _echo(_: Case) -> Fit:
    """Keep everything: it must be over the budget."""
    return lambda messages, _: messages


def _soup(case: Case) -> Fit:
    """Keep random messages: it must break calls from their results."""

    def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:
        sizes = [case.size_of([message]) for message in messages]
        if sum(sizes) <= budget_tokens:
            return list(messages)
        places = list(range(len(messages)))
        random.Random(len(messages)).shuffle(places)
        kept, left = set(), budget_tokens
        for place in places:
            if sizes[place] <= left:
                kept.add(place)
                left -= sizes[place]
        return [message for place, message in enumerate(messages) if place in kept]

    return fit


def _tail(case: Case) -> Fit:
    """Keep the first message and the newest that fit, from an answer of the agent on."""
    sizes: list[int] = []

    def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:
        sizes.extend(case.size_of([message]) for message in messages[len(sizes) :])
        size = sum(sizes[: len(messages)])
        start = 1
        while size > budget_tokens and start < len(messages) - 1:
            size -= sizes[start] + sizes[start + 1]  # an answer, and the results of its calls
            start += 2
        return [messages[0], *messages[start:]]

    return fit


def _bag(case: Case) -> Fit:
    """Keep a tail of nine tenths, and a list of the names that left: it must hold no more than the tail."""
    tail = _tail(case)
    names: dict[str, None] = {}
    seen = 0

    def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:
        nonlocal seen
        for message in messages[seen:]:
            for text, _ in case.texts.of_message(message):
                for kind, name in sorted(references_in(text)):
                    if kind == "identifier":
                        names.pop(name, None)
                        names[name] = None
        seen = len(messages)
        kept = list(tail(messages, int(budget_tokens * (1 - _BAG_SHARE))))
        if len(kept) == len(messages):
            return kept
        left, bag = budget_tokens * _BAG_SHARE * 4, []
        for name in reversed(names):
            if left < len(name) + 1:
                break
            bag.append(name)
            left -= len(name) + 1
        first = {**kept[0], "content": [*kept[0]["content"], {"type": "text", "text": " ".join(bag)}]}
        return [first, *kept[1:]]

    return fit


def _start(case: Case, *, make: Callable[[Case], Fit]) -> AbstractContextManager[Fit]:
    return nullcontext(make(case))


ECHO = WindowManager("control: echo", "", "", "everything is kept", partial(_start, make=_echo))
SOUP = WindowManager("control: soup", "", "", "random messages are kept", partial(_start, make=_soup))
TAIL = WindowManager("plain tail", "", "", "the first message and the newest that fit", partial(_start, make=_tail))
BAG = WindowManager(
    "control: bag of names",
    "",
    "",
    "a tail of nine tenths, and a list of the names that left",
    partial(_start, make=_bag),
)
