"""The use of what a hook gave back: counted as help like a summary, counted by hand."""

from typing import Any

import pytest

from tests.core.autopsy.test_examine import CODE, LINE, Talk, work
from undrift.core.autopsy.findings import Compaction, Held
from undrift.core.text.tokens import characters_per_4
from undrift.values.restored import GOES_ON, TITLE

TEXT = f"{TITLE}## Files in work\n### timeouts.py\n{CODE}\n"


def compacted(summary: str = "Go on.") -> Talk:
    return work().compacted(summary)


def only(talk: Talk) -> Compaction:
    (found,) = talk.examined().compactions
    return found


def by_hook(talk: Talk, text: str = TEXT, client: str = "claude") -> Talk:
    """Both clients record the text: one as an attachment, the other as a developer's message."""
    return talk.user(text, meta=True) if client == "claude" else talk._add("system", "text", text)


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_the_text_counts_as_help_and_not_as_new_words(client: str):
    found = only(by_hook(compacted(), client=client).said(f"So:\n{LINE}"))
    assert (found.identifiers, found.lines) == (4, 1)
    assert (found.native.identifiers, found.native.lines) == (0, 0)
    assert found.given is not None
    tokens = characters_per_4(TEXT)
    assert found.given.held == Held(4, 1, tokens)
    assert found.given.tokens == tokens
    assert found.given.alone == Held(4, 1, -(-len(CODE) // 4))
    assert found.given.results == 1
    assert found.given.cost > 0


def test_without_a_hook_nothing_was_given():
    assert only(compacted().said(f"So:\n{LINE}")).given is None
    assert only(by_hook(compacted(), "Something else.").said(f"So:\n{LINE}")).given is None


def test_what_the_summary_holds_too_is_not_the_texts_alone():
    found = only(by_hook(compacted(f"The line is\n{LINE}")).said(f"So:\n{LINE}"))
    assert found.given is not None
    assert found.given.held.lines == 1
    assert (found.given.together.identifiers, found.given.together.lines) == (4, 1)
    assert (found.given.alone, found.given.results) == (Held(0, 0, 0), 0)


def test_what_was_fetched_again_before_its_use_is_not_the_texts_alone():
    talk = by_hook(compacted()).call("Read", CODE, file_path="/repo/timeouts.py").said(f"So:\n{LINE}")
    found = only(talk)
    assert found.given is not None
    assert (found.given.held.lines, found.given.alone) == (1, Held(0, 0, 0))
    assert len(found.fetches) == 1, "reading again what was given back is reading again"


def test_a_second_part_counts_too_and_a_later_text_does_not():
    both = by_hook(by_hook(compacted(), f"{TITLE}Nothing.\n"), GOES_ON + CODE).said(f"So:\n{LINE}")
    found = only(both).given
    assert found is not None
    assert found.held.lines == 1
    assert found.tokens == characters_per_4(f"{TITLE}Nothing.\n") + characters_per_4(GOES_ON + CODE)
    assert only(by_hook(compacted().said("I look.")).said(f"So:\n{LINE}")).given is None


def test_a_person_who_pastes_such_a_text_is_no_hook():
    assert only(compacted().user(TEXT).said(f"So:\n{LINE}")).given is None


def test_each_compaction_has_its_own_text():
    talk: Any = by_hook(compacted()).said(f"So:\n{LINE}").reads(3).compacted("Again.").said("Done.")
    assert [one.given is not None for one in talk.examined().compactions] == [True, False]
