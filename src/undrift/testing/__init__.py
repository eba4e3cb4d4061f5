"""A provider that follows a script, over real HTTP: drive a real client, or a proxy, through a session without a model.

Law: listens on 127.0.0.1 alone, keeps no key that it is sent, runs nothing itself.

::

    with ScriptedProvider([Read("src/app.py"), Shell("make test"), Say("Done.")]) as provider:
        subprocess.run(["claude", "-p", "Fix it."], env={**environment, "ANTHROPIC_BASE_URL": provider.url})
        assert "make test" in provider.requests[-1].text
"""

from undrift.testing.provider import ScriptedProvider
from undrift.testing.script import Read, Say, Seen, Shell, Turn, Use

__all__ = ["Read", "Say", "ScriptedProvider", "Seen", "Shell", "Turn", "Use"]
