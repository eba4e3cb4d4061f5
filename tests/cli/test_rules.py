"""`undrift rules`: what holds is listed with its place; a rule can be added, removed and brought back."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import claude
from tests.cli.test_handoff import Desk
from tests.hooks.builders import SESSION, with_ids
from undrift.core.restore.carried import rules_of_handoff
from undrift.hooks.rule_files import MOST_BYTES
from undrift.values.rule import rule_id

RULE = "Never touch the file build.lock."
OF_FILE = "Always run make check before you commit."


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    (desk.project / ".git").mkdir()
    (desk.project / "CLAUDE.md").write_text(f"# Rules\n\n{OF_FILE}\n")
    desk.works()
    return desk


def listed(desk: Desk, *words: str) -> dict[str, Any]:
    code, printed, _ = desk.runs("rules", *words, "--json")
    assert code == 0
    found: dict[str, Any] = json.loads(printed)
    return found


def texts(desk: Desk) -> list[str]:
    return [rule["text"] for rule in listed(desk)["rules"]]


def test_typed_rules_and_those_of_files_are_listed_without_any_store(desk: Desk):
    found = listed(desk)
    assert found["session"] == f"claude:{SESSION}"
    assert [(rule["text"], rule["origin"], rule["where"], rule["scope"]) for rule in found["rules"]] == [
        (OF_FILE, "file", "CLAUDE.md:3", "project"),
        (RULE, "typed", "request 1, line 1", "session"),
    ]
    code, printed, _ = desk.runs("rules")
    assert code == 0
    assert "2 rules hold." in printed
    assert f"{rule_id(RULE)}  {RULE}" in printed
    assert not (desk.home / "projects").exists()


def test_a_rule_is_added_with_its_scope_and_removed_for_good(desk: Desk):
    for text, scope in (("Use tabs.", "user"), ("Keep it short.", "project"), ("Only touch docs/.", "session")):
        code, printed, _ = desk.runs("rules", "add", text, "--scope", scope)
        assert (code, printed.strip()) == (0, rule_id(text))
    found = listed(desk)["rules"]
    assert [(one["text"], one["scope"]) for one in found if one["origin"] == "added"] == [
        ("Use tabs.", "user"),
        ("Keep it short.", "project"),
        ("Only touch docs/.", "session"),
    ]
    assert desk.runs("rules", "remove", rule_id("Keep it short.")[:6])[0] == 0
    assert "Keep it short." not in texts(desk)
    files = [path.read_text() for path in desk.home.rglob("rules.json")]
    assert not any("Keep it short." in text for text in files)


def test_a_secret_in_an_added_rule_is_masked_before_it_is_written(desk: Desk):
    assert desk.runs("rules", "add", "Use the key sk-ant-api03-" + "a1B2" * 20)[0] == 0
    (written,) = [path.read_text() for path in desk.home.rglob("rules.json")]
    assert "a1B2a1B2" not in written
    assert any(text.startswith("Use the key [masked:") for text in texts(desk))


@pytest.mark.parametrize("text", [RULE, OF_FILE])
def test_a_removed_rule_stays_removed_until_it_is_added_again(desk: Desk, text: str):
    assert desk.runs("rules", "remove", rule_id(text))[0] == 0
    assert text not in texts(desk)
    assert [rule["text"] for rule in listed(desk)["removed"]] == [text]
    code, printed, _ = desk.runs("rules", "list", "--all")
    assert code == 0
    assert "you removed it" in printed
    assert desk.runs("rules", "add", text)[0] == 0
    assert texts(desk) == [OF_FILE, RULE]


def test_a_rule_that_ended_is_shown_with_what_ended_it(desk: Desk):
    desk.user.write(
        with_ids(
            [claude("user", "Never use inline styles."), claude("user", "Inline styles are allowed again.")],
            desk.project,
        )
    )
    assert [(one["rule"]["text"], one["by"]) for one in listed(desk, "--all")["ended"]] == [
        ("Never use inline styles.", "Inline styles are allowed again.")
    ]


def test_an_unknown_id_and_an_empty_rule_are_refused_with_a_remedy(desk: Desk):
    code, _, said = desk.runs("rules", "remove", "ffffffffffff")
    assert (code, "`undrift rules` lists them" in said) == (1, True)
    assert desk.runs("rules", "add", "  ")[0] == 1


def test_a_project_without_a_recording_has_the_rules_of_its_files(desk: Desk):
    desk.user.transcript().unlink()
    assert texts(desk) == [OF_FILE]
    code, _, said = desk.runs("rules", "add", "Use tabs.", "--scope", "session")
    assert (code, "--scope project" in said) == (1, True)


def test_what_a_message_of_many_rules_leaves_out_is_said(desk: Desk):
    many = "\n\n".join(f"Never rename the column number_{number}." for number in range(120))
    desk.user.write(with_ids([claude("user", RULE), claude("user", many)], desk.project))
    code, printed, said = desk.runs("rules")
    assert (code, RULE in printed) == (0, True)
    assert "request 2: 70 more sentences left out; of one message the first 50 are kept" in said


def test_a_removed_rule_with_a_secret_stays_removed(desk: Desk):
    secret = "Always use the key sk-ant-api03-" + "a1B2" * 20 + "."
    desk.user.write(with_ids([claude("user", secret)], desk.project))
    (rule,) = [one for one in listed(desk)["rules"] if one["origin"] == "typed"]
    assert rule["id"] == rule_id(rule["text"])
    assert desk.runs("rules", "remove", rule["id"])[0] == 0
    assert texts(desk) == [OF_FILE]


def test_the_files_that_were_not_read_are_named_in_the_json_too(desk: Desk):
    (desk.project / "AGENTS.md").write_text("x" * (MOST_BYTES + 1))
    assert listed(desk)["unread"] == ["AGENTS.md"]
    assert "AGENTS.md: not read" in desk.runs("rules")[2]


def test_a_handoff_gives_the_rules_that_are_listed_each_below_its_source(desk: Desk):
    for text, scope in (("Use tabs.", "user"), ("Only touch docs/.", "session")):
        assert desk.runs("rules", "add", text, "--scope", scope)[0] == 0
    assert rules_handed(desk) == [
        "### file CLAUDE.md",
        OF_FILE,
        "### added, scope user",
        "Use tabs.",
        "### added, scope session",
        "Only touch docs/.",
        "### typed, request 1",
        RULE,
    ]
    assert desk.runs("rules", "remove", rule_id(RULE), "--scope", "session")[0] == 0
    assert rules_handed(desk)[-2:] == ["### added, scope session", "Only touch docs/."]
    desk.runs("continue", "--after-clear")
    text = desk.user.starts("clear", cwd=str(desk.project))
    assert RULE not in text.partition("## Rules that hold\n")[2].partition("\n## ")[0]
    assert {rule.text for rule in rules_of_handoff(text)} == {
        "Only touch docs/."
    }  # the others are read where they stand


def test_a_session_of_another_project_is_handed_over_with_what_was_added_for_it_there(desk: Desk, tmp_path: Path):
    path = desk.works()
    for text, scope in (("Never push.", "project"), ("Only touch docs/.", "session")):
        assert desk.runs("rules", "add", text, "--scope", scope)[0] == 0
    desk.project = tmp_path / "other"
    desk.project.mkdir()
    assert rules_handed(desk, str(path)) == [
        "### added, scope session",
        "Only touch docs/.",
        "### typed, request 1",
        RULE,
    ]


def rules_handed(desk: Desk, *words: str) -> list[str]:
    code, shown, said = desk.runs("handoff", "--print", *words)
    assert code == 0, said
    section = shown.partition("## Rules that hold\n")[2].partition("\n## ")[0]
    return [line for line in section.split("\n") if line]
