"""The deferred tools that a history loads: which calls the model could not make if nothing loaded their tool. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from undrift.wire.form import View
from undrift.wire.offered import Offered

__all__ = ["joined", "loads_needed", "unloaded_calls"]


def joined(offered: Offered, added: Collection[Offered]) -> Offered:
    """Return the tools of a request together with those that its items add."""
    if not added:
        return offered
    names: dict[str, bool] = {}
    for one in (*added, offered):
        for name, is_deferred in one.names.items():
            names[name] = names.get(name, True) and is_deferred
    return Offered(names, offered.loads_others or any(one.loads_others for one in added))


def loads_needed(loads: Iterable[tuple[str, str]], offered: Offered) -> frozenset[tuple[str, str]]:
    """Return what of these the request needs: the model sees those tools by nothing else."""
    return frozenset(load for load in loads if offered.is_deferred(load[0]))


def unloaded_calls(views: Sequence[View], offered: Offered) -> Iterator[str]:
    """Yield each tool that is called in a history although it is deferred and nothing loads it."""
    blocks = [block for view in views for block in view.blocks]
    offered = joined(offered, [block.offers for block in blocks if block.offers is not None])
    if not offered.defers:
        return
    loaded = {name for block in blocks for name, _ in block.loads}
    by_own_name: dict[str, list[str]] = {}
    for name in {*offered.names, *loaded}:
        by_own_name.setdefault(_own_name(name), []).append(name)
    called = dict.fromkeys(block.tool_name for block in blocks if block.kind == "call" and block.tool_name)
    for name in called:
        known = [one for one in by_own_name.get(_own_name(name), ()) if one == name or one.endswith(f"__{name}")]
        if not any(one in loaded or not offered.is_deferred(one) for one in known or [name]):
            yield name


def _own_name(name: str) -> str:
    """Return a tool's name without its group: a call may name the two apart."""
    return name.rpartition("__")[2]
