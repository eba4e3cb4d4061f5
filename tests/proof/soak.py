"""`make soak`: gateway, hooks, MCP server and command line on one home for an hour; one of them is killed every minute.

Each is driven as its users drive it, against the strict scripted provider, and starts again by its own means: the gateway by
its keeper, the server by its client, a hook and a command by the next call. All that was acknowledged stands in a ledger
outside the home. It is looked up along the way and at the end; nothing may be lost, refused or grow. Each of the three has
a control: ``--plant loss``, ``--plant refusal`` and ``--plant leak`` must fail.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.cli.builders import environment
from tests.proof.soak_flat import SLACK, WARMING, Looks, cpu_s, home_figures, process_figures
from tests.proof.soak_gateway import Gateway, StrictProvider
from tests.proof.soak_ledger import Ledger, lost
from tests.proof.soak_parts import SESSION, CommandLine, Hooks, Mcp, Part, Soaked, program
from undrift.stores.projects import place_of

__all__ = ["Found", "main", "soak"]

PAUSES_S = {"gateway": 0.1, "hooks": 4.0, "mcp": 0.4, "cli": 1.5}
LOOKS_EACH_KILL = 10
UNKILLED_S = 60.0  # between two judgements where nothing is killed
LONG_S = 600.0  # from here on no growth is taken for warming up
JUDGED_EACH_KILL = 200  # of the references that were judged before; all new ones are
PLANTS = ("leak", "loss", "refusal")


@dataclass(slots=True)
class Found:
    """The findings of a soak."""

    lost: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unwell: list[str] = field(default_factory=list)
    grew: list[str] = field(default_factory=list)
    table: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """True if nothing was found."""
        return not (self.lost or self.refused or self.unwell or self.grew)


class Pace:
    """Keeps all processes of a soak together at a share of one core, by pauses.

    Args:
        share: Of a core.
    """

    def __init__(self, share: float) -> None:
        self.factor, self._share = 1.0, share
        self._spent_s, self._at_s = 0.0, time.monotonic()
        self._pids: dict[int, float] = {}

    def adapt(self, pids: Sequence[int]) -> None:
        """Look at what was spent since the last call. `pids`: processes that are no children of this one."""
        now = {pid: cpu_s(pid) for pid in pids if pid}
        times, at_s = os.times(), time.monotonic()
        spent_s = sum(times[:4])
        used = spent_s - self._spent_s + sum(s - self._pids.get(pid, s) for pid, s in now.items())
        if self._spent_s and at_s > self._at_s:
            over = used / (at_s - self._at_s) / self._share
            self.factor = min(30.0, max(0.2, self.factor * min(2.0, max(0.7, over))))
        self._spent_s, self._at_s, self._pids = spent_s, at_s, now


def _work(part: Part, pace: Pace, is_over: threading.Event) -> None:
    """Do one step after the other until all is over."""
    while not is_over.wait(PAUSES_S[part.name] * pace.factor):
        try:
            part.step()
        except Exception as error:  # noqa: BLE001 - any fault is a finding
            part.soaked.refused.append(f"{part.name}: {type(error).__name__}: {error}")


class Judge:
    """Looks up what was acknowledged, along the way and at the end."""

    def __init__(self, soaked: Soaked, provider: StrictProvider, found: Found) -> None:
        self._soaked, self._provider, self._found = soaked, provider, found
        self._judged = 0

    def judge(self, *, everything: bool = False) -> None:
        """Judge what is new, and some of what is old."""
        noted = self._soaked.ledger.all()
        old = [] if everything else noted[: self._judged]
        some = self._soaked.random.sample(old, min(len(old), JUDGED_EACH_KILL))
        place = place_of(self._soaked.home, self._soaked.repo, shares=True)
        missed = lost(place, SESSION, [*some, *(noted if everything else noted[self._judged :])])
        self._found.lost = list(dict.fromkeys([*self._found.lost, *missed]))
        self._judged = len(noted)
        self._found.refused = [*self._soaked.refused, *(f"provider: {text}" for text in self._provider.refusals)]
        command = program("doctor", "--full", "--json", f"--home={self._soaked.home}")
        done = subprocess.run(command, cwd=self._soaked.repo, capture_output=True, text=True, check=False)
        if done.returncode or not json.loads(done.stdout)["ok"]:
            self._found.unwell.append(f"doctor: {done.stdout[-2000:]} {done.stderr[-500:]}")


def soak(
    folder: Path, *, seconds: float, kill_every_s: float, share: float, sessions: int, plant: str, only: str
) -> Found:
    """Run all parts on one home and judge them. `plant`: a control, or nothing. `only`: one part, or nothing for all."""
    found, random, is_over = Found(), Random(1), threading.Event()
    soaked = Soaked(folder, folder / "home", Ledger(folder / "ledger.jsonl"), random)
    soaked.repo.mkdir()
    with ExitStack() as stack:
        provider = stack.enter_context(StrictProvider())
        gateway = Gateway(soaked, provider, sessions, leaks=plant == "leak")
        mcp = Mcp(soaked)
        parts: list[Part] = [gateway, Hooks(soaked), mcp, CommandLine(soaked)]
        parts = [part for part in parts if only in ("", part.name)]
        looks = {"gateway": Looks("gateway"), "mcp": Looks("mcp"), "home": Looks("home")}
        pace, judge = Pace(share), Judge(soaked, provider, found)
        threads = [
            threading.Thread(target=_work, args=(part, pace, is_over))
            for part in parts
            for _ in range(sessions if part is gateway and only else 1)
        ]
        for thread in threads:
            thread.start()
        stack.callback(is_over.set)
        every_s = kill_every_s or UNKILLED_S
        began_s, bag, round_ = time.monotonic(), list[Part](), 0
        while (passed_s := time.monotonic() - began_s) < seconds:
            time.sleep(max(0.0, min(every_s / LOOKS_EACH_KILL, seconds - passed_s)))
            round_ += 1
            _look(looks["gateway"], gateway)
            _look(looks["mcp"], mcp)
            looks["home"].add(home_figures(soaked.home))
            pace.adapt([gateway.pid(), mcp.pid()])
            if round_ % LOOKS_EACH_KILL == 0 and seconds - passed_s > every_s:
                judge.judge()
                bag = bag or random.sample(parts, len(parts))
                if kill_every_s:
                    _kill(bag.pop())
                _say(time.monotonic() - began_s, soaked, found, pace)
            if plant and passed_s > seconds / 2:
                plant = _planted(plant, soaked, gateway)
        is_over.set()
        for thread in threads:
            thread.join()
        for part in parts:
            part.close()
        judge.judge(everything=True)
    slack = SLACK if seconds >= LONG_S else WARMING
    for one in looks.values():
        for name, first, middle, last, is_flat in one.verdicts(slack):
            row = f"{one.name:8} {name:12} {first:10.1f} {middle:10.1f} {last:10.1f}   {'flat' if is_flat else 'GREW'}"
            found.table.append(row)
            found.grew += [] if is_flat else [row]
    found.table += _counts(soaked, parts, provider)
    return found


def _look(looks: Looks, part: Part) -> None:
    pid = part.pid()
    try:
        if pid:
            looks.add(process_figures(pid), pid)
    except OSError:
        pass  # it has just been killed


def _kill(part: Part) -> None:
    """Kill a part, beside the looks: a hook runs only now and then."""
    threading.Thread(target=part.kill, daemon=True).start()


def _planted(plant: str, soaked: Soaked, gateway: Gateway) -> str:
    """Break what the control is to break; return what is still to be broken."""
    if plant == "loss":
        one = soaked.ledger.any("original", soaked.random)
        if one is None:
            return plant
        command = program("store", "purge", one.ref, "--yes", f"--home={soaked.home}")
        subprocess.run(command, cwd=soaked.repo, capture_output=True, check=False)
    if plant == "refusal":
        gateway.ask_wrongly()
    return ""


def _say(passed_s: float, soaked: Soaked, found: Found, pace: Pace) -> None:
    done = ", ".join(f"{name} {number:,}" for name, number in sorted(soaked.done.items()))
    print(
        f"{passed_s:7.0f} s: {done}; {len(soaked.ledger.all()):,} acknowledged, {len(found.lost)} lost, "
        f"{len(soaked.refused)} refused, pauses x{pace.factor:.1f}",
        flush=True,
    )


def _counts(soaked: Soaked, parts: Sequence[Part], provider: StrictProvider) -> list[str]:
    kinds: dict[str, int] = {}
    for one in soaked.ledger.all():
        kinds[f"{one.kind} by {one.by}"] = kinds.get(f"{one.kind} by {one.by}", 0) + 1
    steps = ", ".join(f"{name} {number:,}" for name, number in sorted(soaked.done.items()))
    return [
        f"steps: {steps}; {provider.asked:,} requests reached the provider; {soaked.again} steps repeated after a kill",
        f"kills: {', '.join(f'{part.name} {part.kills}' for part in parts)}",
        f"acknowledged: {', '.join(f'{name} {number:,}' for name, number in sorted(kinds.items()))}",
    ]


def main(arguments: list[str]) -> int:
    """Run and print; return 0 where nothing was lost or refused, the doctor found nothing, and nothing grew."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("minutes", type=float, nargs="?", default=60.0)
    parser.add_argument("--kill-every", type=float, default=60.0, help="seconds; 0: nothing is killed")
    parser.add_argument("--share", type=float, default=0.33, help="of a core, for all processes together")
    parser.add_argument("--sessions", type=int, default=6, help="conversations with the gateway at a time")
    parser.add_argument("--plant", choices=PLANTS, default="", help="a control; it must fail")
    parser.add_argument("--only", choices=list(PAUSES_S), default="", help="this part alone; conversations all at once")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="undrift-soak-") as scratch:
        mine = environment(HOME=str(Path(scratch, "user")))
        os.environ.clear()
        os.environ.update(mine)
        Path(scratch, "user").mkdir()
        found = soak(
            Path(scratch),
            seconds=chosen.minutes * 60,
            kill_every_s=chosen.kill_every,
            share=chosen.share,
            sessions=chosen.sessions,
            plant=chosen.plant,
            only=chosen.only,
        )
    print(
        f"{'ok' if found.is_good else 'FAILED'}: {chosen.minutes:g} minutes, {len(found.lost)} lost, {len(found.refused)} "
        f"refused, {len(found.unwell)} times unwell, {len(found.grew)} figures grew"
    )
    for line in [*found.table, *found.lost[:10], *found.refused[:10], *found.unwell[:3]]:
        print(f"  {line}")
    return int(not found.is_good)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
