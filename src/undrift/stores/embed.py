"""Embedders, from texts to vectors: their protocol, and one whose model comes with its package.

Law: nothing is loaded before the first text is embedded, and nothing is ever fetched: without its files an embedder fails.
"""

import logging
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from undrift.errors import StoreError
from undrift.stores.memory_values import MemoryLine, MemoryLines
from undrift.values.extras import command_for
from undrift.values.passages import LONGEST_PASSAGE, passages_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Embedder", "WordLlamaEmbedder", "embedded", "is_installed", "vector_of", "vectors_of"]

_CONFIG = "l2_supercat"
_MOST_CHARACTERS = 8_000


class Embedder(Protocol):
    """Turns texts into vectors; the cosine of two vectors tells how similar their meanings are.

    Vectors of two embedders never mix: they are kept and searched separately, by `id`.
    """

    @property
    def id(self) -> str:
        """The name and version of the model, with everything else that determines its vectors."""
        ...

    @property
    def dimension(self) -> int:
        """The length of each vector."""
        ...

    @property
    def adds_words(self) -> bool:
        """True if a text's vector is the sum of its words' vectors: a query then uses only its meaningful words."""
        ...

    def embed(self, texts: Sequence[str]) -> "NDArray[Any]":
        """Return one vector for each text: float32, (texts, dimension). A text without known words gets zeros.

        Raises StoreError: the model cannot be loaded.
        """
        ...


class WordLlamaEmbedder:
    """Uses the static word vectors of the package wordllama: no network, no GPU, 0.2 ms for a sentence."""

    dimension = 256
    adds_words = True

    def __init__(self) -> None:
        self._model: Any = None
        self._id = ""

    @property
    def id(self) -> str:
        """The configuration, the length, the version of the package with the weights, and the cut of long texts."""
        if not self._id:
            from importlib.metadata import PackageNotFoundError, version

            try:
                self._id = f"wordllama/{_CONFIG}/{self.dimension}/{version('wordllama')}/passages-{LONGEST_PASSAGE}"
            except PackageNotFoundError as error:
                raise _missing() from error
        return self._id

    def embed(self, texts: Sequence[str]) -> "NDArray[Any]":
        """Return one vector for each text, computed from the first 8,000 characters."""
        import numpy as np

        if self._model is None:
            self._model = _load(self.dimension)
        # One by one: a batch uses the tokenizer's threads, and these tripled the time of a search on a busy machine.
        encode, words = self._model.tokenizer.encode, self._model.embedding
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for place, text in enumerate(texts):
            utf8 = text[:_MOST_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
            ids = [one for one in encode(utf8, add_special_tokens=False).ids if one < len(words)]
            if ids:
                vectors[place] = words[ids].mean(axis=0)
        return vectors


def is_installed() -> bool:
    """Tell whether vectors are available: numpy and the package with the model are installed."""
    return find_spec("numpy") is not None and find_spec("wordllama") is not None


@cache
def _load(dimension: int) -> Any:
    """Load the model from its package, one time for all sessions; restore the logging settings that its import changes."""
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise _missing()
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        from wordllama import WordLlama

        return WordLlama.load(config=_CONFIG, cache_dir=Path(spec.origin).parent, dim=dimension, disable_download=True)
    except (ImportError, OSError, ValueError) as error:
        raise StoreError(
            f"the package wordllama cannot be loaded: {error}; reinstall it: {command_for('vectors')}"
        ) from error
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _missing() -> StoreError:
    return StoreError(f"vectors need the packages numpy and wordllama: {command_for('vectors')}")


def vector_of(embedder: Embedder, question: str) -> Any:
    """Return the vector of a question; an embedder that reads questions in another way has `embed_question` for them.

    Raises StoreError: the embedder cannot be loaded.
    """
    ask = getattr(embedder, "embed_question", None)
    return embedder.embed([question])[0] if ask is None else ask(question)


def embedded(embedder: Embedder | None, lines: Sequence[MemoryLine]) -> MemoryLines:
    """Return lines with their vectors; the store is not locked while the embedder works.

    Raises StoreError: the embedder cannot be loaded.
    """
    if embedder is None or not lines:
        return MemoryLines(lines)
    return MemoryLines(lines, embedder.id, embedder.dimension, vectors_of(embedder, [one.text for one in lines]))


def vectors_of(embedder: Embedder, texts: Sequence[str]) -> Iterable[Any]:
    """Return the vector of each text; one that adds words up gets the vectors of a long text's passages below its own.

    Raises StoreError: the embedder cannot be loaded.
    """
    if not embedder.adds_words:
        return embedder.embed(texts)
    cut = [passages_of(text) for text in texts]
    return [
        embedder.embed([text, *(text[start:end] for start, end in some)] if len(some) > 1 else [text])
        for text, some in zip(texts, cut, strict=True)
    ]
