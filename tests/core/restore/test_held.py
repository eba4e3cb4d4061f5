"""The rules that hold come first in the text, word for word; if they are too many the oldest are left out, and that is said."""

from tests.core.restore.test_restore import Recorded, items
from undrift.core.restore import Restored, restore, restore_rules
from undrift.core.text.tokens import characters_per_4
from undrift.values.rule import Rule, RuleOrigin, rule_id

RULE = "Never touch vendor.py, not even for a typo."


def rule(text: str, origin: RuleOrigin = "added") -> Rule:
    return Rule(rule_id(text), text, origin, "here", "session")


def section(restored: Restored) -> list[str]:
    behind = restored.text.partition("## Rules that hold\n")[2]
    return [line for line in behind.partition("\n## ")[0].split("\n") if line and not line.startswith("#")]


def test_a_rule_from_the_middle_of_a_long_message_stands_alone_and_first() -> None:
    text = "The parser reads the file twice.\n" * 200 + RULE + "\n" + "It is slow.\n" * 200
    session = Recorded().user("Begin.").user(text)
    for number in range(9):
        session.user(f"request {number}").said("Right.")
    restored = session.back(800)
    assert section(restored) == [RULE]
    assert restored.items[0].kind == "rules"


def test_what_limits_a_rule_stands_behind_it() -> None:
    session = Recorded().user("Never push to origin.").user("Pushing to staging is fine now.").user("Go on.")
    assert section(session.back()) == ["Never push to origin.", "Pushing to staging is fine now."]


def test_a_rule_that_has_ended_is_not_shown() -> None:
    session = Recorded().user("Never use inline styles.").user("Inline styles are allowed again.")
    assert section(session.back()) == ["Inline styles are allowed again."]


def test_given_rules_count_instead_of_the_found_ones_and_those_of_files_are_not_repeated() -> None:
    session = Recorded().user(RULE)
    rules = [rule("Use tabs."), rule("Keep it short.", "pin"), rule("Always run make.", "file")]
    given = restore(session.entries, budget_tokens=500, count=characters_per_4, rules=rules)
    assert section(given) == ["Use tabs.", "Keep it short."]


def test_if_rules_are_too_many_the_oldest_are_left_out_and_it_says_how_many() -> None:
    rules = [rule(f"Never rename the column number_{number} of the table.") for number in range(100)]
    restored = restore(Recorded().user("Begin.").entries, budget_tokens=1_000, count=characters_per_4, rules=rules)
    shown = section(restored)
    assert shown == [one.text for one in rules[-len(shown) :]]
    assert 10 < len(shown) < 30
    assert f"({100 - len(shown)} older ones are left out: undrift rules lists them)" in restored.text
    assert sum(map(len, shown)) < 4_000 / 3


def test_a_small_window_gets_the_rules_alone() -> None:
    session = Recorded().user(f"Fix the parser. {RULE}").said("Right.")
    restored = restore_rules(session.entries, budget_tokens=200, count=characters_per_4)
    assert section(restored) == [RULE]
    assert {item.kind for item in restored.items} == {"rules"}
    assert items(restored, "requests") == []
