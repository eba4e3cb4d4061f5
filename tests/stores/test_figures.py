"""The figures that decisions of one prune share: stored once, and read as they were written, to the byte."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stores.builders import commit, original, prune, raw
from undrift.errors import StoreCorrupt
from undrift.stores import figures, rows
from undrift.stores.base import Aim
from undrift.stores.decisions import decision_from, decision_row
from undrift.stores.sqlite import SqliteStore
from undrift.values.window import Decision

HISTORIES = ("0" * 32, "0" * 31 + "1", "f" * 32)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
DETAILS = st.fixed_dictionaries(
    {"at": st.sampled_from(HISTORIES) | VALUES},
    optional={
        "total_tokens": st.integers(0, 3),
        "price": st.floats(0, 1),
        "rows": VALUES,
        "worth": st.floats(0, 1),
        "\ud800": VALUES,
    },
)
REASONS = st.sampled_from(["worth 0.1 (to 5)", "worth 0.25 (to 5)", "worth 12 (to 5)", "\xe4\ud800 1", "", "1.1", "1"])


@given(st.lists(st.tuples(REASONS, DETAILS), max_size=6))
def test_a_decision_is_read_as_it_was_written_whatever_it_shares(given):
    decisions = [
        Decision(f"e{number}", "pruned", reason, 1, "", detail) for number, (reason, detail) in enumerate(given)
    ]
    made = [decision_row("s", one) for one in decisions]
    for one, row, found in zip(decisions, made, figures.shares(made, [d.detail for d in decisions]), strict=True):
        assert (found.place is None) == (not found.shared)
        session, entry, kind, reason, saved, ref, _, detail = found.row
        texts = (text if isinstance(text, bytes) else rows.raw(text) for text in (session, entry, kind, reason))
        stored = (1, row[6], *texts, saved, ref, detail.encode(), found.shared.encode() or None)
        assert decision_from(stored) == one


def pruned(count: int = 40, *, at: str = HISTORIES[0]) -> tuple[list[Any], list[Decision]]:
    """A prune as a window decides it."""
    entries = [original(f"e{number}") for number in range(count)]
    shared = {
        "at": at,
        "budget_tokens": 900,
        "moment": "budget",
        "price": 0.001,
        "target_tokens": 675,
        "total_tokens": 3121,
    }
    made = [
        prune(
            one,
            reason=f"it is worth {number / 7:.3f} a token (pruned to 675 of 900 tokens)",
            detail={**shared, "worth": number / 7},
        )
        for number, one in enumerate(entries)
    ]
    return entries, made


def stored(home: Path, sql: str) -> Any:
    connection = raw(home)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def test_a_prune_stores_its_figures_once(home: Path):
    entries, decisions = pruned()
    with SqliteStore.open(home) as store:
        commit(store, "s", "prune", at_ms=1, originals=entries, decisions=decisions)
        assert list(store.decided("s")) == decisions
        assert store.decision(entries[3].ref) == decisions[3]
        assert store.integrity() == ()
        assert list(store.state("s")["decisions"]) == [f"e{number} {HISTORIES[0]}" for number in range(40)]
    assert len(stored(home, "SELECT 1 FROM figures")) == 1
    ((size,),) = stored(home, "SELECT sum(length(detail) + length(reason)) FROM decisions")
    assert size < sum(len(json.dumps(dict(one.detail))) + len(one.reason) for one in decisions) / 4


def test_the_same_prune_again_is_the_same_and_another_one_about_the_same_history_is_refused(home: Path):
    entries, decisions = pruned()
    with SqliteStore.open(home) as store:
        for _ in range(2):
            commit(store, "s", "prune", at_ms=1, originals=entries, decisions=decisions)
        assert list(store.decided("s")) == decisions
        alone = [prune(entries[0], detail={"at": HISTORIES[0], "total_tokens": 1})]
        with pytest.raises(Exception, match="another decision about it is stored"):
            commit(store, "s", "prune", at_ms=1, decisions=alone)
        _, elsewhere = pruned(at=HISTORIES[2])
        commit(store, "s", "prune", at_ms=2, decisions=elsewhere)
        assert list(store.decided("s")) == [*decisions, *elsewhere]
    assert len(stored(home, "SELECT 1 FROM figures")) == 2


@pytest.mark.parametrize(
    "damage", ["UPDATE figures SET record = '{}'", "UPDATE figures SET record = x'ff'", "DELETE FROM figures"]
)
def test_damaged_figures_are_noticed_with_every_decision_that_needs_them(home: Path, damage: str):
    entries, decisions = pruned(3)
    with SqliteStore.open(home) as store:
        commit(store, "s", "prune", at_ms=1, originals=entries, decisions=decisions)
        connection = raw(home)
        connection.execute(damage)
        connection.close()
        with pytest.raises(StoreCorrupt, match="decision 1 does not match"):
            store.decided("s")
        assert len([one for one in store.integrity() if "does not match its SHA-256" in one]) == 3


def test_a_purge_leaves_a_decision_whole_and_that_of_a_session_takes_its_figures_along(home: Path):
    entries, decisions = pruned()

    def blank(decision: Decision) -> Decision:
        return Decision(decision.entry_id, decision.kind, "purged", 1, "", {"at": decision.detail["at"]})

    with SqliteStore.open(home) as store:
        commit(store, "s", "prune", at_ms=1, originals=entries, decisions=decisions)
        store.purge([Aim("original", "s", entries[5].ref)], blank, at_ms=2)
        assert list(store.decided("s")) == [*decisions[:5], blank(decisions[5]), *decisions[6:]]
        assert store.integrity() == ()
        store.purge([Aim("session", "s", "s")], blank, at_ms=3)
        assert store.decided("s") == ()
    assert stored(home, "SELECT 1 FROM figures") == []
