"""The first steps of a team over a server, by the command line alone: what one person sends, another one sees, and it stays."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.stores.on_server import address_of, skip_without_server
from undrift.cli import main

REMOTE = "https://git.example.com/acme/shop.git"


class Laptop:
    """A person's machine: a home folder of its own, and a checkout of the shared repository."""

    def __init__(self, folder: Path, person: str, server: str, patch: pytest.MonkeyPatch) -> None:
        self.home, self.checkout, self.patch = folder / person, folder / person / "src" / "shop", patch
        self.checkout.mkdir(parents=True)
        for command in (["init", "-q"], ["remote", "add", "origin", REMOTE]):
            subprocess.run(["git", *command], cwd=self.checkout, check=True)
        self.address = f"{server}&undrift_organisation=acme&undrift_person={person}"

    def run(self, *words: str, on_server: bool = False) -> str:
        with self.patch.context() as patch:
            patch.setenv("HOME", str(self.home))
            patch.chdir(self.checkout)
            patch.setenv("UNDRIFT_HOME", self.address if on_server else str(self.home / ".undrift"))
            done = CliRunner().invoke(main, list(words))
        assert done.exit_code == 0, done.output
        return done.output

    def memories(self, *, on_server: bool = False) -> list[str]:
        found = json.loads(self.run("memory", "list", "--json", on_server=on_server))
        return [one["content"] for one in found["memories"]]


@pytest.fixture
def server(tmp_path: Path) -> str:
    skip_without_server()
    return address_of(tmp_path)


def test_a_sync_again_takes_nothing_away(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch):
    erin = Laptop(tmp_path, "erin", server, monkeypatch)
    erin.run("memory", "remember", "The index is Lucene.")
    for _ in range(3):
        erin.run("store", "sync", "--with", erin.address)
        assert erin.memories() == ["The index is Lucene."]
    assert erin.memories(on_server=True) == ["The index is Lucene."]


def test_what_was_moved_is_seen_at_once_by_the_person_and_by_the_team(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
):
    ann, bob = (Laptop(tmp_path, person, server, monkeypatch) for person in ("ann", "bob"))
    ann.run("memory", "remember", "The staging host is db-2.")
    ann.run("store", "move", "--to", ann.address)
    assert ann.memories(on_server=True) == ["The staging host is db-2."]
    assert bob.memories(on_server=True) == ["The staging host is db-2."]  # his first command: he has written nothing
    ann.run("store", "move", "--to", ann.address)  # again: nothing is left to do


def test_parameters_of_the_driver_lead_to_the_same_home(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch):
    ann = Laptop(tmp_path, "ann", server, monkeypatch)
    ann.run("memory", "remember", "The port is 8080.", on_server=True)
    ann.address += "&undrift_affinity=yes&application_name=x"
    assert ann.memories(on_server=True) == ["The port is 8080."]
    ann.address += "&undrift_project=another"
    assert ann.memories(on_server=True) == []


def test_a_sync_with_another_project_of_the_server_changes_nothing(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
):
    erin = Laptop(tmp_path, "erin", server, monkeypatch)
    erin.run("memory", "remember", "The index is Lucene.")
    erin.run("store", "sync", "--with", erin.address)
    with pytest.raises(AssertionError, match="other records of the server"):
        erin.run("store", "sync", "--with", f"{erin.address}&undrift_project=another")
    assert erin.memories() == ["The index is Lucene."]
