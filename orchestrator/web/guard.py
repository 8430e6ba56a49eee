"""Who may use the page: a token in the printed link, then a cookie; only under the names of this server."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content security policy of all pages but reports, which bring their own."""

_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Access:
    """Who may do what."""

    hosts: frozenset[str]
    """Names and addresses of this server: under any other name (DNS rebinding) nothing is served."""
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(32))
    """Of the printed link; None if anybody who reaches the port may read."""
    allow_actions: bool = False
    """Whether campaigns may be changed."""
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def _derived(self, use: str) -> str:
        return hmac.new(self._secret, use.encode(), hashlib.sha256).hexdigest()

    @property
    def session(self) -> str:
        """Value of the cookie."""
        return self._derived("session")

    @property
    def form_token(self) -> str:
        """Token in the page's forms, which another site cannot know."""
        return self._derived("form")

    def knows(self, given: str, expected: str) -> bool:
        """Return whether a secret is the expected one, in a time that does not depend on it."""
        return hmac.compare_digest(given.encode(), expected.encode())


class Guard:
    """Answers requests that may not pass, and adds the headers that protect the page to all answers."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("content-security-policy", POLICY)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(scope)
        await (answer or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that does not pass; None if it does."""
        headers = Headers(scope=scope)
        host = urlsplit(f"//{headers.get('host', '')}").hostname
        if host not in self._access.hosts:
            return PlainTextResponse(
                f"This server is not called {host}: use the link that wm web printed, or --allowed-host.\n",
                status_code=421,
            )
        if scope["method"] not in ("GET", "HEAD"):
            if not self._access.allow_actions:
                return PlainTextResponse("Read-only: start wm web with --allow-actions.\n", status_code=403)
            # Browsers tell where a form was sent from; another site cannot change that.
            if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                return PlainTextResponse("Sent from another site.\n", status_code=403)
        return None if self._access.token is None else self._entry(scope, self._access.token)

    def _entry(self, scope: Scope, token: str) -> Response | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        name = f"wm_web_{(scope.get('server') or ('', 0))[1]}"
        if given:
            if not self._access.knows(given[0], token):
                return PlainTextResponse("Wrong token: use the link that wm web printed.\n", status_code=403)
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            # One leading slash: two would name another server.
            path = "/" + scope["path"].lstrip("/")
            answer = RedirectResponse(f"{path}?{rest}" if rest else path, status_code=303)
            answer.set_cookie(
                name, self._access.session, httponly=True, samesite="lax", secure=scope["scheme"] == "https"
            )
            return answer
        if self._access.knows(HTTPConnection(scope).cookies.get(name, ""), self._access.session):
            return None
        return PlainTextResponse("Open the link that wm web printed: it holds a token.\n", status_code=401)
