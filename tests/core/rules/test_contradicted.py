"""A call is named if it plainly does what the words of a rule forbid, and only then."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.rules.bans import bans_of
from undrift.core.rules.contradicted import Contradiction, contradicted
from undrift.core.rules.effects import effects_of
from undrift.profiles import acts_of
from undrift.values.rule import Rule, rule_id

HOME = "/home/u/proj"
TABLE = Path(__file__).with_name("guarded.txt")


def rule(text: str, **more: Any) -> Rule:
    return Rule(rule_id(text), text, "typed", "request 1, line 1", "session", **more)


def call_of(written: str) -> tuple[str, dict[str, Any]]:
    sign, rest = written[0], written[2:]
    if sign == "$":
        return "Bash", {"command": rest.replace("\\n", "\n")}
    if sign == "T":
        tool, arguments = rest.split(" ", 1)
        return tool, json.loads(arguments)
    path = f"{HOME}/{rest}"
    more = {"E": {"old_string": "a", "new_string": "b"}, "W": {"content": "b"}, "R": {}}[sign]
    return {"E": "Edit", "W": "Write", "R": "Read"}[sign], {"file_path": path, **more}


def rows() -> Iterator[tuple[str, str, str, bool]]:
    text = ""
    for line in TABLE.read_text("utf-8").splitlines():
        if line.startswith("= "):
            text = line[2:]
        elif line[:2] in ("X ", ". "):
            written, branch = line[2:], "feat/x"
            if written.startswith("@"):
                branch, written = written[1:].split(" ", 1)
            yield text, branch, written, line[0] == "X"


def judged(text: str, tool: str, arguments: dict[str, Any] | str, **more: str) -> Contradiction | None:
    return contradicted([rule(text)], acts_of(tool, arguments), **{"cwd": HOME, **more})


@pytest.mark.parametrize(("text", "branch", "written", "is_against"), tuple(rows()))
def test_a_call_contradicts_a_rule_or_does_not(text: str, branch: str, written: str, is_against: bool):
    found = judged(text, *call_of(written), branch=branch)
    assert (found is not None) == is_against, (text, written, bans_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "Investigation complete; no files changed.",
        "This has not touched main.",
        "Rules that agents must not break stand in AGENTS.md.",
        "Never assume anything.",
        "The tests never touch the network.",
        "I have not pushed yet.",
        "Why is main not deployed?",
        "Only three rows remain.",
        "The reason why the build fails is not known.",
    ],
)
def test_a_statement_forbids_nothing(text: str):
    calls = [
        ("Bash", {"command": "git push origin main && npm install x && rm -rf a"}),
        ("Edit", {"file_path": "a.py"}),
    ]
    assert [judged(text, tool, given, branch="main") for tool, given in calls] == [None, None]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("apply_patch", "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** Update File: gen/b.py\n@@\n-a\n+b\n*** End Patch"),
        ("shell", {"command": ["bash", "-lc", "sed -i 's/a/b/' gen/b.py"]}),
        ("exec", 'await tools.exec_command({cmd: "cd gen && rm b.py"})'),
        ("Bash", {"command": "cd src/.. && printf x | tee ./gen/b.py"}),
        ("Bash", {"command": "find gen -name '*.py' -exec sed -i s/a/b/ {} +"}),
        ("Bash", {"command": "python - <<'E'\nopen('gen/b.py', 'w').write('x')\nE"}),
        ("str_replace_editor", {"command": "str_replace", "path": "gen/b.py", "old_str": "a", "new_str": "b"}),
    ],
)  # fmt: skip
def test_a_file_is_changed_in_many_ways(tool: str, arguments: dict[str, Any] | str):
    assert judged("Never edit anything in gen/.", tool, arguments) is not None


@pytest.mark.parametrize(
    "command",
    [
        'git commit -m "$(cat <<\'E\'\nno "git push --force" here\nrm -rf build is gone\nE\n)"',
        "echo git push --force",
        "cat > notes.md <<'E'\ngit push --force\nrm -rf build\nE",
        "grep -rn 'git push --force' docs # rm -rf build",
        "gh pr create --title x --body 'never git push --force'",
    ],
)
def test_words_in_a_text_are_no_command(command: str):
    assert judged("Never git push --force. Never rm -rf.", "Bash", {"command": command}) is None


def test_the_newest_rule_is_named_with_what_contradicts_it():
    rules = [rule("Never push."), rule("Do not push to main.")]
    found = contradicted(rules, acts_of("Bash", {"command": "cd a; git push origin main"}))
    assert found == Contradiction(rules[1], "git push origin main")


def test_a_rule_that_lifts_another_forbids_nothing():
    call = acts_of("Bash", {"command": "git push"})
    assert contradicted([rule("You may push, but not to main.", lifts=True)], call) is None
    assert contradicted([rule("Never push.", later=("You may push now.",))], call) is None
    assert contradicted([rule("Never push.", later=("Never push tags either.",))], call) is not None


def test_a_branch_that_is_not_known_contradicts_nothing():
    assert judged("No commits on main.", "Bash", {"command": "git commit -m x"}, branch="") is None
    assert (
        judged("No commits on main.", "Bash", {"command": "git checkout main && git commit -m x"}, branch="")
        is not None
    )


def test_a_text_of_a_megabyte_is_read_in_bounded_steps():
    long = "never touch " + "src/a.py, " * 100_000
    assert len(bans_of(long)) <= 40
    command = "rm -rf a; " * 100_000
    assert len(effects_of(acts_of("Bash", {"command": command}))) <= 400
    assert len(effects_of(acts_of("Bash", {"command": ["rm"] * 500_000}))) <= 400
    assert contradicted([rule(long)] * 1_000, acts_of("Bash", {"command": command}), cwd=HOME) is None


_WORDS = st.sampled_from(
    [
        "never",
        "don't",
        "not",
        "no",
        "only",
        "use",
        "run",
        "edit",
        "push",
        "to",
        "main",
        "src/a.py",
        "`git",
        "push`",
        "``",
        ",",
        ".",
        "(",
        ")",
        "-",
        "--",
        "|",
        "/",
        "*",
        "-f",
        "--force",
        "except",
        "is",
        "fine",
        "off",
        "limits",
        "instead",
        "of",
        "and",
        "or",
        "if",
        "nothing",
        "else",
        "[a",
        "{b",
        "*.",
        "~",
        "$",
        "\\",
        "'",
        '"',
        "<x>",
        "it",
        "there",
    ]
)


@given(st.lists(_WORDS, max_size=30), st.text(st.sampled_from("gitpushrm -f/.*~$(){}|&;<>'\"\\\n=ac"), max_size=60))
def test_any_rule_and_any_call_are_read(words: list[str], command: str):
    found = judged(" ".join(words), "Bash", {"command": command}, branch="main")
    assert found is None or len(found.what) <= 120
