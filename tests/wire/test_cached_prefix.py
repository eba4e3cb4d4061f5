"""A field before the history counts as changed only if the provider's prompt cache surely misses it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.wire import raw
from undrift.wire.cached_prefix import first_change, offset_of

TOOL = {"name": "Bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}
MARKED = {**TOOL, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
BILLING = "x-anthropic-billing-header: cc_version=2.1.330.%s; cc_entrypoint=cli; cch=%s;"


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def changed(before: Any, now: Any, name: str = "system") -> tuple[str, int] | None:
    fields = [{name: b"" if value is ... else raw.encode(value)} for value in (before, now)]
    return first_change(*fields)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([TOOL], [MARKED]),
        ([TOOL], [{**TOOL, "name": "Read", "defer_loading": True}, TOOL]),
        (
            [{"type": "namespace", "name": "files", "tools": [TOOL]}],
            [{"type": "namespace", "name": "files", "tools": [TOOL, {**TOOL, "name": "Read", "defer_loading": True}]}],
        ),
        ([said("a"), said("b")], [said("a"), said("b", cache_control={"type": "ephemeral"})]),
        ([said(BILLING % ("0d9", "fa690")), said("a")], [said(BILLING % ("1aa", "00000")), said("a")]),
        ([said("a")], [said(BILLING % ("1aa", "00000")), said("a")]),
        ("a", [said("a")]),
        ("a", [said("a", citations=None)]),
        (..., None),
        (..., []),
        (..., {"type": "auto"}),
        ({"type": "disabled"}, None),
        ({"format": {"type": "text"}, "verbosity": "low"}, {"verbosity": "high", "format": {"type": "text"}}),
        ({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1}),
    ],
)
def test_what_the_cache_does_not_look_at_is_no_change(before: Any, now: Any):
    assert changed(before, now) is None
    assert changed(now, before) is None


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("a", "b"),
        ([TOOL], [TOOL, {**TOOL, "name": "Read"}]),
        ([TOOL], [TOOL, {**TOOL, "name": "Read", "defer_loading": "yes"}]),
        ([{"type": "namespace", "tools": [TOOL]}], [{"type": "namespace", "tools": [TOOL, TOOL]}]),
        ([TOOL], [{**TOOL, "description": "Runs a command."}]),
        ([said("a"), said("b")], [said("b"), said("a")]),
        ([said(f"The client quotes: {BILLING}")], [said("The client quotes nothing.")]),
        (..., [TOOL]),
        ({"type": "auto"}, {"type": "any"}),
        ({"type": "enabled", "budget_tokens": 1_024}, {"type": "disabled"}),
    ],
)
def test_what_the_cache_holds_is_one(before: Any, now: Any):
    assert changed(before, now) is not None
    assert changed(now, before) is not None


def test_the_first_field_in_the_provider_s_order_is_named_with_the_byte_that_differs():
    body = {"model": "m", "system": [said(BILLING % ("a", "b")), said("Today is Monday.")], "tools": [TOOL]}
    text = json.dumps(body).replace("Monday", "Tuesday")
    before, now = (raw.fields(one.encode()) for one in (json.dumps(body), text))
    name, at = first_change(*({n: bytes(f[n]) for n in ("tools", "system")} for f in (before, now))) or ("", 0)
    assert name == "system"
    start = offset_of(text.encode(), name, bytes(now[name]))
    assert start is not None
    assert text[start + at :].startswith("Tuesday")


def test_a_place_that_is_not_found_is_unknown():
    assert offset_of(b'{"system"  : "a"}', "system", b'"a"') is None
    assert offset_of(b'{"sys\\u0074em":"a"}', "system", b'"a"') is None


def test_tools_in_tools_without_end_are_no_fault():
    deep = b'[{"tools":' * 400 + b"[]" + b"}]" * 400
    assert first_change({"tools": b"[]"}, {"tools": deep}) == ("tools", 1)
    assert first_change({"tools": deep}, {"tools": deep + b" "}) is None


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["type", "text", "a"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(values, values, st.sampled_from([b"", b"{", b"[1,", b'{"a":', b"[" * 4_000]))
def test_no_value_raises_and_equal_bytes_never_count(one: Any, other: Any, broken: bytes):
    for before, now in ((one, other), (one, one)):
        left, right = raw.encode(before), raw.encode(now)
        found = first_change({"system": left}, {"system": right})
        assert found is None or (left != right and 0 <= found[1] <= len(right))
    assert first_change({"system": raw.encode(one)}, {"system": broken}) is None or broken == b""
