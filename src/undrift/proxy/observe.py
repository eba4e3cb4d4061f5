"""The gateway's log, one line for each request, and its figures for Prometheus.

Law: no content, no key, no header of a client; a name that a client chose is shortened and escaped. Used on the event loop
alone.
"""

import json
import logging
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from undrift.proxy.ask import ManagedBody
from undrift.proxy.routes import Route
from undrift.values.member import Member

__all__ = ["Counters", "Progress", "log_line", "safe_id"]

_log = logging.getLogger("undrift.proxy")

_PLAIN = re.compile(r"[\x21-\x7e]{1,128}")
_LONGEST_NAME = 100
_LONGEST_VALUE = 200
_BUCKETS_S = (0.001, 0.005, 0.015, 0.05, 0.15, 0.5, 1.5, 5.0)


def safe_id(name: str) -> str:
    """Return an id that is safe in a header and a log: unchanged if short and plain, else escaped and cut."""
    if _PLAIN.fullmatch(name):
        return name
    return json.dumps(name[:_LONGEST_NAME])[1:-1].replace(" ", "_")


def log_line(fields: Mapping[str, Any]) -> None:
    """Write one log line; empty fields are omitted."""
    if not _log.isEnabledFor(logging.INFO):
        return
    kept = {name: _shown(value) for name, value in fields.items() if value not in ("", None)}
    _log.info("%s", json.dumps(kept))


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_LONGEST_VALUE]
    return round(value, 2) if isinstance(value, float) else value


class Counters:
    """The gateway's counters since its start."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._plan_s: Counter[float] = Counter()
        self._plan_sum_s = 0.0
        self.streams = 0
        """Requests that are being answered right now."""

    def add(self, name: str, labels: str = "", by: int = 1) -> None:
        """Increase a counter.

        `name`: without the prefix. `labels`: as Prometheus writes them, without the braces; of values that we chose.
        `by`: at least 0.
        """
        self._counts[name, labels] += by

    def planned(self, seconds: float) -> None:
        """Record how long a request took to manage."""
        self._plan_sum_s += seconds
        self._plan_s[next((limit for limit in _BUCKETS_S if seconds <= limit), float("inf"))] += 1

    def text(self, gauges: Mapping[str, int]) -> str:
        """Return all figures in Prometheus' text format. `gauges`: name without the prefix -> current value."""
        lines: list[str] = []
        for name in sorted({name for name, _ in self._counts}):
            lines.append(f"# TYPE undrift_{name} counter")
            found = sorted((labels, count) for (known, labels), count in self._counts.items() if known == name)
            lines += [
                f"undrift_{name}{{{labels}}} {count}" if labels else f"undrift_{name} {count}"
                for labels, count in found
            ]
        lines += self._histogram()
        for name, value in {**gauges, "streams": self.streams}.items():
            lines += [f"# TYPE undrift_{name} gauge", f"undrift_{name} {value}"]
        return "\n".join(lines) + "\n"

    def _histogram(self) -> Iterable[str]:
        yield "# TYPE undrift_manage_seconds histogram"
        total = 0
        for limit in (*_BUCKETS_S, float("inf")):
            total += self._plan_s[limit]
            yield f'undrift_manage_seconds_bucket{{le="{"+Inf" if limit == float("inf") else limit}"}} {total}'
        yield f"undrift_manage_seconds_sum {self._plan_sum_s:.6f}"
        yield f"undrift_manage_seconds_count {total}"


@dataclass(slots=True)
class Progress:
    """The course of one request up to its end. `status`: the answer's HTTP status, 0 before the answer."""

    managed: ManagedBody | None = None
    bypass: str = ""
    end: str = "ok"
    status: int = 0
    bytes_out: int = 0
    is_retried: bool = False
    plan_s: float = 0.0
    first_s: float = 0.0
    began_s: float = field(default_factory=time.perf_counter)

    def report(self, figures: Counters, route: Route, bytes_in: int, member: Member | None = None) -> None:
        """Count the request and write its log line. `member`: who asked, if the gateway serves a team."""
        managed = self.managed
        kind = f'provider="{route.provider}",managed="{"yes" if managed else "no"}"'
        status = f"{self.status // 100}xx" if self.status else "none"
        figures.add("requests_total", f'{kind},status="{status}"')
        if self.bypass:
            figures.add("bypass_total", f'reason="{self.bypass}"')
        if self.end != "ok":
            figures.add("ended_early_total", f'how="{self.end}"')
        line = {
            "event": "request",
            "provider": route.provider,
            "wire": route.wire,
            "status": self.status,
            "person": member.person if member else "",
            "project": member.project if member else "",
            "key": member.key_id if member else "",
            "session": safe_id(managed.session_id) if managed else "",
            "name": managed.place if managed else "",
            "from": managed.kind if managed and managed.kind != "main" else "",
            "tokens_before": managed.tokens_before if managed else None,
            "tokens_after": managed.tokens_after if managed else None,
            "actions": managed.actions if managed else None,
            "restored": (managed.restored or None) if managed else None,
            "retried": self.is_retried or None,
            "bypass": self.bypass,
            "end": self.end,
            "bytes_in": bytes_in,
            "bytes_out": self.bytes_out,
            "manage_ms": self.plan_s * 1000,
            "first_byte_ms": self.first_s * 1000,
            "total_ms": (time.perf_counter() - self.began_s) * 1000,
        }
        log_line(line)
