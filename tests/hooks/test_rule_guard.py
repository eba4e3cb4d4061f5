"""Before a call: the person's own sentence is shown, or the call is asked about; by itself the hook refuses nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from undrift.hooks.answer import answer
from undrift.hooks.call import Options
from undrift.hooks.home import folder_of
from undrift.hooks.rule_guard import say_again
from undrift.hooks.rules import KeptRules, save_rules
from undrift.values.rule import Rule, rule_id

RULE = "Never push to main."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    folder = folder_of(tmp_path / "home", "claude-s1")
    save_rules(folder, KeptRules((laid_down(RULE),), requests=1))
    return tmp_path


def laid_down(text: str, **more: Any) -> Rule:
    return Rule(rule_id(text), text, "typed", "request 1, line 1", "session", **more)


def keep(home: Path, *rules: Rule, requests: int = 1) -> None:
    save_rules(folder_of(home / "home", "claude-s1"), KeptRules(rules, requests=requests))


def said(home: Path, command: str = "git push origin main", client: str = "claude", **more: Any) -> dict[str, Any]:
    payload = {"session_id": "s1", "cwd": str(home), "tool_name": "Bash", "tool_input": {"command": command}, **more}
    options = Options(client=client, home=str(home / "home"), client_home=str(home / f".{client}"))
    text = answer("PreToolUse", json.dumps(payload).encode(), options)
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def setting(home: Path, value: str) -> None:
    path = home / ".config" / "undrift" / "undrift.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f'rule_guard = "{value}"\nbudget_tokens = 90000\n')


def test_the_agent_reads_the_sentence_and_the_person_a_line(home: Path):
    found = said(home)
    assert RULE in found["hookSpecificOutput"]["additionalContext"]
    assert "git push origin main" in found["systemMessage"]
    assert "permissionDecision" not in found["hookSpecificOutput"]


def test_a_call_that_contradicts_nothing_is_passed_over(home: Path):
    assert said(home, "git push origin feat/x") == {}
    assert said(home, "git log main") == {}


def test_a_rule_is_said_three_times_in_a_window(home: Path):
    assert [bool(said(home)) for _ in range(4)] == [True, True, True, False]
    say_again(folder_of(home / "home", "claude-s1"))
    assert [bool(said(home)) for _ in range(4)] == [True, True, True, False]


def test_the_person_is_asked_each_time_if_the_setting_says_so(home: Path):
    setting(home, "ask")
    for _ in range(4):
        given = said(home)["hookSpecificOutput"]
        assert given["permissionDecision"] == "ask"
        assert RULE in given["permissionDecisionReason"]


def test_off_says_nothing_and_no_variable_of_a_project_counts(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("UNDRIFT_RULE_GUARD", "off")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "other"))
    assert said(home)
    setting(home, "off")
    assert said(home) == {}


def test_the_branch_is_read_from_the_files_of_git(home: Path):
    keep(home, laid_down("No commits on main."))
    (home / ".git").mkdir()
    (home / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert said(home, "git commit -m x")
    (home / ".git" / "HEAD").write_text("ref: refs/heads/feat/x\n")
    assert said(home, "git commit -m x") == {}


@pytest.mark.parametrize("more", [{"tool_input": None}, {"tool_input": []}, {"tool_name": 3}, {"cwd": "relative"}])
def test_a_strange_payload_never_fails_the_client(home: Path, more: dict[str, Any]):
    said(home, **more)
    assert not (home / "home" / "hooks.log").exists()


def test_a_secret_in_the_call_is_masked(home: Path):
    token = "ghp_" + "a1B2c3D4e5" * 4
    shown = json.dumps(said(home, f"git push https://{token}@example.org/x.git main && git push origin main"))
    assert token not in shown


def test_what_lifts_a_rule_and_what_is_only_perhaps_one_forbid_nothing(home: Path):
    keep(home, laid_down(RULE, lifts=True))
    assert said(home) == {}
    keep(home, laid_down(RULE, sure=False))
    assert said(home) == {}


def test_what_was_said_of_one_request_ends_with_it(home: Path):
    keep(home, laid_down("Don't change anything, just look."), requests=1)
    assert said(home, "touch a.py")
    keep(home, laid_down("Don't change anything, just look."), requests=2)
    assert said(home, "touch a.py") == {}
    keep(home, laid_down(RULE), requests=2)
    assert said(home)
