"""`PreCompact`: every original of a session in the store, for good, and only once."""

import json
from pathlib import Path

from tests.builders import records_of
from tests.cli.builders import answered, called, claude, codex_session, written
from tests.hooks.builders import SESSION, User, compacted, session, with_ids
from undrift.core.text.refs import ref_of
from undrift.hooks.answer import answer
from undrift.hooks.call import Options
from undrift.recordings.files import open_recording
from undrift.stores.sqlite import SqliteStore

NAME = f"claude:{SESSION}"


def originals(user: User, entry_ids: list[str]) -> list[str]:
    with SqliteStore.open(records_of(user.home), create=False) as store:
        return [store.original(ref_of(NAME, entry_id)).entry.content for entry_id in entry_ids]


def recorded_lines(user: User) -> list[tuple[int, int]]:
    """The lines that each call has written."""
    with SqliteStore.open(records_of(user.home), create=False) as store:
        payloads = [operation.payload or {} for operation in store.operations(NAME, ["recorded"])]
    return [(payload["first_line"], payload["last_line"]) for payload in payloads]


def test_every_entry_can_be_recalled_to_the_byte(tmp_path: Path):
    user = User(tmp_path)
    entries = open_recording(user.write(session())).entries
    assert user.pre_compact() == ""
    assert originals(user, [entry.id for entry in entries]) == [entry.content for entry in entries]
    assert user.log() == []


def test_a_seal_is_not_kept_and_the_input_of_a_call_only_once(tmp_path: Path):
    user = User(tmp_path)
    thought = {"type": "thinking", "thinking": "The lock is held.", "signature": "EpQC" * 99}
    call = {"type": "tool_use", "id": "t-1", "name": "Bash", "input": {"command": "ls 😀"}}
    user.write([*session(2), {**claude("assistant", [thought, call]), "uuid": "n-1"}])
    user.pre_compact()
    with SqliteStore.open(records_of(user.home), create=False) as store:
        entries = [store.original(ref_of(NAME, f"n-1:{number}")).entry for number in range(2)]
    assert [entry.content for entry in entries] == ["The lock is held.", '{"command": "ls 😀"}']
    assert not any({"signature", "input"} & set(entry.metadata or {}) for entry in entries)
    assert (entries[1].metadata or {})["call_id"] == "t-1"


def test_a_second_call_reads_only_what_is_new(tmp_path: Path):
    user = User(tmp_path)
    user.write(session(2))
    user.pre_compact()
    user.add([*compacted(), {**claude("user", "Go on."), "uuid": "n-1"}])
    user.pre_compact()
    user.pre_compact()
    assert recorded_lines(user) == [(1, 6), (7, 9)]
    assert originals(user, ["n-1:0"]) == ["Go on."]


def test_what_was_read_in_pieces_has_the_same_ids_as_in_one(tmp_path: Path):
    """Codex names no record: the number of its line is its id."""
    records = codex_session(4)
    path = written(tmp_path / "codex" / "sessions" / "2026" / "11" / "01" / f"rollout-{SESSION}.jsonl", records[:7])
    payload = json.dumps({"session_id": SESSION, "transcript_path": str(path)}).encode()
    options = Options("codex", str(tmp_path / "undrift"), str(tmp_path / "codex"), now=True)
    answer("PreCompact", payload, options)
    written(path, records)
    answer("PreCompact", payload, options)
    whole = open_recording(path).entries
    with SqliteStore.open(records_of(tmp_path / "undrift"), create=False) as store:
        stored = [store.original(ref_of(f"codex:{SESSION}", entry.id)).entry for entry in whole]
        assert len(store.operations(f"codex:{SESSION}", ["recorded"])) == 2
    assert [entry.content for entry in stored] == [entry.content for entry in whole]


def test_a_line_that_is_being_written_waits_for_the_next_call(tmp_path: Path):
    user = User(tmp_path)
    records = session(2)
    user.write(records[:-1], end="\n" + json.dumps(records[-1])[:40])
    user.pre_compact()
    user.write(records)
    user.pre_compact()
    assert recorded_lines(user) == [(1, 5), (6, 6)]
    assert originals(user, ["u-5:0"]) == ["Done."]


def test_a_file_that_was_written_anew_is_read_anew_and_what_was_stored_first_stays(tmp_path: Path):
    user = User(tmp_path)
    user.write(session(3))
    user.pre_compact()
    changed = session(4)
    changed[0] = {**claude("user", "Something else."), "uuid": "n-0"}
    changed[2]["message"]["content"] = [answered(0, "another result under the same id")]
    path = user.transcript()
    path.unlink()
    user.write(changed)
    user.pre_compact()
    again, kept, fresh = originals(user, ["n-0:0", "u-2:0", "u-8:0"])
    assert again == "Something else."
    assert kept.startswith("    value_0_0")
    assert fresh.startswith("    value_3_0")
    assert user.log() == []


def test_secrets_are_masked_before_they_are_stored(tmp_path: Path):
    user = User(tmp_path)
    secret = "gh" + "p_" + "A1b2C3d4" * 4 + "E5f6"
    user.write(with_ids([claude("assistant", [called(1)]), claude("user", [answered(1, f"token: {secret}\n")])]))
    user.pre_compact()
    found = [path for path in user.home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert originals(user, ["u-1:0"]) == ["token: [masked:github-token]\n"]
    assert found == []


def test_everything_in_the_home_is_for_its_owner_alone(tmp_path: Path):
    user = User(tmp_path)
    user.write(session())
    user.pre_compact()
    user.starts("compact")
    answer("PreCompact", b"{", user.options())
    modes = {path.stat().st_mode & 0o777 for path in user.home.rglob("*") if path.is_file()}
    folders = {path.stat().st_mode & 0o777 for path in (user.home, *user.home.rglob("*")) if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


def test_a_part_that_begins_with_a_sub_agent_s_record_is_no_sub_agent_s_session(tmp_path: Path):
    user = User(tmp_path)
    user.write([{**record, "isSidechain": False} for record in session(2)])
    user.pre_compact()
    side = {**claude("user", "A sub-agent's own prompt."), "uuid": "side", "isSidechain": True}
    user.add([side, {**claude("user", "Go on."), "uuid": "main", "isSidechain": False}])
    user.pre_compact()
    assert originals(user, ["main:0"]) == ["Go on."]
    with SqliteStore.open(records_of(user.home), create=False) as store:
        assert store.find("prompt") == ()


def test_a_store_that_was_put_aside_is_filled_again(tmp_path: Path):
    user = User(tmp_path)
    entries = open_recording(user.write(session())).entries
    user.pre_compact()
    for path in user.home.glob("undrift.db*"):
        path.unlink()
    user.pre_compact()
    assert originals(user, [entry.id for entry in entries]) == [entry.content for entry in entries]
