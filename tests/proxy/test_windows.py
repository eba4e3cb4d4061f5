"""The newest windows that a status line asks for: by the client's own session id, and only so many of them."""

import pytest

from undrift.proxy.windows import NewestWindows, WindowFigures

FIGURES = WindowFigures(9, 5, 7)


def test_the_newest_request_counts():
    windows = NewestWindows()
    windows.keep("a", "s", FIGURES)
    windows.keep("a", "s", WindowFigures(10, 6, 7))
    assert windows.of("a") == ("s", {"tokens_before": 10, "tokens_after": 6, "budget_tokens": 7})
    assert windows.of("b") is None


@pytest.mark.parametrize("name", [None, "", "a/b", "a b", "a" * 129, "\n"])
def test_a_name_that_no_path_can_have_is_not_kept(name: str | None):
    windows = NewestWindows()
    windows.keep(name, "s", FIGURES)
    assert windows.of(name or "") is None


def test_the_one_used_longest_ago_makes_place():
    windows = NewestWindows()
    for number in range(4_097):
        windows.keep(f"s{number}", "s", FIGURES)
        windows.keep("used", "s", FIGURES)
    assert windows.of("s0") is None
    assert windows.of("s4096") is not None
    assert windows.of("used") is not None
