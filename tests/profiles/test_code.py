"""The calls in the JavaScript of an agent: as Codex writes it, and as somebody writes it who means harm."""

import time
from itertools import pairwise

import pytest

from tests.long_form import sized
from undrift.profiles import acts_of
from undrift.profiles.code import MOST_CHARACTERS, _Code, calls_in
from undrift.profiles.tokens import tokens_of

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"


@pytest.mark.parametrize(
    ("code", "calls"),
    [
        ('const r = await tools.exec_command({cmd: "ls", workdir: "/p"}); text(r.output)', [{"cmd": "ls", "workdir": "/p"}]),
        ('text(await tools["exec_command"]({"cmd":\'ls "a"\', yield_time_ms: 1_000}))', [{"cmd": 'ls "a"'}]),
        ('const cmd = "ls"; await tools.exec_command({cmd})', [{"cmd": "ls"}]),
        ('const at = "/p"\nawait tools.exec_command({cmd: `cat ${at}/a.py ${unknown()}`})', [{"cmd": "cat /p/a.py ${unknown()}"}]),
        ('tools.exec_command({cmd: "cd a && " + ("ls" + " -l")})', [{"cmd": "cd a && ls -l"}]),
        ('tools.exec_command({cmd: ["ls", "-l"].join(" "), depth: x.y})', [{"cmd": "ls -l"}]),
        ("tools.exec_command({cmd: String.raw`grep '\\d'`})", [{"cmd": "grep '\\d'"}]),
        ('tools.exec_command({cmd: "a\\u00e9\\x41\\n\\\nb\\ud83d\\ude00"})', [{"cmd": "aéA\nb😀"}]),
        ('// tools.exec_command({cmd: "no"})\n/* tools.exec_command({}) */ "tools.exec_command({})"', []),
        ('if (/["\\/]tools/.test(x)) tools.exec_command({cmd: "a / b"})', [{"cmd": "a / b"}]),
        (
            'for (const [name, cmd] of [["a", "ls a"], ["b", "ls b"]]) await tools.exec_command({cmd, at: 1})',
            [{"cmd": "ls a", "at": 1}, {"cmd": "ls b", "at": 1}],
        ),
        (
            'const all = ["a", "b"]; Promise.all(all.map(async (one, i) => tools.exec_command({cmd: `ls ${one}`})))',
            [{"cmd": "ls a"}, {"cmd": "ls b"}],
        ),
        (
            '[{cmd: "ls a", at: 1}, {cmd: "ls b"}].map(({cmd}) => tools.exec_command({cmd}))',
            [{"cmd": "ls a"}, {"cmd": "ls b"}],
        ),
        ('const o = {dir: "/p", c: ["ls"]}; tools.exec_command({cmd: o.c[0], at: o.dir, no: o.c[3]})', [{"cmd": "ls", "at": "/p"}]),
        ("const all = [tools.exec_command({cmd: 'a'}), tools.exec_command({cmd: 'b'})]", [{"cmd": "a"}, {"cmd": "b"}]),
        ('let s = "a"; s += "b"; tools.exec_command({cmd: s})', [{}]),
        ("mytools.exec_command({cmd: 'a'}); x.tools.exec_command({cmd: 'a'}); tools.exec_command", []),
    ],
)  # fmt: skip
def test_the_calls_of_some_code(code: str, calls: list[dict[str, object]]):
    found = calls_in(code)
    assert [name for name, _ in found] == ["exec_command"] * len(calls)
    assert [{key: value for key, value in given.items() if key != "yield_time_ms"} for _, given in found] == calls


def test_a_call_of_code_is_what_it_does_inside():
    code = (
        f"const patch = {PATCH!r};\nawait tools.apply_patch(patch);\n"
        "const r = await tools.exec_command({cmd: \"sed -n '1,9p' src/b.py\"}); "
        'await tools.update_plan({plan: [{step: "a", status: "completed"}]}); await tools.mcp__undrift__recall({ref: "ab"})'
    )
    edit, shell, plan, recall = acts_of("exec", code)
    assert (edit.kind, edit.path, edit.patch) == ("edit", "src/a.py", PATCH)
    assert (shell.kind, shell.command) == ("shell", "sed -n '1,9p' src/b.py")
    assert (plan.kind, plan.given) == ("plan", {"plan": [{"step": "a", "status": "completed"}]})
    assert (recall.tool, recall.given) == ("mcp__undrift__recall", {"ref": "ab"})
    assert acts_of("exec", {"input": code}) == (edit, shell, plan, recall)


def test_code_without_a_call_is_the_call_itself():
    (act,) = acts_of("exec", "text(ALL_TOOLS.map(x => x.name))")
    assert (act.kind, act.tool, act.command) == ("shell", "exec", "")


@pytest.mark.parametrize(
    "piece",
    [
        "tools.a(", "tools.a({x:", "tools.a({x:[", "[", "a=[tools ", "'\\\"'", "`${", "tools=/[/[", "tools/*", "a=a+a;",
        "a=['x'];a=[a,a,a,a];", "x.map(", "[1].map(tools", "tools.a(...", "for(const [", "const {", "}", "\\", "\0", "${",
        'tools.x({x:"', "tools[", "String.raw`", "a=`${a}${a}`;", "for(const a of [1,2,3])tools.a({a});",
    ],
)  # fmt: skip
def test_hostile_code_ends_and_stays_small(piece: str):
    characters = sized(MOST_CHARACTERS // 4, MOST_CHARACTERS)
    code = ("a = 'tools';" + piece * characters)[: characters - 20] + ";tools.x({a})"
    found = calls_in(code)
    assert len(found) <= 250
    assert sum(len(repr(given)) for _, given in found) < 30 * characters


def test_a_value_cannot_grow_without_end():
    code = "a='xxxxxxxxxxxxxxxx';" + "a=a+a;" * 60 + "tools.x({a});b=['x'];" + "b=[b,b,b,b];" * 60 + "tools.x({b})"
    assert [given for _, given in calls_in(code)] == [{}, {}]


def test_every_code_has_tokens_that_cover_it_in_order():
    for code in ("a `b ${c + `d${e}`} f` 'g", "/a/.b / c / d", "`", "'", "/*", "`${`${`"):
        tokens = list(tokens_of(code))
        assert all(one.end <= two.start for one, two in pairwise(tokens))
        assert all(0 <= token.start <= token.end <= len(code) for token in tokens)


def test_longer_code_is_not_read():
    assert calls_in("tools.a({});" + " " * MOST_CHARACTERS) == ()


def test_slashes_that_begin_no_pattern_cost_no_more_than_other_signs():
    """Each of them looks like the beginning of one, and its end is not on the line."""

    def took(piece: str) -> float:
        start = time.process_time()
        assert len(list(tokens_of(piece * 15_000))) == 60_000
        return time.process_time() - start

    assert min(took("[/a]") for _ in range(3)) < 4 * min(took("[+a]") for _ in range(3))
    *_, last = tokens_of("[/a]" * 1_000 + "\nx = /[/]b/g")
    assert last.kind == "pattern"


def test_a_loop_around_an_argument_that_cannot_be_read_does_not_walk_over_it_in_each_turn(
    monkeypatch: pytest.MonkeyPatch,
):
    looked = 0
    whole = _Code._is

    def counted(code: _Code, at: int, *texts: str) -> bool:
        nonlocal looked
        looked += 1
        return whole(code, at, *texts)

    monkeypatch.setattr(_Code, "_is", counted)
    unread = "z " * 100_000
    assert len(calls_in(f"for (const a of [{'1,' * 50}]) tools.f([a {unread}])")) == 50
    assert looked < 3_000_000
