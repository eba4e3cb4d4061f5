"""A replay's report as JSON, in the names that outside programs rely on (docs/cli.md). Pure."""

from typing import Any

from undrift.cli.show import first_line
from undrift.core.autopsy.survival import SurvivalCount
from undrift.recordings.replay import NativeCost, ReplayReport

__all__ = ["as_json"]

_PLACES = 6


def as_json(report: ReplayReport) -> dict[str, Any]:
    """Return one element of ``sessions``."""
    return {
        "path": report.path,
        "format": report.format,
        "home": report.home,
        "turns": report.turns,
        "tokens_before": report.tokens_before,
        "tokens_after": report.tokens_after,
        "peak_before": report.peak_before,
        "peak_after": report.peak_after,
        "budget_tokens": report.budget_tokens,
        "budget_reason": report.budget_reason,
        "window_tokens": report.window_tokens,
        "over_budget_turns": report.over_budget_turns,
        "beyond_window_turns": report.beyond_window_turns,
        "cost": _cost(report),
        "survival": {
            **_survival(report.survival),
            "unmanaged": _survival(report.survival_before),
            "native": None if report.cost.native is None else _survival(report.cost.native.survival),
        },
        "actions": dict(report.actions),
        "left": [
            {
                "kind": left.kind,
                "what": left.what,
                "tool": left.tool,
                "blocks": left.blocks,
                "tokens": left.tokens,
                "example_ref": left.ref,
                "example": first_line(left.example.content),
                "reason": left.reason,
            }
            for left in report.left
        ],
        "prunes": [
            {
                "turn": one.turn,
                "blocks": one.blocks,
                "tokens": one.tokens,
                "window_tokens": one.window_tokens,
                "moment": one.moment,
                "target_tokens": one.target_tokens,
                "saved": round(one.saved, 1),
            }
            for one in report.prunes
        ],
        "skipped": dict(report.skipped),
        "compactions": report.compactions,
        "unfinished": report.unfinished,
        "warnings": list(report.warnings),
        "prepare_ms": {"p50": round(report.prepare_ms[0], 3), "p99": round(report.prepare_ms[1], 3)},
    }


def _cost(report: ReplayReport) -> dict[str, Any]:
    cost = report.cost
    usd = {f"usd_{name}": cost.usd(getattr(cost, name)) for name in ("before", "after", "refetch")}
    return {
        "model": cost.model,
        "priced_as": cost.priced_as,
        "read_price": cost.read_price,
        "write_price": cost.write_price,
        "usd_per_million": cost.usd_per_million,
        "cache_seconds": cost.cache_seconds,
        "cache_recorded": cost.cache_recorded,
        "before": round(cost.before, 1),
        "after": round(cost.after, 1),
        "refetch": round(cost.refetch, 1),
        **{name: value if value is None else round(value, _PLACES) for name, value in usd.items()},
        **_native(cost.native),
    }


def _native(native: NativeCost | None) -> dict[str, Any]:
    """Return what the client's own compactions cost; null where the recording holds none."""
    if native is None:
        return {"native": None}
    return {
        "native": round(native.cost, 1),
        "native_summaries": round(native.summaries, 1),
        "native_refetch": round(native.refetch, 1),
        "native_compactions": native.compactions,
        "native_unreadable": native.unreadable,
        "native_limit_tokens": native.limit_tokens,
        "native_tokens": native.tokens,
    }


def _survival(survival: SurvivalCount) -> dict[str, Any]:
    return {
        "identifiers": round(survival.identifier_share, _PLACES),
        "lines": round(survival.line_share, _PLACES),
        "all": round(survival.share, _PLACES),
        "needs": survival.needs,
        "needed_identifiers": survival.identifiers,
        "needed_lines": survival.lines,
    }
