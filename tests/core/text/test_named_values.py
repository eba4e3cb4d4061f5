"""A value that a name, a command or a file's form tells is hidden, and nothing beside it; what only looks so stays."""

import json

import pytest

from tests.core.text.named_texts import NEAR, TOLD
from undrift.core.text.named_values import NAMED_VALUES
from undrift.core.text.secrets import mask


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
