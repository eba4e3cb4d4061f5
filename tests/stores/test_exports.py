"""Logs that grep reads and a scratchpad, under names and in folders that no id and no planted link can turn elsewhere."""

import hashlib
import itertools
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from undrift.errors import InputError, StoreError
from undrift.stores.exports import Exports, LogItem, TaskLog
from undrift.stores.sections import sections, without_section

REF = "0123456789abcdef"
HOSTILE = [
    "", ".", "..", "../x", "../../x", "/etc/x", "a/b", "a\\b", "a\0b", "a\nb", "-rf", "x" * 300, "a b", "a.b", "id.", "~", "$(id)", "*", "con", "NUL",
    "Com1", "con.log", "active_context.md", "active_context", "\u00e9", "e\u0301", "\ud800", "Run", "RUN", "run", "rUn", "\u212a", "k", "K", "\u00df", "ss", "x.log",
]  # fmt: skip


def hostile_ids() -> list[str]:
    made = list(HOSTILE)
    for number in range(50):
        made += [f"../{number}", f"{number}\0", f"A{number}", f"a{number}", "y" * 300 + str(number)]
    return list(dict.fromkeys(made))


def exports(home: Path, limit_bytes: int = 1_000) -> Exports:
    return Exports(home, scratchpad_limit_bytes=limit_bytes)


def log(task_id: str = "7", *texts: str, summary: str = "Fixed it.") -> TaskLog:
    return TaskLog(task_id, summary, 1_700_000_000_123, [LogItem(REF, "tool_result", text, "Bash") for text in texts])


def written(out: Exports, session_id: str, one: TaskLog) -> Path:
    return out.write_log(session_id, one.task_id, [one])


def grep(pattern: str, path: Path) -> list[str]:
    found = subprocess.run(["grep", "-n", pattern, path], capture_output=True, text=True, check=False)
    return found.stdout.splitlines()


def everything(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*"))


def test_the_paths_of_the_seed_come_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """AX-4, R3-01, R3-17."""
    monkeypatch.chdir(tmp_path)
    out = exports(Path(".sigma"))
    assert written(out, "s1", log()) == Path(".sigma/archives/s1/7.log")
    assert out.start_scratchpad("s1")
    assert out.scratchpad_path("s1") == Path(".sigma/archives/s1/active_context.md")
    assert Path(".sigma/archives/s1/7.log").is_file()
    assert Path(".sigma/archives/s1/active_context.md").read_text() == ""


def test_a_log_says_when_what_and_under_which_reference(tmp_path: Path):
    path = written(exports(tmp_path), "s1", log("7", "first\nline two", "second"))
    digest = hashlib.sha256(b"first\nline two").hexdigest()
    assert path.read_text().split("\n")[:6] == [
        "#undrift task: 7 | archived_at: 2023-11-14T22:13:20.123Z | items: 2",
        "#undrift summary:",
        "Fixed it.",
        f"#undrift item 1 | ref: {REF} | kind: tool_result | tool: Bash | sha256: {digest} | characters: 14",
        "first",
        "line two",
    ]
    assert grep("line two", path) == ["6:line two"]
    assert len(grep("^#undrift item", path)) == 2
    assert len(grep("^#undrift end$", path)) == 1


def test_what_tools_print_stays_text_for_grep_and_for_a_terminal(tmp_path: Path):
    text = "a\0b\x1b[2Jc\r\nd\rE\ud800 \u202e needle\n#undrift item 9 | forged\n\\#undrift end"
    path = written(exports(tmp_path), "s1", log("7", text, summary="x\n#undrift end"))
    assert [line.split(":", 1)[1] for line in grep("needle", path)] == ["d\\rE\\ud800 \\u202e needle"]
    assert len(grep("^#undrift item", path)) == 1
    assert len(grep("^#undrift end", path)) == 1
    assert "undrift recall gives the exact text" in path.read_text()
    assert not {*range(32), 127} - {10} & set(path.read_bytes())


def test_a_log_is_written_anew_in_one_step(tmp_path: Path):
    out = exports(tmp_path)
    path = written(out, "s1", log("7", "old"))
    before = path.stat().st_ino
    assert out.write_log("s1", "7", [log("7", "one"), log("7", "two")]) == path
    assert path.stat().st_ino != before
    assert (grep("^old$", path), len(grep("^one$\\|^two$", path))) == ([], 2)
    assert everything(path.parent) == [path]
    with pytest.raises(InputError, match="of that task only"):
        out.write_log("s1", "7", [log("8")])


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_all_is_for_its_owner_alone(tmp_path: Path, umask: int):
    before = os.umask(umask)
    try:
        out = exports(tmp_path / "home")
        written(out, "s1", log())
        out.write_log("s1", "8", [log("8")])
        out.write_scratchpad("s1", "x")
        out.append_scratchpad("s2", "x")
    finally:
        os.umask(before)
    modes = {path: path.stat().st_mode & 0o777 for path in everything(tmp_path)}
    assert len(modes) == 9
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items())


def test_a_search_finds_what_git_ignores(tmp_path: Path):
    """ripgrep leaves out what git ignores, and an agent searches by it."""
    out, outside = exports(tmp_path), tmp_path / "outside"
    out.start_scratchpad("s1")
    shown = tmp_path / "archives" / ".ignore"
    assert shown.read_text("utf-8").splitlines()[-1] == "!*"
    shown.unlink()
    shown.symlink_to(outside)
    out.start_scratchpad("s2")
    assert not outside.exists(), "a link that came with a repository was followed"


def test_two_hundred_hostile_ids_lead_nowhere_and_to_no_other_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """RELIABILITY S3, for every sink: 0 files outside the home, 0 collisions, also where case does not count."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # names are what is tried; the disk takes seconds
    ids = hostile_ids()
    assert len(ids) >= 200
    home = tmp_path / "a" / "b" / "home"
    out = exports(home)
    for hostile in ids:
        written(out, "s", log(hostile))
        out.write_log("again", hostile, [log(hostile)])
        out.append_scratchpad(hostile, hostile)
    files = [path for path in everything(tmp_path) if path.is_file() and path.name != ".ignore"]
    assert len(files) == 3 * len(ids)
    assert all(path.is_relative_to(home / "archives") and len(path.relative_to(home).parts) == 3 for path in files)
    assert len({str(path).casefold() for path in files}) == len(files)
    for hostile in ids:
        assert out.read_scratchpad(hostile).text == hostile.encode("utf-8", "replace").decode() + "\n"


@pytest.mark.parametrize("component", ["archives", "archives/s", "archives/s/7.log", "archives/s/active_context.md"])
@pytest.mark.parametrize("kind", ["link", "dangling link", "second name", "pipe"])
def test_nothing_planted_is_followed(tmp_path: Path, component: str, kind: str):
    """RELIABILITY S4: at each component, reading and writing."""
    elsewhere, home = tmp_path / "elsewhere", tmp_path / "home"
    (elsewhere / "s").mkdir(parents=True)
    victims = [elsewhere / "mine.txt", *(elsewhere / "s" / name for name in ("7.log", "active_context.md"))]
    for victim in victims:
        victim.write_text("mine")
    planted = home / component
    planted.parent.mkdir(parents=True)
    target = elsewhere / "mine.txt" if planted.suffix else elsewhere
    if kind == "pipe":
        os.mkfifo(planted)
    elif kind == "second name":
        planted.hardlink_to(victims[0])
    else:
        planted.symlink_to(target if kind == "link" else elsewhere / "new")
    out, before = exports(home), everything(elsewhere)
    on_log: list[Callable] = [lambda: written(out, "s", log())]
    on_notes: list[Callable] = [
        lambda: out.start_scratchpad("s"),
        lambda: out.read_scratchpad("s"),
        lambda: out.append_scratchpad("s", "x"),
        lambda: out.write_scratchpad("s", "x"),
        lambda: out.drop_section("s", "x"),
    ]
    meant = {"": [*on_log, *on_notes], ".log": on_log, ".md": on_notes}[planted.suffix]
    for act in meant:
        with pytest.raises(StoreError, match="home"):
            act()
    for act in {*on_log, *on_notes} - {*meant}:
        with suppress(InputError):  # there is no section to drop
            act()
    assert [victim.read_text() for victim in victims] == ["mine"] * 3
    assert everything(elsewhere) == before


def test_a_scratchpad_is_created_once(tmp_path: Path):
    """A3-20."""
    out = exports(tmp_path)
    assert out.read_scratchpad("s1").text == ""
    assert not everything(tmp_path)  # reading makes nothing
    assert out.start_scratchpad("s1")
    out.write_scratchpad("s1", "notes")
    assert not out.start_scratchpad("s1")
    assert out.read_scratchpad("s1").text == "notes"


def test_notes_are_added_on_lines_of_their_own(tmp_path: Path):
    out = exports(tmp_path)
    out.append_scratchpad("s1", "## one")
    out.scratchpad_path("s1").write_text("## mine, by an ordinary tool")
    assert out.append_scratchpad("s1", "b\n").text == "## mine, by an ordinary tool\nb\n"


def test_a_scratchpad_over_its_limit_is_warned_of_and_its_end_goes_into_the_window(tmp_path: Path):
    out = exports(tmp_path, limit_bytes=20)
    fits = out.write_scratchpad("s1", "x" * 20)
    assert (fits.warning, fits.window_text) == ("", "x" * 20)
    over = out.append_scratchpad("s1", "\u00e9\u00e9\u00e9\u00e9\u00e9\nnewest note")
    assert over.size_bytes == 44
    assert "44 bytes, 20 go into the window" in over.warning
    assert over.window_text == "newest note\n"
    assert over.text.startswith("xxxx")


def test_a_limit_below_one_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="at least 1 byte"):
        exports(tmp_path, limit_bytes=0)


def test_bytes_that_are_no_text_survive_grooming(tmp_path: Path):
    out = exports(tmp_path)
    out.write_scratchpad("s1", "")
    out.scratchpad_path("s1").write_bytes(b"\xff\r\n## old\r\nx\r\n## new\r\ny")
    assert "\ufffd" in out.read_scratchpad("s1").text
    out.drop_section("s1", "old")
    assert out.scratchpad_path("s1").read_bytes() == b"\xff\r\n## new\r\ny"


def test_a_section_that_is_not_there_is_an_error_that_names_those_that_are(tmp_path: Path):
    out = exports(tmp_path)
    out.write_scratchpad("s1", "# Notes\n## API\nx\n## Open questions\n")
    with pytest.raises(InputError, match="'API', 'Open questions'"):
        out.drop_section("s1", "api")
    assert out.read_scratchpad("s1").text == "# Notes\n## API\nx\n## Open questions\n"


NOTES = "intro\n## a\n1\n### deeper\n2\n## b ##\n```\n## not a section\n```\n3\n# Top\n4\n## a\n5\n   ## C#\n6"


def test_sections_are_those_of_markdown():
    assert sections(NOTES) == ("a", "b", "a", "C#")
    assert without_section(NOTES, "a") == NOTES.replace("## a\n1\n### deeper\n2\n", "").replace("## a\n5\n", "")
    assert without_section(NOTES, " b ").count("3") == 0
    assert without_section(NOTES, "C#") == NOTES.removesuffix("   ## C#\n6")
    for title in ("not a section", "deeper", "Top", ""):
        assert without_section(NOTES, title) == NOTES
    assert without_section("", "a") == ""


def test_what_the_agent_writes_while_a_section_is_dropped_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = exports(tmp_path)
    out.write_scratchpad("s1", "## old\nx\n")
    path, number, sync = out.scratchpad_path("s1"), itertools.count(), os.fsync

    def written_meanwhile(descriptor: int) -> None:
        sync(descriptor)
        if next(number) == 0:
            path.write_text("## old\nx\n## new\nnote\n")

    monkeypatch.setattr(os, "fsync", written_meanwhile)  # the system's, not ours: the moment before the swap
    assert out.drop_section("s1", "old").text == "## new\nnote\n"
    assert everything(path.parent) == [path]


def test_a_full_disk_leaves_the_former_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = exports(tmp_path)
    path = written(out, "s1", log("7", "old"))

    def full(descriptor: int, data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreError, match="free some space"):
        written(out, "s1", log("7", "new"))
    assert grep("^old$", path)
    assert everything(path.parent) == [path]


@pytest.mark.parametrize("home", ["a\0b", "\ud800"])
def test_a_home_that_is_no_path_is_an_error_of_ours(tmp_path: Path, home: str):
    with pytest.raises(StoreError, match="home"):
        written(exports(tmp_path / home), "s1", log())
