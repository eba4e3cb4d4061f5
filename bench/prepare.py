"""What a whole `Session.prepare` costs: the measure that `undrift bench overhead` runs."""

from undrift.bench.overhead import conversation, measure

__all__ = ["conversation", "measure"]
