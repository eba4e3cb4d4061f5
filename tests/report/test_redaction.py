"""A redacted page and the picture hold nothing that a recording says: canaries stand in every field, none comes out."""

import dataclasses
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import undrift
from tests.report.builders import CLIENT_CODE, Session, work
from tests.report.test_page import COVER, Markup
from undrift.recordings.autopsy import Postmortem, examine
from undrift.recordings.redaction import redacted
from undrift.report import Cover, page, picture
from undrift.settings.model_table import UNKNOWN

SHARED = dataclasses.replace(COVER, redacted=True)
CANARY = re.compile(r"canary", re.IGNORECASE)


def recorded(folder: Path) -> Path:
    """A session with a canary in every field that a client records, and in the names of its file and folders."""
    session = Session(model="canary-model-1")
    session.user("Canary title of the session. Never touch the canary rule in third_party canary files.")
    work(session)
    code = CLIENT_CODE.replace("retry_delay", "canary_delay")
    session.call("mcp__canary__read_file", code, file_path="/home/canary/canary.py", pattern="canary")
    session.compaction("Canary summary.", preTokens=50_000, canary="canary")
    session.call("mcp__canary__read_file", code, file_path="/home/canary/canary.py", pattern="canary")
    session.call("Edit", "canary", file_path="/home/canary/canary.py", old_string=code[:300], new_string="canary")
    session.said("The canary is done.")
    for record in session.records:
        record |= {"cwd": "/home/canary/canary-project", "gitBranch": "canary", "slug": "canary", "sessionId": "canary"}
        record["uuid"] = f"canary-{record['uuid']}"
        record["userType"] = record["version"] = record["requestId"] = "canary"
    session.records += [
        {"type": kind, "customTitle": "canary", "aiTitle": "canary"} for kind in ("custom-title", "ai-title")
    ]
    return session.written(folder / "canary-folder" / "canary-session.jsonl")


@pytest.fixture
def found(tmp_path: Path) -> Postmortem:
    model = dataclasses.replace(UNKNOWN, name="canary-model-1", input_usd_per_million=5.0)
    return examine(recorded(tmp_path), models=[model])


def planted(value: Any) -> Any:
    """The same value with a canary in every text of it, however deep."""
    if isinstance(value, str):
        return "<canary> canary"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: planted(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    return tuple(map(planted, value)) if isinstance(value, tuple) else value


def texts(value: Any) -> set[str]:
    """Every text in a value, however deep."""
    if isinstance(value, str):
        return {value}
    if dataclasses.is_dataclass(value):
        return set().union(*(texts(getattr(value, field.name)) for field in dataclasses.fields(value)))
    return set().union(*map(texts, value)) if isinstance(value, tuple) else set()


def test_no_canary_of_a_recording_is_on_a_redacted_page(found: Postmortem):
    for session in (found, dataclasses.replace(found, title="")):
        for many in ([session], [session] * 3):
            shown = page(many, SHARED)
            assert not CANARY.search(html.unescape(shown))
            assert "Session 1" in shown
            assert not CANARY.search(html.unescape(picture(many, COVER)))


def test_no_canary_in_a_field_of_the_findings_is_on_a_redacted_page(found: Postmortem):
    sown = planted(found)
    assert CANARY.search(sown.autopsy.compactions[0].fetches[0].what)
    assert not CANARY.search(page([sown, sown], SHARED))
    assert not CANARY.search(picture([sown], COVER))


def test_the_page_for_oneself_holds_them_so_the_test_can_fail(found: Postmortem):
    words = " ".join(Markup(page([found], COVER)).words)
    for expected in (
        "canary-project · Canary title",
        "/home/canary/canary.py",
        "mcp__canary__read_file",
        "canary rule",
    ):
        assert expected in words
    assert str(Path(found.path)) in words


def test_only_texts_of_ours_are_left(found: Postmortem):
    assert texts(redacted(planted(found))) <= {""}
    assert texts(redacted(found)) <= {"", "claude-code", "auto"}
    known = redacted(dataclasses.replace(found, model="claude-opus-4-6-canary", priced_as="claude-opus-4-6"))
    assert texts(known) <= {"", "claude-code", "auto", "claude-opus-4-6"}


def test_every_figure_stays_and_the_time_of_day_leaves(found: Postmortem):
    left = redacted(found)
    (before,), (after,) = found.autopsy.compactions, left.autopsy.compactions
    assert (after.native, after.together, after.fetched, after.cost) == (
        before.native,
        before.together,
        before.fetched,
        before.cost,
    )
    assert [fetch.known_tokens for fetch in after.fetches] == [fetch.known_tokens for fetch in before.fetches]
    assert len(after.lost_rules) == len(before.lost_rules) == 1
    (first, *_), (was, *_) = left.autopsy.timeline, found.autopsy.timeline
    assert (first.at_ms or 1) % 86_400_000 == 0
    assert (after.at_ms or 0) - (first.at_ms or 0) == (before.at_ms or 0) - (was.at_ms or 0)
    shown = " ".join(Markup(page([found], SHARED)).words)
    assert "1 Mar 2026" in shown
    assert not re.search(r"\b\d\d:\d\d\b", shown)


def test_the_figures_at_the_top_are_the_same_on_both_pages(tmp_path: Path):
    session = work(Session().user("Never touch the vendored parser. You must always run the slow tests afterwards."))
    session.compaction("On.", preTokens=50_000).call("Read", CLIENT_CODE, file_path="/repo/src/client.py")
    found = [examine(session.said("Done.").written(tmp_path / "session.jsonl"))]
    assert len(found[0].autopsy.compactions[0].lost_rules) == 2
    own, shared = (re.findall(r'<ul class="tiles.*?</ul>', page(found, cover)) for cover in (COVER, SHARED))
    assert own == shared
    assert "<b>2</b><span>of 2 rules of yours never mentioned again" in own[0]


def test_the_command_redacts_what_is_shared_and_says_so(tmp_path: Path):
    session = recorded(tmp_path)
    own, shared, card = (tmp_path / name for name in ("own.html", "shared.html", "card.svg"))
    result = undrift("autopsy", session, "--html", own, "--share", shared, "--picture", card)
    assert result.exit_code == 0, result.output
    assert "own.html (for your eyes" in result.stderr
    assert "shared.html (redacted" in result.stderr
    assert CANARY.search(own.read_text(encoding="utf-8"))
    for out in (shared, card):
        assert not CANARY.search(html.unescape(out.read_text(encoding="utf-8")))
    assert "Redacted: this page holds figures and days." in shared.read_text(encoding="utf-8")
    assert "For your eyes" in own.read_text(encoding="utf-8")


def test_the_choice_can_be_turned_round(tmp_path: Path):
    session = recorded(tmp_path)
    own, shared = tmp_path / "own.html", tmp_path / "shared.html"
    assert undrift("autopsy", session, "--html", own, "--redact").exit_code == 0
    assert not CANARY.search(own.read_text(encoding="utf-8"))
    result = undrift("autopsy", session, "--share", shared, "--no-redact")
    assert "shared.html (for your eyes" in result.stderr
    assert CANARY.search(shared.read_text(encoding="utf-8"))


def test_one_file_for_two_outputs_and_a_picture_of_another_kind_are_refused(tmp_path: Path):
    session = recorded(tmp_path)
    out = tmp_path / "page.html"
    result = undrift("autopsy", session, "--html", out, "--share", out)
    assert (result.exit_code, "named twice" in result.stderr) == (1, True)
    result = undrift("autopsy", session, "--picture", tmp_path / "card.png")
    assert (result.exit_code, "name a file that ends with .svg" in result.stderr) == (1, True)
    assert not out.exists()


def test_without_a_session_no_file_is_written_and_that_is_said(tmp_path: Path):
    out = tmp_path / "page.html"
    sessions = tmp_path / "claude" / "projects" / "p"
    work(Session().user("Go.")).written(sessions / "s.jsonl")
    homes = [f"--{name}-home={tmp_path / name}" for name in ("claude", "codex", "gemini", "copilot", "pi")]
    result = undrift("autopsy", "--share", out, "--home", tmp_path / "home", *homes)
    assert "No file was written" in result.stderr
    assert not out.exists()


def test_json_stays_alone_on_stdout(tmp_path: Path):
    shared = tmp_path / "shared.html"
    result = undrift("autopsy", recorded(tmp_path), "--share", shared, "--json")
    assert len(json.loads(result.stdout)["sessions"]) == 1
    assert result.stderr == ""
    assert shared.exists()


def test_the_picture_is_one_file_with_the_headline_three_figures_and_the_name(found: Postmortem):
    shown = picture([found], Cover("9.8.7", 0))
    assert 'viewBox="0 0 1200 630"' in shown
    assert "A compaction lost" in shown
    assert "undrift 9.8.7 · 1 Jan 1970" in shown
    assert "<script" not in shown
    assert not re.search(r"(?:href|url\(|src)", shown)
    assert len(re.findall(r'font-size="52"', shown)) == 3
    assert min(int(size) for size in re.findall(r'font-size="(\d+)"', shown)) >= 22
