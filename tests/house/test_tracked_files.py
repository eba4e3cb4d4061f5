"""No file of the repository names the machine it was written on, or a package index; each is small enough to read."""

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMON = {
    "/",
    "/builds",
    "/home",
    "/mnt",
    "/opt",
    "/srv",
    "/tmp",
    "/usr",
    "/usr/local",
    "/var",
    "/var/tmp",
    "/Users",
}
"""Folders that every machine has: to be in one of them says nothing about it."""

LARGEST_FILE_BYTES = 5_000_000
INDEX_OPTION = re.compile(
    "--(?:extra-)?index" + "-url|--find" + "-links[ =]|--trusted" + "-host|^ *index" + "-url *=", re.MULTILINE
)
ADDRESS_OF_INDEX = re.compile("https?" + r"://[^\s\"'<>]*/simple\b|https?" + r"://(?:files\.pythonhosted|test\.pypi)\b")


def tracked() -> list[Path]:
    """Return the files that are, or would be, committed; skip visibly where this is no clone."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs git, to know which files belong to the repository")
    if run.returncode != 0:
        pytest.skip(f"needs a clone, to know which files belong to the repository: {run.stderr.strip()}")
    return [path for name in sorted(set(run.stdout.split("\0"))) if name and (path := ROOT / name).is_file()]


def places() -> list[str]:
    """Return the folders of this machine that no file may name: where the checkout and the caller's home are."""
    around = {str(place) for root in (ROOT, ROOT.resolve()) for place in (root, root.parent)} - COMMON
    home = os.path.expanduser("~").rstrip("/")  # noqa: PTH111 - Path.home() refuses where HOME is unknown
    return sorted(around | ({home} if home.startswith("/") else set()))


def named_places(text: str, folders: Iterable[str]) -> list[str]:
    """Return ``line: folder`` for each place where a text names one of the folders, or something in it."""
    return [
        f"{text.count(chr(10), 0, match.start()) + 1}: {folder}"
        for folder in folders
        for match in re.finditer(rf"(?<![\w.~-]){re.escape(folder)}(?![\w.-])", text)
    ]


def index_addresses(text: str) -> list[str]:
    """Return ``line: text`` for each package index, or option that names one."""
    matches = [*INDEX_OPTION.finditer(text), *ADDRESS_OF_INDEX.finditer(text)]
    return [f"{text.count(chr(10), 0, match.start()) + 1}: {match.group().strip()}" for match in matches]


def texts() -> list[tuple[str, str]]:
    """Return path and text of each tracked text file."""
    files = tracked()
    assert files, "git lists no file at all: this is not the repository"
    found = []
    for path in files:
        try:
            found.append((path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue  # binary: a picture
    return found


def test_no_file_names_a_folder_of_this_machine():
    folders = places()
    found = [f"{path}:{place}" for path, text in texts() for place in named_places(text, folders)]
    assert not found, "write paths relative to the repository:\n" + "\n".join(found[:40])


def test_no_file_names_a_package_index():
    found = [f"{path}:{place}" for path, text in texts() for place in index_addresses(text)]
    assert not found, "packages come through pip's ordinary configuration; take the address out:\n" + "\n".join(
        found[:40]
    )


def test_no_file_is_too_large_to_clone_quickly():
    found = [
        f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes"
        for path in tracked()
        if path.stat().st_size > LARGEST_FILE_BYTES
    ]
    assert not found, f"no tracked file may exceed {LARGEST_FILE_BYTES:,} bytes:\n" + "\n".join(found)


def test_no_recorded_environment_is_tracked():
    found = [str(path.relative_to(ROOT)) for path in tracked() if path.name == ".env" or ".venv" in path.parts]
    assert not found, f"{found} may hold secrets or another machine's files: remove them and see .gitignore"


@pytest.mark.parametrize(
    "text", ["see /where/it/is/x.py", "'/where/it'", "a\n/where/it", "file:///where/it/x", "(/where/it)"]
)
def test_a_path_of_the_machine_is_found(text: str):
    assert named_places(text, ["/where/it"]) == [f"{1 + text.count(chr(10))}: /where/it"]


@pytest.mark.parametrize("text", ["src/where/it", "../where/it", "/where/item", "/elsewhere/it", "~/where/it"])
def test_a_path_that_only_looks_like_it_is_let_through(text: str):
    assert named_places(text, ["/where/it"]) == []


def test_the_checkout_itself_is_one_of_the_places():
    assert str(ROOT) in places() or str(ROOT) in COMMON


@pytest.mark.parametrize(
    "text",
    [
        "pip install --index" + "-url x",
        "--extra-index" + "-url=x",
        "[global]\nindex" + "-url = x",
        "http" + "s://pkg.example.org/simple/",
    ],
)
def test_a_package_index_is_found(text: str):
    assert len(index_addresses(text)) == 1


def test_the_option_that_keeps_an_index_out_is_let_through():
    assert index_addresses("pip-compile --no-emit-index" + "-url --no-emit-trusted" + "-host") == []
