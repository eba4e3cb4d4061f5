"""No expression repeats a group possessively: Python 3.11.2 matches that wrongly, so whole private keys stayed unmasked there.

``(?>(?:GROUP)*)`` says the same and is matched alike by every version. One character may be repeated possessively.
"""

import re
from collections.abc import Iterator
from itertools import product
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from tests.house.test_expression_cost import expressions
from undrift.core.text.marker import _look_alike

_ONE_CHARACTER = (op.IN, op.LITERAL, op.NOT_LITERAL, op.ANY)


def repeated_groups(tree: Any) -> Iterator[Any]:
    """Yield each group that a parsed expression repeats possessively."""
    if isinstance(tree, _parser.SubPattern):
        for kind, given in tree:
            if kind is op.POSSESSIVE_REPEAT and not (len(given[2]) == 1 and given[2][0][0] in _ONE_CHARACTER):
                yield given[2]
            yield from repeated_groups(given)
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from repeated_groups(part)


def found_in(expression: re.Pattern[Any]) -> list[Any]:
    flags = expression.flags & ~re.UNICODE if isinstance(expression.pattern, bytes) else expression.flags
    return list(repeated_groups(_parser.parse(expression.pattern, flags)))


def test_no_expression_repeats_a_group_possessively() -> None:
    known = expressions()
    assert len(known) > 300
    known |= {f"_look_alike{given}": _look_alike(*given) for given in product([True, False], repeat=2)}
    found = [place for place, expression in known.items() if found_in(expression)]
    assert found == [], "write (?>(?:GROUP)*) for (?:GROUP)*+"


@pytest.mark.parametrize("wrong", [r"(?:a|bc)*+", r"(?:ab){2,3}+", r"x(?:y(?:a|\$(?!b))++)?", rb"(?:a|bc)?+"])
def test_a_repeated_group_is_found(wrong: str | bytes) -> None:
    assert len(found_in(re.compile(wrong))) == 1


@pytest.mark.parametrize("right", [r"a*+[bc]++.?+\w{2,3}+", r"(?>(?:a|b)*)", r"(?:a|b)*", r"[^\"]*+(?:x)?"])
def test_what_every_version_matches_rightly_is_let_through(right: str) -> None:
    assert found_in(re.compile(right)) == []
