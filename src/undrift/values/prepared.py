"""The result of one turn: the body to send, and what was changed. Frozen."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from undrift.values.shown import many, number
from undrift.values.window import Action

__all__ = ["Prepared"]


class _Late:
    """A place for the number of actions of a `Prepared`, for what makes them, and for the entries of the new ones.

    The same for the changes whose originals are destroyed.
    """

    __slots__ = ("_late", "_late_gone")

    _late: tuple[int, Callable[[], tuple[Action, ...]], frozenset[str]]
    _late_gone: tuple[int, Callable[[], tuple[Action, ...]]]


@dataclass(frozen=True, slots=True, repr=False)
class Prepared(_Late):
    """A request body that fits the budget, and the changes that were made.

    >>> body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
    >>> with Session.open("run-2", home=home, settings=Settings(budget_tokens=60_000)) as session:
    ...     prepared = session.prepare(body)
    >>> prepared.tokens_after <= prepared.budget_tokens, prepared.actions, prepared.warnings
    (True, (), ())

    Args:
        body: What to send: the type that was given, and the very same object when nothing changed.
        tokens_before: Tokens of the request as the client sent it, system and tools included.
        tokens_after: Tokens of the body to send, counted the same way.
        budget_tokens: The active budget.
        actions: One per block that left or changed, re-applied ones included, in the order of the window. Each can be
            recalled.
        headers: HTTP headers that must go with the edited body.
        warnings: Sentences for a human; empty when all is well.
        new: What left on this turn: those of `actions` that were decided now, in the same order. Pins and notes are not
            among them, nor decisions of another process or of the session from which this one was forked. It does not count for equality, because a
            retry finds everything decided.
        gone: The blocks that left and whose originals were destroyed since, by `Session.purge` or a sweep. The `kind` is
            ``purged`` or ``swept``, the `reason` says when.
    """

    body: Any
    tokens_before: int
    tokens_after: int
    budget_tokens: int
    actions: tuple[Action, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    new: tuple[Action, ...] = field(default=(), compare=False)
    gone: tuple[Action, ...] = ()

    def telling(
        self,
        count: int,
        make: Callable[[], tuple[Action, ...]],
        decided: Iterable[str] = (),
        destroyed: tuple[int, Callable[[], tuple[Action, ...]]] = (0, tuple),
    ) -> "Prepared":
        """Return this value with functions that compute its actions on first use: a long session has 10,000.

        `decided`: the ids of the entries about which this turn decided. `destroyed`: how many originals are, and a
        function that computes their actions.
        """
        for name in ("actions", "new", "gone"):
            object.__delattr__(self, name)
        object.__setattr__(self, "_late", (count, make, frozenset(decided)))
        object.__setattr__(self, "_late_gone", destroyed)
        return self

    @property
    def action_count(self) -> int:
        """The number of actions, without computing them."""
        late = getattr(self, "_late", None)
        return len(self.actions) if late is None else late[0]

    @property
    def _new_count(self) -> int:
        """The number of new actions, without computing them."""
        late = getattr(self, "_late", None)
        return len(self.new) if late is None else len(late[2])

    @property
    def _gone_count(self) -> int:
        """The number of destroyed originals, without computing their actions."""
        late = getattr(self, "_late_gone", None)
        return len(self.gone) if late is None else late[0]

    def __repr__(self) -> str:
        size = many(self.budget_tokens, "token")
        if self.tokens_before != self.tokens_after:
            size = f"{number(self.tokens_before)} -> {number(self.tokens_after)} of {size}"
        else:
            size = f"{number(self.tokens_after)} of {size}"
        parts = [size, many(self.action_count, "action"), f"{number(self._new_count)} new"]
        parts += [f"{number(self._gone_count)} gone"] if self._gone_count else []
        parts += [many(len(self.warnings), "warning")] if self.warnings else []
        return f"{type(self).__name__}({', '.join(parts)})"

    def __getattr__(self, name: str) -> tuple[Action, ...]:
        if name not in ("actions", "new", "gone"):
            raise AttributeError(name)
        _, make, decided = self._late
        if name == "gone":
            made = self._late_gone[1]()
        elif name == "actions":
            made = make()
        else:
            made = tuple(one for one in self.actions if one.entry_id in decided) if decided else ()
        object.__setattr__(self, name, made)
        return made
