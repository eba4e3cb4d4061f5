"""What `undrift restore` holds at recorded compactions: ``python -m bench.restore_figures DIR...``.

Reads the sessions below each DIR and looks at every compaction that follows at least 15 calls. A share is of the
identifiers and lines of code that the agent used in its next 30 calls and had learned before (`undrift autopsy` says the
same of one session). The figure of a client is the mean of its compactions' shares, so that a large compaction counts
once, as a small one does; its 95% interval comes from drawing the compactions again. The same files give the same figures.
"""

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from bench.client_today import files_put_back
from bench.restore_data import raw_tail
from undrift.core.autopsy.findings import Compaction, Held
from undrift.core.autopsy.steps import steps_of
from undrift.errors import TranscriptError
from undrift.recordings.autopsy import Postmortem, examine, names_a_compaction
from undrift.recordings.restore import restore
from undrift.values.window import ContextEntry

__all__ = ["Boundary", "figures", "figures_of", "main", "recordings", "table"]

BUDGET_TOKENS = 5_000
CLIENTS = ("claude-code", "codex")
SYSTEMS = ("summary", "today", "tail", "restore", "both", "today_both")
_WORDS = {
    "summary": "the client's own summary",
    "today": "summary and files, as a client of today",
    "tail": "the last tokens",
    "restore": "the restore text",
    "both": "summary and restore",
    "today_both": "summary, files and restore",
}
_LEAST_CALLS = 15  # before a compaction: with less, there is not much to lose
_DRAWS = 10_000
_SEED = 17


@dataclass(frozen=True, slots=True)
class Boundary:
    """One compaction: where it was recorded, what was needed after it, and what each text held of that."""

    folder: str
    client: str
    repository: str
    session: str
    needed: tuple[int, int]
    held: Mapping[str, tuple[int, int]]
    tokens: Mapping[str, int] = field(default_factory=dict)

    def share(self, system: str, kind: int) -> float | None:
        """Give the held share of identifiers (0) or lines (1); None if none was needed."""
        return self.held[system][kind] / self.needed[kind] if self.needed[kind] else None


# ----------------------------------------------------------------------------------------------------------------- reading


def _boundaries(folder: Path, budget_tokens: int) -> Iterator[Boundary]:
    """Yield the compactions of the sessions below a folder, each once, in the order of the files' names."""

    def tail(entries: Sequence[ContextEntry]) -> str:
        return raw_tail(steps_of(entries), budget_tokens)

    paths = [path for path in sorted(folder.rglob("*.jsonl")) if names_a_compaction(path)]
    seen: set[tuple[int | None, int, tuple[int, int]]] = set()
    for path in paths:
        ours = _examined(path, budget_tokens)
        if ours is None:
            continue
        name, mark, _ = Path(ours.path).name.partition("__")
        repository = name if mark else Path(ours.path).parent.name
        put_back = files_put_back(path)
        others = [
            _examined(path, budget_tokens, give_back=give_back)
            for give_back in (
                tail,
                put_back,
                lambda entries, put_back=put_back: _with_ours(entries, put_back, budget_tokens),
            )
        ]
        parts = [found.autopsy.compactions for found in others if found is not None]
        for here, tailed, today, every in zip(ours.autopsy.compactions, *parts, strict=True):
            needed = (here.identifiers, here.lines)
            key = (here.at_ms, here.calls_before, needed)  # sessions continue and repeat each other
            if here.calls_before >= _LEAST_CALLS and any(needed) and key not in seen:
                seen.add(key)
                held = _held(here, tailed, today, every)
                counts = {system: (one.identifiers, one.lines) for system, one in held.items()}
                tokens = {system: one.tokens for system, one in held.items()}
                yield Boundary(folder.name, ours.format, repository, ours.path, needed, counts, tokens)


def _with_ours(
    entries: Sequence[ContextEntry], put_back: Callable[[Sequence[ContextEntry]], str], budget_tokens: int
) -> str:
    return f"{put_back(entries)}\n{restore(entries, budget_tokens=budget_tokens).text}"


def _examined(path: Path, budget_tokens: int, **how: Any) -> Postmortem | None:
    try:
        return examine(path, budget_tokens=budget_tokens, **how)
    except TranscriptError:  # another kind of file, or a sub-agent's own session
        return None


def _held(here: Compaction, tailed: Compaction, today: Compaction, every: Compaction) -> dict[str, Held]:
    texts = {
        "summary": here.native,
        "today": today.together,
        "tail": tailed.ours,
        "restore": here.ours,
        "both": here.together,
        "today_both": every.together,
    }
    return {name: held for name, held in texts.items() if held is not None}


# ---------------------------------------------------------------------------------------------------------------- counting


def _interval(shares: Sequence[float | None]) -> tuple[float, float]:
    """Give the 95% interval of the mean share, the compactions drawn again with replacement."""
    draw = random.Random(_SEED)  # the same draws each time
    means = []
    for _ in range(_DRAWS):
        drawn = [share for share in draw.choices(shares, k=len(shares)) if share is not None]
        if drawn:
            means.append(sum(drawn) / len(drawn))
    means.sort()
    return means[round(0.025 * (len(means) - 1))], means[round(0.975 * (len(means) - 1))]


def figures_of(found: Sequence[Boundary]) -> dict[str, Any]:
    """Count what each text held at some compactions: macro with its interval, and pooled over all needs."""
    out: dict[str, Any] = {
        "compactions": len(found),
        "compactions_with_lines": sum(bool(one.needed[1]) for one in found),
        "sessions": len({one.session for one in found}),
        "repositories": len({one.repository for one in found}),
        "identifiers": sum(one.needed[0] for one in found),
        "lines": sum(one.needed[1] for one in found),
    }
    for system in SYSTEMS:
        row = out[system] = {}
        for kind, name in enumerate(("identifiers", "lines")):
            shares = [one.share(system, kind) for one in found]
            known = [share for share in shares if share is not None]
            if known:
                low, high = _interval(shares)
                pooled = sum(one.held[system][kind] for one in found) / sum(one.needed[kind] for one in found)
                values = {"macro": sum(known) / len(known), "low": low, "high": high, "pooled": pooled}
                row[name] = {key: round(value, 3) for key, value in values.items()}
        row["mean_tokens"] = round(sum(one.tokens.get(system, 0) for one in found) / len(found))
    return out


def figures(folders: Sequence[Path], budget_tokens: int, clients: Collection[str]) -> dict[str, Any]:
    """Read recordings and count, each client over all folders and in each of them."""
    found = [one for folder in folders for one in _boundaries(folder, budget_tokens)]
    told: dict[str, Any] = {}
    for client in sorted({one.client for one in found if one.client in clients}):
        own = [one for one in found if one.client == client]
        by_folder = {folder.name: [one for one in own if one.folder == folder.name] for folder in folders}
        told[client] = {
            "all": figures_of(own),
            **{name: figures_of(some) for name, some in by_folder.items() if some},
        }
    return {
        "command": "python -m bench.restore_figures " + " ".join(folder.name for folder in folders),
        "date": date.today().isoformat(),  # noqa: DTZ011 - the day on the wall
        "recordings": [recordings(folder) for folder in folders],
        "budget_tokens": budget_tokens,
        "clients": told,
    }


def recordings(folder: Path) -> dict[str, Any]:
    """Say which recordings these were, so that a reader who has them can tell."""
    manifest = next(iter(sorted(folder.rglob("MANIFEST.json"))), None)
    return {
        "name": folder.name,
        "files": sum(1 for _ in folder.rglob("*.jsonl")),
        "manifest_sha256": manifest and hashlib.sha256(manifest.read_bytes()).hexdigest(),
    }


# ----------------------------------------------------------------------------------------------------------------- showing


def table(told: Mapping[str, Any]) -> str:
    """Write the figures as a Markdown table."""
    rows = [
        "| recordings | text | identifiers: macro (95%), pooled | lines: macro (95%), pooled |",
        "| --- | --- | --- | --- |",
    ]
    for client, parts in told["clients"].items():
        for name, part in parts.items():
            about = (
                f"{client}, {name}: {part['compactions']} compactions ({part['compactions_with_lines']} with lines), "
                f"{part['repositories']} repositories, {part['identifiers']:,} / {part['lines']:,} needs"
            )
            for system in SYSTEMS:
                cells = [_cell(part[system].get(kind)) for kind in ("identifiers", "lines")]
                rows.append(f"| {about} | {_WORDS[system]} | {' | '.join(cells)} |")
                about = ""  # once, on the first of its rows
    return "\n".join(rows)


def _cell(value: Mapping[str, float] | None) -> str:
    return "none" if value is None else "{macro:.2f} ({low:.2f} to {high:.2f}), {pooled:.2f}".format(**value)


def main(arguments: Sequence[str]) -> int:
    """Read, count, print."""
    parser = argparse.ArgumentParser(
        prog="restore_figures", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path, help="recorded sessions, at any depth")
    parser.add_argument("--budget", type=int, default=BUDGET_TOKENS, metavar="TOKENS", help="of each restore text")
    parser.add_argument(
        "--client",
        action="append",
        metavar="FORMAT",
        help="only its recordings, may be repeated; default: claude-code and codex",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    wanted = parser.parse_args(arguments)
    if wanted.budget < 1:
        parser.error("--budget must be at least 1")
    told = figures(wanted.folders, wanted.budget, wanted.client or CLIENTS)
    print(json.dumps(told, indent=1) if wanted.json else table(told))
    if not told["clients"]:
        print("no session below these folders was compacted after 15 calls or more", file=sys.stderr)
    return 0 if told["clients"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
