"""What a client of today puts back: the five files used last, the newest first, a large one by its name."""

from pathlib import Path

from tests.cli.builders import answered, called, claude, said, written
from undrift.bench.put_back import files_put_back
from undrift.bench.restore import measure
from undrift.recordings.files import open_recording
from undrift.values.window import ContextEntry

BOUNDARY = {"type": "system", "subtype": "compact_boundary", "isSidechain": False, "version": "2.1.9"}
SUMMARY = claude("user", "So far.", isCompactSummary=True)
NAMED = {
    "type": "attachment",
    "isSidechain": False,
    "attachment": {"type": "compact_file_reference", "filename": "/a.py"},
}


def session(*uses: tuple[str, dict, str]) -> list[dict]:
    records = [claude("user", "Go.")]
    for number, (tool, given, result) in enumerate(uses):
        records += [claude("assistant", [called(number, tool, **given)]), claude("user", [answered(number, result)])]
    return records


def entries(tmp_path: Path, *uses: tuple[str, dict, str]) -> tuple[ContextEntry, ...]:
    return open_recording(written(tmp_path / "s.jsonl", session(*uses))).entries


def test_the_newest_five_come_back_as_the_agent_last_saw_and_wrote_them(tmp_path: Path) -> None:
    uses = [("Read", {"file_path": f"/{n}.py"}, f"text {n}") for n in range(7)]
    uses += [("Edit", {"file_path": "/0.py", "old_string": "text", "new_string": "changed"}, "ok")]
    uses += [("Bash", {"command": "cat /x"}, "x")]
    text = files_put_back(entries(tmp_path, *uses))
    assert text.split("\n") == [
        *("/0.py", "changed", "text 0", "/6.py", "text 6", "/5.py", "text 5", "/4.py", "text 4", "/3.py", "text 3")
    ]


def test_a_written_file_replaces_what_was_read_and_a_large_one_is_a_name(tmp_path: Path) -> None:
    uses = [
        ("Read", {"file_path": "/a.py"}, "old"),
        ("Write", {"file_path": "/a.py", "content": "new"}, "ok"),
        ("Read", {"file_path": "/b.py"}, "x" * 20_004),
    ]
    assert files_put_back(entries(tmp_path, *uses)) == "/b.py\n/a.py\nnew"


def test_what_the_client_attached_itself_is_not_simulated(tmp_path: Path) -> None:
    uses = [("Read", {"file_path": "/a.py"}, f"text_{n} = compute_{n}(source_{n}, target_{n})") for n in range(16)]
    held = {}
    for name, more in (("plain", []), ("attached", [NAMED])):
        work = claude("assistant", [said("Now:\ntext_3 = compute_3(source_3, target_3)")])
        written(tmp_path / name / "s.jsonl", [*session(*uses), BOUNDARY, SUMMARY, *more, work])
        (found,) = measure([tmp_path / name], budgets=[100]).found
        assert found.recorded is bool(more)
        assert found.version == "2.1.9"
        held[name] = found
    assert held["plain"].held["today"][1] == held["plain"].needed[1] == 1
    assert held["attached"].held["today"] == held["attached"].held["summary"] == (0, 0)
