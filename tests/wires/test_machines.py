"""Nothing that leaves here is refused: 2,000 requests over all forms; `make wires` plays 100,000 for each."""

import pytest

from tests.wires.machine import MACHINES
from tests.wires.play import play


@pytest.mark.parametrize("wire", MACHINES)
def test_of_five_hundred_requests_of_a_form_none_is_refused(wire):
    assert play(wire, 500, 0) >= 500
