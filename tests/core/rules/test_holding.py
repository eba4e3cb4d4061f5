"""Which typed rules hold: one that is plainly taken back has ended, and in doubt both sentences stand, in order."""

import pytest

from tests.core.rules.test_typed import message
from undrift.core.rules.holding import HeldRules, holding
from undrift.core.rules.typed import TypedSaying, sayings
from undrift.values.rule import Rule, rule_id


def held(*texts: str) -> HeldRules:
    return holding(sayings([message(text, number) for number, text in enumerate(texts)]))


@pytest.mark.parametrize(
    ("rule", "lifting"),
    [
        ("Never use inline styles.", "Inline styles are allowed again."),
        ("Answer in at most ten lines.", "Forget the rule about the ten lines."),
        ("Use pnpm for everything.", "The pnpm rule no longer holds."),
    ],
)
def test_a_rule_that_is_taken_back_has_ended(rule: str, lifting: str) -> None:
    found = held("Always ask before deleting files.", rule, lifting)
    assert [one.text for one in found.rules] == ["Always ask before deleting files.", lifting]
    assert [(one.rule.text, one.by) for one in found.ended] == [(rule, lifting)]


@pytest.mark.parametrize(
    ("rule", "lifting"),
    [
        ("Never push to origin.", "Pushing to the staging remote is fine now."),
        ("Every change needs an entry in the changelog.", "The changelog rule does not apply to docs."),
        (
            "No force pushes, and every branch name begins with the ticket.",
            "You no longer need the ticket in branch names.",
        ),
        ("Do not touch the templates.", "Templates for mails are open for edits as of now, the others stay closed."),
        ("Never install packages.", "You may install packages until tonight."),
        ("Round amounts up, always.", "What I said about amounts: in the report they may be rounded down."),
        ("Commit only when I say so.", "For the docs just commit, for the rest ask as before."),
    ],
)
def test_in_doubt_a_rule_stays_and_the_later_sentence_stands_behind_it(rule: str, lifting: str) -> None:
    found = held(rule, "Use tabs, not spaces.", lifting)
    assert [one.text for one in found.rules] == [rule, "Use tabs, not spaces.", lifting]
    assert found.rules[0].later == (lifting,)
    assert not found.rules[1].later
    assert [one.lifts for one in found.rules] == [False, False, True]
    assert not found.ended


def test_what_only_points_back_stands_behind_the_rule_of_the_sentence_before_it() -> None:
    found = held("Never edit the schema.", "Forget what I said about the schema of the cache. There you may change it.")
    assert found.rules[0].later[-1] == "There you may change it."


def test_a_long_sentence_that_shares_a_word_by_chance_is_not_about_a_rule() -> None:
    long = (
        "For the search page we may show the title, author, date, price, rating, cover and a button to push an order."
    )
    found = held("Never push to the remote of the release team.", long)
    assert not found.rules[0].later


def test_a_permission_about_no_rule_is_not_sure() -> None:
    found = held("Never push to origin.", "You can use the helper in utils.")
    assert [one.text for one in found.rules] == ["Never push to origin."]
    assert [(one.text, one.sure) for one in found.shown[1:]] == [("You can use the helper in utils.", False)]


def test_a_rule_that_is_laid_down_again_stands_where_it_was_said_last() -> None:
    found = held("Never push to main.", "Use tabs, not spaces.", "I repeat it.\nNever push to main.")
    assert [(one.text, one.where) for one in found.rules] == [
        ("Use tabs, not spaces.", "request 2, line 1"),
        ("Never push to main.", "request 3, line 2"),
    ]


def test_a_typed_sentence_ends_no_rule_of_a_file_but_stands_behind_it() -> None:
    text = "Never use inline styles."
    rule = Rule(rule_id(text), text, "file", "CLAUDE.md:3", "project")
    found = holding(sayings([message("Inline styles are allowed again.")]), before=[rule])
    assert found.rules[0].later == ("Inline styles are allowed again.",)
    assert not found.ended


def test_thousands_of_sentences_cost_little_more_each() -> None:
    said = [
        TypedSaying(
            f"Never rename the column number_{n}." if n % 2 else f"Column number_{n} may go now.",
            "rule" if n % 2 else "lifts",
            "here",
        )
        for n in range(20_000)
    ]
    found = holding(said)
    assert len(found.shown) <= 2_000
