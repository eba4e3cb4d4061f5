"""A store is a view of one scope: no record of another one is read or written through it."""

import pytest

from tests.stores.builders import Opener, add, commit, memory, original, remember
from undrift.errors import InputError, RecallError
from undrift.stores.base import Aim, Context, Mark
from undrift.stores.contract import Store
from undrift.stores.memory_values import Viewer
from undrift.values.scope import Scope

OTHERS = [Scope(organisation="o"), Scope(person="ann"), Scope(project="other")]


@pytest.mark.parametrize("other", OTHERS)
def test_two_scopes_over_one_home_do_not_see_each_other(open_store: Opener, store: Store, home, other: Scope):
    """An engine that cannot keep them apart refuses to open the second, by name."""
    mine = original("mine", "the quick fox")
    add(store, mine)
    store.add_marks("s", [Mark("a", "turn")])
    remember(store, memory("m"))
    second, refused = None, ""
    try:
        second = open_store(home, other)
    except InputError as error:
        refused = str(error)
    if second is None:
        assert repr(other) in refused
        return
    with second:
        assert second.scope == other
        assert (second.sessions(), second.operations("s"), second.newest_session()) == ((), (), None)
        assert (second.find("fox"), second.find_marks(["a"]), second.decided("s")) == ((), (), ())
        assert (second.memories.seen(Viewer("main", "s")), second.memories.by_id(["m"])) == ([], {})
        assert second.purge([Aim("memory", "s", "m"), Aim("original", "s", "mine")], lambda one: one, at_ms=1) is None
        with pytest.raises(RecallError):
            second.original(mine.ref)
        theirs = original("theirs", "the quick cat")
        second.commit(Context(other.of("s"), 1), "add", [theirs])
        assert second.original(theirs.ref) == theirs
    assert [one.ref for one in store.find("quick")] == [mine.ref]
    with pytest.raises(RecallError):
        store.original(original("theirs").ref)


def test_a_scope_says_whose_a_store_is_and_of_which_session_a_commit(store: Store):
    assert store.scope == Scope()
    assert store.scope.of("s") == Scope("s")
    commit(store, "s", "note", at_ms=1)
    with pytest.raises(InputError):
        store.commit(Context(store.scope, 1), "note")
