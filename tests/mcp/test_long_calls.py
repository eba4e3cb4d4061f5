"""Calls that take a while: every tool stops where nobody waits any more, and what is told of its progress only grows."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.mcp.builders import evicted
from tests.mcp.test_recorded_text import CALLS
from undrift import Session, Settings
from undrift.errors import StoreBusy, StoreCorrupt
from undrift.mcp.place import ServedHome
from undrift.mcp.surface import surface_of
from undrift.mcp.values import Stopped, ToolArguments

Told = list[tuple[float, float | None, str]]


def call(told: Told, arguments: dict[str, str], stop_after: int | None = None) -> ToolArguments:
    """A call that is taken back once it has told so many steps."""

    def is_stopped() -> bool:
        return stop_after is not None and len(told) >= stop_after

    return ToolArguments(arguments, "", lambda done, whole, what: told.append((done, whole, what)), is_stopped)


@pytest.fixture
def place(tmp_path: Path) -> ServedHome:
    evicted(tmp_path)
    for name in ("older", "newer"):
        with Session.open(name, home=tmp_path) as session:
            session.checkpoint("here")
    return ServedHome(tmp_path, Settings())


def history(place: ServedHome) -> int:
    with place.store() as store:
        return sum(row.operations for row in store.sessions())


def test_no_tool_works_for_a_client_that_has_taken_its_call_back(place: ServedHome):
    tools = surface_of(place, "1", "all").tools
    assert {tool.name for tool in tools} == set(CALLS)
    before = history(place)
    for tool in tools:
        for arguments in CALLS[tool.name]:
            told: Told = []
            with pytest.raises(Stopped):
                tool.run(call(told, arguments, stop_after=0))
            assert told == []
    assert history(place) == before


LONG: dict[str, dict[str, str]] = {
    "recall": {"ref": "read-files", "grep": "holds"},
    "search": {"query": "holds"},
    "facts": {},
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_call_tells_how_far_it_is_and_stops_between_its_steps(place: ServedHome, name: str):
    tool = next(one for one in surface_of(place, "1", "all").tools if one.name == name)
    whole: Told = []
    assert not tool.run(call(whole, LONG[name])).is_error
    grows(whole)
    told: Told = []
    with pytest.raises(Stopped):
        tool.run(call(told, LONG[name], stop_after=1))
    assert told == whole[:1]


def test_a_list_of_resources_tells_how_far_it_is_and_stops_between_its_steps(place: ServedHome):
    resources = surface_of(ServedHome(place.home, Settings(), session="s"), "1").resources
    whole: Told = []
    assert len(resources.page("", call(whole, {})).resources) > 3
    grows(whole)
    told: Told = []
    with pytest.raises(Stopped):
        resources.page("", call(told, {}, stop_after=1))
    assert told == whole[:1]


def test_a_change_that_waits_for_others_says_so_and_can_be_taken_back(place: ServedHome):
    def busy(times: int) -> Callable[[Session], str]:
        left = [StoreBusy("locked")] * times

        def work(_session: Session) -> str:
            if left:
                raise left.pop()
            return "done"

        return work

    told: Told = []
    assert place.change(call(told, {}), busy(2)) == "done"
    grows(told)
    with pytest.raises(Stopped):
        place.change(call([], {}, stop_after=0), busy(2))
    with pytest.raises(StoreBusy):
        place.change(call([], {}), busy(99))

    def damaged(_session: Session) -> str:
        raise StoreCorrupt("no")

    told = []
    with pytest.raises(StoreCorrupt):
        place.change(call(told, {}), damaged)
    assert told == [], "what another try cannot mend is not tried again"


def grows(told: Told) -> None:
    """Every step is further than the one before it, none further than the whole, and each says what is done."""
    assert len(told) > 1
    assert all(one[0] < other[0] for one, other in pairwise(told))
    assert all(whole is None or done <= whole for done, whole, _ in told)
    assert all(what for _, _, what in told)
