"""What no run here can measure of a fleet of developers: assumptions, each with its reason. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

__all__ = ["ASSUMED", "DAY", "ORDERS", "Assumed", "Values", "assumptions", "hours"]

Values = Mapping[str, float]

ORDERS = tuple(10**power for power in range(1, 7))
"""Developers of each column."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """An input that was not measured here. `why`: where it is from."""

    value: float
    unit: str
    why: str


ASSUMED: Mapping[str, Assumed] = {
    "tokens_per_session": Assumed(150_000, "tokens", "the plan's session; figures of measured ones are scaled to it in proportion"),
    "session_minutes": Assumed(30, "min", "how long a session is worked on"),
    "idle_minutes": Assumed(30, "min", "how long a process keeps a session without requests"),
    "peak_to_mean": Assumed(3.0, "x", "the busiest hour over the mean one"),
    "with_affinity": Assumed(1, "", "1: a balancer sends a session to one process; 0: each turn meets one that does not know it, the worst case"),
    "cold_opens": Assumed(0.1, "a session", "restarts, new versions and closed sessions, beside the first request"),
    "searched_share": Assumed(1.0, "", "the share of sessions whose originals get the index of words"),
    "words_growth": Assumed(0, "", "0: the index of words grows as the sample's; 1: as ten times the sample with the same words"),
    "prepares": Assumed(1, "", "0: undrift_prepare=no, so that each statement is planned again"),
    "kept_days": Assumed(30, "days", "how long a month's partitions stay; whole months are dropped"),
    "projects_per_developer": Assumed(2, "", "whose memories a process holds for a developer; each holds its own index"),
    "memories_per_project": Assumed(2_000, "", "what a project remembers"),
    "developers_per_organisation": Assumed(1_000, "", "an organisation is closed in itself, so it can move to another server"),
    "server_cores": Assumed(64, "cores", "of one database server"),
    "server_bytes": Assumed(16e12, "B", "of one database server's disks"),
    "server_wal_per_s": Assumed(200e6, "B/s", "of one database server, with its replica"),
    "server_share": Assumed(0.5, "", "of a server's cores that commits and reads may fill; vacuum, backups and replicas need the rest"),
    "gateway_share": Assumed(0.7, "", "of a gateway's core that requests may fill"),
    "gateway_wait_ms": Assumed(250, "ms", "what waiting may add to 99 of 100 turns at the peak; an answer takes seconds"),
    "server_wait_ms": Assumed(10, "ms", "the same for a statement of the server"),
    "distance_ms": Assumed(1.0, "ms", "of a round trip between gateway and server"),
    "sync_ms": Assumed(2.0, "ms", "a commit's wait for the disk, and for a replica that must have it"),
    "connections_per_process": Assumed(16, "", "the default of undrift_connections"),
    "most_connections": Assumed(500, "", "of one server, before a pooler stands in front of it"),
    "copies": Assumed(2, "", "of the database: a primary and a standby"),
    "vcpu_hour_usd": Assumed(0.04048, "USD", "list price of a vCPU of AWS Fargate, us-east-1, March 2026; an example"),
    "gb_hour_usd": Assumed(0.004445, "USD", "list price of a GB of memory there"),
    "block_gb_month_usd": Assumed(0.08, "USD", "list price of a GB of EBS gp3; an example"),
    "object_gb_month_usd": Assumed(0.023, "USD", "list price of a GB of S3 Standard; an example"),
    "object_put_usd": Assumed(0.000005, "USD", "list price of one write to S3; an example"),
}  # fmt: skip
"""Inputs that no run here can measure. Each can be set: ``--set NAME=VALUE``."""

_WORKING_DAY = (
    0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2, 0.6, 1.6, 2.7, 3.0, 2.8, 1.6, 2.2, 2.8, 2.6, 1.8, 0.8, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1,
)  # fmt: skip
DAY: Sequence[float] = tuple(hour / mean(_WORKING_DAY) for hour in _WORKING_DAY)
"""Arrivals of each hour over the mean: a working day of one continent. Assumed; `peak_to_mean` stretches it."""


def assumptions(changed: Values | None = None) -> dict[str, float]:
    """Return all assumptions, some of them changed. Raises KeyError: one of these is unknown."""
    made = {name: one.value for name, one in ASSUMED.items()}
    for name, value in (changed or {}).items():
        if name not in made:
            raise KeyError(name)
        made[name] = value
    return made


def hours(peak_to_mean: float) -> list[float]:
    """Return the day's hours over their mean, the busiest of them `peak_to_mean`; none is below a hundredth."""
    stretch = (peak_to_mean - 1) / (max(DAY) - 1)
    return [max(0.01, 1 + stretch * (hour - 1)) for hour in DAY]
