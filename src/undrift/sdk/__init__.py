"""The clients of the providers' own SDKs, managed in place: `undrift.wrap`.

Law: no SDK is imported here. Only the HTTP client inside a client is used; the rest stays the client's own.
"""

__all__: list[str] = []
