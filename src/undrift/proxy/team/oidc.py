"""Tokens of an OpenID Connect issuer: their signature, their claims, and the member that they name.

Law: deny by default. Only signatures with a public key count, by an algorithm that the configuration names. Issuer,
audience and end must be there and right.
"""

from collections.abc import Mapping
from typing import Any

from undrift.errors import SettingsError, StoreError
from undrift.values.extras import command_for
from undrift.values.member import Member, hash_of, is_member_name
from undrift.values.serving import OidcConfig

__all__ = ["OidcTokens", "is_token_form"]

_PARTS = 3
_LEEWAY_S = 30  # the clocks of two machines differ
_TIMEOUT_S = 5
_KEY_ID_DIGITS = 12


def is_token_form(key: str) -> bool:
    """Tell whether a text has the form of a signed token: three parts with points between them."""
    parts = key.split(".")
    return len(parts) == _PARTS and all(parts)


class OidcTokens:
    """The tokens of one issuer. Any thread may use it; the issuer's keys are fetched when they are first needed.

    `organisation`: of tokens that name none. Raises SettingsError: a package is missing.
    """

    def __init__(self, config: OidcConfig, organisation: str) -> None:
        try:
            import jwt
            import jwt.algorithms  # without cryptography it knows no public keys
        except ImportError as error:
            raise SettingsError(f"tokens of an issuer need PyJWT ({error}): {command_for('serve')}") from error
        if not jwt.algorithms.has_crypto:
            raise SettingsError(f"tokens of an issuer need cryptography: {command_for('serve')}")
        self._jwt: Any = jwt
        self._config = config
        self._organisation = organisation
        self._keys = jwt.PyJWKClient(config.jwks_url, timeout=_TIMEOUT_S)

    def member(self, token: str, wanted: str = "") -> Member | None:
        """Return the member that a token names. None means: it is not good, or it names no member.

        `wanted`: the project, if the token is good for several. Raises StoreError: the issuer's keys cannot be had.
        """
        jwt, config = self._jwt, self._config
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims = jwt.decode(
                token,
                key,
                algorithms=[*config.algorithms],
                audience=config.audience,
                issuer=config.issuer,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWKClientConnectionError as error:
            raise StoreError(f"the keys of {config.issuer} cannot be had; try again") from error
        except jwt.PyJWTError:
            return None
        return self._named(claims, wanted, hash_of(token))

    def _named(self, claims: Mapping[str, Any], wanted: str, digest: str) -> Member | None:
        config = self._config
        person = claims.get(config.person_claim)
        organisation = claims.get(config.organisation_claim) if config.organisation_claim else self._organisation
        project = _project(claims.get(config.project_claim), wanted)
        if not (is_member_name(person) and is_member_name(project) and is_member_name(organisation)):
            return None
        return Member(str(person), str(project), str(organisation), digest[:_KEY_ID_DIGITS])


def _project(claim: Any, wanted: str) -> str | None:
    """Return the project that a claim and a client name together. None means: they name none, or different ones."""
    names = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    if wanted:
        return wanted if wanted in names else None
    return names[0] if len(names) == 1 and isinstance(names[0], str) else None
