"""`session.memory` and `session.timeline`: the same methods as the session's, each with its words in one place."""

import inspect
from typing import Any

import pytest

from tests.builders import opened
from undrift.errors import StoreError
from undrift.session.memory import SessionMemory
from undrift.session.rewind import Timeline
from undrift.session.session import Session

INSIDE = {"seq_of"}  # what facets ask of each other
ON_THE_FACET = {"edit", "forget", "learn", "take_in", "warnings"}  # their names need `memory` before them
FACETS = {"memory": SessionMemory, "timeline": Timeline}
METHODS = [
    (facet, name)
    for facet, kind in FACETS.items()
    for name in sorted(vars(kind))
    if not name.startswith("_") and name not in INSIDE
]


@pytest.mark.parametrize(("facet", "name"), [one for one in METHODS if one[1] not in ON_THE_FACET])
def test_each_method_of_a_facet_is_one_of_the_session_with_the_same_signature_and_words(facet: str, name: str):
    own, facets = getattr(Session, name), getattr(FACETS[facet], name)
    assert inspect.signature(own) == inspect.signature(facets)
    assert inspect.getdoc(own) == inspect.getdoc(facets)
    assert len(inspect.getdoc(own) or "") > 20


def test_a_facet_and_its_session_are_one_thing(tmp_path):
    with opened(tmp_path) as session:
        entry = session.memory.remember("The deploy port is 9090.", trust="user")
        assert session.memories() == session.memory.memories() == (entry,)
        seq = session.timeline.checkpoint("here")
        session.remember("The deploy port is 8080.", trust="user")
        session.timeline.rewind("here")
        assert session.memories() == (entry,)
        assert session.timeline.seq_of("here") == seq
        session.undo_rewind()
        assert len(session.memory.memories()) == 2


@pytest.mark.parametrize(("facet", "name"), METHODS)
def test_a_facet_ends_with_its_session(tmp_path, facet: str, name: str):
    session = opened(tmp_path, "run-42")
    session.close()
    use: Any = getattr(getattr(session, facet), name)
    with pytest.raises(StoreError, match="session 'run-42' is closed; open it again"):
        use()
