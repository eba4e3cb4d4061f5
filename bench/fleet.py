"""The growth and the needs of a fleet of developers: ``python -m bench.fleet``, with one of

- ``measure OUT.json [SESSIONS_DIR]``: measures the inputs on this machine, with the real engine and a real server.
- ``simulate IN.json --developers 100000 --sessions 20``: what so many need. ``--json`` prints all of it, hour by hour.
- ``write``: the tables of docs/scale.md from docs/fleet.json.

Law: no result stands here. A figure is measured, or it follows from `bench.fleet_assumed.ASSUMED`, which says where each is from.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.fleet_assumed import ASSUMED, ORDERS
from bench.fleet_model import all_bytes, simulate
from bench.marked import with_part

__all__ = ["DEVELOPERS", "FILE", "PAGE", "SESSIONS", "main", "parts", "tables", "with_parts"]

_ROOT = Path(__file__).parents[1]
FILE = _ROOT / "docs" / "fleet.json"
"""The measurement that the page shows."""
PAGE = _ROOT / "docs" / "scale.md"
DEVELOPERS, SESSIONS = 100_000, 20.0
_UNITS = ("", "k", "M", "G", "T", "P")

Result = Mapping[str, Any]


def amount(value: float, unit: str = "") -> str:
    """Write a number with three digits that count: ``1.24 TB``, ``512``, ``0.35``."""
    power = 0
    while abs(value) >= 999.5 and power < len(_UNITS) - 1:
        value, power = value / 1_000, power + 1
    if value and abs(value) < 0.0995:
        return f"{value:.2g} {unit}".strip()
    digits = 0 if abs(value) >= 99.5 or value == 0 else 1 if abs(value) >= 9.95 else 2
    text = f"{value:.{digits}f}"
    if digits and not power and "." in text:
        text = text.rstrip("0").rstrip(".")
    tail = f"{_UNITS[power]}{unit}"
    return f"{text} {tail}" if tail else text


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


# ----------------------------------------------------------------------------------------------------------- measured


def measured_part(found: Result) -> str:
    """Write what was measured, and on what."""
    about = found["about"]
    shapes = found["shapes"]
    what = "recorded sessions" if about["sessions_sha256"] else "sessions made of the standard library"
    lines = [
        f"**Measured** on {about['date']} by `python -m bench.fleet measure`: undrift {about['undrift']}, PostgreSQL {about['postgresql']},",
        f"Python {about['python']}, psycopg {about['psycopg']}, {about['cores']} shared cores of {about['system']}.",
        f"Load {about['load_at_start']:g} to {about['load_at_end']:g}, so times are CPU times. {about['sessions']} {what}.",
        "",
        _table(
            ["of one session, on average", *(_budget(name) for name in shapes)],
            [[name, *(read(one) for one in shapes.values())] for name, read in _OF_A_SESSION],
        ),
        "",
        _table(["bytes of a session, by table", "rows", "large values", "indexes"], _by_table(shapes["40000"])),
        "",
        _table(["of one", "measured"], _of_one(found)),
        "",
        _table(
            ["connections at once", "commits a second (wall)", "server CPU of a commit", "client CPU of a commit"],
            [
                [count, amount(one["commits_per_s"]), f"{one['server_ms']:.2f} ms", f"{one['client_ms']:.2f} ms"]
                for count, one in found["commits"].items()
            ],
        ),
        "",
        _table(
            [
                "leaves of each table",
                "planning a read",
                "planning a prune",
                "server CPU: read",
                "server CPU: prune",
                "memory of a connection",
            ],
            [
                [
                    f"{int(leaves):,}",
                    f"{one['planning_of_load_ms']:.2f} ms",
                    f"{one['planning_of_prune_ms']:.2f} ms",
                    f"{one['quiet_read_server_ms']:.2f} ms",
                    f"{one['prune_server_ms']:.2f} ms",
                    amount(one["connection_bytes"], "B"),
                ]
                for leaves, one in found["partitions"].items()
            ],
        ),
    ]
    return "\n".join(lines)


def _budget(name: str) -> str:
    return f"budget {int(name):,} tokens" if name.isdigit() else "budget by default"


def _cpu(kind: str) -> Any:
    return lambda one: f"{one['cpu_ms'][kind]['mean']:.1f} ms" if one["cpu_ms"][kind]["count"] else "none"


def _of_table(name: str) -> Any:
    return lambda one: amount(one["rows"].get(name, 0.0))


_OF_A_SESSION: Sequence[tuple[str, Any]] = (
    ("tokens", lambda one: amount(one["tokens"])),
    ("turns", lambda one: amount(one["turns"])),
    ("bytes of a request, mean", lambda one: amount(one["body_bytes"], "B")),
    ("prunes", lambda one: amount(one["prunes"])),
    ("other commits (times of requests, name, calibration)", lambda one: amount(one["other_commits"])),
    ("rows of operations", _of_table("operations")),
    ("rows of originals", _of_table("originals")),
    ("decisions", lambda one: amount(one["decisions"])),
    ("content that left, raw", lambda one: amount(one["objects"]["raw_bytes"], "B")),
    ("the same, compressed and sealed", lambda one: amount(one["objects"]["bytes"], "B")),
    ("all bytes on the server", lambda one: amount(all_bytes(one["bytes"]), "B")),
    ("the same with the index of words", lambda one: amount(all_bytes(one["bytes_with_words"]), "B")),
    (
        "write-ahead log of the replay, with page images if a checkpoint fell into it",
        lambda one: amount(one["wal_bytes"], "B"),
    ),
    ("write-ahead log of the index of words", lambda one: amount(one["words"]["wal_bytes"], "B")),
    ("gateway CPU: first request", _cpu("first")),
    ("gateway CPU: quiet turn", _cpu("quiet")),
    ("gateway CPU: quiet turn, larger half of the bodies", _cpu("quiet_of_larger")),
    ("gateway CPU: pruning turn", _cpu("pruning")),
    (
        "round trips: first, quiet, pruning",
        lambda one: ", ".join(f"{each:.1f}" for each in one["round_trips"].values()),
    ),
)


def _by_table(shape: Result) -> list[list[str]]:
    rows = []
    for name, one in sorted(shape["bytes_with_words"].items(), key=lambda pair: -sum(pair[1].values())):
        plain = shape["bytes"].get(name, {})
        rows.append([f"`{name}`", *(amount(plain.get(key, 0.0), "B") for key in ("rows", "beside", "indexes"))])
        if name == "originals":
            rows.append(["`originals` with words", *(amount(one[key], "B") for key in ("rows", "beside", "indexes"))])
    return rows


def _of_one(found: Result) -> list[list[str]]:
    cold, wal, cost = found["cold"], found["wal"], found["statements"]
    grown, indexing = found["words_growth"], found["shapes"]["40000"]["words"]
    http = found["served"]["turn_cpu_ms"] - found["served"]["code_cpu_ms"]
    rows = [
        [
            "turn over HTTP with a streamed answer of 500 events: CPU of the process",
            f"{found['served']['turn_cpu_ms']:.1f} ms",
        ],
        ["of this HTTP, beside the same turns without it", f"{http:.1f} ms"],
        ["quiet turn with `undrift_affinity=yes`: round trips", f"{found['with_affinity']['quiet_round_trips']:.2f}"],
        ["cold open of a whole session: gateway CPU", f"{cold['cpu_ms']['mean']:.0f} ms"],
        ["cold open: round trips", f"{cold['round_trips']:.1f}"],
    ]
    names = {"quiet_read": "quiet read", "other_commit": "small commit", "prune": "prune", "load": "load of a session"}
    for name, words in names.items():
        one = cost[name]
        rows.append([f"{words}: server CPU, client CPU", f"{one['server_ms']:.2f} ms, {one['client_ms']:.2f} ms"])
    rows += [
        ["prune: log, as it comes", amount(wal["prune"], "B")],
        ["prune: log, right after a checkpoint", amount(wal["prune_after_checkpoint"], "B")],
        ["small commit: log, as it comes", amount(wal["other"], "B")],
        ["small commit: log, right after a checkpoint", amount(wal["other_after_checkpoint"], "B")],
        ["index of words: words of an original", f"{grown['words_per_original']:.0f}"],
        ["index of words: bytes of an original", amount(grown["bytes_per_original"], "B")],
        ["the same, ten times as many originals with the same words", amount(grown["bytes_per_original_of_tenfold"], "B")],
        ["index of words of a session: gateway CPU, server CPU", f"{indexing['client_ms']:.0f} ms, {indexing['server_ms']:.0f} ms"],
        ["gateway process: resident", amount(found["process"]["process_bytes"], "B")],
        ["open session: resident", amount(cold["lane_bytes"], "B")],
        ["open session: the engine's own estimate", amount(cold["lane_estimate_bytes"], "B")],
        ["known session state: resident", amount(found["states"]["state_bytes"], "B")],
        ["open store of one more member: resident", amount(found["states"]["member_store_bytes"], "B")],
        [f"memory in the index of a project of {found['memory_index']['memories']:,}", amount(found["memory_index"]["index_bytes"], "B")],
        ["the same: CPU to read it in", f"{found['memory_index']['index_cpu_ms']:.2f} ms"],
    ]  # fmt: skip
    return rows


# ---------------------------------------------------------------------------------------------------------- simulated


def _rows(results: Sequence[Result]) -> list[list[str]]:
    return [[name, *(read(one) for one in results)] for name, read in _NEEDS]


def _at(*path: str, unit: str = "", scale: float = 1.0) -> Any:
    def read(result: Result) -> str:
        value: Any = result
        for name in path:
            value = value[name]
        return amount(value * scale, unit)

    return read


_NEEDS: Sequence[tuple[str, Any]] = (
    ("sessions a day", _at("sessions_per_day")),
    ("turns a day", _at("load", "turns_per_day")),
    ("turns a second at the peak", _at("load", "turns_per_s_peak")),
    ("commits a day", _at("load", "commits_per_day")),
    ("commits a second at the peak", _at("load", "commits_per_s_peak")),
    ("statements a second at the peak", _at("load", "statements_per_s_peak")),
    ("rows a day", _at("load", "rows_per_day")),
    ("bytes a day", _at("disk", "bytes_per_day", unit="B")),
    ("bytes kept", _at("disk", "bytes_kept", unit="B")),
    ("of these index of words", _at("disk", "of_these_index_of_words", unit="B")),
    ("of these content", _at("disk", "of_these_content", unit="B")),
    ("write-ahead log a day", _at("disk", "wal_bytes_per_day", unit="B")),
    ("the same at most", _at("disk", "wal_bytes_per_day_at_most", unit="B")),
    ("log a second at the peak", _at("server", "bytes_of_log_per_s_peak", unit="B")),
    ("gateway: busy cores, mean", _at("gateway", "busy_cores_mean")),
    ("gateway: busy cores, peak", _at("gateway", "busy_cores_peak")),
    ("gateway processes, a core each", _at("gateway", "processes")),
    ("added to a turn at the peak, p50", _at("gateway", "wait_p50_ms", unit="ms")),
    ("added to a turn at the peak, p99", _at("gateway", "wait_p99_ms", unit="ms")),
    ("server: busy cores, peak", _at("server", "busy_cores_peak")),
    ("server: cores", _at("server", "cores")),
    ("database servers", _at("server", "servers")),
    ("of these for cores", _at("server", "servers_by_cores")),
    ("of these for disk", _at("server", "servers_by_disk")),
    ("of these for the log", _at("server", "servers_by_log")),
    ("open sessions at the peak", _at("memory", "open_sessions_at_peak")),
    ("memory of open sessions", _at("memory", "bytes_of_sessions", unit="B")),
    ("memory of memory indexes", _at("memory", "bytes_of_memory_indexes", unit="B")),
    ("memory of one gateway process", _at("memory", "bytes_per_process", unit="B")),
    ("connections of one server, at most", _at("connections", "at_most")),
    ("connections in use at the peak", _at("connections", "in_use_at_peak")),
    ("partitions of one server", _at("disk", "partitions")),
    (
        "largest leaf of one server",
        lambda one: amount(one["disk"]["bytes_of_the_largest_leaf"] / one["server"]["servers"], "B"),
    ),
    ("objects a day, one a session", _at("disk", "objects_per_day_by_session")),
    ("bytes of an object", _at("disk", "bytes_of_an_object_by_session", unit="B")),
    ("USD a day", _at("usd", "day")),
    ("USD a month", _at("usd", "month")),
    ("of these gateways", _at("usd", "gateway_month")),
    ("of these cores of databases", _at("usd", "database_cores_month")),
    ("of these disks", _at("usd", "database_disk_month")),
    ("USD a month, content as objects", _at("usd", "month_with_content_elsewhere")),
    ("USD a month for each developer", lambda one: amount(one["usd"]["month"] / one["developers"])),
)


def orders_part(found: Result) -> str:
    """Write what each order of magnitude needs, at the measured budget."""
    results = [simulate(found, developers, SESSIONS) for developers in ORDERS]
    head = [
        f"{SESSIONS:g} sessions a day each",
        *(f"**{one:,}**" if one == DEVELOPERS else f"{one:,}" for one in ORDERS),
    ]
    return _table(head, _rows(results))


def variants_part(found: Result) -> str:
    """Write the main column beside its variants, each with one or two assumptions changed."""
    kinds: Sequence[tuple[str, str, Mapping[str, float]]] = (
        ("budget 40,000", "40000", {}),
        ("budget by default", "auto", {}),
        ("no affinity, worst case", "40000", {"with_affinity": 0}),
        ("no index of words", "40000", {"searched_share": 0}),
        ("index of words as of ten times the sample", "40000", {"words_growth": 1}),
        ("a year kept", "40000", {"kept_days": 365}),
        ("a year, `undrift_prepare=no`", "40000", {"kept_days": 365, "prepares": 0}),
        ("peak 1.5 times the mean", "40000", {"peak_to_mean": 1.5}),
    )
    results = [simulate(found, DEVELOPERS, SESSIONS, shape=shape, changed=changed) for _, shape, changed in kinds]
    wanted = {
        "turns a second at the peak", "statements a second at the peak", "bytes kept", "write-ahead log a day", "gateway processes, a core each",
        "server: cores", "database servers", "memory of open sessions", "memory of memory indexes", "partitions of one server", "USD a month",
    }  # fmt: skip
    rows = [row for row in _rows(results) if row[0] in wanted]
    return _table([f"{DEVELOPERS:,} developers", *(name for name, _, _ in kinds)], rows)


def assumed_part(_: Result) -> str:
    """Write what was assumed."""
    rows = [[f"`{name}`", f"{one.value:g} {one.unit}".strip(), one.why] for name, one in ASSUMED.items()]
    return _table(["assumed", "value", "what it is"], rows)


PARTS = {"measured": measured_part, "orders": orders_part, "variants": variants_part, "assumed": assumed_part}


def parts(found: Result) -> dict[str, str]:
    """Return the page's generated parts by name."""
    return {name: write(found) for name, write in PARTS.items()}


def with_parts(page: str, texts: Mapping[str, str]) -> str:
    """Return a page with each part between its markers. Raises ValueError: a marker is missing."""
    for name, text in texts.items():
        page = with_part(page, f"<!-- fleet: {name} -->", text)
    return page


def tables(result: Result) -> str:
    """Write one result for people."""
    text = _table(["", f"{result['developers']:,} developers"], _rows([result]))
    if "hours" in result:
        head = ["hour", "turns a second", "gateway busy", "added p99, ms", "server busy", "statement p99, ms"]
        rows = [
            [
                f"{one['hour']:02d}",
                *(amount(one[key]) for key in ("turns_per_s", "gateway_busy", "gateway_wait_p99_ms", "server_busy", "server_wait_p99_ms")),
            ]
            for one in result["hours"]
        ]  # fmt: skip
        text += "\n\n" + _table(head, rows)
    return text


# ---------------------------------------------------------------------------------------------------------------- all


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, simulate or write."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.fleet", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    acts = parser.add_subparsers(dest="act", required=True)
    one = acts.add_parser("measure", help="the inputs, on this machine")
    one.add_argument("out", type=Path)
    one.add_argument("folder", type=Path, nargs="?", help="recorded sessions; default: texts of the standard library")
    one.add_argument("--sessions", type=int, help="how many of them")
    one = acts.add_parser("simulate", help="what a fleet needs")
    one.add_argument("file", type=Path)
    one.add_argument("--developers", type=int, default=DEVELOPERS)
    one.add_argument("--sessions", type=float, default=SESSIONS, help="of each developer, a day")
    one.add_argument("--budget", default="40000", help="as it was measured: 40000 or auto")
    one.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="of an assumption")
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--json", action="store_true")
    acts.add_parser("write", help="the tables of docs/scale.md")
    given = parser.parse_args(arguments)
    if given.act == "measure":
        return _measure(given)
    if given.act == "write":
        found = json.loads(FILE.read_text(encoding="utf-8"))
        PAGE.write_text(with_parts(PAGE.read_text(encoding="utf-8"), parts(found)), encoding="utf-8")
        return 0
    return _simulate(given, parser)


def _measure(given: argparse.Namespace) -> int:
    from bench.fleet_measure import MeasuringSize, measure

    size = MeasuringSize(sessions=given.sessions) if given.sessions else MeasuringSize()
    found = measure(given.folder, size)
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(measured_part(found))
    return 0


def _simulate(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    found = json.loads(given.file.read_text(encoding="utf-8"))
    changed = dict[str, float]()
    for text in given.set:
        name, _, value = text.partition("=")
        if name not in ASSUMED:
            parser.error(f"there is no assumption {name!r}; there are {', '.join(ASSUMED)}")
        try:
            changed[name] = float(value)
        except ValueError:
            parser.error(f"{text!r}: the value of an assumption is a number")
    if given.budget not in found["shapes"]:
        parser.error(f"sessions were measured with these budgets: {', '.join(found['shapes'])}")
    result = simulate(
        found, given.developers, given.sessions, shape=given.budget, changed=changed, seed=given.seed, has_hours=True
    )
    print(json.dumps(result, indent=1) if given.json else tables(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
