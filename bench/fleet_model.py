"""The needs of a fleet of developers, by measured figures and by assumptions that are named. Pure.

Law: each figure is computed from a measurement, or from an entry of `ASSUMED`. The same inputs and the same seed give the same
result. More developers never need less.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from bench.fleet_assumed import Values, assumptions, hours
from bench.fleet_queues import Load, drawn, fewest, share_of, sojourns

__all__ = ["all_bytes", "simulate"]

Measured = Mapping[str, Any]

_GATEWAY_ARRIVALS, _SERVER_ARRIVALS, _HOUR_ARRIVALS = 6_000, 6_000, 1_500
_MS, _DAY_S, _MONTH_DAYS = 1e-3, 86_400.0, 30.0
_LEAVES, _PARTITIONED = 4, ("operations", "segments", "originals")


@dataclass(frozen=True, slots=True)
class _Session:
    """One session of the fleet: the measured one, in proportion to its tokens."""

    turns: float
    prunes: float
    other_commits: float
    rows: dict[str, float]
    table_bytes: float
    word_bytes: float
    object_bytes: float
    objects: float
    segment_disk_bytes: float
    largest_table_bytes: float
    wal_bytes: float
    wal_bytes_at_most: float
    scale: float


def _session(measured: Measured, shape: Measured, given: Values) -> _Session:
    scale = given["tokens_per_session"] / shape["tokens"]
    plain, searched = (all_bytes(shape[name]) for name in ("bytes", "bytes_with_words"))
    prunes, others, wal = shape["prunes"] * scale, shape["other_commits"] * scale, measured["wal"]
    words = given["searched_share"] * scale
    return _Session(
        turns=shape["turns"] * scale,
        prunes=prunes,
        other_commits=others,
        rows={name: number * scale for name, number in shape["rows"].items()},
        table_bytes=plain * scale,
        word_bytes=(searched - plain) * words * _grown(measured["words_growth"], given["words_growth"]),
        object_bytes=shape["objects"]["bytes"] * scale,
        objects=shape["objects"]["count"] * scale,
        segment_disk_bytes=sum(shape["bytes"].get("segments", {"rows": 0.0}).values()) * scale,
        largest_table_bytes=max(
            sum(sizes.values()) for name, sizes in shape["bytes_with_words"].items() if name in _PARTITIONED
        )
        * scale,
        wal_bytes=prunes * wal["prune"] + others * wal["other"] + shape["words"]["wal_bytes"] * words,
        wal_bytes_at_most=prunes * wal["prune_after_checkpoint"]
        + others * wal["other_after_checkpoint"]
        + shape["words"]["wal_bytes"] * words,
        scale=scale,
    )


def _grown(growth: Values, share: float) -> float:
    """Return the size of a large index of words over that of the sample's, for as many originals."""
    ratio = (
        growth["bytes_per_original_of_tenfold"] / growth["bytes_per_original"] if growth["bytes_per_original"] else 1.0
    )
    return 1 + share * (ratio - 1)


def all_bytes(tables: Mapping[str, Values]) -> float:
    """Return the bytes of all parts of all tables."""
    return sum(sum(sizes.values()) for sizes in tables.values())


def _gateway_load(measured: Measured, shape: Measured, one: _Session, sessions_per_s: float, given: Values) -> Load:
    """Return the requests of a second, with the CPU that each takes of a gateway; HTTP is a part of it."""
    cpu = shape["cpu_ms"]
    reread, quiet = measured["cold"]["cpu_ms"], cpu["quiet"]
    counts = ((1.0, "first"), (one.prunes, "pruning"))
    kinds = [(number, cpu[kind]["mean"], cpu[kind]["quantiles"]) for number, kind in counts if cpu[kind]["count"]]
    kinds.append((_cold(one, given), reread["mean"] * one.scale, reread["quantiles"]))
    kinds.append((max(0.0, one.turns - sum(kind[0] for kind in kinds)), quiet["mean"], quiet["quantiles"]))
    http_ms = max(0.0, measured["served"]["turn_cpu_ms"] - measured["served"]["code_cpu_ms"])
    words_ms = shape["words"]["client_ms"] * given["searched_share"] * one.scale / one.turns
    average, draw = drawn(kinds, http_ms + words_ms)
    return Load(sessions_per_s * one.turns, average, draw)


def _cold(one: _Session, given: Values) -> float:
    """Return how many requests of a session meet a process that does not know it, beside the first."""
    return given["cold_opens"] if given["with_affinity"] else one.turns - 1 - one.prunes


def _server_load(measured: Measured, shape: Measured, one: _Session, sessions_per_s: float, given: Values) -> Load:
    """Return the statements of a second, with the CPU that each takes of the server. Sizes are drawn as exponential ones.

    A prune costs what it cost beside the most others: there the server's own writers are counted too.
    """
    cost, trips = measured["statements"], shape["round_trips"]
    opens = 1 + _cold(one, given)
    quiet_trips = measured["with_affinity"]["quiet_round_trips"] if given["with_affinity"] else trips["quiet"]
    commits = one.prunes + one.other_commits
    quiet = max(0.0, (one.turns - one.prunes) * quiet_trips + one.prunes * trips["pruning"] - commits)
    read_ms, prune_ms = (_of_partitions(measured, name, given) for name in ("load", "prune"))
    kinds = (
        (one.prunes, max(each["server_ms"] for each in (cost["prune"], *measured["commits"].values())) + prune_ms),
        (one.other_commits, cost["other_commit"]["server_ms"] + (0.0 if given["prepares"] else prune_ms)),
        (quiet + opens * trips["first"], cost["quiet_read"]["server_ms"] + read_ms),
        (opens, cost["load"]["server_ms"] * one.scale),
        (given["searched_share"], shape["words"]["server_ms"] * one.scale),
    )
    number = sum(count for count, _ in kinds)
    average = sum(count * value for count, value in kinds) / number
    return Load(sessions_per_s * number, average, lambda random: random.expovariate(1) * average)


def _of_partitions(measured: Measured, name: str, given: Values) -> float:
    """Return the CPU milliseconds that the partitions add to a statement of the server, beside the fewest measured."""
    points, leaves = measured["partitions"], _months(given) * _LEAVES
    kind = {"load": "quiet_read_server_ms", "prune": "prune_server_ms"}[name]
    more = max(0.0, _between(points, kind, leaves) - _between(points, kind, 0))
    return more if given["prepares"] else more + _between(points, f"planning_of_{name}_ms", leaves)


def _months(given: Values) -> int:
    """Return the months whose partitions stand at once, the newest included."""
    return math.ceil(given["kept_days"] / _MONTH_DAYS) + 1


# -------------------------------------------------------------------------------------------------------------- fleet


def simulate(
    measured: Measured,
    developers: int,
    sessions: float,
    *,
    shape: str = "40000",
    changed: Values | None = None,
    seed: int = 1,
    has_hours: bool = False,
) -> dict[str, Any]:
    """Return what so many developers need with so many sessions a day, as JSON values.

    Args:
        shape: The budget that sessions were measured with.
        changed: Assumptions that differ from `ASSUMED`.
        has_hours: True: with the waits of each hour of a day.
    """
    given, found = assumptions(changed), measured["shapes"][shape]
    one, a_day = _session(measured, found, given), developers * sessions
    mean_per_s, peak = a_day / _DAY_S, max(hours(given["peak_to_mean"]))
    gateway = _gateway_load(measured, found, one, mean_per_s * peak, given)
    server = _server_load(measured, found, one, mean_per_s * peak, given)
    alone = _spread_over(gateway)
    processes, waits = fewest(
        gateway,
        given["gateway_share"],
        given["gateway_wait_ms"],
        lambda count: sojourns(alone(count), 1, _GATEWAY_ARRIVALS, Random(seed)),
    )
    cores, statements = fewest(
        server,
        given["server_share"],
        given["server_wait_ms"],
        lambda count: sojourns(server, count, _SERVER_ARRIVALS, Random(seed + 1)),
    )
    load = _load_of(a_day, one, mean_per_s, peak, gateway, server)
    disk = _disk(a_day, one, given)
    memory = _memory(measured, one, developers, a_day, processes, peak, given)
    servers = _servers(developers, cores, disk, peak, given)
    result: dict[str, Any] = {
        "developers": developers,
        "sessions_per_day": a_day,
        "load": load,
        "gateway": {
            "processes": processes,
            "busy_cores_mean": gateway.busy / peak,
            "busy_cores_peak": gateway.busy,
            "cpu_ms_per_turn": gateway.mean_ms,
            "wait_p50_ms": share_of(waits, 0.5),
            "wait_p99_ms": share_of(waits, 0.99),
        },
        "server": {
            "cores": cores,
            "busy_cores_mean": server.busy / peak,
            "busy_cores_peak": server.busy,
            "wait_p50_ms": share_of(statements, 0.5),
            "wait_p99_ms": share_of(statements, 0.99),
            **servers,
        },
        "disk": disk,
        "memory": memory,
        "connections": _connections(measured, server, load["commits_per_s_peak"], processes, servers["servers"], given),
        "usd": _usd(a_day, one, processes, cores, disk, memory, servers, given),
    }
    if has_hours:
        result["hours"] = list(_by_hour(gateway, server, processes, cores, given, seed))
    return result


def _spread_over(load: Load) -> Callable[[int], Load]:
    """Return the load of one of so many processes: a session belongs to one, and Python runs one thread of it at a time."""
    return lambda count: Load(load.rate / count, load.mean_ms, load.size)


def _load_of(
    a_day: float, one: _Session, mean_per_s: float, peak: float, gateway: Load, server: Load
) -> dict[str, float]:
    return {
        "turns_per_day": a_day * one.turns,
        "turns_per_s_mean": mean_per_s * one.turns,
        "turns_per_s_peak": gateway.rate,
        "prunes_per_day": a_day * one.prunes,
        "commits_per_day": a_day * (one.prunes + one.other_commits),
        "commits_per_s_peak": mean_per_s * peak * (one.prunes + one.other_commits),
        "statements_per_s_peak": server.rate,
        "rows_per_day": a_day * sum(one.rows.values()),
        **{f"rows_of_{name}_per_day": a_day * number for name, number in one.rows.items()},
    }


def _disk(a_day: float, one: _Session, given: Values) -> dict[str, float]:
    months, stays = _months(given), a_day * given["kept_days"]
    whole = one.table_bytes + one.word_bytes
    without = whole - one.segment_disk_bytes
    a_month = a_day * _MONTH_DAYS
    return {
        "bytes_per_session": whole,
        "bytes_per_day": a_day * whole,
        "bytes_kept": stays * whole,
        "of_these_index_of_words": stays * one.word_bytes,
        "of_these_content": stays * one.segment_disk_bytes,
        "bytes_kept_with_content_elsewhere": stays * without,
        "object_bytes_per_day": a_day * one.object_bytes,
        "object_bytes_kept": stays * one.object_bytes,
        "objects_per_day_by_prune": a_day * one.objects,
        "objects_per_day_by_session": a_day if one.objects else 0.0,
        "bytes_of_an_object_by_session": one.object_bytes,
        "wal_bytes_per_day": a_day * one.wal_bytes,
        "wal_bytes_per_day_at_most": a_day * one.wal_bytes_at_most,
        "months": months,
        "leaves_of_a_table": months * _LEAVES,
        "partitions": months * _LEAVES * len(_PARTITIONED),
        "bytes_of_the_largest_leaf": a_month * one.largest_table_bytes / _LEAVES,
    }


def _memory(
    measured: Measured, one: _Session, developers: int, a_day: float, processes: int, peak: float, given: Values
) -> dict[str, float]:
    open_s = 60 * (given["session_minutes"] + given["idle_minutes"])
    open_now = a_day / _DAY_S * peak * open_s
    lanes = open_now * measured["cold"]["lane_bytes"] * one.scale
    index = given["memories_per_project"] * measured["memory_index"]["index_bytes"]
    indexes = developers * given["projects_per_developer"] * index
    base = processes * measured["process"]["process_bytes"]
    return {
        "open_sessions_at_peak": open_now,
        "bytes_of_sessions": lanes,
        "of_these_known_states": open_now * measured["states"]["state_bytes"] * one.scale,
        "bytes_of_memory_indexes": indexes,
        "bytes_of_processes": base,
        "bytes": lanes + indexes + base,
        "bytes_with_indexes_elsewhere": lanes + base,
        "bytes_per_process": (lanes + indexes + base) / processes,
    }


def _servers(developers: int, cores: int, disk: Values, peak: float, given: Values) -> dict[str, float]:
    """Return how many database servers are needed, by what fills first; an organisation stands on one of them."""
    by = {
        "cores": cores / given["server_cores"],
        "disk": disk["bytes_kept"] / given["server_bytes"],
        "log": disk["wal_bytes_per_day"] / _DAY_S * peak / given["server_wal_per_s"],
    }
    count = max(1, math.ceil(max(by.values())))
    return {
        **{f"servers_by_{name}": value for name, value in by.items()},
        "servers": count,
        "organisations_per_server": max(1.0, developers / given["developers_per_organisation"] / count),
        "bytes_of_log_per_s_peak": disk["wal_bytes_per_day"] / _DAY_S * peak,
    }


def _connections(
    measured: Measured, server: Load, commits_per_s: float, processes: int, servers: float, given: Values
) -> dict[str, float]:
    """Return the connections of one server, and what the partitions make of them."""
    at_most = processes * given["connections_per_process"] / servers
    by_leaves, leaves = measured["partitions"], _months(given) * _LEAVES
    of_one = _between(by_leaves, "connection_bytes", leaves)
    return {
        "at_most": at_most,
        "in_use_at_peak": (server.rate * (server.mean_ms + given["distance_ms"]) + commits_per_s * given["sync_ms"])
        * _MS
        / servers,
        "bytes_of_one": of_one,
        "bytes": at_most * of_one,
        "at_most_over_limit": at_most / given["most_connections"],
        "planning_of_load_ms": _between(by_leaves, "planning_of_load_ms", leaves),
        "planning_of_prune_ms": _between(by_leaves, "planning_of_prune_ms", leaves),
    }


def _between(points: Mapping[str, Values], name: str, at: float) -> float:
    """Return a figure between the measured points, along straight lines; beyond the last point along the last line."""
    known = sorted((float(leaves), one[name]) for leaves, one in points.items())
    if len(known) == 1 or at <= known[0][0]:
        return known[0][1]
    after = min(bisect_left(known, (at, 0.0)), len(known) - 1)
    (left, low), (right, high) = known[after - 1], known[after]
    return low + (high - low) * (at - left) / (right - left)


def _usd(
    a_day: float,
    one: _Session,
    processes: int,
    cores: int,
    disk: Values,
    memory: Values,
    servers: Values,
    given: Values,
) -> dict[str, float]:
    """Return what a month costs at the prices given: everything runs all day, sized for the peak."""
    month_h, gb = 24 * _MONTH_DAYS, 1e9
    gateway = processes * given["vcpu_hour_usd"] * month_h + memory["bytes"] / gb * given["gb_hour_usd"] * month_h
    database = given["copies"] * max(cores, servers["servers"]) * given["vcpu_hour_usd"] * month_h
    kept = given["copies"] * disk["bytes_kept"] / gb * given["block_gb_month_usd"]
    lean = given["copies"] * disk["bytes_kept_with_content_elsewhere"] / gb * given["block_gb_month_usd"]
    objects = disk["object_bytes_kept"] / gb * given["object_gb_month_usd"]
    puts = (a_day if one.objects else 0.0) * _MONTH_DAYS * given["object_put_usd"]
    month = gateway + database + kept
    return {
        "gateway_month": gateway,
        "database_cores_month": database,
        "database_disk_month": kept,
        "month": month,
        "day": month / _MONTH_DAYS,
        "month_with_content_elsewhere": gateway + database + lean + objects + puts,
    }


def _by_hour(
    gateway: Load, server: Load, processes: int, cores: int, given: Values, seed: int
) -> Iterator[dict[str, float]]:
    every = hours(given["peak_to_mean"])
    for hour, weight in enumerate(every):
        share = weight / max(every)
        one = Load(gateway.rate * share / processes, gateway.mean_ms, gateway.size)
        asked = Load(server.rate * share, server.mean_ms, server.size)
        waits = sojourns(one, 1, _HOUR_ARRIVALS, Random(seed * 100 + hour))
        statements = sojourns(asked, cores, _HOUR_ARRIVALS, Random(seed * 200 + hour))
        yield {
            "hour": hour,
            "turns_per_s": gateway.rate * share,
            "gateway_busy": one.busy,
            "gateway_wait_p99_ms": share_of(waits, 0.99),
            "server_busy": asked.busy / cores,
            "server_wait_p99_ms": share_of(statements, 0.99),
        }
