"""The settings: every rule at its boundary, what an error says, and that table, fields and documents agree."""

import ast
import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from tests.house.trees import nodes
from undrift.errors import SettingsError
from undrift.settings import PRUNE_THRESHOLD, SETTINGS, TERMINAL_OBSERVATION_WINDOW, Setting, Settings

ROOT = Path(__file__).parents[2]
NAMES = {setting.name: setting for setting in SETTINGS}
SEEDS_NAMES = {
    "contradiction_penalty",  # DEVS_CONTRADICTION_PENALTY
    "debug_archive",  # DEBUG_ARCHIVE
    "eviction_respects_anchor",  # AX-1; tests/seeds
    "finished_tasks_shown",  # AX-2; tests/seeds
    "min_decay_floor",  # DEVS_MIN_DECAY_FLOOR
    "phase_weight",  # DEVS_PHASE_WEIGHT
    "prune_target_ratio",  # A2-3; tests/seeds
    "prune_threshold_tokens",  # DEVS_PRUNE_THRESHOLD
    "retrieval_monitor_window",  # DEVS_RETRIEVAL_MONITOR_WINDOW
    "rolling_tool_results",  # A3-19; tests/seeds
    "route_complex",  # UNDRIFT_ROUTE_COMPLEX
    "route_simple",  # UNDRIFT_ROUTE_SIMPLE
    "stale_eviction_threshold",  # DEVS_STALE_EVICTION_THRESHOLD
    "task_markers",  # the seed's task marker
    "tombstone_share",  # AX-2; tests/seeds
    "vector_index",  # LanceDB
}
"""The settings that the seed documents ask for, and where they do."""
COUNTS = (
    "budget_tokens",
    "prune_threshold_tokens",
    "keep_tool_results",
    "phase_weight",
    "retrieval_monitor_window",
)
SHARES = ("prune_target_ratio", "contradiction_penalty")
PORTIONS = ("min_decay_floor",)
TEXTS = ("models_file", "home")


def made(**fields: Any) -> Settings:
    """Settings from fields of any type: what a caller without a type checker may give."""
    return Settings(**fields)


def refusal(**fields: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        made(**fields)
    return str(caught.value)


def environment_refusal(environ: dict[str, str], **overrides: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment(environ, **overrides)
    return str(caught.value)


def as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --------------------------------------------------------------------------------------------------------- defaults


def test_an_empty_environment_gives_the_defaults_of_the_seeds() -> None:
    settings = Settings.from_environment({})
    assert settings == Settings()
    assert settings.prune_threshold_tokens == PRUNE_THRESHOLD == 800_000
    assert settings.keep_tool_results == TERMINAL_OBSERVATION_WINDOW == 5
    assert settings.prune_target_ratio == 0.75
    assert settings.budget_tokens == "auto"
    assert settings.mask_secrets is True
    assert settings.home == str(Path.home() / ".undrift")


def test_settings_are_frozen_and_keyword_only() -> None:
    settings = Settings(keep_tool_results=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.keep_tool_results = 4  # type: ignore[misc]
    with pytest.raises(TypeError):
        Settings(60_000)  # type: ignore[call-arg]
    assert dataclasses.replace(settings, keep_tool_results=4).keep_tool_results == 4


def test_replace_validates_again() -> None:
    with pytest.raises(SettingsError, match="keep_tool_results=0"):
        dataclasses.replace(Settings(), keep_tool_results=0)


def test_a_name_that_is_no_setting_is_refused() -> None:
    with pytest.raises(TypeError):
        Settings(keep_tool_result=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Settings.from_environment({}, keep_tool_result=3)


# --------------------------------------------------------------------------------------------------- the environment


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("UNDRIFT_BUDGET_TOKENS", "60000", "budget_tokens", 60_000),
        ("UNDRIFT_BUDGET_TOKENS", "auto", "budget_tokens", "auto"),
        ("UNDRIFT_PRUNE_THRESHOLD_TOKENS", "1", "prune_threshold_tokens", 1),
        ("DEVS_PRUNE_THRESHOLD", "900000", "prune_threshold_tokens", 900_000),
        ("UNDRIFT_PRUNE_TARGET_RATIO", "0.5", "prune_target_ratio", 0.5),
        ("UNDRIFT_KEEP_TOOL_RESULTS", "7", "keep_tool_results", 7),
        ("DEVS_TERMINAL_WINDOW_SIZE", "1", "keep_tool_results", 1),
        ("UNDRIFT_RULE_GUARD", "ask", "rule_guard", "ask"),
        ("UNDRIFT_BUDGET_TOKENS", "60%", "budget_tokens", "60%"),
        ("UNDRIFT_RETENTION", "365 days, 10 GB", "retention", "365 days, 10 GB"),
        ("UNDRIFT_TOKEN_COUNTER", "characters/4", "token_counter", "characters/4"),
        ("UNDRIFT_TOKEN_COUNTER", "tiktoken:o200k_base", "token_counter", "tiktoken:o200k_base"),
        ("UNDRIFT_MASK_SECRETS", "false", "mask_secrets", False),
        ("UNDRIFT_MASK_SECRETS", "0", "mask_secrets", False),
        ("UNDRIFT_MASK_SECRETS", "true", "mask_secrets", True),
        ("UNDRIFT_MASK_SECRETS", "1", "mask_secrets", True),
        ("UNDRIFT_MODELS_FILE", "my models.json", "models_file", "my models.json"),
        ("UNDRIFT_HOME", ".sigma", "home", ".sigma"),
        ("DEVS_PHASE_WEIGHT", "80", "phase_weight", 80),
        ("DEVS_CONTRADICTION_PENALTY", "0.5", "contradiction_penalty", 0.5),
        ("DEVS_MIN_DECAY_FLOOR", "0.0", "min_decay_floor", 0.0),
        ("DEVS_STALE_EVICTION_THRESHOLD", "0.5", "stale_eviction_threshold", 0.5),
        ("DEVS_RETRIEVAL_MONITOR_WINDOW", "5", "retrieval_monitor_window", 5),
        ("UNDRIFT_LEARNS", "off", "learns", "off"),
        ("UNDRIFT_MEMORY_TOKENS", "500", "memory_tokens", 500),
    ],
)
def test_a_variable_sets_its_field_and_nothing_else(variable: str, text: str, field: str, value: object) -> None:
    settings = Settings.from_environment({variable: text, "PATH": "unrelated"})
    assert settings == made(**{field: value})
    assert type(getattr(settings, field)) is type(value)


def test_every_variable_of_the_table_is_read() -> None:
    for setting in SETTINGS:
        assert setting.environment[0] == f"UNDRIFT_{setting.name.upper()}"
        for variable in setting.environment:
            assert variable in environment_refusal({variable: ""})


def test_the_environment_of_the_process_is_read_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in SETTINGS:
        for variable in setting.environment:
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("DEVS_TERMINAL_WINDOW_SIZE", "9")
    settings = Settings.from_environment()
    monkeypatch.setenv("DEVS_TERMINAL_WINDOW_SIZE", "10")
    assert settings.keep_tool_results == 9


@pytest.mark.parametrize(
    "text",
    ["5.0", "", "abc", "0", "-1", "-0", " 5", "5 ", "5\n", "+5", "5_0", "1e3", "0x5", "\u0665", "9" * 19, "9" * 5_000],
)
@pytest.mark.parametrize("variable", ["DEVS_TERMINAL_WINDOW_SIZE", "DEVS_PRUNE_THRESHOLD", "UNDRIFT_BUDGET_TOKENS"])
def test_an_integer_variable_takes_plain_digits_in_range_only(variable: str, text: str) -> None:
    message = environment_refusal({variable: text})
    assert message.startswith(f"{variable}={repr(text)[:40]}")
    assert "an integer of at least 1" in message
    assert len(message) < 250


@pytest.mark.parametrize(
    "text",
    ["", "0", "0.0", "-0.5", "1.0000001", "2", "nan", "inf", "1e-1", " 0.5", ".5", "5.", "0,5", "abc", "9" * 400],
)
@pytest.mark.parametrize("variable", ["UNDRIFT_PRUNE_TARGET_RATIO", "UNDRIFT_TOMBSTONE_SHARE"])
def test_a_share_variable_takes_a_plain_decimal_in_range_only(variable: str, text: str) -> None:
    message = environment_refusal({variable: text})
    assert message.startswith(f"{variable}={repr(text)[:40]}")
    assert "must be a decimal number above 0 and at most 1" in message


@pytest.mark.parametrize("text", ["", "True", "FALSE", "yes", "no", "on", "2", " true"])
def test_a_boolean_variable_takes_four_words_only(text: str) -> None:
    message = environment_refusal({"UNDRIFT_MASK_SECRETS": text})
    assert message == f"UNDRIFT_MASK_SECRETS={text!r}: must be true or false (in the environment also 1 or 0)"


@pytest.mark.parametrize(
    "text", ["", "Estimate", "characters/3", "tiktoken", "tiktoken:", "tiktoken:o200k base", "estimate\n"]
)
def test_a_counter_that_does_not_exist_is_refused(text: str) -> None:
    assert "must be estimate, characters/4 or tiktoken:" in environment_refusal({"UNDRIFT_TOKEN_COUNTER": text})
    assert f"token_counter={text!r}" in refusal(token_counter=text)


def test_an_override_wins_over_the_environment() -> None:
    environ = {"UNDRIFT_BUDGET_TOKENS": "1000", "DEVS_TERMINAL_WINDOW_SIZE": "9"}
    settings = Settings.from_environment(environ, budget_tokens=2_000)
    assert (settings.budget_tokens, settings.keep_tool_results) == (2_000, 9)
    assert Settings.from_environment(environ, budget_tokens="auto").budget_tokens == "auto"


def test_a_wrong_variable_is_not_hidden_by_an_override() -> None:
    assert "UNDRIFT_BUDGET_TOKENS='abc'" in environment_refusal({"UNDRIFT_BUDGET_TOKENS": "abc"}, budget_tokens=2_000)


def test_a_wrong_override_is_refused_by_its_field_name() -> None:
    assert environment_refusal({"UNDRIFT_BUDGET_TOKENS": "5"}, budget_tokens=0).startswith("budget_tokens=0: must be")


TWICE_NAMED = [setting for setting in SETTINGS if len(setting.environment) > 1]


def written(setting: Setting) -> tuple[str, str, str]:
    """A value that the setting takes, the same in another notation, and another value."""
    if setting.rule.startswith("true or false"):
        return "true", "1", "false"
    return ("0.3", "0.30", "0.4") if setting.rule.startswith("a decimal number") else ("7", "07", "8")


@pytest.mark.parametrize("setting", TWICE_NAMED, ids=lambda setting: setting.name)
def test_two_names_of_one_setting_may_agree_but_not_differ(setting: Setting) -> None:
    ours, older = setting.environment
    value, same, other = written(setting)
    assert getattr(Settings.from_environment({ours: value, older: same}), setting.name) == setting.parse(value)
    message = environment_refusal({ours: value, older: other})
    assert f"{ours}={value!r}" in message
    assert f"{older}={other!r}" in message
    assert f"must be {setting.rule}" in message


@pytest.mark.parametrize("setting", TWICE_NAMED, ids=lambda setting: setting.name)
def test_a_wrong_older_name_is_refused_beside_a_right_one(setting: Setting) -> None:
    ours, older = setting.environment
    value, _, _ = written(setting)
    assert environment_refusal({ours: value, older: "x"}).startswith(f"{older}='x'")
    assert environment_refusal({ours: "x", older: value}).startswith(f"{ours}='x'")


def test_the_seeds_names_are_the_only_second_names() -> None:
    assert {s.name: s.environment[1:] for s in TWICE_NAMED} == {
        "prune_threshold_tokens": ("DEVS_PRUNE_THRESHOLD",),
        "keep_tool_results": ("DEVS_TERMINAL_WINDOW_SIZE",),
        "debug_archive": ("DEBUG_ARCHIVE",),
        "phase_weight": ("DEVS_PHASE_WEIGHT",),
        "contradiction_penalty": ("DEVS_CONTRADICTION_PENALTY",),
        "min_decay_floor": ("DEVS_MIN_DECAY_FLOOR",),
        "stale_eviction_threshold": ("DEVS_STALE_EVICTION_THRESHOLD",),
        "retrieval_monitor_window": ("DEVS_RETRIEVAL_MONITOR_WINDOW",),
    }


# ------------------------------------------------------------------------------------------------------- construction


@pytest.mark.parametrize("field", COUNTS)
@pytest.mark.parametrize("value", [1, 2, 2**63 - 1])
def test_a_count_may_be_anything_from_1_to_what_the_store_holds(field: str, value: int) -> None:
    assert getattr(made(**{field: value}), field) == value


@pytest.mark.parametrize("field", COUNTS)
@pytest.mark.parametrize("value", [0, -1, 2**63, True, 5.0, float("nan"), "5", b"5", [5]], ids=repr)
def test_a_count_of_another_type_or_range_is_refused(field: str, value: object) -> None:
    assert refusal(**{field: value}) == f"{field}={value!r}: must be {NAMES[field].rule}"


def test_an_integer_with_more_digits_than_python_prints_is_refused_in_words() -> None:
    assert refusal(budget_tokens=10**5_000).startswith("budget_tokens=<an integer of 16610 bits>: must be")


@pytest.mark.parametrize("field", SHARES)
def test_a_share_is_above_0_and_at_most_1(field: str) -> None:
    for value in (5e-324, 0.75, 1.0, 1):
        assert getattr(made(**{field: value}), field) == value
    for wrong in (0, 0.0, -0.1, 1.0000000000000002, 2, True, float("nan"), float("inf"), "0.5", None):
        assert refusal(**{field: wrong}) == f"{field}={wrong!r}: must be a decimal number above 0 and at most 1"


@pytest.mark.parametrize("field", PORTIONS)
def test_a_portion_goes_from_0_to_1(field: str) -> None:
    for value in (0, 0.0, 0.5, 1.0, 1):
        assert getattr(made(**{field: value}), field) == value
    for wrong in (-5e-324, 1.0000000000000002, True, float("nan"), "0.5", None):
        assert refusal(**{field: wrong}) == f"{field}={wrong!r}: must be a decimal number from 0 to 1"


def test_a_threshold_of_staleness_is_at_most_a_half() -> None:
    for value in (0, 0.05, 0.5):
        assert made(stale_eviction_threshold=value).stale_eviction_threshold == value
    for wrong in (-0.01, 0.5000000000000001, 1, True, float("nan"), "0.1", None):
        assert "must be a decimal number from 0 to 0.5" in refusal(stale_eviction_threshold=wrong)


@pytest.mark.parametrize("value", [1, 0, "true", None], ids=repr)
def test_mask_secrets_is_a_boolean_and_nothing_that_looks_like_one(value: object) -> None:
    assert refusal(mask_secrets=value).startswith(f"mask_secrets={value!r}: must be true or false")


@pytest.mark.parametrize("field", TEXTS)
def test_a_path_is_a_text_that_a_file_system_can_take(field: str) -> None:
    for value in ("", "a\0b", 5, Path("models.json")):
        assert refusal(**{field: value}).startswith(f"{field}={value!r}: must be a text")


def test_none_is_a_value_only_where_it_is_the_default() -> None:
    for setting in SETTINGS:
        if setting.default is None:
            assert getattr(made(**{setting.name: None}), setting.name) is None
        else:
            assert refusal(**{setting.name: None}).startswith(f"{setting.name}=None")


def test_a_long_value_is_quoted_in_part() -> None:
    message = refusal(token_counter="x" * 1_000_000)
    assert "(1000002 characters)" in message
    assert len(message) < 300


# ------------------------------------------------------------------------------------------------------------- budget


@pytest.mark.parametrize(
    ("fields", "window_tokens", "budget_tokens"),
    [
        ({}, 200_000, 150_000),
        ({}, 1_000_000, 750_000),
        ({}, 1_048_576, 786_432),
        ({}, 2_000_000, 800_000),
        ({"budget_tokens": "100%"}, 800_001, 800_000),
        ({"budget_tokens": "60%"}, 200_000, 120_000),
        ({"budget_tokens": "0.5%"}, 200_000, 1_000),
        ({"prune_threshold_tokens": 100}, 200_000, 100),
        ({"budget_tokens": 900_000}, 200_000, 900_000),
        ({"budget_tokens": 1, "prune_threshold_tokens": 2}, 200_000, 1),
        ({"budget_tokens": "0.1%"}, 10, 1),
    ],
)
def test_an_explicit_budget_wins_else_the_smaller_limit(
    fields: dict[str, Any], window_tokens: int, budget_tokens: int
) -> None:
    assert Settings(**fields).budget_for(window_tokens) == budget_tokens


@pytest.mark.parametrize("window_tokens", [0, -1, True, 1.5, None, "200000"], ids=repr)
def test_a_budget_for_no_window_is_refused(window_tokens: Any) -> None:
    with pytest.raises(SettingsError, match=r"window_tokens=.*must be an integer of at least 1"):
        Settings().budget_for(window_tokens)


# ---------------------------------------------------------------------------------------------------------- agreement


def test_the_table_and_the_fields_agree_in_order_and_default() -> None:
    fields = [(field.name, field.default) for field in dataclasses.fields(Settings)]
    assert fields == [(setting.name, setting.default) for setting in SETTINGS]


def test_every_default_keeps_its_own_rule_and_survives_the_environment() -> None:
    for setting in SETTINGS:
        if setting.default is not None:
            assert setting.check(setting.default), setting.name
            assert setting.parse(as_text(setting.default)) == setting.default


def test_no_variable_sets_two_settings() -> None:
    variables = [variable for setting in SETTINGS for variable in setting.environment]
    assert len(variables) == len(set(variables))


def test_the_guide_has_one_row_for_each_setting_word_for_word() -> None:
    rows = [
        line for line in (ROOT / "docs/settings.md").read_text().splitlines() if re.match(r"\| `\w+` `UNDRIFT_", line)
    ]
    assert rows == [
        "| "
        + " | ".join(
            (
                " ".join(f"`{name}`" for name in (setting.name, *setting.environment)),
                "not set" if setting.default is None else f"`{as_text(setting.default)}`",
                setting.rule.partition(" (")[0],
                setting.help + (" *private*" if setting.is_private else ""),
            )
        )
        + " |"
        for setting in SETTINGS
    ]


def test_the_guide_has_a_heading_for_each_group_with_its_settings_below() -> None:
    parts = (ROOT / "docs/settings.md").read_text().split("\n## ")
    of_group = {part.partition("\n")[0]: part for part in parts}
    for setting in SETTINGS:
        assert f"| `{setting.name}` `UNDRIFT_" in of_group[setting.group]


def test_at_most_15_settings_are_a_promise_and_the_seeds_names_stand_apart() -> None:
    """A setting needs a figure or a reason. Who adds one says in the same commit what it replaces."""
    own = [setting.name for setting in SETTINGS if not setting.is_seed]
    assert len(own) <= 15
    assert [setting.name for setting in SETTINGS[: len(own)]] == own
    assert {setting.name for setting in SETTINGS if setting.is_seed} == SEEDS_NAMES


def test_the_guide_names_the_budgets_that_the_engine_uses() -> None:
    rows = re.findall(r"^\| ([\d,]+) \| ([\d,]+) \|$", (ROOT / "docs/settings.md").read_text(), flags=re.MULTILINE)
    assert len(rows) >= 4
    for window, budget in rows:
        assert Settings().budget_for(int(window.replace(",", ""))) == int(budget.replace(",", ""))


def test_the_example_file_lists_every_variable_with_its_default_and_what_it_does() -> None:
    text = (ROOT / ".env.example").read_text()
    example = dict(re.findall(r"^#([A-Z][A-Z0-9_]*)=(.*)$", text, flags=re.MULTILINE))
    assert list(example) == [variable for setting in SETTINGS for variable in setting.environment]
    for setting in SETTINGS:
        assert f"# {setting.help}" in text
        for variable in setting.environment:
            if setting.default is None:
                assert setting.parse(example[variable]) != setting.default
            else:
                assert example[variable] == as_text(setting.default)
    assert Settings.from_environment(example) != Settings()  # the two that are not set by default hold an example
    unset = {variable for setting in SETTINGS if setting.default is None for variable in setting.environment}
    assert Settings.from_environment({k: v for k, v in example.items() if k not in unset}) == Settings()


def test_the_example_file_sets_nothing_as_it_stands() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == []


def test_no_other_module_reads_the_environment() -> None:
    readers = set()
    for path in (ROOT / "src/undrift").rglob("*.py"):
        for node in nodes(path.read_text(encoding="utf-8")):
            if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv", "getenvb"):
                readers.add(path.relative_to(ROOT / "src/undrift").as_posix())
    assert readers == {"settings/__init__.py"}


@pytest.mark.parametrize("text", ["0%", "101%", "-5%", "60 %", "%", "1e1%", "\u0661%", 0.6])
def test_a_budget_that_is_no_share_is_refused(text: Any) -> None:
    with pytest.raises(SettingsError, match="must be auto, a share such as 60%, or an integer"):
        made(budget_tokens=text)


@pytest.mark.parametrize("text", ["on", "365", "", 365])
def test_a_retention_that_is_none_is_refused(text: Any) -> None:
    with pytest.raises(SettingsError, match="must be off, an age such as 365 days"):
        made(retention=text)


def test_a_name_that_was_replaced_is_refused_with_the_new_form() -> None:
    with pytest.raises(SettingsError, match="set UNDRIFT_BUDGET_TOKENS to a share such as 60%"):
        Settings.from_environment({"UNDRIFT_WINDOW_SHARE": "0.6"})
    with pytest.raises(SettingsError, match="UNDRIFT_REMEMBER_TASKS was removed: set UNDRIFT_LEARNS to tasks for true"):
        Settings.from_environment({"UNDRIFT_REMEMBER_TASKS": "1"})
