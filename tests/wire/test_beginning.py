"""A body that begins as one that came before: what is read from there on is what reading all of it gives."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.errors import WireError
from undrift.wire.beginning import Beginning
from undrift.wire.raw import fields, split

NAME = "messages"
SPACE = st.sampled_from(["", "", " ", "\n\t", "  "])
TEXTS = st.text(max_size=4) | st.sampled_from(['"', "\\", ']}{"', "messages", "\x00beginning 0", '"],"messages":["'])
LEAVES = st.none() | st.booleans() | st.integers(-20, 20) | TEXTS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from([NAME, "mess\\u0061ges", "model", "tools", "a"])


@st.composite
def written(draw, value: Any) -> str:
    """A JSON value in any notation: white space, escapes."""
    if isinstance(value, list):
        inner = [draw(written(one)) for one in value]
        return f"[{draw(SPACE)}{(draw(SPACE) + ',' + draw(SPACE)).join(inner)}{draw(SPACE)}]"
    if isinstance(value, dict):
        inner = [f"{json.dumps(key)}{draw(SPACE)}:{draw(SPACE)}{draw(written(one))}" for key, one in value.items()]
        return f"{{{draw(SPACE)}{(draw(SPACE) + ',' + draw(SPACE)).join(inner)}{draw(SPACE)}}}"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def bodies(draw, items: list[str]) -> str:
    """A body whose array has these items, other fields about it; a key may stand in it more than once."""
    before = [f'"{draw(KEYS)}":{draw(written(draw(VALUES)))}' for _ in range(draw(st.integers(0, 2)))]
    behind = [f'"{draw(KEYS)}":{draw(written(draw(VALUES)))}' for _ in range(draw(st.integers(0, 2)))]
    array = f"[{draw(SPACE)}{(draw(SPACE) + ',' + draw(SPACE)).join(items)}{draw(SPACE)}]"
    return "{" + draw(SPACE) + ",".join([*before, f'"{draw(KEYS)}":{array}', *behind]) + draw(SPACE) + "}"


def whole(body: bytes) -> tuple[list[tuple[str, bytes]], list[bytes]] | None:
    """The fields in their order, the array's left out, and the array's items; None where there is no such array."""
    try:
        found = fields(body)
        items = [bytes(item) for item in split(found[NAME], NAME)]
    except (WireError, KeyError):
        return None
    return [(name, b"" if name == NAME else bytes(value)) for name, value in found.items()], items


def agree(beginning: Beginning, body: bytes) -> bool:
    """Compare both ways; return whether the short one was taken."""
    rest = beginning.rest(body)
    if rest is None:
        return False
    told = [(name, bytes(value)) for name, value in rest.fields.items()]
    known = [beginning.item(number) for number in range(beginning.count)]
    assert (told, [*known, *rest.items]) == whole(body)
    return True


@given(st.data())
def test_both_ways_read_the_same_whatever_comes_behind_the_beginning(data):
    items = [data.draw(written(one)) for one in data.draw(st.lists(VALUES, min_size=1, max_size=5))]
    first = data.draw(bodies(items)).encode()
    read = whole(first)
    if read is None or not read[1]:
        return
    beginning = Beginning.of(first, NAME, read[1][: data.draw(st.integers(1, len(read[1])))])
    if beginning is None:  # the array's first item also stands elsewhere
        return
    agree(beginning, first)  # it may be that of an array which a later one of the same name replaces
    stem = first[: beginning.places[-1]]
    more = data.draw(bodies([*items, *(data.draw(written(one)) for one in data.draw(st.lists(VALUES, max_size=3)))]))
    for behind in (
        more.encode()[data.draw(st.integers(0, len(more))) :],
        first[data.draw(st.integers(0, len(first))) :],
        data.draw(st.binary(max_size=8)) + first[len(stem) :],
        data.draw(st.text(alphabet='[]{}",: 1a\\', max_size=12)).encode(),
        first[len(stem) : -1] + f', "{data.draw(KEYS)}": ["\\u0000beginning 0", 1]}}'.encode(),
    ):
        agree(beginning, stem + behind)
        agree(beginning, behind)


@given(st.lists(VALUES, min_size=2, max_size=6), st.lists(VALUES, max_size=4), st.data())
def test_a_beginning_that_was_made_longer_is_the_one_of_the_longer_body(values, more, data):
    first, second = (json.dumps({"model": "m", NAME: some}).encode() for some in (values, values + more))
    read = whole(second)
    assert read is not None
    known = data.draw(st.integers(1, len(values)))
    beginning = Beginning.of(first, NAME, read[1][:known])
    if beginning is None:
        return
    longer = beginning.longer(second, read[1][known:])
    assert agree(longer, second)
    assert longer.count == len(read[1])
    assert longer.stem is beginning.stem


@pytest.mark.parametrize(
    "behind", [b'2],"model":"m"}', b',2],"messages":["other"]}', b',2],"mess\\u0061ges":[]}', b"", b"]"]
)
def test_what_would_be_read_otherwise_is_read_whole(behind):
    beginning = Beginning.of(b'{"messages":[1,1],"model":"m"}', NAME, [b"1", b"1"])
    assert beginning is not None
    assert beginning.rest(b'{"messages":[1,1' + behind) is None


def test_an_array_whose_first_item_stands_before_it_has_no_beginning():
    assert (
        Beginning.of(b'{"stop":"a","messages":["a","b"]}', NAME, [b'"a"', b'"b"']) is not None
    )  # the walk goes on to "b"
    assert Beginning.of(b'{"stop":["a","b"],"messages":["a","b"]}', NAME, [b'"a"', b'"b"']) is None
