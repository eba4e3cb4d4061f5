"""The replay itself: it drives `Session` as a client does, and adds up the results.

Law: decides nothing. It writes derived data into a folder of its own, which each replay rebuilds. The session's
clock is the recording's.
"""

import errno
import hashlib
import math
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from undrift.core.autopsy.survival import Needs
from undrift.core.text.refs import message_id
from undrift.core.text.secrets import mask
from undrift.core.text.tokens import counter
from undrift.errors import StoreError
from undrift.recordings.figures import RecordedFigures, compaction_records
from undrift.recordings.replay.history import history_of, metadata_of
from undrift.recordings.replay.native import NativeSide
from undrift.recordings.replay.report import Left, Origin, Prune, ReplayCost, ReplayReport
from undrift.recordings.replay.sending import Sender, market_of
from undrift.recordings.replay.side import Side
from undrift.recordings.replay.texts import ReplayTexts
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.settings.model_table import UNKNOWN, Model, lookup, read_models
from undrift.stores import faults, files
from undrift.stores.base import Context
from undrift.stores.opening import engine_of, open_store
from undrift.transcripts import Recording
from undrift.values.extras import command_for
from undrift.values.prepared import Prepared
from undrift.values.scope import Scope
from undrift.values.window import Action, ContextEntry
from undrift.wire import anthropic

__all__ = ["replay", "replay_folder"]

_NOT_STORED = "nothing left the window, because it could not be stored first: "
"""How the session's warning begins; live the request goes out all the same, a replay has nothing to tell then."""


def replay_folder(home: str | os.PathLike[str], path: str | os.PathLike[str]) -> Path:
    """Return the folder for the replay of a file: ``replays/<16 hex digits>`` of the home."""
    return Path(home) / "replays" / hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]


def replay(
    recording: Recording,
    path: str | os.PathLike[str],
    *,
    home: str | os.PathLike[str],
    settings: Settings,
    progress: Callable[[int, int], None] | None = None,
    recorded: RecordedFigures | None = None,
) -> ReplayReport:
    """Run a recorded session through undrift.

    `path`: its file; names the folder under `home` that this replay rebuilds. The file itself is not opened. `home`:
    what left can be recalled there (`replay_folder`). `recorded`: the client's own figures; None: there are none. Raises StoreError: the folder refuses, or the disk is full;
    nothing of the replay is left there. Raises SettingsError: the table of models is wrong.
    """
    run = _Replay(recording, settings, recorded or RecordedFigures())
    # By the file's name alone: references, and their tokens in the window, are the same in every folder.
    session_id = f"replay-{hashlib.sha256(os.fsencode(Path(path).name)).hexdigest()[:16]}"
    folder = _cleared(replay_folder(home, path))
    try:
        plain = replace(settings, debug_archive=False)  # a replay leaves no files of its own
        clock = lambda: run.now_ms  # noqa: E731
        with Session.open(session_id, home=folder, settings=plain, clock=clock, keeps_notes=False) as session:
            run.drive(session, progress)
        if title := mask(recording.title).text:
            with open_store(folder, Scope()) as store:
                if store.last_seq(session_id):  # a replay that pruned nothing leaves no session
                    store.commit(Context(store.scope.of(session_id), run.now_ms), "named", payload={"name": title})
        return run.report(os.fspath(path), folder)
    except BaseException:
        with suppress(OSError, StoreError):
            _cleared(folder)
            folder.rmdir()
            folder.parent.rmdir()
        raise


def _cleared(folder: Path) -> Path:
    """Remove what an earlier replay left there; nothing else, and through no link."""
    try:
        for place in (folder.parent, folder):
            if place.is_symlink():
                raise OSError(errno.ELOOP, "it is a link to another place", str(place))
        made = engine_of(folder).own_files  # all that a replay ever makes there
        for name in made:
            files.check_regular(folder / name)
        for name in made:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise faults.from_system(error, error.filename or folder) from error
    return folder


class _Replay:
    """One replay, from its first turn to its report."""

    def __init__(self, recording: Recording, settings: Settings, recorded: RecordedFigures) -> None:
        self.now_ms = 0
        self._recording = recording
        self._history = history = history_of(recording)
        self._settings = settings
        self._model = lookup(recording.model, read_models(settings.models_file))
        self._recorded = recorded
        count = _counter(settings, self._model)
        self._market = market_of(self._model, recorded.cache_seconds, count)
        self._texts = ReplayTexts(history, count)
        needs = Needs(tuple(history.numbered))
        self._before = Side(self._market, needs)
        self._after = Side(self._market, needs)
        records = compaction_records(recording, recorded)
        self._native = NativeSide(history, self._texts, records, self._market, needs)
        self._is_timed = any(entry.timestamp for entry in recording.entries)
        self._actions: tuple[Action, ...] = ()
        self._fresh: list[Action] = []
        self._prunes: list[Prune] = []
        self._warnings: dict[str, tuple[str, int]] = {}
        self._over_budget_turns = 0
        self._beyond_window_turns = 0
        self._prepare_ms: list[float] = []

    def drive(self, session: Session, progress: Callable[[int, int], None] | None) -> None:
        """Prepare every prompt of the session, first to last."""
        history = self._history
        sender = Sender(session, self._recording.model, history, self._texts, self._recorded.cache_seconds)
        turns = history.turns
        for turn, number in enumerate(turns, 1):
            if progress is not None:
                progress(turn - 1, len(turns))
            self.now_ms = history.entries[number][0].timestamp
            started = time.perf_counter()
            prepared = sender.prepare(number)
            self._prepare_ms.append((time.perf_counter() - started) * 1e3)
            is_prune = self._note(turn, prepared)
            at_ms = self.now_ms if self._is_timed else None
            self._before.add(number, sender.everything, at_ms, prepared.tokens_before)
            cached = self._after.add(number, sender.window, at_ms, prepared.tokens_after)
            self._native.add(number, at_ms)
            sender.answer(cached)
            if is_prune:
                self._prunes[-1] = self._judged(self._prunes[-1], session, cached)
        if progress is not None:
            progress(len(turns), len(turns))

    def _judged(self, prune: Prune, session: Session, cached: int) -> Prune:
        """Say why a prune came when it did, and what it saved beside what it freed."""
        found = (session.why(action.ref) for action in self._fresh if action.ref)
        detail = next((one.detail for one in found if one is not None and "moment" in one.detail), None)
        if detail is None:
            return prune
        saved = cached * (self._market.prices.write - self._market.prices.read) if detail["stays_tokens"] else 0.0
        if detail["moment"] == "pause":
            saved = (detail["total_tokens"] - prune.window_tokens) * self._market.prices.write
        return replace(prune, moment=detail["moment"], target_tokens=detail["target_tokens"], saved=max(0.0, saved))

    def _note(self, turn: int, prepared: Prepared) -> bool:
        """Take in what the engine did and said on one turn; return whether something left on it."""
        for warning in prepared.warnings:
            if warning.startswith(_NOT_STORED):
                raise StoreError(warning.removeprefix(_NOT_STORED))
            kind = re.sub(r"[\d,]+", "#", warning)  # the same sentence with other figures
            self._warnings[kind] = (warning, self._warnings.get(kind, ("", 0))[1] + 1)
        left = tuple(action for action in prepared.actions if action.kind != "noted")  # a note was put in
        if has_changed := left != self._actions:
            known = {action.entry_id: action for action in self._actions}
            fresh = [action for action in left if known.get(action.entry_id) != action]
            before = (known[action.entry_id].tokens_saved for action in fresh if action.entry_id in known)
            saved = sum(action.tokens_saved for action in fresh) - sum(before)
            self._prunes.append(Prune(turn, len(fresh), saved, prepared.tokens_after))
            self._fresh, self._actions = fresh, left
        self._over_budget_turns += prepared.tokens_after > prepared.budget_tokens
        self._beyond_window_turns += prepared.tokens_before > self._model.window_tokens
        return has_changed

    def report(self, path: str, folder: Path) -> ReplayReport:
        """Return the report of the whole replay."""
        recording = self._recording
        times = sorted(self._prepare_ms) or [0.0]
        return ReplayReport(
            path=path,
            format=recording.format,
            home=str(folder),
            turns=len(self._prepare_ms),
            tokens_before=self._before.tokens,
            tokens_after=self._after.tokens,
            peak_before=self._before.peak,
            peak_after=self._after.peak,
            budget_tokens=self._settings.budget_for(self._model.window_tokens),
            budget_reason=_budget_reason(self._settings, self._model),
            window_tokens=self._model.window_tokens,
            over_budget_turns=self._over_budget_turns,
            beyond_window_turns=self._beyond_window_turns,
            cost=self._cost(),
            survival=self._after.survival.result,
            survival_before=self._before.survival.result,
            actions=dict(Counter(action.kind for action in self._actions)),
            left=self._left(),
            prunes=tuple(self._prunes),
            skipped=dict(sorted((Counter(recording.skipped) + self._history.left_out).items())),
            compactions=len(recording.compactions),
            unfinished=recording.unfinished,
            warnings=tuple(self._notes()),
            prepare_ms=(times[len(times) // 2], times[int(len(times) * 0.99)]),
        )

    def _cost(self) -> ReplayCost:
        return ReplayCost(
            model=self._recording.model,
            priced_as=self._model.name,
            read_price=self._market.prices.read,
            write_price=self._market.prices.write,
            usd_per_million=self._model.input_usd_per_million,
            cache_seconds=self._market.cache_seconds,
            cache_recorded=self._recorded.cache_seconds is not None,
            before=self._before.cost.cost_tokens,
            after=self._after.cost.cost_tokens,
            refetch=self._after.refetch,
            native=self._native.result,
        )

    def _left(self) -> tuple[Left, ...]:
        """Group what left by its origin; the engine's ids lead back to the entries of the recording."""
        entries: dict[str, ContextEntry] = {}
        id_ = ""
        for message, sources in zip(self._history.messages, self._history.entries, strict=True):
            id_ = message_id(id_, anthropic.digest(message))
            entries.update((f"{id_}.{place}", entry) for place, entry in enumerate(sources))
        groups: dict[tuple[str, str], list[tuple[Action, ContextEntry]]] = {}
        for action in self._actions:
            entry = entries[action.entry_id]
            origin = metadata_of(entry, "tool_name") or metadata_of(entry, "role")
            groups.setdefault((action.kind, origin), []).append((action, entry))
        left = map(self._group, groups.values())
        return tuple(sorted(left, key=lambda group: (-group.tokens, group.what, group.tool or "")))

    def _group(self, members: Sequence[tuple[Action, ContextEntry]]) -> Left:
        action, entry = max(members, key=lambda member: (member[1].type == "tool_result", member[0].tokens_saved))
        tool = metadata_of(entry, "tool_name")
        what: Origin = "tool" if tool else "assistant" if metadata_of(entry, "role") == "assistant" else "user"
        tokens = sum(action.tokens_saved for action, _ in members)
        return Left(action.kind, what, tool, len(members), tokens, entry, action.ref, action.reason)

    def _notes(self) -> Iterator[str]:
        """Yield the sentences that a reader of the figures needs."""
        for warning, turns in self._warnings.values():
            yield warning if turns == 1 else f"{warning} (the last of {turns} turns)"
        if not self._prepare_ms:
            yield "no answer of the agent stands in it yet, so there is nothing to replay"
        if self._model.binds_thinking:
            yield (
                f"{self._recording.model} binds its signed thinking to the history as it was sent: live, a session "
                "with such thinking is not edited yet; the replay leaves thinking out"
            )
        if times := len(self._recording.compactions):
            yield (
                f"the client itself compacted {_times(times)}; the replay continues with the whole history, without "
                "the client's summaries"
            )
        if images := self._recording.skipped.get("image data", 0):
            yield f"{images:,} picture{'s' if images > 1 else ''} of the recording count as the word [image] only"
        if self._recording.unfinished:
            yield "the last line of the file is cut: the session is being written, or its writer was killed"


def _counter(settings: Settings, model: Model) -> Callable[[str], int]:
    """The counter that the session uses: the model's own tokens, of each text rounded up."""
    count = counter(settings.token_counter, command_for)
    factor = 1.0 if settings.token_counter == "characters/4" else model.token_factor
    return count if factor == 1.0 else lambda text: math.ceil(count(text) * factor)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def _budget_reason(settings: Settings, model: Model) -> str:
    """Say which limit counts."""
    if not settings.is_auto:
        return "as set"
    share = f"{settings.window_share:.0%} of the window of {model.window_tokens:,} tokens"
    share += " that is assumed, as the model is not known" if model == UNKNOWN else f" of {model.name}"
    if settings.prune_threshold_tokens < int(model.window_tokens * settings.window_share):
        return f"the setting prune_threshold_tokens, which is below {share}"
    return share
