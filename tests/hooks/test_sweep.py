"""The sweep by the setting `retention`: off by default, one session for each compaction, and only the person's own setting."""

from pathlib import Path

import pytest

from tests.builders import body, opened, rounds, user
from undrift.errors import SettingsError
from undrift.hooks.call import HookCall
from undrift.hooks.sweep import sweep_one
from undrift.stores.sqlite import SqliteStore


def filled(home: Path) -> HookCall:
    for name in ("a", "b"):
        with opened(home, name, budget_tokens=900) as session:
            session.prepare(body(user("Go."), *rounds(30)))
    return HookCall("claude", "c", "compact", str(home / "c.jsonl"), str(home), home, home)


def sessions(home: Path) -> set[str]:
    with SqliteStore.open(home) as store:
        assert store.integrity() == ()
        return {one.session_id for one in store.sweepable()}


def test_without_a_limit_nothing_is_swept(tmp_path: Path):
    assert sweep_one(filled(tmp_path)) == 0
    assert sessions(tmp_path) == {"a", "b"}


def test_one_session_goes_each_time_until_the_limit_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    call = filled(tmp_path)
    monkeypatch.setenv("UNDRIFT_RETENTION", "365 days")
    assert sweep_one(call) > 0
    assert len(sessions(tmp_path)) == 1
    assert sweep_one(call) > 0
    assert sweep_one(call) == 0
    assert sessions(tmp_path) == set()


def test_a_file_of_the_project_cannot_set_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    call = filled(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "undrift.toml").write_text("retention = '1 day'\n")
    with pytest.raises(SettingsError, match="a project's file cannot set retention"):
        sweep_one(call)
    assert sessions(tmp_path) == {"a", "b"}
