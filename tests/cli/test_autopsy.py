"""``undrift autopsy`` and ``undrift restore``, on files as a client writes them."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from tests.cli.builders import codex_session, undrift
from tests.cli.builders import written as written_records
from tests.report.builders import CLIENT_CODE, RULE, Session, compacted_session, work
from tests.report.builders import written as written_session
from tests.transcripts.samples import COPILOT, GEMINI_LINES, PI
from undrift.cli.autopsy_table import show_several
from undrift.core.autopsy.findings import GivenUse, Held
from undrift.recordings.autopsy import examine, totals


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return compacted_session().written(tmp_path / "session.jsonl")


def compaction_of(path: Path) -> dict:
    result = undrift("autopsy", path, "--json")
    assert result.exit_code == 0, result.output
    ((compaction,),) = [one["compactions"] for one in json.loads(result.stdout)["sessions"]]
    return compaction


def test_one_session_is_told_as_a_story(session: Path):
    result = undrift("autopsy", session)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert said.startswith(
        "1 compaction removed 20k tokens, and with them 100% of what the agent used next; reading again cost 383 tokens "
        "(under $0.01)."
    )
    assert "Compaction 1 · automatic · after call 20 · 41,000 → 21,000 tokens" in result.stdout
    assert "the client's own summary" in result.stdout
    assert "undrift's restore text (--budget 5000)" in result.stdout
    assert re.search(
        r"Read again: [\d,]+ tokens\sin\s1\sresult\s\(0\sin\sthe\s20\scalls\sbefore\), the\sfirst\safter\s1\scall",
        result.stdout,
    )
    assert re.search(r"call \+1 +Read .*/repo/src/client.py", result.stdout)
    assert f"“{RULE}”" in result.stdout
    assert "The bill includes system prompt, tool definitions and memory files" in result.stdout


def test_json_holds_what_the_story_tells(session: Path):
    found = compaction_of(session)
    assert (found["trigger"], found["calls_before"], found["tokens_before"], found["tokens_after"]) == (
        "auto",
        20,
        41_000,
        21_000,
    )
    assert found["dropped_tokens"] == 20_000
    assert found["used"] == {"identifiers": 10, "lines": 2}
    assert (found["fetched_again"]["identifiers"], found["fetched_again"]["lines"]) == (10, 2)
    assert found["native"] == {"identifiers": 0, "lines": 0, "tokens": found["native"]["tokens"]}
    (fetch,) = found["fetched_again"]["results"]
    assert (fetch["call"], fetch["after_ms"], fetch["what"]) == (1, 20_000, "/repo/src/client.py")
    assert [rule["text"] for rule in found["lost_rules"]] == [RULE]
    assert 0 < found["restore"]["tokens"] <= 5_000


def test_the_budget_is_that_of_what_undrift_would_give_back(session: Path):
    result = undrift("autopsy", session, "--budget", "300", "--json")
    (one,) = json.loads(result.stdout)["sessions"]
    assert one["budget_tokens"] == 300
    assert one["compactions"][0]["restore"]["tokens"] <= 300


def test_a_rule_that_the_summary_keeps_is_not_shown(tmp_path: Path):
    path = compacted_session(summary=f"The user wants: {RULE}").written(tmp_path / "s.jsonl")
    assert compaction_of(path)["lost_rules"] == []
    assert RULE not in undrift("autopsy", path).stdout


def test_several_sessions_are_a_table_with_sums(session: Path, tmp_path: Path):
    other = Session().pause(100)
    other.user(f"Do it. {RULE}")
    work(other).compaction("Working.", preTokens=50_000).call("Read", CLIENT_CODE, file_path="/repo/src/client.py")
    result = undrift("autopsy", session, other.said("Done.").written(tmp_path / "other.jsonl"))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("2 compactions removed 70k tokens, and with them 100% of what the agents used")
    assert next(line for line in lines if line.startswith("when")).split() == [
        *("when", "project", "·", "first", "words", "lost", "given", "back", "read", "again", "cost")
    ]
    rows = [line for line in lines if re.match(r"2026-03-01 \d\d:\d\d", line)]
    assert rows == [
        "2026-03-01 10:08  Do it. Never touch the …     -           -         383  <$0.01",
        "2026-03-01 10:06  Make the retries of the…  100%        100%         383  <$0.01",
    ]
    assert max(map(len, lines[: lines.index("The full report of one session:")])) <= 80
    assert lines[-1] == "  undrift install claude"
    assert str(tmp_path / "other.jsonl") in result.stdout


def test_a_rule_that_two_compactions_lost_counts_once(tmp_path: Path):
    twice = work(Session().user(f"Do it. {RULE}")).compaction("Working.", preTokens=50_000).pause(9)
    work(twice).compaction("Working on.", preTokens=60_000).call("Read", CLIENT_CODE, file_path="/repo/src/client.py")
    told = json.loads(undrift("autopsy", twice.said("Done.").written(tmp_path / "s.jsonl"), "--json").stdout)
    assert [len(one["lost_rules"]) for one in told["sessions"][0]["compactions"]] == [1, 1]
    assert (told["totals"]["rules"], told["totals"]["lost_rules"]) == (1, 1)


def test_the_client_to_install_for_is_the_one_that_gains_most(session: Path, capsys: pytest.CaptureFixture[str]):
    gains = examine(session)
    (compaction,) = gains.autopsy.compactions
    nothing = dataclasses.replace(compaction, together=compaction.native)
    other = dataclasses.replace(
        gains, format="codex", autopsy=dataclasses.replace(gains.autopsy, compactions=(nothing,))
    )
    show_several([other, gains], totals([other, gains]))
    assert capsys.readouterr().out.endswith("  undrift install claude\n")
    held = Held(3, 0, 9)
    given = dataclasses.replace(compaction, given=GivenUse(900, held, held, held, 1, 1_000.0))
    hooked = dataclasses.replace(gains, autopsy=dataclasses.replace(gains.autopsy, compactions=(given,)))
    show_several([other, hooked], totals([other, hooked]))
    shown = capsys.readouterr().out
    assert shown.endswith("  undrift status\n")
    assert re.search(r"100% +25% +383", shown)  # 3 of 12, as it was given and not as it would be


def test_a_compaction_that_a_copy_of_the_session_repeats_counts_once(session: Path, tmp_path: Path):
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(session.read_bytes())
    result = undrift("autopsy", session, copy, "--json")
    found = json.loads(result.stdout)
    assert found["totals"]["compactions"] == 1
    assert [one["compactions"][0]["repeated"] for one in found["sessions"]] == [False, True]


def test_a_session_without_a_compaction_says_so(tmp_path: Path):
    path = work(Session().user("Go.")).written(tmp_path / "s.jsonl")
    result = undrift("autopsy", path)
    assert result.exit_code == 0
    assert "No compaction: nothing was removed." in result.stdout


def test_without_recorded_figures_the_sizes_are_called_estimates(tmp_path: Path):
    session = compacted_session(recorded=False)
    for record in session.records:
        record.pop("compactMetadata", None)
    path = session.written(tmp_path / "s.jsonl")
    result = undrift("autopsy", path)
    assert "(estimated)" in result.stdout
    assert "estimated from the recorded texts" in result.stdout
    assert "The bill does not include the tool definitions" in result.stdout


def test_an_encrypted_summary_is_called_so(tmp_path: Path):
    records = codex_session()
    sealed = {"type": "compaction", "encrypted_content": "x" * 100}
    records.append(
        {
            "type": "compacted",
            "timestamp": "2026-03-01T10:05:00Z",
            "payload": {"message": "", "replacement_history": [sealed]},
        }
    )
    line = "value_0_1 = compute_part_0_1(source, target)"
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": line}]}
    records.append({"type": "response_item", "timestamp": "2026-03-01T10:06:00Z", "payload": text})
    path = written_records(tmp_path / "rollout.jsonl", records)
    assert compaction_of(path)["summary_encrypted"] is True
    assert "the summary is encrypted" in undrift("autopsy", path).stdout
    assert "1 summary is encrypted" in undrift("autopsy", path, path).stdout


def own(tmp_path: Path, *names: str) -> list[str]:
    """A home with sessions of those names, the last one newest."""
    names_of_homes = ("claude", "codex", "gemini", "copilot", "pi")
    homes = [word for name in names_of_homes for word in (f"--{name}-home", str(tmp_path / name))]
    homes += ["--home", str(tmp_path / "undrift")]
    for number, name in enumerate(names):
        made = compacted_session() if "compacted" in name else work(Session().user("Go."))
        if name.startswith("agent"):
            for record in made.records:
                record["isSidechain"] = True
        for record in made.records:
            record["timestamp"] = record["timestamp"].replace("2026", str(2010 + number))
        written_session(tmp_path / "claude" / "projects" / "p" / f"{name}.jsonl", made.records)
    return homes


def test_without_a_file_the_own_sessions_with_a_compaction_are_taken(tmp_path: Path):
    homes = own(tmp_path, "plain", "compacted-1", "compacted-2")
    found = json.loads(undrift("autopsy", "--json", *homes).stdout)
    assert sorted(Path(one["path"]).stem for one in found["sessions"]) == ["compacted-1", "compacted-2"]
    assert found["found"] == 3
    limited = json.loads(undrift("autopsy", "--json", "--limit", "1", *homes).stdout)
    assert len(limited["sessions"]) == 1


def test_the_compactions_of_every_client_are_found(tmp_path: Path):
    homes = own(tmp_path)
    written_records(tmp_path / "gemini" / ".gemini" / "tmp" / "0a1b" / "chats" / "session-1.jsonl", compacted_chat())
    written_records(tmp_path / "copilot" / "session-state" / "s" / "events.jsonl", COPILOT)
    written_records(tmp_path / "pi" / "sessions" / "--repo--" / "s.jsonl", PI)
    found = json.loads(undrift("autopsy", "--json", *homes).stdout)
    assert sorted(one["format"] for one in found["sessions"]) == ["copilot-cli", "gemini-cli", "pi"]
    assert all(len(one["compactions"]) == 1 for one in found["sessions"])


def compacted_chat() -> list[str]:
    """A chat of Gemini CLI, as compactly as that client writes its lines."""
    return [json.dumps(record, separators=(",", ":")) + "\n" for record in GEMINI_LINES]


def test_sessions_of_sub_agents_are_not_counted(tmp_path: Path):
    homes = own(tmp_path, "compacted", "agent-compacted")
    result = undrift("autopsy", "--json", *homes)
    found = json.loads(result.stdout)
    assert [Path(one["path"]).stem for one in found["sessions"]] == ["compacted"]
    assert found["sub_agents"] == 1
    assert "1 session of sub-agents not counted" in result.stderr


def test_own_sessions_that_were_never_compacted_are_no_failure(tmp_path: Path):
    result = undrift("autopsy", *own(tmp_path, "plain"))
    assert result.exit_code == 0
    assert "was never compacted. To see what undrift would do: undrift replay" in result.stderr


def test_no_session_at_all_is_an_error_that_says_where_it_looked(tmp_path: Path):
    result = undrift("autopsy", *own(tmp_path))
    assert result.exit_code == 1
    assert str(tmp_path / "claude" / "projects") in result.stderr


def test_a_file_that_cannot_be_read_does_not_stop_the_others(session: Path, tmp_path: Path):
    result = undrift("autopsy", session, tmp_path / "absent.jsonl", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert len(found["sessions"]) == len(found["failed"]) == 1
    assert "absent.jsonl: there is no such file" in result.stderr


def test_nothing_of_a_recording_reaches_the_terminal_as_a_control_character(tmp_path: Path):
    evil = "\x1b]0;owned\x07\x1b[2J\u202e[red]"
    session = compacted_session(rule=f"Never trust {evil} anything hidden.")
    for record in session.records:
        text = json.dumps(record).replace("/repo/src/client.py", json.dumps(f"/repo/{evil}")[1:-1])
        record.clear()
        record.update(json.loads(text))
    path = session.written(tmp_path / "s.jsonl")
    for arguments in (("autopsy", path), ("autopsy", path, path)):
        result = undrift(*arguments)
        assert result.exit_code == 0, result.output
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.stdout)
    assert "\\x1b[2J" in undrift("autopsy", path).stdout


def test_a_recording_is_only_read(session: Path):
    before = session.read_bytes(), session.stat().st_mtime_ns
    assert undrift("autopsy", session).exit_code == 0
    assert undrift("restore", session).exit_code == 0
    assert (session.read_bytes(), session.stat().st_mtime_ns) == before


def test_html_is_written_and_named_on_stderr(session: Path, tmp_path: Path):
    out = tmp_path / "page.html"
    result = undrift("autopsy", session, "--html", out)
    assert result.exit_code == 0, result.output
    assert f"Written: {out}" in result.stderr
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_page_is_never_written_over_a_recording(session: Path):
    before = session.read_bytes()
    result = undrift("autopsy", session, "--html", session)
    assert result.exit_code == 1
    assert "is one of the recordings" in result.stderr
    assert session.read_bytes() == before
    assert result.stdout == ""


def test_restore_prints_the_text_and_says_what_it_holds(session: Path):
    result = undrift("restore", session)
    assert result.exit_code == 0, result.output
    assert RULE in result.stdout
    assert re.fullmatch(r"[\d,]+ tokens of at most 5,000: .+\n", result.stderr)


def test_restore_as_json_gives_the_text_and_its_items(session: Path):
    result = undrift("restore", session, "--budget", "400", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["tokens"] <= found["budget_tokens"] == 400
    assert found["text"].rstrip("\n") == undrift("restore", session, "--budget", "400").stdout.rstrip("\n")
    assert found["items"]


def test_restore_of_a_missing_file_is_one_line(tmp_path: Path):
    result = undrift("restore", tmp_path / "absent.jsonl")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "there is no such file" in result.stderr
