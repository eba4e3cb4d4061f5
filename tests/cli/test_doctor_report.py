"""`undrift doctor --report`: everything that an issue needs, and nothing that a person would not publish."""

import os
import re
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.builders import undrift
from tests.stores.builders import add, database, original, raw
from undrift.doctor import Finding, examine, report
from undrift.doctor.finding import note, ok, wrong
from undrift.stores.sqlite import SqliteStore

PERSON, PROJECT, KEY = "jane-quimby", "falcon-nest", "sk-ant-api03-" + "a1B2c3D4" * 11
HOSTNAME = "gate.internal.example"
PLANTED = (PERSON, "quimby", PROJECT, "falcon", KEY, "a1B2c3D4", HOSTNAME, "internal", "4711", "kestrel", "moonlit")
"""Words that stand in folders, settings, logs and records of the home below, and nowhere in our source."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with something wrong in every part of it that quotes a person's own text."""
    folder = tmp_path / PERSON / PROJECT / ".undrift"
    with SqliteStore.open(folder) as store:
        add(store, original("e", f"{KEY} of {PERSON}"), original("f", "moonlit text"), prune_them=True)
    connection = raw(folder)
    ref = original("e").ref
    connection.execute("UPDATE originals SET content = CAST('moonlit' AS BLOB) WHERE ref = ?", (ref,))
    connection.close()
    claude = tmp_path / PERSON / ".claude"
    installed = undrift("install", "claude", "--yes", "--home", folder, "--claude-home", claude)
    assert installed.exit_code == 0, installed.output
    log = f"2999-01-01T00:00:00Z claude PreCompact: {PERSON} reads {KEY} at {HOSTNAME}: error in the store of 4711\n"
    (folder / "hooks.log").write_text(log, encoding="utf-8")
    (folder / "gateway-4711.json").write_text(f'{{"url": "http://{HOSTNAME}/", "port": 4711}}', encoding="utf-8")
    (folder / f"undrift.db.{PERSON}").write_bytes(b"")
    folder.chmod(0o755)
    database(folder).chmod(0o644)
    return folder


def variables(home: Path) -> dict[str, str | None]:
    return {
        "HOME": str(home.parents[1]),
        "UNDRIFT_EMBEDDER": f"https://{HOSTNAME}/embed/{PROJECT}",
        "UNDRIFT_EMBEDDER_KEY": KEY,
        "UNDRIFT_BUDGET_TOKENS": "60k",
        f"UNDRIFT_{PROJECT.upper().replace('-', '_')}": "kestrel",
    }


def printed(home: Path, **more: str) -> str:
    result = undrift("doctor", "--report", "--home", home, env={**variables(home), **more}, columns=400)
    assert result.exit_code == 1
    assert "Read the report before you publish it" in result.stderr
    return result.stdout


def leaks(text: str, home: Path) -> list[str]:
    """Return what of the planted words, of the machine's and of the path of the home stands in a text."""
    private = {*PLANTED, *home.parts[1:-1], socket.gethostname(), str(home), str(Path(__file__).parents[2])}
    private -= {"tmp"}
    return [word for word in private if word.lower() in text.lower()]


def test_the_report_names_what_is_wrong_and_nothing_private(home: Path) -> None:
    text = printed(home)
    assert leaks(text, home) == []
    lines = text.splitlines()
    assert re.match(r"undrift \d\S+, CPython 3\.\d+\.\d+, \w+ ", lines[0])
    assert re.search(r"SQLite 3\.\d+", lines[1])
    assert re.search(r"\bapsw 3\.\d+", lines[2])
    assert lines[3].startswith("settings that differ: ")
    assert "budget_tokens = 60000 (variable)" in lines[3]
    assert "embedder = set (variable)" in lines[3]
    assert "home = set (option)" in lines[3]
    assert any(re.match(r"wrong  integrity: 1 record or place is damaged \[\d details\]", line) for line in lines)
    assert any(re.match(r"wrong  permissions: \d can be read or written by others than you", line) for line in lines)
    assert any(
        re.match(r"note   hooks' log: .* of the last 7 days; the newest … \[1 details\]", line) for line in lines
    )
    assert [line[:5] for line in lines[4:]] == sorted(
        (line[:5] for line in lines[4:]), key=["wrong", "note ", "ok   "].index
    )


def test_the_same_words_stand_in_the_ordinary_output(home: Path) -> None:
    """The planted words do reach the findings: a report without them has left them out."""
    text = undrift("doctor", "-v", "--home", home, env=variables(home), columns=400).stdout
    assert {PERSON, PROJECT, KEY, HOSTNAME, "4711"} <= set(leaks(text, home))


def test_settings_that_are_wrong_are_not_quoted(home: Path) -> None:
    text = printed(home, UNDRIFT_BUDGET_TOKENS=f"{PERSON} {KEY}")
    assert leaks(text, home) == []
    assert "settings: cannot be read" in text
    assert "wrong  settings: …" in text


def test_a_report_of_a_home_that_nothing_was_done_in_is_whole(tmp_path: Path) -> None:
    result = undrift("doctor", "--report", "--home", tmp_path / PERSON, env={"HOME": str(tmp_path)})
    assert result.exit_code == 0
    assert "note   home: PATH is not there: nothing was recorded in it yet" in result.stdout
    assert leaks(result.stdout, tmp_path / PERSON / "x") == []


FOREIGN = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"], exclude_characters="/\\"), max_size=30
)
"""A text without a folder in it: a number may stand beside a path, which is replaced as a whole."""


def lines(*findings: Finding) -> Iterator[str]:
    return (line for line in report(findings, overrides={}, environ={}) if line[:5] in ("wrong", "note ", "ok   "))


@given(foreign=FOREIGN.map(lambda text: f"zq{text}zq"), before=st.booleans(), state=st.sampled_from([ok, note]))
def test_a_word_that_is_not_ours_never_stands_in_a_report(foreign: str, before: bool, state) -> None:
    finding = state("store", f"{foreign} cannot be opened 12345" if before else f"12345 cannot open {foreign}")
    (line,) = lines(finding)
    assert "zq" not in line
    assert "12345" not in line, "a number beside a foreign word may belong to it"
    assert "cannot" in line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the store has version 30, the newest", "the store has version 30, the newest"),
        ("67.2 GiB are free", "67.2 GiB are free"),
        ("/srv/x y/z.db cannot be read", "PATH PATH cannot be read"),
        (r"C:\Users\x cannot be read", "PATH cannot be read"),
        ("10.0.0.1 cannot be read", "… cannot be read"),
        ("4111111111111111 cannot be read", "… cannot be read"),
        ("x@example.org cannot be read", "… cannot be read"),
    ],
)
def test_what_is_ours_stays_and_all_else_is_replaced(text: str, shown: str) -> None:
    assert list(lines(ok("store", text))) == [f"ok     store: {shown}"]


def test_a_home_whose_name_is_one_of_our_words_is_left_out_too() -> None:
    finding = replace(ok("home", "/srv/the store is/here can be written"), home="/srv/the store is/here")
    assert list(lines(finding)) == ["ok     home: PATH can be written"]


def test_a_remedy_and_details_are_only_counted() -> None:
    (line,) = lines(wrong("store", "the store is large", f"rm {KEY}", details=(KEY, PERSON)))
    assert line == "wrong  store: the store is large [2 details]"


def test_every_sentence_of_the_doctor_on_a_whole_home_is_shown(tmp_path: Path) -> None:
    """A report that left out our own words would say too little: of a home that is well, only figures of the system are missing."""
    with SqliteStore.open(tmp_path / "home") as store:
        add(store, original("e", "kept"), prune_them=True)
    found = tuple(examine([str(tmp_path / "home")], overrides={}, environ={"HOME": str(tmp_path)}))
    shown = list(lines(*found))
    assert [
        line for line in shown if "…" in line.replace("SQLite … Python …", "").replace("can be written, on …", "")
    ] == []
    assert "ok     version: the store has version" in "\n".join(shown)
    assert os.sep not in "".join(shown)


def test_the_sentences_about_a_server_are_shown() -> None:
    (line,) = lines(ok("integrity", "every record of this project matches its SHA-256"))
    assert line == "ok     integrity: every record of this project matches its SHA-256"
