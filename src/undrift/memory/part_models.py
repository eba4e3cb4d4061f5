"""Models of the packages sentence-transformers and fastembed, and objects of the user's own modules.

Law: nothing is loaded before it is needed, and nothing is fetched unless the caller says so. A model is found in a folder
with an absolute path or in the package's cache, never in the working directory: that can be a stranger's repository.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undrift.errors import PartError
from undrift.values.extras import install_command
from undrift.values.part import PartName

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FastembedEmbedder", "SentenceEmbedder", "fastembed_scores", "python_part", "sentence_scores"]

_REPOSITORY = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
_AT_ONCE = 32
_MOST_CHARACTERS = 8_000
_OWNERS = {"embedder": "sentence-transformers", "reranker": "cross-encoder"}
"""The owner of the models that are named without one."""

Scores = Callable[[str, Sequence[str]], Sequence[float]]


class SentenceEmbedder:
    """A model of the package sentence-transformers."""

    adds_words = False

    def __init__(self, name: PartName, *, may_download: bool = False) -> None:
        kind = _package("sentence-transformers", "sentence_transformers").SentenceTransformer
        place = _snapshot(name.target, "embedder", kind, may_download=may_download)
        with _Quiet():
            self._model: Any = kind(str(place), local_files_only=True, trust_remote_code=False)
        self.dimension = int(_first(self._model, "get_embedding_dimension", "get_sentence_embedding_dimension")())
        self.id = f"sentence-transformers/{place.name}/{_digest(place)}/{self.dimension}"[:200]

    def embed(self, texts: Sequence[str]) -> "NDArray[Any]":
        """Return the vectors of stored texts."""
        return self._encoded("encode_document", texts)

    def embed_question(self, text: str) -> "NDArray[Any]":
        """Return the vector of a question: some models read it with words of their own before it."""
        found: NDArray[Any] = self._encoded("encode_query", [text])[0]
        return found

    def _encoded(self, how: str, texts: Sequence[str]) -> "NDArray[Any]":
        encode = _first(self._model, how, "encode")
        found: NDArray[Any] = encode(
            [text[:_MOST_CHARACTERS] for text in texts],
            batch_size=_AT_ONCE,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return found


class FastembedEmbedder:
    """A model that the package fastembed knows."""

    adds_words = False

    def __init__(self, name: PartName, *, may_download: bool = False) -> None:
        kind = _package("fastembed", "fastembed").TextEmbedding
        self._model: Any = _fastembed(kind, name, "embedder", may_download=may_download)
        self.dimension = int(self._model.embedding_size)
        self.id = f"fastembed/{name.target}/{self.dimension}"[:200]

    def embed(self, texts: Sequence[str]) -> "NDArray[Any]":
        """Return the vectors of stored texts."""
        import numpy as np

        made = list(self._model.passage_embed([text[:_MOST_CHARACTERS] for text in texts], batch_size=_AT_ONCE))
        rows: NDArray[Any] = np.array(made, np.float32).reshape(len(texts), self.dimension)
        return rows

    def embed_question(self, text: str) -> "NDArray[Any]":
        """Return the vector of a question."""
        found: NDArray[Any] = next(iter(self._model.query_embed(text)))
        return found


def sentence_scores(name: PartName, *, may_download: bool = False) -> Scores:
    """Load a cross-encoder of the package sentence-transformers."""
    kind = _package("sentence-transformers", "sentence_transformers").CrossEncoder
    place = _snapshot(name.target, "reranker", kind, may_download=may_download)
    with _Quiet():
        model: Any = kind(str(place), local_files_only=True, trust_remote_code=False)

    def scores(question: str, texts: Sequence[str]) -> Sequence[float]:
        found = model.predict([(question, text) for text in texts], batch_size=_AT_ONCE, show_progress_bar=False)
        if getattr(found, "ndim", 1) != 1:
            raise PartError(f"sentence-transformers:{name.target} gives classes, not one score: it is no re-ranker")
        return [float(one) for one in found]

    return scores


def fastembed_scores(name: PartName, *, may_download: bool = False) -> Scores:
    """Load a cross-encoder that the package fastembed knows."""
    kind = _package("fastembed", "fastembed.rerank.cross_encoder").TextCrossEncoder
    model = _fastembed(kind, name, "reranker", may_download=may_download)
    return lambda question, texts: [float(one) for one in model.rerank(question, list(texts), batch_size=_AT_ONCE)]


def python_part(name: PartName, needed: Sequence[str]) -> Any:
    """Return an object of a module; a class or a function without what is needed is called first.

    Raises PartError: there is no such module or attribute, or it lacks a needed name.
    """
    said = f"{name.target}:{name.detail}"
    try:
        found: Any = import_module(name.target)
    except ImportError as error:
        raise PartError(f"{said}: {error}; install the module where undrift runs, or name another one") from error
    for part in name.detail.split("."):
        if not hasattr(found, part):
            raise PartError(f"{said}: the module has no {part}; write the name as module:attribute")
        found = getattr(found, part)
    if isinstance(found, type) or (callable(found) and not hasattr(found, needed[0])):
        found = found()
    if missing := [one for one in needed if not hasattr(found, one)]:
        raise PartError(f"{said} has no {' and no '.join(missing)}; it needs {', '.join(needed)}")
    return found


# ---------------------------------------------------------------------------------------------------------- the models


def _package(package: str, module: str) -> Any:
    """Import a module of a package. Raises PartError: the package is not installed."""
    if find_spec(module.partition(".")[0]) is None:
        raise PartError(f"the package {package} is not installed: {install_command(package)}")
    return import_module(module)


def _snapshot(target: str, use: str, load: Callable[..., Any], *, may_download: bool) -> Path:
    """Return the folder of a model. Raises PartError: it is not on this machine."""
    folder = Path(target).expanduser()
    if folder.is_absolute():
        if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
            raise PartError(f"there is no model in {folder}; give the folder that holds its config.json")
        return folder
    if not _REPOSITORY.fullmatch(target) or ".." in target:
        raise PartError(f"{target!r:.80} is no model; give OWNER/NAME, or a folder with its absolute path")
    repository = target if "/" in target else f"{_OWNERS[use]}/{target}"
    if may_download:
        if Path(repository).exists():
            raise PartError(f"a folder {repository} in the working directory hides the model; run this somewhere else")
        with _Quiet():
            load(repository, trust_remote_code=False)
    try:
        return Path(import_module("huggingface_hub").snapshot_download(repository, local_files_only=True))
    except (OSError, ValueError) as error:
        raise PartError(_absent(f"sentence-transformers:{target}", use)) from error


def _fastembed(kind: Any, name: PartName, use: str, *, may_download: bool) -> Any:
    """Load a model of fastembed; after an @ stands the folder that holds its files."""
    model, _, folder = name.target.partition("@")
    more = {"specific_model_path": str(Path(folder).expanduser())} if folder else {}
    if folder and not Path(folder).expanduser().is_absolute():
        raise PartError(f"fastembed:{name.target}: give the folder with its absolute path")
    try:
        return kind(model_name=model, local_files_only=not may_download, **more)
    except ValueError as error:
        if "not supported" in str(error):
            raise PartError(f"fastembed has no model {model!r:.80}: its list_supported_models() names them") from error
        raise PartError(_absent(f"fastembed:{name.target}", use)) from error


def _absent(name: str, use: str) -> str:
    return (
        f"the model {name} is not on this machine. Nothing is downloaded unless you ask: "
        f"undrift bench retrieval --{use} {name} --download"
    )


def _first(model: Any, *names: str) -> Any:
    """Return the first attribute that a model has: older versions of its package lack the newer names."""
    return next(getattr(model, name) for name in names if hasattr(model, name))


def _digest(place: Path) -> str:
    """Name what determines the vectors: the configurations, and names and sizes of the weights."""
    digest = hashlib.sha256()
    for path in sorted(one for one in place.rglob("*") if one.is_file()):
        digest.update(f"{path.relative_to(place).as_posix()}\0{path.stat().st_size}\0".encode())
        if path.name in ("config.json", "modules.json", "config_sentence_transformers.json"):
            digest.update(path.read_bytes()[:1_000_000])
    return digest.hexdigest()[:12]


class _Quiet:
    """Keeps the bars of a package that loads a model off the terminal."""

    def __enter__(self) -> None:
        self._logging: Any = import_module("transformers.utils.logging")
        self._was = bool(_first(self._logging, "is_progress_bar_enabled", "get_verbosity")())
        self._logging.disable_progress_bar()

    def __exit__(self, *_: object) -> None:
        if self._was:
            self._logging.enable_progress_bar()
