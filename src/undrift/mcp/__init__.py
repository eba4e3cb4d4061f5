"""The MCP server: tasks, recall, search and memory for any agent that speaks the Model Context Protocol.

Law: the package `mcp` is an extra, imported where it is served and nowhere else; what a tool does is written without it.
"""

__all__: list[str] = []
