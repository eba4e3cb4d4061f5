"""Replays a recorded session through undrift, turn by turn, as its client would have sent it, and reports on it."""

from undrift.recordings.replay.report import Left, NativeCost, Prune, ReplayCost, ReplayReport
from undrift.recordings.replay.run import replay, replay_folder

__all__ = ["Left", "NativeCost", "Prune", "ReplayCost", "ReplayReport", "replay", "replay_folder"]
