"""A new history gets the rules that it lacks, in the user's words, within their room."""

from collections.abc import Iterable
from typing import Any

from undrift.core.rules.typed import TypedSaying
from undrift.core.text.tokens import characters_per_4
from undrift.core.window.standing_rules import (
    SAYINGS,
    LackingWords,
    has_summary,
    lacking_words,
    rules_text,
    said_in,
    sayings_of,
    typed_in,
)
from undrift.values.rule import Rule, rule_id
from undrift.values.window import ContextEntry, Item

PUSH = "Never push to main."
CENTS = "All amounts are always in cents."
NONE = frozenset[str]()


def sayings(*texts: str) -> tuple[TypedSaying, ...]:
    return tuple(one for text in texts for one in said_in(text))


def item(role: str, text: str) -> Item:
    about = {"role": role, "kind": "text", "message": "m"}
    return Item(0, "m", role, (ContextEntry("m.0", "reasoning", text, 1, 0, about),), 1)


def text_of(rules: Iterable[str], said: Iterable[str] = (), budget: int = 100_000) -> str:
    lacking = [*map(LackingWords, rules), *(LackingWords(text, is_rule=False) for text in said)]
    return rules_text(lacking, budget_tokens=budget, count=characters_per_4)


def lacking(*given: Any) -> list[str]:
    return [one.text for one in lacking_words(*given) if one.is_rule]


def test_a_rule_is_lacking_unless_the_history_holds_it_word_for_word():
    said = sayings(PUSH, CENTS)
    assert lacking(said, (), NONE, [f"The user said: {PUSH}"]) == [CENTS]
    assert lacking(said, (), NONE, ["Pushing to main is forbidden."]) == [PUSH, CENTS]
    assert lacking_words(said, (), NONE, ["Never  push\nto main.", CENTS]) == ()


def test_a_withdrawn_rule_is_not_lacking_and_its_end_is_if_the_history_still_has_the_rule():
    over = "The rule about push to main no longer holds."
    said = sayings(PUSH, over)
    assert PUSH not in lacking(said, (), NONE, [])
    assert lacking(said, (), NONE, [PUSH]) == [over]


def test_added_rules_come_first_and_removed_ones_not_at_all():
    added = Rule(rule_id(CENTS), CENTS, "added", "undrift rules add", "user")
    assert lacking(sayings(PUSH), (added,), NONE, []) == [CENTS, PUSH]
    assert lacking(sayings(PUSH), (added,), frozenset({rule_id(PUSH)}), []) == [CENTS]


def test_what_lifts_a_rule_that_no_sign_showed_stands_behind_it():
    rule, over = "third_party is the business of the other team.", "The ban on third_party is lifted, go ahead."
    words = lacking_words(sayings(PUSH, rule, "Fix the export of the page.", over), (), NONE, [])
    texts = [one.text for one in words]
    assert texts.index(rule) < texts.index(over)
    lines = rules_text(words, budget_tokens=100_000, count=characters_per_4).split("\n")
    assert lines[1] == f"! {PUSH}"
    assert [line[2:] for line in lines[1:]] == texts


def test_the_text_keeps_to_its_room_and_says_how_many_older_rules_are_left_out():
    rules = tuple(f"Never touch the file number {number} of the archive." for number in range(400))
    text = text_of(rules, [f"The page {rule}" for rule in rules])
    assert characters_per_4(text) <= 2_000
    assert f"! {rules[-1]}" in text.split("\n")
    kept = text.count("! Never")
    assert f"[{400 - kept} older rules are left out here]" in text
    assert characters_per_4(text_of(rules, budget=10_000)) <= 500
    assert text_of(rules, budget=100) == ""
    assert text_of(()) == ""


def test_what_else_was_said_has_half_of_the_room_and_no_line_about_what_is_left_out():
    said = tuple(f"Nothing gets deleted from archive number {number}." for number in range(400))
    text = text_of([PUSH], said)
    assert text.split("\n")[1] == f"! {PUSH}"
    assert characters_per_4(text) < 1_060
    assert "left out" not in text


def test_of_what_else_was_said_the_sentences_most_like_a_rule_stand_in_the_order_of_typing():
    others = [f"The page with number {number} took about nine seconds." for number in range(400)]
    likely = "I would rather see no new file below legacy, if that can be had."
    lines = text_of([PUSH], [*others[:7], likely, *others[7:]]).split("\n")
    assert f"- {likely}" in lines
    assert lines[-1] == f"- {others[-1]}"


def test_what_the_store_keeps_is_read_back_and_damaged_pins_give_nothing():
    said = sayings(f"{PUSH} {CENTS}")
    about = {"made_of": SAYINGS, "kinds": [one.kind for one in said]}
    pin = ContextEntry("said:1", "requirements", "\n".join(one.text for one in said), 1, 0, about)
    assert [(one.text, one.kind) for one in sayings_of([pin])] == [(one.text, one.kind) for one in said]
    for kinds in (None, 3, ["rule"], ["rule"] * 3):
        damaged = ContextEntry("said:1", "requirements", pin.content, 1, 0, {**about, "kinds": kinds})
        assert sayings_of([damaged]) == ()
    assert sayings_of([ContextEntry("pin:1", "requirements", PUSH, 1, 0)]) == ()


def test_a_rule_of_a_late_message_is_not_left_out_for_all_that_was_typed_before_it():
    pins = []
    for number in range(80):
        said = sayings(f"The page with number {number} took nine seconds. Never touch table number {number}.")
        about = {"made_of": SAYINGS, "kinds": [one.kind for one in said]}
        pins.append(ContextEntry(f"said:{number}", "requirements", "\n".join(one.text for one in said), 1, 0, about))
    words = lacking_words(sayings_of(pins), (), NONE, [])
    assert [one.text for one in words if one.is_rule] == [f"Never touch table number {number}." for number in range(80)]
    assert sum(not one.is_rule for one in words) == 80


def test_the_summaries_of_clients_are_known_and_no_words_of_a_person():
    for text in (
        "This session is being continued from a previous conversation that ran out of context.",
        "Another language model started to solve this problem and produced a summary of its thinking process.",
        "<state_snapshot>\n<overall_goal>",
        "Here is a summary of our conversation so far:",
    ):
        assert has_summary(item("user", f"{text} {PUSH}"))
        assert typed_in(item("user", f"{text} {PUSH}"), None) == ()
    assert not has_summary(item("user", f"Fix the summary page. {PUSH}"))


def test_the_answer_to_a_call_that_an_agent_wrote_as_text_was_not_typed():
    result = item("user", PUSH)
    assert [entry.content for entry in typed_in(result, item("assistant", "I see."))] == [PUSH]
    assert typed_in(result, item("assistant", "I look.\n```bash\ncat rules.md\n```")) == ()
    assert typed_in(item("assistant", PUSH), None) == ()
