"""The detector's rules beside ours: each is ours to run, names where it comes from, and is what the tool makes of its source."""

import importlib.util
import re
import tomllib
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]

import pytest

from requirements import secret_rules
from requirements.secret_rules import Refused, converted
from tests.house.expressions import _shortest
from undrift.core.text.corpus import CORPUS
from undrift.core.text.corpus_named import LINES, NAMED
from undrift.core.text.corpus_tokens import TOKENS
from undrift.core.text.own_patterns import OWN_PATTERNS
from undrift.core.text.prefilter import Index
from undrift.core.text.secrets import mask

ROOT = Path(__file__).parents[3]
CHANGES = tomllib.loads((ROOT / "requirements" / "secret_rules.toml").read_text(encoding="utf-8"))
NOTHING: dict[str, dict] = {"left-out": {}, "rewritten": {}}


def rule(expression: str, name: str = "betterleaks.acme-token.1") -> dict:
    return {"id": name, "detection_regex": expression, "visible": True}


@pytest.mark.skipif(
    importlib.util.find_spec("kingfisher_sdk") is None, reason="needs the detector's package: make secret-rules"
)
def test_the_corpus_is_what_the_tool_makes_of_the_detector():
    version, details = secret_rules.upstream()
    text = (secret_rules.FOLDER / "corpus_tokens.py").read_text(encoding="utf-8")
    day = re.search(r"taken on ([0-9-]{10})", text)
    assert day is not None
    for name, made in secret_rules.files(version, details, CHANGES, day[1]).items():
        assert (secret_rules.FOLDER / name).read_text(encoding="utf-8") == made


@pytest.mark.parametrize("name", ["corpus_tokens.py", "corpus_named.py"])
def test_a_generated_file_says_where_it_comes_from_and_under_which_licences(name: str):
    head = (secret_rules.FOLDER / name).read_text(encoding="utf-8").split("__all__")[0]
    lock = secret_rules.LOCK.read_text(encoding="utf-8")
    source = re.search(r"Package: (\S+) (\S+), taken on 20\d\d-\d\d-\d\d\.", head)
    assert source is not None
    assert f"{source[1]}=={source[2]} " in lock
    digests = re.findall(r"[0-9a-f]{64}", head)
    assert len(digests) == 2
    assert digests[1] in lock
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for owner in ("2026 Zachary Rice", "2025-2026 Google LLC", "2025-2026 MongoDB, Inc."):
        assert owner in head
        assert owner in notice
    assert "MIT License" in head
    assert "to any person obtaining a copy of this software" in notice
    assert source[2] in notice


def test_every_rule_has_a_name_that_its_marker_can_bear_and_can_be_found():
    index = Index(CORPUS)
    assert len(CORPUS) == len(TOKENS) + len(LINES) + len(NAMED) > 380
    for pattern in CORPUS:
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", pattern.name)
        assert pattern.regex.groups <= 1
        assert not pattern.folded or all(literal == literal.lower() for literal in pattern.literals)
        assert not pattern.in_word or all(re.match("[a-z]{3}", literal.lower()) for literal in pattern.literals)
    assert "" not in index.by_head.keys() | index.by_word.keys()


def test_a_match_begins_with_one_of_the_literals():
    rows = [*TOKENS, *((name, literals, f"(?i:{names})") for name, literals, names, _ in NAMED)]
    for name, literals, expression in rows:
        for lead in secret_rules._literals(_parser.parse(expression))[0]:
            read = lead.lower() if expression.startswith("(?i:") else lead
            assert any(read.startswith(literal) for literal in literals.split()), name


def test_the_shortest_token_of_each_rule_is_looked_for():
    index = Index(CORPUS)
    for name, _, expression in TOKENS:
        shortest, _ = _shortest(_parser.parse(expression))
        assert name in {pattern.name for pattern, _ in index.sought_in(f" {shortest} ".lower())}


def test_no_rule_is_left_out_or_rewritten_without_a_reason():
    left_out = [one for rules in CHANGES["left-out"].values() for one in rules.split()]
    assert len(left_out) == len(set(left_out))
    assert not set(left_out) & CHANGES["rewritten"].keys()
    assert all(len(reason.split()) > 3 for reason in CHANGES["left-out"])


def test_a_name_of_ours_stands_before_one_of_the_corpus():
    key = "ghp_" + "a1B2" * 9
    assert mask(f"GITHUB {key}").text == "GITHUB [masked:github-token]"
    assert not {pattern.name for pattern in OWN_PATTERNS} & {"github-pat"}


def test_a_value_behind_a_name_is_found_in_json_within_json_too():
    value = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    for text in (f'"datadog_app": "{value}"', f'\\"datadog_app\\": \\"{value}\\"', f"DATADOG_APP={value}"):
        assert value not in mask(text).text
    assert mask(f"datadogs_and_more_than_twenty_letters = {value}").spans == ()


def test_what_stands_before_a_literal_is_hidden_too():
    for key in ("a1B2" * 5 + "c9==:" + "d4E5" * 8, "aB37Q~" + "a1b2" * 8, "Ab3dE6_" + "a1" * 14 + "z_mmk"):
        assert mask(f"first {key} then").text.startswith("first [masked:")
        assert mask(key).text.endswith("]")
    assert mask(f"{'1' * 15}|{'aB3-' * 7}").text.startswith("1" * 15 + "[masked:facebook-access-token]")


# --- the tool --------------------------------------------------------------------------------------------------------


def test_a_rule_is_brought_into_our_dialect():
    made = converted([rule(r"\b(acme_(?i)[a-z0-9]{20,})(?:\\?['\"\x60]|[\s;]|\\[nr]|$)")], NOTHING)
    assert [(one.table, one.name, one.literals) for one in made] == [("tokens", "acme-token", ("acme_",))]
    assert made[0].expression == "acme_(?i:[a-z0-9]{20,1024}+)(?![A-Za-z0-9])"


def test_a_value_behind_a_name_is_taken_apart_and_a_prefix_of_its_own_stands_alone():
    beside = secret_rules._JOINT + secret_rules._OPERATOR
    named = converted([rule(rf"(?i)(?:acme){beside}([a-f0-9]{{32}}){secret_rules._TAIL}")], NOTHING)
    assert [(one.table, one.names, one.expression) for one in named] == [("named", "acme", "(?i:[a-f0-9]{32})")]
    alone = converted([rule(rf"(?i)(?:acme){beside}(ac-me_[a-f0-9]{{32}}){secret_rules._TAIL}")], NOTHING)
    assert [(one.table, one.literals) for one in alone] == [("tokens", ("ac-me_",))]


@pytest.mark.parametrize(
    "expression",
    [
        r"acme_[[:digit:]]{20}",
        r"acme_(?=[0-9])[a-z0-9]{20}",
        r"(acme)_\1[a-z0-9]{20}",
        r"[a-z]{3}_[a-z0-9]{20}",
        r"acme_\b[a-z0-9]{20}",
        rf"(?i)(?:ac){secret_rules._JOINT}{secret_rules._OPERATOR}([a-f0-9]{{32}}){secret_rules._TAIL}",
        rf"(?i)(?:acme){secret_rules._OPERATOR}([a-f0-9]{{32}})$",
    ],
)
def test_what_is_not_understood_is_refused(expression: str):
    with pytest.raises(Refused, match="leave it out or rewrite it"):
        converted([rule(expression)], NOTHING)


def test_a_change_that_upstream_no_longer_needs_is_refused():
    with pytest.raises(Refused, match="no such rule any more"):
        converted([], {"left-out": {"an identifier": "acme-id"}, "rewritten": {}})
    rewritten = {
        "acme-token.1": {"of": "0" * 12, "table": "tokens", "literals": "acme_", "expression": "acme_[0-9]{20}"}
    }
    with pytest.raises(Refused, match="upstream has changed it"):
        converted([rule("acme_[0-9]{20}")], {"left-out": {}, "rewritten": rewritten})
