"""A recorded session through the engine, turn by turn, as its client would have sent it; and what came of it."""

from undrift.recordings.replay.report import Left, Prune, ReplayCost, ReplayReport
from undrift.recordings.replay.run import replay, replay_folder

__all__ = ["Left", "Prune", "ReplayCost", "ReplayReport", "replay", "replay_folder"]
