"""Whether our plugin is enabled, read from a client's own settings."""

import pytest

from undrift.clients.plugin import is_plugin_enabled


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("claude", '{"enabledPlugins": {"other@m": true, "undrift@undrift": true}}'),
        ("claude", '\ufeff{"enabledPlugins": {"undrift@team": true}}'),
        ("codex", '[plugins."undrift@undrift"]\nenabled = true\n'),
        ("codex", '[plugins."undrift@undrift"]\n'),
    ],
)
def test_an_enabled_plugin_of_any_marketplace_is_found(client: str, text: str) -> None:
    assert is_plugin_enabled(client, text)


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("claude", ""),
        ("claude", "not JSON"),
        ("claude", "[" * 200_000),
        ("claude", "[]"),
        ("claude", '{"enabledPlugins": ["undrift@undrift"]}'),
        ("claude", '{"enabledPlugins": {"undrift@undrift": false, "not-undrift@m": true}}'),
        ("claude", '{"enabledPlugins": {"undrift@undrift": "true"}}'),
        ("codex", '[plugins."undrift@undrift"]\nenabled = false\n'),
        ("codex", "[plugins"),
        ("gemini", '{"enabledPlugins": {"undrift@undrift": true}}'),
    ],
)
def test_everything_else_is_no_plugin(client: str, text: str) -> None:
    assert not is_plugin_enabled(client, text)
