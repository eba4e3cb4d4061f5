"""Makes values fit for the store: an entry becomes an original, and every secret in its texts is masked. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from undrift.core.text.refs import ref_of
from undrift.core.text.secrets import mask
from undrift.values.window import ContextEntry, Original

__all__ = ["masked_original", "masked_value"]


def masked_original(
    entry: ContextEntry, session_id: str, source: Literal["buffer", "window", "pin"], mask_secrets: bool
) -> Original:
    """Return an entry for the store: secrets masked in content and metadata, with its reference."""
    ref = ref_of(session_id, entry.id)
    if not mask_secrets:
        return Original(ref, session_id, source, entry)
    masked = mask(entry.content)
    metadata = None if entry.metadata is None else {k: masked_value(v) for k, v in entry.metadata.items()}
    return Original(ref, session_id, source, replace(entry, content=masked.text, metadata=metadata), masked.spans)


def masked_value(value: Any) -> Any:
    """Return a JSON value with every secret in its texts masked."""
    if isinstance(value, str):
        return mask(value).text
    if isinstance(value, Mapping):
        return {key: masked_value(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked_value(inner) for inner in value]
    return value
