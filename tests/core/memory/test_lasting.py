"""The statements of a user that hold beyond the task at hand. None of these sentences is of a labelled session."""

import pytest

from undrift.core.memory.lasting import LastingStatement, lasting_statements


def signs(text: str) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in lasting_statements(text.split("\n"))]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("rule", "Always run the linter before a commit."),
        ("rule", "never push to the release branch"),
        ("rule", "Please don't restart the server after every change, I do that."),
        ("rule", "From now on write the tests first."),
        ("rule", "Stop adding comments to the code."),
        ("rule", "Ask me before you delete a file."),
        ("rule", "Any new endpoint must have an integration test."),
        ("rule", "can we make sure that the changelog is written in future?"),
        ("preference", "I prefer small functions over long ones."),
        ("preference", "ok, do small commits as you go along"),
        ("decision", "We use pnpm in all of our packages."),
        ("decision", "let's switch to ruff for formatting"),
        ("decision", "The duplication is on purpose, both sides change on their own."),
        ("decision", "We don't need backwards compatibility for the config file."),
        ("decision", "In this project we write docs first."),
        ("rule", "Please make sure you never log a token."),
        ("fact", "I am a backend developer, so explain the CSS."),
        ("fact", "You can run the tests with `mise run test`."),
        ("decision", "the folder is now called vendor, not third_party"),
        ("rule", "do not add a retry to the client because the queue has one"),
        ("rule", "please match the existing naming conventions"),
        ("preference", "please use American spelling in the docs"),
        ("decision", "in this repo we commit the generated files"),
        ("fact", "draft == a text that nobody has read"),
        ("fact", "FTS stands for full text search here."),
        ("fact", "the staging settings are in ~/settings/staging.toml"),
        ("fact", "this is a monorepo with three services"),
    ],
)
def test_a_lasting_statement_is_found_with_its_kind(kind: str, text: str):
    assert signs(text) == [(kind, text)]


@pytest.mark.parametrize(
    "text",
    [
        "fix this test",
        "never mind, leave it",
        "the second test always fails on my machine",
        "Why does it never stop?",
        "do we use pnpm here?",
        "don't commit yet",
        "for now always return an empty list",
        "maybe we use the wrong port",
        "it seems that the cache is only used for pictures",
        "I don't like it",
        "can you always show the newest entry first?",
        "now run it again",
        "don't change any files, only look",
        "everything should be committed",
        "the footer has a different color which is wrong",
        "use option 2, I prefer 2",
        "the log is at ./build/out.log",
        "when you are done let me know",
        "I switched to the main branch",
        "let's go with B",
        "I like option 1 more than the rest",
        "I told you that the port is used by the other server",
        "To silence this notice in future runs, set:",
        "**By design** the check runs twice",
        "don't touch it because it is not done yet",
        "we never tested the import on a Mac",
        "please commit it in separate commits",
        "ok",
    ],
)
def test_a_request_a_question_a_doubt_and_a_fault_are_none(text: str):
    assert signs(text) == []


def test_only_the_sentence_that_lasts_is_taken_from_a_message():
    text = "The build is red. Never edit the lock file by hand. Have a look at the log!\nwe use Go 1.24, see the docs"
    assert lasting_statements(text.split("\n")) == (
        LastingStatement("Never edit the lock file by hand.", "rule", "never", 0),
        LastingStatement("we use Go 1.24, see the docs", "decision", "we use", 1),
    )
    assert signs("- Never edit the lock file by hand.\n2. never edit  the lock file by hand.") == [
        ("rule", "Never edit the lock file by hand.")
    ]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        (
            "the full list is in ~/settings/list.toml, can we read it at the start?",
            "the full list is in ~/settings/list.toml",
        ),
        ("I prefer plain functions, how can I change this class", "I prefer plain functions"),
        ("İİİ is never slow and we use pnpm here, can you look at it", "İİİ is never slow and we use pnpm here"),
        ("I am not sure about the port, can you always log it?", ""),
    ],
)
def test_a_request_behind_a_statement_is_cut_off(text: str, statement: str):
    assert [words for _, words in signs(text)] == [statement] * bool(statement)


@pytest.mark.parametrize(
    "text",
    [
        "Implement the following plan:\nNever edit the lock file by hand.",
        "# Plan\nNever edit the lock file by hand.",
        "You are a careful reviewer.\nNever edit the lock file by hand.",
        "1. do it\n  2. Never edit the lock file by hand.",
        "\n".join(["Never edit the lock file by hand."] + ["a line of a long document"] * 40),
        f"Never edit {'the lock file ' * 30}by hand.",
    ],
)
def test_a_prepared_document_is_no_statement(text: str):
    assert signs(text) == []
