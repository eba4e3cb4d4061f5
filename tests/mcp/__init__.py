"""The MCP server, driven by the official client."""
