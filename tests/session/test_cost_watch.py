"""CostWatch: a rewrite of ours is never called one without a cause."""

from pathlib import Path

from tests.session.billing import Client


def test_a_prune_whose_answer_never_came_is_ours_with_the_next_answer(tmp_path: Path):
    client = Client(tmp_path, 12_000)
    known = 0
    for number in range(60):
        client.reads(f"src/file_{number}.py", 2_000)
        prepared = client.asks()
        known, pruned = len(prepared.actions), len(prepared.actions) > known
        if not pruned:
            client.answers(client.bills(prepared))
    watch = client.session.costs.watch
    assert known
    assert watch.without_pause.prompts == 0
