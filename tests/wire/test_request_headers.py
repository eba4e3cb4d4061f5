"""A change of a body respects a signature over it, and the lists that a client sends itself."""

import pytest

from undrift.wire.request_headers import is_signed, joined


@pytest.mark.parametrize(
    ("authorization", "query", "signed"),
    [
        ("AWS4-HMAC-SHA256 Credential=a", "", True),
        (" AWS4-ECDSA-P256-SHA256 Credential=a", "", True),
        ("", "x=1&X-Amz-Signature=ab", True),
        ("Bearer AWS4-", "x=1", False),
    ],
)
def test_a_signature_of_amazons_is_known_in_header_and_query(authorization: str, query: str, signed: bool):
    assert is_signed({"authorization": authorization}, query) is signed


def test_a_list_keeps_the_clients_entries_and_another_header_gets_the_new_value():
    assert joined("anthropic-beta", "a, b", "b,c") == "a, b,c"
    assert joined("anthropic-beta", "", "b,c") == "b,c"
    assert joined("x-other", "a", "b") == "b"
