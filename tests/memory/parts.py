"""Parts of a user's own, as a module of theirs would hold them, and a server that embeds and scores."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import numpy as np

from undrift.testing import RawRequest, RawUpstream, Send, Step, response

__all__ = ["Backwards", "Bags", "Broken", "Patient", "Slow", "Wrong", "server"]

LENGTH = 16


def bag(text: str) -> list[float]:
    """The words of a text, each counted in one of 16 places."""
    row = [0.0] * LENGTH
    for word in text.lower().split():
        row[crc32(word.strip("?.,").encode()) % LENGTH] += 1.0
    return row


class Bags:
    """An embedder."""

    id, dimension, adds_words = "bags", LENGTH, False

    def embed(self, texts: Sequence[str]) -> Any:
        return np.array([bag(text) for text in texts], np.float32).reshape(len(texts), LENGTH)


class Broken(Bags):
    """It loads, and every call fails."""

    calls = 0

    def embed(self, texts: Sequence[str]) -> Any:
        Broken.calls += 1
        raise RuntimeError("the card\nis out of memory")


class Wrong(Bags):
    """Its vectors are shorter than it says."""

    def embed(self, texts: Sequence[str]) -> Any:
        return super().embed(texts)[:, 1:]


class Backwards:
    """A re-ranker that wants the newest and longest texts of tools first, and a user's words last."""

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        return [-1e9 if "prod-1" in text else float(len(text) + place) for place, text in enumerate(texts)]


class Patient:
    """A re-ranker that bears one call at a time."""

    calls = 0

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        Patient.calls += 1
        time.sleep(0.05)
        assert Patient.calls == 1
        Patient.calls -= 1
        return [float(len(text)) for text in texts]


class Slow:
    """A re-ranker that never answers."""

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        import threading

        threading.Event().wait()
        return []


def server(answer: Callable[[str, dict[str, Any]], Any] | None = None) -> RawUpstream:
    """A server with OpenAI's embeddings, and with scores in TEI's form and in that of Cohere and Jina.

    `answer`: gives another answer for a path and a request: bytes, or a JSON value; None: the usual one.
    """

    def steps(request: RawRequest) -> Sequence[Step]:
        asked = json.loads(request.body)
        given = None if answer is None else answer(request.target, asked)
        if isinstance(given, bytes):
            return [Send(given)]
        return [Send(response(json.dumps(_usual(request.target, asked) if given is None else given).encode()))]

    return RawUpstream(steps)


def _usual(target: str, asked: dict[str, Any]) -> Any:
    if target.endswith("/embeddings"):
        rows = [{"index": place, "embedding": bag(text)} for place, text in enumerate(asked["input"])]
        return {"object": "list", "data": rows[::-1], "model": asked.get("model", "")}
    texts = asked.get("texts") or asked["documents"]
    scores = [{"index": place, "score": float("Lisbon" in text)} for place, text in enumerate(texts)]
    best = sorted(scores, key=lambda one: -one["score"])
    if "documents" in asked:
        return {"results": [{"index": one["index"], "relevance_score": one["score"]} for one in best]}
    return best
