"""undrift inside agent frameworks: one module for each, imported only by who has that framework.

Law: thin. A module translates between a framework's own types and a `Session` or its documents, and decides nothing; where
undrift itself fails, the framework's request goes out as it was, and the log says so.
"""

__all__: list[str] = []
