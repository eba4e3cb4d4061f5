"""A part of a page is written between its marks, or the page is refused."""

import pytest

from bench.marked import with_part

PAGE = "# Page\n<!-- a -->\nold\n<!-- end -->\nBetween.\n<!-- b -->\n<!-- end -->\nEnd.\n"


def test_a_part_is_replaced_and_all_else_stays():
    page = with_part(PAGE, "<!-- a -->", "new\nlines")
    assert page == PAGE.replace("old", "new\nlines")
    assert with_part(page, "<!-- b -->", "b") == page.replace("<!-- b -->\n", "<!-- b -->\nb\n")


@pytest.mark.parametrize(
    "page", ["", "<!-- a -->\nno end", "<!-- end -->\n<!-- a -->\n", PAGE + PAGE, "<!-- a --> <!-- end -->"]
)
def test_a_page_without_exactly_one_such_part_is_refused(page: str):
    with pytest.raises(ValueError, match="one part <!-- a -->"):
        with_part(page, "<!-- a -->", "new")
