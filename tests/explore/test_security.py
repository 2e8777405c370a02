"""Who may ask the page, from where, for what."""

import logging
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.common import NIGHTLY, heeded
from tests.explore.conftest import OWN, PORT, Browser, Place, View, serving

from foreknow.features.explore.security import HOST, SECRET
from foreknow.features.explore.security import inside as path_inside
from foreknow.features.explore.server import _forward, serve, settings_of
from foreknow.features.explore.session import Session

PAGES = ("/", "/release", "/api/choices", "/api/release", "/static/dom.js", "/nothing")


# ---- the token ----------------------------------------------------------------------------------


def test_nothing_is_said_without_token(place):
    stranger, token = place.browser(inside=False), place.keys.token
    wrong = ["", "x", token[:-1], token + "x", "ü".encode().hex()]
    for path in (*PAGES, *(f"/?token={own}" for own in wrong)):
        answer = stranger.ask(path)
        assert answer.status == 403, path
        assert "hospital" not in answer.text
        assert "set-cookie" not in answer.headers


def test_token_becomes_one_secure_cookie(folder):
    place = Place(folder)
    token = place.keys.token
    first, second = place.browser(inside=False), place.browser(inside=False)
    answer = first.enter(place.keys)
    assert answer.status == 200
    assert 'data-target="/"' in answer.text
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(rf"foreknow-{PORT}=[\w-]{{40,}}; Path=/; HttpOnly; SameSite=Strict", cookie)
    assert first.ask("/api/choices").status == 200
    assert second.ask(f"/?token={token}").status == 403
    assert first.ask("/").status == 200
    assert first.ask(f"/release?of=out&token={token}").headers["location"] == "/release?of=out"


def test_two_browsers_have_cookie_each(folder):
    place = Place(folder)
    first, second = place.browser(), place.browser()
    assert first.cookie != second.cookie
    assert [each.ask("/api/choices").status for each in (first, second)] == [200, 200]
    second.cookie = second.cookie[:-2]
    assert second.ask("/api/choices").status == 403


def test_the_token_leads_nowhere_else(folder):
    for path in ("//evil.example/", "/\\evil.example", "/%0d%0aset-cookie:x=1"):
        place = Place(folder)
        answer = place.browser(inside=False).ask(f"http://{OWN}{path}?token={place.keys.token}")
        assert re.search(r'data-target="/[\w%.:=-]*/?"', answer.text)


# ---- from where ---------------------------------------------------------------------------------


def test_a_foreign_host_is_refused(place, inside):
    stranger = Browser(place.guard)
    for host in ("evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", None):
        assert inside.ask("/api/release", host=host).status == 421
        assert stranger.ask(f"/?token={place.keys.token}", host=host).status == 421
    assert inside.ask("/api/choices", host=f"localhost:{PORT}").status == 200


ASKED = "/api/release/asked", {"about": "Tom", "statements": ""}


def test_a_foreign_origin_changes_nothing(inside):
    origins = ["http://evil.example", "null", f"https://{OWN}", f"http://{OWN}.evil.example", None]
    for origin in origins:
        assert inside.post(*ASKED, origin=origin).status == 403
    foreign = {"sec_fetch_site": "cross-site"}
    for site, mode, status in (
        ("cross-site", "no-cors", 403),
        ("same-site", "cors", 403),
        ("cross-site", "navigate", 200),
    ):
        path = "/release" if mode == "navigate" else "/api/release"
        assert inside.ask(path, sec_fetch_site=site, sec_fetch_mode=mode).status == status
    assert inside.post(*ASKED, **foreign).status == 403


def test_too_much_is_not_read(folder, inside):
    """Whatever server is beneath: what comes is counted, and not what was announced."""
    for length in (str(1 << 40), "x", None):
        assert inside.post("/api/release/asked", {}, content_length=length).status == 413
    body = {"text": "x" * (5 << 20)}
    assert inside.post("/api/policy/written", body, content_length="10").status == 413


# ---- other users and programs of this machine ---------------------------------------------------


def test_reused_tokens_warn_loudly(folder):
    texts = []
    place = Place(folder)
    place.keys._warn = lambda: texts.append("again")
    token = place.keys.token
    place.browser()
    assert texts == []
    assert Browser(place.guard).ask("/?token=wrong").status == 403
    assert texts == []
    late = Browser(place.guard).ask(f"/?token={token}")
    assert (late.status, texts) == (403, ["again"])
    assert "If you did not open it" in late.text


def test_cookie_alone_gets_no_data(folder):
    place = Place(folder, folder / "out")
    owner, thief = place.browser(), Browser(place.guard)
    thief.cookie = owner.cookie
    for secret in (None, "", "guessed", owner.cookie):
        thief.secret = secret
        for path in ("/api/choices", "/api/release", "/api/columns?of=hospital.csv"):
            answer = thief.ask(path)
            assert answer.status == 403
            assert "hospital" not in answer.text
        assert thief.post(*ASKED).status == 403
        for path in ("/", "/?all=", "/columns", "/policy", "/publish", "/release", "/?token=x"):
            answer = thief.ask(path)
            assert answer.status in (200, 303)
            for word in (owner.secret, "hospital", folder.name):
                assert word not in answer.text + str(answer.headers)
    other = place.browser()
    thief.secret = other.secret  # of another browser
    assert thief.ask("/api/choices").status == 403
    assert owner.ask("/api/choices").status == 200


class Lure(BaseHTTPRequestHandler):
    """Another server of this machine: it keeps the cookies that browsers send to it."""

    def do_GET(self):
        self.server.stolen.append(self.headers.get("cookie"))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<p id=lured>")

    def log_message(self, *_):
        pass


def test_other_servers_get_useless_cookies(chromium, folder):
    lure = ThreadingHTTPServer((HOST, 0), Lure)
    lure.stolen = []
    threading.Thread(target=lure.serve_forever, daemon=True).start()
    with serving(Session(folder, folder / "out")) as (base, keys):
        view = View(chromium, base)
        view.open(f"/?token={keys.token}").wait_for_selector("#headline .sign")
        view.page.goto(f"http://{HOST}:{lure.server_port}/")
        view.page.wait_for_selector("#lured", state="attached")
        cookie = next(filter(None, lure.stolen))
        assert "foreknow-" in cookie
        connection = HTTPConnection(base.removeprefix("http://"), timeout=30)
        for path in ("/api/release", "/api/choices", "/api/columns?of=hospital.csv"):
            connection.request("GET", path, headers={"cookie": cookie})
            answer = connection.getresponse()
            assert (answer.status, b"zip" in answer.read()) == (403, False)
        view.context.close()
    lure.shutdown()


def test_strange_tabs_must_wait(chromium, folder):
    with serving(Session(folder, folder / "out")) as (base, keys):
        view = View(chromium, base)
        view.open(f"/?token={keys.token}").wait_for_selector("#headline .sign")
        tab = view.context.new_page()
        tab.goto(base + "/columns?of=hospital.csv")
        tab.wait_for_selector("#columns td")
        tab.reload()
        tab.wait_for_selector("#columns td")
        for page in (view.page, tab):
            page.goto("about:blank")
        late = view.context.new_page()
        late.goto(base + "/columns?of=hospital.csv")
        late.wait_for_selector("#trouble:not([hidden])")
        assert "Open the address" in late.inner_text("#trouble")
        late.goto(f"{base}/columns?of=hospital.csv&token={keys.token}")
        late.wait_for_selector("#columns td")
        assert "token" not in late.url
        view.context.close()


def test_address_hides_from_process_lists(chromium, folder, monkeypatch):
    """A browser is given a file of ours only, which leads on."""
    opened = []

    def browser(address):
        path = Path(unquote(urlsplit(address).path))
        opened.append((address, path, stat.S_IMODE(path.stat().st_mode)))
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", browser)
    texts = []
    with pytest.raises(KeyboardInterrupt):
        serve(Session(folder), None, True, texts.append, texts.append)
    ((address, path, mode),) = opened
    assert address.startswith("file:///")
    assert "token" not in address
    assert mode == 0o600
    assert not path.exists()
    with serving(Session(folder, folder / "out")) as (base, keys):
        view = View(chromium, base)
        path = _forward(f"{base}/?token={keys.token}")
        view.page.goto(path.as_uri())
        view.page.wait_for_selector("#headline .sign")
        assert view.said == []
        view.context.close()
        path.unlink()


@pytest.fixture
def alone(folder):
    """The command in a process of its own that may hold few files; and what it prints."""
    resource = pytest.importorskip("resource")
    few = (256, 256)
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "foreknow.cli", "explore", "out", "--no-browser"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: (heeded(), resource.setrlimit(resource.RLIMIT_NOFILE, few)),
    )
    text = b""
    while b"Ctrl-C" not in text:
        text += process.stdout.readline()
    host, token = re.search(rb"http://([\d.:]+)/\?token=(\S+)", text).groups()
    yield process, host.decode(), token.decode()
    process.kill()
    process.communicate()


def test_unfinished_requests_block_nobody(alone):
    process, host, token = alone
    name, _, port = host.partition(":")
    held = []
    for _ in range(600):
        each = socket.create_connection((name, int(port)), timeout=30)
        each.sendall(b"GET / HTTP/1.1\r\nHost: ")
        held.append(each)
    connection = HTTPConnection(host, timeout=30)
    connection.request("GET", f"/?token={token}")
    assert connection.getresponse().status == 200
    for each in held:
        each.close()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert b"Traceback" not in said
    assert len(said) < 1000


def test_request_heads_are_bounded(place, monkeypatch):
    """The protocol that is taken where httptools is there has no bound."""
    from uvicorn.protocols.http import auto, h11_impl

    monkeypatch.setattr(auto, "AutoHTTPProtocol", type("Unbounded", (), {}))
    assert issubclass(settings_of(place.guard).http, h11_impl.H11Protocol)


def test_request_without_cookie_has_deadline(folder, monkeypatch):
    monkeypatch.setattr("foreknow.features.explore.security._STRANGER", 0.2)
    with serving(Session(folder)) as (base, _):
        name, _, port = base.removeprefix("http://").partition(":")
        each = socket.create_connection((name, int(port)), timeout=30)
        each.sendall(b"GET / HTTP/1.1\r\n")
        with suppress(ConnectionResetError):
            assert each.recv(10) == b""
        each.close()


def test_bytes_read_count_not_announced(folder):
    with serving(Session(folder)) as (base, keys):
        host = base.removeprefix("http://")
        cookie, secret = keys.exchange(keys.token)
        connection = HTTPConnection(host, timeout=30)
        connection.putrequest("POST", "/api/policy/written", skip_accept_encoding=True)
        for key, value in {
            "Origin": base,
            "Cookie": f"foreknow-{host.partition(':')[2]}={cookie}",
            SECRET: secret,
            "Content-Length": "10",
            "Transfer-Encoding": "chunked",
        }.items():
            connection.putheader(key, value)
        connection.endheaders()
        with suppress(OSError):
            for _ in range(40):
                connection.send(b"100000\r\n" + b" " * (1 << 20) + b"\r\n")
            pytest.fail("40 MB were read")
        with suppress(OSError):
            assert connection.getresponse().status in (400, 413)


def test_releases_refuse_outside_links(tmp_path, folder):
    here = tmp_path / "here"
    for name in ("whole", "linked", "owned"):
        shutil.copytree(folder / "out", here / name)
    shutil.copytree(folder / "out.owner", tmp_path / "elsewhere")
    (here / "linked" / "release.csv").rename(tmp_path / "outside.csv")
    (here / "linked" / "release.csv").symlink_to(tmp_path / "outside.csv")
    (here / "owned.owner").symlink_to(tmp_path / "elsewhere")
    browser = Place(here).browser()
    assert browser.ask("/api/release?of=whole").status == 200
    body = {"about": "1", "statements": ""}
    for name in ("linked", "owned"):
        answer = browser.ask(f"/api/release?of={name}")
        assert (answer.status, "link" in answer.json["error"]) == (400, True)
        assert browser.post("/api/release/asked", {"of": name, **body}).status == 400


def test_address_is_printed_to_terminals(folder):
    command = f"'{sys.executable}' -m foreknow.cli explore --no-browser >&- 2>&-"
    done = subprocess.run(["sh", "-c", command], cwd=folder, timeout=60, check=False)
    assert done.returncode == 2  # there is no place for it at all
    for out in (">&-", "> /dev/full"):
        command = f"exec '{sys.executable}' -u -m foreknow.cli explore --no-browser {out}"
        process = subprocess.Popen(["sh", "-c", command], cwd=folder, stderr=subprocess.PIPE)
        text = b""
        while b"Ctrl-C" not in text and (line := process.stderr.readline()):
            text += line
        process.kill()
        process.communicate()
        assert re.search(rb"http://127.0.0.1:\d+/\?token=\S", text)


# ---- what a browser may do with it --------------------------------------------------------------


def test_answers_carry_security_headers(place, inside):
    stranger = place.browser(inside=False)
    for answer in (own.ask(path) for path in PAGES for own in (inside, stranger)):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self'; ")
        assert "unsafe" not in policy
        assert "*" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert not [name for name in answer.headers if name.startswith("access-control")]
    preflight = inside.ask("/api/release/asked", "OPTIONS", origin="http://evil.example")
    assert preflight.status == 403


def test_pages_have_no_inline_code(inside):
    for path in ("/?all=", "/columns", "/policy", "/release"):
        page = inside.ask(path).text
        assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)
        assert not re.findall(r"(?:src|href)=\"(?!/|#|data:,)", page)
    for name in ("../server.py", "..%2fserver.py", "a.html", "x.css", "release.py"):
        assert inside.ask(f"/static/{name}").status == 404


# ---- files --------------------------------------------------------------------------------------


def test_files_come_from_folder_only(tmp_path):
    folder, other = tmp_path / "own", tmp_path / "other"
    for each in (folder, other, folder / ".hidden"):
        each.mkdir()
    for path in (other / "a.csv", folder / "b.csv", folder / ".hidden" / "c.csv"):
        path.write_text("age,disease\n1,Flu\n2,Cold\n", encoding="utf-8")
    (folder / "link.csv").symlink_to(other / "a.csv")
    (folder / "own.csv").symlink_to(folder / "b.csv")
    (folder / "out").symlink_to(other)
    assert path_inside(folder, "own.csv") == (folder / "b.csv").resolve()
    browser = Place(folder).browser()
    assert browser.ask("/api/release?of=b.csv").status == 200
    outside = ["../other/a.csv", str(other / "a.csv"), "link.csv", "out/a.csv", ".hidden/c.csv"]
    for name in [*outside, "b.csv/../../other/a.csv", "%00", "~/a.csv", "nothing.csv"]:
        answer = browser.ask(f"/api/release?of={name}")
        assert answer.status == 400, name
        assert "Flu" not in answer.text
    listed = [each["name"] for each in browser.ask("/api/choices").json["choices"]]
    assert listed == ["b.csv", "own.csv"]


def test_no_sheet_leads_elsewhere(tmp_path):
    (tmp_path / "t.csv").write_text("age,disease\n1,Flu\n2,Cold\n", encoding="utf-8")
    browser = Place(tmp_path).browser()
    for part in ("../..", "a/b", "/", "x" * 5000):
        for route in ("columns", "release", "release/rows", "publish", "trials"):
            answer = browser.ask(f"/api/{route}?of=t.csv?sheet={part}")
            assert answer.status == 400
            assert answer.json["error"]


# ---- what is logged, what is held ---------------------------------------------------------------


def test_nothing_of_table_is_logged(tmp_path, caplog, monkeypatch):
    (tmp_path / "t.csv").write_text("age,disease\n1,Secretitis\n2,Cold\n", encoding="utf-8")
    place = Place(tmp_path, tmp_path / "t.csv")
    browser = place.browser()
    caplog.set_level(logging.DEBUG)

    def broken(*_):
        raise RuntimeError("Secretitis")

    monkeypatch.setattr("foreknow.features.explore.release.judge", broken)
    assert browser.ask("/api/release").status == 200
    answer = browser.ask("/api/release/judged?value=Secretitis")
    assert answer.status == 500
    assert "Secretitis" not in answer.text
    assert "Secretitis" not in caplog.text
    assert "RuntimeError" in caplog.text


def test_many_at_once_are_answered(folder):
    many = 200 if NIGHTLY else 42

    with serving(Session(folder, folder / "out")) as (base, keys):
        host = base.removeprefix("http://")
        cookie, secret = keys.exchange(keys.token)
        headers = {"cookie": f"foreknow-{host.partition(':')[2]}={cookie}", SECRET: secret}

        def ask(number):
            connection = HTTPConnection(host, timeout=300)
            path = f"/api/release/judged?requirement={1 + number % 2}&k={number % 7}"
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return response.status, response.read()

        with ThreadPoolExecutor(many) as pool:
            results = list(pool.map(ask, range(many)))
    assert {status for status, _ in results} == {200}
    assert len({body for _, body in results}) == 14  # the same answer for the same question
    assert all(results[i][1] == results[i % 14][1] for i in range(many))


# ---- the command --------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_server_is_local_and_ends(folder):
    terminal, inner = os.openpty()
    code = "import os, fcntl, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
    run = f"{code}; import runpy, sys; sys.argv = ['foreknow', 'explore', '--no-browser']; "
    run += "runpy.run_module('foreknow.cli', run_name='__main__')"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", run], cwd=folder, stdin=inner, stdout=inner, stderr=inner
    )
    os.close(inner)
    text = b""
    while b"Ctrl-C" not in text:
        text += os.read(terminal, 1000)
    host, token = re.search(rb"http://([\d.:]+)/\?token=(\S+)", text).groups()
    connection = HTTPConnection(host.decode(), timeout=30)
    connection.request("GET", f"/?token={token.decode()}")
    assert connection.getresponse().status == 200
    assert host.startswith(b"127.0.0.1:")
    os.close(terminal)
    process.wait(60)
    with pytest.raises(OSError):
        HTTPConnection(host.decode(), timeout=5).request("GET", "/")
