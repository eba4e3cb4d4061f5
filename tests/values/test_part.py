"""Names of embedders and re-rankers: what is one, and what would leak."""

import pytest

from undrift.values.part import PartName


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sentence-transformers:all-MiniLM-L6-v2", ("sentence-transformers", "all-MiniLM-L6-v2", "")),
        ("sentence-transformers:/my models/small", ("sentence-transformers", "/my models/small", "")),
        ("fastembed:BAAI/bge-small-en-v1.5@/m", ("fastembed", "BAAI/bge-small-en-v1.5@/m", "")),
        ("mine.parts:Own.best", ("python", "mine.parts", "Own.best")),
        ("http://127.0.0.1:8080/v1/embeddings", ("http", "http://127.0.0.1:8080/v1/embeddings", "")),
        ("http://[::1]:80/rerank", ("http", "http://[::1]:80/rerank", "")),
        ("http://localhost/e#a/b:c", ("http", "http://localhost/e", "a/b:c")),
        ("https://api.example.org/v1/rerank#m", ("http", "https://api.example.org/v1/rerank", "m")),
    ],
)
def test_each_kind_of_name(text: str, found: tuple[str, str, str]):
    name = PartName.of(text)
    assert name is not None
    assert (name.kind, name.target, name.detail) == found


@pytest.mark.parametrize(
    "text",
    [
        *("", "bge", "a:", ":a", "a b:c", "a:b\n", "sentence-transformers:", "fastembed:\0", "ä:b", "x" * 501 + ":a"),
        "http://10.0.0.1/e",  # in the clear, to another machine
        "http://localhost.example.org/e",
        "http://127.0.0.1.example.org/e",
        "http://0.0.0.0/e",
        "https://ann:secret@example.org/e",  # it would be stored with the vectors
        "https://example.org/e?key=secret",
        "https:///e",
        "https://example.org:99999/e",
        "https://[::1/e",
        "https://example.org/a b",
        "ftp://localhost/e",
        "file:///etc/passwd",
    ],
)
def test_what_is_no_name(text: str):
    assert PartName.of(text) is None
