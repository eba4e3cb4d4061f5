"""The rules of CLAUDE.md and its like: sentences with their lines; code, tables and folders hold none."""

from undrift.core.rules.files import file_rules, imported_paths

_TEXT = """# Project

A tool that reads logs. See @docs/style.md and @README.md.

## Commands

```sh
make test  # never run this on main
```

| never | always |

## Conventions

- **Never** edit `gen/`; it is made
  by a script.
- Add a test for each fix
- The parser has two passes.

Always run `make check` before you commit. The docs are in docs/.
"""


def test_the_rules_of_a_file_have_their_lines_and_no_code_holds_one() -> None:
    assert [(rule.where, rule.text) for rule in file_rules(_TEXT, "CLAUDE.md")] == [
        ("CLAUDE.md:15", "**Never** edit `gen/`; it is made by a script."),
        ("CLAUDE.md:17", "Add a test for each fix"),
        ("CLAUDE.md:20", "Always run `make check` before you commit."),
    ]


def test_the_scope_is_as_given() -> None:
    (rule,) = file_rules("Always answer in German.", "CLAUDE.md", "user")
    assert (rule.origin, rule.scope) == ("file", "user")


def test_the_imports_of_a_file_are_paths_outside_of_code() -> None:
    text = "See @docs/style.md and @~/own.md.\n@AGENTS.md\n\n```\n@code.md\n```\nMail me@example.com.\n@docs/style.md\n"
    assert imported_paths(text) == ("docs/style.md", "~/own.md", "AGENTS.md")


def test_an_empty_file_has_no_rules() -> None:
    assert file_rules("", "CLAUDE.md") == ()
