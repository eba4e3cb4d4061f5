"""An embedder whose vectors all point one way, made to spread.

Some models give any two texts a cosine of 0.7 or more. Then nothing is unlike a question, and the ranking, which compares
each cosine with the best, sees equal hits. The mean of a few texts that have nothing to do with each other is taken off.

Law: the vectors of a model that spreads by itself stay as they are.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["centred"]

_ALIKE = 0.3
"""The mean cosine of the sample from which its mean is taken off. MiniLM has 0.04, multilingual-e5-small 0.78."""

_SAMPLE = (
    "The ferry leaves from the second pier.",
    "Please restart the build server.",
    "My sister plays the cello.",
    "Interest rates fell by half a point.",
    "The function returns None for an empty list.",
    "Tomatoes need a lot of water in July.",
    "He was elected mayor of the town in 1987.",
    "What is the password policy?",
    "The cat sleeps on the radiator.",
    "Our flight to Oslo was cancelled.",
    "Use a smaller batch if memory runs out.",
    "The museum is closed on Mondays.",
    "I never drink coffee after noon.",
    "The patient should take two tablets a day.",
    "They painted the kitchen yellow.",
    "Version 3 drops support for Python 2.",
)


class _Centred:
    """Another embedder, without what its vectors have in common."""

    def __init__(self, model: Any, common: "NDArray[Any]") -> None:
        self._model = model
        self._common = common
        self.id = f"{model.id}/centred"
        self.dimension, self.adds_words = model.dimension, model.adds_words

    def embed(self, texts: Sequence[str]) -> Any:
        return _unit(self._model.embed(texts)) - self._common

    def embed_question(self, text: str) -> Any:
        ask = getattr(self._model, "embed_question", None)
        row = self._model.embed([text]) if ask is None else [ask(text)]
        return (_unit(row) - self._common)[0]


def centred(model: Any) -> Any:
    """Return an embedder with vectors that spread: the one that is given, if they do already."""
    import numpy as np

    rows = _unit(model.embed(list(_SAMPLE)))
    if rows.ndim != 2 or len(rows) != len(_SAMPLE) or not np.isfinite(rows).all():
        return model  # it is judged at its first use
    count, common = len(rows), rows.mean(axis=0)
    alike = (float(common @ common) * count - 1.0) / (count - 1)
    return _Centred(model, common) if alike >= _ALIKE else model


def _unit(rows: Any) -> "NDArray[Any]":
    """Return rows of length 1; a row of zeros stays."""
    import numpy as np

    found = np.asarray(rows, np.float32)
    lengths = np.linalg.norm(found, axis=-1, keepdims=True)
    unit: NDArray[Any] = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
    return unit
