"""A moved session makes the same windows, byte for byte, and goes on like the one that stayed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.builders import crowded
from tests.long_form import sized
from tests.session.test_any_store import SUMMARY, Player
from tests.stores.moving.test_move import to_file, to_server
from tests.stores.on_server import OnServer
from undrift.stores.opening import Engine
from undrift.stores.sqlite import SqliteStore


def life(player: Player) -> None:
    player.does(lambda: player.works(6))
    player.does(lambda: player.session.pin("spec", "The rule is: read only."))
    player.does(lambda: player.session.start_task("read", content="Read all.", acceptance_criteria=["all tests pass"]))
    player.does(lambda: player.works(12))
    player.does(lambda: player.marks("here"))
    player.does(lambda: player.remembers("The main database is SQLite."))
    player.does(lambda: player.session.complete_task("read", SUMMARY))
    player.does(lambda: player.works(4))
    player.does(lambda: player.goes_to(0))
    player.does(player.undoes)
    player.does(lambda: player.remembers("The main database is PostgreSQL."))
    player.does(lambda: player.works(4))


def goes_on(engine: Engine, home: Path, from_: Player) -> list[Any]:
    """Continue a session in another home; return what each step gave."""
    player = Player(engine, home, budget_tokens=from_.settings.budget_tokens)
    player.now_ms, player.history = from_.now_ms, json.loads(json.dumps(from_.history))
    player.refs, player.moments = list(from_.refs), list(from_.moments)
    for step in (player.turns, lambda: player.works(3), lambda: player.finds("which database"), lambda: player.goes_to(0),
                 player.turns, player.undoes, player.turns, lambda: player.works(5)):  # fmt: skip
        player.does(step)
    player.tells_all()
    player.session.close()
    return [one for one in player.given if not (isinstance(one, list) and one and hasattr(one[0], "seq"))]


@pytest.mark.parametrize("budget", [900, 1_500])
def test_a_moved_session_goes_on_with_the_same_bytes(tmp_path: Path, budget: int):
    home, back, copy = tmp_path / "a" / "home", tmp_path / "b" / "home", tmp_path / "c" / "home"
    player = Player(SqliteStore, home, budget_tokens=budget)
    life(player)
    assert any("pruned" in repr(one) for one in player.given)
    player.session.close()
    shutil.copytree(home, copy)
    assert to_server(home, tmp_path / "server" / "home").is_proved
    assert to_file(tmp_path / "server" / "home", back).is_proved
    stayed = goes_on(SqliteStore, copy, player)
    assert "StoreError" not in stayed
    assert goes_on(OnServer, tmp_path / "server" / "home", player) == stayed
    assert goes_on(SqliteStore, back, player) == stayed


@pytest.mark.parametrize("seed", range(sized(1, 3)))
def test_a_recorded_history_gives_the_same_windows_over_both_homes(tmp_path: Path, seed: int):
    messages, budget = crowded(seed)
    home, server = tmp_path / "a" / "home", tmp_path / "server" / "home"
    player = Player(SqliteStore, home, budget_tokens=budget)
    for end in range(1, len(messages) + 1, 2):
        player.history = messages[:end]
        player.does(player.turns)
    player.session.close()
    assert to_server(home, server).is_proved
    again = []
    for engine, folder in ((SqliteStore, home), (OnServer, server)):
        other = Player(engine, folder, budget_tokens=budget)
        other.now_ms = player.now_ms
        for end in (len(messages) - 4, len(messages) - 2, len(messages)):
            other.history = messages[:end]
            other.does(other.turns)
        again.append(other.given)
        other.session.close()
    assert again[0] == again[1]
    assert len(again[0]) == 3
