"""The file with the rules of a session: what is written is read again, and nothing damaged is believed."""

import json
from pathlib import Path

import pytest

from undrift.core.rules.typed import TypedSaying
from undrift.hooks.rules import KeptRules, load_kept, load_rules, save_rules
from undrift.values.rule import Rule, rule_id

_TEXT = "Never push to main."
_RULE = Rule(rule_id(_TEXT), _TEXT, "typed", "request 1, line 2", "session", ("You may push to main now.",))


def test_what_is_written_is_read_again_in_its_order(tmp_path: Path) -> None:
    other = Rule(rule_id("Use tabs."), "Use tabs.", "file", "CLAUDE.md:3", "project")
    save_rules(tmp_path, KeptRules((_RULE, other)))
    assert load_rules(tmp_path) == (_RULE, other)


def test_a_session_without_the_file_has_no_rules(tmp_path: Path) -> None:
    assert load_rules(tmp_path) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"text": ""},
        {"text": 7},
        {"text": "x" * 1_001},
        {"origin": "tool"},
        {"scope": "world"},
        {"later": "You may."},
        {"later": [7]},
        {"id": None},
    ],
)
def test_a_damaged_rule_is_passed_over_and_the_others_are_read(tmp_path: Path, change: dict[str, object]) -> None:
    save_rules(tmp_path, KeptRules((_RULE, _RULE)))
    value = json.loads((tmp_path / "rules.json").read_text())
    value["rules"][0].update(change)
    (tmp_path / "rules.json").write_text(json.dumps(value))
    assert load_rules(tmp_path) == (_RULE,)


@pytest.mark.parametrize("content", ["", "null", "[]", '{"version": 9, "rules": []}', '{"version": 1}', "[" * 100_000])
def test_a_file_that_is_none_of_ours_holds_no_rules(tmp_path: Path, content: str) -> None:
    (tmp_path / "rules.json").write_text(content)
    assert load_rules(tmp_path) == ()


def test_a_secret_in_a_rule_is_masked_in_the_file(tmp_path: Path) -> None:
    text = "Always use the key sk-ant-api03-" + "a1B2" * 20
    save_rules(tmp_path, KeptRules((Rule(rule_id(text), text, "typed", "request 1", "session"),)))
    assert "a1B2a1B2" not in (tmp_path / "rules.json").read_text()


def test_a_file_with_too_many_rules_keeps_its_first_and_costs_no_other_its_own(tmp_path: Path) -> None:
    many = [Rule(rule_id(f"Use {n}."), f"Use {n}.", "file", f"CLAUDE.md:{n}", "project") for n in range(2_000)]
    save_rules(tmp_path, KeptRules((_RULE, *many)))
    assert load_rules(tmp_path) == (_RULE, *many[:300])


def test_the_file_is_never_too_large_to_be_read_again(tmp_path: Path) -> None:
    long = [Rule(rule_id(str(n)), f"{n} " + "ä" * 990, "added", "undrift rules add", "project") for n in range(1_000)]
    save_rules(tmp_path, KeptRules((_RULE, *long), handed=("Use tabs.",)))
    assert (tmp_path / "rules.json").stat().st_size <= 1 << 20
    assert load_rules(tmp_path)[0] == _RULE
    assert load_kept(tmp_path).handed == ("Use tabs.",)


def test_a_rule_that_is_perhaps_one_is_kept_and_not_among_those_that_hold(tmp_path: Path) -> None:
    perhaps = Rule(rule_id("Two decimals."), "Two decimals.", "typed", "request 1", "session", sure=False)
    kept = KeptRules((_RULE, perhaps), (TypedSaying(_TEXT, "rule", "request 1, line 2"),), 3, frozenset({"0" * 12}))
    save_rules(tmp_path, kept)
    assert load_rules(tmp_path) == (_RULE,)
    assert load_kept(tmp_path) == kept
