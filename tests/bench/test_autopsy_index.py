"""The home of the measure of autopsies: the same files each time, other ids and times, and the program finds them."""

from pathlib import Path

from bench.autopsy_home import fill
from bench.autopsy_index import run
from tests.cli.builders import codex_session
from tests.cli.builders import written as written_records
from tests.report.builders import compacted_session

SESSION = "0f21d1e7-8f74-41e1-bd4d-f785aa6440c1"


def recordings(folder: Path) -> Path:
    made = compacted_session()
    for record in made.records:
        record["sessionId"] = SESSION
        record["cwd"] = "/home/me/app"
    made.written(folder / "a.jsonl")
    written_records(folder / "b.jsonl", codex_session())
    (folder / "notes.jsonl").write_text('{"no": "session"}\n')
    return folder


def test_the_copies_have_other_ids_and_times_and_are_the_same_each_time(tmp_path: Path) -> None:
    source = recordings(tmp_path / "from")
    homes = [tmp_path / "one", tmp_path / "two"]
    assert fill(homes[0], [source], 6) == fill(homes[1], [source], 6)
    files = [sorted(path.relative_to(home) for path in home.rglob("*.jsonl")) for home in homes]
    assert files[0] == files[1]
    assert [path.parts[0] for path in files[0]] == [".claude"] * 3 + [".codex"] * 3
    contents = [(homes[0] / path).read_bytes() for path in files[0]]
    assert contents == [(homes[1] / path).read_bytes() for path in files[1]]
    assert len(set(contents[:3])) == 3
    assert [SESSION.encode() in content for content in contents[:3]].count(True) == 1
    times = [(homes[0] / path).stat().st_mtime_ns for path in files[0]]
    assert len(set(times)) == 6
    assert times == [(homes[1] / path).stat().st_mtime_ns for path in files[1]]


def test_the_program_reads_them_and_then_knows_them(tmp_path: Path) -> None:
    fill(tmp_path / "home", [recordings(tmp_path / "from")], 6)
    first = run(tmp_path / "home", tmp_path / "index", "--limit", "1")
    assert first.printed.startswith("1 compaction removed")
    assert "5 of 6 recordings are not read yet." in " ".join(first.printed.split())
    whole = run(tmp_path / "home", tmp_path / "index", "--all")
    assert whole.printed.startswith("3 compactions removed")  # copies with other times are no copies
    assert run(tmp_path / "home", tmp_path / "index").printed == whole.printed
