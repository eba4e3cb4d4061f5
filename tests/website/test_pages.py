"""The site before it is built: each page has its place, each link leads somewhere, and what scripts write is as they write it."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.house.test_documents import headings
from undrift import Settings
from undrift.recordings.files import open_recording
from undrift.recordings.replay import replay
from website import comparison, pictures, session_run, shot, stage

ROOT = Path(__file__).parents[2]
PAGES = stage.pages()
CONFIG: dict[str, Any] = tomllib.loads(stage.navigation(stage.CONFIG.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def every() -> dict[str, str]:
    """Each page as the generator reads it."""
    return {name: stage.staged(name, source, PAGES) for name, source in PAGES.items()}


def places(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for one in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from places(one)


# ----------------------------------------------------------------------------------------------------------------- pages
def test_every_page_stands_in_the_navigation_once() -> None:
    found = Counter(places(CONFIG["project"]["nav"]))
    assert sorted(found) == sorted(PAGES), "website/zensical.toml: name each page of docs once, and no other"
    assert set(found.values()) == {1}


def test_every_link_of_a_page_leads_to_a_page_a_picture_or_another_host(every: dict[str, str]) -> None:
    assets = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*") if path.is_file()}
    found = []
    for name, text in every.items():
        prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`(?!\])", "", prose)):
            path, _, anchor = target.partition("#")
            place = (Path("/") / Path(name).parent / path).resolve().relative_to("/").as_posix() if path else name
            if re.match("[a-z]+:", target):
                continue
            is_there = place in every and (not anchor or anchor in headings(every[place]))
            if not is_there and not (place in assets and not anchor):
                found.append(f"{name}: {target}")
    assert found == []


def test_a_link_to_a_file_of_the_program_becomes_its_path(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("See [the code](src/x.py) and `[a](src/y.py)`.\n```\n[b](src/z.py)\n```\n", encoding="utf-8")
    shown = stage.staged("page.md", page, {"page.md": page})
    assert "the code (`" in shown
    assert "[a](src/y.py)" in shown
    assert "[b](src/z.py)" in shown


def test_a_list_behind_a_paragraph_gets_its_empty_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("It is one if\n- it is\n  so,\n- or not.\n\n| a | b |\n| - | - |\n| c | d |\n", encoding="utf-8")
    assert stage.staged("page.md", page, {"page.md": page}) == (
        "It is one if\n\n- it is\n    so,\n- or not.\n\n| a | b |\n| - | - |\n| c | d |\n"
    )


def test_every_link_to_another_host_is_listed_and_none_is_asked() -> None:
    """The addresses of other people's pages, which no test fetches: a new one is looked at before it stands here."""
    hosts = Counter(
        host
        for path in PAGES.values()
        for host in re.findall(r"\]\(https?://([^/)]+)[^)]*\)", path.read_text(encoding="utf-8"))
    )
    assert set(hosts) == {
        "docs.claude-mem.ai",
        "docs.langchain.com",
        "github.com",
        "keepachangelog.com",
        "platform.claude.com",
        "reference.langchain.com",
        "semver.org",
    }


# --------------------------------------------------------------------------------------------------------------- scripts
def test_the_drawings_are_those_of_a_run() -> None:
    for name, text in pictures.drawings().items():
        path = pictures.IMAGES / name
        assert path.read_text(encoding="utf-8") == f"{text}\n", f"docs/images/{name} must follow: make pictures"


def test_the_run_of_the_drawings_is_the_one_that_replay_reports(tmp_path: Path) -> None:
    turns = session_run.session_run()
    settings = Settings(budget_tokens=session_run.BUDGET_TOKENS)
    report = replay(open_recording(session_run.DEMO), session_run.DEMO, home=tmp_path, settings=settings)
    assert sum(turn.tokens_before for turn in turns) == report.tokens_before
    assert sum(turn.tokens_after for turn in turns) == report.tokens_after
    assert [number for number, turn in enumerate(turns, 1) if turn.removed] == [one.turn for one in report.prunes]


def test_a_drawing_names_no_address_and_no_font_of_another_place() -> None:
    for path in pictures.IMAGES.glob("*.svg"):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search("http|url\\(|@import|<script|@font-face", text), path.name


def test_the_picture_of_readme_shows_what_the_command_prints() -> None:
    """The picture itself is drawn by a browser; the guide shows the same lines as text."""
    start = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    printed = shot.printed()
    assert len(printed) == shot.LINES
    assert printed[0] in start
    assert printed[-1].strip() == "“Never touch the vendored parser in third_party.”"
    assert shot.PICTURE.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert shot.PICTURE.stat().st_size < 300_000


def test_the_comparison_is_the_one_of_its_file_and_no_cell_is_without_evidence() -> None:
    assert comparison.written() == comparison.PAGE.read_text(encoding="utf-8"), "python -m website.comparison"


@pytest.mark.parametrize(
    "cell", [["yes", ""], ["", "measured: figures.md"], ["yes", "measured: none.md"], ["yes", "read: x"]]
)
def test_a_cell_without_evidence_is_refused(cell: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"questions": ["q"], "read": {}, "tool": [{"name": "a", "is": "b", "cells": [cell]}]}
    monkeypatch.setattr(comparison, "cells", lambda: table)
    with pytest.raises((KeyError, ValueError)):
        comparison.written()


def test_a_tool_without_a_cell_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = [{"name": name, "is": "b", "cells": [["", "not checked"]] * count} for name, count in (("a", 2), ("c", 1))]
    monkeypatch.setattr(comparison, "cells", lambda: {"questions": ["q", "r"], "read": {}, "tool": tools})
    with pytest.raises(ValueError, match="c has 1 cells for 2 questions"):
        comparison.written()
