"""Budgets, rates and figures of members."""

import asyncio
import gzip
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.builders import ask
from tests.proxy.team.builders import ANA, BEN, BODY, Serving, serving
from undrift.errors import StoreError
from undrift.proxy.metering import AnsweredRequest
from undrift.proxy.observe import Counters
from undrift.proxy.team.buckets import Buckets
from undrift.proxy.team.budgets import LocalDayCounts, MemberAllowance, TeamRefusal
from undrift.proxy.team.meter import MemberLabels, Meter
from undrift.testing import Hold, RawRequest, RawUpstream, ScriptedProvider, Send, Step, response
from undrift.values.member import DayCounts, Member
from undrift.values.serving import Limit, ServeConfig

NOON_S = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
WHO = {"ana": Member("ana", "shop"), "ben": Member("ben", "shop"), "ana elsewhere": Member("ana", "site")}
ANSWER = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "content": [{"type": "text", "text": "Done."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 900, "output_tokens": 100},
}


class Times:
    """The two clocks of an allowance."""

    def __init__(self) -> None:
        self.wall_s, self.now_s = NOON_S, 0.0

    def allowance(self, counts: DayCounts, person: Limit, project: Limit | None = None) -> MemberAllowance:
        config = ServeConfig(home="h", person_limit=person, project_limit=project or Limit())
        return MemberAllowance(config, counts, wall_s=lambda: self.wall_s, clock=lambda: self.now_s)


def refusal(allowance: MemberAllowance, who: str) -> TeamRefusal | None:
    return asyncio.run(allowance.refusal(WHO[who]))


def test_a_budget_of_tokens_is_of_the_person_in_all_projects_and_comes_back_at_midnight():
    times = Times()
    allowance = times.allowance(LocalDayCounts(), Limit(tokens_per_day=1_000))
    allowance.spent(WHO["ana"], 999, None)
    assert refusal(allowance, "ana") is None
    allowance.spent(WHO["ana elsewhere"], 1, None)
    refused = refusal(allowance, "ana")
    assert refused == TeamRefusal(
        "budget",
        "person ana has used 1,000 tokens of 1,000 tokens today; the budget starts again at 00:00 UTC",
        12 * 3_600,
    )
    assert refusal(allowance, "ben") is None
    times.wall_s += 12 * 3_600
    assert refusal(allowance, "ana") is None


def test_a_budget_of_money_counts_dollars():
    allowance = Times().allowance(LocalDayCounts(), Limit(), Limit(usd_per_day=0.5))
    allowance.spent(WHO["ana"], 10, 0.3)
    assert refusal(allowance, "ben") is None
    allowance.spent(WHO["ben"], 10, 0.25)
    refused = refusal(allowance, "ana")
    assert refused is not None
    assert refused.message.startswith("project shop has used $0.55 of $0.50 today")


def test_two_gateways_with_shared_counts_keep_one_budget():
    times, counts = Times(), LocalDayCounts()
    first, second = (times.allowance(counts, Limit(tokens_per_day=100)) for _ in range(2))
    assert refusal(second, "ana") is None
    first.spent(WHO["ana"], 100, None)
    times.now_s = 6.0  # so old a total is asked for again
    assert refusal(second, "ana") is not None


def test_a_worker_that_is_late_at_midnight_takes_nothing_from_the_new_day():
    counts = LocalDayCounts()
    assert counts.add("a", "2026-12-01", 7) == 7
    counts.add("a", "2026-11-30", 9)
    assert counts.add("a", "2026-12-01", 0) == 7


class Broken:
    def add(self, key: str, day: str, amount: int) -> int:
        raise StoreError("the store cannot be reached")


def test_a_fault_of_the_counter_refuses_nobody(caplog: pytest.LogCaptureFixture):
    allowance = Times().allowance(Broken(), Limit(tokens_per_day=1))
    allowance.spent(WHO["ana"], 5, None)
    assert refusal(allowance, "ana") is None
    assert "cannot be reached" in caplog.text


def test_a_rate_lets_a_burst_through_and_then_so_many_a_minute():
    times = Times()
    allowance = times.allowance(LocalDayCounts(), Limit(requests_per_minute=60, burst=2))
    assert [refusal(allowance, "ana"), refusal(allowance, "ana")] == [None, None]
    refused = refusal(allowance, "ana")
    assert refused == TeamRefusal("rate", "person ana may send 60 requests a minute; try again in 1 s", 1)
    assert refusal(allowance, "ben") is None
    times.now_s = 1.0
    assert refusal(allowance, "ana") is None
    assert refusal(allowance, "ana") is not None


def test_a_bucket_never_holds_more_than_its_burst_and_is_no_limit_without_a_rate():
    buckets = Buckets(60, 2)
    for _ in range(3):
        buckets.take("a", 1_000.0)
    assert buckets.wait_s("a", 1_000.0) == 1.0
    assert buckets.wait_s("a", 990.0) == 1.0  # a clock that went back gives nothing
    assert buckets.wait_s("b", 0.0) == 0.0
    assert Buckets(None, None).wait_s("a", 0.0) == 0.0


def test_labels_are_bounded_and_escaped():
    labels = MemberLabels(2)
    assert labels.of(Member('a"b\\c', "p")) == 'person="a\\"b\\\\c",project="p"'
    assert labels.of(Member("é", "p")) == 'person="é",project="p"'
    assert labels.of(Member("third", "p")) == 'person="other",project="other"'
    assert labels.of(Member("é", "p")) == 'person="é",project="p"'


def counted(body: bytes | None, **more: Any) -> dict[str, int]:
    """Return what a meter counts for one answer, by kind, and the tokens that the budget counts."""

    async def count() -> dict[str, int]:
        counts, figures = LocalDayCounts(), Counters()
        allowance = Times().allowance(counts, Limit(tokens_per_day=10**9, usd_per_day=10**6))
        asked = AnsweredRequest(WHO["ana"], "anthropic", None, 50, 7, 100)
        Meter(allowance, figures, (), 5).answered(asked, body, asyncio.get_running_loop())
        await asyncio.sleep(0)
        found = {
            line.partition('kind="')[2].partition('"')[0]: int(line.rpartition(" ")[2])
            for line in figures.text({}).splitlines()
            if line.startswith("undrift_member_tokens_total{")
        }
        day = "2026-11-30"
        tokens, micro = (counts.add(f"person:local/ana:{unit}", day, 0) for unit in ("tokens", "usd"))
        return {**found, "budget": tokens, "micro_usd": micro}

    return asyncio.run(count())


def test_the_meter_counts_what_the_provider_reports_and_estimates_what_it_does_not():
    read = counted(json.dumps(ANSWER).encode())
    assert {name: read[name] for name in ("input", "output", "saved", "budget")} == {
        "input": 900,
        "output": 100,
        "saved": 7,
        "budget": 1_000,
    }
    assert read["micro_usd"] == 5 * (900 + 5 * 100)  # $5 a million tokens; output at five times the price
    assert counted(None) == {"input": 50, "output": 100, "saved": 7, "budget": 150, "micro_usd": 0}
    cut = counted(b'data: {"type": "message_start"')
    assert cut["input"] == 50
    assert cut["budget"] == 50 + cut["output"] > 50


def spend(gateway: Serving, key: str, until: int) -> list[int]:
    """Send requests until one is refused, or so many; return their statuses."""
    statuses = []
    for number in range(until):
        statuses.append(gateway.ask(key).status)
        if statuses[-1] != 200:
            break
        deadline = time.monotonic() + 20
        while f'kind="output"}} {100 * (number + 1)}' not in gateway.metrics() and time.monotonic() < deadline:
            time.sleep(0.02)
    return statuses


@pytest.mark.parametrize(
    ("provider", "path", "kind"),
    [
        ("anthropic", "/v1/messages", ("error", "type", "rate_limit_error")),
        ("openai", "/v1/chat/completions", ("error", "code", "rate_limit_exceeded")),
        ("gemini", "/v1beta/models/gemini-3.1-pro:generateContent", ("error", "status", "RESOURCE_EXHAUSTED")),
    ],
)
def test_over_its_budget_a_member_gets_429_in_the_providers_form(
    tmp_path: Path, provider: str, path: str, kind: tuple[str, str, str]
):
    budget = "[person_limit]\ntokens_per_day = 2_500\n"
    with (
        RawUpstream(lambda _: [Send(response(json.dumps(ANSWER).encode()))]) as upstream,
        serving(tmp_path, upstream.url, budget) as gateway,
    ):
        statuses = spend(gateway, ANA, 5)
        count = len(upstream.requests)
        refused = ask(gateway.url, f"/{ANA}/via/{provider}{path}", BODY)
        large = ask(gateway.url, f"/{ANA}/via/{provider}{path}", {**BODY, "pad": "x" * 3_000_000})
        other = gateway.ask(BEN).status
        figures = gateway.metrics()
        assert len(upstream.requests) == count + 1
    assert statuses == [200, 200, 200, 429]
    assert (refused.status, large.status, other) == (429, 429, 200)
    assert refused.json[kind[0]][kind[1]] == kind[2]
    assert "person ana has used 3,000 tokens of 2,500 tokens today" in refused.json["error"]["message"]
    assert 0 < int(refused.headers["retry-after"]) <= 86_400
    assert refused.headers["x-should-retry"] == "false"
    assert 'undrift_member_refused_total{person="ana",project="shop",reason="budget"} 3' in figures
    assert 'undrift_member_requests_total{person="ana",project="shop",status="2xx"} 3' in figures
    assert 'undrift_member_tokens_total{person="ana",project="shop",kind="input"} 2700' in figures
    assert 'undrift_member_requests_total{person="other",project="other",status="2xx"} 1' in figures
    print(statuses, refused.status, dict(refused.headers)["retry-after"], refused.body.decode())


def test_a_rate_of_a_project_is_shared_by_its_people_at_a_real_gateway(tmp_path: Path):
    rate = "[project_limit]\nrequests_per_minute = 1\nburst = 2\n"
    with ScriptedProvider(without_tools=True) as provider, serving(tmp_path, provider.url, rate) as gateway:
        heard = [gateway.ask(key) for key in (ANA, BEN, ANA)]
    assert [one.status for one in heard] == [200, 200, 429]
    assert "project shop may send 1 request a minute" in heard[-1].json["error"]["message"]
    assert "x-should-retry" not in heard[-1].headers


def test_what_is_sent_unmanaged_counts_too_although_the_client_reads_codings_that_are_not_read_here(tmp_path: Path):
    answers = {"gzip": (gzip.compress(json.dumps(ANSWER).encode()), {"content-encoding": "gzip"})}

    def answer(asked: RawRequest) -> list[Step]:
        body, more = answers.get(asked.header["accept-encoding"], (b"\x0b\x02", {"content-encoding": "br"}))
        return [Send(response(body, headers=more))]

    with RawUpstream(answer) as upstream, serving(tmp_path, upstream.url) as gateway:
        heard = gateway.ask(ANA, {**BODY, "messages": "no list"}, headers={"accept-encoding": "br, zstd, gzip"})
        deadline = time.monotonic() + 20
        while 'kind="input"' not in gateway.metrics() and time.monotonic() < deadline:
            time.sleep(0.02)
        figures = gateway.metrics()
    assert (heard.status, heard.headers["x-undrift-bypass"]) == (200, "not-understood")
    assert 'undrift_member_tokens_total{person="ana",project="shop",kind="input"} 900' in figures


def test_a_client_that_leaves_in_the_middle_of_an_answer_has_used_it(tmp_path: Path):
    head = b"HTTP/1.1 200 Scripted\r\ncontent-type: text/event-stream\r\n\r\ndata: {}\n\n"
    with (
        RawUpstream(lambda _: [Send(head), Hold()]) as upstream,
        serving(tmp_path, upstream.url, "[person_limit]\ntokens_per_day = 100\n") as gateway,
    ):
        with pytest.raises(TimeoutError):
            left_early(gateway)
        deadline = time.monotonic() + 20
        while 'kind="input"' not in gateway.metrics() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert gateway.ask(ANA).status == 429


def left_early(gateway: Serving) -> None:
    import http.client
    from urllib.parse import urlsplit

    parts = urlsplit(gateway.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=1)
    try:
        words = {**BODY, "messages": [{"role": "user", "content": "many words " * 100}]}
        connection.request("POST", f"/{ANA}/via/anthropic/v1/messages", json.dumps(words))
        connection.getresponse().read()
    finally:
        connection.close()
