"""A move takes everything along, both ways, and proves it."""

from pathlib import Path

import pytest

from tests.long_form import sized
from tests.stores.builders import add, original, raw
from tests.stores.moving.homes import server_home
from tests.stores.moving.plays import Play, answers, play
from tests.stores.on_server import OnServer
from undrift.stores.moving.comparing import prove
from undrift.stores.moving.memories import Rewind, with_spans
from undrift.stores.moving.move import Move, move
from undrift.stores.moving.proof import Proof
from undrift.stores.moving.reading_file import FileSource
from undrift.stores.moving.values import MovedMemory
from undrift.stores.moving.writing_file import FileTarget
from undrift.stores.moving.writing_server import ServerTarget
from undrift.stores.sqlite import SqliteStore

STEPS = 150


def to_server(folder: Path, name: Path) -> Move:
    source = FileSource.open(folder)
    with server_home(name) as home:
        done = move(source, ServerTarget(home), folder)
    source.close()
    return done


def to_file(name: Path, folder: Path) -> Move:
    target = FileTarget.open(folder)
    with server_home(name) as home:
        done = move(ServerTarget(home).source(), target)
    target.close()
    return done


@pytest.mark.parametrize("seed", range(sized(2, 8)))
def test_a_home_goes_to_a_server_and_back_and_answers_the_same(tmp_path: Path, seed: int):
    home, back = tmp_path / "home", tmp_path / "back"
    with SqliteStore.open(home) as store:
        sessions = play(store, seed, STEPS).sessions
        before = {one: answers(store, one) for one in sessions}
    done = to_server(home, tmp_path)
    assert done.conflicts == []
    assert done.is_proved, (done.source.counts, done.target.counts)
    with OnServer.open(tmp_path) as served:
        assert {one: answers(served, one) for one in sessions} == before
        assert served.integrity() == ()
    returned = to_file(tmp_path, back)
    assert returned.conflicts == []
    assert returned.is_proved
    assert returned.source.sha256 == returned.target.sha256 == done.source.sha256
    with SqliteStore.open(back) as store:
        assert {one: answers(store, one) for one in sessions} == before
        assert store.integrity() == ()


def test_a_second_move_changes_nothing_and_a_home_that_went_on_is_continued(tmp_path: Path):
    home = tmp_path / "home"
    with SqliteStore.open(home) as store:
        sessions = play(store, 1, STEPS).sessions
    first = to_server(home, tmp_path)
    again = to_server(home, tmp_path)
    assert (again.moved, again.continued, sorted(again.same)) == ([], [], sorted(sessions))
    assert again.is_proved
    assert again.source.sha256 == first.source.sha256
    with SqliteStore.open(home) as store:
        play(store, 2, 60, prefix="more ")
        before = {one: answers(store, one) for one in sessions}
    more = to_server(home, tmp_path)
    assert more.is_proved, (more.conflicts, more.source.counts, more.target.counts)
    assert more.continued
    assert not more.moved
    with OnServer.open(tmp_path) as served:
        assert {one: answers(served, one) for one in sessions} == before
        assert served.integrity() == ()


def test_what_went_on_at_the_server_comes_back_into_the_old_home(tmp_path: Path):
    home = tmp_path / "home"
    with SqliteStore.open(home) as store:
        sessions = play(store, 3, 80).sessions
    to_server(home, tmp_path)
    with OnServer.open(tmp_path) as served:
        play(served, 4, 60, sessions=(*sessions, "new"), prefix="there ")
        before = {one: answers(served, one) for one in (*sessions, "new")}
    back = to_file(tmp_path, home)
    assert back.is_proved, (back.conflicts, back.source.counts, back.target.counts)
    assert back.moved == ["new"]
    with SqliteStore.open(home) as store:
        numbers = {
            one: dict(
                zip((o[0] for o in before[one]["operations"]), (o.seq for o in store.operations(one)), strict=True)
            )
            for one in before
        }
        for one, expected in before.items():
            found = answers(store, one)
            expected["operations"] = [(numbers[one][seq], *rest) for seq, *rest in expected["operations"]]
            assert found == expected
        assert store.integrity() == ()
        assert len({seq for some in numbers.values() for seq in some.values()}) == sum(map(len, numbers.values()))
    assert back.renumbered


def test_a_session_that_says_something_else_there_is_a_conflict_and_stays(tmp_path: Path):
    home = tmp_path / "home"
    with SqliteStore.open(home) as store:
        play(store, 5, 60, sessions=("s", "t"))
    with OnServer.open(tmp_path) as served:
        play(served, 6, 10, sessions=("t",), prefix="other ")
        there = answers(served, "t")
    done = to_server(home, tmp_path)
    assert done.moved == ["s"]
    assert not done.is_proved
    assert any("'t'" in one for one in done.conflicts)
    with OnServer.open(tmp_path) as served:
        assert answers(served, "t") == there


def test_a_damaged_session_stays_and_the_others_go(tmp_path: Path):
    home = tmp_path / "home"
    with SqliteStore.open(home) as store:
        add(store, original("a", "words " * 9), prune_them=True)
        add(store, original("b", "words " * 9, session="t"), prune_them=True)
    file = raw(home)
    file.execute("UPDATE originals SET content = x'00' WHERE session_id = 't'")
    file.close()
    done = to_server(home, tmp_path)
    assert done.moved == ["s"]
    assert any("does not match its SHA-256" in one for one in done.conflicts)
    with OnServer.open(tmp_path) as served:
        assert [one.session_id for one in served.sessions()] == ["s"]


def test_the_proof_notices_a_changed_byte(tmp_path: Path):
    home, other = tmp_path / "home", tmp_path / "other"
    for folder, last in ((home, "words"), (other, "Words")):
        with SqliteStore.open(folder) as store:
            add(store, original("a", "words " * 9 + last), prune_them=True)
    proofs = []
    for folder in (home, other):
        source = FileSource.open(folder)
        proofs.append(Proof())
        prove(proofs[-1], source, {"s": 1}, {})
        source.close()
    assert proofs[0].counts == proofs[1].counts
    assert proofs[0].sha256 != proofs[1].sha256


@pytest.mark.parametrize("seed", range(20, sized(22, 30)))
def test_when_a_memory_is_active_follows_from_its_versions_and_the_rewinds(tmp_path: Path, seed: int):
    with SqliteStore.open(tmp_path) as store:
        played = Play(store, seed)
        for act in (played.remembers, played.supersedes, played.forgets, played.goes_back, played.goes_forth):
            played.acts = (*played.acts, act, act)
        played.plays(120)
    source = FileSource.open(tmp_path)
    rewinds = [Rewind(*one) for one in source.rewinds()]
    found = list(source.memories())
    source.close()
    assert sum(len(version.spans) > 1 for one in found for version in one.versions) > 2
    single = [one for one in found if len({version.at.session for version in one.versions}) == 1]
    assert len(single) > 5
    for one in single:
        bare = MovedMemory(one.id, ())
        made = with_spans(bare, one.versions, rewinds, lambda moment: moment.seq, lambda _: False)
        assert made == one
    for one in found:
        assert with_spans(one, (), rewinds, lambda moment: moment.seq, lambda _: True) == one
