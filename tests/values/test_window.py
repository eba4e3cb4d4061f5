"""The values: valid from construction on, unchangeable, and plain enough for JSON."""

import dataclasses
import json
from types import MappingProxyType
from typing import Any, get_args

import pytest

from undrift.errors import InputError, WindowError
from undrift.values import window as types
from undrift.values.window import (
    ENTRY_TYPES,
    PINNED_TYPES,
    Action,
    ContextEntry,
    Decision,
    Edit,
    EntryType,
    Item,
    MaskedSpan,
    Moment,
    Original,
    Segment,
    Sent,
    Tag,
    Task,
    Tasks,
    TaskUpdate,
)

GOOD: dict[str, Any] = {
    "id": "e1",
    "type": "reasoning",
    "content": "naïve 思考",
    "token_count": 3,
    "timestamp": 1_763_760_000_000,
    "metadata": {"role": "assistant", "nested": {"list": [1, 2.5, None, True, "x"]}},
}


def entry(**fields: Any) -> ContextEntry:
    return ContextEntry(**{**GOOD, **fields})


def test_an_entry_has_the_six_fields_of_the_seed_in_that_order():
    """R2-01"""
    made = ContextEntry("e1", "spec", "text", 7, 1_763_760_000_000, {"any": ["JSON", {"value": None}]})
    assert (made.id, made.type, made.content) == ("e1", "spec", "text")
    assert (made.token_count, made.timestamp) == (7, 1_763_760_000_000)
    assert made.metadata == {"any": ["JSON", {"value": None}]}
    assert ContextEntry("e1", "spec", "text", 7, 0).metadata is None


def test_there_are_exactly_six_types():
    """R2-02"""
    assert sorted(ENTRY_TYPES) == ["reasoning", "requirements", "spec", "summary", "tas", "tool_result"]
    assert set(get_args(EntryType)) == ENTRY_TYPES
    assert PINNED_TYPES < ENTRY_TYPES


@pytest.mark.parametrize("type_", sorted(ENTRY_TYPES))
def test_an_entry_survives_json_with_its_type_a_plain_string(type_):
    """R2-03"""
    made = entry(type=type_)
    text = json.dumps(dataclasses.asdict(made))
    assert f'"type": "{type_}"' in text
    again = ContextEntry(**json.loads(text))
    assert again == made
    assert type(again.type) is str


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", ""),
        ("id", None),
        ("id", 7),
        ("type", "tool"),
        ("type", "TAS"),
        ("type", ""),
        ("type", None),
        ("content", None),
        ("content", b"bytes"),
        ("token_count", -1),
        ("token_count", 1.0),
        ("token_count", float("nan")),
        ("token_count", True),
        ("token_count", "3"),
        ("token_count", None),
        ("timestamp", -1),
        ("timestamp", 1_763_760_000.5),
        ("timestamp", float("inf")),
        ("timestamp", None),
        ("seq", -1),
        ("seq", False),
        ("metadata", []),
        ("metadata", "role=user"),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(field, value):
    """A2-6: the message names the field, and the entry where it has a name."""
    with pytest.raises(WindowError) as error:
        entry(**{field: value})
    assert field in str(error.value)
    assert field == "id" or "'e1'" in str(error.value)
    assert isinstance(error.value, InputError)


def test_the_least_that_is_allowed():
    """A2-6: negative control of the test above."""
    made = entry(content="", token_count=0, timestamp=0, metadata={}, seq=0)
    assert (made.content, made.token_count, made.timestamp) == ("", 0, 0)


def test_metadata_may_be_any_mapping():
    """R2-01"""
    assert entry(metadata=MappingProxyType({"pair_id": "p"})).pair_id == "p"


def test_the_insertion_number_is_no_part_of_an_entry_s_identity():
    """A0-2"""
    assert entry(seq=1) == entry(seq=2)
    assert entry(id="e1") != entry(id="e2")
    assert entry(content="a") != entry(content="b")


def test_the_insertion_number_cannot_be_given_by_place():
    """R2-01: the six fields of the seed are all that stands in line."""
    with pytest.raises(TypeError):
        ContextEntry("e1", "spec", "text", 7, 0, None, 3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [(None, None), ({}, None), ({"pair_id": "p"}, "p"), ({"pair_id": ""}, None), ({"pair_id": 7}, None)],
)
def test_a_pair_id_is_a_text_that_is_not_empty(metadata, expected):
    """A2-4"""
    assert entry(metadata=metadata).pair_id == expected


ORIGINAL = Original("0" * 16, "run", "window", entry())
VALUES = [
    entry(),
    MaskedSpan("anthropic-key", 0, 40),
    Action("pruned", "e1", "older than the newest that fit", 3, "0" * 16),
    Decision("e1", "pruned", "older than the newest that fit", 3, "0" * 16),
    ORIGINAL,
    Moment("m1", 3),
    Segment(Moment("m1", 3)),
    Task("t1", "Fix the parser"),
    Tag("call_1", "t1", 0),
    Tasks(),
    TaskUpdate(None, Task("t1")),
    Edit(),
    Item(0, "m0", "user", (), 0),
    Sent((), {}, (), 0, 0, -1, 0),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_no_value_can_be_changed_or_given_a_new_field(value):
    """R0-10, R2-15"""
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, "changed")
    with pytest.raises((AttributeError, TypeError)):
        value.new_field = 1
    assert not hasattr(value, "__dict__")


def test_the_test_above_knows_every_value():
    public = {getattr(types, name) for name in types.__all__}
    assert {v for v in public if dataclasses.is_dataclass(v)} == {type(v) for v in VALUES}
