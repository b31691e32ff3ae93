"""Logging in with an OpenID Connect provider: authorization code with PKCE, and its bearer tokens.

What the provider publishes (its addresses and keys) is fetched when first needed and kept; keys are
fetched again when a token names one that is not among them, at most once in a while. Signatures are
asymmetric only: a secret shared with the provider proves nothing to others. ``joserfc`` is loaded
with this module, so import it only where a provider is configured.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from joserfc import jwk, jwt
from joserfc.errors import JoseError

from tiphys.config import Oidc
from tiphys.core.clock import Clock
from tiphys.errors import ForbiddenError
from tiphys.service.access import Identity, Role
from tiphys.service.fetch import ProviderError, RefusedError, get_json, post_form

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
LEEWAY = 60
"""Seconds by which the provider's clock may differ from ours."""
REFRESH = 30.0
"""Keys are not fetched more often than this, whatever strangers send."""
KEEP = 3600.0
"""Addresses and keys are fetched again after so many seconds."""
REST = 5.0
"""A provider that could not be asked is left alone so long."""
_NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")

Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What must be remembered between leaving for the provider and coming back."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def new(cls) -> Attempt:
        """Make one up."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier)

    @property
    def challenge(self) -> str:
        """Give what the provider is told of the verifier (S256)."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class Provider:
    """One provider, as the settings name it."""

    def __init__(self, settings: Oidc, secret: str, clock: Clock) -> None:
        self._settings, self._secret, self._clock = settings, secret, clock
        self._document: dict[str, Any] = {}
        self._keys = jwk.KeySet([])
        self._fetched_at = self._failed_at = float("-inf")
        self._fetching = asyncio.Lock()
        self._steady: Callable[[], float] = time.monotonic

    # --- log-in -------------------------------------------------------------------------------

    async def login_url(self, attempt: Attempt, redirect: str) -> str:
        """Give the address that a browser is sent to."""
        document = await self._published()
        wanted = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": redirect,
            "scope": " ".join(dict.fromkeys(("openid", *self._settings.scopes))),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        address = document["authorization_endpoint"]
        return f"{address}{'&' if '?' in address else '?'}{urlencode(wanted)}"

    async def logout_url(self, back: str) -> str:
        """Give the address at which the provider forgets a browser too; "" where it has none."""
        address = str((await self._published()).get("end_session_endpoint") or "")
        wanted = {"client_id": self._settings.client_id, "post_logout_redirect_uri": back}
        return f"{address}{'&' if '?' in address else '?'}{urlencode(wanted)}" if address else ""

    async def claims_of_code(self, code: str, attempt: Attempt, redirect: str) -> Claims:
        """Turn a code into what the provider says about whoever logged in."""
        document = await self._published()
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": attempt.verifier,
        }
        headers = self._authentication(document, fields)
        answer = await asyncio.to_thread(post_form, document["token_endpoint"], fields, headers)
        claims = await self._verified(str(answer.get("id_token", "")), [self._settings.client_id])
        if not secrets.compare_digest(str(claims.get("nonce", "")), attempt.nonce):
            raise RefusedError("the log-in does not belong to this browser (nonce)")
        if claims.get("azp", self._settings.client_id) != self._settings.client_id:
            raise RefusedError("the token was made for another client")
        return await self._with_userinfo(document, claims, str(answer.get("access_token", "")))

    def _authentication(self, document: Claims, fields: dict[str, str]) -> dict[str, str]:
        """Tell who we are: in the header, or in the form where the provider takes nothing else."""
        client = self._settings.client_id
        known = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if self._secret and "client_secret_basic" in known:
            pair = f"{quote(client, safe='')}:{quote(self._secret, safe='')}"
            return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        fields["client_id"] = client
        if self._secret:
            fields["client_secret"] = self._secret
        return {}

    async def _with_userinfo(self, document: Claims, claims: Claims, access: str) -> Claims:
        """Add what some providers tell only when asked: groups, names."""
        wanted = {rule.claim for rule in self._settings.rules} | {self._settings.name_claim}
        address = document.get("userinfo_endpoint")
        if wanted <= claims.keys() or not (address and access):
            return claims
        headers = {"Authorization": f"Bearer {access}"}
        more = await asyncio.to_thread(get_json, address, headers)
        return {**more, **claims} if more.get("sub") == claims["sub"] else claims

    # --- bearer tokens ------------------------------------------------------------------------

    async def identify(self, token: str) -> Identity:
        """Give the bearer of a token that the provider signed."""
        meant_for = self._settings.audience or (self._settings.client_id,)
        claims = await self._verified(token, meant_for)
        mark = hashlib.sha256(f"{claims['iss']}\0{claims['sub']}".encode()).hexdigest()[:16]
        role, project = self.grant(claims)
        return Identity(
            token=f"jwt-{mark}",
            name=self.name_of(claims),
            role=role,
            project=project,
            expires_at=float(claims["exp"]) + LEEWAY,
            external=True,
        )

    def name_of(self, claims: Claims) -> str:
        """Give what a person is called."""
        return str(claims.get(self._settings.name_claim) or claims["sub"])[:200]

    def grant(self, claims: Claims, wanted: str = "") -> tuple[Role, str]:
        """Give role and project ("" for all) by the first rule that fits; ``wanted`` goes first."""
        fitting = [rule for rule in self._settings.rules if fits(claims, rule.claim, rule.value)]
        chosen = [rule for rule in fitting if rule.project == wanted] or fitting
        if not chosen:
            raise ForbiddenError(f"no rule of this server lets {self.name_of(claims)} in")
        project = chosen[0].project
        return Role(chosen[0].role), "" if project == "*" else project

    # --- what the provider publishes ----------------------------------------------------------

    async def _verified(self, token: str, meant_for: Sequence[str]) -> Claims:
        await self._published()
        try:
            claims = self._decoded(token)
        except JoseError:
            # The provider may have changed its keys since they were fetched.
            if not await self._refreshed():
                raise RefusedError("the token is not signed by the provider") from None
            try:
                claims = self._decoded(token)
            except JoseError:
                raise RefusedError("the token is not signed by the provider") from None
        self._check(claims, meant_for)
        return claims

    def _decoded(self, token: str) -> dict[str, Any]:
        try:
            return dict(jwt.decode(token, self._keys, algorithms=ALGORITHMS).claims)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise RefusedError("the token cannot be read") from error

    def _check(self, claims: Claims, meant_for: Sequence[str]) -> None:
        rules = jwt.JWTClaimsRegistry(
            now=lambda: int(self._clock.now()),
            leeway=LEEWAY,
            iss={"essential": True, "value": self._document["issuer"]},
            sub={"essential": True},
            exp={"essential": True},
        )
        try:
            rules.validate(dict(claims))
        except JoseError as error:
            raise RefusedError(f"the token does not hold: {error}") from error
        audience = claims.get("aud")
        listed = audience if isinstance(audience, list) else [audience]
        if not set(meant_for) & {each for each in listed if isinstance(each, str)}:
            raise RefusedError("the token is meant for somebody else")
        if not isinstance(claims["sub"], str) or not claims["sub"]:
            raise RefusedError("the token names nobody")

    async def _published(self) -> dict[str, Any]:
        if not self._document or self._steady() - self._fetched_at > KEEP:
            async with self._fetching:
                if not self._document or self._steady() - self._fetched_at > KEEP:
                    await self._fetch()
        return self._document

    async def _refreshed(self) -> bool:
        async with self._fetching:
            if self._steady() - self._fetched_at < REFRESH:
                return False
            await self._fetch()
            return True

    async def _fetch(self) -> None:
        if self._steady() - self._failed_at < REST:
            raise ProviderError("the provider could not be reached a moment ago")
        try:
            document, self._keys = await self._fetched()
        except ProviderError:
            self._failed_at = self._steady()
            raise
        self._document, self._fetched_at = document, self._steady()

    async def _fetched(self) -> tuple[dict[str, Any], jwk.KeySet]:
        issuer = self._settings.issuer.rstrip("/")
        address = f"{issuer}/.well-known/openid-configuration"
        document = await asyncio.to_thread(get_json, address)
        # Some providers end their own name with a slash; nothing else may differ.
        if str(document.get("issuer", "")).rstrip("/") != issuer:
            raise ProviderError("the provider calls itself by another name than the settings do")
        missing = [name for name in _NEEDED if not isinstance(document.get(name), str)]
        if missing:
            raise ProviderError(f"the provider publishes no {missing[0]}")
        found = await asyncio.to_thread(get_json, document["jwks_uri"])
        try:
            return document, jwk.KeySet.import_key_set(found)  # type: ignore[arg-type]
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise ProviderError("the provider's keys cannot be read") from error


def fits(claims: Claims, claim: str, value: str) -> bool:
    """Tell whether a claim is the value, or holds it; ``a.b`` looks inside of objects."""
    found: Any = claims.get(claim)
    if found is None and "." in claim:
        found = claims
        for part in claim.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    if found is None or found is False or found == []:
        return False
    if claim == "email" and claims.get("email_verified") is False:
        return False  # Anybody can claim an address that nobody has verified.
    if value == "*":
        return True
    listed = found if isinstance(found, list) else [found]
    return value in [_text(each) for each in listed]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
