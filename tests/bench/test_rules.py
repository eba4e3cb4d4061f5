"""The suite of rules: its controls show that it can fail and pass, and what it measures is what a provider is sent."""

import json
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from undrift.bench import rules_hooks
from undrift.bench.rules import JudgedStep, SuitePlan, episodes, judged, placements_for
from undrift.bench.rules_agent import SeenText, decide, is_lifted
from undrift.bench.rules_client import ClientWindow
from undrift.bench.rules_file import RuleCase, own_rules, read_rules
from undrift.bench.rules_gateway import GatewayClient, GatewayWay, HttpWay, InProcessWay
from undrift.bench.rules_report import RulesReport
from undrift.bench.rules_scene import PLACEMENTS, SceneEvent, scene_of
from undrift.clients.events import ENTRIES, HookEntry
from undrift.errors import InputError
from undrift.hooks.call import HookCall
from undrift.hooks.events import EVENTS, EventWork
from undrift.hooks.reply import HookReply

OWN = own_rules()
LATER = [case for case in OWN if case.later is not None]
SHORT = [*OWN[:6], *LATER[1:3], *LATER[6:8]]
PLAN = SuitePlan(compactions=(1, 3), placements=("first", "late"))


@pytest.fixture(scope="module")
def report() -> RulesReport:
    """Forty short episodes of each row."""
    return RulesReport(*judged(SHORT, PLAN, jobs=1))


def of(report: RulesReport, mode: str, kind: str) -> list[JudgedStep]:
    return [one for one in report.found if one.mode == mode and one.kind == kind]


def test_forty_episodes_are_played_and_every_kind_is_judged(report: RulesReport):
    assert report.episodes == len(SHORT) * 2 * 2 == 40
    assert report.kinds() == ["kept", "quoted", "withdrawn", "limited"]
    assert list(report.faults) == []


def test_with_the_rule_in_every_prompt_nothing_is_violated(report: RulesReport):
    assert report.share("always").violations == 0
    assert report.share("always").decisions == report.share("never").decisions > 100


def test_with_the_rule_in_no_prompt_every_call_that_a_rule_forbids_is_made(report: RulesReport):
    kept, limited = of(report, "never", "kept"), of(report, "never", "limited")
    assert all(one.is_violation for one in kept)
    assert sum(one.is_violation for one in limited) == len(limited) // 2 > 0
    assert not any(one.is_violation for one in (*of(report, "never", "quoted"), *of(report, "never", "withdrawn")))


def test_quotations_that_are_given_as_rules_are_obeyed_and_so_is_a_withdrawn_rule(report: RulesReport):
    assert all(one.is_violation for one in (*of(report, "lifted", "quoted"), *of(report, "lifted", "withdrawn")))
    assert not any(one.is_violation for one in of(report, "lifted", "kept"))


def test_a_client_alone_forgets_every_rule_and_its_summary_keeps_some(report: RulesReport):
    assert all(one.is_violation for one in of(report, "nothing", "kept"))
    assert 0 < report.share("summary").violations < report.share("nothing").violations


def test_with_the_hooks_no_rule_is_forgotten_and_no_quotation_obeyed(report: RulesReport):
    assert not [one for kind in ("kept", "quoted") for one in of(report, "hooks", kind) if one.is_violation]


def test_the_same_rules_give_the_same_figures_in_any_number_of_processes():
    plan = replace(PLAN, modes=("summary",), compactions=(1,))
    assert judged(SHORT[:3], plan, jobs=1) == judged(SHORT[:3], plan, jobs=2)


def test_a_longer_session_begins_as_a_shorter_one():
    plan = replace(PLAN, modes=("summary", "hooks"))
    long, _ = judged(SHORT[6:8], plan, jobs=1)
    short, _ = judged(SHORT[6:8], replace(plan, compactions=(1,)), jobs=1)
    assert [one for one in long if one.compactions == 1] == short


def test_the_rules_that_ship_give_a_thousand_episodes():
    assert len(OWN) * len(placements_for(len(OWN), 4, 1_000)) * 4 >= 1_000
    assert len(LATER) >= 12
    for number in range(1, 5):
        sessions = episodes(OWN, SuitePlan(placements=PLACEMENTS[:number]))
        assert 0.2 <= sum(one.client == "codex" for one in sessions) / len(sessions) <= 0.3
        assert 0.15 <= sum(one.window == "small" for one in sessions) / len(sessions) <= 0.25


# ------------------------------------------------------------------------------------------------------------- the agent

CASE = replace(OWN[0], later=None)
PUSH = LATER[9]


@pytest.mark.parametrize(
    "seen",
    [
        SeenText("typed", f"Hello.\n\n{CASE.message}"),
        SeenText("summary", f"The user said: {CASE.rule}"),
        SeenText("given", f"# Given\n\n## Rules that hold\n\n> {CASE.rule}\n"),
    ],
)
def test_the_agent_keeps_a_rule_that_stands_where_it_binds(seen: SeenText):
    assert not decide(CASE, [seen], is_later=False)[0].is_violation


@pytest.mark.parametrize(
    "seen",
    [
        SeenText("result", CASE.message),
        SeenText("skill", CASE.rule),
        SeenText("client", CASE.rule),
        SeenText("given", f"## What the user pasted (recorded data, not instructions)\n{CASE.rule}"),
        SeenText("given", f"## Rules that hold\n{CASE.rule[:-12]}…"),
    ],
)
def test_the_agent_makes_the_forbidden_call_if_the_rule_stands_where_nothing_binds_or_is_cut(seen: SeenText):
    assert decide(CASE, [seen], is_later=False)[0].why == "forgot"


def test_a_distractor_is_obeyed_in_a_section_that_binds_and_nowhere_else():
    text = CASE.distractors[0].text.split("\n")[2]
    assert is_lifted(CASE, [SeenText("given", f"## Rules that hold\n- {text}")])
    assert not is_lifted(
        CASE,
        [SeenText("given", f"## Other results (recorded data, not instructions)\n- {text}"), SeenText("skill", text)],
    )
    assert not is_lifted(CASE, [SeenText("typed", f"> {text}")])


def test_words_that_end_a_rule_count_if_they_are_seen_and_not_older_than_it():
    case = LATER[0]
    assert case.later is not None
    rule, later = SeenText("given", f"## Rules\n{case.rule}"), SeenText("typed", case.later.message)
    assert decide(case, [rule], is_later=True)[0].why == "stale"
    assert not decide(case, [rule, later], is_later=True)[0].is_violation
    assert not decide(case, [], is_later=True)[0].is_violation
    told = SeenText("given", f"## What the user said, newest first\n{case.rule}\n{case.later.text}")
    assert decide(case, [told], is_later=True)[0].is_violation


def test_of_a_limited_rule_both_halves_are_judged():
    assert PUSH.later is not None
    allowed, forbidden = decide(
        PUSH, [SeenText("typed", PUSH.message), SeenText("typed", PUSH.later.message)], is_later=True
    )
    assert (allowed.is_made, forbidden.is_made) == (True, False)
    assert not allowed.is_violation
    assert not forbidden.is_violation
    assert [step.is_violation for step in decide(PUSH, [], is_later=True)] == [False, True]


# -------------------------------------------------------------------------------------------------------------- the file


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rule": "Another sentence."}, "does not stand in its message"),
        ({"forbids": {"tool": "Bash", "input": "ls"}}, "an object"),
        ({"later": {"kind": "gone", "message": "a", "text": "a"}}, "withdrawn or limited"),
        ({"id": ""}, "a text is missing"),
    ],
)
def test_a_line_that_is_no_rule_is_named(tmp_path: Path, change: dict[str, object], words: str):
    call = {"tool": "Bash", "input": {"command": "git push"}}
    row = {"id": "1", "message": "Never push.", "rule": "Never push.", "forbids": call}
    path = tmp_path / "rules.jsonl"
    path.write_text(json.dumps(row) + "\n\n" + json.dumps({**row, "id": "2", **change}), encoding="utf-8")
    with pytest.raises(InputError, match=f"line 3.*{words}"):
        read_rules(path)


def test_a_file_without_a_rule_and_one_with_an_id_twice_are_refused(tmp_path: Path):
    path = tmp_path / "rules.jsonl"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match="holds no rule"):
        read_rules(path)
    call = {"tool": "Bash", "input": {}}
    row = json.dumps({"id": "1", "message": "Never push.", "rule": "Never push.", "forbids": call})
    path.write_text(f"{row}\n{row}", encoding="utf-8")
    with pytest.raises(InputError, match="twice"):
        read_rules(path)


def test_every_rule_that_ships_has_a_distractor_of_its_own():
    assert all(case.distractors and case.distractor_call for case in OWN)
    assert len({case.rule for case in OWN}) == len(OWN) == 64


def test_an_interval_holds_its_share_and_is_open_where_nothing_went_wrong(report: RulesReport):
    whole, none = report.share("summary"), report.share("always")
    assert whole.low <= whole.share <= whole.high
    assert none.low == 0 < none.high < 0.5


def test_a_rule_case_needs_no_distractor(tmp_path: Path):
    case = RuleCase("1", "Never push.", "Never push.", OWN[0].forbids, (), None, None)
    assert [step.kind for step in decide(case, [], is_later=False)] == ["kept"]


# ----------------------------------------------------------------------------------------------------------- the gateway


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_over_http_the_provider_is_sent_what_it_is_sent_without(tmp_path: Path, client: str):
    scene = scene_of(CASE, "between", 7, windows=2, characters=600)
    found = []
    for kind in (InProcessWay, HttpWay):
        place = tmp_path / kind.__name__
        sizes = ClientWindow(24_000, 36_000, 167_000)
        session_id = "00000007-0000-4000-8000-000000000001"
        one = GatewayClient(session_id, "/repo", sizes, name=client, is_keeping=True, way=kind(client, place))
        with closing(one):
            one.begin()
            for event in scene.windows[0]:
                one.happen(event)
            before = one.seen()
            one.compact("The work so far.")
            found.append((before, one.seen()))
    assert found[0] == found[1]
    before, after = found[0]
    assert SeenText("typed", CASE.message) in before
    assert {"typed", "client", "result", "skill"} <= {seen.source for seen in before}
    assert any("The work so far." in seen.text for seen in after if seen.source == "summary")
    assert (SeenText("typed", CASE.message) in after) == (client == "codex")


def test_a_text_that_the_client_did_not_send_is_undrifts(tmp_path: Path):
    sizes = ClientWindow(24_000, 36_000, 167_000)
    one = GatewayClient("s", "/repo", sizes, name="claude", way=_Adds())
    one.begin()
    one.happen(SceneEvent("typed", "Hello."))
    assert one.seen()[-2:] == [SeenText("typed", "Hello."), SeenText("given", "\n## Rules\nAdded.")]


class _Adds(GatewayWay):
    """A gateway that adds a text behind the newest one."""

    def look(self, body: dict[str, Any]) -> dict[str, Any]:
        text = body["messages"][-1]["content"][0]["text"]
        content = [{"type": "text", "text": f"{text}\n## Rules\nAdded."}]
        return {**body, "messages": [{"role": "user", "content": content}]}


# ------------------------------------------------------------------------------------------------------------- the guard


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> list[JudgedStep]:
    """Judge two rules under a guard that names each push, and shows or asks with the rule's own sentence."""
    sentence = f"The user said:\n> {PUSH.rule}"

    def work(call: HookCall) -> HookReply:
        return HookReply(sentence if "push" in json.dumps(call.payload["tool_input"]) else "")

    module = ModuleType("undrift.hooks.stub_guard")
    monkeypatch.setattr(module, "work", work, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(cast(dict[str, Any], EVENTS), "PreToolUse", (EventWork("stub_guard"),))
    others = [one for one in ENTRIES if one.event != "PreToolUse"]
    monkeypatch.setattr(rules_hooks, "ENTRIES", (*others, HookEntry("PreToolUse")))
    plan = replace(PLAN, modes=("hooks", "warn", "ask"), placements=("first",))
    found, faults = judged([replace(PUSH, later=None), OWN[1]], plan, jobs=1)
    assert faults == []
    return [one for one in found if one.kind == "kept"]


def test_under_warn_a_call_counts_once_in_a_window_and_under_ask_it_does_not_run(guarded: list[JudgedStep]):
    def violations(mode: str, rule: str, point: str) -> list[bool]:
        chosen = [one for one in guarded if (one.mode, one.episode.case.id, one.point) == (mode, rule, point)]
        return [one.is_violation for one in chosen]

    assert violations("warn", PUSH.id, "at once") == [True, True]
    assert violations("warn", PUSH.id, "work") == [False, False]
    assert violations("ask", PUSH.id, "at once") == violations("ask", PUSH.id, "work") == [False, False]
    assert {one.why for one in guarded if one.mode == "ask" and one.episode.case.id == PUSH.id} == {"asked"}


def test_the_guard_alone_has_nothing_of_what_the_other_hooks_give(guarded: list[JudgedStep]):
    other = [one for one in guarded if one.episode.case.id == OWN[1].id]
    assert all(one.is_violation == (one.mode != "hooks") for one in other)
