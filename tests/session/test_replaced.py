"""What stands before a provider's own compaction is dropped by it: it counts for nothing, and nothing leaves for it."""

import json
from pathlib import Path

import pytest

from tests.builders import Json, assistant, body, opened, rounds, sent, text, user
from tests.wire.openai_responses_items import WIRE, call, message, output
from tests.wire.openai_responses_items import user as said

COMPACTED: Json = {"type": "compaction", "content": "They read files.", "encrypted_content": "c2ln"}
FAILED: Json = {"type": "compaction", "content": None}
DEAD = [user("Start."), *rounds(40)]
LIVE = [user("go on"), *rounds(7, first=40)]


@pytest.mark.parametrize("as_bytes", [False, True])
def test_nothing_live_leaves_for_what_the_provider_drops(tmp_path: Path, as_bytes: bool):
    between = assistant(COMPACTED, text("I go on."))
    for name, before in (("alone", []), ("whole", DEAD)):
        given = body(*before, between, *LIVE)
        with opened(tmp_path / name, budget_tokens=1_500, policy="recency") as session:
            prepared = session.prepare(json.dumps(given).encode() if as_bytes else given)
        assert not prepared.actions, name
        assert sent(prepared) == given["messages"]
        assert 700 < prepared.tokens_before < 1_000


def test_a_compaction_that_failed_drops_nothing(tmp_path: Path):
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        prepared = session.prepare(body(*DEAD, assistant(FAILED, text("I go on.")), *LIVE))
    assert prepared.actions
    assert prepared.tokens_before > 4_000


def test_what_had_left_before_it_goes_out_as_it_came_and_the_live_part_is_pruned_alone(tmp_path: Path):
    between, more = assistant(COMPACTED, text("I go on.")), rounds(20, first=47)
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        session.pin("requirements", "The rule of the session.")
        assert len(sent(session.prepare(body(*DEAD)))) < len(DEAD)
        first = session.prepare(body(*DEAD, between, *LIVE))
        assert sent(first)[: len(DEAD)] == DEAD
        assert "The rule of the session." in json.dumps(sent(first)[len(DEAD) :]), "a pin before it is not seen"
        later = session.prepare(body(*DEAD, between, *LIVE, *more))
        assert sent(later)[: len(DEAD)] == DEAD
        assert {action.kind for action in later.actions} >= {"pruned"}
        assert later.tokens_after <= later.budget_tokens
        assert not later.warnings
        back = session.prepare(body(*DEAD, *rounds(2, first=90)))
        assert back.tokens_before > 4_000, "without the compaction everything counts again"
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        again = session.prepare(body(*DEAD, between, *LIVE, *more))
        assert sent(again) == sent(later)


def test_in_the_compacted_message_itself_only_what_stands_after_it_counts(tmp_path: Path):
    inside = assistant(text("before ".ljust(8_000, "x")), COMPACTED, text("I go on."))
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        prepared = session.prepare(body(user("Start."), inside, *LIVE))
    assert not prepared.actions
    assert prepared.tokens_before < 1_000


def test_of_responses_the_work_is_replaced_and_the_words_of_the_user_are_not(tmp_path: Path):
    work = [item for n in range(40) for item in (call(f"c{n}"), output(f"c{n}", f"answer {n}: ".ljust(400, "x")))]
    rule = said("A rule. ".ljust(800, "y"))
    items = [rule, *work[:70], {"type": "compaction", "encrypted_content": "g"}, said("go on"), *work[70:]]
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        prepared = session.prepare({"model": "gpt-5.5", "input": [*items, message("user", "and?")]}, wire=WIRE)
    assert not prepared.actions
    assert 700 < prepared.tokens_before < 1_000
