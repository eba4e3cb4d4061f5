"""The result of a turn: its actions may be made late, and `new` names those of this turn."""

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from undrift.values.prepared import Prepared
from undrift.values.window import Action

OLD, NEW = Action("pruned", "e1", "older", 3, "0" * 16), Action("cut", "e2", "long", 9, "1" * 16)


def test_a_result_cannot_be_changed_or_given_a_new_field():
    value: Any = Prepared({}, 1, 1, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.body = "changed"
    with pytest.raises((AttributeError, TypeError)):
        value.new_field = 1
    assert not hasattr(value, "__dict__")


def test_two_results_do_not_share_their_headers():
    """A default that is a mapping is a new one for each value."""
    assert Prepared({}, 1, 1, 1).headers is not Prepared({}, 1, 1, 1).headers


def test_actions_that_are_made_late_are_part_of_the_value_like_others():
    """They are made once, and compared, shown, replaced and copied as if they had been there from the start."""
    made = []

    def late() -> tuple[Action, ...]:
        made.append(1)
        return OLD, NEW

    def found() -> Prepared:
        return Prepared({}, 2, 1, 1).telling(2, late, [NEW.entry_id])

    plain = Prepared({}, 2, 1, 1, (OLD, NEW), new=(NEW,))
    for same in (lambda one: one, copy.deepcopy, copy.copy, dataclasses.replace, pickled):
        assert same(found()) == plain
        assert same(found()).new == (NEW,)
    assert (plain.action_count, pickled(plain).action_count, Prepared({}, 2, 1, 1).action_count) == (2, 2, 0)
    one, before = found(), len(made)
    assert (one.action_count, len(made)) == (2, before)
    assert (one.new, one.new, one.actions, one.actions) == ((NEW,), (NEW,), plain.actions, plain.actions)
    assert dataclasses.asdict(one) == dataclasses.asdict(plain)
    assert len(made) == before + 1


def test_a_turn_that_decided_nothing_makes_no_action_to_say_so():
    def late() -> tuple[Action, ...]:
        raise AssertionError("it was not asked for")

    assert Prepared({}, 2, 1, 1).telling(10_000, late).new == ()


def test_another_name_is_no_field():
    with pytest.raises(AttributeError, match="newer"):
        _ = Prepared({}, 2, 1, 1).telling(0, tuple).newer


def pickled(value: Prepared) -> Prepared:
    found: Prepared = pickle.loads(pickle.dumps(value))
    return found
