"""Security: who may ask the page, which shows raw personal data, and what a browser may do with it.

As Jupyter does it. The server listens to this machine only. A one-time token in the address that is
opened is exchanged for a cookie, which scripts cannot read and other sites cannot send. A foreign
`Host` is refused (a name that was made to point here), and a foreign `Origin` of a change.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode

from foreknow.errors import InputError

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_log = logging.getLogger(__name__)

HOST = "127.0.0.1"
_SAFE = ("GET", "HEAD")
_MOST_BYTES = 4 << 20
_MOST_BROWSERS = 20

# Figures are drawn on canvases, which may be read as images; nothing else comes from elsewhere.
_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Keys:
    """The one-time token, and the cookies it was exchanged for.

    Examples
    --------
    >>> keys = Keys()
    >>> cookie = keys.exchange(keys.token)
    >>> keys.knows(cookie), keys.knows("guessed"), keys.exchange("guessed")
    (True, False, None)
    """

    def __init__(self, announce: Callable[[str], None] | None = None) -> None:
        self.token = secrets.token_urlsafe(32)
        self._cookies: list[str] = []
        self._announce = announce

    def exchange(self, token: str) -> str | None:
        """A cookie for the token, which is spent; another browser needs the next one."""
        if not _same(token, self.token) or len(self._cookies) >= _MOST_BROWSERS:
            return None
        self.token = secrets.token_urlsafe(32)
        self._cookies.append(secrets.token_urlsafe(32))
        if self._announce is not None:
            self._announce(self.token)
        return self._cookies[-1]

    def knows(self, cookie: str) -> bool:
        """Whether it is the cookie of a browser that had a token."""
        return any([_same(cookie, own) for own in self._cookies])  # noqa: C419 - all of them


def _same(one: str, other: str) -> bool:
    return compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


class Guard:
    """What every request passes before the application, and every answer after it."""

    def __init__(self, app: App, keys: Keys, port: int) -> None:
        self._app, self._keys = app, keys
        self._hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self._cookie = f"foreknow-{port}"  # browsers tell hosts apart by their cookies, not ports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, exchange a token, or pass on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks WebSocket
            await send({"type": "websocket.close", "code": 1008})
            return
        why = self._refused(scope)
        if why is not None:
            await _say(send, *why)
            return
        token = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")
        if token is not None and scope["method"] == "GET":
            await self._enter(scope, send, token)
        elif not self._keys.knows(self._cookie_of(scope)):
            await _say(send, 403, _NO_COOKIE)
        else:
            await self._pass(scope, receive, send)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is refused whoever sends it."""
        hosts = _all(scope, b"host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 421, "This server answers to its own name only."
        site = _all(scope, b"sec-fetch-site")
        if scope["method"] in _SAFE:
            # A link from elsewhere may be followed; no page elsewhere may load parts of this one.
            foreign = any(each not in ("same-origin", "none") for each in site)
            if foreign and _all(scope, b"sec-fetch-mode") != ["navigate"]:
                return 403, "Other sites cannot ask this server."
            return None
        if _all(scope, b"origin") != [f"http://{hosts[0]}"] or site not in ([], ["same-origin"]):
            return 403, "Other sites cannot change anything here."
        length = _all(scope, b"content-length")
        if len(length) != 1 or not length[0].isdigit() or int(length[0]) > _MOST_BYTES:
            return 413, "That is too much to send at once."
        return None

    async def _enter(self, scope: Scope, send: Send, token: str) -> None:
        """Exchange a token for a cookie, and go to the address without it."""
        cookie = self._keys.exchange(token)
        known = self._keys.knows(self._cookie_of(scope))
        if cookie is None and not known:
            await _say(send, 403, _NO_TOKEN)
            return
        kept = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        query = urlencode([(name, value) for name, value in kept if name != "token"])
        path = "/" + scope["path"].lstrip("/").partition("?")[0]  # "//host" would lead elsewhere
        target = quote(path, safe="/") + (f"?{query}" if query else "")
        headers = [(b"location", target.encode("latin-1"))]
        if cookie is not None:
            made = f"{self._cookie}={cookie}; Path=/; HttpOnly; SameSite=Strict"
            headers.append((b"set-cookie", made.encode()))
        await _say(send, 303, "", headers)

    def _cookie_of(self, scope: Scope) -> str:
        read: SimpleCookie = SimpleCookie()
        try:
            for given in _all(scope, b"cookie"):
                read.load(given)
        except CookieError:
            return ""
        return read[self._cookie].value if self._cookie in read else ""

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                own = [pair for pair in message.get("headers", ()) if not _is_ours(pair[0])]
                message["headers"] = [*own, *_HEADERS]
            await send(message)

        try:
            await self._app(scope, receive, guarded)
        except Exception as error:
            # Neither its text nor the address: both may hold what the table holds.
            _log.error("%s while answering a request", type(error).__name__)
            if not begun:
                await _say(send, 500, "That went wrong: a bug in Foreknow.")


def _is_ours(name: bytes) -> bool:
    """Whether a header is set here: no answer widens what is allowed."""
    lower = name.lower().decode("latin-1")
    return lower in HEADERS or lower.startswith("access-control-")


_NO_COOKIE = (
    "This page shows data about people, so it opens only from the address that foreknow explore "
    "printed in its terminal."
)
_NO_TOKEN = (
    "This address was used before, or is not complete: it opens the page once. In its terminal "
    "foreknow explore prints another one."
)


def _all(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


async def _say(
    send: Send, status: int, text: str, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    body = f"{text}\n".encode() if text else b""
    plain = (b"content-type", b"text/plain; charset=utf-8")
    length = (b"content-length", str(len(body)).encode())
    head = [plain, length, *headers, *_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


def inside(folder: Path, name: str) -> Path:
    """The path of a visible name in a folder; links are followed, and may not lead out of it."""
    said = f"there is no {name!r} in the folder that foreknow explore was started in"
    if not name or "\0" in name:
        raise InputError(said)
    try:
        path = (folder / name).resolve(strict=True)
        parts = path.relative_to(folder.resolve()).parts
    except (OSError, ValueError, RuntimeError):
        raise InputError(said) from None
    if any(part.startswith(".") for part in parts):
        raise InputError(said)
    return path
