"""Floods of lesser notes: a user's statement stays the first hit and the first line. `make floods` plays all of them."""

from itertools import product
from pathlib import Path

import pytest

from tests.builders import opened
from tests.memory.floods import LESSER, QUESTION, SHAPES, TRUTH, failures, flood
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.projects import place_of


@pytest.mark.parametrize(("shape", "trust"), list(product(SHAPES, LESSER)))
@pytest.mark.parametrize("embedder", ["none", "auto"])
def test_no_flood_moves_what_a_user_said(tmp_path: Path, shape: str, trust: str, embedder: str):
    number = sorted(SHAPES).index(shape)
    with opened(tmp_path / "h", embedder=embedder) as session:
        session.remember(TRUTH, trust="spec" if number % 2 else "user")
        flood(session, shape, trust, 60, (1, 50)[number % 2])
        assert list(failures(session)) == []


def test_1_000_notes_of_50_sources(tmp_path: Path):
    with opened(tmp_path / "h") as session:
        flood(session, "echo", "tool", 1_000, 50)
        session.remember(TRUTH, trust="user")
        assert list(failures(session)) == []
        assert all("prod-1" in session.brief("Which host do we deploy the shop to?", budget) for budget in (120, 400))


def test_five_statements_of_a_user_stay_the_first_five(tmp_path: Path):
    said = [
        f"The deploy host of region {name} is prod-{name}.corp." for name in ("north", "south", "east", "west", "mid")
    ]
    with opened(tmp_path / "h") as session:
        for one in said:
            session.remember(one, trust="user")
        for trust in LESSER:
            flood(session, "echo", trust, 100, 50)
        assert {hit.entry.content for hit in session.search(QUESTION, k=5)} == {*said}


@pytest.mark.parametrize("trust", LESSER)
def test_a_statement_without_the_words_stays_among_the_first_five_by_its_meaning(tmp_path: Path, trust: str):
    with opened(tmp_path / "h", embedder="auto") as session:
        session.remember("Ship releases to prod-1.corp only.", trust="user")
        if not session.search(QUESTION):
            pytest.skip("needs the extra `vectors`")
        flood(session, "echo", trust, 1_000, 50)
        assert "prod-1" in " ".join(hit.entry.content for hit in session.search(QUESTION, k=5))
        assert all("prod-1" in session.brief(QUESTION, budget) for budget in (120, 400, 2_000))


@pytest.mark.parametrize("is_above", [False, True])
def test_a_flood_in_one_store_moves_no_statement_in_the_other(tmp_path: Path, is_above: bool):
    (tmp_path / "a").mkdir()
    place = place_of(tmp_path / "home", tmp_path / "a", shares=True)
    with Session.open("s", home=place, settings=Settings(embedder="none"), clock=lambda: 1_000) as session:
        session.remember(TRUTH, trust="user", scope="project" if is_above else "user")
        for number in range(60):
            content = SHAPES["echo"].format(number)
            session.remember(content, trust="assistant", scope="user" if is_above else "project")
        assert list(failures(session)) == []
