"""An agent of LangChain: ``langchain_agent.py anthropic|openai|google TASK``."""

import os
import subprocess
import sys

from langchain.agents import create_agent


def shell(command: str) -> str:
    """Run a command."""
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False).stdout


def model(provider: str):
    if provider == "anthropic":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(model="claude-sonnet-4-5")
    if provider == "openai":
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(model="gpt-5.5")
    from langchain_google_genai import ChatGoogleGenerativeAI

    return ChatGoogleGenerativeAI(model="gemini-3.8-flash", base_url=os.environ["GOOGLE_GEMINI_BASE_URL"])


if __name__ == "__main__":
    agent = create_agent(model(sys.argv[1]), [shell])
    config = {"recursion_limit": 100}
    final = agent.invoke({"messages": [{"role": "user", "content": sys.argv[2]}]}, config)["messages"][-1]
    print(final.text)
