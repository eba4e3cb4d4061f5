"""What an agent gets back whose one tool runs JavaScript: the files, edits and plan inside the code are seen."""

import json

from tests.core.restore.test_restore import Recorded, code
from undrift.core.restore.history import history_of
from undrift.core.restore.stated import plan

HEADER = "Script completed\nWall time 0.1 seconds\nOutput:\n\n"


def ran(session: Recorded, javascript: str, answer: str) -> Recorded:
    return session.call("exec", HEADER + answer, input=javascript)


def at_work() -> Recorded:
    """The agent of `test_restore.at_work`, in code mode."""
    session = Recorded().user("Add rounding to the invoices.")
    for number in range(25):
        ran(session, f'text(await tools.exec_command({{cmd: "make step-{number}"}}))', f"step {number} is done")
    ran(
        session,
        "const r = await tools.exec_command({cmd: \"sed -n '11,50p' src/billing.py\"});",
        "\n".join(code("bill")),
    )
    patch = (
        "*** Begin Patch\n*** Update File: src/billing.py\n@@\n-"
        + code("bill")[3]
        + "\n+    bill_total_3 = 0\n*** End Patch"
    )
    ran(session, f"const patch = {json.dumps(patch)};\ntext(await tools.apply_patch(patch));", "{}")
    steps = [{"step": "Round the shares", "status": "in_progress"}, {"step": "Read", "status": "completed"}]
    ran(session, f"await tools.update_plan({{plan: {json.dumps(steps)}}})", "{}")
    ran(
        session,
        'const r = await tools.exec_command({cmd: "pytest -q"}); text(JSON.stringify(r))',
        "1 failed: test_bill_share",
    )
    return session


def test_the_text_names_the_files_in_work():
    text = at_work().back().text
    assert "### src/billing.py" in text
    assert "### exec" not in text
    assert "- [in_progress] Round the shares" in text
    assert "    bill_total_3 = 0" in text
    assert "### pytest -q, 0 calls ago" in text


def test_lines_have_the_numbers_that_were_asked_for():
    text = at_work().back().text
    assert f"15→{code('bill')[4]}" in text


def test_the_line_that_the_patch_removed_is_stale():
    history = history_of(at_work().entries)
    assert code("bill")[3].strip() in history.stale
    assert history.edits["src/billing.py"] == 1


def test_a_result_of_several_files_is_told_by_its_commands():
    session = Recorded().user("Compare them.")
    both = 'const all = ["sed -n 1,9p src/a.py", "cat src/b.py"]; for (const cmd of all) text(await tools.exec_command({cmd}))'
    ran(session, both, "\n".join(code("both")))
    *_, call, result = history_of(session.entries).traces
    assert (call.path, result.path, result.kind) == (None, None, "shell")
    assert result.brief == "sed -n 1,9p src/a.py ; cat src/b.py"


def test_what_a_command_printed_into_an_object_is_lines():
    session = Recorded().user("Look.")
    output = "\n".join(code("json"))
    ran(
        session,
        'const r = await tools.exec_command({cmd: "cat src/json.py"}); text(JSON.stringify(r))',
        json.dumps({"chunk_id": "a1", "wall_time_seconds": 0.2, "exit_code": 0, "output": output}),
    )
    result = history_of(session.entries).traces[-1]
    assert list(result.lines[4:]) == code("json")
    assert (result.kind, result.path) == ("read", "src/json.py")


def test_the_open_steps_are_those_of_the_newest_plan_in_the_code():
    assert [one.lines for one in plan(at_work().entries)] == [["- [in_progress] Round the shares"]]


def test_a_patch_of_two_files_is_an_edit_of_both():
    session = Recorded().user("Rename it.")
    one, two = code("one")[0], code("two")[0]
    patch = f"*** Begin Patch\n*** Update File: src/one.py\n@@\n-{one}\n+{one}1\n*** Update File: src/two.py\n@@\n-{two}\n+{two}2\n*** End Patch"
    ran(session, f"text(await tools.apply_patch({json.dumps(patch)}))", "{}")
    history = history_of(session.entries)
    assert [history.edits[path] for path in ("src/one.py", "src/two.py")] == [1, 1]
    assert [history.stale[line.strip()] for line in (one, two)] == ["src/one.py", "src/two.py"]
    text = session.back().text
    assert f"### src/one.py, 1 calls ago\n{one}1\n### src/two.py, 1 calls ago\n{two}2" in text


def test_a_command_that_shows_two_files_is_told_by_its_words():
    session = Recorded().user("Compare them.")
    session.call("exec_command", "Output:\n" + "\n".join(code("both")), cmd="cat src/a.py; cat src/b.py")
    history = history_of(session.entries)
    assert sorted(history.heat) == ["src/a.py", "src/b.py"]
    assert "### exec_command: cat src/a.py; cat src/b.py, 0 calls ago" in session.back().text
