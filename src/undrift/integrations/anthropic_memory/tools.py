"""Claude's memory tool over undrift's store, for the tool runner of the package anthropic, in threads and in asyncio."""

import asyncio
import os
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool

from undrift.integrations.anthropic_memory.files import MemoryFiles
from undrift.integrations.documents import Documents
from undrift.settings import Settings
from undrift.values.closing import AsyncClosing, Closing

__all__ = ["UndriftAsyncMemoryTool", "UndriftMemoryTool"]


class _Opened:
    """The memory of a session, opened with its tool."""

    def __init__(
        self,
        session_id: str = "memories",
        *,
        home: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        cache_control: Any = None,
    ) -> None:
        super().__init__(cache_control=cache_control)  # type: ignore[call-arg]  # of the class of theirs that follows
        self._documents = Documents.open(home, settings=settings)
        self.files = MemoryFiles(self._documents, session_id)

    def close(self) -> None:
        """Close the store."""
        self._documents.close()


class UndriftMemoryTool(_Opened, Closing, BetaAbstractMemoryTool):
    """The memory tool for ``client.beta.messages.tool_runner``; a context manager.

    `session_id`: whose memory. `Session.rewind` of that session takes its files back too. `home`: folder of the store;
    default is the setting `home`. `settings`: default: from the environment. `cache_control`: handed to the provider
    with the tool. Raises StoreError: the store cannot be opened.
    """

    def view(self, command: Any) -> str:
        """Show a file or a folder."""
        return self.files.view(command.path, command.view_range)

    def create(self, command: Any) -> str:
        """Write a new file."""
        return self.files.create(command.path, command.file_text)

    def str_replace(self, command: Any) -> str:
        """Replace a text of a file."""
        return self.files.str_replace(command.path, command.old_str, command.new_str)

    def insert(self, command: Any) -> str:
        """Insert a text into a file."""
        return self.files.insert(command.path, command.insert_line, command.insert_text)

    def delete(self, command: Any) -> str:
        """Take a file or a folder away."""
        return self.files.delete(command.path)

    def rename(self, command: Any) -> str:
        """Move a file or a folder."""
        return self.files.rename(command.old_path, command.new_path)

    def clear_all_memory(self) -> str:
        """Take all files away."""
        return self.files.clear()


class UndriftAsyncMemoryTool(_Opened, AsyncClosing, BetaAsyncAbstractMemoryTool):
    """The memory tool for the asynchronous client; see `UndriftMemoryTool`."""

    async def view(self, command: Any) -> str:
        """Show a file or a folder."""
        return await asyncio.to_thread(self.files.view, command.path, command.view_range)

    async def create(self, command: Any) -> str:
        """Write a new file."""
        return await asyncio.to_thread(self.files.create, command.path, command.file_text)

    async def str_replace(self, command: Any) -> str:
        """Replace a text of a file."""
        return await asyncio.to_thread(self.files.str_replace, command.path, command.old_str, command.new_str)

    async def insert(self, command: Any) -> str:
        """Insert a text into a file."""
        return await asyncio.to_thread(self.files.insert, command.path, command.insert_line, command.insert_text)

    async def delete(self, command: Any) -> str:
        """Take a file or a folder away."""
        return await asyncio.to_thread(self.files.delete, command.path)

    async def rename(self, command: Any) -> str:
        """Move a file or a folder."""
        return await asyncio.to_thread(self.files.rename, command.old_path, command.new_path)

    async def clear_all_memory(self) -> str:
        """Take all files away."""
        return await asyncio.to_thread(self.files.clear)
