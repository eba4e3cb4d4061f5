"""The pure parts of a dispatch: contracts, ledger, classification, prompts and plans; values in, values out. Pure."""

__all__: list[str] = []
