"""A shell's text is read once into its commands; what no shell would take is read as far as it goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.profiles import commands_of


def words(text: str) -> list[str]:
    return [" ".join(one.words) for one in commands_of(text)]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("ls -l", ["ls -l"]),
        ("cd /a && make test; ls | head -5 & wait", ["cd /a", "make test", "ls", "head -5", "wait"]),
        ('A=1 sudo /usr/bin/cat \'a b.py\' "c\\"d" e\\ f', ['cat a b.py c"d e f']),
        ("if test -f a; then cat a; else ls; fi", ["test -f a", "cat a", "ls", "fi"]),
        ("bash -lc 'cd /a && cat b'", ["cd /a", "cat b"]),
        ("sh -c \"bash -c 'ls'\"", ["ls"]),
        ("x=$(git log | head) && make", ["git log", "head", "make"]),
        ("cat $(git ls | tail -1) b; ls", ["git ls", "tail -1", "cat b", "ls"]),
        ("echo $(echo $(ls", ["ls", "echo", "echo"]),
        ("(cd a; ls)", ["cd a", "ls"]),
        ("cat a 2>/dev/null || true # why", ["cat a", "true"]),
        ("cat <<'E' > a.sh\ncat secret.py\nE\nls", ["cat", "ls"]),
        ("cat <<E\nnever closed; ls", ["cat"]),
        ("wc -l < a.py", ["wc -l a.py"]),
        ("echo 'open", ["echo open"]),
        ("", []),
        ("&& | ;", []),
    ],
)
def test_the_commands_of_a_text(text: str, commands: list[str]):
    assert words(text) == commands


@pytest.mark.parametrize(
    ("text", "heads"), [("a | b", [True, False]), ("a; b", [True, True]), ("x $(a) y; b", [False, True, True])]
)
def test_a_command_heads_a_pipeline_whose_output_is_shown(text: str, heads: list[bool]):
    assert [one.heads for one in commands_of(text)] == heads


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("a > b", True), ("a >> b", True), ("a &> b", True), ("a <<E\nx\nE", True), ("a", False), ("a 2>&1", False),
        ("a > /dev/null 2>&1", False), ("a '>' b", False), ("grep '<b>' a", False), ("a < b", False),
    ],
)  # fmt: skip
def test_a_command_writes_if_its_output_goes_into_a_file(text: str, writes: bool):
    assert [one.writes for one in commands_of(text)] == [writes]


@given(st.text(st.sampled_from("ab '\"\\$(){}`|&;<>\n#=-")))
def test_any_text_is_read_and_no_command_is_without_a_program(text: str):
    assert all(one.words for one in commands_of(text))
