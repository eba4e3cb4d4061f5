"""The table of profiles: every client once, no name with two meanings, and a request shows its client."""

from itertools import pairwise

from undrift import clients, transcripts
from undrift.clients.wrapped import WRAPPED
from undrift.core.window.calling_back import offers_recall
from undrift.profiles import PROFILES, is_set_up, is_sub_agent, profile_of
from undrift.profiles.table import tools_by_name

WITH_PROFILE_OF_OTHERS = {"openai-messages"}


def test_every_client_that_undrift_works_with_has_a_profile():
    assert set(clients.CLIENTS) | set(clients.SERVED) | set(WRAPPED) <= set(PROFILES)


def test_every_format_of_recordings_has_a_profile():
    assert {profile.format for profile in PROFILES.values()} - {""} == set(transcripts.FORMATS) - WITH_PROFILE_OF_OTHERS


def test_a_tool_name_has_one_kind_in_all_clients():
    for tools in tools_by_name().values():
        assert len({tool.kind for tool in tools}) == 1, tools


def test_a_plan_tool_says_how_it_plans_and_no_other_tool_does():
    for profile in PROFILES.values():
        for tool in profile.tools:
            assert (tool.kind == "plan") == (tool.plan is not None), tool


def test_a_client_lists_no_tool_twice():
    for profile in PROFILES.values():
        names = sorted(tool.name for tool in profile.tools)
        assert all(one != other for one, other in pairwise(names)), profile.name


def test_a_user_agent_shows_its_client():
    for agent, name in (
        ("claude-cli/2.1.330 (external, sdk-cli)", "claude"),
        ("codex_exec/0.169.0 (Debian 12.0.0; x86_64)", "codex"),
        ("GeminiCLI-tui/0.61.0/gemini-3.1-pro-preview", "gemini"),
        ("opencode/1.18.33 ai-sdk/provider-utils/4.0.23", "opencode"),
        ("AsyncOpenAI/Python 3.54.0", "openai"),
    ):
        found = profile_of(agent)
        assert found is not None
        assert found.name == name
    assert profile_of("curl/8.0") is None
    assert profile_of("") is None


def test_a_system_prompt_shows_a_client_that_comes_as_a_library():
    found = profile_of("OpenAI/Python 2.20.0", ["Act as an expert software developer.\nAlways use best practices"])
    assert found is PROFILES["aider"]


def test_only_clients_that_always_offer_tools_have_texts_that_a_person_typed():
    typed = {name for name, profile in PROFILES.items() if profile.is_typed}
    assert typed == {"claude", "codex", "gemini", "opencode"}
    assert all(PROFILES[name].always_tools for name in typed)
    assert is_set_up("This is the Gemini CLI. We are setting up the context for our chat.")
    assert not is_set_up("Never edit the lock file by hand.")


def test_a_header_shows_a_sub_agent():
    assert is_sub_agent({"x-openai-subagent": "review"})
    assert not is_sub_agent({"x-openai-subagent": "", "x-app": "cli"})


def test_the_name_of_our_tool_in_each_client_is_one_that_recalls():
    names = {profile.recall.mcp_tool.format(tool="recall") for profile in PROFILES.values() if profile.recall.mcp_tool}
    assert len(names) > 1
    for name in names:
        assert offers_recall({name}), name
