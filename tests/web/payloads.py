"""Texts that would run or break the page if a view took them for more than text; and a home full of them.

Law: each is made here from a way out of its place and a thing to run there. One that runs sets ``window.owned`` to its number.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.builders import assistant, body, call, result, user
from tests.cli.builders import Record, answered, called, claude, said, written
from tests.hooks.builders import compacted, with_ids
from tests.web.builders import managed, recorded, source_of
from undrift.core.dispatch.contracts import BEGIN, END
from undrift.core.dispatch.plan import PlanTask
from undrift.core.dispatch.prompt import CompiledPrompt
from undrift.core.handoff.reports import EndedAgent
from undrift.dispatch.agents import Reply
from undrift.dispatch.default import stored_manager
from undrift.dispatch.runner import dispatch
from undrift.errors import UndriftError
from undrift.facts.reports import keep_report
from undrift.facts.sqlite import SqliteSessionFactStore
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.files import safe_name
from undrift.stores.opening import open_store
from undrift.stores.projects import keep
from undrift.values.scope import Scope
from undrift.web.source import PageSource

__all__ = ["BIG", "COMPACTED", "IS_WHOLE", "MANAGED", "NAMED", "PAYLOADS", "hostile_home", "hostile_source", "sample"]

_ELSEWHERE = "http://127.0.0.1:9/owned"
"""A place to which nothing of the page may send anything."""

_WAYS_OUT = (
    "",
    '">',
    "'>",
    "--><!-- -->",
    "</title></textarea></style>",
    "</script>",
    "</bdi></pre></code></td>",
    "]]>",
    '\\">',
    "</svg></math>",
)
"""Ends of the text, the attribute, the comment, the section or the element in which a text may stand."""

_ELEMENTS = (
    "<script>RUN</script>",
    "<script src='data:text/javascript,RUN'></script>",
    "<script type=module>RUN</script>",
    "<img src=x onerror=RUN>",
    "<img src=x:x\tonerror\n=\nRUN//>",
    "<image src=x onerror=RUN>",
    "<svg onload=RUN>",
    "<svg/onload=RUN//",
    "<svg><script>RUN</script></svg>",
    "<svg><animate onbegin=RUN attributeName=x dur=1s>",
    "<math><mtext><style><img src=x onerror=RUN></style></mtext></math>",
    "<details open ontoggle=RUN>x</details>",
    "<video><source onerror=RUN></video>",
    "<audio src=x onerror=RUN></audio>",
    "<input autofocus onfocus=RUN>",
    "<button popovertarget=p autofocus onfocus=RUN>x</button>",
    "<body onload=RUN><body onpageshow=RUN>",
    "<iframe srcdoc='<script>parent.RUN</script>'></iframe>",
    '<iframe src="javascript:parent.RUN"></iframe>',
    "<object data='javascript:RUN'></object>",
    "<embed src='javascript:RUN'>",
    "<a href='javascript:RUN' autofocus onfocus=RUN>x</a>",
    "<form action='javascript:RUN'><input type=submit autofocus onfocus=RUN></form>",
    "<meta http-equiv=refresh content='0;url=javascript:RUN'>",
    "<base href='ELSEWHERE/'><script src=x.js></script>",
    "<link rel=stylesheet href='ELSEWHERE.css' onerror=RUN>",
    "<style>@import 'ELSEWHERE.css';*{background:url(ELSEWHERE.png)}</style><img src=x onerror=RUN>",
)
"""Elements that run, or ask another place, if a text becomes them."""

_URLS = (
    "javascript:RUN",
    "JaVaScRiPt:RUN",
    " \x01javascript:RUN",
    "java\tscript:RUN",
    "java\nscript:RUN",
    "javascript\t:RUN",
    "javascript:/*--></title></style></textarea></script><svg/onload='+/\"/+/onmouseover=1/+/[*/[]/+RUN//'>",
    "javascript://%0aRUN",
    "&#106;avascript&colon;RUN",
    "&#x6A&#x61vascript:RUN",
    "%6Aavascript:RUN",
    "\\u006aavascript:RUN",
    "vbscript:RUN",
    "data:text/html,<script>opener.RUN</script>",
    "data:text/html;base64,PHNjcmlwdD5vcGVuZXIub3duZWQ9MTwvc2NyaXB0Pg==",
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='RUN'/>",
    "blob:null/RUN",
    "view-source:javascript:RUN",
    "ELSEWHERE",
    "//127.0.0.1:9/owned",
    "\\\\127.0.0.1:9\\owned",
    "file:///etc/passwd#RUN",
)
_URL_CARRIERS = ("{}", "[read it]({})", "![x]({})", "<{}>", "url({})")

_ATTRIBUTES = (
    '" onmouseover=RUN x="',
    "' autofocus tabindex=0 onfocus=RUN x='",
    "x onfocus=RUN autofocus",
    '" style="background:url(ELSEWHERE)" onanimationstart=RUN x="',
    "` onerror=RUN `",
    '"><svg onload=RUN><a x="',
    'x" srcdoc="<script>parent.RUN</script>',
    "k-x on onclick=RUN",
)
_CODES = (
    "';RUN;//",
    '";RUN;//',
    "`;RUN;//",
    "${RUN}",
    "#{RUN}",
    "{{RUN}}",
    "{{constructor.constructor('RUN')()}}",
    "<%= RUN %>",
    "{%raw%}RUN{%endraw%}",
    "[[${RUN}]]",
    "\\';RUN;//",
    "\u2028RUN\u2029",
    "*/RUN/*",
    "</script>RUN<script>",
    "expression(RUN)",
    "}*{x:expression(RUN)}@import'ELSEWHERE';{",
    '{"__proto__": {"owned": "RUN"}}',
    '{"toString": "RUN", "length": -1}',
    'data: x\n\nevent: now\ndata: {"sessions": "RUN"}\n\n',
    "x\r\nset-cookie: owned=1\r\n\r\n<script>RUN</script>",
)
_CODED = (
    "&lt;script&gt;RUN&lt;/script&gt;",
    "&amp;lt;img src=x onerror=RUN&amp;gt;",
    "&#60;script&#62;RUN&#60;/script&#62;",
    "&#x3c;img src=x onerror=RUN&#x3e;",
    "%3Cscript%3ERUN%3C/script%3E",
    "%253Cimg%2520src=x%2520onerror=RUN%253E",
    "\\x3cscript\\x3eRUN\\x3c/script\\x3e",
    "\\u003cimg src=x onerror=RUN\\u003e",
    "+ADw-script+AD4-RUN+ADw-/script+AD4-",
    "\uff1cscript\uff1eRUN\uff1c/script\uff1e",
    "\u2039script\u203aRUN\u2039/script\u203a",
    "<scr<script>ipt>RUN</scr</script>ipt>",
    "<\x00script>RUN</\x00script>",
    "<scr\u200bipt>RUN</scr\u200bipt>",
    "<\u017fcript>RUN</\u017fcript>",
    "<SCRIPT\x0c>RUN</SCRIPT\x0b>",
)
_SIGNS = (
    "\u202e)NUR(tpircs\u202c",
    "\u2066\u2067\u2068 not closed",
    "\u202a\u202b\u202d\u202e" * 40,
    "\u200f\u061c\u200e marks",
    "\u2029\u2028\x85 lines",
    "\x00\x01\x02\x07\x08\x1b[31mred\x1b]0;title\x07",
    "\ud800 alone",
    "\udfff\ud800 turned round",
    "a\ufeff\u2060\u200d\u00ad b",
    "Z" + "\u0301\u0489" * 300,
    "\U000e0041\U000e0042 tags",
    "\U0010ffff\ufffe\uffff",
    "\u0130\u0131\u00df\u017f folds",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 20,
    "W" * 6_000,
    "<b>" * 2_000,
    "(((((((((" * 200 + "[a-z]+++",
    "&" * 3_000,
    "\n" * 500 + "<img src=x onerror=RUN>",
    " \t\u3000\u00a0",
)
_NAMES = (
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "valueOf",
    "hasOwnProperty",
    "__defineGetter__",
    "__proto__.owned",
    "constructor.prototype",
    "then",
    "length",
    "undefined",
    "null",
    "NaN",
    "[object Object]",
    "main",
)
_VALUES = (
    "-1",
    "1e999",
    "0x1F",
    "9" * 400,
    "٣٤",
    "²",
    "true",
    "../../../../etc/passwd",
    "..\\..\\windows\\win.ini",
    "%2e%2e%2f%2e%2e%2f",
    "/undrift/api/now?key=x",
    "#/session/x/constructor",
    "?key=a&key=b&days=1#/bill/1",
    "a&b=c;d=e",
    "%",
    "%zz%u0041%c0%ae",
    "' OR 1=1; DROP TABLE memories; --",
    '" NEAR/2 * AND NOT (x:y)',
    "$(touch owned)`id`|x;&&",
    "C:\\Users\\x\\..\\y",
)


def _texts() -> Iterator[str]:
    for number, element in enumerate(_ELEMENTS):
        for turn in range(6):  # each element meets six of the ways out, each way about as often as each other one
            yield _WAYS_OUT[(6 * number + turn) % len(_WAYS_OUT)] + element
    yield from (carrier.format(url) for carrier in _URL_CARRIERS for url in _URLS)
    yield from (*_ATTRIBUTES, *_CODES, *_CODED, *_SIGNS, *_NAMES, *_VALUES)


def _numbered() -> Iterator[str]:
    for number, text in enumerate(_texts(), 1):
        yield text.replace("RUN", f"window.owned={number}").replace("ELSEWHERE", _ELSEWHERE)


IS_WHOLE = os.environ.get("UNDRIFT_TEST_HOSTILE") == "all"
"""Whether each text is played through each place; else some of them."""

PAYLOADS = tuple(_numbered())


def sample(count: int) -> tuple[str, ...]:
    """Return some of the payloads, evenly from all kinds."""
    return tuple(PAYLOADS[number * len(PAYLOADS) // count] for number in range(count))


NAMED, BIG, MANAGED, COMPACTED = "named-%41+#?&'\"<b>", "big-1", "managed-1", "0199f1d2-aaaa-4bbb-8ccc-000000000009"
"""Keys of sessions: by its file's name hostile; with all texts among what left; sent as undrift recorded it; with hooks."""

_FOLDER = "/repo/shop"
_EACH = 9
"""The texts that one recorded session takes."""

_BUDGET_TOKENS = 3_000


def hostile_home(folder: Path, texts: Sequence[str]) -> None:
    """Write recordings and records in which each field that the page shows holds one of the texts, and each text stands in each kind."""
    for number in reversed(range(0, len(texts), _EACH)):
        some = cycle(texts[number : number + _EACH])
        name = NAMED if not number else f"{number}-{_file_name(texts[number])}"
        recorded(folder, name, _session(some))
        _sub_agent(folder, name, some)
    plain = _session(cycle(texts), cwd="/repo/a\0b")
    bad = os.fsencode(written(folder / ".claude/projects/-x/plain.jsonl", plain))
    os.rename(bad, bad.replace(b"plain", b"bad\xff\xfe"))  # noqa: PTH104 - a path that is no text
    for year in ("0001", "9999"):
        recorded(folder, f"year-{year}", [{**one, "timestamp": f"{year}-12-31T10:00:00Z"} for one in plain])
    recorded(folder, COMPACTED, _session(cycle(texts[::-1]), cwd=_FOLDER))
    (folder / ".undrift/hooks" / safe_name(f"claude-{COMPACTED}")).mkdir(parents=True)
    source = source_of(folder)
    keep(source.place(_FOLDER))
    _managed(folder, texts)
    _left(folder, source, texts)
    _stored(source, texts)
    _tasks(source, texts)
    _run(source, texts)


def hostile_source(folder: Path, texts: Sequence[str]) -> PageSource:
    """Return the source of a home, with a gateway whose open sessions have hostile names."""
    rows = [{"session": f"claude:{text}", "tokens_before": 9, "tokens_after": 5} for text in (*texts, NAMED)]
    source = source_of(folder)
    source.open_sessions = lambda: rows
    return source


def _file_name(text: str) -> str:
    """Return a text as the name of a file: without what no system takes."""
    plain = text.encode("utf-8", "replace").decode().replace("/", "|").replace("\0", "")
    return plain.encode()[:120].decode("utf-8", "ignore").strip(". ")


def _session(some: Iterator[str], *, cwd: str = "") -> list[Record]:
    """Three files are read, the client compacts, a hook gives a text back, one file is read again; all names and texts are hostile."""
    records = [claude("user", f"Find {next(some)}. Never touch {next(some)}.\nAlways write {next(some)} in German.")]
    place, tool = next(some), next(some)
    records += _read(0, tool, f"/x/{place}", f"value_0 = {next(some)}\nold_name_77 {place}")
    records += _read(1, next(some), f"{next(some)}.py", f"{next(some)}\n    value_1 = compute({next(some)})")
    boundary, summary = compacted(1)
    summary["message"]["content"] = f"This session is being continued.\n{next(some)}\nold_name_77"
    told = {"type": "hook_additional_context", "content": [f"## Rules\n{next(some)}"], "hookEvent": "SessionStart"}
    records += [boundary, summary, {"type": "attachment", "attachment": told, "timestamp": "2026-03-01T10:00:06.000Z"}]
    records += _read(2, tool, f"/x/{place}", f"value_0 = {next(some)}\nold_name_77 {place}")
    records.append(
        claude("assistant", [said(f"So value_0, value_1 and old_name_77 of {place}: {next(some)}")], at_s=30)
    )
    model, cwd, id_ = next(some), cwd or f"/repo/{next(some)}", next(some)
    for record in records:
        if record["type"] == "assistant":
            record["message"]["model"] = model
        if record["type"] in ("user", "assistant") and record.get("sessionId"):
            record["sessionId"] = id_
    return with_ids(records, cwd)


def _read(number: int, tool: str, path: str, text: str) -> list[Record]:
    """A call of a tool and its result, with the prompt's tokens."""
    usage = {"input_tokens": 5, "cache_read_input_tokens": 9_000 + number, "output_tokens": 40}
    asked, got = called(number, tool, file_path=path, command=text), answered(number, text)
    asked["id"] = got["tool_use_id"] = f"call-{number}-{tool[:80]}"
    answer = claude("assistant", [asked], at_s=10 * number)
    answer["message"] |= {"usage": usage, "id": f"msg-{number}-{tool[:80]}"}
    return [answer, claude("user", [got], at_s=10 * number + 1)]


def _sub_agent(folder: Path, of: str, some: Iterator[str]) -> None:
    """Write the recording of a sub-agent, with the note that names it."""
    id_ = f"a{abs(hash(of)):016x}"[:17]
    records = [claude("user", f"Look at {next(some)}"), *_read(0, next(some), next(some), next(some))]
    records.append(claude("assistant", [said(next(some))], at_s=20))
    lines = [{**one, "isSidechain": True, "agentId": id_, "sessionId": of} for one in with_ids(records)]
    path = written(folder / ".claude/projects/-repo-shop" / of / f"subagents/agent-{id_}.jsonl", lines)
    note = {"agentType": next(some), "description": next(some), "parentAgentId": next(some)}
    path.with_suffix(".meta.json").write_text(json.dumps(note))


def _managed(folder: Path, texts: Sequence[str]) -> None:
    """A session that went through undrift turn by turn, so that its prompts are known by their hashes."""
    records = [claude("user", f"Find {texts[0]}")]
    for number, text in enumerate(texts[:: max(1, len(texts) // 16)]):
        records += _read(number, text, text, f"{text} {'filler of a line ' * 60}")
    records = with_ids(records, _FOLDER)
    recorded(folder, MANAGED, records)
    managed(folder, MANAGED, records, budget_tokens=_BUDGET_TOKENS)


def _left(folder: Path, source: PageSource, texts: Sequence[str]) -> None:
    """A session in which each text left, as a tool and a result; and two that no client records, with hostile names."""
    messages = [user("Go.")]
    for number, text in enumerate(texts):
        asked = {**call(f"c{number}", path=text), "name": text[:60] or "Read"}
        messages += [assistant(asked), user(result(f"c{number}", f"{text} {'filler ' * 160}"))]
    recorded(folder, BIG, _session(cycle(texts), cwd=_FOLDER))
    settings = Settings(budget_tokens=_BUDGET_TOKENS)
    for name, some in (
        (f"claude:{BIG}", messages),
        ("constructor:toString", messages[:40]),
        (f"x:{texts[0]}", messages[:40]),
    ):
        with Session.open(name, home=source.place(_FOLDER), settings=settings, keeps_notes=False) as session:
            done = session.prepare(body(*some, user("And on.")))
            refs = [action.ref for action in done.actions if action.ref]
            for ref in refs[:4]:
                session.bring_back(ref, model="claude-opus-4-8")
            session.pin("spec", texts[1])


def _stored(source: PageSource, texts: Sequence[str]) -> None:
    """Memories of each text: some hold in every project, some were edited or forgotten, some exclude each other."""
    port = "The port of the login service is"
    with Session.open(f"claude:{BIG}", home=source.place(_FOLDER), keeps_notes=False) as session:
        records = [
            {
                "content": f"Line {number}: {text}",
                "source": texts[number - 1],
                "speaker": texts[number - 2],
                "created_at_ms": 1,
            }
            for number, text in enumerate(texts)
        ]
        times = ("created_at_ms", "valid_from_ms", "valid_to_ms", "recorded_at_ms")
        records += [
            {"content": f"Time {name}", "created_at_ms": 1, name: at} for name in times for at in (10**17, 2**63 - 1)
        ]
        for record in records:
            with suppress(UndriftError):
                session.memory.take_in([record])
        for text in texts[:6]:
            kept = session.remember(f"Note {text}", trust="user", speaker=text, source=text)
            session.memory.edit(kept.id, f"Edited {text}")
            session.memory.forget(session.remember(f"Gone {text}", trust="user").id)
            session.remember(f"I prefer {text}", trust="user", scope="user", source=text)
        session.remember(f"{port} 8080", trust="user", speaker=texts[0], source=texts[1])
        session.remember(f"{port} 9090", trust="tool", speaker=texts[2], source=texts[3])


def _tasks(source: PageSource, texts: Sequence[str]) -> None:
    """A task of each text, some of them done, and the reports of sub-agents without a recording."""
    with Session.open(f"claude:{BIG}", home=source.place(_FOLDER), keeps_notes=False) as session:
        for number, text in enumerate(texts):
            with suppress(UndriftError):
                session.update_task(
                    text, content=texts[number - 1], acceptance_criteria=(texts[number - 2],), delegated_to=text
                )
        for number, text in enumerate(texts[:8]):
            session.start_task(f"{number} {text}", content=text, acceptance_criteria=(text, "the tests pass"))
            session.complete_task(f"{number} {text}", f"It is done, see {text}; the tests pass.")
    with open_store(source.place(_FOLDER), Scope()) as store:
        for number, text in enumerate(texts[:40]):
            keep_report(
                store, f"claude:{BIG}", EndedAgent(text, f"I saw {text} in keys.py.", f"b{number}", [text[:80]])
            )


def _run(source: PageSource, texts: Sequence[str]) -> None:
    """A run of a plan whose name, tasks, results and facts are hostile."""
    some = cycle(texts)

    class Scripted:
        def answer(self, prompt: CompiledPrompt) -> Reply:
            found: dict[str, Any] = {"status": "completed", "summary": f"Wrote {next(some)} of the shop."}
            found |= {
                "files_changed": [f"shop/{next(some)[:60]}.py"],
                "conventions": [f"prices are {next(some)} of pence"],
            }
            if prompt.role == "reviewer":
                first = prompt.attempt == 1
                found = {"assessment": "needs_changes" if first else "approved", "required_fixes": [next(some)] * first}
            return Reply(f"{BEGIN}\n{json.dumps({'task_id': prompt.task_id, **found})}\n{END}\n")

    plan = [
        PlanTask(name, f"Write the {name} of the shop: {next(some)}") for name in ("constructor", "__proto__", "main")
    ]
    run = f"run {_file_name(next(some))}"
    with closing(SqliteSessionFactStore(source.place(_FOLDER), run_id=run, settings=Settings())) as facts:
        manager = stored_manager(facts, Settings())
        manager.init_run(run, plan, context=next(some))
        dispatch(manager, run, Scripted())
