"""LangGraph's store and saver: items as they were put, threads that go on after a restart, forks that stay apart."""

import asyncio
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph", reason="needs the package langgraph (make conformance installs it)")

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import InvalidNamespaceError, PutOp

from undrift import Settings
from undrift.integrations.langgraph import UndriftSaver, UndriftStore

SETTINGS = Settings(embedder="none")
SECRET = "sk-ant-api03-" + "aB3" * 31 + "AA"
MINUTE = 60_000


class Clock:
    now_ms = 1_000_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(home: Path, clock: Clock):
    with UndriftStore(home, settings=SETTINGS, clock=clock) as opened:
        yield opened


@pytest.fixture
def saver(home: Path):
    with UndriftSaver(home, settings=SETTINGS) as opened:
        yield opened


def keys(items: list[Any]) -> list[str]:
    return [item.key for item in items]


# --------------------------------------------------------------------------------------------------------------- the store


@pytest.mark.parametrize(
    "value", [{}, {"a": None}, {"é\ud800": ["\0", {"b": 1.5}]}, {"a": "x" * 5_000_000}, {"$gt": True}]
)
def test_an_item_comes_back_as_it_was_put(store: UndriftStore, value: dict):
    store.put(("a", "b"), "key", value)
    item = store.get(("a", "b"), "key")
    assert item is not None
    assert (item.value, item.key, item.namespace) == (value, "key", ("a", "b"))
    assert store.get(("a",), "key") is None
    assert store.get(("a", "b", "key"), "") is None


def test_a_change_keeps_when_it_was_made_and_a_deletion_does_not(store: UndriftStore, clock: Clock):
    store.put(("a",), "k", {"n": 1})
    clock.now_ms += 1_000
    store.put(("a",), "k", {"n": 2})
    item = store.get(("a",), "k")
    assert item is not None
    assert (item.updated_at - item.created_at).total_seconds() == 1
    store.delete(("a",), "k")
    store.delete(("a",), "never")
    assert store.get(("a",), "k") is None
    store.put(("a",), "k", {"n": 3})
    item = store.get(("a",), "k")
    assert item is not None
    assert item.created_at == item.updated_at


def test_items_are_there_after_a_restart_and_for_another_process(store: UndriftStore, home: Path):
    store.put(("a",), "k", {"text": "the database is SQLite"})
    with UndriftStore(home, settings=SETTINGS) as other:
        assert keys(other.search(("a",), query="database")) == ["k"]
        other.put(("a",), "k", {"text": "the queue is empty"})
    assert keys(store.search(("a",), query="queue")) == ["k"]
    assert store.search(("a",), query="database") == []


def test_an_embedder_that_fails_leaves_the_words(home: Path, clock: Clock):
    settings = Settings(embedder="tests.memory.parts:Broken")
    with UndriftStore(home, settings=settings, clock=clock) as store:
        store.put(("a",), "k", {"text": "the database is SQLite"})
        assert keys(store.search(("a",), query="database")) == ["k"]


def test_two_stores_of_one_home_are_apart(store: UndriftStore, home: Path):
    with UndriftStore(home, name="other", settings=SETTINGS) as other:
        other.put(("a",), "k", {"n": 1})
    assert store.search(()) == []


def test_a_batch_reads_what_was_before_it_and_the_last_writing_wins(store: UndriftStore):
    store.put(("a",), "k", {"n": 1})
    _, item, _ = store.batch([PutOp(("a",), "k", {"n": 2}), *_gets("k"), PutOp(("a",), "k", {"n": 3})])
    assert item.value == {"n": 1}
    assert store.batch(_gets("k"))[0].value == {"n": 3}


def _gets(key: str) -> list[Any]:
    from langgraph.store.base import GetOp

    return [GetOp(("a",), key)]


@pytest.mark.parametrize(
    ("filter_", "found"),
    [
        ({"n": 2}, ["b"]),
        ({"n": {"$gte": 2}}, ["c", "b"]),
        ({"n": {"$gt": 1, "$lt": 3}}, ["b"]),
        ({"n": {"$ne": 2}}, ["c", "a"]),
        ({"n": {"$lte": 1}, "in": {"x": [1, 2]}}, ["a"]),
        ({"in": {"x": [1]}}, []),
        ({"missing": {"$gt": 1}}, []),
        ({"missing": None}, ["c", "b", "a"]),
        ({"n' OR '1'='1": 1}, []),
    ],
)
def test_a_filter_holds_on_values(store: UndriftStore, clock: Clock, filter_: dict, found: list[str]):
    for number, key in enumerate("abc", 1):
        clock.now_ms += 1
        store.put(("x",), key, {"n": number, "in": {"x": [1, 2], "y": 0}})
    assert keys(store.search(("x",), filter=filter_)) == found


def test_an_unknown_operator_is_refused(store: UndriftStore):
    store.put(("x",), "a", {"n": 1})
    with pytest.raises(ValueError, match=r"\$regex"):
        store.search(("x",), filter={"n": {"$regex": ".*"}})


def test_a_query_finds_by_words_under_its_namespace_best_first(store: UndriftStore):
    store.put(("u", "1"), "db", {"text": "We use SQLite as database", "by": "Ann"})
    store.put(("u", "1"), "dog", {"text": "The dog barks"})
    store.put(("u", "2"), "pg", {"text": "Postgres is the database of the server, a database for many"})
    store.put(("u", "1"), "quiet", {"text": "database"}, index=False)
    store.put(("u", "1"), "part", {"title": "none", "parts": [{"text": "a database inside"}]}, index=["parts[*].text"])
    hits = store.search(("u", "1"), query="which database")
    assert set(keys(hits)) == {"db", "part"}
    assert all(hit.score is not None and 0 < hit.score <= 1 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score or 0 for hit in hits), reverse=True)
    assert keys(store.search(("u",), query="database", limit=1, offset=1)) != keys(hits[:1])
    assert keys(store.search(("u",), query="database", filter={"by": "Ann"})) == ["db"]
    assert store.search(("u",), query="zebra") == []


def test_many_texts_of_one_item_do_not_hide_other_items(store: UndriftStore):
    store.put(("a",), "many", {"lines": [f"database number {n}" for n in range(80)]}, index=["lines[*]"])
    store.put(("a",), "one", {"text": "one database among much else that is said here"})
    assert sorted(keys(store.search(("a",), query="database", limit=2))) == ["many", "one"]


def test_namespaces_are_listed_by_what_they_begin_and_end_with(store: UndriftStore):
    for namespace in (("a", "b", "c"), ("a", "x", "c"), ("a",), ("d", "c")):
        store.put(namespace, "k", {})
    assert store.list_namespaces() == [("a",), ("a", "b", "c"), ("a", "x", "c"), ("d", "c")]
    assert store.list_namespaces(prefix=("a", "*"), suffix=("c",)) == [("a", "b", "c"), ("a", "x", "c")]
    assert store.list_namespaces(max_depth=1) == [("a",), ("d",)]
    assert store.list_namespaces(limit=1, offset=2) == [("a", "x", "c")]
    store.delete(("d", "c"), "k")
    assert ("d", "c") not in store.list_namespaces()


def test_an_item_lives_as_long_as_it_is_read(store: UndriftStore, clock: Clock):
    store.put(("a",), "k", {"text": "short"}, ttl=10)
    clock.now_ms += 9 * MINUTE
    assert store.get(("a",), "k") is not None
    clock.now_ms += 9 * MINUTE
    assert keys(store.search(("a",), query="short", refresh_ttl=False)) == ["k"]
    clock.now_ms += MINUTE
    assert store.get(("a",), "k") is None
    assert store.search(()) == []
    assert store.list_namespaces() == []
    assert (store.sweep_ttl(), store.sweep_ttl()) == (1, 0)


def test_the_default_life_is_the_store_s(home: Path, clock: Clock):
    with UndriftStore(home, settings=SETTINGS, clock=clock, ttl={"default_ttl": 1, "refresh_on_read": False}) as store:
        store.put(("a",), "k", {})
        store.put(("a",), "forever", {}, ttl=None)
        clock.now_ms += MINUTE // 2
        assert len(store.search(())) == 2
        clock.now_ms += MINUTE // 2
        assert keys(store.search(())) == ["forever"]


@pytest.mark.parametrize("namespace", [("a.b",), ("",), ("a", "\0")])
def test_a_label_that_is_none_is_refused_in_a_batch_too(store: UndriftStore, namespace: tuple):
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(namespace, "k", {})])


def test_a_value_that_is_no_json_is_refused_and_nothing_is_written(store: UndriftStore):
    with pytest.raises(ValueError, match="JSON"):
        store.batch([PutOp(("a",), "good", {}), PutOp(("a",), "bad", {"x": object()})])
    assert store.search(()) == []


def test_secrets_are_masked_before_they_are_written(store: UndriftStore, home: Path):
    store.put(("a",), "k", {"deep": [f"key {SECRET}"]})
    store.close()
    assert all(SECRET.encode() not in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_the_awaited_methods_do_the_same(store: UndriftStore):
    async def play() -> None:
        await asyncio.gather(*(store.aput(("a",), str(n), {"text": f"word{n}"}) for n in range(10)))
        assert len(await store.asearch(("a",), limit=20)) == 10
        assert keys(await store.asearch(("a",), query="word7")) == ["7"]
        await store.adelete(("a",), "7")
        assert await store.aget(("a",), "7") is None
        assert await store.alist_namespaces() == [("a",)]

    asyncio.run(play())


# --------------------------------------------------------------------------------------------------------------- the saver


class State(TypedDict):
    words: Annotated[list[str], operator.add]


def graph(saver: UndriftSaver) -> Any:
    builder: Any = StateGraph(State)
    builder.add_node("say", lambda state: {"words": [f"word{len(state['words'])}"]})
    builder.add_edge(START, "say")
    builder.add_edge("say", END)
    return builder.compile(checkpointer=saver)


def thread(name: str, **more: Any) -> Any:
    return {"configurable": {"thread_id": name, **more}}


def test_a_thread_goes_on_after_a_restart(home: Path):
    for expected in (["a", "word1"], ["a", "word1", "a", "word3"]):
        with UndriftSaver(home, settings=SETTINGS) as saver:
            assert graph(saver).invoke({"words": ["a"]}, thread("t"))["words"] == expected


def test_a_fork_leaves_the_other_branch_as_it_was(saver: UndriftSaver):
    app = graph(saver)
    app.invoke({"words": ["a"]}, thread("t"))
    first = app.get_state(thread("t"))
    app.invoke({"words": ["left"]}, thread("t"))
    left = app.get_state(thread("t"))
    app.invoke({"words": ["right"]}, first.config)
    right = app.get_state(thread("t"))
    assert right.values["words"] == ["a", "word1", "right", "word3"]
    assert app.get_state(left.config).values["words"] == ["a", "word1", "left", "word3"]


def test_threads_with_odd_names_stay_apart(saver: UndriftSaver):
    app = graph(saver)
    names = ["a", "a/b", "日本", "x" * 3_000, "a'; DROP TABLE documents; --", "\ud800", "langgraph:a"]
    for number, name in enumerate(names):
        app.invoke({"words": [str(number)]}, thread(name))
    for number, name in enumerate(names):
        assert app.get_state(thread(name)).values["words"][0] == str(number)
    saver.delete_thread("a")
    assert app.get_state(thread("a")).values == {}
    assert sorted({one.config["configurable"]["thread_id"] for one in saver.list(None)}) == sorted(names[1:])


def test_a_thread_may_be_a_number(saver: UndriftSaver):
    app = graph(saver)
    app.invoke({"words": ["a"]}, {"configurable": {"thread_id": 7}})
    assert app.get_state({"configurable": {"thread_id": 7}}).values["words"] == ["a", "word1"]


def test_pruning_keeps_what_the_newest_one_needs(saver: UndriftSaver):
    """A delta channel stands whole only in a snapshot: what came after it is made of the writes in between."""
    config = thread("t", checkpoint_ns="")
    for step in range(5):
        checkpoint: Any = {**empty_checkpoint(), "channel_versions": {"d": str(step)}}
        checkpoint["channel_values"] = {"d": "snapshot"} if step == 1 else {}
        metadata: Any = {"step": step, "counters_since_delta_snapshot": {"d": (step, step)}}
        config = saver.put(config, checkpoint, metadata, {"d": str(step)})
        saver.put_writes(config, [("d", step)], "task")
    before = saver.get_delta_channel_history(config=config, channels=["d"])
    saver.prune(["t"])
    assert [one.metadata["step"] for one in saver.list(thread("t"))] == [4, 3, 2, 1]
    assert before["d"]["seed"] == "snapshot"
    assert saver.get_delta_channel_history(config=config, channels=["d"]) == before


def test_pruning_a_plain_thread_keeps_one(saver: UndriftSaver):
    app = graph(saver)
    for _ in range(3):
        app.invoke({"words": ["a"]}, thread("t"))
    values = app.get_state(thread("t")).values
    saver.prune(["t", "unknown"])
    assert len(list(saver.list(thread("t")))) == 1
    assert app.get_state(thread("t")).values == values
    saver.prune(["t"], strategy="delete")
    assert list(saver.list(thread("t"))) == []
    with pytest.raises(ValueError, match="strategy"):
        saver.prune(["t"], strategy="some")


def test_types_that_are_not_known_to_be_safe_are_not_made(saver: UndriftSaver):
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"c": Clock()}, "channel_versions": {"c": "1"}}
    with pytest.raises(TypeError):  # not even written: nothing but data goes to the disk
        saver.put(thread("t", checkpoint_ns=""), checkpoint, {}, {"c": "1"})
