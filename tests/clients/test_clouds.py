"""Which cloud Claude Code uses, and whether the gateway can manage its requests."""

import json

import pytest

from undrift.clients.clouds import cloud_of, foundry_url
from undrift.clients.wrapped import Addresses, wrapped

AT = Addresses("http://g/via/anthropic", "http://g/via/openai/v1", "g", "http://g/via/bedrock", "http://g/via/vertex")
BEDROCK = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_BEARER_TOKEN_BEDROCK": "k", "AWS_REGION": "us-east-1"}
VERTEX = {"CLAUDE_CODE_USE_VERTEX": "true", "CLOUD_ML_REGION": "us-east5"}
FOUNDRY = {"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_RESOURCE": "mine"}


def pointed(given: dict[str, str]) -> dict[str, str]:
    """What the client's environment has besides the user's own; its settings on the command line say the same."""
    client = wrapped("claude")
    _, settings = client.words(AT, given)
    found = {k: v for k, v in client.environment(AT, given).items() if given.get(k) != v and "proxy" not in k.lower()}
    assert json.loads(settings)["env"] == found
    return found


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ({}, {}),
        ({"CLAUDE_CODE_USE_BEDROCK": "0", "AWS_BEARER_TOKEN_BEDROCK": "k"}, {}),
        (BEDROCK, {"ANTHROPIC_BEDROCK_BASE_URL": "http://g/via/bedrock"}),
        (
            {"CLAUDE_CODE_USE_BEDROCK": "on", "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1"},
            {"ANTHROPIC_BEDROCK_BASE_URL": "http://g/via/bedrock"},
        ),
        (VERTEX, {"ANTHROPIC_VERTEX_BASE_URL": "http://g/via/vertex/v1"}),
        (
            FOUNDRY,
            {"ANTHROPIC_FOUNDRY_BASE_URL": "http://g/via/anthropic", "ANTHROPIC_FOUNDRY_RESOURCE": ""},
        ),
        ({**VERTEX, **BEDROCK}, {"ANTHROPIC_BEDROCK_BASE_URL": "http://g/via/bedrock"}),
    ],
)
def test_the_cloud_that_is_used_is_led_through_the_gateway(given: dict[str, str], more: dict[str, str]):
    assert pointed(given) == {"ANTHROPIC_BASE_URL": "http://g/via/anthropic", **more}


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_ACCESS_KEY_ID": "a"}, "AWS_BEARER_TOKEN_BEDROCK"),
        ({**BEDROCK, "AWS_BEARER_TOKEN_BEDROCK": " "}, "AWS_BEARER_TOKEN_BEDROCK"),
        ({**BEDROCK, "ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION": "us-west-2"}, "ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION"),
        ({**VERTEX, "VERTEX_REGION_CLAUDE_HAIKU_4_5": "europe-west1"}, "VERTEX_REGION_CLAUDE_HAIKU_4_5"),
        ({"CLAUDE_CODE_USE_MANTLE": "1"}, "no address"),
        ({"CLAUDE_CODE_USE_ANTHROPIC_AWS": "1"}, "no address"),
        ({"CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD": "1"}, "no address"),
    ],
)
def test_what_cannot_be_managed_is_left_where_it_goes_and_has_a_reason(given: dict[str, str], word: str):
    cloud = cloud_of(given)
    assert cloud is not None
    assert word in cloud.obstacle(given)
    assert pointed(given) == {"ANTHROPIC_BASE_URL": "http://g/via/anthropic"}


def test_models_in_the_same_region_are_no_obstacle():
    same = {**VERTEX, "VERTEX_REGION_CLAUDE_HAIKU_4_5": "us-east5"}
    cloud = cloud_of(same)
    assert cloud is not None
    assert cloud.obstacle(same) == ""


def test_the_address_of_foundry_is_the_users_or_that_of_the_resource():
    assert foundry_url(FOUNDRY) == "https://mine.services.ai.azure.com/anthropic"
    assert foundry_url({**FOUNDRY, "ANTHROPIC_FOUNDRY_BASE_URL": "https://own.example"}) == "https://own.example"
    assert foundry_url({}) == ""
