"""The exact counter against tiktoken itself: with its vocabulary on disk, nothing is fetched."""

import os
import socket
from pathlib import Path

import pytest

from undrift.core.text.tokens import counter, estimate

# tiktoken names a cached file by the digest of where it came from; this is o200k_base's.
CACHED = "fb374d419588a4632f3f557e76b4b70aebbca790"


@pytest.fixture
def exact(monkeypatch):
    """Give the exact counter, with the network closed; skip where package or vocabulary are not there."""
    pytest.importorskip("tiktoken", reason="needs tiktoken: pip install 'undrift[exact]'")
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", "")
    if not folder or not (Path(folder) / CACHED).is_file():
        pytest.skip("needs the vocabulary o200k_base in the folder TIKTOKEN_CACHE_DIR")

    def refuse(*_args, **_keywords):
        raise AssertionError("the exact counter went to the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    return counter("tiktoken:o200k_base")


def test_the_counter_is_exact_and_fetches_nothing(exact):
    import tiktoken  # type: ignore[import-not-found,unused-ignore]

    encoding = tiktoken.get_encoding("o200k_base")
    for text in ("", "hello world", "会话的上下文", "x = {'a': [1, 23, 456]}\n" * 50, "<|endoftext|>"):
        assert exact(text) == len(encoding.encode_ordinary(text))
    assert exact("hello world") == 2


def test_the_estimate_is_near_the_exact_count(exact):
    text = Path(__file__).read_text(encoding="utf-8")
    assert abs(estimate(text) / exact(text) - 1) < 0.2
