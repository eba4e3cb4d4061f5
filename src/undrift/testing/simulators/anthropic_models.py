"""The rules that follow from an Anthropic model's name: thinking binding, prefill, role system, shortest cached prefix.

Pure. A name that says nothing gets the stricter answer, and is taken as not binding.
"""

import re
from dataclasses import dataclass

__all__ = ["Generation", "accepts_prefill", "accepts_system_role", "binds_thinking", "minimum_tokens_of", "reads"]

_FAMILY = r"(?P<family>opus|sonnet|haiku|fable|mythos)"
_OLD_NAME = re.compile(r"claude-(?P<major>\d)(?:[-.](?P<minor>\d))?-" + _FAMILY)
_NAME = re.compile(r"claude-" + _FAMILY + r"(?:-(?P<major>\d{1,2})(?!\d)(?:[-.](?P<minor>\d{1,2})(?!\d))?)?")
_BINDING = {
    ("fable", 5, 1),
    ("mythos", 5, 1),
    ("fable", 5, 2),
    ("mythos", 5, 2),
    ("opus", 5, 5),
    ("sonnet", 5, 5),
    ("haiku", 5, 5),
}
_MINIMUM_TOKENS = {
    ("opus", 4, 0): 1024,
    ("opus", 4, 1): 1024,
    ("opus", 4, 5): 4096,
    ("opus", 4, 6): 4096,
    ("opus", 4, 7): 2048,
    ("opus", 4, 8): 1024,
    ("haiku", 3, 5): 2048,
    ("mythos", 0, 0): 2048,  # the preview, which has no number
}
_MINIMUM_TOKENS_OTHERWISE = {"opus": 512, "fable": 512, "mythos": 512, "sonnet": 1024, "haiku": 4096}


@dataclass(frozen=True, slots=True)
class Generation:
    """Family and version that a model's name gives; ``("", 0, 0)`` for a name of no known family."""

    family: str
    major: int
    minor: int

    @classmethod
    def of(cls, model: str) -> "Generation":
        """Read a name, as ``claude-opus-4-5-20251101`` or ``claude-3-5-haiku-latest``, a provider's prefix before it."""
        found = _OLD_NAME.search(model) or _NAME.search(model)
        if found is None:
            return cls("", 0, 0)
        return cls(found["family"], int(found["major"] or 0), int(found["minor"] or 0))

    @property
    def key(self) -> tuple[str, int, int]:
        """Family, major, minor."""
        return self.family, self.major, self.minor


def binds_thinking(model: str) -> bool:
    """Tell whether the model ties thinking to all that came before it."""
    return Generation.of(model).key in _BINDING


def accepts_prefill(model: str) -> bool:
    """Tell whether the last message may be the assistant's: up to the generation before 4.6."""
    generation = Generation.of(model)
    return generation.major > 0 and (generation.major, generation.minor) < (4, 6)


def accepts_system_role(model: str) -> bool:
    """Tell whether `messages` may hold the role system: Opus from 4.8, Fable and Mythos from 5."""
    generation = Generation.of(model)
    if generation.family in ("fable", "mythos"):
        return generation.major >= 5
    return generation.family == "opus" and (generation.major, generation.minor) >= (4, 8)


def minimum_tokens_of(model: str) -> int:
    """Return the shortest prefix that is cached, in tokens; a shorter one silently is not."""
    generation = Generation.of(model)
    return _MINIMUM_TOKENS.get(generation.key, _MINIMUM_TOKENS_OTHERWISE.get(generation.family, 1024))


def reads(reader: str, writer: str) -> bool:
    """Tell whether `reader` takes the thinking of `writer`: its own, and that of Haiku 5.5."""
    return reader == writer or Generation.of(writer).key == ("haiku", 5, 5)
