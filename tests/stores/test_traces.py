"""Pieces of a destroyed text are found in whatever form and file they stand, and nothing is changed by looking."""

import json
import os
import sys
from pathlib import Path

import apsw
import pytest

from tests.stores.builders import commit, original
from undrift.stores.sqlite import SqliteStore
from undrift.stores.traces import copies, files, held, pieces

TEXT = "the vault opens at nine, \u201csaid\u201d the porter\nand nobody else knows it"


def names(home: Path, text: str = TEXT) -> list[str]:
    return [path.relative_to(home).as_posix() for path in sorted(files([home])) if held(path, pieces([text.encode()]))]


def test_a_text_is_found_as_it_is_in_part_and_as_json(tmp_path: Path):
    (tmp_path / "whole").write_text(TEXT)
    (tmp_path / "part").write_text(f"x{TEXT[:40]}")
    (tmp_path / "quoted.json").write_text(json.dumps({"said": TEXT}))
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "late").write_bytes(b"-" * (9 << 20) + TEXT.encode())
    (tmp_path / "other").write_text("the vault is shut")
    assert names(tmp_path) == ["deep/er/late", "part", "quoted.json", "whole"]


def test_a_text_across_the_border_of_two_blocks_is_found(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"-" * ((8 << 20) - 20) + b"0123456789abcdefghijABCDEFGHIJ" + b"-" * 100)
    assert names(tmp_path, "0123456789abcdefghijABCDEFGHIJ") == ["file"]


@pytest.mark.parametrize("text", ["", "abc", "-----------------", " \n\t", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"])
def test_what_stands_anywhere_by_chance_is_not_looked_for(text: str):
    assert pieces([text.encode()]) == ()


def test_of_very_many_texts_samples_are_taken(tmp_path: Path):
    found = pieces(f"text number {number} says something else than {number * 7}".encode() for number in range(5_000))
    assert 100 < len(found) <= 300


def test_a_word_with_a_digit_is_looked_for_by_itself(tmp_path: Path):
    (tmp_path / "file").write_text("password=hunter2secret!")
    assert names(tmp_path, "They say that hunter2secret is what the porter's own password is") == ["file"]


def test_links_and_what_is_no_file_are_passed_over(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.write_text(TEXT)
    home = tmp_path / "home"
    home.mkdir()
    (home / "link").symlink_to(outside)
    os.mkfifo(home / "pipe")
    assert names(home) == []


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path):
    assert isinstance(pieces([b"\xff\xfe\x00 some bytes that are none \xed\xa0\x80"]), tuple)


def test_copies_name_the_records_that_still_hold_it(tmp_path: Path):
    with SqliteStore.open(tmp_path) as store:
        kept = original("e", f"again: {TEXT}")
        commit(store, kept.session_id, "add", at_ms=1, originals=[kept])
        with store._database.using() as connection:
            found = copies(connection, pieces([TEXT.encode()]))
    assert {name for some in found.values() for name in some} == {f"original {kept.ref}"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/locks")
def test_looking_into_the_database_drops_no_lock_of_this_process(tmp_path: Path):
    def locks() -> int:
        inode = (tmp_path / "undrift.db").stat().st_ino
        return sum(f":{inode} " in line for line in Path("/proc/locks").read_text().splitlines())

    connection = apsw.Connection(str(tmp_path / "undrift.db"))
    connection.pragma("journal_mode", "wal")
    connection.execute("CREATE TABLE t(a)")
    before = locks()
    for path in files([tmp_path]):
        held(path, pieces([TEXT.encode()]))
    assert locks() == before > 0
    connection.close()
