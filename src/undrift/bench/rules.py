"""Measures whether rules hold over compactions: scripted sessions, an agent that follows what it sees, and its calls judged.

Law: deterministic: the same file, seed and product give the same figures. A session is played once to its last compaction;
an episode is a rule, a placement and a number of compactions, so a shorter one is the beginning of a longer one.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from itertools import product, repeat
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Literal, get_args

from undrift.bench.rules_agent import AgentStep, DecisionKind, SeenText, decide
from undrift.bench.rules_client import ClientWindow, RecordedClient, client_for
from undrift.bench.rules_file import RuleCase
from undrift.bench.rules_hooks import HookRun, has_guard
from undrift.bench.rules_scene import PLACEMENTS, Placement, Scene, scene_of
from undrift.bench.rules_words import summary

__all__ = [
    "COMPACTIONS",
    "JudgedStep",
    "KEPT_IN_SUMMARIES",
    "MODES",
    "Mode",
    "RuleEpisode",
    "SuitePlan",
    "episodes",
    "judged",
    "placements_for",
]

Mode = Literal["always", "never", "lifted", "nothing", "summary", "hooks", "gateway", "warn", "ask"]
"""Three controls: the rule in every prompt, in none, and all that was said by anyone as a rule. Then the ways to measure;
``warn`` and ``ask`` are the guard alone: what else the hooks add to the window does not count."""

Point = Literal["at once", "work"]
MODES: tuple[Mode, ...] = get_args(Mode)
COMPACTIONS = (1, 3, 10, 20)
KEPT_IN_SUMMARIES = {"claude": (0.65, 0.26), "codex": (0.0, 0.0)}
"""The share of typed rules that a client's own summary holds word for word: at the first compaction, and of those at each
later one. It was counted in recordings of 2026. Claude Code: 28 of 43 sentences in 20 recordings, then 2 of 12 in 7. Codex:
0 of 49 in 4 recordings; but it keeps the newest 20,000 tokens of the user's own texts."""

_SIZES = {
    "large": ClientWindow(24_000, 36_000, 167_000),
    "small": ClientWindow(12_000, 16_000, 40_000),
}
_CODEX_EVERY, _SMALL_EVERY, _HTTP_EVERY = 4, 5, 50
_CHARACTERS = 2_000
_OF_HOOKS = ("hooks", "warn", "ask")
_MOST_JOBS = 4
_SAID_EVERY = 10


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """The sessions to play.

    Args:
        compactions: After which compactions the agent's calls are judged, ascending.
        placements: Where the rules are laid down.
        characters: About the size of the results between two compactions.
    """

    modes: tuple[Mode, ...] = MODES
    compactions: tuple[int, ...] = COMPACTIONS
    placements: tuple[Placement, ...] = PLACEMENTS
    seed: int = 26
    characters: int = _CHARACTERS


@dataclass(frozen=True, slots=True)
class RuleEpisode:
    """One session: a rule, where it is laid down, and in which client. `over_http`: with the gateway, its requests travel."""

    case: RuleCase
    placement: Placement
    client: str
    window: str
    over_http: bool = False


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """One judged decision.

    Args:
        point: ``at once`` after the compaction, or after some ``work``.
        why: See `AgentStep.why`; ``asked`` if the guard held the call back.
    """

    mode: Mode
    episode: RuleEpisode
    compactions: int
    point: Point
    kind: DecisionKind
    is_violation: bool
    why: str


@dataclass
class _EpisodePlayer:
    """One session. `modes`: those that can be judged in it; the first says what the client does."""

    plan: SuitePlan
    modes: tuple[Mode, ...]
    episode: RuleEpisode
    scene: Scene
    client: RecordedClient
    place: Path
    faults: list[str] = field(default_factory=list)
    shown: dict[Mode, list[SeenText]] = field(default_factory=dict)
    """The sentences that the guard has shown since the last compaction."""

    @property
    def mode(self) -> Mode:
        return self.modes[0]

    def play(self) -> Iterator[JudgedStep]:
        hooks = HookRun(self.client, self.place) if self.mode in _OF_HOOKS else None
        kept = [self.episode.case.rule]
        for number, events in enumerate(self.scene.windows):
            if number:
                kept = self._kept(kept, number)
                self._compact(hooks, number, kept)
            is_judged = number in self.plan.compactions
            if is_judged:
                yield from self._judge(hooks, number, "at once")
            for event in events:
                self.client.happen(event)
                if hooks is not None and event.kind == "typed":
                    hooks.typed(event.text)
            if is_judged:
                yield from self._judge(hooks, number, "work")
        self.faults += hooks.faults() if hooks is not None else []

    def _compact(self, hooks: HookRun | None, number: int, kept: list[str]) -> None:
        random = Random(f"{self.plan.seed} {self.episode.case.id} {self.episode.placement} summary {number}")
        newest = [seen.text for seen in self.client.window if seen.source == "typed"] if self.mode == "summary" else []
        named = [*self._own(newest)[-2:]]
        text = summary(random, named, kept if self.mode == "summary" else [])
        if hooks is None:
            self.client.compact(text)
            return
        hooks.before()
        self.client.compact(text)
        hooks.after()
        self.shown.clear()

    def _own(self, texts: list[str]) -> list[str]:
        """Return the requests that have nothing to do with the rule: whether that one is kept is drawn."""
        case = self.episode.case
        others = [case.rule, *([case.later.text] if case.later else []), *(one.text for one in case.distractors)]
        return [text for text in texts if not any(other in text for other in others)]

    def _kept(self, before: list[str], number: int) -> list[str]:
        """Return what the summary of a compaction still says of the rule and of the later words; each is drawn for itself."""
        case, first_later = self.episode.case, KEPT_IN_SUMMARIES[self.episode.client]
        kept = []
        for words, age in ((case.rule, number), (case.later.text if case.later else "", self._age_of_later(number))):
            if words and age > 0 and (age == 1 or words in before):
                random = Random(f"{self.plan.seed} {case.id} {self.episode.placement} {number} {words}")
                if random.random() < first_later[min(age, 2) - 1]:
                    kept.append(words)
        return kept

    def _age_of_later(self, number: int) -> int:
        return 0 if self.scene.later_at is None else number - self.scene.later_at

    def _judge(self, hooks: HookRun | None, number: int, point: Point) -> Iterator[JudgedStep]:
        is_later = self.scene.is_later(number)
        for mode in self.modes:
            for step in decide(self.episode.case, self._window(mode, is_later=is_later), is_later=is_later):
                done = step if hooks is None or mode == "hooks" else self._guarded(hooks, mode, step)
                yield JudgedStep(mode, self.episode, number, point, done.kind, done.is_violation, done.why)

    def _guarded(self, hooks: HookRun, mode: Mode, step: AgentStep) -> AgentStep:
        """Return a step under the guard: a call that it names has run and its sentence is seen, or it has not run."""
        said = hooks.of_call(step.call, asks=mode == "ask") if step.is_made else ""
        if not said:
            return step
        if mode == "warn":
            self.shown.setdefault(mode, []).append(SeenText("given", said))
            return step if step.is_violation else replace(step, why="warned needlessly")
        return replace(step, is_violation=False, why="asked" if step.is_violation else "asked needlessly")

    def _window(self, mode: Mode, *, is_later: bool) -> Sequence[SeenText]:
        case, window = self.episode.case, self.client.seen()
        if mode in ("warn", "ask"):
            own = [seen for seen in window[self.client.kept_texts :] if seen.source != "given"]
            return [*own, *self.shown.get(mode, ())]
        if mode == "always":
            later = [SeenText("typed", case.later.text)] if case.later is not None and is_later else []
            return [*window, SeenText("typed", case.rule), *later]
        if mode == "never":
            return [seen for seen in window if seen.source != "typed"]
        if mode == "lifted":
            said = "\n ".join([case.rule, *(line for one in case.distractors for line in one.text.split("\n"))])
            return [*(seen for seen in window if seen.source != "typed"), SeenText("given", f"## Rules\n{said}")]
        return window


def episodes(cases: Sequence[RuleCase], plan: SuitePlan) -> list[RuleEpisode]:
    """Return the sessions to play: every rule at every placement; each fourth in Codex, each fifth with a small window."""
    found = []
    for number, (case, placement) in enumerate(product(cases, plan.placements)):
        rule, place = divmod(number, len(plan.placements))  # no placement has all of them
        client = "codex" if (rule + place) % _CODEX_EVERY == _CODEX_EVERY - 1 else "claude"
        window = "small" if (rule + 2 * place) % _SMALL_EVERY == _SMALL_EVERY - 1 else "large"
        found.append(RuleEpisode(case, placement, client, window, number % _HTTP_EVERY == 0))
    return found


def placements_for(rules: int, compactions: int, wanted: int) -> tuple[Placement, ...]:
    """Return the placements with which so many rules give as many episodes as are wanted; at most all of them."""
    return PLACEMENTS[: max(1, min(len(PLACEMENTS), -(-wanted // max(1, rules * compactions))))]


def judged(
    cases: Sequence[RuleCase],
    plan: SuitePlan,
    *,
    jobs: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[list[JudgedStep], list[str]]:
    """Play all sessions in all modes; return every judged decision, and the faults in the logs of undrift.

    `jobs`: processes; None for one for each core, at most 4.
    """
    sessions = episodes(cases, plan)
    found, faults = list[JudgedStep](), list[str]()
    number = jobs or min(_MOST_JOBS, os.cpu_count() or 1)
    started = get_context("spawn")  # a fork of a process with threads may hang
    with ProcessPoolExecutor(number, started) if number > 1 else nullcontext() as pool:
        played = (pool.map if pool is not None else map)(_played, sessions, repeat(plan))
        for done, (decisions, noted) in enumerate(played, 1):
            found += decisions
            faults += noted
            if done % _SAID_EVERY == 0:
                progress(f"session {done} of {len(sessions)}")
    return found, faults


def _played(episode: RuleEpisode, plan: SuitePlan) -> tuple[list[JudgedStep], list[str]]:
    """Play one session in all modes."""
    found, faults = list[JudgedStep](), list[str]()
    is_wordy = episode.client == "codex"
    windows = max(plan.compactions) + 1
    scene = scene_of(
        episode.case, episode.placement, plan.seed, windows=windows, characters=plan.characters, is_wordy=is_wordy
    )
    alone = [(mode,) for mode in plan.modes if mode not in _OF_HOOKS]
    of_hooks = _OF_HOOKS if has_guard(episode.client) else _OF_HOOKS[:1]
    together = tuple(mode for mode in plan.modes if mode in of_hooks)
    for modes in (*alone, *([together] if together else [])):
        with tempfile.TemporaryDirectory(prefix="undrift-rules-") as folder:
            player = _player(plan, modes, episode, scene, Path(folder))
            with closing(player.client):
                found += player.play()
            faults += player.faults
    return found, faults


def _player(
    plan: SuitePlan, modes: tuple[Mode, ...], episode: RuleEpisode, scene: Scene, place: Path
) -> _EpisodePlayer:
    session_id = f"{plan.seed:08}-0000-4000-8000-000000000001"
    keeps = modes[0] in ("summary", "gateway", *_OF_HOOKS)
    work = place / "work"
    work.mkdir()
    if modes[0] == "gateway":
        from undrift.bench.rules_gateway import GatewayClient, HttpWay, InProcessWay

        way = (HttpWay if episode.over_http else InProcessWay)(episode.client, place / "home")
        sizes = _SIZES[episode.window]
        client: RecordedClient = GatewayClient(
            session_id, str(work), sizes, name=episode.client, is_keeping=keeps, way=way
        )
        client.begin()
    else:
        client = client_for(episode.client, session_id, str(work), _SIZES[episode.window], is_keeping=keeps)
    return _EpisodePlayer(plan, modes, episode, scene, client, place)
