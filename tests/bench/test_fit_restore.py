"""The weights of `restore` come from data: other sessions give other weights, written as a module of the same shape."""

import json
import math
import runpy
from collections import Counter
from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from bench.fit_restore import main
from bench.restore_data import Lesson, recorded_below
from bench.restore_fit import LINE_FEATURES, NAME_FEATURES, auc, fit
from undrift.core.restore import weights

CALLS = 60


class Session:
    """A session of Claude Code, written call by call."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self._add("user", "Make the parser stricter, file by file.")

    def _add(self, role: str, content: object) -> None:
        number = len(self.records)
        stamp = f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}.000Z"
        record = {"type": role, "uuid": f"u{number}", "timestamp": stamp, "sessionId": "s", "isSidechain": False}
        self.records.append({**record, "message": {"role": role, "content": content}})

    def call(self, tool: str, given: dict[str, str], answer: str) -> None:
        id_ = f"c{len(self.records)}"
        self._add("assistant", [{"type": "tool_use", "id": id_, "name": tool, "input": given}])
        self._add("user", [{"type": "tool_result", "tool_use_id": id_, "content": answer}])

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in self.records), encoding="utf-8")


def line(number: int) -> str:
    return f"    value_{number} = parse_field_{number}(record, strict_{number})"


def reading(used_again: Iterable[int]) -> Session:
    """An agent that reads a file of its own at each call, and edits again what it read in some of them."""
    session = Session()
    wanted = set(used_again)
    for number in range(CALLS):
        body = f"{number + 1:6d}→{line(number)}"
        if number - 20 in wanted:
            old = line(number - 20)
            given = {"file_path": f"src/part_{number - 20}.py", "old_string": old, "new_string": old + "  # checked"}
            session.call("Edit", given, "The file has been updated.")
        else:
            session.call("Read", {"file_path": f"src/part_{number}.py"}, body)
    return session


def recorded(folder: Path) -> Path:
    """Two repositories of one session each."""
    reading(range(15, 35)).write(folder / "one__a.jsonl")
    reading(range(20, 40, 3)).write(folder / "two__b.jsonl")
    return folder


def fitted(folder: Path, out: Path, *options: str) -> tuple[dict[str, Any], str]:
    """What the module holds that the script wrote, and what it printed."""
    with redirect_stdout(StringIO()) as told:
        assert main([str(folder), "--budget", "300", "--write", str(out), *options]) == 0
    return runpy.run_path(str(out)), told.getvalue()


@pytest.fixture(scope="module")
def left_out(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    folder = tmp_path_factory.mktemp("left_out")
    return fitted(recorded(folder / "recorded"), folder / "weights.py", "--leave-out-each-repository")


def test_the_fit_finds_the_odds_that_the_counts_show() -> None:
    counts: Counter[Lesson] = Counter(
        {((0,), True): 3_000, ((0,), False): 1_000, ((1,), True): 1_000, ((1,), False): 4_000}
    )
    bias, ((first, second),) = fit(counts, [2], ridge=1e-6)
    assert bias + first == pytest.approx(math.log(3), abs=0.011)
    assert bias + second == pytest.approx(math.log(1 / 4), abs=0.011)


def test_a_larger_ridge_gives_smaller_weights() -> None:
    counts: Counter[Lesson] = Counter(
        {((0, 1), True): 30, ((0, 0), False): 10, ((1, 1), True): 10, ((1, 0), False): 40}
    )
    (_, loose), (_, tight) = fit(counts, [2, 2], ridge=0.5), fit(counts, [2, 2], ridge=50.0)
    assert max(abs(weight) for row in tight for weight in row) < max(abs(weight) for row in loose for weight in row) / 2


def test_a_bin_that_no_lesson_shows_weighs_nothing() -> None:
    counts: Counter[Lesson] = Counter({((0,), True): 5, ((1,), False): 5})
    _, ((_, _, unseen),) = fit(counts, [3])
    assert unseen == 0.0


def test_the_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    model = (0.0, ((0.0, 1.0, 2.0),))
    counts: Counter[Lesson] = Counter({((2,), True): 1, ((1,), True): 1, ((1,), False): 1, ((0,), False): 1})
    assert auc(counts, model) == pytest.approx((1 + 1 + 1 + 0.5) / 4)


def test_every_feature_in_use_has_its_name() -> None:
    assert len(NAME_FEATURES) == len(weights.NAMES[1])
    assert len(LINE_FEATURES) == len(weights.LINES[1])


def test_what_is_written_is_a_module_of_the_same_names_and_shapes(left_out: tuple[dict[str, Any], str]) -> None:
    module, _ = left_out
    assert module["__all__"] == weights.__all__
    for name in ("NAMES", "LINES"):
        bias, rows = module[name]
        assert isinstance(bias, float)
        assert [len(row) for row in rows] == [len(row) for row in getattr(weights, name)[1]]
    assert "2 repositories and 1 clients" in " ".join(module["__doc__"].split())


def test_the_figures_name_each_repository_and_say_that_it_was_left_out(left_out: tuple[dict[str, Any], str]) -> None:
    _, told = left_out
    assert "left out of the fit" in told
    assert "IN SAMPLE" not in told
    assert all(f"| {name} | claude-code | made up | 300 |" in told for name in ("one", "two", "all"))


def test_other_sessions_give_other_weights_and_the_same_sessions_the_same(
    left_out: tuple[dict[str, Any], str], tmp_path: Path
) -> None:
    before = weights.NAMES, weights.LINES
    folder = recorded(tmp_path / "recorded")
    same, _ = fitted(folder, tmp_path / "same.py")
    assert all(same[name] == left_out[0][name] for name in ("NAMES", "LINES"))
    (folder / "two__b.jsonl").unlink()
    other, told = fitted(folder, tmp_path / "other.py")
    assert all(other[name] != same[name] for name in ("NAMES", "LINES"))
    assert "IN SAMPLE" in told
    assert before == (weights.NAMES, weights.LINES), "the tables in use must stay as they are"


def test_a_repository_is_named_by_the_file_the_folder_or_a_pattern(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    reading(range(15, 30)).write(folder / "three" / "c.jsonl")
    found, unknown = recorded_below(folder, every_calls=10)
    assert {session.repository for session in found} == {"one", "two", "three"}
    assert unknown == 0
    assert recorded_below(folder, every_calls=10, clients=["codex"]) == ([], 3)


def test_one_repository_cannot_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(recorded(tmp_path)), "--repository", "__", "--leave-out-each-repository"]
    assert main(arguments) == 1
    assert "nothing to leave out" in capsys.readouterr().err


def test_a_folder_without_sessions_is_said_to_hold_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.jsonl").write_text('{"no": "session"}\n', encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    assert "1 files of another format" in capsys.readouterr().out
