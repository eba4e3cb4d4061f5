"""Models of sentence-transformers and fastembed: found on the machine, never fetched unasked, never in the working directory.

The packages are stand-ins with the signatures of sentence-transformers 6 and fastembed 0.9; they note how they are called.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import opened
from undrift.errors import PartError
from undrift.memory import parts as own
from undrift.memory.parts import load_part

SENTENCES = """
import numpy as np
calls = []
class SentenceTransformer:
    def __init__(self, name, *, local_files_only=False, trust_remote_code=False):
        calls.append((name, local_files_only, trust_remote_code))
    def get_embedding_dimension(self): return 3
    def encode_query(self, texts, **_): return self.encode_document(["The office moved to Lisbon."] * len(texts))
    def encode_document(self, texts, **_):
        return np.array([[np.cos(len(text)), np.sin(len(text)), 0] for text in texts], np.float32)
class CrossEncoder:
    def __init__(self, name, *, local_files_only=False, trust_remote_code=False):
        calls.append((name, local_files_only, trust_remote_code))
        self.classes = "nli" in name
    def predict(self, pairs, **_):
        return np.ones((len(pairs), 3) if self.classes else len(pairs), np.float32)
"""
HUB = """
from pathlib import Path
cache = Path(__file__).parent / "cache"
def snapshot_download(repository, *, local_files_only=False):
    assert local_files_only
    if not (cache / repository).exists():
        raise FileNotFoundError(repository)
    return str(cache / repository)
"""
BARS = """
shown = []
def is_progress_bar_enabled(): return True
def disable_progress_bar(): shown.append(False)
def enable_progress_bar(): shown.append(True)
"""
FASTEMBED = """
import numpy as np
calls = []
class TextEmbedding:
    embedding_size = 2
    def __init__(self, model_name, *, local_files_only=False, specific_model_path=None):
        calls.append((model_name, local_files_only, specific_model_path))
        if model_name == "no/such":
            raise ValueError("Model no/such is not supported in TextEmbedding.")
        if local_files_only and specific_model_path is None:
            raise ValueError("Could not load model from any source.")
    def passage_embed(self, texts, batch_size=0): return (np.ones(2) for _ in texts)
    def query_embed(self, text): return iter([np.ones(2)])
class TextCrossEncoder(TextEmbedding):
    def rerank(self, question, texts, batch_size=0): return (float(len(text)) for text in texts)
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the packages, and an empty working directory."""
    folder, working = tmp_path / "packages", tmp_path / "working"
    for path in ("transformers/utils", "fastembed/rerank"):
        (folder / path).mkdir(parents=True)
        for one in (folder / path, (folder / path).parent):
            (one / "__init__.py").touch()
    (folder / "sentence_transformers.py").write_text(SENTENCES)
    (folder / "huggingface_hub.py").write_text(HUB)
    (folder / "transformers/utils/logging.py").write_text(BARS)
    (folder / "fastembed/__init__.py").write_text(FASTEMBED)
    (folder / "fastembed/rerank/cross_encoder.py").write_text("from fastembed import TextCrossEncoder\n")
    working.mkdir()
    monkeypatch.chdir(working)
    monkeypatch.syspath_prepend(folder)
    own._part.cache_clear()
    names = ("sentence_transformers", "huggingface_hub", "transformers", "fastembed")
    yield folder
    for name in [one for one in sys.modules if one.partition(".")[0] in names]:
        del sys.modules[name]


def cached(packages: Path, repository: str) -> Path:
    folder = packages / "cache" / repository
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


def calls(module: str) -> list[Any]:
    return list(sys.modules[module].calls)


def refusal(name: str, use: Any = "embedder", *, may_download: bool = False) -> str:
    with pytest.raises(PartError) as caught:
        load_part(name, use, may_download=may_download)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "repository"), [("ann/small", "ann/small"), ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")]
)
def test_a_model_of_the_cache_is_loaded_offline_and_runs_no_code_of_its_own(
    packages: Path, tmp_path: Path, name: str, repository: str
):
    folder = cached(packages, repository)
    with opened(tmp_path / "h", embedder=f"sentence-transformers:{name}") as session:
        session.remember("The office moved to Lisbon.")
        assert session.search("Where is it?")[0].why["similarity"] == pytest.approx(1.0)
        assert session.memory.warnings() == ()
    assert calls("sentence_transformers") == [(str(folder), True, False)]
    assert sys.modules["transformers.utils.logging"].shown == [False, True]


def test_a_folder_with_an_absolute_path_is_a_model(packages: Path):
    folder = cached(packages, "own")
    load_part(f"sentence-transformers:{folder}", "embedder", may_download=False)
    assert calls("sentence_transformers") == [(str(folder), True, False)]
    assert "there is no model in" in refusal(f"sentence-transformers:{folder.parent / 'none'}")


@pytest.mark.parametrize("name", ["small", "ann/small", "./small", "../working/small"])
def test_a_folder_of_the_working_directory_is_never_a_model(packages: Path, name: str):
    """It can come with a repository that someone cloned, and a model's files can run code."""
    for one in (Path("small"), Path("ann/small"), Path("sentence-transformers/small")):
        one.mkdir(parents=True)
        (one / "config.json").write_text("{}")
    said = refusal(f"sentence-transformers:{name}")
    assert "is not on this machine" in said or "is no model" in said
    if "." not in name:
        assert "hides the model" in refusal(f"sentence-transformers:{name}", may_download=True)
    assert calls("sentence_transformers") == []


def test_a_model_is_fetched_only_by_who_asks(packages: Path):
    said = refusal("sentence-transformers:ann/cross", "reranker")
    assert said.endswith("undrift bench retrieval --reranker sentence-transformers:ann/cross --download")
    assert calls("sentence_transformers") == []
    refusal("sentence-transformers:ann/cross", "reranker", may_download=True)
    assert calls("sentence_transformers") == [("ann/cross", False, False)]
    refusal("fastembed:ann/small")
    refusal("fastembed:ann/cross", "reranker")
    assert calls("fastembed") == [("ann/small", True, None), ("ann/cross", True, None)]
    load_part("fastembed:ann/small@/models/small", "embedder", may_download=False)
    assert calls("fastembed")[-1] == ("ann/small", True, "/models/small")


def test_names_that_no_package_knows_say_so(packages: Path):
    assert "fastembed has no model 'no/such'" in refusal("fastembed:no/such")
    assert "absolute path" in refusal("fastembed:ann/small@models")
    assert "is no model" in refusal("sentence-transformers:a b")


def test_cross_encoders_reorder_and_one_for_classes_is_refused(packages: Path, tmp_path: Path):
    for name in ("ann/cross", "ann/nli"):
        cached(packages, name)
    for name, found in (("ann/cross", ()), ("ann/nli", ("gives classes, not one score",))):
        with opened(tmp_path / name, embedder="none", reranker=f"sentence-transformers:{name}") as session:
            for text in ("The office moved to Lisbon.", "The office dog is Rex."):
                session.remember(text)
            assert len(session.search("office")) == 2
            assert len(session.memory.warnings()) == len(found)
            assert all(said in one for said, one in zip(found, session.memory.warnings(), strict=True))
