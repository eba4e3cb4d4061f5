"""Fit the token estimate to o200k: ``python -m bench.fit_tokens DIR... [--held-out DIR] [--transcripts DIR] [--write]``.

Cuts what is below the folders into entries (`bench.token_texts`), counts each exactly with rs-bpe, and fits the
coefficients to them, or without ``--held-out`` to one half of the packages. Prints the errors on what was fitted, and on
the packages that the fit never saw:
kind, characters, aggregate error, then median, 95th percentile and worst of the entries. The same folders give the
same coefficients.
"""

import argparse
import hashlib
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path

from bench.linear import solved
from bench.token_shape import SHAPE, Shape, features, module_text
from bench.token_texts import MOST_CHARACTERS, Entry, entries_of
from undrift.core.text import token_weights, tokens

__all__ = ["Counted", "LEAST_CHARACTERS", "errors_table", "fit", "is_held_out", "main"]


_WEIGHTS = {
    "repetitions": 0.25,
    "any characters": 0.25,
    "CSV": 0.3,
    "tool output": 2.0,
    "prose": 2.0,
    "Python": 2.0,
}
"""What a kind weighs in the fit; the others 1, a language a quarter."""

_LANGUAGES = frozenset(  # of the others there is too little text
    [
        "ar",
        "be",
        "bg",
        "bn",
        "ca",
        "cs",
        "da",
        "de",
        "el",
        "en",
        "eo",
        "es",
        "et",
        "eu",
        "fa",
        "fi",
        "fr",
        "ga",
        "gl",
        "he",
        "hi",
        "hr",
        "hu",
        "hy",
        "id",
        "is",
        "it",
        "ja",
        "ka",
        "kk",
        "ko",
        "lt",
        "lv",
        "mk",
        "ml",
        "mr",
        "ms",
        "nb",
        "nl",
        "nn",
        "pl",
        "pt",
        "ro",
        "ru",
        "sk",
        "sl",
        "sq",
        "sr",
        "sv",
        "ta",
        "te",
        "th",
        "tr",
        "uk",
        "vi",
        "zh",
    ]
)
_SPOKEN = frozenset(["de", "es", "fr", "it", "ja", "ko", "pl", "pt", "ru", "vi", "zh"])  # weigh double
LEAST_CHARACTERS = 20_000
"""Of a kind with less, no error is told."""

_WHOLE = 3.0  # how much the error of a kind as a whole weighs, beside those of its entries
_RIDGE = 1e-5
_LEAST = 30  # thousandths of a token that a character costs
_FULL_CHARACTERS = 60_000  # a kind with less weighs less


@dataclass(frozen=True, slots=True)
class Counted:
    """An entry and its exact tokens."""

    entry: Entry
    exact: int


def is_held_out(package: str) -> bool:
    """Tell whether a package is kept out of the fit: about half of them are."""
    return hashlib.sha256(package.encode()).digest()[0] % 2 == 1


# ----------------------------------------------------------------------------------------------------------------- fitting


def _importance(kind: str, characters: int) -> float:
    weight = _WEIGHTS.get(kind, 1.0)
    if kind.startswith("language "):
        weight = 0.5 if kind.split()[1] in _SPOKEN else 0.25
    return weight * min(1.0, characters / _FULL_CHARACTERS)


def fit(counted: Sequence[Counted], shape: Shape = SHAPE, ridge: float = _RIDGE) -> list[int]:
    """Fit the coefficients by least squares of the relative errors, of the entries and of each kind as a whole.

    Args:
        counted: Entries with their exact counts.
        shape: What is counted.
        ridge: Penalty of the coefficients, in the unit of a feature's own size.

    Returns:
        Thousandths of a token, one for each count of the shape.
    """
    size = sum(shape.sizes())
    matrix = [[0.0] * size for _ in range(size)]
    right = [0.0] * size
    by_kind: dict[str, list[Counted]] = {}
    for one in counted:
        by_kind.setdefault(one.entry.kind, []).append(one)
    for kind, ones in sorted(by_kind.items()):
        importance = _importance(kind, sum(len(one.entry.text) for one in ones))
        whole, total = [0] * size, sum(one.exact for one in ones)
        for one in ones:
            row = features(one.entry.text, shape)
            whole = [sum(pair) for pair in zip(whole, row, strict=True)]
            _add(matrix, right, [number / one.exact for number in row], importance / len(ones))
        _add(matrix, right, [number / total for number in whole], importance * _WHOLE)
    numbers = _balanced(matrix, right, ridge)
    for _ in range(len(shape.blocks)):
        wrong = [row for row in _characters(shape) if sum(map(mul, row, numbers)) < _LEAST]
        if not wrong:
            break
        for least in wrong:  # a character that would cost less than nothing is held at a little
            _add(matrix, right, least, 1.0, 2 * _LEAST / 1000)
        numbers = _balanced(matrix, right, ridge)
    return numbers


def _characters(shape: Shape) -> list[list[float]]:
    """Give what is counted for what must cost something: a character of each block by itself, and Cyrillic capitals."""
    rows: list[list[float]] = []
    for block in shape.blocks:
        character = block[0] if block[0][0] < 0xE0 else block[0] + b"\x84"
        row: list[float] = [*features(character.decode(), shape)]
        row[0] -= 1  # the empty run is found once more than there are characters
        rows.append(row)
    for capitals in ("АБВ", "ДДД"):  # of one lead byte all, and a run
        row = [*features(capitals, shape)]
        row[0] -= 1
        rows.append([value / 10 for value in row])  # held at ten times as much
    return rows


def _balanced(matrix: Sequence[Sequence[float]], right: Sequence[float], ridge: float) -> list[int]:
    """Solve the normal equations, each count in its own unit, and give thousandths."""
    size = len(right)
    scales = [math.sqrt(matrix[place][place]) or 1.0 for place in range(size)]
    scaled = [list(line) for line in matrix]
    for place, line in enumerate(scaled):
        for other in range(place + 1):
            line[other] /= scales[place] * scales[other]
        line[place] += ridge
    solution = solved(scaled, [value / scale for value, scale in zip(right, scales, strict=True)])
    return [round(1000 * value / scale) for value, scale in zip(solution, scales, strict=True)]


def _add(
    matrix: list[list[float]], right: list[float], row: Sequence[float], weight: float, target: float = 1.0
) -> None:
    """Add a row to the normal equations, of which the lower triangle is kept."""
    present = [(place, value) for place, value in enumerate(row) if value]
    for number, (place, value) in enumerate(present):
        weighted = weight * value
        right[place] += weighted * target
        line = matrix[place]
        for other, factor in present[: number + 1]:
            line[other] += weighted * factor


# ----------------------------------------------------------------------------------------------------------------- judging


def _errors(counted: Sequence[Counted], count: Callable[[str], int]) -> list[tuple[str, int, float, list[float]]]:
    """Give kind, characters, error of the whole and errors of the entries, in per cent."""
    by_kind: dict[str, list[Counted]] = {}
    for one in counted:
        by_kind.setdefault(one.entry.kind, []).append(one)
    found = []
    for kind, ones in sorted(by_kind.items()):
        estimated = [count(one.entry.text) for one in ones]
        whole = 100 * (sum(estimated) / sum(one.exact for one in ones) - 1)
        each = sorted((100 * (number / one.exact - 1) for number, one in zip(estimated, ones, strict=True)), key=abs)
        found.append((kind, sum(len(one.entry.text) for one in ones), whole, each))
    return found


def errors_table(
    counted: Sequence[Counted], count: Callable[[str], int], least_characters: int = LEAST_CHARACTERS
) -> str:
    """Write the errors down, a row a kind; kinds with fewer characters are left out."""
    rows = [
        "| kind | characters | entries | aggregate | median | p95 | worst |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind, characters, whole, each in _errors(counted, count):
        if characters >= least_characters:
            middle, late = (abs(each[int(share * (len(each) - 1))]) for share in (0.5, 0.95))
            rows.append(
                f"| {kind} | {characters:,} | {len(each)} | {whole:+.1f} % | {middle:.1f} % | {late:.1f} % | {each[-1]:+.0f} % |"
            )
    return "\n".join(rows)


def _count_with(numbers: Sequence[int]) -> Callable[[str], int]:
    def count(text: str) -> int:
        thousandths: int = sum(map(mul, numbers, features(text)))
        return max(1, len(text.encode("utf-8", "surrogatepass")) >> 7, (thousandths + 999) // 1000)

    return count


# ----------------------------------------------------------------------------------------------------------------- the whole


def _exact() -> Callable[[str], int]:
    from rs_bpe.bpe import openai  # type: ignore[import-not-found,unused-ignore]

    count: Callable[[str], int] = openai.o200k_base().count
    return count


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="fit_tokens", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", metavar="DIR", type=Path, nargs="+", help="each folder in it is a package")
    parser.add_argument(
        "--transcripts", metavar="DIR", type=Path, action="append", default=[], help="recorded sessions"
    )
    parser.add_argument("--characters", type=int, default=MOST_CHARACTERS, help="most of one kind")
    parser.add_argument(
        "--held-out",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="judge on its packages, fit on all others",
    )
    parser.add_argument("--judge", action="store_true", help="only judge the coefficients in use, on all; do not fit")
    parser.add_argument(
        "--write",
        nargs="?",
        type=Path,
        const=Path(str(token_weights.__file__)),
        metavar="FILE",
        help="write the coefficients; by default to where undrift reads them",
    )
    return parser.parse_args(arguments)


def _parts(wanted: argparse.Namespace, count: Callable[[str], int]) -> tuple[list[Counted], list[Counted]]:
    """Read and count what is to be fitted, and what is to be judged."""
    recorded = entries_of([], wanted.transcripts, characters=4 * wanted.characters)
    found = entries_of(wanted.folders, characters=wanted.characters) + recorded
    apart = entries_of(wanted.held_out, characters=wanted.characters)
    fitted: list[Entry] = []
    judged: list[Entry] = []
    made: dict[str, int] = {}
    for entry in found:
        number = made[entry.kind] = made.get(entry.kind, 0) + 1
        if wanted.judge:
            judged.append(entry)
        elif wanted.held_out and entry.kind != "tool output":
            fitted.append(entry)
        else:
            held_out = number % 2 == 1 if entry.package == "made" else is_held_out(entry.package)
            (judged if held_out else fitted).append(entry)
    met = {entry.package for entry in fitted} - {"made"}
    judged += [entry for entry in apart if entry.package not in met]
    return _counted(fitted, count), _counted(judged, count)


def _counted(entries: Iterable[Entry], count: Callable[[str], int]) -> list[Counted]:
    """Count what is in no language or in one of which there is enough text."""
    return [
        Counted(entry, count(entry.text))
        for entry in entries
        if not entry.kind.startswith("language ") or entry.kind.split()[1] in _LANGUAGES
    ]


def main(arguments: Sequence[str], exact: Callable[[str], int] | None = None) -> int:
    """Read, count, fit, judge and, where that is wanted, write."""
    wanted = _arguments(arguments)
    fitted, judged = _parts(wanted, exact or _exact())
    packages, others = (len({one.entry.package for one in ones}) for ones in (fitted, judged))
    if not judged or not (fitted or wanted.judge):
        print("nothing to fit or to judge: name folders with more packages", file=sys.stderr)
        return 1
    if wanted.judge:
        print(f"{len(judged)} entries of {others} packages\n\n{errors_table(judged, tokens.estimate)}")
        return 0
    print(f"{len(fitted)} entries of {packages} packages to fit, {len(judged)} of {others} held out")
    numbers = fit(fitted)
    use = _count_with(numbers)
    print(f"\nFitted on:\n\n{errors_table(fitted, use)}\n\nHeld out:\n\n{errors_table(judged, use)}")
    if wanted.write is not None:
        whole = [error for _, characters, error, _ in _errors(judged, use) if characters >= LEAST_CHARACTERS]
        about = (
            f"Fitted to o200k on {len(fitted)} entries of {packages} packages. On {len(judged)} entries of {others} others "
            f"the aggregate errors of {len(whole)} kinds and languages are {min(whole):+.1f} to {max(whole):+.1f} %; "
            "docs/tokens.md has the table."
        )
        wanted.write.write_text(module_text(numbers, about), encoding="utf-8")
        print(f"\nwritten: {wanted.write.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
