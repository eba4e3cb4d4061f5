"""`undrift memory list` and `preview`."""

from pathlib import Path

from tests.builders import opened
from tests.cli.builders import undrift
from tests.cli.test_memory import HOSTILE, ran, told


def home_with_three(home: Path) -> list[str]:
    """Two active memories and a superseded one; the ids, oldest first."""
    with opened(home, "s") as session:
        old = session.remember("The main database is PostgreSQL.", trust="user", source="adr-7", speaker="Ann")
        new = session.memory.edit(old.id, "The main database is SQLite.")
        own = session.remember("This session uses port 8080.", type="req_context", scope="session")
    return [old.id, new.id, own.id]


def test_active_memories_come_first_the_newest_first(tmp_path: Path):
    old, new, own = home_with_three(tmp_path)
    listed = told("memory", "list", "--home", tmp_path)
    assert ([one["id"] for one in listed["memories"]], listed["active"], listed["superseded"]) == ([own, new], 2, 1)
    assert [one["id"] for one in told("memory", "list", "--all", "--home", tmp_path)["memories"]] == [own, new, old]
    shown = ran("memory", "list", "--all", "--home", tmp_path)
    assert shown.startswith("2 active memories: 1 for the project, 1 for one session. 1 superseded.\n")
    assert f"superseded by {new}" in shown
    assert "session s  req_context  trust assistant" in shown
    assert "by Ann" in shown
    assert "from adr-7" in shown
    assert f"  undrift memory forget ID... --home {tmp_path}" in shown
    assert max(len(line) for line in shown.splitlines() if str(tmp_path) not in line) <= 80


def test_a_list_can_be_narrowed(tmp_path: Path):
    _, new, own = home_with_three(tmp_path)
    for options, found in (
        (("--scope", "session"), [own]),
        (("--type", "note"), [new]),
        (("--type", "note", "--scope", "session"), []),
        (("--limit", "1"), [own]),
    ):
        listed = told("memory", "list", *options, "--home", tmp_path)
        assert [one["id"] for one in listed["memories"]] == found, options
    shown = ran("memory", "list", "--limit", "1", "--home", tmp_path)
    assert "1 more memory: --limit 2" in shown
    empty = ran("memory", "list", "--type", "summary", "--home", tmp_path)
    assert empty.startswith("No memory is active.")
    assert "undrift memory import CLAUDE.md" in empty


def test_a_short_id_names_its_memory_alone(tmp_path: Path):
    _, new, _ = home_with_three(tmp_path)
    shown = ran("memory", "list", "--home", tmp_path)
    short = next(line.split()[0] for line in shown.splitlines() if "SQLite" in line)
    assert (len(short), new.startswith(short)) == (8, True)
    assert told("memory", "edit", short, "--text", "It is DuckDB.", "--home", tmp_path)["superseded"] == [new]


def test_memories_of_a_stranger_cannot_draw_on_the_terminal(tmp_path: Path):
    with opened(tmp_path, HOSTILE) as session:
        session.remember(f"words {HOSTILE}" + "x" * 900, speaker=HOSTILE * 9, source=HOSTILE * 9, scope="session")
    shown = undrift("memory", "list", "--all", "--home", tmp_path)
    assert all(c.isprintable() or c == "\n" for c in shown.output)
    assert max(len(line) for line in shown.stdout.splitlines() if str(tmp_path) not in line) <= 80
    preview = undrift("memory", "preview", "words", "--home", tmp_path)
    assert all(c.isprintable() or c == "\n" for c in preview.output)


def test_a_preview_is_the_text_of_a_brief_to_the_byte(tmp_path: Path):
    home_with_three(tmp_path)
    with opened(tmp_path, "s") as session:
        brief = session.brief("which database", 300)
    shown = undrift("memory", "preview", "which database", "--tokens", "300", "--home", tmp_path)
    assert brief
    assert shown.stdout == brief + "\n"
    assert "tokens of at most 300." in shown.stderr
    assert "UNDRIFT_MEMORY_TOKENS=500" in shown.stderr
    told_ = told("memory", "preview", "which database", "--home", tmp_path)
    assert (told_["text"], told_["most"], told_["in_windows"]) == (brief, 500, False)
    assert 0 < told_["tokens"] <= 300


def test_a_preview_is_the_note_that_the_window_gets(tmp_path: Path):
    from tests.builders import body, user

    home_with_three(tmp_path)
    env: dict[str, str | None] = {"UNDRIFT_MEMORY_TOKENS": "400"}
    shown = undrift("memory", "preview", "which database", "--home", tmp_path, env=env)
    with opened(tmp_path, "s", memory_tokens=400) as session:
        sent = session.prepare(body(user("which database"))).body
    assert shown.stdout.strip()
    assert shown.stdout.strip() in str([block["text"] for one in sent["messages"] for block in one["content"]]).replace(
        "\\n", "\n"
    )
    assert "score" not in shown.stdout
    assert "Windows hold no such text" not in shown.stderr


def test_a_preview_of_nothing_says_so(tmp_path: Path):
    home_with_three(tmp_path)
    shown = undrift("memory", "preview", "which database", "--tokens", "5", "--home", tmp_path)
    assert (shown.stdout, shown.exit_code) == ("", 0)
    assert "Nothing remembered fits. So an agent sees no text." in shown.stderr


def test_without_a_store_the_commands_say_what_makes_one(tmp_path: Path):
    for words in (("list",), ("preview", "x"), ("edit", "m123", "--text", "x"), ("forget", "m123"), ("export",)):
        shown = ran("memory", *words, "--home", tmp_path / "none", code=1)
        assert "`undrift memory remember TEXT`" in shown
    assert not (tmp_path / "none").exists()
