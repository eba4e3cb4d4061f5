"""The texts for agents are one text, wherever they are delivered."""

from pathlib import Path

from undrift import AGENT_RULES, TASK_TOOL_SCHEMA
from undrift.core.tasks.life import change_many
from undrift.values.window import TASK_STATUSES, Moment, Tasks

ROOT = Path(__file__).parents[2]


def test_the_guide_holds_the_rules_word_for_word() -> None:
    assert f"```text\n{AGENT_RULES}```" in (ROOT / "docs/tasks.md").read_text(encoding="utf-8")


def test_r3_19_the_rules_say_all_four_things() -> None:
    for words in (
        "in_progress",
        "result_summary",
        "active_context.md",
        "Ask yourself",
        "15 characters",
        "undrift recall",
    ):
        assert words in AGENT_RULES


def test_every_argument_of_the_task_tool_is_a_field_that_tasks_take() -> None:
    values = {
        "string": "some text here",
        "array": ["the tests pass"],
    }
    fields = {name: values[rule["type"]] for name, rule in TASK_TOOL_SCHEMA["properties"].items() if name != "status"}
    changed = change_many(Tasks(), "main", [{**fields, "status": "pending"}], Moment(""))
    assert changed.tasks.by_id["some text here"].delegated_to == "some text here"
    assert TASK_TOOL_SCHEMA["properties"]["status"]["enum"] == list(TASK_STATUSES)
