"""The tiers over a real store: what leaves is on disk first, and the same window is there after a restart."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import locked, refusing
from undrift.core.window.prune import prune, target_tokens
from undrift.errors import RecallError, StoreError, WindowError
from undrift.settings import Settings
from undrift.stores.sqlite import SqliteStore
from undrift.tiered.manager import TieredMemoryManager
from undrift.values.window import ContextEntry, EntryType


def entry(
    id_: str, tokens: int = 100, type_: EntryType = "reasoning", at: int = 0, content: str = "", **meta
) -> ContextEntry:
    return ContextEntry(id_, type_, content or f"content of {id_}", tokens, at, meta or None)


def manager(home: Path, **settings) -> TieredMemoryManager:
    return TieredMemoryManager(home, settings=Settings(**{"budget_tokens": 1_000, "keep_tool_results": 2, **settings}))


def ids(entries) -> list[str]:
    return [one.id for one in entries]


def test_a_simulated_total_above_800_000_prunes_and_pins_and_observations_stay(tmp_path):
    with TieredMemoryManager(tmp_path, settings=Settings()) as memory:
        assert memory.threshold_tokens == 800_000
        memory.add_entry(entry("tas", 20_000, "tas"))
        removed = [one for n in range(40) for one in memory.add_entry(entry(f"r{n}", 20_000, at=n + 1))]
        for n in range(20):
            removed += memory.add_entry(entry(f"o{n}", 1_000, "tool_result", at=100 + n))
        assert removed
        assert memory.total_tokens <= 800_000
        assert memory.entries[0].id == "tas"
        assert ids(memory.entries)[-5:] == [f"o{n}" for n in range(15, 20)]
        assert all(memory.recall(one.id) == one.content for one in removed)


def test_a_total_equal_to_the_threshold_does_not_prune_and_one_token_more_does(tmp_path):
    with manager(tmp_path) as memory:
        assert [memory.add_entry(entry(f"e{n}", 100, at=n)) for n in range(10)] == [()] * 10
        assert memory.total_tokens == 1_000
        assert ids(memory.add_entry(entry("one more", 1, at=10))) == ["e0", "e1", "e2"]
        assert memory.total_tokens == 701


def test_after_a_prune_the_buffer_grows_for_a_while_before_the_next(tmp_path):
    with manager(tmp_path) as memory:
        pruned = [n for n in range(200) if memory.add_entry(entry(f"e{n}", 10, at=n))]
        assert pruned[0] == 100
        assert all(25 <= later - earlier <= 27 for earlier, later in pairwise(pruned))


def test_reopening_gives_the_same_window_which_goes_on_as_if_nothing_had_been(tmp_path):
    with manager(tmp_path / "whole") as whole:
        for n in range(60):
            kind: EntryType = ("tool_result", "reasoning", "spec")[0 if n % 3 else n % 2 + 1]
            one = entry(f"e{n}", 40 if kind != "spec" else 5, kind, at=n // 4, content=f"{n} \u00e9\x00\ud800\n" * 3)
            with manager(tmp_path / "parts") as memory:
                assert memory.add_entry(one) == whole.add_entry(one)
                before = (memory.entries, memory.total_tokens)
            with manager(tmp_path / "parts") as memory:
                assert (memory.entries, memory.total_tokens) == before == (whole.entries, whole.total_tokens)


def test_what_is_held_is_the_plain_rule_s_window(tmp_path):
    with manager(tmp_path) as memory:
        plain: list[ContextEntry] = []
        for n in range(120):
            kind: EntryType = "tool_result" if n % 3 == 0 else "tas" if n % 40 == 1 else "reasoning"
            one = entry(f"e{n}", 30 + n * 7 % 50, kind, at=n)
            memory.add_entry(one)
            plain.append(one)
            if sum(e.token_count for e in plain) > 1_000:
                pinned = prune(plain, 1_000, keep_tool_results=2).pinned_tokens
                plain = list(prune(plain, target_tokens(1_000, pinned, 0.75), keep_tool_results=2).kept)
            assert ids(memory.entries) == ids(plain)


@pytest.mark.parametrize("wrong", [None, "text", {"id": "e"}])
def test_what_is_no_entry_is_refused(tmp_path, wrong):
    with manager(tmp_path) as memory, pytest.raises(WindowError, match="ContextEntry"):
        memory.add_entry(wrong)


def test_an_id_is_taken_once_in_the_life_of_a_session(tmp_path):
    with manager(tmp_path) as memory:
        for n in range(12):
            memory.add_entry(entry(f"e{n}", at=n))
        assert "e0" not in ids(memory.entries)
    with manager(tmp_path) as memory:
        for known in ("e0", "e11"):
            with pytest.raises(WindowError, match="stored already"):
                memory.add_entry(entry(known, content="something else"))
        assert memory.recall("e0") == "content of e0"
        with pytest.raises(RecallError):
            memory.recall("never given")


def test_sessions_of_one_home_do_not_see_each_other(tmp_path):
    with SqliteStore.open(tmp_path) as store:
        one = TieredMemoryManager(session_id="one", store=store, settings=Settings())
        other = TieredMemoryManager(session_id="other", store=store, settings=Settings())
        one.add_entry(entry("e", content="mine"))
        other.add_entry(entry("e", content="yours"))
        assert (one.recall("e"), other.recall("e")) == ("mine", "yours")
        one.close()
        assert store.buffer("other")[0].content == "yours"


def test_an_entry_that_cannot_be_written_is_not_taken_in(tmp_path):
    with SqliteStore.open(tmp_path, busy_timeout_ms=20) as store:
        memory = TieredMemoryManager(store=store, settings=Settings(budget_tokens=1_000))
        memory.add_entry(entry("first"))
        with locked(tmp_path), pytest.raises(StoreError):
            memory.add_entry(entry("second"))
        assert ids(memory.entries) == ["first"]
        memory.add_entry(entry("second"))
        assert ids(memory.entries) == ["first", "second"]


def test_a_flush_that_fails_leaves_the_buffer_and_is_tried_again(tmp_path, caplog):
    with manager(tmp_path) as memory:
        for n in range(10):
            memory.add_entry(entry(f"e{n}", at=n))
        with refusing(tmp_path, "decisions"):
            for n in range(10, 13):
                assert memory.add_entry(entry(f"e{n}", at=n)) == ()
            assert ids(memory.entries) == [f"e{n}" for n in range(13)]
            assert memory.total_tokens == 1_300
        assert [record.levelname for record in caplog.records] == ["ERROR"] * 3
        removed = memory.add_entry(entry("e13", at=13))
        assert ids(removed) == [f"e{n}" for n in range(7)]
        assert ids(memory.entries) == [f"e{n}" for n in range(7, 14)]
        before = memory.entries
    with manager(tmp_path) as memory:
        assert memory.entries == before
        assert memory.recall("e0") == "content of e0"


def test_a_newer_version_of_a_document_displaces_the_older(tmp_path):
    with manager(tmp_path) as memory:
        memory.add_entry(entry("v1", 100, "spec", 1, slot="api.md"))
        memory.add_entry(entry("other", 100, "spec", 2, slot="db.md"))
        memory.add_entry(entry("same name", 100, "tas", 2, slot="api.md"))
        assert ids(memory.add_entry(entry("v2", 100, "spec", 3, slot="api.md"))) == ["v1"]
        assert ids(memory.entries) == ["other", "same name", "v2"]
        assert memory.recall("v1") == "content of v1"
    with manager(tmp_path) as memory:
        assert ids(memory.entries) == ["other", "same name", "v2"]


def test_a_displaced_document_that_could_not_be_flushed_leaves_at_the_next_entry(tmp_path):
    with manager(tmp_path) as memory:
        memory.add_entry(entry("v1", 100, "spec", 1, slot="api.md"))
        with refusing(tmp_path, "decisions"):
            assert memory.add_entry(entry("v2", 100, "spec", 2, slot="api.md")) == ()
            assert ids(memory.entries) == ["v1", "v2"]
        assert ids(memory.add_entry(entry("next", 100, at=3))) == ["v1"]
        assert (ids(memory.entries), memory.total_tokens) == (["v2", "next"], 200)


def test_what_displaced_a_document_and_crashed_before_the_flush_is_settled_at_opening(tmp_path):
    with SqliteStore.open(tmp_path) as store:
        memory = TieredMemoryManager(store=store, settings=Settings(budget_tokens=1_000))
        memory.refresher.keep(entry("v1", 100, "spec", 1, slot="api.md"))
        memory.refresher.keep(entry("v2", 100, "spec", 2, slot="api.md"))
        again = TieredMemoryManager(store=store, settings=Settings(budget_tokens=1_000))
        assert (ids(again.entries), again.total_tokens) == (["v2"], 100)


def test_masks_may_be_switched_on_for_a_buffer_that_had_none(tmp_path):
    key = "sk-" + "ant-api03-" + "Qz7Lm2Xc9Vb4" * 7
    with manager(tmp_path, mask_secrets=False) as memory:
        memory.add_entry(entry("with a key", 600, content=f"the key is {key}"))
    with manager(tmp_path) as memory:
        assert ids(memory.add_entry(entry("next", 600, at=1))) == ["with a key"]
        assert memory.total_tokens == 600


def test_a_secret_reaches_the_disk_neither_by_the_content_nor_by_the_metadata(tmp_path):
    key = "sk-" + "ant-api03-" + "Qz7Lm2Xc9Vb4" * 7
    with manager(tmp_path) as memory:
        memory.add_entry(
            entry("e0", 600, content=f"the key is {key}", input={"command": f"curl -H 'x-api-key: {key}'"})
        )
        memory.add_entry(entry("e1", 600, at=1))
        assert "[masked:" in memory.recall("e0")
    assert key.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["tas", "spec", "reasoning", "tool_result", "summary"]),
            st.integers(0, 500),
            st.integers(0, 9),
            st.sampled_from([None, None, "p1", "p2"]),
        ),
        max_size=25,
    ),
    st.integers(1, 1_500),
)
def test_whatever_comes_nothing_is_lost_and_a_restart_changes_nothing(tmp_path_factory, rows, budget):
    home = tmp_path_factory.mktemp("memory")
    added = []
    with manager(home, budget_tokens=budget) as memory:
        for n, (kind, tokens, at, pair) in enumerate(rows):
            added.append(entry(f"e{n}", tokens, kind, at, **({"pair_id": pair} if pair else {})))
            memory.add_entry(added[-1])
            results = [e for e in added if e.type == "tool_result"]  # a clock that steps back makes none of them old
            assert {e.id for e in added if e.type in ("tas", "spec")} <= set(ids(memory.entries))
            assert memory.total_tokens == sum(e.token_count for e in memory.entries)
            assert not results or results[-1].id in ids(memory.entries)
        held = memory.entries
        assert all(memory.recall(one.id) == one.content for one in added)
    with manager(home, budget_tokens=budget) as memory:
        assert memory.entries == held


def test_a_clock_that_steps_back_makes_no_new_observation_old(tmp_path):
    """R12: order unchanged by a clock jump; before and after a restart."""
    with manager(tmp_path) as memory:
        for number, at in enumerate([5_000, 6_000, 7_000, 100, 200, 300, 400, 500]):
            memory.add_entry(entry(f"r{number}", 150, "tool_result", at))
        left = [f"r{number}" for number in range(8) if f"r{number}" not in ids(memory.entries)]
        assert left == [f"r{number}" for number in range(len(left))], "the oldest left"
        assert ids(memory.entries)[-5:] == ["r3", "r4", "r5", "r6", "r7"]
        before = memory.entries
    with manager(tmp_path) as memory:
        assert memory.entries == before
