"""`undrift bench peers`: the adapters give back what they were given, the controls fail, and a user's own manager has a row."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bench import peers as page_of_peers
from tests.cli.builders import answered, called, claude, long_session, said, undrift, written
from tests.report.builders import compacted_session
from undrift.bench.legal import fault_of
from undrift.bench.managers import ADAPTERS, Message, named
from undrift.bench.managers.ceilings import LEGAL_CLAIRVOYANT
from undrift.bench.managers.controls import BAG, ECHO, SOUP, TAIL
from undrift.bench.managers.own import UNDRIFT, UNDRIFT_MEMORY
from undrift.bench.managers.provider_clear import PROVIDER_CLEAR
from undrift.bench.managers.translate import joined
from undrift.bench.peers import PeersPlan, measure, sampled
from undrift.bench.peers_report import peers_tables
from undrift.bench.peers_rules import RuleWatch, said_rules, with_rules
from undrift.bench.sessions import Case
from undrift.errors import InputError
from undrift.recordings.files import open_recording

NEEDED = "compute_part_0_3(source, target)"
"""Stands in the first result of `long_session`, and in nothing after it until the agent's last word."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "sessions"
    written(root / "long.jsonl", long_session(30, last=f"It is value_0_3 = {NEEDED}."))
    return root


def of(report: Any) -> dict[str, dict[str, Any]]:
    return {row["system"]: row for row in report.windows()}


def texts_of(messages: list[Message]) -> list[tuple[str, str]]:
    return [
        (message["role"], block.get("text") or block.get("content") or json.dumps(block["input"], sort_keys=True))
        for message in messages
        for block in message["content"]
    ]


# ------------------------------------------------------------------------------------------------- controls and ceilings


def test_the_controls_fail_as_they_must(folder: Path):
    report = measure(folder, PeersPlan(min_calls=20))
    assert [one["must_be"] for one in report.as_value()["controls"] if not one["is"]] == []
    rows = of(report)
    echo, soup = rows[ECHO.name], rows[SOUP.name]
    assert (echo["survival"], echo["tokens"], echo["rules"], echo["broken_turns"]) == (1.0, 1.0, 1.0, 0)
    assert echo["over_budget_turns"] > echo["turns"] / 2
    assert soup["broken_turns"] > soup["turns"] / 2
    assert soup["over_budget_turns"] == 0
    assert rows[BAG.name]["survival"] == rows[TAIL.name]["survival"] == 0  # the bag has the name, but in no line
    legal = rows[LEGAL_CLAIRVOYANT.name]
    assert legal["survival"] == 1.0
    assert (legal["broken_turns"], legal["opening_turns"], legal["over_budget_turns"]) == (0, 0, 0)
    assert rows[UNDRIFT.name]["rules"] == 1.0


def test_a_control_that_does_well_is_named_and_ends_the_command_with_1(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Where every budget holds everything, echo is within it, and soup keeps all."""
    result = undrift("bench", "peers", folder, "--min-calls", "20", "--fractions", "1")
    assert result.exit_code == 1
    assert "CONTROL FAILED: at 1, echo is over the budget and holds everything" in result.stdout
    assert "CONTROL FAILED: at 1, soup is broken in most turns that it edited" in result.stdout


def test_the_tables_name_what_was_not_run(folder: Path):
    shown = peers_tables(measure(folder, PeersPlan(min_calls=20)).as_value())
    assert "| budget | manager | survival (95%) |" in shown
    assert "NOT RUN: LangChain SummarizationMiddleware (langchain): needs a model" in shown
    assert "| Anthropic clear_tool_uses, simulated | clear_tool_uses_20250919 | by its documented rule" in shown


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ("u:t", ""),
        ("u:t a:1 u:1", ""),
        ("u:t u:t a:t u:t", ""),  # neighbours of one role are one message
        ("a:t u:t", "opening"),
        ("", "broken"),
        ("u:t a:t", "broken"),  # nothing to answer
        ("u:t a:1 u:t", "broken"),
        ("u:t u:1", "broken"),
        ("u:t a:1 u:1 a:t u:1", "broken"),
        ("u:t a:1 u:t a:t u:1", "broken"),
        ("u:t a:1", "broken"),
        ("u:t a:e u:t", "broken"),
    ],
)
def test_a_provider_refuses_what_is_broken(messages: str, fault: str):
    def block(role: str, kind: str) -> dict[str, Any]:
        if kind in "te":
            return {"type": "text", "text": "x" if kind == "t" else " "}
        call = {"type": "tool_use", "id": kind, "name": "Read", "input": {}}
        return call if role == "a" else {"type": "tool_result", "tool_use_id": kind, "content": "x"}

    given = [
        {"role": "user" if role == "u" else "assistant", "content": [block(role, kind)]}
        for role, kind in (word.split(":") for word in messages.split())
    ]
    assert fault_of(given) == fault


# --------------------------------------------------------------------------------------------------------- the adapters


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_gives_back_what_it_was_given_and_shortens_what_is_too_long(name: str, tmp_path: Path):
    try:
        manager = import_module(f"undrift.bench.managers.{name}").find()
    except ImportError as absent:
        pytest.skip(f"{name}: {absent}")
    records = [
        claude("user", "Read both files."),
        claude(
            "assistant", [said("Reading."), called(1, "Read", file_path="a.py"), called(2, "Read", file_path="b.py")]
        ),
        claude("user", [answered(1, "alpha = 1\n" * 400), answered(2, "beta = 2\n" * 400)]),
        claude("assistant", [said("Both are read.")]),
        claude("user", "Now the third."),
        claude("assistant", [called(3, "Read", file_path="c.py")]),
        claude("user", [answered(3, "gamma = 3\n" * 400)]),
        claude("assistant", [said("Done.")]),
    ]
    case = Case("s", open_recording(written(tmp_path / "s.jsonl", records)))
    with manager.start(case) as fit:
        for turn in case.history.turns:
            given = case.history.messages[:turn]
            sent = fit(given, 1_000_000)
            if name not in ("openai_agents", "adk", "headroom"):  # these three know no budget
                assert texts_of(joined((m["role"], m["content"]) for m in sent)) == texts_of(given)
            assert fault_of(sent) == ""
    whole = case.size_of(case.history.messages[:-1])
    with manager.start(case) as fit:
        sizes = [case.size_of(fit(case.history.messages[:turn], whole // 3)) for turn in case.history.turns]
    assert max(sizes) <= whole


def test_the_simulated_provider_clears_all_but_the_newest_results(tmp_path: Path):
    case = Case("s", open_recording(written(tmp_path / "s.jsonl", long_session(6))))
    messages = case.history.messages[: case.history.turns[-1]]
    with PROVIDER_CLEAR.start(case) as fit:
        assert fit(messages, 1_000_000) == messages
        sent = fit(messages, 100)
    results = [b["content"] for m in sent for b in m["content"] if b["type"] == "tool_result"]
    assert results[:3] == ["[cleared to save context]"] * 3
    assert all("compute_part" in text for text in results[3:])
    assert fault_of(sent) == ""


def test_a_manager_of_your_own_is_measured_and_one_that_breaks_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    written(
        tmp_path / "site" / "my_managers.py",
        [
            "def newest(messages, budget_tokens):\n    return [messages[0]]\n\n",
            "def breaks(messages, budget_tokens):\n    raise ValueError('no')\n",
        ],
    )
    monkeypatch.syspath_prepend(tmp_path / "site")
    result = undrift(
        *("bench", "peers", folder, "--min-calls", "20", "--json"),
        *("--manager", "my_managers:newest", "--manager", "my_managers:breaks"),
    )
    assert result.exit_code == 0, result.output
    value = json.loads(result.stdout)
    rows = {row["system"]: row for row in value["windows"]}
    assert rows["my_managers:newest"]["survival"] == 0
    assert rows["my_managers:newest"]["broken_turns"] == 0
    assert "my_managers:breaks" not in rows
    assert value["failed"] == {"my_managers:breaks": "long.jsonl: ValueError('no')"}


@pytest.mark.parametrize("address", ["nothing", "json:nothing", "no_such_module:fit", ":"])
def test_an_address_that_names_no_manager_is_refused(address: str):
    with pytest.raises(InputError, match="write MODULE:FUNCTION"):
        named(address)


# -------------------------------------------------------------------------------------------------- rules, talks, restore


def test_rules_are_put_into_what_the_user_says_and_are_watched(tmp_path: Path):
    records = [*long_session(9), claude("user", "Now the tests."), *long_session(20)[1:]]
    recording, rules = with_rules(open_recording(written(tmp_path / "s.jsonl", records)), "key")
    case = Case("s", recording)
    said_at = said_rules(case.history, rules)
    assert list(said_at.values()) == [0, 20]
    assert len(case.history.messages) == len(Case("s", open_recording(tmp_path / "s.jsonl")).history.messages)
    watch = RuleWatch(said_at)
    first, second = rules
    watch.observe(1, [first])
    watch.observe(21, [f"before {second} after"])
    watch.observe(23, ["nothing"])
    assert (watch.held, watch.due) == (2, 5)
    assert with_rules(open_recording(tmp_path / "s.jsonl"), "another key")[1] != rules


def test_a_sample_goes_by_the_bytes_of_the_files(tmp_path: Path):
    paths = [written(tmp_path / f"{number}.jsonl", [f"{number}\n"]) for number in range(6)]
    chosen = {path.read_text() for path in sampled(paths, 3)}
    renamed = [path.rename(tmp_path / f"{9 - number}.x") for number, path in enumerate(paths)]
    assert {path.read_text() for path in sampled(renamed, 3)} == chosen
    assert sampled(renamed, None) == renamed


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    filler = [
        {"dia_id": f"D1:{n}", "speaker": "AB"[n % 2], "text": f"Nothing happened on day {n}."} for n in range(2, 60)
    ]
    turns = [
        {"dia_id": "D1:0", "speaker": "A", "text": "Hello."},
        {"dia_id": "D1:1", "speaker": "B", "text": "My sister moved to Lisbon in spring."},
        *filler,
    ]
    questions = [
        {"question": "Where does the sister live?", "evidence": ["D1:1"], "category": 1},
        {"question": "What is not there?", "evidence": ["D9:9"], "category": 1},
    ]
    talk = {"speaker_a": "A", "speaker_b": "B", "session_1_date_time": "May 2026", "session_1": turns}
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([{"sample_id": "t", "conversation": talk, "qa": questions}]))
    return path


def test_questions_at_the_end_of_a_talk_find_their_words_or_not(folder: Path, talks: Path):
    report = measure(folder, PeersPlan(talks, min_calls=20))
    rows = {row["manager"]: row for row in report.talked()}
    assert {row["questions"] for row in rows.values()} == {1}
    assert (rows[ECHO.name]["answers"], rows[ECHO.name]["over_budget"]) == (1.0, 1)
    assert (rows[TAIL.name]["answers"], rows[TAIL.name]["over_budget"]) == (0.0, 0)
    assert (rows[UNDRIFT_MEMORY.name]["answers"], rows[UNDRIFT_MEMORY.name]["over_budget"]) == (1.0, 0)


def test_a_file_of_another_form_is_refused(folder: Path, talks: Path):
    talks.write_text('[{"no": "talk"}]')
    with pytest.raises(InputError, match="is no file of LoCoMo's form"):
        measure(folder, PeersPlan(talks, min_calls=20))


def test_windows_at_a_recorded_compaction_stand_beside_the_clients_summary(tmp_path: Path):
    compacted_session().written(tmp_path / "one__a.jsonl")
    report = measure(tmp_path, PeersPlan(min_calls=0))
    rows = {row["text"]: row for row in report.restored()}
    assert rows[ECHO.name]["identifiers"]["mean"] == 1.0
    assert rows["the client's summary, as recorded"]["identifiers"]["mean"] == 0.0
    assert rows["undrift's restore text"]["identifiers"]["mean"] == 1.0
    assert rows["control: names alone"]["identifiers"]["mean"] == 0.0
    assert LEGAL_CLAIRVOYANT.name not in rows


# --------------------------------------------------------------------------------------------------------------- the page


def test_two_runs_are_compared_figure_by_figure(folder: Path):
    first = measure(folder, PeersPlan(min_calls=20)).as_value()
    again = json.loads(json.dumps(measure(folder, PeersPlan(min_calls=20), jobs=2).as_value()))
    assert page_of_peers.largest_difference(first, again) == (0.0, page_of_peers.largest_difference(first, again)[1])
    again["windows"][3]["tokens"] *= 0.95
    difference, place = page_of_peers.largest_difference(first, again)
    assert (round(difference, 6), place) == (0.05, "/windows/3/tokens")
    del again["windows"][0]["tokens"]
    assert page_of_peers.largest_difference(first, again) == (1.0, "/windows/0/tokens")


def test_the_page_holds_the_figures_of_its_json():
    """Otherwise somebody wrote figures by hand."""
    text = page_of_peers.PAGE.read_text(encoding="utf-8")
    value = json.loads(page_of_peers.FIGURES.read_text(encoding="utf-8"))
    assert page_of_peers.page(text, value) == text
    assert peers_tables(value["peers"]) in text
    assert value["difference"] <= page_of_peers.MOST_DIFFERENCE


@pytest.mark.parametrize("mark", [page_of_peers.BEGIN, page_of_peers.END])
def test_a_page_without_a_mark_is_refused_by_name(mark: str):
    """A page that lost its first mark got the tables at its end, and kept the old ones."""
    text = page_of_peers.PAGE.read_text(encoding="utf-8").replace(mark, "")
    value = json.loads(page_of_peers.FIGURES.read_text(encoding="utf-8"))
    with pytest.raises(ValueError, match="figures: written by `make peers`"):
        page_of_peers.page(text, value)
