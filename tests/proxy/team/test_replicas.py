"""Several gateways in front of one home: any of them may take any turn of a session, and the provider sees no difference."""

import json
import random
import time
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.long_form import only_long
from tests.proxy.team.builders import ANA, BEN, Serving, serving
from undrift.testing import Read, Result, ScriptedProvider, history_for

TURNS = 40
FIXED = '[session]\ntoken_counter = "estimate"\nbudget_tokens = 12_000\n'
AUTO = '[session]\ntoken_counter = "estimate"\nprune_threshold_tokens = 15_000\n'
LEAST_BYTES = 100_000  # of all requests: else nothing was compared


def sent(home: Path | str, replicas: int, settings: str, *, wire: str, has_id: bool) -> list[bytes]:
    """Return the bodies that the provider gets if so many gateways take turns with one session.

    `has_id`: whether the client names its session; else it is known by its content.
    """
    named: Any = {"metadata": {"user_id": json.dumps({"session_id": "one"})}} if has_id else {}
    model = "claude-sonnet-4-5" if wire == "anthropic" else "gpt-5.5"
    history, chance = history_for(wire, model=model, **named), random.Random(7)
    history.say("Read all files of the project.")
    with ScriptedProvider([Read(f"/f{n}") for n in range(TURNS)]) as provider, ExitStack() as stack:
        gateways = [stack.enter_context(serving(home, provider.url, settings)) for _ in range(replicas)]
        written = [0] * replicas
        for number in range(TURNS):
            heard = turn_of(gateways[number % replicas], wire, history.body())
            written[number % replicas] += output_of(heard)
            history.take(heard)
            lines = (f"{chance.randrange(10**9)} is line {n} of file {number}" for n in range(chance.randrange(9, 90)))
            history.answer([Result("\n".join(lines))])
            recorded(gateways[number % replicas], written[number % replicas])
        return [seen.raw for seen in provider.requests]


def turn_of(gateway: Serving, wire: str, body: dict[str, Any]) -> Any:
    path, provider = ("/v1/messages", "anthropic") if wire == "anthropic" else ("/v1/chat/completions", "openai")
    heard = gateway.ask(ANA, body, path=path) if provider == "anthropic" else asked_openai(gateway, body)
    assert heard.status == 200
    assert "x-undrift-bypass" not in heard.headers
    return heard.json


def asked_openai(gateway: Serving, body: dict[str, Any]) -> Any:
    from tests.proxy.builders import ask

    return ask(gateway.url, "/v1/chat/completions", body, headers={"x-undrift-key": ANA})


def output_of(answer: Any) -> int:
    """Return the tokens of output that an answer reports."""
    usage = answer["usage"]
    return int(usage["output_tokens"] if "output_tokens" in usage else usage["completion_tokens"])


def recorded(gateway: Serving, tokens: int) -> None:
    """Wait until a gateway has recorded answers with so many tokens of output; that is after their last bytes were sent.

    A turn that overtakes the record of the answer before is planned without its usage: another window, as good as this.
    """
    until = time.monotonic() + 20
    while (found := output_counted(gateway.metrics())) != tokens:
        assert time.monotonic() < until, f"{found} of {tokens} tokens were recorded"
        time.sleep(0.01)


def output_counted(metrics: str) -> int:
    line = next((one for one in metrics.splitlines() if 'kind="output"' in one), "0")
    return int(line.rpartition(" ")[2])


@pytest.mark.parametrize(
    ("wire", "has_id", "settings"),
    [
        pytest.param("anthropic", True, FIXED, id="anthropic-by-id-fixed"),
        pytest.param("openai-chat", False, AUTO, id="openai-by-content-auto"),
        pytest.param("anthropic", True, AUTO, id="anthropic-by-id-auto", marks=only_long),
        pytest.param("openai-chat", False, FIXED, id="openai-by-content-fixed", marks=only_long),
    ],
)
def test_two_gateways_that_take_turns_send_what_one_sends_byte_for_byte(
    tmp_path: Path, settings: str, wire: str, has_id: bool
):
    alone = sent(tmp_path / "alone", 1, settings, wire=wire, has_id=has_id)
    both = sent(tmp_path / "both", 2, settings, wire=wire, has_id=has_id)
    assert len(alone) == len(both) == TURNS
    assert [number for number in range(TURNS) if alone[number] != both[number]] == []
    sizes = [len(body) for body in alone]
    assert sum(sizes) > LEAST_BYTES
    assert any(later < before for before, later in pairwise(sizes)), "nothing ever left"
    print(f"{wire}: {TURNS} bodies, {sum(sizes):,} bytes, all equal; largest {max(sizes):,}, last {sizes[-1]:,}")


def test_gateways_that_take_over_from_one_that_was_killed_go_on_with_its_windows(tmp_path: Path):
    """The bodies before and behind the kill continue each other: what has left stays away."""
    history, chance = history_for("anthropic", model="claude-sonnet-4-5"), random.Random(3)
    history.say("Read all files.")
    with ScriptedProvider([Read(f"/f{n}") for n in range(TURNS)]) as provider:
        for half in range(2):
            with serving(tmp_path, provider.url, FIXED) as gateway:
                for number in range(TURNS // 2):
                    history.take(turn_of(gateway, "anthropic", history.body()))
                    history.answer([Result("\n".join(f"{chance.random()} {half} {number}" for _ in range(60)))])
                gateway.process.kill()
        bodies = [json.loads(seen.raw)["messages"] for seen in provider.requests]
    before, behind = bodies[TURNS // 2 - 1], bodies[TURNS // 2]
    assert len(behind) < len(history.items)
    assert before[1:-1] == behind[1 : len(before) - 1]


def test_no_member_gets_into_the_records_of_another_one(tmp_path: Path):
    named = {"metadata": {"user_id": json.dumps({"session_id": "one"})}}
    words = {"ana": "canary-of-ana", "ben": "canary-of-ben"}
    with ScriptedProvider(without_tools=True) as provider, serving(tmp_path, provider.url) as gateway:
        for key, person in ((ANA, "ana"), (BEN, "ben")):
            body = {
                "model": "claude-opus-4-5",
                "max_tokens": 9,
                "messages": [{"role": "user", "content": words[person]}],
            }
            assert gateway.ask(key, {**body, **named}).status == 200
        windows = [gateway.get("/undrift/window/one", key).status for key in (ANA, BEN)]
    assert windows == [404, 200]  # the newest window of that name is Ben's, and Ana does not see it
    for person, word in words.items():
        folders = {path.parts[len(tmp_path.parts) + 1] for path in holding(tmp_path, word)}
        assert {name.partition("-")[0] for name in folders} <= {person}
    assert len(list(tmp_path.glob("people/*/projects/*/undrift.db"))) == 2


def holding(home: Path, word: str) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]
