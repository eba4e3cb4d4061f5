"""The count of made-up secrets that `mask` hides: ``python -m bench.masking`` prints kinds x contexts, and the misses by name.

The kinds are those of tests/core/text/canaries.toml, which was written down before any rule that is to find them. A secret
is hidden if neither it nor its last twelve characters can be read where it stood. Kinds that are held out of every tuning
count, and are never named. ``--write`` raises docs/figures.json, writes docs/masking.md, and lowers no number; ``--alarms DIR...`` counts
what is masked of recorded sessions, ``--cost`` times it, ``--src DIR`` measures another tree.
"""

import argparse
import base64
import hashlib
import json
import sys
import textwrap
import tomllib
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from bench import marked
from bench.masking_cost import LOOP, alarms, cost

__all__ = ["CANARIES", "CONTEXTS", "Canary", "Context", "GROUPS", "PAGE", "canaries", "figures", "hidden", "is_asked", "main", "measure", "missed", "part", "share", "table", "with_part", "worse"]  # fmt: skip

_ROOT = Path(__file__).parents[1]
_FIGURES = _ROOT / "docs" / "figures.json"
PAGE = _ROOT / "docs" / "masking.md"
CANARIES = _ROOT / "tests" / "core" / "text" / "canaries.toml"
GROUPS = ("own", "named", "line", "held out", "all")
_TAIL = 12

Mask = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Canary:
    """One made-up secret.

    Args:
        value: The text that stands in a context.
        secret: The part of it that must not be read.
        shape: "own": its form tells it. "named": only a name beside it does. "line": the value brings its own context.
    """

    kind: str
    value: str
    secret: str
    shape: str
    is_held_out: bool

    def groups(self) -> tuple[str, ...]:
        """Return the groups that it counts in."""
        return (self.shape, "held out", "all") if self.is_held_out else (self.shape, "all")


@dataclass(frozen=True, slots=True)
class Context:
    """One place where a secret may stand.

    Args:
        around: Makes the text from a value.
        around_line: Makes it from a value of the shape "line"; None if such a value cannot stand there.
        has_name: A name that tells a secret stands beside the value.
        read_as: Makes of the secret what stands in the text; None if it is looked for in another way.
    """

    around: Callable[[str], str]
    around_line: Callable[[str], str] | None
    has_name: bool = False
    read_as: Callable[[str], str] | None = str


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _in_base64(text: str) -> str:
    return f"payload {base64.b64encode(text.encode()).decode()} end"


def _in_percent(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _split(text: str) -> str:
    return "\n".join(text[at : at + 20] for at in range(0, len(text), 20))


def _same(text: str) -> str:
    return text


def _coloured(text: str) -> str:
    return f"\x1b[32m{text}\x1b[0m"


def _json(name: str) -> Callable[[str], str]:
    return lambda text: json.dumps({name: text})


def _json_in_json(name: str) -> Callable[[str], str]:
    return lambda text: json.dumps(json.dumps({name: text}))


CONTEXTS: dict[str, Context] = {
    "bare": Context(_same, _same),
    "prose": Context("The key is {}, as he said.".format, "He typed {} and left.".format),
    "html": Context("<td>{}</td>".format, "<pre>{}</pre>".format),
    "ansi": Context(_coloured, _coloured),
    "env": Context("SERVICE_API_KEY={}\n".format, None, has_name=True),
    "log": Context("2026-01-02 INFO connect token={} ok".format, None, has_name=True),
    "yaml": Context("api_key: {}\nnext: 1".format, None, has_name=True),
    "header": Context("x-api-key: {}\r\n".format, None, has_name=True),
    "json": Context(_json("api_key"), _json("out"), has_name=True, read_as=_in_json),
    "json in json": Context(
        _json_in_json("api_key"),
        _json_in_json("out"),
        has_name=True,
        read_as=lambda secret: _in_json(_in_json(secret)),
    ),
    "query": Context("GET /x?api_key={}&page=2".format, None, has_name=True),
    "base64": Context(
        lambda text: _in_base64(f"api_key={text}\n"), lambda text: _in_base64(f"{text}\n"), has_name=True, read_as=None
    ),
    "percent": Context(
        lambda text: "next=" + _in_percent(f"/x?api_key={text}&page=2"),
        lambda text: "body=" + _in_percent(text),
        has_name=True,
        read_as=_in_percent,
    ),
    "split at 20": Context(_split, _split, read_as=None),
}


def canaries(path: Path = CANARIES) -> list[Canary]:
    """Read the kinds; what is public, as an identifier is, has nothing to hide and is left out."""
    found = []
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["canary"]:
        if not row.get("public"):
            value = "".join(row["value"])
            secret = "".join(row.get("secret", [])) or value
            found.append(Canary(row["kind"], value, secret, row["shape"], row.get("held_out", False)))
    return found


def _text(context: Context, canary: Canary) -> str | None:
    """Return a canary in its context, or None if it cannot stand there."""
    if canary.shape != "line":
        return context.around(canary.value)
    return None if context.around_line is None else context.around_line(canary.value)


def hidden(mask: Mask, name: str, canary: Canary) -> bool | None:
    """Say whether a canary cannot be read in a context any more; None if it cannot stand there."""
    context = CONTEXTS[name]
    text = _text(context, canary)
    if text is None:
        return None
    out = mask(text).text
    if context.read_as is not None:
        return not any(context.read_as(part) in out for part in (canary.secret, canary.secret[-_TAIL:]))
    if name == "base64":
        return _base64_of_tail(text.split(" ")[1], canary.secret) not in out
    return canary.secret[-_TAIL:].replace("\n", "") not in out.replace("\n", "")


def _base64_of_tail(run: str, secret: str) -> str:
    """Give the characters of a base64 run that hold nothing but the end of a secret."""
    plain = base64.b64decode(run).decode()
    end = len(plain[: plain.rindex(secret)].encode()) + len(secret.encode())
    return run[-(-(end - _TAIL) * 4 // 3) : end * 4 // 3]


def is_asked(name: str, canary: Canary) -> bool:
    """Say whether anything in a context tells that a canary is a secret: its form, or a name."""
    return canary.shape != "named" or CONTEXTS[name].has_name


Results = dict[str, dict[Canary, bool]]


def measure(mask: Mask, rows: Sequence[Canary]) -> Results:
    """Say for each context which canaries are hidden; those that cannot stand there are left out."""
    return {
        name: {row: is_hidden for row in rows if (is_hidden := hidden(mask, name, row)) is not None}
        for name in CONTEXTS
    }


def figures(results: Results) -> dict[str, Any]:
    """Count the hidden of the tried, for each context and group; a kind that nothing shows is tried, and not asked for."""
    contexts: dict[str, dict[str, list[int]]] = {}
    asked = [0, 0]
    for name, cells in results.items():
        counts = {group: [0, 0] for group in GROUPS}
        for canary, is_hidden in cells.items():
            for group in canary.groups():
                counts[group][0] += is_hidden
                counts[group][1] += 1
            if is_asked(name, canary):
                asked[0] += is_hidden
                asked[1] += 1
        contexts[name] = counts
    pairs = [sum(counts["all"][part] for counts in contexts.values()) for part in (0, 1)]
    return {"contexts": contexts, "pairs": pairs, "asked": asked}


def missed(results: Results) -> dict[str, list[str]]:
    """Name the kinds that are asked for in a context and not hidden; a kind that is held out is never named."""
    return {
        name: sorted(
            canary.kind
            for canary, is_hidden in cells.items()
            if not is_hidden and is_asked(name, canary) and not canary.is_held_out
        )
        for name, cells in results.items()
    }


def worse(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return a sentence for each number that fell."""
    return [
        f"{name}, {group}: {now['contexts'][name][group][0]} hidden, before {count}"
        for name, groups in before["contexts"].items()
        for group, (count, _) in groups.items()
        if now["contexts"][name][group][0] < count
    ]


def table(found: dict[str, Any]) -> str:
    """Write the figures as a table of Markdown."""
    lines = [f"| context | {' | '.join(GROUPS)} |", "| --- |" + " --- |" * len(GROUPS)]
    for name, groups in found["contexts"].items():
        cells = []
        for group in GROUPS:
            count, tried = groups[group]
            has_none = not tried or (group == "named" and not CONTEXTS[name].has_name)
            cells.append("-" if has_none else f"{count} of {tried}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def share(found: dict[str, Any], name: str, *groups: str) -> float:
    """Return the share of hidden secrets in a context."""
    counts = [found["contexts"][name][group] for group in groups]
    return float(sum(count for count, _ in counts) / sum(tried for _, tried in counts))


def part(found: dict[str, Any], misses: dict[str, list[str]]) -> str:
    """Write the part of docs/masking.md that is made of figures."""
    asked, tried = found["asked"]
    kinds = found["contexts"]["bare"]["all"][1]
    lines = [
        f"**Measured** on {found['date']} by `{found['command']}`, with {kinds} kinds. It asks for {tried:,} pairs of a kind",
        f"and a context that tells it; {asked:,} are hidden ({asked / tried:.1%}).",
        "",
        table(found),
        "",
    ]
    if before := found.get("before"):
        said = " and ".join(f"{row['pairs'][0]:,} at {row['commit']}" for row in before)
        hidden_pairs, pairs = found["pairs"]
        lines += [f"With the pairs that nothing tells, {hidden_pairs:,} of {pairs:,} are hidden. It was {said}.", ""]
    if false := found.get("alarms"):
        rate = false["masked"] / false["characters"]
        lines += [
            f"**False alarms:** {false['recordings']} recorded sessions of other people have {false['characters']:,} characters.",
            f"{false['masked']} of them are masked ({rate:.5%}; at most 0.001% may be), most of these passwords of test suites.",
            "",
        ]
    lines += ["**Missed**, by name, where something tells them:", "", "```"]
    by_kinds: dict[str, list[str]] = {}
    for name, missing in misses.items():
        by_kinds.setdefault("\n".join(textwrap.wrap(" ".join(missing), 118, break_on_hyphens=False)), []).append(name)
    for missing_lines, names in by_kinds.items():
        lines += [f"in {', '.join(names)}:", textwrap.indent(missing_lines or "none", "  ")]
    lines.append("```")
    return "\n".join(lines)


def with_part(text: str, found: dict[str, Any], misses: dict[str, list[str]]) -> str:
    """Return the page with its part written from the figures."""
    return marked.with_part(text, "<!-- figures: masking -->", part(found, misses))


# --- the command ---------------------------------------------------------------------------------------------------


def _mask_of(source: Path | None) -> Mask:
    """Import `mask`, of this tree or of another one."""
    if source is not None:
        sys.path.insert(0, str(source))
    try:
        from undrift.core.text.secrets import mask
    except ImportError:
        from undrift.core.mask import mask  # type: ignore[import-not-found,no-redef]  # where it stood once
    return mask


def _written(now: dict[str, Any], misses: dict[str, list[str]]) -> int:
    """Raise the figures on disk and write the page, or say what fell."""
    figures_on_disk = json.loads(_FIGURES.read_text(encoding="utf-8"))
    before = figures_on_disk.get("masking", {})
    if before and (fell := worse(before, now)):
        print("Nothing was written, as these fell:", *fell, sep="\n  ")
        return 1
    figures_on_disk["masking"] = before | {
        "command": "python -m bench.masking",
        "date": date.today().isoformat(),  # noqa: DTZ011 - the day on the wall
        "canaries_sha256": hashlib.sha256(CANARIES.read_bytes()).hexdigest(),
        **now,
    }
    _FIGURES.write_text(json.dumps(figures_on_disk, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_part(PAGE.read_text(encoding="utf-8"), figures_on_disk["masking"], misses), encoding="utf-8")
    return 0


def main(arguments: Sequence[str]) -> int:
    """Measure and print; write with ``--write``."""
    parser = argparse.ArgumentParser(prog="python -m bench.masking", description="Secrets hidden: kinds x contexts.")
    parser.add_argument("--write", action="store_true", help="raise docs/figures.json")
    parser.add_argument(
        "--alarms", nargs="+", type=Path, metavar="DIR", help="count what is masked of recorded sessions"
    )
    parser.add_argument(
        "--values", action="store_true", help="with --alarms: print each masked text, on this screen only"
    )
    parser.add_argument("--cost", action="store_true", help="time a megabyte of the usual texts")
    parser.add_argument("--src", type=Path, metavar="DIR", help="measure the package in this folder")
    options = parser.parse_args(arguments)
    mask = _mask_of(options.src)
    if options.cost:
        for name, ratio in cost(mask, [row.value for row in canaries()]).items():
            print(f"{name:9} {ratio:6.2f} loops of {LOOP:,} additions for a megabyte")
        return 0
    if options.alarms:
        return _print_alarms(mask, options)
    results = measure(mask, canaries())
    now = figures(results)
    print(table(now))
    print(
        f"\nAll pairs: {now['pairs'][0]:,} of {now['pairs'][1]:,}; asked for: {now['asked'][0]:,} of {now['asked'][1]:,}."
    )
    for name, kinds in missed(results).items():
        print(f"\n{name}: {len(kinds)} missed by name: {' '.join(kinds)}")
    return _written(now, missed(results)) if options.write else 0


def _print_alarms(mask: Mask, options: argparse.Namespace) -> int:
    found, values = alarms(mask, options.alarms)
    share = found["masked"] / max(1, found["characters"])
    print(
        f"{found['recordings']} recordings, {found['characters']:,} characters, {found['masked']:,} masked: {share:.5%}"
    )
    for name, texts in sorted(values.items()):
        print(
            f"  {name}: {texts.total()} times, {len(texts)} values, {sum(len(t) * n for t, n in texts.items())} characters"
        )
        if options.values:
            print(*(f"    {count} x {text!r}" for text, count in texts.most_common()), sep="\n")
    if options.write:
        figures_on_disk = json.loads(_FIGURES.read_text(encoding="utf-8"))
        figures_on_disk["masking"]["alarms"] = found | {"date": date.today().isoformat()}  # noqa: DTZ011 - the day on the wall
        _FIGURES.write_text(json.dumps(figures_on_disk, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
