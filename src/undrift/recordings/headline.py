"""The one sentence about compactions that a person repeats. Pure."""

from undrift.core.guard import money, size
from undrift.recordings.autopsy import Totals

__all__ = ["as_share", "headline"]


def headline(sums: Totals) -> str:
    """Say what compactions removed, how much of it the agents used next, and what reading it again cost.

    It ends with a full stop and holds no text of a recording. The share is of the summaries that can be read.
    """
    if not sums.compactions:
        return "No compaction: nothing was removed."
    is_one = sums.compactions == 1
    removed = f"{sums.compactions:,} compaction{'' if is_one else 's'} removed {size(sums.dropped_tokens)} tokens"
    agents = "the agent" if is_one else "the agents"
    if sums.lost is not None:
        readable = sums.compactions - sums.encrypted
        some = f" ({readable:,} readable {'summary' if readable == 1 else 'summaries'})" if sums.encrypted else ""
        lost = f", and with them {as_share(sums.lost)} of what {agents} used next{some}"
    elif sum(sums.needed):
        readable = sums.compactions - sums.encrypted
        their = "their summaries" if not readable else f"{sums.encrypted:,} of their {sums.compactions:,} summaries"
        lost = f"; {'its summary is' if is_one else f'{their} are'} encrypted"
    else:
        lost = f"; {agents} used nothing of them in the next calls"
    usd = "" if sums.fetched_usd is None else f" ({money(sums.fetched_usd)})"
    again = f"; reading again cost {size(sums.fetched_tokens)} tokens{usd}" if sums.fetched_tokens else ""
    return f"{removed}{lost}{again}."


def as_share(share: float) -> str:
    """Write a share as a whole percentage; one that is nearly 0 or 1 is not rounded to it."""
    if 0 < share < 0.005:
        return "under 1%"
    return "over 99%" if 0.995 <= share < 1 else f"{share:.0%}"
