"""The living page: what a person sees of sessions while they run, in a browser on the same machine.

Law: local, behind the home's token, no request beyond itself. Nothing here decides: each view shows what other rooms know, and
each action is one that a command also has.
"""

__all__: list[str] = []
