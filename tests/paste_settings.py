"""Settings with the size from which a paste of the user can lose its middle: a constant of the product, smaller in tests."""

from dataclasses import dataclass

from undrift.core.window.turn import KEPT_TEXT_TOKENS
from undrift.settings import Settings

__all__ = ["PasteSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PasteSettings(Settings):
    """Settings whose sessions shorten a user's text above so many tokens."""

    keep_user_text_tokens: int = KEPT_TEXT_TOKENS
