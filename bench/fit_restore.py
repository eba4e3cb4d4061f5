"""Fit the weights of `restore` to recorded sessions: ``python -m bench.fit_restore DIR...``.

Reads the sessions below each DIR, cuts each at its compactions and every few calls between them, and fits two logistic
regressions (names, lines) to what the agent used after each cut. Prints what `restore` then holds, beside the raw tail
of the history; characters / 4 are a token. The same files give the same table.
"""

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.restore_data import (
    Judge,
    Lessons,
    Recorded,
    entries_before,
    judges,
    lessons_of,
    recorded_below,
)
from bench.restore_fit import LINE_FEATURES, NAME_FEATURES, RIDGE, Models, auc, fit_all, fit_each_left_out
from undrift.bench.restore import raw_tail
from undrift.core.autopsy.findings import Held
from undrift.core.restore import restore, weights
from undrift.core.restore.weights import Model
from undrift.core.text.tokens import characters_per_4
from undrift.transcripts import FORMATS

__all__ = ["lessons_by_owner", "main", "progress", "table", "using"]

# Identifiers / lines held at 22 compactions of Claude Code at 5,000 tokens, left out, with cuts every 30, 20, 15, 10
# calls: 0.74 / 0.64, 0.73 / 0.67, 0.74 / 0.69, 0.74 / 0.71.
_EVERY_CALLS = 10
_BUDGETS = (5_000, 2_500)
_WIDTH = 118


# ----------------------------------------------------------------------------------------------------------------- judging


@contextmanager
def using(models: Models) -> Iterator[None]:
    """Let `restore` choose by other tables, inside a ``with``."""
    before = weights.NAMES, weights.LINES
    weights.NAMES, weights.LINES = models.names, models.lines
    try:
        yield
    finally:
        weights.NAMES, weights.LINES = before


@dataclass(slots=True)
class _Tally:
    """What was needed, and held, over several cuts."""

    cuts: int = 0
    identifiers: int = 0
    lines: int = 0
    over: int = 0
    held: dict[str, list[int]] = field(default_factory=dict)

    def add(self, judge: Judge, helds: Mapping[str, Held], budget_tokens: int) -> None:
        self.cuts += 1
        self.identifiers += judge.cut.used.count("identifier")
        self.lines += judge.cut.used.count("line")
        self.over += helds["restore"].tokens > budget_tokens
        for name, held in helds.items():
            row = self.held.setdefault(name, [0, 0])
            row[0] += held.identifiers
            row[1] += held.lines

    def shares(self, name: str) -> tuple[float, float]:
        """Give the shares of identifiers and lines that a text held."""
        identifiers, lines = self.held.get(name, [0, 0])
        return identifiers / max(self.identifiers, 1), lines / max(self.lines, 1)

    def shown(self, name: str) -> str:
        return "{:.3f} / {:.3f}".format(*self.shares(name))


Key = tuple[str, str, bool, int]
"""Repository (empty: all of them), client, whether the cuts are compactions, budget in tokens."""


def _judged(
    sessions: Sequence[Recorded], models: Mapping[str, Models], budgets: Sequence[int], *, only_real: bool = False
) -> dict[Key, _Tally]:
    """Restore at every cut, by the tables of the session's repository, and count what that holds."""
    found: dict[Key, _Tally] = {}
    for session in sessions:
        with using(models[session.repository]):
            for judge in judges(session):
                if only_real and not judge.cut.is_real:
                    continue
                entries = entries_before(session, judge.cut)
                for budget in budgets:
                    text = restore(entries, budget_tokens=budget, count=characters_per_4).text
                    tail = raw_tail(session.steps[: judge.cut.index], budget)
                    helds = {"restore": judge.held(text), "raw tail": judge.held(tail)}
                    for owner in (session.repository, ""):
                        key = (owner, session.client, judge.cut.is_real, budget)
                        found.setdefault(key, _Tally()).add(judge, helds, budget)
    return found


def _report(tallies: Mapping[Key, _Tally]) -> str:
    """Write the figures down, one row a repository, client and kind of cut; the rows over all repositories last."""
    rows = [
        "| repository | client | cuts | tokens | n | needs: identifiers / lines | restore | raw tail | over budget |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for key in sorted(tallies, key=lambda key: (not key[0], key[0], key[1], not key[2], -key[3])):
        owner, client, is_real, budget = key
        tally = tallies[key]
        rows.append(
            f"| {owner or 'all'} | {client} | {'compactions' if is_real else 'made up'} | {budget:,} | {tally.cuts} "
            f"| {tally.identifiers:,} / {tally.lines:,} | {tally.shown('restore')} | {tally.shown('raw tail')} | {tally.over} |"
        )
    return "\n".join(rows)


def _without(model: Model, features: Sequence[str], name: str) -> Model:
    """Take a feature's weights out, the others staying as they are."""
    bias, tables = model
    rows = zip(features, tables, strict=True)
    return bias, tuple((0.0,) * len(row) if feature == name else row for feature, row in rows)


def _ingredients(sessions: Sequence[Recorded], models: Mapping[str, Models], budget: int) -> str:
    """Say what each feature earns at compactions: its weights are taken out, the others not fitted again."""
    clients = sorted({session.client for session in sessions if any(cut.is_real for cut in session.cuts)})
    rows = ["| without | " + " | ".join(clients) + " |", "| --- |" + " --- |" * len(clients)]
    for name in ("(nothing)", *dict.fromkeys((*NAME_FEATURES, *LINE_FEATURES))):
        changed = {
            owner: Models(_without(m.names, NAME_FEATURES, name), _without(m.lines, LINE_FEATURES, name))
            for owner, m in models.items()
        }
        tallies = _judged(sessions, changed, [budget], only_real=True)
        cells = [tallies["", client, True, budget].shown("restore") for client in clients]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


# ----------------------------------------------------------------------------------------------------------------- writing


def table(models: Models, about: str) -> str:
    """Write the module `undrift.core.restore.weights` with these weights.

    Args:
        models: Both tables.
        about: What they were fitted on, and how they were judged.
    """
    intro = (
        "A row per feature, in the order of `worth.name_features` and `worth.line_features`; a number per bin; a score is "
        "the bias plus one number of each row, and 1 / (1 + e^-score) the chance of a use within 30 calls."
    )
    return (
        '"""The weights of `worth`: two logistic regressions over binned features. Pure data, written by '
        "bench/fit_restore.py.\n\n"
        f'{textwrap.fill(intro, _WIDTH)}\n\n{textwrap.fill(about, _WIDTH)}\n"""\n\n'
        '__all__ = ["LINES", "Model", "NAMES"]\n\n'
        "Model = tuple[float, tuple[tuple[float, ...], ...]]\n"
        '"""Bias, and for each feature the weight of each of its bins."""\n\n'
        "# fmt: off\n"
        f"{_written('LINES', models.lines, LINE_FEATURES)}\n{_written('NAMES', models.names, NAME_FEATURES)}"
    )


def _written(name: str, model: Model, features: Sequence[str]) -> str:
    bias, tables = model
    out = [f"{name}: Model = (", f"    {bias:.2f},", "    ("]
    for feature, numbers in zip(features, tables, strict=True):
        out.append(f"        # {feature}")
        shown = [f"{number:.2f}" for number in numbers]
        if len(shown) <= 14:
            out.append(f"        ({', '.join(shown)}),")
        else:
            rows = [f"            {', '.join(shown[start : start + 12])}," for start in range(0, len(shown), 12)]
            out += ["        (", *rows, "        ),"]
    return "\n".join([*out, "    ),", ")", ""])


# ----------------------------------------------------------------------------------------------------------------- the whole


@dataclass(frozen=True, slots=True)
class _Fitted:
    """The tables for all, those for each repository, and what is to be said of them."""

    models: Models
    by_repository: Mapping[str, Models]
    about: str


def lessons_by_owner(sessions: Sequence[Recorded]) -> dict[str, Lessons]:
    """Count what each repository's sessions teach."""
    by_owner: dict[str, Lessons] = {}
    for owner in dict.fromkeys(session.repository for session in sessions):
        progress(f"reading what {owner} teaches ...")
        by_owner[owner] = Lessons.of(lessons_of(session) for session in sessions if session.repository == owner)
    return by_owner


def _fitted(sessions: Sequence[Recorded], wanted: argparse.Namespace) -> _Fitted:
    """Fit to all sessions and, where that is wanted, for each repository to all others."""
    by_owner = lessons_by_owner(sessions)
    progress("fitting to all ...")
    models = fit_all(Lessons.of(by_owner.values()), wanted.ridge)
    real = sum(cut.is_real for session in sessions for cut in session.cuts)
    made = sum(len(session.cuts) for session in sessions) - real
    about = (
        f"Fitted on {real + made} cuts ({real} compactions, {made} made every {wanted.every} calls) of {len(by_owner)} "
        f"repositories and {len({session.client for session in sessions})} clients, ridge {wanted.ridge:g}."
    )
    if not wanted.leave_out_each_repository:
        return _Fitted(models, dict.fromkeys(by_owner, models), about + " Not judged on sessions left out of the fit.")
    progress("fitting without each ...")
    left_out = fit_each_left_out(by_owner, by_owner, wanted.ridge)
    ranked: list[tuple[float, float]] = []
    for owner, own in by_owner.items():
        ranked.append((auc(own.names, left_out[owner].names), auc(own.lines, left_out[owner].lines)))
        print("{}, left out: AUC of names {:.3f}, of lines {:.3f}".format(owner, *ranked[-1]))
    names, lines = zip(*ranked, strict=True)
    about += (
        " These tables saw all of them; what follows is of tables fitted without the repository that they are judged on. "
        f"AUC {min(names):.2f} to {max(names):.2f} for names, {min(lines):.2f} to {max(lines):.2f} for lines."
    )
    return _Fitted(models, left_out, about)


def _held_in_words(tallies: Mapping[Key, _Tally], how: str) -> str:
    """Say for each client and budget what was held at compactions."""
    parts = [
        f"{tally.shown('restore')} (raw tail {tally.shown('raw tail')}) at {budget:,} tokens on {tally.cuts} compactions of {client}"
        for (owner, client, is_real, budget), tally in tallies.items()
        if is_real and not owner
    ]
    return f" Identifiers / lines held, sessions {how}: {'; '.join(parts)}." if parts else ""


def progress(words: str) -> None:
    """Say on stderr what is done now."""
    print(words, file=sys.stderr, flush=True)


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="fit_restore", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path, help="recorded sessions, at any depth")
    parser.add_argument(
        "--client",
        action="append",
        metavar="FORMAT",
        help=f"only its recordings, may be repeated: {', '.join(FORMATS)}",
    )
    parser.add_argument(
        "--leave-out-each-repository",
        action="store_true",
        help="judge each repository by tables fitted to all others; otherwise the figures are in sample",
    )
    parser.add_argument(
        "--without-each-feature", action="store_true", help="say what each feature earns at compactions, too"
    )
    parser.add_argument(
        "--write",
        nargs="?",
        type=Path,
        const=Path(str(weights.__file__)),
        metavar="FILE",
        help="write the tables that were fitted to everything; by default to where undrift reads them",
    )
    parser.add_argument("--budget", type=int, action="append", metavar="TOKENS", help="default: 5000 and 2500")
    parser.add_argument("--every", type=int, default=_EVERY_CALLS, metavar="CALLS", help="distance of the cuts made up")
    parser.add_argument("--ridge", type=float, default=RIDGE, help="penalty of the weights")
    parser.add_argument(
        "--repository", type=re.compile, metavar="REGEX", help="what names the repository in a path below DIR"
    )
    wanted = parser.parse_args(arguments)
    if wanted.every < 1 or not wanted.ridge > 0 or any(budget < 1 for budget in wanted.budget or ()):
        parser.error("--every, --ridge and --budget must be above 0")
    return wanted


def main(arguments: Sequence[str]) -> int:
    """Fit, judge, print and, where that is wanted, write."""
    wanted = _arguments(arguments)
    clients = wanted.client or FORMATS
    read = [
        recorded_below(folder, every_calls=wanted.every, repository=wanted.repository, clients=clients)
        for folder in wanted.folders
    ]
    sessions, others = [session for found, _ in read for session in found], sum(left for _, left in read)
    owners = {session.repository for session in sessions}
    print(f"{len(sessions)} sessions of {len(owners)} repositories with a cut; {others} files of another format")
    if not sessions:
        print("nothing to fit: there is no session long enough to be cut", file=sys.stderr)
        return 1
    if wanted.leave_out_each_repository and len(owners) < 2:
        print("nothing to leave out: all sessions are of one repository (see --repository)", file=sys.stderr)
        return 1
    fitted = _fitted(sessions, wanted)
    how = "left out of the fit" if wanted.leave_out_each_repository else "IN SAMPLE"
    budgets = wanted.budget or list(_BUDGETS)
    progress("judging ...")
    tallies = _judged(sessions, fitted.by_repository, budgets)
    print(f"\nHeld, sessions {how}:\n\n{_report(tallies)}")
    if wanted.without_each_feature:
        progress("judging without each feature ...")
        shown = _ingredients(sessions, fitted.by_repository, budgets[0])
        print(f"\nHeld at compactions, {budgets[0]:,} tokens, sessions {how}, identifiers / lines:\n\n{shown}")
    if wanted.write is not None:
        about = fitted.about + _held_in_words(tallies, how)
        wanted.write.write_text(table(fitted.models, about), encoding="utf-8")
        print(f"\nwritten: {wanted.write.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
