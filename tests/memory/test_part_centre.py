"""An embedder whose vectors all point one way is centred; any other stays as it is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import opened
from tests.memory.parts import LENGTH, Bags
from undrift.memory import parts as own
from undrift.memory.part_centre import centred

HERE = "tests.memory.test_part_centre"


class OneWay(Bags):
    """Any two texts have a cosine of 0.9 or more."""

    id = "one-way"

    def embed(self, texts: Sequence[str]) -> Any:
        return super().embed(texts) + np.eye(1, LENGTH, dtype=np.float32)[0] * 30


class Spread(Bags):
    """Each text has a direction of its own."""

    id = "spread"

    def embed(self, texts: Sequence[str]) -> Any:
        return np.array([np.random.default_rng(len(text)).normal(size=LENGTH) for text in texts], np.float32)


def cosine(model: Any, one: str, other: str) -> float:
    rows = model.embed([one, other])
    return float(rows[0] @ rows[1] / np.linalg.norm(rows[0]) / np.linalg.norm(rows[1]))


def test_only_vectors_that_point_one_way_are_centred():
    spread = Spread()
    assert centred(spread) is spread
    model = OneWay()
    found = centred(model)
    assert (found.id, found.dimension) == ("one-way/centred", LENGTH)
    assert cosine(model, "the blue ferry", "a red cello") > 0.9
    assert cosine(found, "the blue ferry", "a red cello") < 0.3 < cosine(found, "the blue ferry", "the blue ferry")
    assert found.embed_question("the blue ferry") == pytest.approx(found.embed(["the blue ferry"])[0])
    assert found.embed([]).shape == (0, LENGTH)


def test_a_search_by_such_an_embedder_finds_nothing_where_nothing_fits(tmp_path: Path):
    own._part.cache_clear()
    with opened(tmp_path, embedder=f"{HERE}:OneWay") as session:
        session.remember("The blue ferry leaves soon.")
        (hit,) = session.search("When does the blue ferry leave?")
        assert 0.15 < hit.why["similarity"] < 0.95
        assert not session.search("lentil soup recipe")
        assert session.memory.warnings() == ()
