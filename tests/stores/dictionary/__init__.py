"""A store that holds plain values in dictionaries: what the contract asks for, and nothing that a database brings.

Law: knows no SQL and no file, and shares no code with the stores of the package, only their values.
"""

from tests.stores.dictionary.store import DictionaryStore

__all__ = ["DictionaryStore"]
