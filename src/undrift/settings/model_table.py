"""The table of models: window, prices, token factor, thinking binding.

Law: the only home of a figure about a model; every row is dated, and the user's file wins over it. Only `read_models`
touches the disk.

Sources of the figures (November 2026):

- Prices: the vendors' list prices per million input tokens, lowest tier; some models cost more above 100,000, 200,000
  or 272,000 tokens. `write_ratio` is the five-minute write (a one-hour write is 2.0 at Anthropic).
- Windows: the vendors' figures, with two exceptions. Claude 4.6 stands at 200,000, because clients run it so unless the
  name ends in ``[1m]`` (the largest recorded turn was 177,400 tokens). GPT-5 and GPT-6 stand at 258,400: what Codex
  reports as usable, and below the 272,000 tokens at which the price doubles.
- Thinking binding: Anthropic's list of models that tie a thinking block to all that came before it.
- Token factors: measured on recorded sessions (docs/calibration.md), as tokens per token of o200k. The figures of tool
  results alone and of whole turns are in brackets; each factor lies between them or within 3%. It is 1.2 for the older
  Claude tokenizer (1.16 and 1.25), 1.6 for the one since Opus 4.7 (1.58 and 1.67), 1.0 for GPT (1.01 and 1.04), 1.1 for
  Gemini (1.13 and 1.11). Reported usage corrects them in each session.
- Caches: five minutes at Anthropic, unless the traffic says an hour, and its shortest prefixes. A day at OpenAI, which
  since May 2026 keeps caches for up to a day unless a request says less; an hour for the models that it keeps in memory
  alone. A day at Gemini, whose implicit caches expire within one. A pause counts as the end of a cache only if it is
  sure to be: rewriting a warm cache costs, missing a cold one only saves nothing.
- ASSUMED: the cache of unknown models (a day, 4,096 tokens); the prices and windows of
  claude-fable-5-2 and claude-mythos-5-2 (as 5-1); the factor 1.2 of unknown models.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from undrift.errors import SettingsError

__all__ = ["MODELS", "Model", "UNKNOWN", "load_models", "lookup", "model_key", "read_models"]

_AS_OF = "2026-11"
_CACHE_SECONDS = 86_400
_MEMORY_SECONDS = 3_600
_LONG_CACHE_SECONDS = 3_600
_LONG_WRITE_RATIO = 2.0
_ONE_PRICE = ("gpt", "gemini")
_CACHE_LEAST_TOKENS = 4_096
_FILE_LIMIT_CHARACTERS = 1_000_000
_LONG_WINDOW_TOKENS = 1_000_000
_NAME_LIMIT_CHARACTERS = 500  # a request may carry anything as its model


@dataclass(frozen=True, slots=True)
class Model:
    """The figures of one model.

    Args:
        name: The beginning of the names that the row covers, as in ``claude-opus-5``.
        family: Models of one family share a tokenizer, hence one calibration.
        window_tokens: Tokens of the context window, at least 1.
        input_usd_per_million: US dollars for a million uncached input tokens; None: unknown.
        read_ratio: Price of a cached token, as a multiple of an uncached one.
        write_ratio: Price of a token written to the cache (five minutes), as a multiple of an uncached one.
        token_factor: Tokens of this model per token of o200k, above 0.
        binds_thinking: True if editing earlier messages makes later thinking blocks invalid.
        as_of: Year and month of these figures, as in ``2026-11``.
        cache_seconds: After this time without a reading, the provider's cache has lost a prefix; at least 0.
        cache_least_tokens: A shorter prefix is never cached; at least 0.

    Raises:
        SettingsError: A field breaks its rule; the message names the model, the field, the value and the rule.
    """

    name: str
    family: str
    window_tokens: int
    input_usd_per_million: float | None
    read_ratio: float
    write_ratio: float
    token_factor: float
    binds_thinking: bool
    as_of: str
    cache_seconds: int = _CACHE_SECONDS
    cache_least_tokens: int = _CACHE_LEAST_TOKENS

    def __post_init__(self) -> None:
        for field, (rule, check) in _RULES.items():
            value = getattr(self, field)
            if not check(value):
                raise SettingsError(f"model {_shown(self.name)}: {field}={_shown(value)}: must be {rule}")

    def write_ratio_for(self, seconds: int | None) -> float:
        """Return the price of a token that is written for so many seconds, as `write_ratio`; None: unknown.

        OpenAI and Gemini charge the same for each time.
        """
        if seconds is None or seconds < _LONG_CACHE_SECONDS or self.write_ratio <= 1 or self.family in _ONE_PRICE:
            return self.write_ratio
        return max(self.write_ratio, _LONG_WRITE_RATIO)

    def written_usd_per_million(self, seconds: int | None) -> float | None:
        """Return the US dollars for a million tokens that are written for so many seconds; None: unknown."""
        usd = self.input_usd_per_million
        return None if usd is None else usd * self.write_ratio_for(seconds)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}... ({len(text)} characters)"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"\S{1,200}", value)) and bool(_key(value))


def _is_ratio(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1_000_000  # type: ignore[operator]  # NaN compares false


_RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "name": ("a model's name without spaces, of 1 to 200 characters", _is_name),
    "family": ("a text that is not empty", lambda value: isinstance(value, str) and value != ""),
    "window_tokens": ("an integer of at least 1 (and under 2^63)", lambda v: type(v) is int and 1 <= v < 2**63),
    "input_usd_per_million": ("null or a number from 0 to 1000000", lambda v: v is None or _is_ratio(v)),
    "read_ratio": ("a number from 0 to 1000000", _is_ratio),
    "write_ratio": ("a number from 0 to 1000000", _is_ratio),
    "token_factor": ("a number from 0.1 to 10", lambda v: _is_ratio(v) and 0.1 <= v <= 10),
    "binds_thinking": ("true or false", lambda value: type(value) is bool),
    "as_of": (
        "a year and month as in 2026-11",
        lambda value: isinstance(value, str) and bool(re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", value)),
    ),
    "cache_seconds": ("an integer from 0 to 1000000", lambda v: type(v) is int and 0 <= v <= 1_000_000),
    "cache_least_tokens": ("an integer from 0 to 1000000", lambda v: type(v) is int and 0 <= v <= 1_000_000),
}


def lookup(name: str | None, extra: Sequence[Model] = ()) -> Model:
    """Return the row with the longest name that `name` begins with, else a careful default.

    Provider prefixes, trailing dates and revisions, and case do not matter:
    ``us.anthropic.claude-opus-4-5-20251101-v1:0`` is claude-opus-4-5. A row never covers another version:
    claude-opus-5-6 is not claude-opus-5 but an unknown Claude, for which the row ``claude`` assumes that thinking is
    bound. A name that ends in ``[1m]`` has 1,000,000 tokens.

    Args:
        name: The name in the request or the recording; None, empty or unknown gives `UNKNOWN`.
        extra: Rows of the user (`load_models`); at equal length they win over the built-in rows.
    """
    if not isinstance(name, str) or len(name) > _NAME_LIMIT_CHARACTERS:
        return UNKNOWN
    return _lookup(name, tuple(extra))


@lru_cache(maxsize=256)
def _lookup(name: str, extra: tuple[Model, ...]) -> Model:
    rows = {_key(row.name): row for row in (*MODELS, *extra)}  # the later one wins
    key = _key(name)
    found = _longest(key, rows)
    if found is None and "claude" in key:
        # A gateway's own name, as in "prod-claude-opus-5": a missed Claude ends in a 400.
        found = _longest(key[key.index("claude") :], rows)
    model = found or UNKNOWN
    return replace(model, window_tokens=_LONG_WINDOW_TOKENS) if name.strip().lower().endswith("[1m]") else model


_PREFIX = re.compile(r"^(?:anthropic|azure|bedrock|google|google-gla|google-vertex|litellm|openai|openrouter|vertex):")
_OTHER_VERSION = re.compile(r"-(?!0(?![0-9a-z]))\d{1,2}(?![0-9a-z])")  # "-0" is the version itself; dates are longer


def _key(name: str) -> str:
    """Return the form in which names are compared: no provider, no variant after a colon, dashes for dots."""
    key = name.strip().lower().removesuffix("[1m]")
    key = key.rsplit("/", 1)[-1]  # anthropic/..., models/..., litellm_proxy/..., an ARN
    key = _PREFIX.sub("", key).partition(":")[0]  # :free, :beta, the ":0" of a Bedrock revision
    key = re.sub(r"^(?:[a-z][a-z-]*\.)+", "", key)  # us.anthropic.
    return re.sub(r"(?<=\d)\.(?=\d)", "-", key)


_DATED = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest).*")


def model_key(name: str | None) -> str:
    """Return a text that is equal for names of one model: no provider, no date, no case; empty without a name."""
    return _DATED.sub("", _key(name[:_NAME_LIMIT_CHARACTERS])) if isinstance(name, str) else ""


def _longest(key: str, rows: dict[str, Model]) -> Model | None:
    for end in range(len(key), 0, -1):
        row = rows.get(key[:end])
        rest = key[end:]
        if row is None or (rest and rest[0] not in "-@_"):
            continue
        if rest and re.search(r"\d", key[:end]) and _OTHER_VERSION.match(rest):
            continue
        return row
    return None


def load_models(text: str) -> tuple[Model, ...]:
    """Read rows from JSON: a list of objects with the fields of `Model`; missing ones come from the built-in match.

    Raises SettingsError: the text breaks a rule; the message names the place, the value and the rule.
    """
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"the table of models is not JSON: {error}") from error
    if not isinstance(rows, list):
        raise SettingsError(f"the table of models must be a list of objects, not {type(rows).__name__}")
    models: dict[str, Model] = {}
    for index, row in enumerate(rows):
        model = _model(f"models[{index}]", row)
        if (other := models.setdefault(_key(model.name), model)) is not model:
            raise SettingsError(f"models[{index}].name={_shown(model.name)}: must differ from {_shown(other.name)}")
    return tuple(models.values())


def _model(place: str, row: object) -> Model:
    """Return one row of the user's file; every error begins with its place."""
    if not isinstance(row, dict):
        raise SettingsError(f"{place}: must be an object, not {type(row).__name__}")
    known = [field.name for field in fields(Model)]
    for name in row:
        if name not in known:
            raise SettingsError(f"{place}.{name}: no such field; must be one of {', '.join(known)}")
    if "name" not in row:
        raise SettingsError(f"{place}: name is missing; must be {_RULES['name'][0]}")
    for name, value in row.items():
        rule, check = _RULES[name]
        if not check(value):
            raise SettingsError(f"{place}.{name}={_shown(value)}: must be {rule}")
    return Model(**{**asdict(lookup(row["name"])), **row})


def read_models(path: str | None) -> tuple[Model, ...]:
    """Read the user's file of models (`Settings.models_file`); None gives no rows.

    Raises SettingsError: the file cannot be read or breaks a rule; the message names the file and what to do.
    """
    if path is None:
        return ()
    remedy = "correct the file or unset UNDRIFT_MODELS_FILE"
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_FILE_LIMIT_CHARACTERS + 1)
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: is not UTF-8 text: {remedy}") from error
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be read ({getattr(error, 'strerror', error)}): {remedy}") from error
    if len(text) > _FILE_LIMIT_CHARACTERS:
        raise SettingsError(f"{path}: must have at most {_FILE_LIMIT_CHARACTERS} characters: {remedy}")
    try:
        return load_models(text)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}: {remedy}") from error


def _claude(name: str, window_tokens: int, usd: float | None, *, least: int = 1_024) -> Model:
    """A Claude with the tokenizer that came before Opus 4.7."""
    return Model(name, "claude", window_tokens, usd, 0.1, 1.25, 1.2, False, _AS_OF, 300, least)


def _claude_new(
    name: str, usd: float | None, read_ratio: float = 0.1, *, binds: bool = False, least: int = 512
) -> Model:
    """A Claude with the tokenizer since Opus 4.7."""
    return Model(name, "claude-4.7", 1_000_000, usd, read_ratio, 1.25, 1.6, binds, _AS_OF, 300, least)


def _gpt(
    name: str,
    window_tokens: int,
    usd: float | None,
    read_ratio: float = 0.1,
    write_ratio: float = 1.0,
    seconds: int = _CACHE_SECONDS,
) -> Model:
    return Model(name, "gpt", window_tokens, usd, read_ratio, write_ratio, 1.0, False, _AS_OF, seconds, 1_024)


def _gemini(name: str, usd: float | None, read_ratio: float = 0.1, window_tokens: int = 1_048_576) -> Model:
    return Model(name, "gemini", window_tokens, usd, read_ratio, 1.0, 1.1, False, _AS_OF)


UNKNOWN = Model("unknown", "unknown", 200_000, None, 0.1, 1.25, 1.2, False, _AS_OF)
"""A name that no row begins: a common window, tokens counted rather too high, no price."""

MODELS: tuple[Model, ...] = (
    # The first row of a vendor covers versions that are not listed: careful figures, no price.
    replace(_claude_new("claude", None, binds=True, least=4_096), window_tokens=200_000),
    _claude("claude-3-5-haiku", 200_000, 0.8, least=2_048),
    _claude("claude-3-5-sonnet", 200_000, 3),
    _claude("claude-3-7-sonnet", 200_000, 3),
    _claude("claude-opus-4", 200_000, 15),
    _claude("claude-opus-4-1", 200_000, 15),
    _claude("claude-opus-4-5", 200_000, 5, least=4_096),
    _claude("claude-opus-4-6", 200_000, 5, least=4_096),
    _claude("claude-sonnet-4", 200_000, 3),
    _claude("claude-sonnet-4-5", 200_000, 3),
    _claude("claude-sonnet-4-6", 200_000, 3),
    _claude("claude-haiku-4-5", 200_000, 1, least=4_096),
    _claude_new("claude-opus-4-7", 5, least=2_048),
    _claude_new("claude-opus-4-8", 5, least=1_024),
    _claude_new("claude-opus-5", 5),
    _claude_new("claude-opus-5-5", 4, 0.05, binds=True),
    _claude_new("claude-sonnet-5", 2, least=1_024),
    _claude_new("claude-sonnet-5-5", 2, 0.05, binds=True, least=1_024),
    _claude_new("claude-haiku-5-5", 0.1, binds=True, least=4_096),
    _claude_new("claude-fable-5", 10),
    _claude_new("claude-fable-5-1", 10, 0.025, binds=True),
    _claude_new("claude-fable-5-2", 10, 0.025, binds=True),
    _claude_new("claude-mythos-preview", 10, least=2_048),
    _claude_new("claude-mythos-5", 10),
    _claude_new("claude-mythos-5-1", 10, 0.025, binds=True),
    _claude_new("claude-mythos-5-2", 10, 0.025, binds=True),
    _gpt("gpt", 128_000, None),
    _gpt("gpt-4o", 128_000, 2.5, 0.5, seconds=_MEMORY_SECONDS),
    _gpt("gpt-4o-mini", 128_000, 0.15, 0.5, seconds=_MEMORY_SECONDS),
    _gpt("gpt-4.1", 1_047_576, 2, 0.25),
    _gpt("gpt-4.1-mini", 1_047_576, 0.4, 0.25),
    _gpt("gpt-4.1-nano", 1_047_576, 0.1, 0.25),
    _gpt("o3", 200_000, 2, 0.25, seconds=_MEMORY_SECONDS),
    _gpt("o3-mini", 200_000, 1.1, 0.5, seconds=_MEMORY_SECONDS),
    _gpt("o3-pro", 200_000, 20, 1.0, seconds=_MEMORY_SECONDS),
    _gpt("o4-mini", 200_000, 1.1, 0.25, seconds=_MEMORY_SECONDS),
    _gpt("gpt-5", 258_400, 1.25),
    _gpt("gpt-5-chat", 128_000, 1.25),
    _gpt("gpt-5-mini", 258_400, 0.25),
    _gpt("gpt-5-nano", 258_400, 0.05),
    _gpt("gpt-5-pro", 258_400, 15, 1.0),
    _gpt("gpt-5.1", 258_400, 1.25),
    _gpt("gpt-5.1-chat", 128_000, 1.25),
    _gpt("gpt-5.1-codex-mini", 258_400, 0.25),
    _gpt("gpt-5.2", 258_400, 1.75),
    _gpt("gpt-5.2-chat", 128_000, 1.75),
    _gpt("gpt-5.2-pro", 258_400, 21, 1.0),
    _gpt("gpt-5.3-chat", 128_000, 1.75),
    _gpt("gpt-5.3-codex", 258_400, 1.75),
    _gpt("gpt-5.3-codex-spark", 121_600, None),  # as Codex reports it
    _gpt("gpt-5.4", 258_400, 2.5),
    _gpt("gpt-5.4-mini", 258_400, 0.75),
    _gpt("gpt-5.4-nano", 258_400, 0.2),
    _gpt("gpt-5.4-pro", 258_400, 30, 1.0),
    _gpt("gpt-5.5", 258_400, 5),
    _gpt("gpt-5.5-pro", 258_400, 30, 1.0),
    _gpt("gpt-5.6", 258_400, 4, 0.1, 1.25),  # cache writes cost extra from here on
    _gpt("gpt-5.6-luna", 258_400, 0.2, 0.1, 1.25),
    _gpt("gpt-5.6-terra", 258_400, 2, 0.1, 1.25),
    _gpt("gpt-6-astra", 258_400, 10, 0.1, 1.25),
    _gpt("gpt-6-luna", 258_400, 0.1, 0.1, 1.25),
    _gpt("gpt-6-sol", 258_400, 2, 0.1, 1.25),
    _gpt("gpt-6.1-sol", 258_400, 2, 0.05, 1.25),
    _gemini("gemini", None, window_tokens=131_072),
    _gemini("gemini-2.5-flash", 0.3),
    _gemini("gemini-2.5-flash-lite", 0.1),
    _gemini("gemini-2.5-pro", 1.25),
    _gemini("gemini-3-flash", 0.5),
    _gemini("gemini-3.1-flash-lite", 0.25),
    _gemini("gemini-3.1-pro", 2),
    _gemini("gemini-3.5-flash", 1.5),
    _gemini("gemini-3.5-flash-lite", 0.3),
    _gemini("gemini-3.6-flash", 0.75),
    _gemini("gemini-3.7-flash", 0.75),
    _gemini("gemini-3.8-flash", 0.75),
    _gemini("gemini-4-argon", 2, 0.05),
    _gemini("gemini-flash-latest", 0.75),
    _gemini("gemini-flash-lite-latest", 0.3),
    _gemini("gemini-pro-latest", 2),
)
"""Every model that undrift knows; a file named by UNDRIFT_MODELS_FILE overrides and extends it (docs/models.md)."""
