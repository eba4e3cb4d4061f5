"""The figures of a benchmark, as `undrift bench` has them."""

from undrift.bench.figures import Claim, Figure, Report, cpu_ms, interleaved, machine, ratio_claim

__all__ = ["Claim", "Figure", "Report", "cpu_ms", "interleaved", "machine", "ratio_claim"]
