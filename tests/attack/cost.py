"""Attacks on cost: texts, bodies and transcripts of up to 1 MB that are made to be slow; and calls that run what they are given."""

import ast
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.attack.rows import Outcome, Row, of_tests
from tests.builders import assistant, body, call, opened, result, user
from tests.cli.builders import environment
from tests.hooks.builders import compacted
from tests.proof.powercut import ROOT
from undrift.errors import UndriftError

__all__ = ["ROWS", "TEXTS"]

_MEGABYTE = 1_000_000
_MOST_S = 2.0  # of CPU
TEXTS: Mapping[str, str] = {
    "-head": "nl-head",
    "a=": "a=",
    "key=": "key=",
    "token": "token: '",
    "credentials": "://a:b@",
    "eyJ": "eyJ",
    "private key": "-----BEGIN RSA PRIVATE KEY-----",
    "backslash": "\\",
    "percent": "%25",
    "escape": "\\u001b[",
    "colour": "\x1b[",
    "fence": "```\n",
    "tag": "<a ",
    "bracket": "[",
    "brace": '{"a":',
    "list": "1. ",
    "sentence": "the port is 8080. ",
    "rule": "You must always use X. ",
    "date": "2026-01-01 ",
    "path": "/a/b.c:1 ",
    "diff": "+a\n-b\n",
    "tests": "3 passed, 1 failed in 0.1s\n",
    "combining": "a\u0301",
    "zero width": "\u200b",
    "newline": "\n",
    "return": "x\r",
    "masked": "[masked:secret]",
    "pruned": "[Pruned 0123456789abcdef: ",
    "one word": "a",
    "hex": "0123456789abcdef",
    "traceback": '  File "a.py", line 1, in f\n',
    "mark": "[[task:start T1]]",
    "tab": "\t",
    "surrogate": "\ud800",
    "emoji": "\U0001f469\u200d\U0001f467",
    "AKIA": "AKIA",
    "secret name": "secret_access_key=",
}
_COMMANDS = {
    "nl-head": "nl" + "-head" * 399,
    "cat ~/": "cat " + "~/" * 1_000,
    "&&": "a && " * 500,
    "quotes": "'\"$(" * 600,
    "sed": "sed -i " + "s/a/b/;" * 300,
    "heredoc": "cat <<'E'\n" * 200,
    "paths": "/a/b.py " * 300,
}
_RUNS = {"eval", "exec", "os.system", "pickle.load", "pickle.loads", "yaml.load", "marshal.loads", "shelve.open"}


def _texts(is_short: bool) -> Outcome:
    """Each text of a megabyte through each public call."""
    return _judged(
        (f"{name}, {what}", act) for name in list(TEXTS)[:: 12 if is_short else 1] for what, act in _calls(name)
    )


def _calls(name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    long = (TEXTS[name] * (_MEGABYTE // len(TEXTS[name])))[:_MEGABYTE]
    with tempfile.TemporaryDirectory() as home, opened(Path(home), embedder="none", budget_tokens=20_000) as session:
        used = assistant(call("t", command=long[:500_000]))
        asked = body(user("go"), used, user(result("t", long)), assistant("ok"), user("more"))
        yield "prepare", lambda: session.prepare(asked)
        yield "prepare again", lambda: session.prepare(asked)
        yield "remember", lambda: session.remember(long)
        yield "remember 10 kB", lambda: session.remember(long[:10_000], trust="user")
        yield "search", lambda: session.search(long)
        yield "find", lambda: session.find(long)
        yield "brief", lambda: session.brief(long, 500)
        yield "start a task", lambda: session.start_task("T", acceptance_criteria=("tests pass",))
        yield "complete it", lambda: session.complete_task("T", long)
        yield "pin", lambda: session.pin("spec", long)
        yield "prepare with the pin", lambda: session.prepare(asked)


def _judged(acts: Iterator[tuple[str, Callable[[], Any]]]) -> Outcome:
    """Time each; more than two seconds of CPU fail, and so does an error that is not ours. A refusal counts as an answer."""
    attempts, refused, bad = 0, 0, []
    for name, act in acts:
        attempts += 1
        began_s, fault = time.process_time(), ""
        try:
            act()
        except UndriftError:
            refused += 1
        except Exception as error:  # noqa: BLE001 - it is named
            fault = type(error).__name__
        took_s = time.process_time() - began_s
        if took_s > _MOST_S or fault:
            bad.append(f"{name}: {took_s:.1f} s {fault}".strip())
    return Outcome(attempts, attempts - len(bad), "; ".join([f"{refused} refused by name", *bad[:6]]))


def _bodies(is_short: bool) -> Outcome:
    """Bodies of many parts on three wires."""
    parts = 2_000 if is_short else 25_000
    tiny = [{"role": ("user", "assistant")[n % 2], "content": "x"} for n in range(parts + 1)]
    gemini = [{"role": ("user", "model")[n % 2], "parts": [{"text": "x"}]} for n in range(parts * 4 // 5 + 1)]
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {}} for n in range(parts // 5)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "r"} for n in range(parts // 5)]
    slow = [
        one for n in range(parts // 100) for one in (call(f"t{n}", command=_COMMANDS["nl-head"]), result(f"t{n}", "r"))
    ]
    bodies = {
        "tiny messages": ({"model": "m", "max_tokens": 9, "messages": tiny}, "anthropic"),
        "tiny messages, openai": ({"model": "m", "messages": tiny}, "openai-chat"),
        "tiny messages, gemini": ({"contents": gemini}, "gemini"),
        "parallel calls": (body(user("x"), assistant(*calls), user(*results)), "anthropic"),
        "slow commands": (body(user("x"), *slow), "anthropic"),
    }

    return _judged(one for name, (given, wire) in bodies.items() for one in _prepared(name, given, wire))


def _prepared(name: str, given: Any, wire: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    model = "gemini-3.1-pro" if wire == "gemini" else None
    with tempfile.TemporaryDirectory() as home, opened(Path(home), budget_tokens=20_000) as session:
        yield name, lambda: session.prepare(given, wire=wire, model=model)
        yield f"{name} again", lambda: session.prepare(given, wire=wire, model=model)


def _transcripts(is_short: bool) -> Outcome:
    """Recorded sessions of a megabyte with slow commands, through restore, autopsy and the hook."""
    attempts, slow = 0, []
    for name, words in list(_COMMANDS.items())[: 1 if is_short else None]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "claude", "projects", "-repo", "0199f1d2-aaaa-4bbb-8ccc-000000000001.jsonl")
            path.parent.mkdir(parents=True)
            path.write_text(_transcript(words, 40 if is_short else 300), encoding="utf-8")
            payload = {"session_id": path.stem, "transcript_path": str(path), "cwd": folder, "source": "compact"}
            hook = ["agent", "hook", "SessionStart", f"--client-home={folder}/claude"]
            given = json.dumps({**payload, "hook_event_name": "SessionStart"})
            for what in (["session", "restore", str(path)], ["autopsy", str(path)], hook):
                attempts += 1
                took_s = _cpu_s([*what, f"--home={folder}/home"], given, folder)
                if took_s > _MOST_S:
                    slow.append(f"{name}, {what[0]}: {took_s:.1f} s")
    return Outcome(attempts, attempts - len(slow), "; ".join(slow))


def _transcript(command: str, count: int) -> str:
    records: list[dict[str, Any]] = [_record("user", "Please do the thing.")]
    for number in range(count):
        used = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        records.append(_record("assistant", [used]))
        records.append(
            _record("user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": f"ok {number}"}])
        )
        if number == count - 5:
            records += compacted()
    return "".join(json.dumps({**one, "uuid": f"u-{number}"}) + "\n" for number, one in enumerate(records))


def _record(role: str, content: Any) -> dict[str, Any]:
    message = {"role": role, "content": content, "model": "claude-opus-4-5"}
    return {
        "type": role,
        "isSidechain": False,
        "sessionId": "s",
        "timestamp": "2026-03-01T10:00:00.000Z",
        "message": message,
    }


def _cpu_s(words: list[str], given: str, folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-P", "-m", "undrift", *words]
    subprocess.run(
        command, input=given, env=environment(HOME=folder), cwd=folder, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _runs(is_short: bool) -> Outcome:
    """The package's own code: nothing that runs or unpickles what it is given, and no shell."""
    del is_short
    files, bad = list((ROOT / "src").rglob("*.py")), []
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                has_shell = any(
                    word.arg == "shell" and not (isinstance(word.value, ast.Constant) and not word.value.value)
                    for word in node.keywords
                )
                if ast.unparse(node.func) in _RUNS or has_shell:
                    bad.append(f"{path.relative_to(ROOT / 'src' / 'undrift')}:{node.lineno} {ast.unparse(node.func)}")
    return Outcome(len(files), len(files) - len({one.partition(":")[0] for one in bad}), ", ".join(bad))


ROWS = (
    Row(f"cost: {len(TEXTS)} texts of 1 MB x 11 calls", "693: 693", _texts),
    Row("cost: bodies of many parts", "16: 10 (F2b)", _bodies),
    Row("cost: transcripts through restore, autopsy, hook", "4: 1 (F2b)", _transcripts),
    Row("cost: each public call, as the tests have it", "-", of_tests("tests/house/test_call_cost.py", "tests/hooks/test_cost.py")),
    Row("regular expressions x pump strings", "298: 297 (F2b)", of_tests("tests/house/test_expression_cost.py")),
    Row("pickle, yaml, eval, exec, shells in the package", "none", _runs),
)  # fmt: skip
