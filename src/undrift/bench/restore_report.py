"""The result of `undrift bench restore`, as values, as a table and as one JSON.

Law: a figure of a client is the mean of its compactions' shares, with the 95% interval that comes from drawing the
compactions again; the share of all needs together stands beside it. The same compactions give the same figures.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, product
from typing import Any

from undrift.bench.resampling import interval

__all__ = ["JudgedCompaction", "KINDS", "RestoreReport", "figures_of", "interval_of", "restore_tables"]

KINDS = ("identifiers", "lines")
_DRAWS = 10_000
_WRITTEN, _READ = 1.25, 0.1
"""The price of a token written to the provider's cache and of one read from it, as shares of a plain one."""

_LEAST_OF_VERSIONS = 5
"""Neighbouring versions stand together until they have so many compactions."""

_OURS, _TAIL, _CONTROL = "restore@", "tail@", "bag@"
"""The names of texts before their size. The control must hold nothing: it has no row."""

_LEAST_OF_REPOSITORY = 2
"""With one compaction, a repository says nothing."""

_WORDS = {
    "summary": "the client's own summary",
    "today": "summary and files, as a client of today",
    "tail": "the last {tokens:,} tokens",
    "restore": "the restore text of {tokens:,}",
    "today_restore": "today and the restore text of {tokens:,}",
    "today_aware": "the same, if the text knew what was put back",
}


@dataclass(frozen=True, slots=True)
class JudgedCompaction:
    """One compaction: where it was recorded, what was needed after it, and what each text held of that.

    Args:
        needed: Identifiers and lines that the agent used in its next 30 calls and had learned before.
        held: Of these, for each text, such as ``summary`` or ``restore@5000``.
        tokens: The size of each text in characters / 4.
        recorded: Whether the recording holds what the client attached again; else it is simulated.
        turns: The prompts up to the next compaction, as far as the recording goes.
        read_again: Results within 30 calls that repeat what had been read before: their number and tokens.
        spared: Of these, for each text, the results of which it holds all that was used: their number and tokens.
    """

    folder: str
    client: str
    version: str
    repository: str
    session: str
    needed: tuple[int, int]
    held: Mapping[str, tuple[int, int]]
    tokens: Mapping[str, int]
    recorded: bool = False
    turns: int = 0
    read_again: tuple[int, int] = (0, 0)
    spared: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def share(self, text: str, kind: int) -> float | None:
        """Return the held share of identifiers (0) or lines (1); None if none was needed."""
        return self.held[text][kind] / self.needed[kind] if self.needed[kind] else None


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """All compactions that were judged. `budgets`: the sizes of the restore texts in tokens, ascending."""

    found: tuple[JudgedCompaction, ...]
    budgets: tuple[int, ...]
    left_out: Mapping[str, int]

    def as_value(self) -> dict[str, Any]:
        """Return all figures: for each client over all, by folder, by version and by repository."""
        clients = {}
        for client in sorted({one.client for one in self.found}):
            own = [one for one in self.found if one.client == client]
            whole, repositories = figures_of(own), _grouped(own, lambda one: one.repository)
            clients[client] = {
                "all": whole,
                "checks": _checks(own, whole, repositories),
                "folders": _grouped(own, lambda one: one.folder),
                "versions": {name: figures_of(some) for name, some in _by_version(own)},
                "repositories": repositories,
            }
        return {"budgets": list(self.budgets), "clients": clients, "left_out": dict(self.left_out)}

    def as_json(self) -> str:
        """Return all figures as one line of JSON."""
        return json.dumps(self.as_value(), ensure_ascii=False) + "\n"

    def as_markdown(self) -> str:
        """Return the figures as Markdown, see `restore_tables`."""
        return restore_tables(self.as_value()) + "\n"


_HEAD = (
    "| recordings | text | identifiers: mean (95%), all needs | lines: mean (95%), all needs | tokens |",
    "| --- | --- | --- | --- | --- |",
)


def restore_tables(value: Mapping[str, Any]) -> str:
    """Write figures as Markdown: for each client a table of all texts, over all and by folder, and one by version.

    `value`: as `RestoreReport.as_value` gives it.
    """
    parts = []
    for client, figures in value["clients"].items():
        rows = _rows(f"{client}, all", figures["all"])
        if len(figures["folders"]) > 1:
            for name, some in figures["folders"].items():
                rows += _rows(name, some)
        parts.append("\n".join((*_HEAD, *rows)))
        parts.append(_checked(client, figures["checks"]))
        parts.append(_costs(client, figures["all"]))
        if len(figures["versions"]) > 1:
            parts.append(_versions(client, figures["versions"]))
    return "\n\n".join(parts)


def _checks(
    found: Sequence[JudgedCompaction], whole: Mapping[str, Any], repositories: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what must not be: texts over their size, and repositories that the last tokens serve better than our text.

    `whole`, `repositories`: the figures of all, and of each repository.
    """
    held = [(name, one) for one in found for name in one.held]
    ours = [(one.tokens[name], int(name.partition("@")[2])) for name, one in held if name.startswith(_OURS)]
    several = {name: one for name, one in repositories.items() if one["compactions"] >= _LEAST_OF_REPOSITORY}
    below = []
    for (repository, figures), name, kind in product(several.items(), whole["texts"], KINDS):
        tail = figures["texts"].get(name.replace(_OURS, _TAIL), {}).get(kind)
        if name.startswith(_OURS) and tail and (mine := figures["texts"][name][kind]["macro"]) < tail["macro"]:
            about = {"repository": repository, "text": name, "kind": kind}
            below.append({**about, "restore": mine, "tail": tail["macro"]})
    cells = [row[kind] for row in whole["texts"].values() for kind in KINDS if kind in row]
    return {
        "texts": len(ours),
        "over_size": sum(tokens > size for tokens, size in ours),
        "held_by_bag": sum(sum(one.held[name]) for name, one in held if name.startswith(_CONTROL)),
        "repositories": len(several),
        "below_tail": below,
        "widest_interval": round(max((cell["high"] - cell["low"] for cell in cells), default=0.0), 3),
    }


def _checked(client: str, checks: Mapping[str, Any]) -> str:
    """Write the checks as a sentence or two."""
    worse = [
        f"{one['repository']} ({one['kind']}, {int(one['text'].partition('@')[2]):,})" for one in checks["below_tail"]
    ]
    return (
        f"{client}: {checks['over_size']} of {checks['texts']} texts are over their size; a bag of names holds {checks['held_by_bag']}. The "
        f"last tokens hold more in {len({one['repository'] for one in checks['below_tail']})} of the {checks['repositories']} repositories with at least {_LEAST_OF_REPOSITORY} "
        f"compactions{': ' * bool(worse)}{', '.join(worse)}. "
        f"The widest interval is {checks['widest_interval']:.2f}."
    )


def _versions(client: str, versions: Mapping[str, Any]) -> str:
    """Write the means alone, a line for each group of versions."""
    texts = list(next(iter(versions.values()))["texts"])
    lines = [
        f"| {client}, version | compactions | " + " | ".join(map(_text_words, texts)) + " |",
        "| --- | --- |" + " --- |" * len(texts),
    ]
    for name, figures in versions.items():
        cells = [" / ".join(_mean(figures["texts"][text].get(kind)) for kind in KINDS) for text in texts]
        lines.append(f"| {name or 'not recorded'} | {figures['compactions']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _costs(client: str, figures: Mapping[str, Any]) -> str:
    """Write what a text costs up to the next compaction, beside the results read again that it holds."""
    again = figures["read_again"]
    lines = [
        (
            f"| {client}, text | tokens in each prompt | price of {figures['mean_turns']:.0f} prompts, in plain tokens | read again: "
            f"{again['calls']:.1f} results, {again['tokens']:,} tokens; of these held |"
        ),
        "| --- | --- | --- | --- |",
    ]
    for name, row in figures["texts"].items():
        held = f"{row['spared']['calls']:.1f}, {row['spared']['tokens']:,}"
        lines.append(f"| {_text_words(name)} | {row['mean_tokens']:,} | {row['mean_cost_tokens']:,} | {held} |")
    return "\n".join(lines)


def _text_words(name: str) -> str:
    text, _, tokens = name.partition("@")
    return _WORDS[text].format(tokens=int(tokens or 0))


def _mean(value: Mapping[str, float] | None) -> str:
    return "none" if value is None else f"{value['macro']:.2f}"


def figures_of(found: Sequence[JudgedCompaction]) -> dict[str, Any]:
    """Return the counts of some compactions, and what each text held: macro with its interval, and pooled."""
    value: dict[str, Any] = {
        "compactions": len(found),
        "compactions_with_lines": sum(bool(one.needed[1]) for one in found),
        "recorded": sum(one.recorded for one in found),
        "sessions": len({one.session for one in found}),
        "repositories": len({one.repository for one in found}),
        "mean_turns": round(_mean_of([one.turns for one in found]), 1),
        "read_again": _means([one.read_again for one in found]),
        "needs": {name: sum(one.needed[kind] for one in found) for kind, name in enumerate(KINDS)},
        "texts": {},
    }
    for text in (name for name in (found[0].held if found else ()) if not name.startswith(_CONTROL)):
        row: dict[str, Any] = {}
        for kind, name in enumerate(KINDS):
            shares = [one.share(text, kind) for one in found]
            known = [share for share in shares if share is not None]
            if known:
                low, high = interval_of(shares)
                pooled = sum(one.held[text][kind] for one in found) / sum(one.needed[kind] for one in found)
                figures = {"macro": sum(known) / len(known), "low": low, "high": high, "pooled": pooled}
                row[name] = {key: round(figure, 3) for key, figure in figures.items()}
        row["mean_tokens"] = round(_mean_of([one.tokens[text] for one in found]))
        row["most_tokens"] = max(one.tokens[text] for one in found)
        row["spared"] = _means([one.spared.get(text, (0, 0)) for one in found])
        row["mean_cost_tokens"] = round(_mean_of([_price(one.tokens[text], one.turns) for one in found]))
        value["texts"][text] = row
    return value


def _mean_of(figures: Sequence[float]) -> float:
    return sum(figures) / len(figures) if figures else 0.0


def _means(counted: Sequence[tuple[int, int]]) -> dict[str, float]:
    calls, tokens = (_mean_of([one[part] for one in counted]) for part in (0, 1))
    return {"calls": round(calls, 2), "tokens": round(tokens)}


def _price(tokens: int, turns: int) -> float:
    """Return the price of a text in plain input tokens: written to the cache once, then read in each further prompt."""
    return tokens * (_WRITTEN + _READ * max(0, turns - 1))


def interval_of(shares: Sequence[float | None]) -> tuple[float, float]:
    """Return the 95% interval of the mean share; the compactions are drawn again with replacement."""
    bounds = interval(shares, _mean_known, draws=_DRAWS)
    assert bounds is not None, "no share is known"
    return bounds


def _mean_known(shares: Sequence[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else None


def _grouped(found: Iterable[JudgedCompaction], key: Callable[[JudgedCompaction], str]) -> dict[str, Any]:
    ordered = sorted(found, key=key)
    return {name: figures_of(list(some)) for name, some in groupby(ordered, key)}


def _by_version(found: Iterable[JudgedCompaction]) -> list[tuple[str, list[JudgedCompaction]]]:
    """Group neighbouring versions, so that a group has some compactions; the newest group may have fewer."""
    groups: list[tuple[str, str, list[JudgedCompaction]]] = []
    for version, some in groupby(sorted(found, key=_number_of), lambda one: one.version):
        if groups and len(groups[-1][2]) < _LEAST_OF_VERSIONS:
            first, _, members = groups.pop()
            groups.append((first, version, [*members, *some]))
        else:
            groups.append((version, version, list(some)))
    return [(first if first == last else f"{first} to {last}", members) for first, last, members in groups]


def _number_of(one: JudgedCompaction) -> tuple[tuple[int, ...], str]:
    parts = one.version.split("-")[0].split(".")
    return tuple(int(part) for part in parts if part.isdecimal()), one.version


def _rows(about: str, figures: Mapping[str, Any]) -> list[str]:
    needs = figures["needs"]
    counts = (
        f"{about}: {figures['compactions']} compactions ({figures['compactions_with_lines']} with lines), "
        f"{figures['repositories']} repositories, {needs['identifiers']:,} / {needs['lines']:,} needs"
    )
    rows = []
    for name, row in figures["texts"].items():
        cells = [_cell(row.get(kind)) for kind in KINDS]
        rows.append(f"| {counts} | {_text_words(name)} | {' | '.join(cells)} | {row['mean_tokens']:,} |")
        counts = ""  # once, on the first of its rows
    return rows


def _cell(value: Mapping[str, float] | None) -> str:
    return "none" if value is None else "{macro:.2f} ({low:.2f} to {high:.2f}), {pooled:.2f}".format(**value)
