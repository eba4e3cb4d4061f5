"""What a client of today puts back: the five files used last, the newest first, a large one by its name."""

import json
from pathlib import Path

from bench.client_today import files_put_back, five_files
from bench.restore_figures import main
from tests.cli.builders import answered, called, claude, said, written
from tests.report.builders import compacted_session
from undrift.recordings.files import open_recording
from undrift.values.window import ContextEntry

BOUNDARY = {"type": "system", "subtype": "compact_boundary", "isSidechain": False}
SUMMARY = claude("user", "So far.", isCompactSummary=True)


def session(*uses: tuple[str, dict, str]) -> list[dict]:
    records = [claude("user", "Go.")]
    for number, (tool, given, result) in enumerate(uses):
        records += [claude("assistant", [called(number, tool, **given)]), claude("user", [answered(number, result)])]
    return records


def entries(tmp_path: Path, *uses: tuple[str, dict, str]) -> tuple[ContextEntry, ...]:
    return open_recording(written(tmp_path / "s.jsonl", session(*uses))).entries


def test_the_newest_five_come_back_as_the_agent_last_saw_and_wrote_them(tmp_path: Path):
    uses = [("Read", {"file_path": f"/{n}.py"}, f"text {n}") for n in range(7)]
    uses += [("Edit", {"file_path": "/0.py", "new_string": "changed"}, "ok"), ("Bash", {"command": "cat /x"}, "x")]
    text = five_files(entries(tmp_path, *uses))
    assert text.split("\n") == [
        "/0.py",
        "changed",
        "text 0",
        "/6.py",
        "text 6",
        "/5.py",
        "text 5",
        "/4.py",
        "text 4",
        "/3.py",
        "text 3",
    ]


def test_a_written_file_replaces_what_was_read_and_a_large_one_is_a_name(tmp_path: Path):
    uses = [
        ("Read", {"file_path": "/a.py"}, "old"),
        ("Write", {"file_path": "/a.py", "content": "new"}, "ok"),
        ("Read", {"file_path": "/b.py"}, "x" * 20_004),
    ]
    assert five_files(entries(tmp_path, *uses)) == "/b.py\n/a.py\nnew"


def test_what_the_client_attached_itself_is_not_simulated(tmp_path: Path):
    attached = {
        "type": "attachment",
        "isSidechain": False,
        "attachment": {"type": "compact_file_reference", "filename": "/a.py"},
    }
    records = session(("Read", {"file_path": "/a.py"}, "text"))
    for name, more, expected in (("plain", [], "/a.py\ntext"), ("attached", [attached], "")):
        path = written(
            tmp_path / f"{name}.jsonl", [*records, BOUNDARY, SUMMARY, *more, claude("assistant", [said("On.")])]
        )
        recording = open_recording(path)
        (index,) = recording.compactions
        assert files_put_back(path)(recording.entries[:index]) == expected


def test_the_figures_have_a_row_for_it_and_its_size(tmp_path: Path, capsys):
    compacted_session().written(tmp_path / "a.jsonl")
    assert main([str(tmp_path), "--json"]) == 0
    part = json.loads(capsys.readouterr().out)["clients"]["claude-code"]["all"]
    assert part["summary"]["identifiers"]["macro"] <= part["today"]["identifiers"]["macro"]
    assert part["today"]["mean_tokens"] > part["summary"]["mean_tokens"]
    assert part["today_both"]["mean_tokens"] > part["restore"]["mean_tokens"]
