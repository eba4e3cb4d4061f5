"""How fast the token estimate counts, beside tiktoken and rs-bpe, kind by kind: ratios of CPU time in one run."""

import importlib
import os
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.figures import Figure, Report, cpu_ms, interleaved, ratio_claim
from bench.token_texts import entries_of, translations
from undrift.core.text.tokens import estimate

__all__ = ["measure"]

LEAST = 3.0
_KINDS = ("Python", "JSON, indented", "JSON, compact", "HTML", "log", "listing", "prose", "diff", "terminal")
_CHARACTERS = 100_000  # of each kind
_CATALOGUES = Path("/usr/share/locale")  # sentences of translated programs, on most systems
_LANGUAGES = {"German": "de", "Russian": "ru", "Hindi": "hi", "Chinese": "zh_CN"}


def measure(rounds: int = 5) -> Report:
    """Measure every kind with each counter in turn; what is not installed is skipped by name."""
    report = Report()
    counters = dict(_exact_counters(report))
    for kind, texts in _texts(report):
        megabytes = sum(len(text.encode()) for text in texts) / 1e6
        measures = {"estimate": _counting(estimate, texts, megabytes)}
        measures |= {name: _counting(count, texts, megabytes) for name, count in counters.items()}
        for act in measures.values():
            act()
        found = interleaved(rounds, measures, "ms a MB")
        report.figures += [Figure(f"counting {kind}: {figure.name}", figure.unit, figure.samples) for figure in found]
        for figure in found[1:]:
            least = LEAST if figure.name == "tiktoken" else None
            report.claims.append(
                ratio_claim(f"counting {kind}: {figure.name} against estimate", figure, found[0], least=least)
            )
    return report


def _counting(count: Callable[[str], int], texts: Sequence[str], megabytes: float) -> Callable[[], float]:
    def act() -> object:
        return [count(text) for text in texts]

    return lambda: cpu_ms(act) / megabytes


def _exact_counters(report: Report) -> Iterator[tuple[str, Callable[[str], int]]]:
    try:
        os.environ["TIKTOKEN_CACHE_DIR"]  # without it, tiktoken would go to the network
        encode = importlib.import_module("tiktoken").get_encoding("o200k_base").encode_ordinary
    except (ImportError, KeyError) as error:
        report.skipped.append(f"counting with tiktoken: {type(error).__name__} {error}; see `make bench`")
    else:
        yield "tiktoken", lambda text: len(encode(text))
    try:
        yield "rs-bpe", importlib.import_module("rs_bpe.bpe").openai.o200k_base().count
    except ImportError as error:
        report.skipped.append(f"counting with rs-bpe: {type(error).__name__}")


def _texts(report: Report) -> Iterator[tuple[str, list[str]]]:
    """Give the kinds that are found among the installed packages, and sentences of some languages."""
    found = entries_of([Path(sysconfig.get_path("purelib"))], characters=_CHARACTERS)
    for kind in _KINDS:
        if texts := [entry.text for entry in found if entry.kind == kind]:
            yield kind, texts
    for kind, language in _LANGUAGES.items():
        texts, characters = [], 0
        for path in sorted((_CATALOGUES / language / "LC_MESSAGES").glob("*.mo")):
            texts += [text for _, text in translations(path)]
            characters = sum(map(len, texts))
            if characters >= _CHARACTERS:
                break
        if characters >= _CHARACTERS // 10:
            yield kind, texts
        else:
            report.skipped.append(f"counting {kind}: no catalogues in {_CATALOGUES}/{language}")
