"""The file with added and removed rules: what is written is read again, secrets apart, and nothing damaged is believed."""

import json
from pathlib import Path

import pytest

from undrift.stores.projects import place_of
from undrift.stores.rule_book import BookedRule, RuleBook, added_rules, book_of, is_removed, keep_book
from undrift.values.project import Place
from undrift.values.rule import RuleScope, rule_id


def entry(text: str, scope: RuleScope = "project", session: str = "") -> BookedRule:
    return BookedRule(rule_id(text), text, scope, session)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    return place_of(tmp_path / "home", tmp_path / "repo", shares=True)


def test_what_is_written_is_read_again(place: Place):
    book = RuleBook((entry("Use tabs."), entry("Be short.", "session", "s")), (BookedRule("0" * 12, "", "project"),))
    keep_book(place, "project", book)
    assert book_of(place, "project") == book
    assert book_of(place, "user") == RuleBook()


def test_the_rules_of_a_session_are_those_of_the_person_the_project_and_itself(place: Place):
    keep_book(place, "project", RuleBook((entry("B.", "session", "s"), entry("C.", "session", "t"), entry("A."))))
    keep_book(place, "user", RuleBook((entry("U.", "user"),), (BookedRule("1" * 12, "", "user"),)))
    assert [(rule.text, rule.scope) for rule in added_rules(place, "s")] == [
        ("U.", "user"),
        ("A.", "project"),
        ("B.", "session"),
    ]
    assert is_removed(place, "s") == {"1" * 12}


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"version": 2, "added": [], "removed": []}', '{"version": 1, "added": [{"scope": "x"}]}', "[" * 90_000],
)
def test_a_damaged_file_holds_nothing(place: Place, content: str):
    keep_book(place, "project", RuleBook((entry("A."),)))
    (place.records / "rules.json").write_text(content)
    assert book_of(place, "project") == RuleBook()


def test_a_damaged_entry_is_passed_over(place: Place):
    keep_book(place, "project", RuleBook((entry("A."), entry("B."))))
    path = place.records / "rules.json"
    value = json.loads(path.read_text())
    value["added"][0]["text"] = "x" * 1_001
    path.write_text(json.dumps(value))
    assert [one.text for one in book_of(place, "project").added] == ["B."]


def test_only_its_owner_reads_the_file(place: Place):
    keep_book(place, "user", RuleBook((entry("A.", "user"),)))
    (path,) = (place.home / "user").glob("rules.json")
    assert path.stat().st_mode & 0o777 == 0o600
