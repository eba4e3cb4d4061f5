"""Bodies as bytes: split and put together again without touching what is not edited."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.errors import WireError
from undrift.wire.raw import decode, encode, join, split

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


@given(
    st.lists(json_values, max_size=4), st.dictionaries(st.text(max_size=5), json_values, max_size=4), st.integers(0, 3)
)
def test_a_body_split_and_joined_means_the_same_and_each_part_keeps_its_bytes(messages, fields, indent):
    body = {**fields, "messages": messages, "z": 1}
    data = json.dumps(body, indent=indent, ensure_ascii=bool(indent % 2)).encode("utf-8", "surrogatepass")
    split_fields, split_messages = split(data)
    assert list(split_fields) == list(body)
    joined = join(split_fields, split_messages)
    assert json.loads(joined) == body
    assert all(bytes(part) in data and bytes(part) in joined for part in split_messages)
    assert all(bytes(split_fields[name]) in joined for name in body if name != "messages")


def test_messages_are_replaced_and_stand_where_they_stood():
    fields, messages = split(b'{"a" : 1e2, "messages":[ {"x":1} ,2], "b":"\\u00e9"}')
    assert join(fields, [b"3", messages[0]]) == b'{"a":1e2,"messages":[3,{"x":1}],"b":"\\u00e9"}'


@pytest.mark.parametrize(
    "data",
    [
        b"", b" ", b"null", b"5", b"[]", b'"a"', b"{}", b'{"messages":null}', b'{"messages":{}}', b'{"messages":"a"}',
        b'{"messages":[1,]}', b'{"messages":[1]', b'{"messages":[1]} x', b'{"messages":[NaN]}', b"{'messages':[]}",
        b'{"messages":[' + b"[" * 100_000 + b"]}", b"\xff\xfe{}", b'{"a\xff":1,"messages":[]}',
    ],
)  # fmt: skip
def test_what_is_no_body_is_refused(data):
    with pytest.raises(WireError):
        split(data)


@pytest.mark.parametrize("data", [b"", b"nul", b"[1,]", b"NaN", b'"\xff"', b'"\\ud800"', b"[" * 100_000])
def test_what_is_no_json_is_refused_with_its_path(data):
    with pytest.raises(WireError) as raised:
        decode(data, "messages[3].content")
    assert raised.value.path == "messages[3].content"


def nested(levels: int) -> list:
    value: list = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [object(), {(1,): 2}, nested(100_000), ["\ud800", object()], ["\ud800", {(1,): 2}], ["\ud800", nested(100_000)]],
    ids=["object", "key", "deep", "surrogate+object", "surrogate+key", "surrogate+deep"],
)
def test_what_json_cannot_hold_is_refused_with_its_path(value):
    with pytest.raises(WireError) as raised:
        encode(value, "tools")
    assert raised.value.path == "tools"


def test_a_circle_is_refused():
    circle: list = []
    circle.append(circle)
    for value in (circle, ["\ud800", circle]):
        with pytest.raises(WireError):
            encode(value)


def test_a_lone_surrogate_which_python_strings_can_carry_is_encoded():
    assert json.loads(encode({"a": "x\ud800"})) == {"a": "x\ud800"}
