"""Gateways of a team over a PostgreSQL server: keys and budgets are shared, and any of them may take any turn."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.proxy.team.builders import BODY, serving
from tests.proxy.team.test_replicas import FIXED, LEAST_BYTES, TURNS, sent
from tests.stores.on_server import address_of, skip_without_server
from undrift.testing import ScriptedProvider
from undrift.values.member import hash_of


@pytest.fixture
def home(tmp_path: Path) -> str:
    skip_without_server()
    return address_of(tmp_path, organisation="acme")


def table_of_files(folder: Path) -> str:
    return f'files = "{folder}"\n'


def test_two_gateways_that_take_turns_send_what_one_over_a_file_sends_byte_for_byte(tmp_path: Path, home: str):
    alone = sent(tmp_path / "alone", 1, FIXED, wire="anthropic", has_id=True)
    both = sent(home, 2, table_of_files(tmp_path / "files") + FIXED, wire="anthropic", has_id=True)
    assert len(alone) == len(both) == TURNS
    assert [number for number in range(TURNS) if alone[number] != both[number]] == []
    sizes = [len(body) for body in alone]
    assert sum(sizes) > LEAST_BYTES
    assert any(later < before for before, later in pairwise(sizes)), "nothing ever left"


def test_a_key_of_the_server_opens_every_gateway_until_it_is_revoked(tmp_path: Path, home: str):
    from undrift.stores.postgres.people import ServerPeople

    with ServerPeople(home) as people, ScriptedProvider(without_tools=True) as provider:
        key = people.new_key("eve", "shop")
        files = table_of_files(tmp_path)
        with serving(home, provider.url, files) as one, serving(home, provider.url, files) as other:
            assert [gateway.ask(key, BODY).status for gateway in (one, other)] == [200, 200]
            assert one.ask("undrift-of-no-person-at-all-0000000000", BODY).status == 401
        (line,) = people.keys()
        assert (line.person, line.project, hash_of(key) in str(line)) == ("eve", "shop", False)
        assert people.revoke(line.label) == 1
        with serving(home, provider.url, files) as again:
            assert again.ask(key, BODY).status == 401


def test_a_budget_is_one_over_all_gateways(tmp_path: Path, home: str):
    from undrift.stores.postgres.people import ServerPeople

    with ServerPeople(home) as people:
        assert people.add("person/ana", "2026-01-01", 5) == 5
        with ServerPeople(home) as other:
            assert other.add("person/ana", "2026-01-01", 7) == 12
            assert other.add("person/ana", "2026-01-02", 0) == 0
        assert people.add("person/ana", "2026-01-01", 0) == 12
