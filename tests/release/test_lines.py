"""README and the pages print the lines that the variable `published` decides, and no other line that starts undrift."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from release.about import ROOT, About, about
from release.lines import PAGES, PARTS, stale, with_lines

UNPUBLISHED = About("undrift", "1.2.3", "")
PUBLISHED = About("undrift", "1.2.3", "undrift==1.2.3")
STARTS = re.compile(r"(?:uvx|pipx|uv tool|pip) (?:[a-z]+ )?(?:--\S+ )*'?(?P<what>[^\s`']*undrift[^\s`']*)")
"""A command that installs or starts undrift, and the name or file that it takes it from."""
IN_PART = re.compile(r"<!-- start: [a-z]+ -->\n.*?<!-- end -->", re.DOTALL)


def from_an_index(text: str) -> list[str]:
    """Return what is taken by its name from an index, outside the parts that the variable writes.

    With ``==VERSION`` a page says what a plugin's script tries; that is no line to type.
    """
    found = [match["what"].rstrip(".,;:)") for match in STARTS.finditer(IN_PART.sub("", text))]
    return [what for what in found if "/" not in what and not what.endswith((".whl", ".tar.gz", "==VERSION"))]


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "plugins").rglob("*.md")])


def test_every_page_says_what_the_variable_decides() -> None:
    assert stale() == [], "run `make lines`"
    written = {part for page in PAGES for part in re.findall("<!-- start: ([a-z]+)", (ROOT / page).read_text("utf-8"))}
    assert written <= set(PARTS)
    assert {"each", "published"} <= written


def test_the_other_value_of_the_variable_changes_every_part() -> None:
    text = "\n".join(f"<!-- start: {name} -->\nold\n<!-- end -->" for name in PARTS)
    now, then = with_lines(text, UNPUBLISHED), with_lines(text, PUBLISHED)
    assert "old" not in now + then
    for part, other in zip(IN_PART.findall(now), IN_PART.findall(then), strict=True):
        assert part != other
    assert "==" not in now
    assert "./dist/" not in then
    assert "uvx --from 'undrift[all]==1.2.3' undrift autopsy" in then


@pytest.mark.skipif(bool(about().published), reason="an index has this version: its name may stand everywhere")
def test_no_page_takes_undrift_from_an_index_that_has_it_not() -> None:
    found = [
        f"{page.relative_to(ROOT)}: {what}"
        for page in pages()
        if page.name != "CHANGELOG.md"
        for what in from_an_index(page.read_text(encoding="utf-8"))
    ]
    assert found == [], "no index has it: write the line as a part of release/lines.py"


@pytest.mark.parametrize(
    "line",
    [
        "`pipx install undrift`",
        "pip install 'undrift[all]'",
        "uvx --from undrift==1 undrift",
        "uv tool install undrift",
    ],
)
def test_a_line_that_takes_it_from_an_index_is_found(line: str) -> None:
    assert from_an_index(line) != []
    assert from_an_index(f"<!-- start: try -->\n{line}\n<!-- end -->") == []


@pytest.mark.parametrize(
    "line", ["pip install ./undrift-1-py3-none-any.whl", "pip install '.[all]'", "uvx --from '.[all]' x"]
)
def test_a_line_that_works_today_is_let_through(line: str) -> None:
    assert from_an_index(line) == []


def test_a_variable_that_names_another_version_is_refused(tmp_path: Path) -> None:
    def write(published: str) -> None:
        text = f'[project]\nname = "undrift"\nversion = "1.2.3"\n[tool.undrift]\npublished = "{published}"\n'
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")

    for published in ("undrift==9", "other==1.2.3", "yes"):
        write(published)
        with pytest.raises(ValueError, match=r"must be empty or undrift==1\.2\.3"):
            about(tmp_path)
    write("undrift==1.2.3")
    assert about(tmp_path) == replace(UNPUBLISHED, published="undrift==1.2.3")
