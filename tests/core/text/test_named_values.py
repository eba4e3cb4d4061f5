"""A value that a name, a command or a file's form tells is hidden, and nothing beside it; what only looks so stays."""

import json

import pytest

from tests.core.text.named_texts import NEAR, TOLD
from undrift.core.text.named_values import NAMED_VALUES
from undrift.core.text.secrets import mask

CODED = "JWXMm191Q9Wq1526iCslmi87"


@pytest.mark.parametrize("case", TOLD)
def test_the_value_goes_and_what_stands_around_it_stays(case):
    before, secret, after, name = TOLD[case]
    assert mask(before + secret + after).text == f"{before}[masked:{name}]{after}"


@pytest.mark.parametrize("case", [case for case in TOLD if "JSON" not in case])
def test_it_goes_in_a_string_of_json_too_and_in_one_inside_another(case):
    before, secret, after, _ = TOLD[case]
    once = mask(json.dumps({"out": before + secret + after})).text
    twice = mask(json.dumps(json.dumps(before + secret + after))).text
    assert secret[-12:] not in json.loads(once)["out"]
    assert secret[-12:] not in json.loads(json.loads(twice))


@pytest.mark.parametrize("case", NEAR)
def test_what_only_looks_like_it_stays_readable(case):
    assert mask(NEAR[case]).text == NEAR[case]


def test_every_rule_has_a_text_here_and_several_secrets_of_one_text_all_go():
    assert {name for *_, name in TOLD.values()} >= {pattern.name for pattern in NAMED_VALUES}
    first, second = TOLD["a cookie that is set"][1], "q8" + TOLD["a cookie that is set"][1]
    text = mask(f"Cookie: a=1; sid={first}; b=2; jwt={second}").text
    assert text == "Cookie: a=1; sid=[masked:cookie]; b=2; jwt=[masked:cookie]"


def test_a_secret_of_kubernetes_in_json_takes_no_value_beside_it_and_leaves_json():
    given = {"content": f"kind: Secret\ndata:\n  pw: {CODED}", "replace_all": False, "count": 123_456}
    assert json.loads(mask(json.dumps(given)).text) == given | {
        "content": "kind: Secret\ndata:\n  pw: [masked:kubernetes-secret]"
    }
    other = {"data": {"id": "a6f2996f", "is_good": False, "count": 123_456}, "note": "kind: Secret"}
    assert mask(json.dumps(other)).text == json.dumps(other)


@pytest.mark.parametrize("indent", [None, 2])
def test_only_the_object_of_the_kind_is_a_secret_of_kubernetes(indent):
    plain = {"kind": "ConfigMap", "data": {"town": "London-2024"}}
    secret = {"kind": "Secret", "data": {"pw": CODED, "size": 123_456}, "status": {"data": {"town": "London-2024"}}}
    masked = secret | {"data": {"pw": "[masked:kubernetes-secret]", "size": 123_456}}
    for given, expected in [
        ([plain, secret, plain], [plain, masked, plain]),
        ([dict(reversed(secret.items()))], [dict(reversed(masked.items()))]),
    ]:
        assert json.loads(mask(json.dumps(given, indent=indent)).text) == expected
