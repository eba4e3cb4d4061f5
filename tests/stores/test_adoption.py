"""A home of an earlier version becomes the records of a project, and goes back byte for byte."""

import random
import signal
import time
from pathlib import Path

import pytest

from tests.stores.builders import database, python
from tests.stores.test_projects import repository
from tests.stores.test_scopes import VERSIONS, Old
from undrift.errors import InputError, RecallError, StoreBusy
from undrift.stores.adoption import ADOPTED, adopt, adoption_of, give_back
from undrift.stores.projects import place_of
from undrift.stores.sqlite import SqliteStore
from undrift.values.project import Place

KILLS = 8


class Earlier:
    """A repository with the home of an earlier version in it, and its place in the home of today."""

    def __init__(self, folder: Path, version: int) -> None:
        self.root = repository(folder / "shop")
        self.old = Old(self.root / ".undrift", version)
        self.place: Place = place_of(folder / "home", self.root, shares=True)

    @property
    def adopted(self) -> Old:
        """The same session, in the records of the project."""
        found = object.__new__(Old)
        found.home, found.version, found.history, found.window = (
            self.place.records,
            self.old.version,
            self.old.history,
            self.old.window,
        )
        return found


@pytest.fixture(params=VERSIONS)
def earlier(tmp_path: Path, request: pytest.FixtureRequest) -> Earlier:
    return Earlier(tmp_path, request.param)


def test_the_windows_are_the_same_and_the_old_file_goes_back_byte_for_byte(earlier: Earlier):
    before = database(earlier.old.home).read_bytes()
    assert adopt(earlier.old.home, earlier.place).operations > 0
    assert earlier.adopted.sent() == earlier.old.window
    assert not database(earlier.old.home).exists()
    assert (earlier.old.home / ADOPTED).read_bytes() == before
    known, kept = give_back(earlier.place)
    assert known.source == str(earlier.old.home)
    assert database(earlier.old.home).read_bytes() == before
    assert adoption_of(earlier.place) is None
    assert kept is None or kept.exists()
    assert earlier.old.sent() == earlier.old.window


def test_what_was_written_since_is_kept_when_the_old_file_goes_back(earlier: Earlier):
    from undrift import Session

    adopt(earlier.old.home, earlier.place)
    with Session.open("new", home=earlier.place) as session:
        session.remember("The cache is Redis.")
    _, kept = give_back(earlier.place)
    assert kept is not None
    kept.rename(database(earlier.place.records))
    with Session.open("new", home=earlier.place) as session:
        assert [one.content for one in session.memories() if "Redis" in one.content] == ["The cache is Redis."]


def test_a_store_in_use_or_a_project_with_records_is_refused_and_nothing_changes(earlier: Earlier):
    before = database(earlier.old.home).read_bytes()
    process = python(
        f"from undrift.stores.sqlite import SqliteStore\nimport time\n"
        f"store = SqliteStore.open({str(earlier.old.home)!r}); print('open', flush=True); time.sleep(60)"
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            with pytest.raises(StoreBusy):
                adopt(earlier.old.home, earlier.place)
        finally:
            process.kill()
    SqliteStore.open(earlier.place).close()
    with pytest.raises(InputError, match="has records already"):
        adopt(earlier.old.home, earlier.place)
    assert database(earlier.old.home).exists()
    assert before[:16] == database(earlier.old.home).read_bytes()[:16]


def test_a_folder_without_a_store_and_records_that_were_not_taken_over_are_named(tmp_path: Path, earlier: Earlier):
    with pytest.raises(RecallError, match="there is no store"):
        adopt(tmp_path / "empty", earlier.place)
    with pytest.raises(RecallError, match="were not taken over"):
        give_back(earlier.place)


def test_an_old_file_that_was_changed_is_not_put_back(earlier: Earlier):
    adopt(earlier.old.home, earlier.place)
    (earlier.old.home / ADOPTED).write_bytes(b"something else")
    with pytest.raises(InputError, match="is not the file"):
        give_back(earlier.place)
    assert earlier.adopted.sent() == earlier.old.window


def test_a_take_over_that_is_killed_at_any_moment_is_ended_by_the_next(tmp_path: Path):
    chance = random.Random(22)
    for number in range(KILLS):
        earlier = Earlier(tmp_path / str(number), VERSIONS[number % len(VERSIONS)])
        process = python(
            "from pathlib import Path\nfrom undrift.stores.adoption import adopt\n"
            "from undrift.stores.projects import place_of\nprint('go', flush=True)\n"
            f"adopt(Path({str(earlier.old.home)!r}), "
            f"place_of(Path({str(tmp_path / str(number) / 'home')!r}), Path({str(earlier.root)!r}), shares=True))"
        )
        with process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.random() * 0.06)
            process.send_signal(signal.SIGKILL)
        adopt(earlier.old.home, earlier.place)
        assert earlier.adopted.sent() == earlier.old.window
        assert (earlier.old.home / ADOPTED).exists()
