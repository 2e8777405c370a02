"""Security: who may ask the page, which shows raw personal data, and what a browser may do with it.

As Jupyter does it. The server listens to this machine only. A one-time token in the address that is
opened is exchanged for a cookie, which scripts cannot read and other sites cannot send, and for a
secret, which only pages of this very address can read: browsers send cookies to every port. Whoever
asks for data sends both. A foreign `Host` is refused (a name that was made to point here), and a
foreign `Origin` of a change. Who has no cookie may hold few connections, and each not for long.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from hmac import compare_digest
from html import escape
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode

from foreknow_judge.errors import InputError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_log = logging.getLogger(__name__)

HOST = "127.0.0.1"
_SAFE = ("GET", "HEAD")
MOST_BYTES = 4 << 20
_MOST_BROWSERS = 100
_MOST_STRANGERS, _STRANGER = 512, 10.0  # connections without a cookie, and seconds each may take
SECRET = "x-foreknow-secret"
_DATA = "/api/"
_DEVICE = re.compile(r"(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³])\s*(?:\..*)?", re.IGNORECASE)

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
    """The one-time token, and the cookies and secrets that it was exchanged for.

    Examples
    --------
    >>> keys = Keys()
    >>> token = keys.token
    >>> cookie, secret = keys.exchange(token)
    >>> keys.knows(cookie), keys.knows("guessed"), keys.exchange("guessed")
    (True, False, None)
    >>> keys.agree(cookie, secret), keys.agree(cookie, "guessed")
    (True, False)

    A token that comes again was seen by two, which is said to the owner.

    >>> warned = Keys(warn=lambda: print("Somebody else was first!"))
    >>> token = warned.token
    >>> one, other = warned.exchange(token), warned.exchange(token)
    Somebody else was first!
    >>> other is None
    True
    """

    def __init__(
        self,
        announce: Callable[[str], None] | None = None,
        warn: Callable[[], None] | None = None,
    ) -> None:
        self.token = secrets.token_urlsafe(32)
        self._secrets: dict[str, str] = {}  # by cookie
        self._spent: list[str] = []
        self._announce, self._warn = announce, warn

    def exchange(self, token: str) -> tuple[str, str] | None:
        """A cookie and a secret in exchange for the token, which is then spent; else None.

        A token that comes again was seen by somebody else, so the owner is warned. A new token is
        announced, since another browser needs one of its own.
        """
        if _is_one_of(token, self._spent):
            if self._warn is not None:
                self._warn()
            return None
        if not _equal_in_constant_time(token, self.token) or len(self._spent) >= _MOST_BROWSERS:
            return None
        cookie, secret = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._spent.append(token)
        self._secrets[cookie] = secret
        self.token = secrets.token_urlsafe(32)
        if self._announce is not None:
            self._announce(self.token)
        return cookie, secret

    def knows(self, cookie: str) -> bool:
        """True if it is the cookie of a browser that had a token."""
        return _is_one_of(cookie, self._secrets)

    def agree(self, cookie: str, secret: str) -> bool:
        """True if a secret was given together with a cookie."""
        return self.knows(cookie) and _equal_in_constant_time(secret, self._secrets[cookie])


def _equal_in_constant_time(first: str, second: str) -> bool:
    return compare_digest(first.encode("utf-8", "replace"), second.encode("utf-8", "replace"))


def _is_one_of(text: str, options: Iterable[str]) -> bool:
    """True if a text is one of these; all are compared, so that the time it takes tells nothing."""
    matches = [_equal_in_constant_time(text, known_text) for known_text in options]
    return any(matches)


class Guard:
    """Checks every request before the application sees it, and every answer after it."""

    def __init__(self, app: App, keys: Keys, port: int) -> None:
        self._app, self._keys = app, keys
        self.strangers = Strangers()
        self._hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self._cookie = f"foreknow-{port}"  # browsers tell hosts apart by their cookies, not ports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, exchange its token for a cookie, or pass it on to the application."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks WebSocket
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refused(scope)
        if refusal is not None:
            await _say(send, *refusal)
            return
        cookie = self._cookie_of(scope)
        token = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")
        if token is not None and scope["method"] == "GET":
            await self._enter(scope, send, token)
        elif not self._keys.knows(cookie):
            await _say(send, 403, _NO_COOKIE)
        # Data takes the cookie and the secret: browsers send cookies to every port of a host.
        elif scope["path"].startswith(_DATA) and not self._keys.agree(
            cookie, "".join(_header_values(scope, SECRET.encode()))
        ):
            await _say(send, 403, _NO_SECRET, kind="application/json")
        else:
            self.strangers.known(scope["client"])
            await self._pass(scope, receive, send)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        """The status and the reason if a request is refused, whoever sends it; else None."""
        # Another host name was made to point to this machine (DNS rebinding).
        hosts = _header_values(scope, b"host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 421, "This server answers to its own name only."
        site = _header_values(scope, b"sec-fetch-site")
        if scope["method"] in _SAFE:
            # A link from elsewhere may be followed; no page elsewhere may load parts of this one.
            is_foreign = not {*site} <= {"same-origin", "none"}
            if is_foreign and _header_values(scope, b"sec-fetch-mode") != ["navigate"]:
                return 403, "Other sites cannot ask this server."
            return None
        if _header_values(scope, b"origin") != [f"http://{hosts[0]}"] or site not in (
            [],
            ["same-origin"],
        ):
            return 403, "Other sites cannot change anything here."
        length = _header_values(scope, b"content-length")
        if _header_values(
            scope, b"transfer-encoding"
        ):  # which would count, whatever the length says
            return 413, "Say how much is sent, by a Content-Length alone."
        if len(length) != 1 or not length[0].isdigit() or int(length[0]) > MOST_BYTES:
            return 413, _TOO_MUCH
        return None

    async def _enter(self, scope: Scope, send: Send, token: str) -> None:
        """Exchange a token for a cookie and a secret, and go to the address without the token."""
        parameters = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        query = urlencode([(name, value) for name, value in parameters if name != "token"])
        path = "/" + scope["path"].lstrip("/").partition("?")[0]  # "//host" would lead elsewhere
        target = quote(path, safe="/") + (f"?{query}" if query else "")
        # A browser that has a cookie already needs none; the token of another stays valid.
        if self._keys.knows(self._cookie_of(scope)) and not _equal_in_constant_time(
            token, self._keys.token
        ):
            await _say(send, 303, "", [(b"location", target.encode("latin-1"))])
            return
        granted = self._keys.exchange(token)
        if granted is None:
            await _say(send, 403, _NO_TOKEN)
            return
        cookie, secret = granted
        header = f"{self._cookie}={cookie}; Path=/; HttpOnly; SameSite=Strict"
        # The page itself goes on: a redirect of what another program opened comes without cookies.
        page = _ENTRY.format(secret=escape(secret), target=escape(target))
        await _say(send, 200, page, [(b"set-cookie", header.encode())], kind="text/html")

    def _cookie_of(self, scope: Scope) -> str:
        cookies: SimpleCookie = SimpleCookie()
        try:
            for header in _header_values(scope, b"cookie"):
                cookies.load(header)
        except CookieError:
            return ""
        return cookies[self._cookie].value if self._cookie in cookies else ""

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application, with a limit on its size, and guard the answer."""
        # If the answer has begun, and how many bytes of the request came.
        has_begun, n_bytes = False, 0

        async def counted() -> MutableMapping[str, Any]:
            """Receive a part of the request, and stop if the parts are too large together."""
            nonlocal has_begun, n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > MOST_BYTES and not has_begun:
                has_begun = True
                await _say(send, 413, _TOO_MUCH)
            if n_bytes > MOST_BYTES:
                raise _TooMuch
            return message

        async def guarded(message: MutableMapping[str, Any]) -> None:
            """Send a part of the answer, with our headers in place of the application's."""
            nonlocal has_begun
            if n_bytes > MOST_BYTES:
                return  # it was answered
            if message["type"] == "http.response.start":
                has_begun = True
                headers = [pair for pair in message.get("headers", ()) if not _is_ours(pair[0])]
                message["headers"] = [*headers, *_HEADERS]
            await send(message)

        try:
            await self._app(scope, counted, guarded)
        except _TooMuch:
            return
        except Exception as error:
            # Neither its text nor the address: both may hold what the table holds.
            _log.error("%s while answering a request", type(error).__name__)
            if not has_begun:
                await _say(send, 500, "That went wrong. It is a bug in Foreknow.")


class _TooMuch(Exception):
    """A request is larger than the server reads."""


class Strangers:
    """Connections on which no cookie was sent yet: few, and none for long.

    Of too many the oldest is ended, so that a browser, which asks at once, is answered meanwhile.
    """

    def __init__(self) -> None:
        self._open: dict[Any, tuple[asyncio.Transport, asyncio.TimerHandle]] = {}
        self._most = _MOST_STRANGERS
        if resource is not None:  # connections are files, and others are needed, too
            files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            self._most = min(self._most, files // 4) if files > 0 else self._most

    def came(self, transport: asyncio.Transport) -> None:
        """Count a connection that was just opened, and end it if no cookie comes in time."""
        client = transport.get_extra_info("peername")
        if client is None:  # gone already
            return
        late = asyncio.get_running_loop().call_later(_STRANGER, self._end, client)
        self._open[client] = transport, late
        if len(self._open) > self._most:
            self._end(next(iter(self._open)))

    def known(self, client: Any) -> None:
        """Stop counting a connection: it sent a cookie, or ended."""
        connection = self._open.pop(tuple(client or ()), None)
        if connection is not None:
            connection[1].cancel()

    def _end(self, client: Any) -> None:
        transport, late = self._open.pop(client)
        late.cancel()
        transport.abort()


def _is_ours(name: bytes) -> bool:
    """True if a header is set here: no answer widens what is allowed."""
    lower = name.lower().decode("latin-1")
    return lower in HEADERS or lower.startswith("access-control-")


_NO_COOKIE = (
    "This page shows data about people, so it opens only from the address that foreknow explore "
    "printed in its terminal."
)
_NO_TOKEN = (
    "This address was used before, or is not complete: an address opens the page once. If you "
    "did not open it, another user or program of this machine sees the data: end foreknow "
    "explore with Ctrl-C in its terminal. Otherwise, open the address that it printed last."
)
_NO_SECRET = (
    '{"error": "This tab does not belong to an open page. Open the address that foreknow explore '
    'printed last in its terminal, or this one while a tab of the page is open."}'
)
_TOO_MUCH = "That is too much to send at once."
_ENTRY = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Foreknow</title>
<script src="/static/enter.js" type="module"></script></head>
<body data-secret="{secret}" data-target="{target}"><noscript>This page needs JavaScript.</noscript>
</body></html>"""


def _header_values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


async def _say(
    send: Send,
    status: int,
    text: str,
    headers: Iterable[tuple[bytes, bytes]] = (),
    kind: str = "text/plain",
) -> None:
    """Send a short answer with a status, as text."""
    body = f"{text}\n".encode() if text else b""
    content_type = (b"content-type", f"{kind}; charset=utf-8".encode())
    length = (b"content-length", str(len(body)).encode())
    closing = [(b"connection", b"close")] if status == 413 else []  # the rest is not waited for
    all_headers = [content_type, length, *closing, *headers, *_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})


def inside(folder: Path, name: str) -> Path:
    """The path of a visible name in a folder; links are followed, and may not lead out of it.

    Raises the same `InputError` for names that do not exist, lead out, or begin with a dot.
    """
    message = f"there is no {name!r} in the folder that foreknow explore was started in"
    if not name or "\0" in name:
        raise InputError(message)
    try:
        path = (folder / name).resolve(strict=True)
        steps = path.relative_to(folder.resolve()).parts
    except (OSError, ValueError, RuntimeError):
        raise InputError(message) from None
    if any(step.startswith(".") for step in steps):
        raise InputError(message)
    return path


def is_device(name: str) -> bool:
    """True if Windows takes a name for a device, whatever its ending.

    >>> is_device("CON.toml"), is_device("lpt1"), is_device("console.toml")
    (True, True, False)
    """
    return _DEVICE.fullmatch(name) is not None
