"""The speed of the estimate is told as a ratio to the exact counters that are there; one that is not is named."""

import sys
from types import SimpleNamespace

import pytest

from bench import counting


@pytest.fixture
def few(monkeypatch):
    """Let it measure two texts instead of what is installed."""
    monkeypatch.setattr(
        counting, "_texts", lambda _report: iter([("prose", ["so many words " * 50]), ("code", ["x = 1\n" * 99])])
    )


def test_what_is_not_installed_is_skipped_by_name(few, monkeypatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)  # what an absent package looks like to an import
    monkeypatch.setitem(sys.modules, "rs_bpe.bpe", None)
    report = counting.measure(rounds=1)
    assert report.claims == []
    assert [reason.split(":")[0] for reason in report.skipped] == ["counting with tiktoken", "counting with rs-bpe"]


def test_tiktoken_is_not_asked_to_fetch_a_vocabulary(few, monkeypatch):
    def fetch(_name):
        raise AssertionError("went to the network")

    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setitem(sys.modules, "tiktoken", SimpleNamespace(get_encoding=fetch))
    assert any("TIKTOKEN_CACHE_DIR" in reason for reason in counting.measure(rounds=1).skipped)


def test_each_kind_has_a_ratio_for_each_counter(few, monkeypatch, tmp_path):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    by_words = SimpleNamespace(encode_ordinary=str.split)
    monkeypatch.setitem(sys.modules, "tiktoken", SimpleNamespace(get_encoding=lambda _name: by_words))
    counters = SimpleNamespace(o200k_base=lambda: SimpleNamespace(count=len))
    monkeypatch.setitem(sys.modules, "rs_bpe", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "rs_bpe.bpe", SimpleNamespace(openai=counters))
    report = counting.measure(rounds=1)
    assert [(claim.text, claim.least) for claim in report.claims] == [
        ("counting prose: tiktoken against estimate", 3.0),
        ("counting prose: rs-bpe against estimate", None),
        ("counting code: tiktoken against estimate", 3.0),
        ("counting code: rs-bpe against estimate", None),
    ]
    assert all(claim.value > 0 for claim in report.claims)
    assert report.skipped == []
    assert {figure.name for figure in report.figures} == {
        f"counting {kind}: {name}" for kind in ("prose", "code") for name in ("estimate", "tiktoken", "rs-bpe")
    }
