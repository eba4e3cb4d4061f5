"""The table of what folding saves when a window is pruned, with a row for each kind of noise."""

from bench.shrink import main, table
from tests.cli.builders import answered, called, claude, said, written
from undrift.bench.sessions import Case
from undrift.recordings.files import open_recording


def test_each_kind_of_noise_has_its_row(tmp_path, capsys):
    listing = "\n".join(f"{n:6}→row {n}" for n in range(1, 200))
    texts = (listing, "same line\n" * 5_000)
    lines = [claude("user", "hello")]
    for number, given in enumerate(texts):
        lines += [claude("assistant", [called(number)]), claude("user", [answered(number, given)])]
    lines.append(claude("assistant", [said("done")]))
    path = written(tmp_path / "session.jsonl", lines)
    rows = list(table([Case("s", open_recording(path))]))
    assert rows[0].startswith("1 sessions, ")
    assert {row[:24].strip(): int(row[24:33]) for row in rows[2:]} == {
        "when a window shrinks": 2,
        "line numbers": 1,
        "repeated lines": 1,
    }
    assert main([str(tmp_path), "--min-calls", "0"]) == 0
    assert capsys.readouterr().out.splitlines() == rows
