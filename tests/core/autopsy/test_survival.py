"""What the agent goes on to need, and whether the window still brings it in a form that can be read."""

import importlib.util
import random

import pytest

from undrift.core.autopsy.survival import AGE_MESSAGES, Need, Needs, Survival, SurvivalCount
from undrift.core.text.references import RARE_MENTIONS
from undrift.errors import InputError, WindowError
from undrift.values.window import ContextEntry

LINE = "return self.window.prune(budget_tokens=budget)"  # a line of code: 30 characters or more
LATE = AGE_MESSAGES + 3  # an odd number: an assistant's turn


def said(message: int, text: str, role: str = "assistant", kind: str = "text") -> ContextEntry:
    metadata = {"role": role, "kind": kind, "message": message}
    return ContextEntry(f"{message}.{kind}.{abs(hash(text))}", "reasoning", text, 1, 0, metadata)


def result(message: int, text: str) -> ContextEntry:
    return said(message, text, "user", "result")


def needed(*entries: ContextEntry, message: int = LATE) -> list[tuple[str, str]]:
    return [(need.kind, need.text) for need in Needs(entries).of(message)]


def test_a_name_from_a_result_that_is_used_much_later_is_needed():
    needs = Needs(
        [said(0, "go", "user"), result(2, "see src/window.py"), said(LATE, "open src/window.py", kind="call")]
    )
    assert needs.of(LATE) == (Need("identifier", "src/window.py", holder=1),)
    assert needs.messages == (LATE,)


def test_a_line_of_code_is_needed_without_its_gutter_and_escapes():
    listing = f"    41\tdef go(self):\n    42\t        {LINE}\n"
    call = '{"old": "\\n\\t' + LINE + '\\n"}'
    assert ("line", LINE) in needed(result(2, listing), said(LATE, call, kind="call"))


@pytest.mark.parametrize("line", ["x" * 29, "y" * 301])
def test_a_line_too_short_or_too_long_is_no_need(line):
    assert [kind for kind, _ in needed(result(2, line), said(LATE, line))] == []


def test_the_latest_mention_decides_how_old_a_need_is():
    first, again = result(2, "see src/window.py"), said(4, "now src/window.py")
    assert needed(first, said(2 + AGE_MESSAGES, "src/window.py"), message=2 + AGE_MESSAGES) == []
    assert needed(first, said(3 + AGE_MESSAGES, "src/window.py"), message=3 + AGE_MESSAGES) != []
    assert needed(first, again, said(3 + AGE_MESSAGES, "src/window.py"), message=3 + AGE_MESSAGES) == []
    needs = Needs([first, again, said(5 + AGE_MESSAGES, "src/window.py")])
    assert [need.holder for need in needs.of(5 + AGE_MESSAGES)] == [1]  # the agent's own words held it last


def test_what_the_agent_or_the_system_prompt_said_first_is_no_need():
    assert needed(said(1, "try src/window.py"), result(2, "src/window.py"), said(LATE, "src/window.py")) == []
    assert needed(said(0, "src/window.py", "system"), result(2, "src/window.py"), said(LATE, "src/window.py")) == []


def test_thinking_neither_teaches_nor_needs():
    assert needed(said(1, "src/window.py", kind="thinking"), said(LATE, "src/window.py")) == []
    assert needed(result(2, "src/window.py"), said(LATE, "src/window.py", kind="thinking")) == []
    assert (
        needed(said(1, "src/window.py", kind="thinking"), result(2, "src/window.py"), said(LATE, "src/window.py")) != []
    )


def test_what_is_mentioned_everywhere_is_no_need():
    often = [result(2, f"{n} src/window.py") for n in range(RARE_MENTIONS)]
    assert needed(*often, said(LATE, "src/window.py")) != []
    assert needed(*often, result(2, "more src/window.py"), said(LATE, "src/window.py")) == []


def test_a_plain_word_is_no_name_and_a_joint_a_digit_or_a_hump_makes_one():
    words = ["function", "sentence", "py3", "Capital", "dry-run", "token_count", "tokenCount", "--v1.2.30-"]
    seen, used = result(2, " ".join(words)), said(LATE, "\n".join(words))
    assert needed(seen, used) == [("identifier", name) for name in ("tokenCount", "token_count", "v1.2.30")]


def survived(window: list[str], *history: ContextEntry) -> SurvivalCount:
    survival = Survival(Needs([*history, said(LATE, "edit src/window.py")]))
    survival.observe(LATE, window)
    return survival.result


def test_a_need_is_held_by_the_text_that_stood_in_the_history():
    text = "listing: src/window.py and more"
    assert survived([text], result(2, text)) == SurvivalCount(1, 1, 0, 0)
    assert survived([], result(2, text)) == SurvivalCount(0, 1, 0, 0)
    assert survived(["src/windows.py"], result(2, text)).identifiers_held == 0


def test_a_need_is_held_by_a_line_of_the_history_in_a_cut_text():
    text = "head\nlisting: src/window.py and more\ntail"
    assert survived(["[cut]\n  7: listing: src/window.py and more\n[cut]"], result(2, text)).identifiers_held == 1


def test_a_bag_of_names_holds_nothing():
    text = "listing: src/window.py and more"
    assert survived(["src/window.py src/other.py token_count"], result(2, text)).identifiers_held == 0


def test_a_name_alone_on_a_line_of_the_history_is_held_by_that_line():
    assert survived(["still known:\nsrc/window.py"], result(2, "a\nsrc/window.py\nb")).identifiers_held == 1


def test_only_the_history_before_the_turn_counts():
    history = [result(2, "see src/window.py"), said(LATE, "edit src/window.py now"), said(LATE + 2, "done")]
    survival = Survival(Needs(history))
    lost = survival.observe(LATE, ["edit src/window.py now"])  # only said in this very turn
    assert [need.text for need in lost] == ["src/window.py"]
    assert survival.result.share == 0.0


def test_identifiers_and_lines_are_counted_apart_and_added_up_over_the_turns():
    seen = result(2, f"src/window.py\n{LINE}")
    later = LATE + AGE_MESSAGES + 2
    survival = Survival(Needs([seen, said(LATE, "src/window.py"), said(later, f"src/window.py\n{LINE}", kind="call")]))
    survival.observe(LATE, [seen.content])
    survival.observe(LATE + 2, [])  # nothing is needed here
    survival.observe(later, ["src/window.py"])
    count = survival.result
    assert count.needs == count.identifiers + count.lines
    assert (count.lines_held, count.lines, count.line_share) == (0, 1, 0.0)
    assert count.identifiers_held < count.identifiers
    assert 0 < count.identifier_share < 1
    assert count.share == pytest.approx(count.identifiers_held / count.needs)


def test_without_needs_every_share_is_whole():
    count = SurvivalCount(0, 0, 0, 0)
    assert (count.share, count.identifier_share, count.line_share, count.needs) == (1.0, 1.0, 1.0, 0)
    assert Survival(Needs([])).result == count


def test_windows_out_of_order_are_refused():
    survival = Survival(Needs([result(2, "see src/window.py"), said(LATE, "src/window.py")]))
    survival.observe(LATE, [])
    with pytest.raises(InputError, match="in order"):
        survival.observe(1, [])


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        (None, "role"),
        ({"role": "tool", "kind": "text", "message": 1}, "role"),
        ({"role": "user", "kind": "tool_result", "message": 1}, "kind"),
        ({"role": "user", "kind": "text"}, "message"),
        ({"role": "user", "kind": "text", "message": True}, "message"),
        ({"role": "user", "kind": "text", "message": -1}, "message"),
    ],
)
def test_an_entry_without_its_metadata_is_refused_by_name(metadata, field):
    with pytest.raises(WindowError, match=rf"'e7'.*'{field}'"):
        Needs([ContextEntry("e7", "reasoning", "text", 1, 0, metadata)])


def test_messages_that_go_back_are_refused():
    with pytest.raises(WindowError, match="at least 5"):
        Needs([said(5, "b"), said(4, "a")])


def made_up_session(seed: int) -> list[dict]:
    """A session in the neutral form of the outside measure: a small vocabulary, so that mentions come back."""
    choose = random.Random(seed)
    vocabulary = [f"src/part_{n}.py" for n in range(150)] + [
        f"    {n} | value_{n} = compute_value({n}, strict=True)" for n in range(150)
    ]

    def text() -> str:
        return choose.choice(["\n", " ", "\\n"]).join(choose.choices(vocabulary, k=choose.randint(1, 4)))

    kinds = {"assistant": ["text", "thinking", "tool_use"], "user": ["tool_result", "tool_result", "text"]}
    return [
        {
            "role": role,
            "blocks": [{"kind": choose.choice(kinds[role]), "text": text()} for _ in range(choose.randint(1, 3))],
        }
        for _ in range(90)
        for role in ("user", "assistant")
    ]


@pytest.mark.parametrize("seed", range(4))
def test_needs_and_counts_agree_with_the_outside_measure(shared, seed):
    spec = importlib.util.spec_from_file_location("outside_drift", shared / "measures" / "drift.py")
    assert spec
    assert spec.loader
    drift = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drift)
    session, choose = made_up_session(seed), random.Random(seed)
    kinds = {"text": "text", "thinking": "thinking", "tool_use": "call", "tool_result": "result"}
    blocks = [(i, j, m["role"], b) for i, m in enumerate(session) for j, b in enumerate(m["blocks"])]
    needs = Needs([said(i, b["text"], role, kinds[b["kind"]]) for i, j, role, b in blocks])

    class Some:
        """A window of some texts, some of them cut, some of their lines gone."""

        name = "some"

        def window(self, session, upto):
            texts = [b["text"] for m in session[:upto] for b in m["blocks"] if b["kind"] != "thinking"]
            kept = choose.sample(texts, len(texts) // 3)
            return [t if choose.random() < 0.6 else "\n".join(["[cut]", *t.split("\n")[1:]]) for t in kept]

    windows = {}

    class Recorded(Some):
        def window(self, session, upto):
            windows[upto] = super().window(session, upto)
            return windows[upto]

    expected_needs = drift.needs_of(session)
    expected = drift.run(Recorded(), session, expected_needs)
    survival = Survival(needs)
    for message, window in windows.items():
        survival.observe(message, window)
    names = {"identifier": "atom", "line": "line"}
    found = [(m, n.text, names[n.kind], blocks[n.holder][:2]) for m in needs.messages for n in needs.of(m)]
    assert len(found) > 20
    assert sorted(found) == sorted(expected_needs)
    assert survival.result == SurvivalCount(
        expected["atom_hit"], expected["atom_n"], expected["line_hit"], expected["line_n"]
    )
    assert 0 < survival.result.share < 1
