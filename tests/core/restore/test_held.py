"""The rules that hold come first in the text, word for word; if they are too many the oldest are left out, and that is said."""

from tests.core.restore.test_restore import Recorded, items
from undrift.core.restore import Restored, restore, restore_words
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


def test_a_small_window_gets_the_rules_and_what_else_was_typed_alone() -> None:
    session = (
        Recorded().user(f"Fix the parser. {RULE}").said("Right.").call("Read", "1\tdef parse():", file_path="/a.py")
    )
    restored = restore_words(session.entries, budget_tokens=200, count=characters_per_4)
    assert section(restored) == [RULE]
    assert [item.text for item in items(restored, "said")] == ["Fix the parser."]
    assert {item.kind for item in restored.items} == {"rules", "said"}


def test_a_rule_that_no_sign_shows_to_be_one_comes_back_with_what_else_was_typed() -> None:
    session = Recorded().user(
        "The parser is slow, see where the time goes. third_party is the business of the other team."
    )
    for number in range(6):
        session.user(f"Now look at the page with number {number}.").said("Done.")
    (said,) = items(session.back(budget_tokens=1_500), "said")
    assert said.text.split("\n") == [
        "Now look at the page with number 0.",
        "Now look at the page with number 1.",
        "Now look at the page with number 2.",
    ]


def test_of_what_was_typed_the_sentences_most_like_a_rule_stay_in_the_order_of_typing() -> None:
    session = Recorded().user("Begin with the importer.")
    for number in range(80):
        session.user(f"The page with number {number} is slow on my laptop.")
        if number == 3:
            session.user("I would rather see no new file below legacy, if that can be had.")
    session.user("a, then").user("b, then").user("c, then")
    lines = items(session.back(budget_tokens=1_500), "said")[0].text.split("\n")
    assert lines[0] == "I would rather see no new file below legacy, if that can be had."
    assert 1 < len(lines) < 10
