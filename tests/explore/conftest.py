"""A server in this process, asked without a network; a browser, where there is one."""

import asyncio
import json
import re
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import polars as pl
import pytest

pytest.importorskip("starlette", reason="pip install .[explore]")

import foreknow as fk
from foreknow import sample
from foreknow.features.explore.publish import Press
from foreknow.features.explore.security import HOST, SECRET, Guard, Keys
from foreknow.features.explore.server import application, settings_of
from foreknow.features.explore.session import Session

PORT = 8888
OWN = f"{HOST}:{PORT}"


class Answer:
    def __init__(self, sent):
        start, *bodies = sent
        self.status = start["status"]
        self.headers = {k.decode().lower(): v.decode() for k, v in start["headers"]}
        self.body = b"".join(body.get("body", b"") for body in bodies)

    @property
    def text(self):
        return self.body.decode("utf-8")

    @property
    def json(self):
        return json.loads(self.body)


class Browser:
    """What a browser would send: its own host, its cookie, its origin where it changes things."""

    def __init__(self, guard):
        self.guard, self.cookie, self.secret = guard, None, None

    def ask(self, path, method="GET", body=None, host=OWN, **headers):
        given = {"host": host, **{k.replace("_", "-"): v for k, v in headers.items()}}
        if self.cookie is not None:
            given.setdefault("cookie", self.cookie)
        if self.secret is not None:
            given.setdefault(SECRET, self.secret)
        content = b"" if body is None else json.dumps(body).encode()
        if method not in ("GET", "HEAD"):
            given.setdefault("origin", f"http://{OWN}")
            given.setdefault("content-length", str(len(content)))
        split = urlsplit(path)
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": split.path,
            "raw_path": split.path.encode(),
            "root_path": "",
            "query_string": split.query.encode(),
            "headers": [
                (k.encode(), v.encode("latin-1")) for k, v in given.items() if v is not None
            ],
            "server": (HOST, PORT),
            "client": (HOST, 5),
        }
        sent, waiting = [], [{"type": "http.request", "body": content, "more_body": False}]

        async def receive():
            return waiting.pop() if waiting else {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        # In a thread, since the library of the browser has a loop of its own in this one.
        thread = threading.Thread(target=lambda: asyncio.run(self.guard(scope, receive, send)))
        thread.start()
        thread.join()
        return Answer(sent)

    def post(self, path, body, **headers):
        return self.ask(path, "POST", body, **headers)

    def enter(self, keys):
        answer = self.ask(f"/?token={keys.token}")
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        self.secret = re.search(r'data-secret="([\w-]{40,})"', answer.text)[1]
        return answer


class Place:
    """A session, its keys and its guard."""

    def __init__(self, folder, given=None, policy=None, reading=None):
        self.keys = Keys()
        self.session = Session(folder, given, policy, reading)
        self.guard = Guard(application(self.session), self.keys, PORT)

    def browser(self, *, inside=True):
        result = Browser(self.guard)
        if inside:
            result.enter(self.keys)
        return result


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The sample beside its release, by a policy with one sensitive column."""
    place = tmp_path_factory.mktemp("explored")
    for name in ("hospital.csv", "marital.csv"):
        shutil.copy(sample.table_path().with_name(name), place / name)
    shutil.copy(Path(__file__).with_name("diagnoses.toml"), place / "policy.toml")
    fk.publish(place / "hospital.csv", fk.Policy.load(place / "policy.toml")).write(place / "out")
    return place


POLICY = """
[schema]
identifiers = ["case"]
quasi_identifiers = ["age", "sex"]
sensitive = "ill"
other = ["ward"]

# Keep this.
[[require]]
facts = { l = 1 }
below = 0.9

[[require]]
k_anonymity = 2
"""


@pytest.fixture
def stays(tmp_path):
    """A folder with cases, two of each person, and a policy."""
    rows = {
        "case": [f"c{i}" for i in range(60)],
        "who": [f"p{i // 2}" for i in range(60)],
        "age": [20 + i // 2 % 7 for i in range(60)],
        "sex": ["fm"[i // 2 % 2] for i in range(60)],
        "ill": ["flu", "cold", "gout"] * 20,
        "income": [1000 + 10 * i for i in range(60)],
        "ward": ["a", "b"] * 30,
    }
    pl.DataFrame(rows).write_csv(tmp_path / "stays.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


@pytest.fixture(scope="session")
def place(folder):
    return Place(folder, folder / "out")


@pytest.fixture(scope="session")
def inside(place):
    return place.browser()


# ---- a browser ----------------------------------------------------------------------------------

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]


@pytest.fixture(scope="session")
def chromium():
    library = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    with library.sync_playwright() as own:
        browser = own.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        yield browser
        browser.close()


@contextmanager
def serving(session):
    """Serve a session from a thread of this process; gives the address and the keys."""
    uvicorn = pytest.importorskip("uvicorn")
    from foreknow.features.explore.server import _listen

    place, keys = _listen(None), Keys()
    port = place.getsockname()[1]
    press = Press(session)
    guard = Guard(application(session, press), keys, port)
    server = uvicorn.Server(settings_of(guard))
    thread = threading.Thread(
        target=lambda: asyncio.run(server.serve(sockets=[place])), daemon=True
    )
    thread.start()
    try:
        yield f"http://{HOST}:{port}", keys
    finally:
        server.should_exit = True
        thread.join(10)
        place.close()
        press.close()


class View:
    """A page of the browser; what it complains of is kept."""

    def __init__(self, chromium, base, **options):
        self.base, self.said = base, []
        self.context = chromium.new_context(viewport={"width": 1280, "height": 900}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(90_000)
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))

    def _note(self, message):
        if message.type == "error":
            self.said.append(message.text)

    def open(self, path):
        self.page.goto(self.base + path)
        return self.page


@pytest.fixture(scope="session")
def served(folder):
    with serving(Session(folder, folder / "out")) as found:
        yield found


@pytest.fixture(scope="session")
def view(chromium, served):
    base, keys = served
    result = View(chromium, base)
    result.open(f"/?token={keys.token}")
    yield result
    result.context.close()
