"""Help, errors, documents and docstrings are in the words of docs/GLOSSARY.md, in short sentences that say the subject first."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.house.language import (
    LONGEST_SENTENCE_WORDS,
    Offence,
    Passage,
    help_offences,
    markdown_offences,
    offences,
    source_offences,
)

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/undrift"

DOCUMENTS_NOT_YET: tuple[str, ...] = ()
"""Documents that wait for their rewriting. The tuple only gets shorter."""

HELP_NOT_YET: tuple[str, ...] = ()
"""Modules of commands whose help texts wait for their rewriting. The tuple only gets shorter."""

ROOMS_NOT_YET: tuple[str, ...] = ()
"""Rooms whose docstrings, errors and comments wait for their rewriting. The tuple only gets shorter, and is empty in the end."""

GONE = (
    "where nothing says which one holds",
    "is as right after operation",
    "nothing is known under",
    "both are of one owner and it is vouched",
    "What is put into a history besides what the client",
    "The client gave the id; a later request",
    "Where what must stay takes much of the budget",
    "left out where nothing is in them, like all",
    "a known one is what a reading would give",
    "What is sent in place of an item: what is left",
    "has no word of the question",
    "Delete rows, and what is kept of when",
    "Ids of entries that were decided about",
    "What has to stay did",
    "The beginnings left alone and the moments chosen",
    "over budget, as what must stay exceeds it",
    "used nothing rare of what it knew",
    "the first 1 call, 2 min after",
    "was ever compacted: nothing was thrown away",
    "settle what it means for what is there",
    "Make all that is searched anew",
    "Of the record (default",
    "Of FILE, where it cannot be detected",
    "Serve a listening socket of the starter",
    "this path does not tell whose it is",
    "Whose request it is follows from its path",
    "Of the rest those lines and blocks stay",
    "above 0 nothing is: a dispatcher asks so",
    "what was superseded behind it, what is unsure",
    "Of the newest answer nothing leaves",
    "A session that goes by worth also reckons",
    "takes nothing but the summary for kept",
    "Where stdout is closed, nothing is done",
    "is found by nobody this way",
    "each session under the name by which a person",
    "blank lines stand for those before them",
    "is what of its body was read before",
    "Tell it to a machine",
)
"""The beginnings of sentences that readers had to read twice: each was rewritten, and none comes back."""


def documents() -> list[str]:
    paths = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    paths += (ROOT / "plugins").glob("*.md")
    return sorted(str(path.relative_to(ROOT)) for path in paths)


def room(path: Path) -> str:
    """The room of a source file: `wire`, `core/text`, or the file's own name in the package root."""
    parts = path.relative_to(PACKAGE).parts
    if len(parts) == 1:
        return parts[0].removesuffix(".py")
    return "/".join(parts[:2]) if parts[0] == "core" and len(parts) > 2 else parts[0]


ROOMS = sorted({room(path) for path in PACKAGE.rglob("*.py")})


def report(found: Iterable[Offence]) -> str:
    lines = [str(offence) for offence in found]
    return "\n".join([*lines, "docs/GLOSSARY.md has our words; python -m tests.house.language PATH lists what is left"])


@pytest.mark.parametrize("path", [path for path in documents() if path not in DOCUMENTS_NOT_YET])
def test_a_document_is_in_our_words(path: str) -> None:
    found = markdown_offences(path, (ROOT / path).read_text(encoding="utf-8"))
    assert not found, report(found)


def test_help_is_in_our_words() -> None:
    paths = [path for path in sorted(PACKAGE.glob("cli/**/*.py")) if str(path.relative_to(PACKAGE)) not in HELP_NOT_YET]
    found = [
        offence
        for path in paths
        for offence in help_offences(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    ]
    assert not found, report(found)


@pytest.mark.parametrize("name", [name for name in ROOMS if name not in ROOMS_NOT_YET])
def test_a_room_is_in_our_words(name: str) -> None:
    paths = sorted(path for path in PACKAGE.rglob("*.py") if room(path) == name)
    found = [
        offence
        for path in paths
        for offence in source_offences(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    ]
    assert not found, report(found)


def test_no_sentence_that_had_to_be_read_twice_comes_back() -> None:
    paths = [*PACKAGE.rglob("*.py"), *(ROOT / path for path in documents())]
    texts = {str(path.relative_to(ROOT)): " ".join(path.read_text(encoding="utf-8").split()) for path in paths}
    assert [(path, words) for path, text in texts.items() for words in GONE if words in text] == []


def test_what_waits_exists() -> None:
    assert set(DOCUMENTS_NOT_YET) <= set(documents())
    assert set(ROOMS_NOT_YET) <= set(ROOMS)
    assert all((PACKAGE / path).is_file() for path in HELP_NOT_YET)


# -------------------------------------------------------------------------------------------------------- the rules work


def rules(text: str, **how: bool) -> list[str]:
    return [offence.rule for offence in offences(Passage("x", 1, text, **how))]


def test_a_long_sentence_is_found() -> None:
    longest = " ".join(["word"] * LONGEST_SENTENCE_WORDS)
    assert rules(f"{longest}. W{longest}.") == []
    assert rules(f"{longest} more.") == ["length"]
    assert rules(f"{longest} `some code here` and [a link](docs/x.md).") == ["length"]
    assert rules(f"{longest}:\n{longest}") == []  # a list follows


@pytest.mark.parametrize(
    "word", ["anew", "in force", "Taken up", "vouched", "what is left of it", "whose request it is"]
)
def test_a_word_that_is_not_ours_is_found_with_its_remedy(word: str) -> None:
    (offence,) = offences(Passage("x", 1, f"It is {word} here."))
    assert offence.rule == "word"
    assert word in str(offence)


@pytest.mark.parametrize(
    "text",
    ["The word `anew` is code.", "It says “made anew”.", "A newcomer.", "See https://example.org/anew/x.", "--told"],
)
def test_code_quotes_and_other_words_are_let_through(text: str) -> None:
    assert rules(text) == []


@pytest.mark.parametrize(
    "text", ["Of the rest, lines stay.", "What must stay did.", "Where it fails, stop.", "- Of X, Y is Z."]
)
def test_an_inverted_opening_is_found(text: str) -> None:
    assert rules(text) == ["opening"]
    assert rules(f"A sentence before. {text.lstrip('- ')}") == ["opening"]


def test_a_question_may_open_so() -> None:
    assert rules("What is it for?") == []
    assert rules("How much memory it takes.") == []
    assert rules("How much memory it takes.", is_first=True) == ["opening"]


@pytest.mark.parametrize("text", ["It is kept (R3-05).", "A2-5 says so.", "Source: WIRE A20.", "Source: issue item."])
def test_an_internal_id_is_found(text: str) -> None:
    assert rules(text) == ["id"]


def test_a_document_is_read_without_its_code() -> None:
    page = "# What it does\n\n```\nanew\n```\n\nAll well.\nMade anew.\n\n| what | is told |\n| --- | --- |\n"
    assert [(one.line, one.rule) for one in markdown_offences("docs/x.md", page)] == [(8, "word"), (10, "word")]


SOURCE = '''"""Where it is kept."""
@click.command()
@click.option("--x", help="Whose it is.")
def show(told: str) -> None:
    """Make it anew."""
    raise ValueError(f"{told} is no more in force")  # nobody reads it
    x = r"anew (?:in force) here told"
'''


def test_a_source_file_is_read_with_its_help_errors_comments_and_names() -> None:
    found = [(one.line, one.rule) for one in source_offences("x.py", SOURCE)]
    assert found == [(1, "opening"), (3, "opening"), (3, "word"), (4, "name"), (5, "word"), (6, "word"), (6, "word")]
    assert {one.line for one in help_offences("x.py", SOURCE)} == {3, 5}
