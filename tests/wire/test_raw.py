"""Bodies as bytes: split and put together again without touching what is not edited."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.errors import WireError
from undrift.wire.raw import decode, encode, fields, join, split

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_what_is_encoded_decodes_to_the_same(value):
    assert decode(encode(value)) == value
    assert json.loads(encode(value)) == value


def taken_apart(data: bytes) -> tuple[dict[str, Any], list[Any]]:
    found = fields(data)
    return dict(found), list(split(found["messages"], "messages"))


@given(
    st.lists(json_values, max_size=4), st.dictionaries(st.text(max_size=5), json_values, max_size=4), st.integers(0, 3)
)
def test_a_body_taken_apart_and_joined_means_the_same_and_each_part_keeps_its_bytes(messages, others, indent):
    body = {**others, "messages": messages, "z": 1}
    data = json.dumps(body, indent=indent, ensure_ascii=bool(indent % 2)).encode("utf-8", "surrogatepass")
    found, items = taken_apart(data)
    assert list(found) == list(body)
    joined = join(found, "messages", items)
    assert json.loads(joined) == body
    assert all(bytes(part) in data and bytes(part) in joined for part in items)
    assert all(bytes(found[name]) in joined for name in body if name != "messages")


def test_items_are_replaced_and_stand_where_they_stood():
    found, items = taken_apart(b'{"a" : 1e2, "messages":[ {"x":1} ,2], "b":"\\u00e9"}')
    assert join(found, "messages", [b"3", items[0]]) == b'{"a":1e2,"messages":[3,{"x":1}],"b":"\\u00e9"}'
    assert join(found, "a", [b"3"]) == b'{"a":[3],"messages":[ {"x":1} ,2],"b":"\\u00e9"}'
    assert json.loads(join({'"\n': b"1"}, "messages", [])) == {'"\n': 1}


DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    "data",
    [
        b"", b" ", b"null", b"5", b"[]", b'"a"', b"{'messages':[]}", b"\xff\xfe{}", b'{"a\xff":1}', b'{"a":1} x',
        b'{"a":NaN}', b'{"a":[1,]}', b'{"a":[1]', b'{"a":1', b'{"a"', b'{"a":' + DEEP + b"}", b'\xef\xbb\xbf{"a":1}',
    ],
)  # fmt: skip
def test_what_is_no_object_is_refused(data):
    with pytest.raises(WireError):
        fields(data)


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"{}", b'"a"', b"5", b"[1,]", b"[1", b"[1] x", b"[NaN]", DEEP, DEEP + b"]" * 100_000],
)
def test_what_is_no_array_is_refused_with_its_path(data):
    with pytest.raises(WireError) as raised:
        split(data, "messages")
    assert raised.value.path == "messages"


def test_a_body_that_ends_too_soon_is_refused_wherever_it_ends():
    whole = json.dumps({"a": [1, {"b": "\u00e9\\n"}, -1.5e3], "messages": [None, True]}, ensure_ascii=False).encode()
    for end in range(len(whole)):
        with pytest.raises(WireError):
            taken_apart(whole[:end])
    assert json.loads(join(*taken_apart(whole)[:1], "messages", taken_apart(whole)[1])) == json.loads(whole)


@pytest.mark.parametrize("data", [b"", b"nul", b"[1,]", b"NaN", b'"\xff"', b'"\\ud800"', b"[" * 100_000])
def test_what_is_no_json_is_refused_with_its_path(data):
    with pytest.raises(WireError) as raised:
        decode(data, "messages[3].content")
    assert raised.value.path == "messages[3].content"


@given(json_values)
def test_equal_objects_give_equal_bytes_when_ordered(value):
    turned = json.loads(json.dumps(value), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert encode(value, ordered=True) == encode(turned, ordered=True)


def nested(levels: int) -> list:
    value: list = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {(1,): 2},
        nested(100_000),
        ["\ud800", object()],
        ["\ud800", {(1,): 2}],
        ["\ud800", nested(100_000)],
    ],
    ids=[
        "object",
        "key",
        "deep",
        "surrogate+object",
        "surrogate+key",
        "surrogate+deep",
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_path(value):
    with pytest.raises(WireError) as raised:
        encode(value, "tools")
    assert raised.value.path == "tools"


@pytest.mark.parametrize("beside", ["a", "\ud800"])
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_null_whatever_stands_beside_it(number, beside):
    for ordered in (False, True):
        encoded = encode({"b": [beside, number], "a": 1.5}, ordered=ordered)
        assert json.loads(encoded) == {"b": [beside, None], "a": 1.5}


def test_a_circle_is_refused():
    circle: list = []
    circle.append(circle)
    for value in (circle, ["\ud800", circle]):
        with pytest.raises(WireError):
            encode(value)


def test_a_lone_surrogate_which_python_strings_can_carry_is_encoded():
    assert json.loads(encode({"a": "x\ud800"})) == {"a": "x\ud800"}
