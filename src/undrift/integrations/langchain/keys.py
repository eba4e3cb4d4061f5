"""LangChain's plain store of keys and bytes over undrift's.

Law: several keys that are set or deleted at once are one transaction.
"""

import os
from collections.abc import Iterator, Sequence

from langchain_core.stores import ByteStore

from undrift.integrations.documents import DocumentChange, Documents
from undrift.settings import Settings
from undrift.stores.base import Document
from undrift.values.closing import Closing

__all__ = ["UndriftByteStore"]

_KIND = "langchain-bytes"  # path: the key


class UndriftByteStore(Closing, ByteStore):
    """A store of bytes under any texts, as LangChain's caches and retrievers use it; a context manager.

    Bytes are kept as they are: nothing in them is masked.

    `home`: folder of the store; default is the setting `home`. `name`: of this store among those of the home.
    `settings`: default: from the environment. Raises StoreError: the store cannot be opened.
    """

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        *,
        name: str = "langchain-bytes",
        settings: Settings | None = None,
    ) -> None:
        self._documents = Documents.open(home, settings=settings)
        self._name = name

    def close(self) -> None:
        """Close the store."""
        self._documents.close()

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return what stands under each key, None if there is nothing."""
        with self._documents.reading(self._name) as kept:
            found = [kept.find(_KIND, (key,)) for key in keys]
        return [None if one is None else one.content for one in found]

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        """Write all of these."""
        new = [Document((key,), {}, bytes(value)) for key, value in key_value_pairs]

        def act(kept: DocumentChange) -> None:
            for document in new:
                kept.put(_KIND, document)

        if new:
            self._documents.change(self._name, act, about="bytes: set")

    def mdelete(self, keys: Sequence[str]) -> None:
        """Take these away; earlier versions stay on disk."""

        def act(kept: DocumentChange) -> None:
            kept.close(one for key in dict.fromkeys(keys) if (one := kept.find(_KIND, (key,))) is not None)

        if keys:
            self._documents.change(self._name, act, about="bytes: delete")

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Yield the keys, those with a prefix where one is given, in their order."""
        with self._documents.reading(self._name) as kept:
            heads = kept.under(_KIND, with_content=False)
        yield from sorted(head.path[0] for head in heads if head.path[0].startswith(prefix or ""))
