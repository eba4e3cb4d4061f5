"""The index of autopsies: the figures are the same with it and without it, and it holds no more than they need."""

import json
import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.report.builders import RULE, Session, compacted_session, work
from undrift.recordings.autopsy import Postmortem, counted_once, examine, totals
from undrift.recordings.index import AutopsyIndex, AutopsyReading, examined
from undrift.settings.model_table import lookup
from undrift.stores.autopsies import FOLDER

KEY = "sk-ant-api03-" + "aB3" * 31 + "AA"


def sessions(folder: Path, number: int = 3) -> list[Path]:
    """Sessions with a compaction, the last of which copies the first, and one without."""
    found = []
    for n in range(number):
        made = compacted_session()
        for record in made.records:
            record["timestamp"] = record["timestamp"].replace("2026", str(2010 + n % (number - 1)))
            record["cwd"] = f"/home/me/app-{n}"
        found.append(made.written(folder / f"{n}.jsonl"))
    return [*found, work(Session().user("Go.")).written(folder / "plain.jsonl")]


def read(home: Path, paths: list[Path], **how: Any) -> list[AutopsyReading]:
    with closing(AutopsyIndex(home, **how)) as index:
        found = {reading.path: reading for reading in index.read(paths)}
        assert index.problem == ""
    return [found[str(path)] for path in paths]


def known(home: Path, paths: list[Path], **how: Any) -> dict[Path, AutopsyReading]:
    with closing(AutopsyIndex(home, **how)) as index:
        return index.known(paths)


def figures(found: list[Postmortem]) -> object:
    return totals(counted_once(found))


def test_the_totals_are_those_of_the_recordings(tmp_path: Path) -> None:
    paths = sessions(tmp_path)
    readings = read(tmp_path / "home", paths)
    plain = [examine(path) for path in paths[:-1]]
    assert [reading.found is not None for reading in readings] == [True, True, True, False]
    assert known(tmp_path / "home", paths) == dict(zip(paths, readings, strict=True))
    kept = list(examined(paths, tmp_path / "home"))
    assert figures(kept) == figures(plain)
    assert totals(counted_once(kept)).compactions == 2  # the copy counts once
    assert [(one.path, one.title, one.cwd, one.brief) for one in kept] == [
        (one.path, one.title, one.cwd, True) for one in plain
    ]


def test_the_findings_can_be_read_with_all_texts(tmp_path: Path) -> None:
    path = sessions(tmp_path)[0]
    with closing(AutopsyIndex(tmp_path / "home")) as index:
        (reading,) = index.read([path], texts=True)
    assert reading.found == examine(path)
    assert known(tmp_path / "home", [path])[path].found != reading.found


def grown(path: Path) -> None:
    with path.open("a") as file:
        file.write('{"type": "progress"}\n')


def touched(path: Path) -> None:
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))


def replaced(path: Path) -> None:
    """Another file with the same size and time."""
    times = path.stat()
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(path)


def removed(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [grown, touched, replaced, removed])
def test_a_recording_that_changed_is_not_known(tmp_path: Path, change: Callable[[Path], None]) -> None:
    paths = sessions(tmp_path)
    read(tmp_path / "home", paths)
    change(paths[1])
    assert list(known(tmp_path / "home", paths)) == [paths[0], *paths[2:]]
    assert [one.path for one in examined(paths, tmp_path / "home")] == [str(paths[0]), str(paths[2])]


def test_a_recording_that_did_not_change_is_not_opened(tmp_path: Path) -> None:
    path = sessions(tmp_path)[0]
    read(tmp_path / "home", [path])
    times = path.stat()
    with path.open("r+b") as file:
        file.write(b"x" * times.st_size)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert known(tmp_path / "home", [path])[path].found is not None


def test_another_budget_and_other_prices_are_read_again(tmp_path: Path) -> None:
    paths = sessions(tmp_path)
    read(tmp_path / "home", paths)
    assert not known(tmp_path / "home", paths, budget_tokens=300)
    read(tmp_path / "home", paths, budget_tokens=300)
    assert len(known(tmp_path / "home", paths, budget_tokens=300)) == len(known(tmp_path / "home", paths)) == 4
    dear = replace(lookup("claude-opus-4-6"), input_usd_per_million=1_000.0)
    assert not known(tmp_path / "home", paths, models=[dear])


def test_a_kept_row_of_another_form_is_read_again(tmp_path: Path) -> None:
    from undrift.stores.autopsies import AutopsyRow

    paths = sessions(tmp_path)
    read(tmp_path / "home", paths)
    with closing(AutopsyIndex(tmp_path / "home")) as index:
        stamp = next(row.stamp for row in index._rows.load() if row.path == str(paths[0]))
        index._rows.keep(AutopsyRow(str(paths[0]), stamp, b'{"found": 7}'))
    assert list(known(tmp_path / "home", paths)) == paths[1:]


def test_no_text_and_no_secret_of_a_session_is_kept(tmp_path: Path) -> None:
    made = compacted_session(rule=f"Never print {KEY} anywhere. {RULE}")
    made.records[0]["message"]["content"] = f"Use {KEY} for the server. {RULE} " + "x" * 5_000
    for record in made.records:
        record["cwd"] = f"/home/{KEY}"
    path = made.written(tmp_path / "s.jsonl")
    (reading,) = read(tmp_path / "home", [path])
    assert reading.found is not None
    assert reading.found.autopsy.compactions[0].lost_rules
    content = b"".join(one.read_bytes() for one in (tmp_path / "home" / FOLDER).iterdir())
    assert b"masked:" in content
    for text in (KEY[:40], RULE, "client.py", "compute_backoff", "time-outs", "x" * 200):
        assert text.encode() not in content


@pytest.mark.parametrize("title", ["\x1b]0;owned\x07\x1b[2J", "\ud800 half", "\u202e<script>", "\0" * 50])
def test_a_hostile_title_is_kept_as_data(tmp_path: Path, title: str) -> None:
    made = compacted_session()
    made.records[0]["message"]["content"] = f"{title} Do it."
    for record in made.records:
        record["cwd"] = f"/{title}"
    path = made.written(tmp_path / "s.jsonl")
    (reading,) = read(tmp_path / "home", [path])
    assert known(tmp_path / "home", [path]) == {path: reading}


def test_a_session_of_a_sub_agent_and_a_damaged_one_are_not_read_again(tmp_path: Path) -> None:
    made = compacted_session()
    for record in made.records:
        record["isSidechain"] = True
    agents = made.written(tmp_path / "agent.jsonl")
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text('{"compacted": 1, "compact_boundary": 2}\n')
    read(tmp_path / "home", [agents, damaged])
    found = known(tmp_path / "home", [agents, damaged])
    assert found[agents].is_sub_agent
    assert "damaged.jsonl: not a recorded session" in found[damaged].failure


def test_a_recording_that_is_not_there_is_no_reason_to_stop(tmp_path: Path) -> None:
    paths = [tmp_path / "gone.jsonl", *sessions(tmp_path)]
    assert [reading.found is not None for reading in read(tmp_path / "home", paths)] == [False, True, True, True, False]
    assert list(known(tmp_path / "home", paths)) == paths[1:]


def test_what_is_kept_of_missing_recordings_is_deleted(tmp_path: Path) -> None:
    paths = sessions(tmp_path)
    read(tmp_path / "home", paths)
    paths[0].unlink()
    with closing(AutopsyIndex(tmp_path / "home")) as index:
        index.forget_missing(paths[2:])  # the second is there, although nothing names it
        assert sorted(row.path for row in index._rows.load()) == sorted(map(str, paths[1:]))


def test_without_a_place_for_the_index_the_figures_are_the_same(tmp_path: Path) -> None:
    paths = sessions(tmp_path)
    (tmp_path / "home").write_text("in the way")
    with closing(AutopsyIndex(tmp_path / "home")) as index:
        assert index.known(paths) == {}
        found = [reading.found for reading in index.read(paths) if reading.found]
        assert "a file stands where a folder is needed" in index.problem
    assert figures(found) == figures([examine(path) for path in paths[:-1]])


def test_large_recordings_are_shared_between_processes(tmp_path: Path) -> None:
    paths = sessions(tmp_path, 5)
    filler = json.dumps({"type": "progress", "data": "x" * 1_000}) + "\n"
    for path in paths:
        with path.open("a") as file:
            file.write(filler * 4_000)
    assert sum(path.stat().st_size for path in paths) > 16 << 20
    readings = read(tmp_path / "home", paths)
    assert figures([one.found for one in readings if one.found]) == figures([examine(path) for path in paths[:-1]])
