"""Who may ask the page, from where, for what."""

import logging
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import pytest
from tests.explore.conftest import OWN, PORT, Browser, Place, serving

import foreknow as fk
from foreknow.cli import main
from foreknow.explore.security import inside as path_inside
from foreknow.explore.session import Draft, Session

PAGES = ("/", "/release", "/api/choices", "/api/release", "/static/dom.js", "/nothing")


# ---- the token ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_said_without_a_token(place, path):
    answer = place.browser(inside=False).ask(path)
    assert answer.status == 403
    assert "hospital" not in answer.text
    assert "set-cookie" not in answer.headers


def test_a_wrong_token_is_refused(place):
    stranger = place.browser(inside=False)
    for token in ("", "x", place.keys.token[:-1], place.keys.token + "x", "ü"):
        answer = stranger.ask(f"/?token={token.encode('utf-8').hex() if token == 'ü' else token}")
        assert answer.status == 403, token
        assert "set-cookie" not in answer.headers


def test_a_token_is_exchanged_once_for_a_cookie_that_scripts_cannot_read(folder):
    place = Place(folder)
    token = place.keys.token
    first, second = place.browser(inside=False), place.browser(inside=False)
    answer = first.enter(place.keys)
    assert answer.status == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(rf"foreknow-{PORT}=[\w-]{{40,}}; Path=/; HttpOnly; SameSite=Strict", cookie)
    assert first.ask("/api/choices").status == 200
    assert second.ask(f"/?token={token}").status == 403
    assert first.ask("/").status == 200
    assert first.ask(f"/release?of=out&token={token}").headers["location"] == "/release?of=out"


def test_two_browsers_have_a_cookie_each(folder):
    place = Place(folder)
    first, second = place.browser(), place.browser()
    assert first.cookie != second.cookie
    assert [each.ask("/api/choices").status for each in (first, second)] == [200, 200]
    second.cookie = second.cookie[:-2]
    assert second.ask("/api/choices").status == 403


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", "/%0d%0aset-cookie:x=1"])
def test_the_token_leads_nowhere_else(folder, path):
    place = Place(folder)
    answer = place.browser(inside=False).ask(f"http://{OWN}{path}?token={place.keys.token}")
    if answer.status == 303:
        assert re.fullmatch(r"/[\w%.:=-]*/?", answer.headers["location"])


# ---- from where ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", None]
)
def test_a_foreign_host_is_refused(place, inside, host):
    assert inside.ask("/api/release", host=host).status == 421
    stranger = Browser(place.guard)
    assert stranger.ask(f"/?token={place.keys.token}", host=host).status == 421


def test_the_name_of_this_machine_is_no_foreign_host(inside):
    assert inside.ask("/api/choices", host=f"localhost:{PORT}").status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://{OWN}", f"http://{OWN}.evil.example", None]
)
def test_a_foreign_origin_changes_nothing(inside, origin):
    body = {"about": "Tom", "statements": ""}
    assert inside.post("/api/release/asked", body, origin=origin).status == 403


def test_other_sites_cannot_load_parts(inside):
    foreign = {"sec_fetch_site": "cross-site"}
    assert inside.ask("/api/release", **foreign, sec_fetch_mode="no-cors").status == 403
    assert (
        inside.ask("/api/release", sec_fetch_site="same-site", sec_fetch_mode="cors").status == 403
    )
    assert inside.ask("/release", **foreign, sec_fetch_mode="navigate").status == 200
    body = {"about": "Tom", "statements": ""}
    assert inside.post("/api/release/asked", body, **foreign).status == 403


def test_too_much_is_not_read(inside):
    for length in (str(1 << 40), "x", None):
        assert inside.post("/api/release/asked", {}, content_length=length).status == 413


# ---- what a browser may do with it --------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES)
def test_every_answer_says_what_a_browser_may_do(place, inside, path):
    for answer in (inside.ask(path), place.browser(inside=False).ask(path)):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self'; ")
        assert "unsafe" not in policy
        assert "*" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert not [name for name in answer.headers if name.startswith("access-control")]
    preflight = inside.ask("/api/release/asked", "OPTIONS", origin="http://evil.example")
    assert preflight.status == 403


def test_pages_have_no_scripts_or_styles_of_their_own(inside):
    for path in ("/?all=", "/columns", "/policy", "/release"):
        page = inside.ask(path).text
        assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)
        assert not re.findall(r"(?:src|href)=\"(?!/|#|data:,)", page)


# ---- files --------------------------------------------------------------------------------------


def test_files_come_from_the_folder_only(tmp_path):
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


def test_a_policy_names_files_of_the_folder_only(tmp_path, folder):
    own = tmp_path / "own"
    own.mkdir()
    (tmp_path / "secret.csv").write_text("a,b\n", encoding="utf-8")
    rules = '[schema]\nquasi_identifiers=["age"]\nsensitive="d"\n[schema.hierarchies]\n'
    rules += 'age = {{ file = "{}" }}\n'
    for name in ("../secret.csv", str(tmp_path / "secret.csv"), "/etc/passwd"):
        with pytest.raises(fk.InputError, match="not in the folder"):
            _ = Draft(rules.format(name) + "[[require]]\nk_anonymity = 2\n", None, own, own).policy


@pytest.mark.parametrize(
    "name", ["../server.py", "..%2fserver.py", "a.html", "x.css", "release.py"]
)
def test_no_other_file_is_served(inside, name):
    assert inside.ask(f"/static/{name}").status == 404


# ---- what is logged, what is held ---------------------------------------------------------------


def test_nothing_of_a_table_is_logged(tmp_path, caplog, monkeypatch):
    (tmp_path / "t.csv").write_text("age,disease\n1,Secretitis\n2,Cold\n", encoding="utf-8")
    place = Place(tmp_path, tmp_path / "t.csv")
    browser = place.browser()
    caplog.set_level(logging.DEBUG)

    def broken(*_):
        raise RuntimeError("Secretitis")

    monkeypatch.setattr("foreknow.explore.release.judged", broken)
    assert browser.ask("/api/release").status == 200
    answer = browser.ask("/api/release/judged?value=Secretitis")
    assert answer.status == 500
    assert "Secretitis" not in answer.text
    assert "Secretitis" not in caplog.text
    assert "RuntimeError" in caplog.text


def test_two_hundred_at_once_are_answered(folder):
    with serving(Session(folder, folder / "out")) as (base, keys):
        host = base.removeprefix("http://")
        cookie = f"foreknow-{host.partition(':')[2]}={keys.exchange(keys.token)}"

        def ask(number):
            connection = HTTPConnection(host, timeout=60)
            path = f"/api/release/judged?requirement={1 + number % 2}&k={number % 7}"
            connection.request("GET", path, headers={"cookie": cookie})
            response = connection.getresponse()
            return response.status, response.read()

        with ThreadPoolExecutor(200) as pool:
            found = list(pool.map(ask, range(200)))
    assert {status for status, _ in found} == {200}
    assert len({body for _, body in found}) == 14  # the same answer for the same question
    assert all(found[i][1] == found[i % 14][1] for i in range(200))


# ---- the command --------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_it_listens_here_only_and_ends_with_its_terminal(folder):
    terminal, inner = os.openpty()
    code = "import os, fcntl, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
    run = f"{code}; import runpy, sys; sys.argv = ['foreknow', 'explore', '--no-browser']; "
    run += "runpy.run_module('foreknow.cli', run_name='__main__')"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", run], cwd=folder, stdin=inner, stdout=inner, stderr=inner
    )
    os.close(inner)
    said = b""
    while b"Ctrl-C" not in said:
        said += os.read(terminal, 1000)
    host, token = re.search(rb"http://([\d.:]+)/\?token=(\S+)", said).groups()
    connection = HTTPConnection(host.decode(), timeout=30)
    connection.request("GET", f"/?token={token.decode()}")
    assert connection.getresponse().status == 303
    assert host.startswith(b"127.0.0.1:")
    os.close(terminal)
    process.wait(20)
    with pytest.raises(OSError):
        HTTPConnection(host.decode(), timeout=5).request("GET", "/")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.csv"], "does not exist"),
        (["t.csv", "--policy", "p.toml", "--no-browser"], "foreknow: p.toml: require[0] names no"),
        (["--port", "99999"], "65535"),
    ],
)
def test_a_mistake_is_said_before_a_browser_opens(tmp_path, monkeypatch, capsys, arguments, said):
    (tmp_path / "p.toml").write_text("[[require]]\n", encoding="utf-8")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda *_: pytest.fail("a browser was opened"))
    monkeypatch.setattr(sys, "argv", ["foreknow", "explore", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
