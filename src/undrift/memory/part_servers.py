"""Servers that embed texts or score them for a question.

Embeddings have OpenAI's form, which also llama.cpp, Ollama, TEI and vLLM have. Scores have the form of TEI (`texts`), or the
one that Cohere, Jina and others share (`documents`).

Law: one request goes to the one host that the setting names: no redirect, no proxy, no other host. Its answer is hostile
input. The key is read for each request, and stands in no error.
"""

import http.client
import json
import ssl
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from undrift.errors import PartError
from undrift.settings import environment
from undrift.settings.keys import KEYS, Use, key_in
from undrift.values.part import PartName

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ServerEmbedder", "ServerReranker"]

_TIMEOUT_S = 30.0
"""For one step of a connection; a search has a shorter deadline of its own (`PartCalls`)."""
_AT_ONCE = 32
_MOST_CHARACTERS = 8_000
_MOST_BYTES = 64 << 20
_MOST_DIMENSIONS = 65_536
_MOST_NUMBER = 1e30
_WRONG_FORM = (400, 404, 405, 413, 415, 422)


class ServerEmbedder:
    """Embeds by a server; the first answer says how long the vectors are."""

    adds_words = False

    def __init__(self, name: PartName) -> None:
        self._server = _PartServer(name, "embedder")
        self.dimension = 0
        self.dimension = self.embed(["dimension"]).shape[1]
        parts = urlsplit(name.target)
        self.id = f"http/{parts.netloc}{parts.path}#{name.detail}/{self.dimension}"[-200:]

    def embed(self, texts: Sequence[str]) -> "NDArray[Any]":
        """Return one vector for each text."""
        import numpy as np

        rows: list[list[float]] = []
        for start in range(0, len(texts), _AT_ONCE):
            some = [text[:_MOST_CHARACTERS] or " " for text in texts[start : start + _AT_ONCE]]
            rows += self._rows(some)
        return np.array(rows, np.float32).reshape(len(rows), self.dimension or len(rows[0]))

    def _rows(self, texts: Sequence[str]) -> list[list[float]]:
        answer = self._server.answer({"input": list(texts), "encoding_format": "float"})
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list) or len(data) != len(texts) or not all(isinstance(one, dict) for one in data):
            raise self._server.strange(f"it has no list of {len(texts)} embeddings")
        if all(isinstance(one.get("index"), int) for one in data):
            data = sorted(data, key=lambda one: one["index"])
        rows = [one.get("embedding") for one in data]
        wanted = self.dimension or (len(rows[0]) if isinstance(rows[0], list) else 0)
        if not 0 < wanted <= _MOST_DIMENSIONS:
            raise self._server.strange("its first embedding is no list of numbers")
        for row in rows:
            if not isinstance(row, list) or len(row) != wanted:
                length = len(row) if isinstance(row, list) else "no list"
                raise self._server.strange(f"an embedding has {length} numbers, not {wanted}: is it the same model?")
            if not all(_is_number(one) for one in row):
                raise self._server.strange("an embedding holds something that is no number")
        return rows


class ServerReranker:
    """Scores texts for a question by a server."""

    def __init__(self, name: PartName) -> None:
        self._server = _PartServer(name, "reranker")
        self._forms = ["documents", "texts"] if name.detail else ["texts", "documents"]

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a score for each text; higher is better."""
        answer = self._asked(question, [text[:_MOST_CHARACTERS] or " " for text in texts])
        rows = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
        found: dict[int, float] = {}
        for row in rows if isinstance(rows, list) else ():
            place = row.get("index") if isinstance(row, dict) else None
            score: Any = row.get("relevance_score", row.get("score")) if isinstance(row, dict) else None
            if type(place) is int and 0 <= place < len(texts) and _is_number(score):
                found[place] = float(score)
        if len(found) != len(texts):
            raise self._server.strange(f"it has scores for {len(found)} of {len(texts)} texts")
        return [found[place] for place in range(len(texts))]

    def _asked(self, question: str, texts: Sequence[str]) -> Any:
        """Ask in the form that the server knows; the other one is tried once."""
        more: dict[str, dict[str, Any]] = {"texts": {"truncate": True}, "documents": {"top_n": len(texts)}}
        first, *others = self._forms
        try:
            answer = self._server.answer({"query": question, first: list(texts), **more[first]})
        except _Refused:
            if not others:
                raise
            answer = self._server.answer({"query": question, others[0]: list(texts), **more[others[0]]})
            first = others[0]
        self._forms = [first]
        return answer


class _Refused(PartError):
    """The server does not know the form of the request."""


class _PartServer:
    """One address, asked with one model."""

    def __init__(self, name: PartName, use: Use) -> None:
        parts = urlsplit(name.target)
        self._host, self._port, self._path = parts.hostname or "", parts.port, parts.path or "/"
        self._is_secure = parts.scheme == "https"
        self._model, self._use = name.detail, use
        self.name = f"{parts.scheme}://{parts.netloc}{parts.path}"

    def answer(self, request: Mapping[str, Any]) -> Any:
        """Send one request, and return the JSON of its answer. Raises PartError: there is none."""
        body = json.dumps({**request, **({"model": self._model} if self._model else {})}).encode("utf-8", "replace")
        headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "undrift"}
        if key := key_in(environment(), self._use):
            if not key.isascii() or not key.isprintable():
                raise PartError(f"{KEYS[self._use]} holds a character that no header can have; set it again")
            headers["authorization"] = f"Bearer {key}"
        try:
            with closing(self._connection()) as connection:
                connection.request("POST", self._path, body, headers)
                response = connection.getresponse()
                raw = response.read(_MOST_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            what = "took too long" if isinstance(error, TimeoutError) else f"cannot be reached: {error}"[:200]
            raise PartError(f"the server {self.name} {what}; start it, or change the setting {self._use}") from error
        self._check(response.status)
        if len(raw) > _MOST_BYTES:
            raise self.strange(f"it is longer than {_MOST_BYTES >> 20} MiB")
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise self.strange("it is no JSON") from error

    def strange(self, why: str) -> PartError:
        """Return the error for an answer of another form."""
        return PartError(f"the answer of {self.name} cannot be used: {why}; check the address in {self._use}")

    def _check(self, status: int) -> None:
        """Raise for a status that brings no answer. The text of the refusal is the server's, so it is not repeated."""
        if status in (401, 403):
            raise PartError(f"the server {self.name} refuses the key ({status}): set {KEYS[self._use]}")
        if 300 <= status < 400:
            raise PartError(f"the server {self.name} points to another address ({status}): name that one")
        if status in _WRONG_FORM:
            raise _Refused(
                f"the server {self.name} refuses the request ({status}): check its path, and the model after a #"
            )
        if status != 200:
            raise PartError(f"the server {self.name} answers with status {status}; look into its log")

    def _connection(self) -> http.client.HTTPConnection:
        if self._is_secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=_TIMEOUT_S, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT_S)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < _MOST_NUMBER  # NaN fails the comparison
