"""The samples of README and of the guides run as they stand, and print what the guides show."""

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.examples.running import LIBRARY, THREADS, Sample, outputs, run, samples

ROOT = Path(__file__).parents[2]
README = "README.md"
AGENT = "docs/guides/agent.md"
CLIENTS = """
import json, sys
from anthropic import Anthropic
from google import genai
from openai import OpenAI
from undrift import Session, Settings

hello = [{"role": "user", "content": "Tell me about refunds."}]
BODIES = {
    "anthropic": {"model": "claude-opus-4-5", "max_tokens": 4096, "messages": hello},
    "openai-chat": {"model": "gpt-5.5", "messages": hello},
    "openai-responses": {"model": "gpt-5.5", "input": hello},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Tell me about refunds."}]}]},
}
CLIENTS = {"anthropic": Anthropic, "openai-chat": OpenAI, "openai-responses": OpenAI, "gemini": genai.Client}
for wire, sends in json.loads(sys.argv[1]):
    client, body = CLIENTS[wire](), BODIES[wire]
    with Session.open(wire, settings=Settings(budget_tokens=60_000)) as session:
        prepared = session.prepare(body, wire=wire, model="gemini-3.8-flash" if wire == "gemini" else None)
        reply = eval(sends.replace("model=...", "model='gemini-3.8-flash'").replace("config=...", "config=None"))
        print(wire, session.record(reply, wire=wire).text.splitlines()[0])
"""


@cache
def printed(page: str) -> dict[str, tuple[str, str]]:
    """Run the samples of a page once."""
    return outputs(page)


def every(page: str) -> list[Any]:
    return [pytest.param(sample, id=sample.name) for sample in samples(page)]


@pytest.mark.parametrize("sample", [*every(README), *every(LIBRARY), *every(THREADS), *every(AGENT)])
def test_a_sample_runs_and_prints_what_the_page_shows(sample: Sample) -> None:
    said, error = printed(sample.name.partition(":")[0])[sample.name]
    assert error == ""
    if sample.printed is not None:
        assert said == sample.printed, "python -m tests.examples.running --samples writes the outputs again"


@pytest.mark.parametrize(("page", "least"), [(LIBRARY, 7), (THREADS, 4)])
def test_every_sample_of_a_guide_says_what_it_prints(page: str, least: int) -> None:
    assert [sample.name for sample in samples(page) if not sample.printed] == []
    assert len(samples(page)) >= least


def test_a_sample_of_readme_uses_no_name_that_it_does_not_define() -> None:
    for sample in [*samples(README), *samples(AGENT)]:
        tree = ast.parse(sample.code)
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        defined = {node.id for node in names if isinstance(node.ctx, ast.Store)} | {"print", "dict", "len"}
        defined |= {
            one.asname or one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names
        }
        defined |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        defined |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        assert {node.id for node in names} <= defined, sample.name


def rows(page: str) -> list[tuple[str, str]]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r'^\| [^|]+ \| `"([a-z-]+)"` \| `\w+` \| `(client\.[^`]+)` \|$', text, re.MULTILINE)


def test_the_table_of_clients_holds(tmp_path: Path) -> None:
    """Each row says which wire belongs to which client, and how to send: the SDK itself is asked."""
    given = rows(LIBRARY)
    program = tmp_path / "clients.py"
    program.write_text(CLIENTS, encoding="utf-8")
    done = run(["examples/offline.py", str(program), json.dumps(given)], tmp_path)
    wires = ["anthropic", "openai-chat", "openai-responses", "gemini"]
    assert done.stdout.splitlines() == [f"{wire} Answer 1 about refunds." for wire in wires], done.stderr
