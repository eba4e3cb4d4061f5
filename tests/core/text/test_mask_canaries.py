"""Keys of many vendors in the places where keys turn up: how many of each place are hidden, printed, and none less."""

import pytest

from tests.core.text.mask_keys import VENDORS, key_of
from undrift.core.text.secrets import PATTERNS, mask
from undrift.core.text.vendor_tokens import VENDOR_TOKENS

OF_A_VENDOR = {
    "alone": "{}",
    "in prose": "The key is {}, as he said.",
    "in HTML": "<td>{}</td>",
    "after a colour": "\x1b[32m{}\x1b[0m",
    "after what grep marks": "\x1b[01;31m\x1b[K{}\x1b[m\x1b[K",
    "after a colour of 24 bits": "\x1b[38;2;255;120;10m{}",
    "after a colour in JSON": '{{"out": "\\u001b[32m{}\\u001b[0m"}}',
    "after a colour in JSON in JSON": '"{{\\"out\\": \\"\\\\u001b[1m{}\\"}}"',
    "after a colour spelled out": "'\\x1b[32m{}\\x1b[0m' \\033[1m",
    "percent-encoded": "next=%2Fcallback%3Fcode%3D{}%26page%3D2",
    "percent-encoded twice": "next=%252Fcallback%253Fcode%253D{}%2526page%253D2",
    "in JSON with an escaped sign": '"https://h/x?v\\u003d{}\\u0026page\\u003d2"',
}
UNDER_A_NAME = {
    "environment": "SERVICE_API_KEY={}",
    "log": "2026-01-02 INFO connect token={} ok",
    "YAML": "api_key: {}\nnext: 1",
    "header": "x-api-key: {}",
    "JSON": '{{"api_key": "{}"}}',
    "JSON in JSON": '"{{\\"api_key\\": \\"{}\\"}}"',
    "query": "GET /x?api_key={}",
    "query that goes on": "GET /x?api_key={}&page=2&sort=asc",
    "query that goes on in JSON": '"GET /x?api_key={}\\u0026page=2"',
    "query, percent-encoded": "next=%2Fx%3Fapi_key%3D{}%26page%3D2",
    "JSON, percent-encoded": "body=%7B%22api_key%22%3A%22{}%22%7D",
    "name after a colour": "\x1b[36mapi_key\x1b[0m=\x1b[32m{}\x1b[0m",
}
NAMELESS = ["{h32}", "{h40}", "{h64}", "{a20}", "{a32}", "{a40}", "{w43}", "{uuid}", "{l24}", "{u32}"]


def hidden(shapes: list[str], place: str) -> list[str]:
    """The shapes whose key is still to be read where it stands."""
    return [shape for shape in shapes if (key := key_of(shape)) in mask(place.format(key)).text]


@pytest.mark.parametrize("place", OF_A_VENDOR)
def test_a_key_with_a_prefix_of_its_own_is_hidden_wherever_it_stands(place):
    left = hidden(VENDORS, OF_A_VENDOR[place])
    print(f"{place}: {len(VENDORS) - len(left)} of {len(VENDORS)} hidden")
    assert not left


@pytest.mark.parametrize("place", UNDER_A_NAME)
def test_a_key_under_a_name_is_hidden_whatever_it_looks_like(place):
    left = hidden(VENDORS + NAMELESS, UNDER_A_NAME[place])
    print(f"{place}: {len(VENDORS + NAMELESS) - len(left)} of {len(VENDORS + NAMELESS)} hidden")
    assert not left


def test_every_pattern_of_a_vendor_has_a_key_here():
    text = "\n".join(key_of(shape) for shape in VENDORS)
    found = {span.name for span in mask(text).spans}
    assert {name for name, _, _ in VENDOR_TOKENS} <= found
    assert found <= {pattern.name for pattern in PATTERNS}


@pytest.mark.parametrize("place", [*OF_A_VENDOR.values(), *UNDER_A_NAME.values()])
def test_only_the_key_goes(place):
    key = key_of("ghp_{a36}")
    before, after = place.format("{}").split("{}")
    assert mask(place.format(key)).text == f"{before}[masked:github-token]{after}"
