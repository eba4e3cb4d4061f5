"""Attacks on what others can reach or read: the gateway, the hooks, the restored text, pages, terminals and stored secrets."""

import asyncio
import json
import tempfile
from pathlib import Path

from bench import masking
from bench.kept import Kept
from bench.proxy import started
from tests.attack.rows import Outcome, Row, of_tests
from tests.builders import assistant, body, call, opened, result, user
from tests.cli.builders import on_a_terminal
from undrift.core.text.secrets import mask

__all__ = ["ROWS"]

_EVIL = "S\x1b]0;pwned\x07\x1b]52;c;ZXZpbA==\x07\x9b31m\u202e\u2066"
_RAW = ("\x1b]", "\x07", "\x9b", "\u202e", "\u2066", "\x1b[2J")


def _streams(is_short: bool) -> Outcome:
    """Many streams at once, three times: each is whole and managed."""
    at_once = 40 if is_short else 200

    async def ask(url: str) -> tuple[int, int]:
        kept, whole, managed = Kept(url), 0, 0
        for round_ in range(3):
            bodies = [_request(number, round_) for number in range(at_once)]
            answers = await asyncio.gather(*(kept.ask("/v1/messages", one) for one in bodies), return_exceptions=True)
            heads = [one.head for one in answers if not isinstance(one, BaseException)]
            whole += len(heads)
            managed += sum("x-undrift-bypass:" not in head for head in heads)
        kept.close()
        return whole, managed

    with (
        tempfile.TemporaryDirectory() as home,
        started("upstream") as (upstream, _),
        started("gateway", upstream, home) as (url, _),
    ):
        whole, managed = asyncio.run(ask(url))
    return Outcome(3 * at_once, managed, f"{whole} whole, {whole - managed} not managed")


def _request(number: int, round_: int) -> bytes:
    words = f"session {number} " + "word " * (300 + round_)
    return json.dumps({"stream": True, "model": "claude-opus-4-5", "messages": [user(words)]}).encode()


def _terminal(is_short: bool) -> Outcome:
    """Hostile ids and texts, shown by each command on a real pseudo-terminal."""
    with tempfile.TemporaryDirectory() as folder:
        with opened(Path(folder), _EVIL, budget_tokens=1_500) as session:
            session.start_task(f"T {_EVIL}", content=_EVIL)
            session.remember(f"The host is {_EVIL}.", trust="user")
            messages = [user(_EVIL)]
            for number in range(8):
                text = f"{_EVIL} line {number} " * 60
                messages += [assistant(call(f"c{number}", command=_EVIL)), user(result(f"c{number}", text))]
            ref = session.prepare(body(*messages)).actions[0].ref
        home, own = f"--home={folder}", f"--session={_EVIL}"
        commands = [
            ["session", "list", home],
            ["session", "tasks", own, home],
            ["session", "history", own, home],
            ["session", "diff", "0", own, home],
            ["recall", ref, home],
            ["recall", ref, "--why", home],
            ["recall", "--find", "line", home],
            ["recall", _EVIL, home],
            ["memory", "list", own, home],
            ["memory", "search", "host", own, home],
            ["memory", "preview", "host", own, home],
            ["memory", "conflicts", own, home],
            ["status", home],
            ["doctor", home],
            ["store", "purge", _EVIL, home],
        ]
        bad = []
        for words in commands[:4] if is_short else commands:
            shown = _shown(words)
            if any(raw in shown for raw in _RAW):
                bad.append(" ".join(words[:2]))
    count = 4 if is_short else len(commands)
    return Outcome(count, count - len(bad), ", ".join(bad))


def _shown(words: list[str]) -> str:
    try:
        return on_a_terminal(*words, columns=80)
    except AssertionError as error:  # the command refused, and said why on stderr
        return str(error).encode().decode("unicode_escape", "replace") if "\\x1b]" in str(error) else ""


def _secrets(is_short: bool) -> Outcome:
    """Made-up secrets of each kind in each context; kinds with a form or a name beside them are asked for."""
    rows = masking.canaries()
    found = masking.figures(masking.measure(mask, rows[::40] if is_short else rows))
    (hidden, pairs), (asked, of) = found["pairs"], found["asked"]
    return Outcome(of, asked, f"all pairs: {hidden:,} of {pairs:,} hidden; python -m bench.masking names the rest")


ROWS = (
    Row("gateway, 200 parallel streams x 3", "600: 600", _streams),
    Row(
        "gateway: Host, Origin, smuggling, paths, heads",
        "44: 36 (F2, F8)",
        of_tests("tests/proxy/test_refused.py", "tests/proxy/test_heads.py", "tests/proxy/test_incoming.py"),
    ),
    Row(
        "gateway: another local user, a page, no token",
        "4: 0 (F2)",
        of_tests("tests/proxy/test_owner.py", "tests/proxy/test_service.py", "tests/proxy/test_renewed_keys.py"),
    ),
    Row("hooks: links, pipes, ids, payloads", "18: 17", of_tests("tests/hooks/test_hostile_input.py")),
    Row(
        "restored text: injected instructions",
        "17: 11 (F5)",
        of_tests("tests/core/text/test_typed.py", "tests/core/restore/test_injected.py"),
    ),
    Row(
        "HTML report, every field hostile",
        "1: 1",
        of_tests("tests/report/test_page.py", "tests/report/test_in_browser.py", short="hostile or policy"),
    ),
    Row("terminal: OSC 52, title, C1, bidi through a pty", "15: 15 (F10 in logs)", _terminal),
    Row("log lines with hostile ids", "raw (F10)", of_tests("tests/session/test_log_lines.py")),
    Row("secrets: kinds x contexts", "2,702: 1,370 (F1)", _secrets),
)
