"""The files that commands show, and the lines of an edit."""

import pytest

from undrift.core.text.calls import edit_of, shown_files
from undrift.profiles import acts_of


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cat src/a.py", ("src/a.py",)),
        ("cd /p && sed -n '1,40p' src/a.py | head -5", ("src/a.py",)),
        ("sed -n 1,9p a.py; cat b.py; cat a.py", ("a.py", "b.py")),
        ("cat a.py 2>/dev/null || echo none", ("a.py",)),
        ("bash -lc 'cat .gitignore'", (".gitignore",)),
        ("cat > a.py <<'E'\ncat b.py\nE", ()),
        ("git commit -m 'cat a.py'", ()),
        ("cat *.py $HOME/a.py", ()),
        ("make 2>&1 | tail -5", ()),
        ("rg x src", ()),
        ("", ()),
    ],
)
def test_the_files_that_commands_show(command: str, files: tuple[str, ...]):
    assert shown_files(command) == files


def test_an_edit_removes_touches_and_writes_lines():
    (act,) = acts_of("Edit", {"file_path": "a.py", "old_string": "a\nb", "new_string": "a\nc"})
    assert edit_of(act) == (frozenset({"b"}), frozenset({"a", "b", "c"}), ["a", "c"])


def test_a_patch_says_the_same_by_its_signs():
    (act,) = acts_of("apply_patch", "*** Begin Patch\n*** Update File: a.py\n@@\n a\n-b\n+c\n*** End Patch")
    assert edit_of(act) == (frozenset({"b"}), frozenset({"b", "c"}), ["c"])


def test_other_acts_change_nothing():
    (act,) = acts_of("Bash", {"command": "rm -r build", "old_string": "x"})
    assert edit_of(act) == (frozenset(), frozenset(), ())
