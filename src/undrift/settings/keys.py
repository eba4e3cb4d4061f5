"""The variables with the keys of servers that embed and re-rank. Pure.

Law: a key comes from the environment alone, never from a file or a name, so it is in no record and no error.
"""

from collections.abc import Mapping
from typing import Literal

__all__ = ["KEYS", "Use", "key_in"]

Use = Literal["embedder", "reranker"]

KEYS: dict[Use, str] = {"embedder": "UNDRIFT_EMBEDDER_KEY", "reranker": "UNDRIFT_RERANKER_KEY"}
"""The variable that holds the key of each server."""


def key_in(environ: Mapping[str, str], use: Use) -> str:
    """Return the key for a server; empty if there is none."""
    return environ.get(KEYS[use], "").strip()
