"""The rules of the settings: the way a text is read, the values it can have, and the words for both. Pure."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from undrift.errors import InputError, SettingsError
from undrift.values.memory import MOST_STALE_THRESHOLD
from undrift.values.part import PartName
from undrift.values.retention import Retention

__all__ = [
    "AUTO",
    "BUDGET",
    "COUNT",
    "COUNTER",
    "COUNT_OR_NONE",
    "EMBEDDER",
    "PORTION",
    "PROVIDER",
    "RERANKER",
    "RETENTION",
    "SEEDS",
    "SHARE",
    "STALENESS",
    "SWITCH",
    "Setting",
    "TEXT",
    "ValueRule",
    "choice",
    "is_count",
    "is_share",
    "parsed",
    "setting",
    "setting_row",
    "settings_of",
    "share_of",
    "shown",
    "suggestion",
]

T = TypeVar("T")

AUTO = "auto"
"""The default budget: the model's limit, and below it pruning where that costs nothing or is paid out of savings."""

_AUTO_SHARE = 0.75
_SHARE = re.compile(r"[0-9]{1,3}(\.[0-9]{1,2})?%")

_SHOWN_CHARACTERS = 80  # an error quotes a value, it does not repeat a megabyte of it

SEEDS = "Names of the seed documents"
"""The group of the settings that do not count among the 15."""

_INTEGER_LIMIT = 2**63  # what SQLite holds; sys.maxsize still means "never"
_SHORT_TOKENS = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,3})?)([km])")


@dataclass(frozen=True, slots=True)
class ValueRule:
    """The type and range that a setting must have.

    Args:
        words: What a value must be, in words that follow "must be".
        parse: The text of a variable -> a value; raises ValueError for another notation.
        check: Whether a value (parsed, or given to `Settings`) has the right type and range.
        safe: The only values that a project's file may set; None: all, unless the setting is private.
    """

    words: str
    parse: Callable[[str], Any]
    check: Callable[[Any], bool]
    safe: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of `Settings`, with its rule and its help.

    Args:
        environment: The variables that set it, the product's own first.
        default: The value without any variable; None means "not set".
        rule: See `ValueRule.words`.
        parse: See `ValueRule.parse`.
        check: See `ValueRule.check`.
        help: What it does, in one or two short sentences.
        group: The heading under which the guide and `undrift config` show it.
        is_private: True if a project's file cannot set it, because it could open or leak something.
        safe: See `ValueRule.safe`.
    """

    name: str
    environment: tuple[str, ...]
    default: Any
    rule: str
    parse: Callable[[str], Any]
    check: Callable[[Any], bool]
    help: str
    group: str
    is_private: bool
    safe: tuple[Any, ...] | None = None

    @property
    def is_seed(self) -> bool:
        """True for a name of the seed documents: it stays as they have it."""
        return self.group == SEEDS


def setting(
    default: T,
    rule: ValueRule,
    help: str,  # noqa: A002 - the name of the row's column
    *,
    group: str = SEEDS,
    also: str = "",
    is_private: bool = False,
) -> T:
    """Return a field of `Settings`; its variable is UNDRIFT_ and the field's name.

    Args:
        default: The value without any variable.
        rule: What a value must be.
        help: What the setting does, in one or two short sentences.
        group: See `Setting.group`.
        also: The seed's variable that sets it too.
        is_private: See `Setting.is_private`.
    """
    more = {"also": (also,) if also else (), "group": group, "is_private": is_private}
    return field(default=default, metadata={"rule": rule, "help": help, **more})


def settings_of(cls: type[Any]) -> tuple[Setting, ...]:
    """Return the settings that a class has as fields, in their order."""
    return tuple(
        Setting(
            one.name,
            (f"UNDRIFT_{one.name.upper()}", *one.metadata["also"]),
            one.default,
            one.metadata["rule"].words,
            one.metadata["rule"].parse,
            one.metadata["rule"].check,
            one.metadata["help"],
            one.metadata["group"],
            one.metadata["is_private"],
            one.metadata["rule"].safe,
        )
        for one in fields(cls)
    )


def setting_row(name: str, variable: str, rule: ValueRule) -> Setting:
    """Return the row of a value that one variable sets, and that is no field of `Settings`."""
    return Setting(name, (variable,), None, rule.words, rule.parse, rule.check, "", "", True)


def shown(value: object) -> str:
    """Return a value as an error quotes it; a long value is cut."""
    try:
        text = repr(value)
    except ValueError:  # an integer beyond Python's own limit of digits
        return f"<an integer of {value.bit_length()} bits>" if isinstance(value, int) else f"<{type(value).__name__}>"
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return f"{text[:_SHOWN_CHARACTERS]}... ({len(text)} characters)"


def _integer(text: str) -> int:
    """Digits only: int() alone would take "5_0", " 5" and digits of other scripts."""
    if not re.fullmatch(r"-?[0-9]+", text):
        raise ValueError(text)
    return int(text)


def tokens_of(text: str) -> int:
    """Return the tokens that a text means: 60000, 60k or 0.06m. Raises ValueError: it is no whole number."""
    if (found := _SHORT_TOKENS.fullmatch(text.lower())) is None:
        return _integer(text)
    tokens = float(found[1]) * (1_000 if found[2] == "k" else 1_000_000)
    if tokens != int(tokens):
        raise ValueError(text)
    return int(tokens)


def _decimal(text: str) -> float:
    """Digits and one point: float() alone would take "nan", "inf" and "1e-1"."""
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        raise ValueError(text)
    return float(text)


def _boolean(text: str) -> bool:
    if text not in ("true", "false", "1", "0"):
        raise ValueError(text)
    return text in ("true", "1")


def is_count(value: object) -> bool:
    """Tell whether a value is an integer of at least 1 that SQLite holds."""
    return _is_integer(value, 1)


def _is_integer(value: object, least: int) -> bool:
    return type(value) is int and least <= value < _INTEGER_LIMIT  # type(), because a bool is an int too


def _is_number(value: object, most: float) -> bool:
    return (type(value) is float or type(value) is int) and 0 <= value <= most  # NaN fails every comparison


def _matches(pattern: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def choice(*values: str) -> ValueRule:
    """Return the rule "one of these words"."""
    words = f"{', '.join(values[:-1])} or {values[-1]}"
    return ValueRule(words, str, lambda value: isinstance(value, str) and value in values)


def share_of(budget: int | str) -> float:
    """Return the share of the model's window that a budget means: that of auto, unless it is a share itself."""
    return float(str(budget).rstrip("%")) / 100 if is_share(budget) else _AUTO_SHARE


def is_share(value: object) -> bool:
    """Tell whether a value is a share such as ``60%``: above 0, and at most all."""
    if not isinstance(value, str) or not _SHARE.fullmatch(value):
        return False
    return 0 < float(value.rstrip("%")) <= 100


def _budget_of(text: str) -> int | str:
    return text if text == AUTO or is_share(text) else tokens_of(text)


def _is_retention(value: object) -> bool:
    try:
        return isinstance(value, str) and Retention.of(value) is not None
    except InputError:
        return False


def parsed(row: Setting, variable: str, text: str) -> Any:
    """Return the value of one variable, checked; the error names the variable, its text and the rule."""
    try:
        value = row.parse(text)
    except ValueError:
        value = None  # no check accepts None
    if not row.check(value):
        raise SettingsError(f"{variable}={shown(text)}: must be {row.rule}")
    return value


BUDGET = ValueRule(
    "auto, a share such as 60%, or an integer of at least 1 (in the environment also 60k or 0.5m)",
    _budget_of,
    lambda value: is_count(value) or value == AUTO or is_share(value),
)
RETENTION = ValueRule("off, an age such as 365 days, a size such as 10 GB, or both with a comma", str, _is_retention)
COUNT = ValueRule("an integer of at least 1 (and under 2^63)", _integer, is_count)
COUNT_OR_NONE = ValueRule("an integer of at least 0 (and under 2^63)", _integer, lambda value: _is_integer(value, 0))
SHARE = ValueRule("a decimal number above 0 and at most 1", _decimal, lambda value: _is_number(value, 1) and value > 0)
PORTION = ValueRule("a decimal number from 0 to 1", _decimal, lambda value: _is_number(value, 1))
STALENESS = ValueRule("a decimal number from 0 to 0.5", _decimal, lambda value: _is_number(value, MOST_STALE_THRESHOLD))
SWITCH = ValueRule("true or false (in the environment also 1 or 0)", _boolean, lambda value: type(value) is bool)
TEXT = ValueRule("a text that is not empty and has no NUL character", str, _matches(r"[^\0]+"))
PROVIDER = ValueRule(
    "a name of 1 to 64 letters, digits, _, . and -, the first one no . or -",
    str,
    _matches(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"),
)
COUNTER = ValueRule(
    "estimate, characters/4 or tiktoken:ENCODING (such as tiktoken:o200k_base)",
    str,
    _matches(r"estimate|characters/4|tiktoken:[a-z0-9_]+"),
)

_PARTS = "sentence-transformers:MODEL, fastembed:MODEL, module:attribute, an https address, or http on this machine"
_NO_MODEL = ("auto", "wordllama", "none")
EMBEDDER = ValueRule(
    f"auto, wordllama, none, {_PARTS}",
    str,
    lambda value: value in _NO_MODEL or PartName.of(value) is not None,
    safe=_NO_MODEL,
)
RERANKER = ValueRule(f"none, {_PARTS}", str, lambda value: value == "none" or PartName.of(value) is not None)


def suggestion(name: str, known: Iterable[str], likeness: float) -> str:
    """Return `` Did you mean X?`` with the nearest known name; empty if none reaches the likeness, 0 to 1."""
    import difflib  # only here: names are seldom mistyped

    near = difflib.get_close_matches(name[:80], list(known), n=1, cutoff=likeness)
    return f" Did you mean {near[0]}?" if near else ""
