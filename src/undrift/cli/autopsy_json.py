"""Findings as JSON, in the names that outside programs rely on (docs/cli.md). Pure."""

from collections.abc import Sequence
from typing import Any

from undrift.core.autopsy.findings import AutopsyBill, Compaction, GivenUse, Held
from undrift.recordings.autopsy import Postmortem, Totals
from undrift.recordings.headline import headline

__all__ = ["as_json", "totals_as_json"]

_PLACES = 6


def as_json(found: Sequence[Postmortem], sums: Totals) -> dict[str, Any]:
    """Return ``sessions`` and ``totals``."""
    return {"sessions": [_session(one) for one in found], "totals": totals_as_json(sums)}


def _session(one: Postmortem) -> dict[str, Any]:
    found = one.autopsy
    return {
        "path": one.path,
        "title": one.title,
        "format": one.format,
        "model": one.model,
        "early_compactions": found.early_compactions,
        "calls": found.calls,
        "duration_ms": found.duration_ms,
        "budget_tokens": one.budget_tokens,
        "unfinished": one.unfinished,
        "compactions": [_compaction(one, compaction) for compaction in found.compactions],
        "bill": _bill(one, found.bill),
        "timeline": {
            "recorded": found.timeline_recorded,
            "points": [[point.call, point.tokens] for point in found.timeline],
        },
    }


def _compaction(session: Postmortem, one: Compaction) -> dict[str, Any]:
    return {
        "number": one.number,
        "at_ms": one.at_ms,
        "trigger": one.trigger or None,
        "repeated": one.repeated,
        "calls_before": one.calls_before,
        "calls_after": one.calls_after,
        "window_calls": one.window_calls,
        "tokens_before": one.tokens_before,
        "tokens_after": one.tokens_after,
        "dropped_tokens": one.dropped_tokens,
        "recorded": one.recorded,
        "summary_encrypted": one.encrypted,
        "cost": {
            "summary": round(one.cost.summary, 1),
            "rewritten": round(one.cost.rewritten, 1),
            "restore": round(one.cost.restore, 1),
            "usd": _usd(session, one.cost.total),
            "usd_restore": _usd(session, one.cost.restore),
        },
        "used": {"identifiers": one.identifiers, "lines": one.lines},
        "native": _held(one.native),
        "restore": None if one.ours is None else _held(one.ours),
        "together": None if one.together is None else _held(one.together),
        "given": None if one.given is None else _given(session, one.given),
        "fetched_again": {
            **_held(one.fetched),
            "usual_tokens": one.usual_tokens,
            "usual_calls": one.usual_calls,
            "results": [
                {
                    "call": fetch.call,
                    "after_ms": fetch.after_ms,
                    "tool": fetch.tool,
                    "what": fetch.what,
                    "tokens": fetch.tokens,
                    "known_tokens": fetch.known_tokens,
                    "read_calls_before": fetch.read_calls_before,
                    "entry_id": fetch.entry_id,
                }
                for fetch in one.fetches
            ],
        },
        "rules": one.rules,
        "lost_rules": [
            {"text": rule.text, "entry_id": rule.entry_id, "calls_before": rule.calls_before} for rule in one.lost_rules
        ],
    }


def _given(session: Postmortem, given: GivenUse) -> dict[str, Any]:
    return {
        **_held(given.held),
        "alone": _held(given.alone),
        "results": given.results,
        "cost": round(given.cost, 1),
        "usd": _usd(session, given.cost),
    }


def _held(held: Held) -> dict[str, int]:
    return {"identifiers": held.identifiers, "lines": held.lines, "tokens": held.tokens}


def _usd(session: Postmortem, tokens: float) -> float | None:
    usd = session.usd(tokens)
    return None if usd is None else round(usd, _PLACES)


def _bill(one: Postmortem, bill: AutopsyBill) -> dict[str, Any]:
    return {
        "recorded": bill.recorded,
        "priced_as": one.priced_as,
        "usd_per_million": one.usd_per_million,
        "prompts": bill.prompts,
        "input_tokens": bill.input_tokens,
        "cost": round(bill.cost, 1),
        "usd": _usd(one, bill.cost),
        "summaries": round(bill.summaries, 1),
        "everything": None if bill.everything is None else round(bill.everything, 1),
        "usd_everything": None if bill.everything is None else _usd(one, bill.everything),
        "pauses": bill.pauses,
        "cold_prompts": bill.cold_prompts,
        "cold_share": round(bill.cold_share, _PLACES),
        "fixed_tokens": bill.fixed_tokens,
        "fixed_share": None if bill.fixed_share is None else round(bill.fixed_share, _PLACES),
        "tool_schema_tokens": bill.tool_schema_tokens,
    }


def totals_as_json(sums: Totals) -> dict[str, Any]:
    """Return the sums, as they stand in ``totals``."""

    def pair(value: tuple[int, int]) -> dict[str, int]:
        return {"identifiers": value[0], "lines": value[1]}

    return {
        "compactions": sums.compactions,
        "dropped_tokens": sums.dropped_tokens,
        "used": pair(sums.needed),
        "used_readable": pair(sums.readable),
        "native": pair(sums.native),
        "restore": pair(sums.ours),
        "together": pair(sums.together),
        "fetched_again": {
            **pair(sums.fetched),
            "results": sums.fetches,
            "tokens": sums.fetched_tokens,
            "usd": None if sums.fetched_usd is None else round(sums.fetched_usd, _PLACES),
            "calls": sums.window_calls,
            "usual_tokens": sums.usual_tokens,
            "usual_calls": sums.usual_calls,
        },
        "rules": sums.rules,
        "lost_rules": sums.lost_rules,
        "headline": headline(sums),
    }
