"""`undrift status`: the costs of this project's sessions, for a person and as JSON."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.builders import rounds, user
from tests.cli.builders import claude, said, undrift
from tests.session.billing import Client
from undrift import Session, Settings
from undrift.values.clock import now_ms

HOSTILE = "\x1b[2J\x1b]52;c;ZXZpbA==\x07"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def recorded(tmp_path: Path, *minutes_ago: float, name: str = "s", cwd: Path, said_first: str = "Fix it.") -> Path:
    """A session of Claude Code that wrote 100k tokens whole, so many minutes ago each."""
    records: list[dict[str, Any]] = [{**claude("user", said_first), "cwd": str(cwd), "uuid": f"{name}-u"}]
    for number, minutes in enumerate(minutes_ago):
        stamp = datetime.fromtimestamp(now_ms() / 1_000 - minutes * 60, tz=UTC).isoformat()
        usage: dict[str, Any] = {
            "input_tokens": 0,
            "cache_creation_input_tokens": 100_000,
            "cache_read_input_tokens": 0,
        }
        usage |= {"cache_creation": {"ephemeral_1h_input_tokens": 100_000}}
        record = claude("assistant", [said("Yes.")])
        message = {**record["message"], "id": f"{name}-{number}", "model": "claude-opus-5", "usage": usage}
        records.append({**record, "uuid": f"{name}-{number}", "timestamp": stamp, "message": message})
    path = tmp_path / "claude" / "projects" / "p" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def status(tmp_path: Path, *words: str, **env: str | None) -> Any:
    others = [f"--{client}-home={tmp_path / 'none'}" for client in ("codex", "gemini", "copilot", "pi")]
    return undrift(
        "status", f"--claude-home={tmp_path / 'claude'}", *others, *words, env={"HOME": str(tmp_path), **env}
    )


def test_it_says_what_was_paid_and_what_comes(tmp_path: Path, project: Path):
    recorded(tmp_path, 200, 199, 70, cwd=project)
    result = status(tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert "$3.00 for 3 prompts in 1 session of this project" in lines
    again = "1 prompt after a pause, 100k tokens, $1.00; 1 prompt without a pause, 100k tokens, $1.00."
    assert f"A part of that was written whole again: {again}" in " ".join(lines)
    assert "project · Fix it." in lines
    assert "  You were away 70 minutes: the next message writes 100k tokens again, $1.00." in lines
    assert " ".join(lines).count("without a pause") == 1, "a part of a sum is said once"


def test_the_json_has_every_figure(tmp_path: Path, project: Path):
    path = recorded(tmp_path, 20.5, cwd=project)
    found = json.loads(status(tmp_path, "--json").stdout)
    (one,) = found["recordings"]
    assert (one["path"], one["format"], one["model"]) == (str(path), "claude-code", "claude-opus-5")
    assert one["cache"].pop("idle_seconds") >= 1_230
    assert one["cache"] == {"life_seconds": 3_600, "is_cold": False, "tokens": 100_000}
    assert [notice["kind"] for notice in one["notices"]] == ["cold_in"]
    none = {"prompts": 0, "tokens": 0, "usd": 0.0}
    sums = {"sessions": 1, "prompts": 1, "tokens": 100_000, "usd": 1.0, "after_pauses": none, "without_pause": none}
    assert (found["project"], found["totals"]) == (str(project), sums)


def test_sessions_of_other_folders_do_not_count(tmp_path: Path, project: Path):
    recorded(tmp_path, 20, name="a", cwd=project)
    recorded(tmp_path, 20, name="b", cwd=tmp_path)
    assert [one["title"] for one in json.loads(status(tmp_path, "--json").stdout)["recordings"]] == [
        "project · Fix it."
    ]


def test_without_a_session_it_says_so_and_what_to_do(tmp_path: Path, project: Path):
    result = status(tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    text = " ".join(result.stdout.split())
    assert text.startswith("No compaction of this project got anything back from undrift yet.")
    assert "none of your newest recordings is of this project" in text
    assert "undrift setup" in result.stdout
    assert json.loads(status(tmp_path, "--json").stdout)["balance"] is None
    assert json.loads(status(tmp_path, "--json").stdout)["recordings"] == []


def test_who_has_set_undrift_up_is_not_told_to_do_it(tmp_path: Path, project: Path):
    places = (f"--claude-home={tmp_path / 'claude'}", f"--codex-home={tmp_path / 'codex'}")
    (tmp_path / "claude").mkdir()
    done = undrift("setup", *places, "--yes", env={"HOME": str(tmp_path)})
    assert done.exit_code == 0, done.output
    said = status(tmp_path).stdout
    assert "undrift setup" not in said
    assert "undrift autopsy" in said


def test_only_the_newest_sessions_are_looked_at(tmp_path: Path, project: Path):
    for number in range(3):
        recorded(tmp_path, 20, name=f"s{number}", cwd=project)
    assert len(json.loads(status(tmp_path, "--json", "--limit=2").stdout)["recordings"]) == 2


def test_no_text_of_a_recording_reaches_the_terminal_as_it_is(tmp_path: Path, project: Path):
    recorded(tmp_path, 20, cwd=project, said_first=HOSTILE)
    result = status(tmp_path)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout


def managed(home: Path, turns: int = 40) -> Client:
    """A session whose provider bills like the cache, and from which much left."""
    client = Client(home)
    for _ in range(turns):
        client.turn()
    client.restart()  # the end of a session stores what it knows
    return client


def test_what_undrift_saved_is_the_balance_of_the_store(tmp_path: Path, project: Path):
    client = managed(project / ".undrift")
    result = status(tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(status(tmp_path, "--json").stdout)
    (session,) = found["sessions"]
    million = 1_000_000 / 3  # Sonnet 4.5: three dollars
    assert (session["session_id"], session["unit"]) == ("s", "usd")
    assert session["saved"] * million == pytest.approx(client.stored.saved_tokens)
    assert session["rewrites"] * million == pytest.approx(client.stored.rewritten_tokens)
    assert session["total"] * million == pytest.approx(client.stored.balance_tokens)
    assert found["balance"] == {name: session[name] for name in found["balance"]}
    assert f"undrift in 1 session through the gateway: {session['text']}" in " ".join(result.stdout.split())


@pytest.mark.parametrize("budget", ["3000", "auto"])
def test_a_fixed_budget_has_a_price_and_auto_has_none(tmp_path: Path, project: Path, budget: str):
    ledger = managed(project / ".undrift").stored
    text = " ".join(status(tmp_path, UNDRIFT_BUDGET_TOKENS=budget).stdout.split())
    said = json.loads(status(tmp_path, "--json", UNDRIFT_BUDGET_TOKENS=budget).stdout)["budget_price"]
    if budget == "auto":
        assert (said, "price of your fixed budget" in text) == (None, False)
        return
    share = (ledger.everything_tokens - ledger.balance_tokens) / ledger.everything_tokens
    assert said.startswith(f"3,000 costs {share:.1f}x")
    assert f"The price of your fixed budget: {said}." in text
    assert said.endswith(", if these sessions ran under it"), "an earlier session may have had another budget"


def test_a_home_elsewhere_and_recordings_stand_side_by_side(tmp_path: Path, project: Path):
    managed(tmp_path / "elsewhere")
    recorded(tmp_path, 20, cwd=project)
    lines = status(tmp_path, f"--home={tmp_path / 'elsewhere'}").stdout.splitlines()
    assert "undrift in 1 session through the gateway: " in " ".join(lines)
    assert "$1.00 for 1 prompt in 1 session of this project" in lines


def test_a_damaged_store_is_named_and_the_rest_is_shown(tmp_path: Path, project: Path):
    (project / ".undrift").mkdir()
    (project / ".undrift" / "undrift.db").write_bytes(b"no database" * 1_000)
    (project / ".undrift" / "undrift.db").chmod(0o600)  # as undrift makes it; another one came with the repository
    recorded(tmp_path, 20, cwd=project)
    result = status(tmp_path)
    assert result.exit_code == 1
    assert "WRONG  store:" in result.stdout
    assert "undrift.db" in result.stdout
    assert "$1.00 for 1 prompt" in result.stdout
    (wrong, *_) = json.loads(status(tmp_path, "--json").stdout)["wrong"]
    assert (wrong["name"], wrong["home"]) == ("store", str(project / ".undrift"))


def test_a_cache_that_is_cold_for_days_is_said_once(tmp_path: Path, project: Path):
    for days in (5, 4, 3):
        recorded(tmp_path, 60 * 24 * days + 9, name=f"s{days}", cwd=project)
    text = " ".join(status(tmp_path).stdout.split())
    assert text.count("You were away 3 days: the next message writes 100k tokens again, $1.00.") == 1
    assert "3 sessions not used for a day have a cold cache." in text
    assert text.count("You were away") == 1


def test_the_older_sessions_do_not_hide_those_of_today(tmp_path: Path, project: Path):
    recorded(tmp_path, 60 * 24 * 3, name="old", cwd=project)
    recorded(tmp_path, 20.5, name="new", cwd=project)
    text = " ".join(status(tmp_path).stdout.split())
    assert "The cache is cold in 39:" in text
    assert "You were away" not in text
    assert "1 session not used for a day has a cold cache." in text


def test_all_projects_are_looked_at_if_asked_for(tmp_path: Path, project: Path):
    recorded(tmp_path, 20, name="a", cwd=project)
    recorded(tmp_path, 20, name="b", cwd=tmp_path)
    assert "$2.00 for 2 prompts in 2 sessions of all your projects" in status(tmp_path, "--all-projects").stdout
    assert "of this project" in status(tmp_path).stdout


def test_a_client_that_changes_its_own_prompt_is_told_which_part_and_from_which_byte(tmp_path: Path, project: Path):
    home, messages = project / ".undrift", [user("Look at the log."), *rounds(60)]
    settings = Settings(budget_tokens=8_000, token_counter="characters/4")
    with Session.open("s", home=home, settings=settings) as session:
        for number, words in enumerate(("Be brief.", "Be brief.", "Be brisk.", "Be brisk.", "Be bold.")):
            given = {"model": "claude-opus-5", "system": words, "messages": messages[: 101 + 2 * number]}
            prepared = session.prepare(json.dumps(given, separators=(",", ":")).encode())
            read = prepared.tokens_after - 300 if number % 2 else 0
            usage = {"input_tokens": prepared.tokens_after - read, "cache_read_input_tokens": read}
            session.record({"content": [], "usage": usage})
    place = len('{"model":"claude-opus-5","system":"Be b')
    found = json.loads(status(tmp_path, "--json").stdout)
    assert found["sessions"][0]["client_rewrites"] == {"prompts": 2, "part": "system", "byte": place}
    said = " ".join(status(tmp_path).stdout.split())
    assert f"Your client changed its system prompt from byte {place} of the request on: the provider wrote 2" in said


def test_a_client_that_changes_nothing_is_told_nothing(tmp_path: Path, project: Path):
    managed(project / ".undrift", 12)
    assert json.loads(status(tmp_path, "--json").stdout)["sessions"][0]["client_rewrites"] is None
    assert "Your client" not in status(tmp_path).stdout
