"""Deferred tools: which of them the model can see, and which it could see at each call that it made.

Pure. A deferred tool is not shown to the model until a result in the history loads it. The providers say nothing when
that result is gone: the model just does not know the tool any more. An agent whose tools vanish in the middle of its
work is what no edit may lead to, so it is refused here.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

__all__ = ["LoadedTools", "VisibleTools"]


@dataclass(frozen=True, slots=True)
class VisibleTools:
    """The tools of a request, by name.

    Args:
        listed: Shown at once.
        deferred: Named in the request, but shown only if they are loaded.
        loaded: Loaded by a result in the history.
        is_open: Whether the model may load tools that the request does not name.
    """

    listed: frozenset[str] = field(default_factory=frozenset)
    deferred: frozenset[str] = field(default_factory=frozenset)
    loaded: frozenset[str] = field(default_factory=frozenset)
    is_open: bool = False

    @property
    def defers(self) -> bool:
        return self.is_open or bool(self.deferred)

    def hides(self, name: str) -> bool:
        """Tell whether the model does not see this tool."""
        is_shown = name in self.listed or name in self.loaded
        return not is_shown and (self.is_open or name in self.deferred)


class LoadedTools:
    """The deferred tools that an account's model could see at each of its calls.

    A call that is still in a request was made by a model that saw its tool, and certain others. As long as the request
    defers them, it must still load each one. A client that begins a new history, or lists a tool in full, is free to.
    """

    def __init__(self) -> None:
        self._seen: dict[str, frozenset[str]] = {}

    def check(self, calls: Iterable[tuple[str, str, str]], tools: VisibleTools, refuse: Callable[[str], None]) -> None:
        """Judge the calls of a request. `calls`: place, id and tool of each. `refuse`: raises `Refused` with a text."""
        if not tools.defers:
            return
        for place, id_, name in calls:
            if tools.hides(name):
                refuse(f"{place}: {name} is deferred, and nothing in the request refers to it")
            if gone := sorted(filter(tools.hides, self._seen.get(id_, ()))):
                refuse(
                    f"{place}: this call was made with deferred tools that nothing refers to any more: "
                    f"{', '.join(gone)}"
                )

    def note(self, calls: Iterable[str], tools: VisibleTools) -> None:
        """Remember which tools the model saw when it made these calls."""
        if tools.defers and tools.loaded:
            self._seen.update((call, tools.loaded) for call in calls)
