"""What `restore` holds at recorded compactions by tables that never saw the repository: ``python -m bench.restore_left_out DIR...``.

Fits the tables for each repository to all others below the given folders, whichever client wrote them, and looks at every
compaction of a main session that follows at least 15 calls. Prints for each client and budget the mean over its compactions
with its 95% interval (the compactions are drawn again) and the share of all needs together; then each repository with at
least two compactions beside the raw tail of the same size; then what holds nothing by intention, a bag of names.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.fit_restore import lessons_by_owner, progress, using
from bench.restore_data import Cut, Judge, Recorded, entries_before, judges, opening_of, recorded_below
from bench.restore_fit import RIDGE, Models, fit_each_left_out
from undrift.bench.put_back import files_put_back
from undrift.bench.restore import raw_tail
from undrift.bench.restore_report import interval_of
from undrift.core.autopsy.steps import Step
from undrift.core.restore import restore
from undrift.core.text.references import Reference, references_in
from undrift.core.text.tokens import characters_per_4
from undrift.recordings.figures import recorded_figures

__all__ = ["Judged", "bag_of_names", "judged", "main", "report"]

_CLIENTS = ("claude-code", "codex")
_BUDGETS = (5_000, 10_000)
_EVERY_CALLS = 10
_ATTACHED = frozenset({"compact_file_reference", "file"})
_KINDS = ("identifier", "line")
_SHOWN = {
    "restore": "the restore text",
    "tail": "the last tokens",
    "today": "native of today",
    "both": "native of today and the restore text",
    "aware": "native of today and a restore text that knows of it",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One compaction at one budget: whose it was, what was needed after it, and what each text held of that."""

    client: str
    repository: str
    budget: int
    used: frozenset[Reference]
    held: Mapping[str, frozenset[Reference]]
    tokens: int

    def share(self, system: str, kind: str) -> float | None:
        """Give the held share of one kind, 0 to 1; None if none was needed."""
        needed = sum(one[0] == kind for one in self.used)
        return sum(one[0] == kind for one in self.held[system]) / needed if needed else None


def judged(sessions: Sequence[Recorded], models: Mapping[str, Models], budgets: Sequence[int]) -> Iterator[Judged]:
    """Yield every compaction at every budget. `models`: the tables by which each repository is judged."""
    for session in sessions:
        with using(models[session.repository]):
            for judge in judges(session):
                if judge.cut.is_real:
                    yield from _at(session, judge, budgets)


def _at(session: Recorded, judge: Judge, budgets: Sequence[int]) -> Iterator[Judged]:
    before, entries = session.steps[: judge.cut.index], entries_before(session, judge.cut)

    def held(text: str, *, strict: bool = True) -> frozenset[Reference]:
        return judge.learned.references_held(judge.cut.used, [text], strict=strict)

    native, simulated = _native(session, judge.cut)
    today = held(native, strict=False) | held(simulated)
    for budget in budgets:
        text = restore(entries, budget_tokens=budget, count=characters_per_4).text
        ours = held(text)
        aware = restore(entries, budget_tokens=budget, count=characters_per_4, put_back=(native, simulated)).text
        texts = {
            "restore": ours,
            "tail": held(raw_tail(before, budget)),
            "today": today,
            "both": today | ours,
            "aware": today | held(aware),
            "bag": held(bag_of_names(before, budget)),
        }
        used = judge.cut.used.references
        tokens = max(map(characters_per_4, (text, aware)))
        yield Judged(session.client, session.repository, budget, used, texts, tokens)


def _native(session: Recorded, cut: Cut) -> tuple[str, str]:
    """Give what the client put back by itself as recorded, and the files that are simulated where none are recorded."""
    opening = opening_of(session, cut)
    attached = [step for step in opening if step.kind == "client" and _attachment(step) in _ATTACHED]
    texts = [step.entry.content for step in opening if step.kind == "summary" or step in attached]
    simulates = session.client == "claude-code" and not attached
    return "\n".join(texts), files_put_back(entries_before(session, cut)) if simulates else ""


def _attachment(step: Step) -> object:
    return (step.entry.metadata or {}).get("attachment")


def bag_of_names(steps: Sequence[Step], budget_tokens: int) -> str:
    """Give the newest names of a history without their lines: a text that must hold nothing."""
    names: dict[str, None] = {}
    left = budget_tokens * 4
    for step in reversed(steps):
        if step.kind in ("silent", "system"):
            continue
        for kind, name in sorted(references_in(step.entry.content)):
            if kind == "identifier" and name not in names:
                left -= len(name) + 1
                if left < 0:
                    return " ".join(names)
                names[name] = None
    return " ".join(names)


# ----------------------------------------------------------------------------------------------------------------- showing


def _figure(found: Sequence[Judged], system: str, kind: str) -> str:
    """Write the mean over the compactions, its 95% interval, and the share of all needs together."""
    shares = [one.share(system, kind) for one in found]
    known = [share for share in shares if share is not None]
    if not known:
        return "none"
    low, high = interval_of(shares)
    held = sum(reference[0] == kind for one in found for reference in one.held[system])
    needed = sum(reference[0] == kind for one in found for reference in one.used)
    return f"{sum(known) / len(known):.2f} ({low:.2f} to {high:.2f}), {held / needed:.2f}"


def report(found: Sequence[Judged]) -> str:
    """Write the figures as two Markdown tables and a line of controls."""
    rows = [
        "| client | tokens | text | identifiers: macro (95%), pooled | lines: macro (95%), pooled |",
        "| --- | --- | --- | --- | --- |",
    ]
    groups = sorted({(one.client, one.budget) for one in found})
    for client, budget in groups:
        own = [one for one in found if (one.client, one.budget) == (client, budget)]
        lines = sum(one.share("tail", "line") is not None for one in own)
        about = f"{client}, {len(own)} compactions ({lines} with lines), {len({one.repository for one in own})} repositories"
        for system, words in _SHOWN.items():
            cells = " | ".join(_figure(own, system, kind) for kind in _KINDS)
            rows.append(f"| {about} | {budget:,} | {words} | {cells} |")
            about = ""  # once, on the first of its rows
    rows += ["", "| repository | client | tokens | compactions | restore | raw tail | below it |"]
    rows.append("| --- | --- | --- | --- | --- | --- | --- |")
    for client, budget in groups:
        own = [one for one in found if (one.client, one.budget) == (client, budget)]
        for repository in sorted({one.repository for one in own}):
            some = [one for one in own if one.repository == repository]
            if len(some) > 1:
                ours, tail = (_means(some, system) for system in ("restore", "tail"))
                below = [kind for kind, mine, other in zip(_KINDS, ours, tail, strict=True) if mine < other]
                shown = " | ".join(f"{one[0]:.2f} / {one[1]:.2f}" for one in (ours, tail))
                rows.append(f"| {repository} | {client} | {budget:,} | {len(some)} | {shown} | {', '.join(below)} |")
    over = sum(one.tokens > one.budget for one in found)
    bag = sum(len(one.held["bag"]) for one in found)
    return "\n".join([*rows, "", f"{over} of {len(found)} texts over their size; held by a bag of names: {bag}"])


def _means(found: Sequence[Judged], system: str) -> tuple[float, float]:
    """Give the mean shares of identifiers and lines; 0 where none was needed."""
    known = [[share for one in found if (share := one.share(system, kind)) is not None] for kind in _KINDS]
    identifiers, lines = (sum(shares) / max(len(shares), 1) for shares in known)
    return identifiers, lines


def main(arguments: Sequence[str]) -> int:
    """Read, fit, judge, print."""
    parser = argparse.ArgumentParser(
        prog="restore_left_out", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path, help="recorded sessions, at any depth")
    parser.add_argument("--budget", type=int, action="append", metavar="TOKENS", help="default: 5000 and 10000")
    parser.add_argument(
        "--every", type=int, default=_EVERY_CALLS, metavar="CALLS", help="distance of the training cuts"
    )
    parser.add_argument("--ridge", type=float, default=RIDGE, help="penalty of the weights")
    wanted = parser.parse_args(arguments)
    if wanted.every < 1 or not wanted.ridge > 0 or any(budget < 1 for budget in wanted.budget or ()):
        parser.error("--every, --ridge and --budget must be above 0")
    sessions = [
        session
        for folder in wanted.folders
        for session in recorded_below(folder, every_calls=wanted.every, clients=_CLIENTS)[0]
    ]
    compacted = [session for session in sessions if any(cut.is_real for cut in session.cuts) and _is_main(session)]
    owners = dict.fromkeys(session.repository for session in compacted)
    if not compacted or len({session.repository for session in sessions}) < 2:
        print("nothing to judge: there must be compactions, and sessions of two repositories", file=sys.stderr)
        return 1
    by_owner = lessons_by_owner(sessions)
    progress("fitting without each ...")
    models = fit_each_left_out(by_owner, owners, wanted.ridge)
    progress("judging ...")
    print(report(list(judged(compacted, models, wanted.budget or _BUDGETS))))
    return 0


def _is_main(session: Recorded) -> bool:
    return not recorded_figures(session.path, session.client).sub_agent


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
