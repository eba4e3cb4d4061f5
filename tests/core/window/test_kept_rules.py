"""A long text of the user that loses its middle keeps the rules in it, word for word."""

from itertools import pairwise

from undrift.core.text.tokens import characters_per_4
from undrift.core.window.kept_rules import rule_places
from undrift.core.window.paste import cut_text, plan_cut
from undrift.values.window import ContextEntry

RULE = "Never push to main, I do that myself."
TALK = "The export page shows the sums of each month and the totals of the year. " * 120


def said(text: str) -> ContextEntry:
    return ContextEntry("m.0", "reasoning", text, characters_per_4(text), 0, {"role": "user", "kind": "text"})


def shortened(text: str, keep: int = 500) -> str:
    planned = plan_cut(
        text, characters_per_4(text), keep, ref=None, count=characters_per_4, rules=lambda: rule_places(said(text))
    )
    assert planned is not None
    found = cut_text(text, planned.keep_head, planned.keep_tail, None, planned.rules)
    assert planned.tokens == characters_per_4(found)
    return found


def test_a_rule_in_the_middle_stays_and_what_is_around_it_leaves():
    short = shortened(f"Fix the export.\n{TALK}\n{RULE} Then look at the tests.\n{TALK}\nThanks.")
    assert f"\n{RULE}\n" in short
    assert "but for the rules in it" in short
    assert "Then look at the tests" not in short
    assert len(short) < 2_300


def test_a_sentence_that_lifts_a_rule_stays_as_well():
    lifted = "You may push to main again, forget that rule."
    short = shortened(f"Fix it.\n{TALK}\n{RULE}\n{TALK}\n{lifted}\n{TALK}\nThanks.")
    assert short.index(RULE) < short.index(lifted)


def test_a_rule_over_two_lines_keeps_its_line_end():
    rule = "From now on never write to the folder that holds the customers' files, not\neven for a test."
    assert rule in shortened(f"Fix it.\n{TALK}\n{rule}\n{TALK}\nThanks.")


def test_a_rule_that_the_cut_divides_stands_whole():
    sentence = TALK[: TALK.index(".") + 2]
    text = f"{sentence * (1_260 // len(sentence))}{RULE} {TALK}"
    short = shortened(text)
    head = short.partition("\n[")[0]
    assert text.index(RULE) < len(head) < text.index(RULE) + len(RULE)
    assert RULE in short


def test_pasted_and_prepared_texts_give_no_rule():
    pasted = f"Fix it. I got this mail:\n{TALK}\n{RULE}\n{TALK}"
    assert RULE not in shortened(pasted)
    assert rule_places(said(f"<system-reminder>{RULE}</system-reminder>")) == ()


def test_places_are_apart_ascending_and_bounded():
    text = "\n".join(f"Never touch the file number {number} of the archive." for number in range(400))
    places = rule_places(said(text))
    assert 0 < len(places) <= 64
    assert all(before[1] <= after[0] for before, after in pairwise(places))
    assert text[slice(*places[-1])] == "Never touch the file number 399 of the archive."


def test_a_quotation_within_a_rule_stays_with_it():
    rule = 'Never use the heading "All the sums of the customers and of their months" in the export.'
    assert rule in shortened(f"Fix it.\n{TALK}\n{rule} It is late.\n{TALK}\nThanks.")
