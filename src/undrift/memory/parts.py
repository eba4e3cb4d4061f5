"""The embedder and the re-ranker that the settings name, as a search uses them.

Law: a part of the user's own never fails a search or a write. Its vectors and scores are checked like any foreign input. A
model is loaded at its first use, one time for all sessions of a process.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from undrift.errors import PartError
from undrift.memory.part_calls import PartCalls
from undrift.settings.keys import Use
from undrift.stores.embed import Embedder, WordLlamaEmbedder, is_installed
from undrift.values.part import PartName

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OwnEmbedder", "OwnReranker", "Reranker", "embedder_of", "load_part", "reranker_of"]

_log = logging.getLogger("undrift.memory")

_LOAD_S = 20.0
_SEARCH_S = 5.0
"""Seconds that a search or a write waits for a part: until it is loaded, and from then on."""
_MOST_DIMENSIONS = 65_536

T = TypeVar("T")


class Reranker(Protocol):
    """Scores texts for a question, all of them at once."""

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score for each text; higher is better, and any scale will do."""
        ...


class _LoadedPart:
    """One part of this process: loaded once, used by all sessions."""

    def __init__(self, text: str, load: Callable[[], Any]) -> None:
        self.text = text
        self._load = load
        self._calls = PartCalls(text)
        self._lock = threading.Lock()
        self._model: Any = None
        self._said = ""

    def wait_s(self) -> float:
        """Return how long a search may wait now."""
        return _LOAD_S if self._model is None else _SEARCH_S

    def get(self) -> Any:
        """Return the part itself; load it if that is still to do."""
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def run(self, work: Callable[[Any], T], seconds: float | None) -> T:
        """Use the part; see `PartCalls.run`."""
        found = self._calls.run(lambda: work(self.get()), seconds)
        self._said = ""
        return found

    def say(self, fault: str) -> None:
        """Log a fault, one time until the part works again."""
        if fault != self._said:
            self._said = fault
            _log.warning("memory search without it: %s", fault)


class OwnEmbedder:
    """`Embedder` of the user's own. Inside `patiently` a call ends in time; outside it waits."""

    at_once = 32
    """Memories without vectors that one step of a search embeds: each step is kept."""

    def __init__(self, part: _LoadedPart) -> None:
        self.part = part
        self._known: tuple[str, int, bool] | None = None
        self._until_s: float | None = None

    @property
    def id(self) -> str:
        """The part's own id and its dimension: another length can never meet its vectors."""
        return self._facts()[0]

    @property
    def dimension(self) -> int:
        return self._facts()[1]

    @property
    def adds_words(self) -> bool:
        return self._facts()[2]

    def embed(self, texts: Sequence[str]) -> "NDArray[Any]":
        """Return one vector for each text. Raises PartError: there are none, or none in time."""
        return self._checked(len(texts), lambda model: model.embed(list(texts)))

    def embed_question(self, text: str) -> "NDArray[Any]":
        """Return the vector of a question; most models treat it like any text."""

        def work(model: Any) -> Any:
            ask = getattr(model, "embed_question", None)
            return model.embed([text]) if ask is None else [ask(text)]

        return self._checked(1, work)[0]  # type: ignore[no-any-return]

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Let all calls in this block together take no longer than one search may."""
        self._until_s = time.monotonic() + self.part.wait_s()
        try:
            self._facts()
            yield
        finally:
            self._until_s = None

    def _checked(self, count: int, work: Callable[[Any], Any]) -> "NDArray[Any]":
        shape = (count, self.dimension)
        return self._run(lambda model: _vectors(self.part.text, work(model), shape))

    def _facts(self) -> tuple[str, int, bool]:
        if self._known is None:
            self._known = self._run(lambda model: _facts_of(self.part.text, model))
        return self._known

    def _run(self, work: Callable[[Any], T]) -> T:
        if self._until_s is None:
            return self.part.run(work, None)
        left_s = self._until_s - time.monotonic()
        if left_s <= 0.0:
            raise PartError(
                f"{self.part.text} had no time left for memories that have no vectors yet; "
                f"undrift store rebuild makes all of them"
            )
        return self.part.run(work, left_s)


class OwnReranker:
    """A re-ranker of the user's own, whose scores are checked."""

    def __init__(self, part: _LoadedPart) -> None:
        self.part = part

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text. Raises PartError: there are none, or none in time."""

        def work(model: Any) -> list[float]:
            found = [float(one) for one in model.scores(question, list(texts))]
            if len(found) != len(texts) or not all(map(math.isfinite, found)):
                raise PartError(f"{self.part.text} must give one number for each of the {len(texts)} texts")
            return found

        return self.part.run(work, self.part.wait_s())


def embedder_of(name: str) -> Embedder | None:
    """Return the embedder that a setting names; its model is loaded later. None means: words alone.

    `name`: ``auto`` (the model that comes with its package, if that is installed), ``wordllama``, ``none``, or one of the
    user's own. Raises StoreError: wordllama is asked for and not installed.
    """
    if name == "none" or (name == "auto" and not is_installed()):
        return None
    return WordLlamaEmbedder() if name in ("auto", "wordllama") else OwnEmbedder(_part(name, "embedder"))


def reranker_of(name: str | None) -> OwnReranker | None:
    """Return the re-ranker that a setting names; its model is loaded later. None means: there is none."""
    return None if name in (None, "none") else OwnReranker(_part(str(name), "reranker"))


def load_part(name: str, use: Use, *, may_download: bool) -> None:
    """Load a part now. Raises PartError: it cannot be loaded.

    `may_download`: whether a model that is not on this machine is fetched: the person has asked for that.
    """
    if may_download and (found := PartName.of(name)) is not None:
        _loaded(found, use, may_download=True)
    _part(name, use).run(lambda model: model, None)


def _facts_of(name: str, model: Any) -> tuple[str, int, bool]:
    """Return id, dimension and kind of an embedder, checked."""
    if type(model.dimension) is not int or not 0 < model.dimension <= _MOST_DIMENSIONS or not isinstance(model.id, str):
        raise PartError(f"{name}: `id` must be a text, and `dimension` a whole number above 0")
    return f"own/{model.id[:200]}/{model.dimension}", model.dimension, bool(model.adds_words)


def _vectors(name: str, given: Any, shape: tuple[int, int]) -> "NDArray[Any]":
    import numpy as np

    found = np.asarray(given)
    if found.shape != shape:
        raise PartError(
            f"{name} gave vectors of the shape {found.shape}, not {shape}: its `embed` must return one row for each "
            f"text, and `dimension` must be their length"
        )
    if found.dtype.kind not in "fiu" or not np.isfinite(found).all():
        raise PartError(f"{name} gave vectors that hold something that is no number")
    return found.astype(np.float32)


@cache
def _part(name: str, use: Use) -> _LoadedPart:
    found = PartName.of(name)
    if found is None:
        raise PartError(f"{name!r:.80} is no name of an {use}")
    load = _loaded if use == "reranker" else _spread
    return _LoadedPart(name, lambda: load(found, use))


def _spread(name: PartName, use: Use) -> Any:
    from undrift.memory.part_centre import centred

    return centred(_loaded(name, use))


def _loaded(name: PartName, use: Use, *, may_download: bool = False) -> Any:
    """Load a part. Its imports stand here: a program without such parts never pays for them."""
    if name.kind == "http":
        from undrift.memory.part_servers import ServerEmbedder, ServerReranker

        return ServerEmbedder(name) if use == "embedder" else ServerReranker(name)
    from undrift.memory.part_models import (
        FastembedEmbedder,
        SentenceEmbedder,
        fastembed_scores,
        python_part,
        sentence_scores,
    )

    if name.kind == "python":
        return python_part(name, ("embed", "id", "dimension", "adds_words") if use == "embedder" else ("scores",))
    is_fastembed = name.kind == "fastembed"
    if use == "embedder":
        return (FastembedEmbedder if is_fastembed else SentenceEmbedder)(name, may_download=may_download)
    return _Scoring((fastembed_scores if is_fastembed else sentence_scores)(name, may_download=may_download))


class _Scoring:
    """A function as a re-ranker."""

    def __init__(self, scores: Callable[[str, Sequence[str]], Sequence[float]]) -> None:
        self.scores = scores
