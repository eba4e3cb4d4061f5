"""Nothing that leaves here is refused: 2,000 requests for each form; `make wires` plays 100,000."""

import pytest

from tests.wires.machine import MACHINES
from tests.wires.play import play


@pytest.mark.parametrize("wire", MACHINES)
def test_of_two_thousand_requests_none_is_refused(wire):
    assert play(wire, 2_000, 0) >= 2_000
