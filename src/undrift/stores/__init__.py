"""The durable stores: one contract (`undrift.stores.contract`), and the engines that fulfil it.

Law: SQLite is the truth and everything else is derived from it; an original is on disk before it leaves a window.
"""

__all__: list[str] = []
