"""Server: the routes of the page, and how it begins and ends."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import socket
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from foreknow.data.tables.formats.databases import new_file
from foreknow.errors import OutputError
from foreknow.features.explore import columns, policy, release, trials
from foreknow.features.explore.publish import Press
from foreknow.features.explore.security import HOST, MOST_BYTES, Guard, Keys
from foreknow.features.explore.session import Choice, Session
from foreknow.report.html import templates
from foreknow_judge._version import __version__
from foreknow_judge.errors import ForeknowError, InputError
from foreknow_judge.files.documents import from_json
from foreknow_judge.files.printable import one_line, visible

if TYPE_CHECKING:
    import uvicorn

# The views: address and title.
VIEWS = {
    "columns": "Columns",
    "policy": "Policy",
    "release": "Release",
    "publish": "Publish",
    "trials": "Trials",
}
_TYPES = {".css": "text/css", ".js": "text/javascript"}
_STATIC = re.compile(r"[a-z]+\.(?:css|js)")
_WATCH = 1.0  # seconds between looks whether the terminal is still there
_WAITING = 32  # connections that are accepted at once, so that files are left for them
_FORWARD = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Foreknow</title>
<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={address}">
</head><body><a href="{address}">Foreknow</a></body></html>
"""
_log = logging.getLogger(__name__)


def application(session: Session, press: Press | None = None) -> Starlette:
    """The web application of one session: its pages, and the addresses they get data from.

    `press` makes releases; None: one of its own.
    """
    press = press or Press(session)
    # A GET route answers a query of the page; a POST route changes something, or takes much text.
    # The name of the source is in "of".
    routes = [
        Route("/", _start(session)),
        Route("/static/{name}", _static),
        *(Route(f"/{key}", _view(key)) for key in VIEWS),
        _answers("/api/choices", lambda inputs: _choices(session, inputs.get("in"))),
        _answers("/api/columns", lambda inputs: columns.overview(session, inputs.get("of"))),
        _changes("/api/columns/settled", lambda inputs: columns.set_role(session, inputs)),
        _changes("/api/columns/decided", lambda inputs: columns.decide(session, inputs)),
        _changes("/api/columns/preview", lambda inputs: columns.preview(session, inputs)),
        _answers("/api/policy", lambda inputs: policy.overview(session, inputs.get("of"))),
        _changes("/api/policy/written", lambda inputs: policy.write_text(session, inputs)),
        _changes("/api/policy/settled", lambda inputs: policy.set_key(session, inputs)),
        _changes("/api/policy/saved", lambda inputs: policy.save(session, inputs)),
        _changes("/api/policy/undone", lambda inputs: policy.undo(session, inputs)),
        _changes("/api/policy/taken", lambda inputs: policy.use_policy_file(session, inputs)),
        _answers("/api/trials", lambda inputs: trials.overview(session, inputs.get("of"))),
        _changes("/api/trials/learned", lambda inputs: trials.run_learned(session, inputs)),
        _changes("/api/trials/together", lambda inputs: trials.judge_together(session, inputs)),
        _answers("/api/publish", lambda inputs: press.overview(inputs.get("of"))),
        _answers("/api/publish/state", lambda inputs: press.state(inputs.get("of"))),
        _answers("/api/publish/compared", press.compare),
        _changes("/api/publish/start", press.start),
        _changes("/api/publish/cancel", press.cancel),
        _changes("/api/publish/write", press.write),
        _answers("/api/release/rows", lambda inputs: release.rows(_looked_at(session, inputs))),
        _answers("/api/release", lambda inputs: release.overview(_looked_at(session, inputs))),
        _answers(
            "/api/release/judged",
            lambda inputs: release.judge(_looked_at(session, inputs), inputs),
        ),
        _answers(
            "/api/release/skyline",
            lambda inputs: release.skyline(_looked_at(session, inputs), inputs),
        ),
        _changes(
            "/api/release/asked", lambda inputs: release.ask(_looked_at(session, inputs), inputs)
        ),
    ]
    return Starlette(routes=routes)


def _looked_at(session: Session, inputs: Mapping[str, Any]) -> Any:
    return session.looked(inputs.get("of"))


def _choices(session: Session, database: str | None) -> dict[str, Any]:
    """The tables that can be opened in the folder, or in one database or workbook."""
    if database:
        choices = [Choice(name, "table") for name in session.parts(database)]
    else:
        choices = session.choices()
    return {
        "folder": visible(database or session.folder.name),
        "choices": list(map(vars, choices)),
    }


# ---- routes -------------------------------------------------------------------------------------


def _answers(path: str, answer: Callable[[Mapping[str, str]], Any]) -> Route:
    """A GET route, which changes nothing."""

    async def endpoint(request: Request) -> Response:
        return await _answered(answer, dict(request.query_params))

    return Route(path, endpoint, methods=["GET"])


def _changes(path: str, change: Callable[[Mapping[str, Any]], Any]) -> Route:
    """A POST route that takes JSON; what it sends is given to `change` as a mapping."""

    async def endpoint(request: Request) -> Response:
        try:
            # A policy is one text; how long it may be, its view says.
            inputs = from_json((await request.body()).decode("utf-8"), MOST_BYTES)
        except ValueError:
            inputs = None
        if not isinstance(inputs, dict):
            return JSONResponse({"error": "that is not what the page sends"}, 400)
        return await _answered(change, inputs)

    return Route(path, endpoint, methods=["POST"])


async def _answered(answer: Callable[[Any], Any], inputs: Any) -> Response:
    """The result of a function as JSON; it runs in a thread, beside other requests.

    A mistake of the user becomes one line, with status 400; a refusal, with 409.
    """
    try:
        content = await run_in_threadpool(answer, inputs)
    except InputError as error:
        return JSONResponse({"error": one_line(error, unescaped="\n")}, 400)
    except ForeknowError as error:
        return JSONResponse({"error": one_line(error, unescaped="\n")}, 409)
    return Response(json.dumps(content, default=str), media_type="application/json")


def _start(session: Session) -> Callable[[Request], Response]:
    """The handler of the first page: a list of files, or the release or table that was named."""

    def endpoint(request: Request) -> Response:
        # `all` and `in` ask for the list: of everything, or of what is in one database.
        query, first = request.query_params, session.first
        if first is None or "all" in query or "in" in query:
            return _page("start", "Open")
        if session.kind_of(first) != "table":
            return RedirectResponse("/release", 303)
        # A database of several tables: which of them is meant is chosen from the list.
        if len(session.parts(first)) > 1:
            return RedirectResponse(f"/?{urlencode({'in': first})}", 303)
        return RedirectResponse("/columns", 303)

    return endpoint


def _view(key: str) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        return _page(key, VIEWS[key])

    return endpoint


def _page(key: str, title: str) -> Response:
    variables = {"view": key, "title": title, "views": VIEWS, "version": __version__}
    template = templates("foreknow.features.explore").get_template(f"{key}.html.j2")
    return HTMLResponse(template.render(**variables))


def _static(request: Request) -> Response:
    """The answer with a script or style sheet; 404 for any other name."""
    name = request.path_params["name"]
    if not _STATIC.fullmatch(name):
        return Response("There is no such file.\n", 404, media_type="text/plain")
    text = _file(name)
    if text is None:
        return Response("There is no such file.\n", 404, media_type="text/plain")
    return Response(text, media_type=_TYPES[name[name.index(".") :]])


@cache
def _file(name: str) -> str | None:
    """A script or style, of the report where it has it."""
    file = files("foreknow.features.explore") / "static" / name
    if name == "style.css" and not file.is_file():
        file = files("foreknow.report") / "templates" / name
    return file.read_text("utf-8") if file.is_file() else None


# ---- beginning and end --------------------------------------------------------------------------


def serve(
    session: Session,
    port: int | None,
    browser: bool,
    announce: Callable[[str], None],
    warn: Callable[[str], None],
) -> None:
    """Serve a session until Ctrl-C ends it, or its terminal is closed.

    `port` None: any free one. `announce` and `warn` print lines for the owner.
    """
    import uvicorn

    with closing(_listen(port)) as listening_socket:
        bound_port = listening_socket.getsockname()[1]

        def address(token: str) -> str:
            return f"http://{HOST}:{bound_port}/?token={token}"

        def again(token: str) -> None:
            announce(f"For another browser: {address(token)}")

        def twice() -> None:
            warn(
                "WARNING: a second browser opened an address. Unless you opened it both times, "
                "another user or program of this machine has seen the address and may be reading "
                "the data: end this with Ctrl-C, and start again. Otherwise, open "
                f"{address(keys.token)}"
            )

        keys, press = Keys(again, twice), Press(session)
        guard = Guard(application(session, press), keys, bound_port)
        announce(f"Foreknow explores {visible(session.folder)}. Open, once:")
        announce(f"  {address(keys.token)}")
        announce("Ctrl-C ends it.")
        # The address holds a token, so the browser is given a file that leads to it.
        forward = _forward(address(keys.token)) if browser else None
        try:
            if forward is not None:
                webbrowser.open(forward.as_uri())
            server = uvicorn.Server(settings_of(guard))
            asyncio.run(_until_the_terminal_ends(server, listening_socket))
        finally:
            press.close()
            if forward is not None:
                forward.unlink(missing_ok=True)


def _forward(address: str) -> Path:
    """A private file that leads to an address; the address itself would be seen by all users."""
    path = new_file(".html")
    path.write_text(_FORWARD.format(address=address), "utf-8")
    return path


def settings_of(guard: Guard) -> uvicorn.Config:
    """The settings of the server; it logs no addresses, since these hold names and values."""
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Watched(H11Protocol):
        """A connection that can be watched, with a bound for the head of a request."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            guard.strangers.came(transport)

        def connection_lost(self, error: Exception | None) -> None:
            guard.strangers.known(self.client)
            super().connection_lost(error)

    return uvicorn.Config(
        guard,
        http=Watched,
        access_log=False,
        log_level="critical",
        server_header=False,
        date_header=False,
        lifespan="off",
        ws="none",
        backlog=_WAITING,
        timeout_graceful_shutdown=2,
    )


def _listen(port: int | None) -> socket.socket:
    """A socket that listens to this machine only, at a port (None: any free one)."""
    listening_socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # A port that was just in use can be taken again at once.
        if os.name == "posix":
            listening_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening_socket.bind((HOST, port or 0))
        listening_socket.listen(1024)  # a browser may be there before us
    except (OSError, OverflowError) as error:
        listening_socket.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise OutputError(
            f"port {port} cannot be used: {reason}; leave out --port for a free one"
        ) from None
    return listening_socket


async def _until_the_terminal_ends(server: uvicorn.Server, listening_socket: socket.socket) -> None:
    """Serve until Ctrl-C, or until the process that started this one has ended."""
    parent = os.getppid()
    logged: set[str] = set()

    def trouble(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error_name = type(context.get("exception")).__name__
        if error_name not in logged:  # once, without a traceback: it may come thousands of times
            logged.add(error_name)
            _log.error("%s while serving", error_name)

    def end() -> None:
        server.should_exit = server.force_exit = True

    # If the parent ends, another process becomes the parent.
    async def watch() -> None:
        while os.getppid() == parent:
            await asyncio.sleep(_WATCH)
        end()

    asyncio.get_running_loop().set_exception_handler(trouble)
    with suppress(AttributeError, NotImplementedError):  # Windows has no such signal
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, end)
    watching = asyncio.create_task(watch())
    try:
        await server.serve(sockets=[listening_socket])
    finally:
        watching.cancel()
