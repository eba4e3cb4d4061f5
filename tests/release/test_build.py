"""The parts of a release: archives and lists that are the same in every build, and nothing that must not be published."""

import hashlib
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from release.archives import files_below, unpack, write_zip
from release.build import _emptied, _is_secret
from release.parts import contained, document, locked
from release.provenance import UNSIGNED, statement
from tests.release import empty_machine
from tests.release.try_release import Cost, cost_of, words_of_entry
from tests.release.twice import differences

ROOT = Path(__file__).parents[2]
AT_S = 1_700_000_000


def test_a_zip_file_is_the_same_for_any_order_and_time_of_the_files(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.zip", {"b.sh": b"run", "a.txt": b"text"}, AT_S)
    write_zip(tmp_path / "b.zip", {"a.txt": b"text", "b.sh": b"run"}, AT_S)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.namelist() == ["a.txt", "b.sh"]
        assert [entry.external_attr >> 16 for entry in archive.infolist()] == [0o644, 0o755]


def test_a_path_that_a_commit_lacks_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x", encoding="utf-8")
    assert files_below(tmp_path, "there") == {"there": b"x"}
    with pytest.raises(FileNotFoundError, match="gone: not in this commit"):
        files_below(tmp_path, "there", "gone")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("../out", tarfile.REGTYPE), ("/out", tarfile.REGTYPE), ("in", tarfile.SYMTYPE), ("in", tarfile.LNKTYPE)],
)
def test_an_archive_that_leads_out_of_its_folder_is_refused(tmp_path: Path, name: str, kind: bytes) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for one, type_ in (("whole", tarfile.REGTYPE), (name, kind)):
            member = tarfile.TarInfo(one)
            member.size, member.type, member.linkname = (
                (4, type_, "whole") if type_ == tarfile.REGTYPE else (0, type_, "/out")
            )
            archive.addfile(member, io.BytesIO(b"text"))
    with pytest.raises(ValueError, match="is no file below a folder"):
        unpack(tmp_path / "x.tar", tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_an_archive_is_unpacked_with_two_modes(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for name, mode in (("a/run.sh", 0o6777), ("a/text", 0o666)):
            member = tarfile.TarInfo(name)
            member.size, member.mode = 4, mode
            archive.addfile(member, io.BytesIO(b"text"))
    unpack(tmp_path / "x.tar", tmp_path / "here")
    found = {path.name: path.stat().st_mode & 0o7777 for path in (tmp_path / "here" / "a").iterdir()}
    assert found == {"run.sh": 0o755, "text": 0o644}


def test_keys_of_a_person_are_never_published() -> None:
    assert _is_secret("deploy/secrets/token")
    assert _is_secret("deploy/secrets/below/token")
    assert not _is_secret("deploy/secrets/.gitignore")
    assert not _is_secret("deploy/Dockerfile")


def test_a_build_deletes_the_files_of_an_earlier_one_and_no_others(tmp_path: Path) -> None:
    out = tmp_path / "dist"
    _emptied(out, "undrift")
    for name in ("undrift-1.tar.gz", "server.json", "SHA256SUMS"):
        (out / name).write_text("old", encoding="utf-8")
    _emptied(out, "undrift")
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_a_folder_with_anything_else_is_left_as_it_is(tmp_path: Path, kind: str) -> None:
    (tmp_path / "undrift-1.tar.gz").write_text("old", encoding="utf-8")
    if kind == "file":
        (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    elif kind == "folder":
        (tmp_path / "undrift-notes").mkdir()
    else:
        (tmp_path / "undrift-link").symlink_to(tmp_path / "undrift-1.tar.gz")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SystemExit, match="no build has written it"):
        _emptied(tmp_path, "undrift")
    assert sorted(tmp_path.iterdir()) == before


def test_a_lock_becomes_parts_and_what_some_versions_need_is_optional() -> None:
    lock = 'one==1.2 \\\n    --hash=sha256:00\nhatch-two==3 ; python_version < "3.14" \\\n    --hash=sha256:11\n'
    first, second = locked(lock)
    assert (first["purl"], first["scope"]) == ("pkg:pypi/one@1.2", "required")
    assert (second["name"], second["scope"]) == ("hatch-two", "optional")


def test_the_list_of_parts_names_the_file_and_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(b"content")
    found = json.loads(document(path, "application", "1", contained({"a": b"1"})))
    component = found["metadata"]["component"]
    assert component["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(b"content").hexdigest()}]
    assert found["components"][0]["hashes"][0]["content"] == hashlib.sha256(b"1").hexdigest()


def test_the_statement_of_origin_has_every_hash_and_says_that_it_is_not_signed(tmp_path: Path) -> None:
    path = tmp_path / "x.whl"
    path.write_bytes(b"wheel")
    text = statement([path], "0" * 40, AT_S, ROOT)
    found = json.loads(text)
    assert found["subject"] == [{"name": "x.whl", "digest": {"sha256": hashlib.sha256(b"wheel").hexdigest()}}]
    assert found["predicate"]["runDetails"]["byproducts"][0]["annotations"]["state"] == UNSIGNED
    assert str(tmp_path) not in text
    assert text == statement([path], "0" * 40, AT_S, ROOT)


def test_a_file_that_differs_or_is_missing_is_named(tmp_path: Path) -> None:
    for name, files in (("a", {"x": "1", "y": "1", "same": "1"}), ("b", {"x": "2", "z": "1", "same": "1"})):
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text, encoding="utf-8")
    assert differences(tmp_path / "a", tmp_path / "b") == ["x", "y", "z"]


def test_the_entry_of_the_registry_becomes_the_command_of_its_runner() -> None:
    entry = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    words = words_of_entry(entry)
    assert words[0] == "uvx"
    assert words[-2:] == [f"undrift@{entry['version']}", "mcp"]


def test_the_cost_of_a_start_counts_each_package_and_each_linked_file_once(tmp_path: Path) -> None:
    home, packages = tmp_path / "home", tmp_path / "packages"
    (home / "lib" / "one_two-1.dist-info").mkdir(parents=True)
    packages.mkdir()
    (packages / "one_two-1-py3-none-any.whl").write_bytes(b"12345")
    (packages / "other-2-py3-none-any.whl").write_bytes(b"1234567")
    (home / "cache").write_bytes(b"123")
    (home / "lib" / "linked").hardlink_to(home / "cache")
    assert cost_of(home, packages) == Cost(packages=1, fetched_bytes=5, kept_bytes=3)


def test_only_a_folder_in_a_scratch_folder_is_removed(tmp_path: Path) -> None:
    scratch, outside = tmp_path / "scratch", tmp_path / "outside"
    (scratch / "home" / "deep").mkdir(parents=True)
    outside.mkdir()
    (scratch / "link").symlink_to(outside)
    for folder in (outside, scratch / "link", scratch / ".." / "outside"):
        with pytest.raises(RuntimeError, match="not in a scratch folder"):
            empty_machine.discard(folder, scratch)
    (scratch / "home" / "out").symlink_to(outside)
    empty_machine.discard(scratch / "home", scratch)
    assert not (scratch / "home").exists()
    assert outside.is_dir()
