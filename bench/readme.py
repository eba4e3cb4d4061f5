"""The figures of README and the pages that were measured: ``python -m bench.readme [DIR...]``.

Without DIR, the parts of `WRITTEN` between ``<!-- figures: NAME -->`` and ``<!-- end -->`` are written from docs/figures.json.
With DIR, the same tables are measured on the recordings below it and printed; build/figures.json gets the figures.
"""

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from bench.marked import with_part
from undrift.bench.cost import AT_THE_CLIENTS_LIMIT
from undrift.bench.cost import measure as priced
from undrift.bench.drift import FRACTIONS, measure
from undrift.bench.restore import measure as judged
from undrift.bench.restore_report import restore_tables
from undrift.bench.sessions import sessions_in
from undrift.errors import UndriftError

__all__ = ["PARTS", "WRITTEN", "main", "with_parts"]

BUDGET = 60_000
_ROOT = Path(__file__).parents[1]
_BUDGETS = {0.5: "half of the session", 0.25: "a quarter", 0.125: "an eighth", BUDGET: f"{BUDGET:,} tokens"}
_SYSTEMS = ("recency", "undrift")
_TEXTS = {
    "summary": "client's own summary",
    "today": "client of today",
    "tail@5000": "last 5,000 tokens",
    "restore@5000": "restore, 5,000",
    "restore@10000": "restore, 10,000",
    "today_restore@10000": "today and 10,000",
}
_PRICES = {"own": "as recorded", "5m .10": "5 minutes, .10", "1h .05": "an hour, .05"}
_BUDGETS_PRICED = ("auto", AT_THE_CLIENTS_LIMIT)
_NAMES = {"claude-code": "Claude Code", "codex": "Codex"}
_BAR = 10


def _percent(share: float) -> int:
    """Round a share as a table does: .385 is .39, so 39%."""
    return round(float(f"{share:.2f}") * 100)


def _interval(value: Mapping[str, float]) -> str:
    return "{}% ({} to {})".format(*(_percent(value[part]) for part in ("macro", "low", "high")))


def _bars(row: Mapping[str, Mapping[str, float]]) -> list[str]:
    cells = [row[kind] for kind in ("identifiers", "lines") if kind in row]
    return [f"{'█' * round(cell['macro'] * _BAR)} {_interval(cell)}" for cell in cells]


def _source(told: Mapping[str, Any], name: str) -> str:
    """Say when and on what it was measured: on what cannot be shipped, or on the reader's own."""
    measured = told[name]
    if "independent" not in told:
        return f"**Measured** on {measured['date']} by `{measured['command']}`."
    return (
        f"**Measured** on {measured['date']}, on recorded sessions of other people. We have no right to publish them; their\n"
        "SHA-256 and the command that measured them are in [figures.json](docs/figures.json)."
    )


def restore_part(told: Mapping[str, Any]) -> str:
    """Write what a restore text held, for each client, and what others measured beside it."""
    clients = told["restore"]["clients"]
    if not clients:
        return "No session was compacted after 15 calls or more."
    lines = [
        _source(told, "restore"),
        "Means over the compactions, with 95% intervals; the last tokens are a plain baseline. The client of today also attaches",
        "the files that it used last: as recorded, else simulated, which flatters it.",
        "",
        "```",
    ]
    for client, parts in clients.items():
        whole = parts["all"]
        counts = ", ".join(f"{whole[name]} {name}" for name in ("compactions", "sessions", "repositories"))
        lines += [f"{_NAMES[client]}: {counts}", f"{'':<22}{'identifiers':<28}{'lines of code':<26}tokens"]
        texts = whole["texts"]
        for name, words in _TEXTS.items():
            if name != "today" or texts["today"] != texts["summary"]:
                cells = [*_bars(texts[name]), ""]
                lines.append(f"{words:<22}{cells[0]:<28}{cells[1]:<26}{texts[name]['mean_tokens']:>6,}")
    lines.append("```")
    if "independent" in told:
        lines += [told["restore"]["judged"]]
    return "\n".join(lines)


def windows_part(told: Mapping[str, Any]) -> str:
    """Write the table of the windows: what they still held at each budget, and what all prompts cost."""
    measured = told["windows"]
    if not measured["rows"]:
        return "No session was measured."
    rows = {(row["budget"], row["system"]): row for row in measured["rows"]}
    whole = rows[0.5, "undrift"]
    lines = [
        _source(told, "windows"),
        f"The table counts {whole['sessions']} sessions, {whole['turns']:,} turns and {whole['needs']:,} needs.",
        "Survival is the share of needs that were still in the window; lines of code alone stand in brackets.",
        "Cost is that of all prompts, re-reading included, as a share of sending everything. `recency` keeps the newest.",
        "",
        "| budget | recency: survival, cost | undrift: survival, cost | turns over budget |",
        "| --- | --- | --- | --- |",
    ]
    for budget, name in _BUDGETS.items():
        if all((budget, system) in rows for system in _SYSTEMS):
            cells = [_cell(rows[budget, system]) for system in _SYSTEMS]
            lines.append(f"| {name} | {' | '.join(cells)} | {rows[budget, 'undrift']['over_budget_turns']} |")
    if (BUDGET, "undrift") in rows:
        lines += ["", f"Sessions larger than {BUDGET:,} tokens: {rows[BUDGET, 'undrift']['sessions']}."]
    if "independent" in told:
        held = {
            system: " and ".join(
                f"{_short(row['survival'])} ({_short(row['lines'])})"
                for row in told["independent"]["windows"]
                if row["system"] == system
            )
            for system in _SYSTEMS
        }
        lines[-1] += (
            " The design was chosen with a view to these sessions."
            f"\nOn two other sets an outside measure gave {held['undrift']} at a quarter, and {held['recency']} for recency."
        )
    return "\n".join(lines)


def cost_part(told: Mapping[str, Any]) -> str:
    """Write what auto costs against sending everything and the client's own compaction, at each price."""
    rows = {(row["scenario"], row["budget"]): row for row in told["cost"]["rows"]}
    prices = {name: title for name, title in _PRICES.items() if (name, "auto") in rows}
    if not prices:
        return "No session was priced."
    lines = [
        _source(told, "cost"),
        "1.00 is the cost of sending everything. Text that was gone when the agent needed it is charged, on both sides alike.",
        "Dearer: above 1.00 at the end. Any turn: the highest share on the way. Still there: of what was needed."
        + (f" The rules were chosen on {fitted} of them." if (fitted := told["cost"].get("fitted_sessions")) else ""),
        "",
        "| cache, cached token | dearer | any turn | all sessions | still there | of the client's own compaction |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, title in prices.items():
        row = rows[name, "auto"]
        shares = [f"{row['worst_turn']:.2f}", f"{row['sum']:.2f}", f"{row['survival']:.1%}"]
        cells = [
            title,
            f"{row['above']} of {row['sessions']}",
            *shares,
            _of_native(row, rows.get((name, "auto-native"))),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    native = f"The last column counts the {rows[next(iter(prices)), 'auto']['native_sessions']} sessions that their client compacted."
    if limited := [rows[name, "auto-native"] for name in prices if (name, "auto-native") in rows]:
        above = " / ".join(str(row["above"]) for row in limited)
        native += f" At the client's limit, row by row, {above} of them cost more than everything; but everything did not fit there."
    return "\n".join([*lines, "", native])


def budget_price_part(told: Mapping[str, Any]) -> str:
    """Write what a fixed budget costs against sending everything, at each price, with the worst session of each."""
    rows = {(row["scenario"], row["budget"]): row for row in told["cost"]["rows"]}
    budgets = sorted(
        {budget for _, budget in rows if budget[:1].isdigit()}, key=lambda budget: int(budget.replace(",", ""))
    )
    if not budgets:
        return "No session was priced at a fixed budget."
    lines = [
        _source(told, "cost"),
        "1.00 is the cost of sending everything. Dearer: above 1.00 at the end. Worst session: the highest share at the end.",
        "On the way: the highest share at any turn of any session. Still there: of what was needed.",
        "",
        "| budget | cache, cached token | dearer | all sessions | worst session | on the way | still there |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for budget in budgets:
        for name, title in _PRICES.items():
            if (row := rows.get((name, budget))) is not None:
                shares = " | ".join(f"{row[column]:.2f}" for column in ("sum", "worst", "worst_turn"))
                dearer = f"{row['above']} of {row['sessions']}"
                lines.append(f"| {budget} | {title} | {dearer} | {shares} | {row['survival']:.1%} |")
    return "\n".join(lines)


def _of_native(row: Mapping[str, Any], at_limit: Mapping[str, Any] | None) -> str:
    """Say what auto costs of the client's own compaction, and at the limit at which the client compacted."""
    if not row["native_sessions"]:
        return "none compacted"
    kept = f"{row['survival_there']:.1%} still there, client {row['native_survival']:.1%}"
    same = "" if at_limit is None else f"; at the client's limit {at_limit['of_native']:.2f}"
    return f"{row['of_native']:.2f}{same} ({kept})"


def _short(share: float | None) -> str:
    return "none" if share is None else f"{share:.3f}".removeprefix("0")


def _cell(row: Mapping[str, Any]) -> str:
    return f"{_short(row['survival'])} ({_short(row['lines'])}), {_short(row['cost'])}"


PARTS = {"cost": cost_part, "restore": restore_part, "windows": windows_part}
"""The parts that are written from figures, by their names in the comments of README and docs/figures.md."""

PAGES = {"budget-price": budget_price_part, "restore-tables": lambda told: restore_tables(told["restore"])}
"""The same of docs/cost.md and docs/restore.md."""


WRITTEN = ("README.md", "docs/cost.md", "docs/figures.md", "docs/restore.md")
"""The pages with such parts."""


def with_parts(text: str, told: Mapping[str, Any], page: str = "README.md") -> str:
    """Return the text of a page with each part written from the figures. `page`: where it stands, for its links."""
    for name, part in (PARTS | PAGES).items():
        begin = f"<!-- figures: {name} -->"
        if begin in text:
            written = part(told)
            if page.startswith("docs/"):
                written = written.replace("](docs/", "](")
            text = with_part(text, begin, written)
    return text


def measured_on(folders: Sequence[Path]) -> dict[str, Any]:
    """Measure all tables on recordings: costs, restore texts at compactions, and windows at each budget."""
    named = " ".join(folder.name for folder in folders)
    report = measure(
        folders[0], fractions=FRACTIONS, budgets=(BUDGET,), progress=_say
    )  # shares of several do not add up
    rows = [_row(value) for value in (row.as_value() for row in report.rows) if value["system"] in _SYSTEMS]
    command = f"undrift bench drift {folders[0].name} --fractions 0.5,0.25,0.125 --budget {BUDGET}"
    costs = priced(sessions_in(folders[0], min_calls=5), budgets=(*_BUDGETS_PRICED, BUDGET), progress=_say)
    return {
        "cost": {
            "command": f"undrift bench cost {folders[0].name}",
            "date": date.today().isoformat(),  # noqa: DTZ011 - the day on the wall
            "recordings": [recordings(folders[0])],
            "rows": [row.as_value() for row in costs.rows],
        },
        "restore": {
            "command": f"undrift bench restore {named}",
            "date": date.today().isoformat(),  # noqa: DTZ011 - the day on the wall
            "recordings": [recordings(folder) for folder in folders],
            **judged(folders, progress=_say).as_value(),
        },
        "windows": {
            "command": command,
            "date": date.today().isoformat(),  # noqa: DTZ011 - the day on the wall
            "recordings": [recordings(folders[0])],
            "rows": rows,
        },
    }


def recordings(folder: Path) -> dict[str, Any]:
    """Say which recordings these were, so that a reader who has them can tell."""
    manifest = next(iter(sorted(folder.rglob("MANIFEST.json"))), None)
    return {
        "name": folder.name,
        "files": sum(1 for _ in folder.rglob("*.jsonl")),
        "manifest_sha256": manifest and hashlib.sha256(manifest.read_bytes()).hexdigest(),
    }


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _row(value: Mapping[str, Any]) -> dict[str, Any]:
    """Take from a row of `undrift bench drift` the figures that README shows."""
    kept = ("budget", "system", "survival", "lines", "sessions", "turns", "needs", "over_budget_turns")
    return {name: value[name] for name in kept} | {"cost": value["costs"][0]["total"]}


def main(arguments: Sequence[str]) -> int:
    """Write README's figures, or measure a reader's own."""
    if not arguments:
        told = json.loads((_ROOT / "docs" / "figures.json").read_text(encoding="utf-8"))
        for page in WRITTEN:
            path = _ROOT / page
            path.write_text(with_parts(path.read_text(encoding="utf-8"), told, page), encoding="utf-8")
        return 0
    try:
        told = measured_on([Path(folder).resolve() for folder in arguments])
    except UndriftError as error:
        _say(str(error))
        return 1
    out = _ROOT / "build" / "figures.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print("\n\n".join(part(told) for part in (*PARTS.values(), budget_price_part)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
