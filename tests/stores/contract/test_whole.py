"""A store answers the whole contract: each name of it, for its own scope, until it is closed."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import commit
from undrift.errors import InputError, StoreError
from undrift.stores.base import Aim, Context
from undrift.stores.contract import Store
from undrift.stores.memory_values import Viewer
from undrift.stores.opening import Engine
from undrift.values.scope import Scope

ME = Viewer("main", "s")


def promised(protocol: type) -> dict[str, Any]:
    """Every public name of a protocol and of those that it is made of."""
    return {
        name: value
        for one in protocol.__mro__
        if getattr(one, "_is_protocol", False)
        for name, value in vars(one).items()
        if not name.startswith("_") or name in ("__enter__", "__exit__")
    }


def takes(method: Any, promise: Any) -> bool:
    """Tell whether a method takes what is promised, by the same names, and may do without what may be left out."""
    given, wanted = (
        [one for one in inspect.signature(of).parameters.values() if one.name != "self"] for of in (method, promise)
    )
    needed = {one.name for one in given if one.default is inspect.Parameter.empty}
    optional = {one.name for one in wanted if one.default is not inspect.Parameter.empty}
    return [(one.name, one.kind) for one in given] == [(one.name, one.kind) for one in wanted] and not needed & optional


@pytest.mark.parametrize("protocol", [Store, Engine])
def test_every_name_of_the_contract_is_there_and_takes_what_it_says(store: Store, engine: Engine, protocol: type):
    names = promised(protocol)
    assert len(names) >= 5
    answering: Any = store if protocol is Store else engine
    for name, value in names.items():
        assert hasattr(answering, name), name
        if inspect.isfunction(value) and not name.startswith("_"):
            assert takes(getattr(answering, name), value), name


def test_a_store_tells_its_scope_and_takes_no_other(store: Store):
    assert store.scope == Scope()
    with pytest.raises(InputError, match="opened for"):
        store.rewind(Context(Scope("s", person="ann"), 1), 0, "rewind", payload={"to": 0})
    assert store.sessions() == ()


def test_what_is_not_there_is_only_opened_to_be_made(engine: Engine, home: Path):
    assert not engine.is_there(home)
    with pytest.raises(StoreError):
        engine.open(home, Scope(), create=False)
    assert not engine.is_there(home)
    engine.open(home, Scope()).close()
    assert engine.is_there(home)
    with engine.open(home, Scope(), create=False) as again:
        assert again.sessions() == ()
    assert engine.written_ns(home) >= 0


def uses(store: Store) -> dict[str, Callable[[], object]]:
    """A call of everything that reads or writes."""
    memories, search = store.memories, store.search_memories()
    context = Context(Scope("s"), 1)

    def documents() -> None:
        with store.documents("s"):
            pass

    def searched() -> None:
        with search.open():
            pass

    return {
        "commit": lambda: store.commit(context, "x"),
        "rewind": lambda: store.rewind(context, 0, "rewind", payload={"to": 0}),
        "rewind_facts": lambda: store.rewind_facts("s", 0, at_ms=1),
        "purge": lambda: store.purge([Aim("session", "s")], lambda one: one, at_ms=1),
        "sweepable": lambda: store.sweepable(),
        "sweep": lambda: store.sweep("s", lambda one: one, at_ms=1),
        "change_documents": lambda: store.change_documents("s", lambda _: None, at_ms=1, payload={}),
        "add_marks": lambda: store.add_marks("s", []),
        "find_marks": lambda: store.find_marks([]),
        "operations": lambda: store.operations("s"),
        "last_seq": lambda: store.last_seq("s"),
        "original": lambda: store.original("x"),
        "by_entry": lambda: store.by_entry("s", "x"),
        "buffer": lambda: store.buffer("s"),
        "pins": lambda: store.pins("s"),
        "find": lambda: store.find("x"),
        "decided": lambda: store.decided("s"),
        "decisions": lambda: store.decisions("s"),
        "decision": lambda: store.decision("x"),
        "readings": lambda: store.readings("s", "k", lambda _: []),
        "tasks": lambda: store.tasks("s"),
        "run_records": lambda: store.run_records("s"),
        "facts": lambda: store.facts("s"),
        "facts_state": lambda: store.facts_state("s"),
        "state": lambda: store.state("s"),
        "notes_at": lambda: store.notes_at("s", 1),
        "memories": lambda: memories.seen(ME),
        "memories by id": lambda: memories.by_id(["m"]),
        "search_memories": searched,
        "next_memory_seq": store.next_memory_seq,
        "ratings": lambda: store.ratings(1),
        "documents": documents,
        "document_owners": lambda: store.document_owners("k"),
        "sessions": store.sessions,
        "newest_session": store.newest_session,
        "rebuild_search": store.rebuild_search,
        "pack": lambda: store.pack(1),
        "integrity": store.integrity,
    }


def test_behind_its_end_nothing_is_read_or_written(store: Store):
    commit(store, "s", "x", at_ms=1)
    calls = uses(store)
    assert {"scope", "close", "clean"} == {name for name in promised(Store) if name not in calls and name[0] != "_"}
    store.close()
    store.close()
    for name, call in calls.items():
        with pytest.raises(StoreError, match="closed"):
            call()
        assert name
