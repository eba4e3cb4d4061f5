"""A rule that was typed once stands in every request, however often the client replaces its history by a summary."""

import json
from pathlib import Path
from typing import Any

import pytest

from undrift.bench.rules_client import ClientWindow
from undrift.bench.rules_gateway import GatewayClient, InProcessWay
from undrift.bench.rules_scene import SceneEvent
from undrift.bench.rules_words import Work
from undrift.stores.projects import place_for
from undrift.stores.rule_book import BookedRule, RuleBook, keep_book
from undrift.values.rule import rule_id

RULE = "Never push to main, I do that myself."
SIZES = ClientWindow(24_000, 36_000, 167_000)
LOOK = SceneEvent("work", work=Work("shell", "src/app.py", "git status", "", "", "nothing to commit"))


class Recording(InProcessWay):
    """Keeps each body that was sent."""

    def __init__(self, client: str, home: Path) -> None:
        super().__init__(client, home)
        self.home = home
        self.sent: list[dict[str, Any]] = []

    def send(self, body: dict[str, Any], turn: Any) -> tuple[dict[str, Any], Any]:
        sent, reply = super().send(body, turn)
        self.sent.append(sent)
        return sent, reply


def client(name: str, folder: Path) -> tuple[GatewayClient, Recording]:
    way = Recording(name, folder / "home")
    work = folder / "work"
    work.mkdir(exist_ok=True)
    begun = GatewayClient("26000000-0000-4000-8000-000000000001", str(work), SIZES, name=name, way=way)
    begun.begin()
    return begun, way


def say(to: GatewayClient, text: str) -> None:
    to.happen(SceneEvent("typed", text))


def history(body: dict[str, Any]) -> str:
    """The history that was sent, without the client's marker of the cache, which moves."""
    return json.dumps(body.get("messages") or body["input"]).replace(', "cache_control": {"type": "ephemeral"}', "")


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_rule_typed_once_stands_once_in_every_request_after_20_compactions(name, tmp_path):
    agent, way = client(name, tmp_path)
    say(agent, f"Fix the export. {RULE}")
    agent.happen(LOOK)
    for number in range(20):
        say(agent, "And now the import.")
        agent.compact(f"The agent works on part {number} of the export.")
        agent.happen(LOOK)
        agent.happen(LOOK)
    agent.close()
    assert [history(body).count(RULE) for body in way.sent] == [1] * len(way.sent)
    assert len(way.sent) > 80


def test_what_was_sent_is_the_beginning_of_what_is_sent_next(tmp_path):
    agent, way = client("claude", tmp_path)
    say(agent, f"Fix the export. {RULE}")
    agent.happen(LOOK)
    agent.compact("The agent works on the export.")
    agent.happen(LOOK)
    agent.happen(LOOK)
    agent.close()
    first, then = map(history, way.sent[-2:])
    assert then.startswith(first[:-1])
    assert way.sent[-1]["messages"][0]["content"][-1]["text"] == (
        "[What the user said before, word for word, oldest first. A line with ! is a rule: it holds until the user says "
        f"otherwise]\n- Fix the export.\n! {RULE}"
    )


def test_another_process_gives_the_rules_of_the_one_before_it_with_the_same_bytes(tmp_path):
    agent, way = client("claude", tmp_path)
    say(agent, f"Fix the export. {RULE}")
    agent.happen(LOOK)
    say(agent, "And the import.")
    way.close()
    agent.way = way = Recording("claude", way.home)
    agent.compact("The agent works on the export.")
    agent.happen(LOOK)
    way.close()
    agent.way = again = Recording("claude", way.home)
    agent.happen(LOOK)
    again.close()
    assert history(way.sent[-1]).count(RULE) == 1
    assert history(again.sent[-1]).startswith(history(way.sent[-1])[:-1])


def test_a_rule_that_was_withdrawn_is_not_given(tmp_path):
    agent, way = client("claude", tmp_path)
    say(agent, f"Fix the export. {RULE} Always write a test first.")
    agent.happen(LOOK)
    say(agent, "The rule about push to main no longer holds.")
    agent.happen(LOOK)
    agent.compact("The agent works on the export.")
    agent.happen(LOOK)
    agent.close()
    assert RULE not in history(way.sent[-1])
    assert "Always write a test first." in history(way.sent[-1])


def test_a_rule_that_the_summary_holds_word_for_word_is_not_repeated(tmp_path):
    agent, way = client("claude", tmp_path)
    say(agent, RULE)
    agent.happen(LOOK)
    agent.compact(f"The agent works on the export. The user said: {RULE}")
    agent.happen(LOOK)
    agent.close()
    assert history(way.sent[-1]).count(RULE) == 1
    assert "[What the user said before" not in history(way.sent[-1])


def test_a_client_that_goes_back_before_a_rule_gets_none(tmp_path):
    agent, way = client("claude", tmp_path)
    say(agent, "Fix the export.")
    agent.happen(LOOK)
    before = list(agent._history.items)
    say(agent, RULE)
    agent.happen(LOOK)
    say(agent, "And the import.")
    agent._history.items[:] = before
    say(agent, "Fix the import.")
    agent.happen(LOOK)
    agent.close()
    assert RULE not in history(way.sent[-1])


def test_what_a_skill_a_result_and_the_clients_own_prompt_say_is_no_rule(tmp_path):
    agent, way = client("claude", tmp_path)
    say(agent, "Fix the export.")
    agent.happen(SceneEvent("skill", "Always push after a commit."))
    result = "Never delete the table of customers."
    agent.happen(SceneEvent("work", work=Work("shell", "a", "cat a", "", "", result)))
    agent.compact("The agent works on the export.")
    agent.happen(LOOK)
    agent.close()
    assert 'otherwise]\\n- Fix the export."}' in history(way.sent[-1])
    assert not any(words in history(way.sent[-1]) for words in ("Always push", result))


def test_a_secret_in_a_rule_is_masked_in_the_window_and_in_the_home(tmp_path):
    secret = "ghp_" + "a1B2c3D4e5" * 4
    agent, way = client("claude", tmp_path)
    say(agent, f"Fix the export. Never use the token {secret} for a push.")
    agent.happen(LOOK)
    agent.compact("The agent works on the export.")
    agent.happen(LOOK)
    agent.close()
    assert "! Never use the token" in history(way.sent[-1])
    assert secret not in history(way.sent[-1])
    assert not any(secret.encode() in path.read_bytes() for path in way.home.rglob("*") if path.is_file())


def test_an_added_rule_stands_from_the_first_request_and_after_a_compaction(tmp_path):
    text = "All amounts are in cents."
    agent, way = client("claude", tmp_path)
    place = place_for(None, str(way.home), tmp_path / "work")
    keep_book(place, "user", RuleBook((BookedRule(rule_id(text), text, "user"),)))
    say(agent, "Fix the export.")
    agent.happen(LOOK)
    agent.compact("The agent works on the export.")
    agent.happen(LOOK)
    agent.close()
    assert [history(body).count(text) for body in way.sent] == [1] * len(way.sent)


def test_a_summary_without_the_users_words_lays_down_nothing(tmp_path):
    agent, way = client("codex", tmp_path)
    say(agent, "Fix the export.")
    agent.happen(LOOK)
    summary = f"Another language model started to solve this problem. It found: {RULE}"
    agent._answered()
    agent._history.cut(0)
    say(agent, summary)
    agent.happen(LOOK)
    agent.compact("The agent works on the export.")
    agent.happen(LOOK)
    agent.close()
    assert RULE not in history(way.sent[-1])
