"""The publish view: made in a process of its own, cancelled, compared, written."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.explore.conftest import Place, View, serving

import foreknow as fk
from foreknow.atomic_files import write_whole
from foreknow.explore.publish import Press
from foreknow.explore.server import application
from foreknow.explore.session import Session
from foreknow_judge.said import ASSUMPTIONS


@pytest.fixture
def own(tmp_path, folder):
    for name in ("hospital.csv", "marital.csv", "policy.toml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    return tmp_path


@pytest.fixture
def browser(own):
    place = Place(own, own / "hospital.csv", own / "policy.toml")
    press = Press(place.session)
    place.guard._app = application(place.session, press)
    yield place.browser()
    press.close()
    assert not [name for name in os.listdir(own) if name.startswith(".foreknow")]


def waited(browser, seconds=300):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = browser.ask("/api/publish/state").json
        if not found["running"]:
            return found
        time.sleep(0.1)
    raise AssertionError("it takes too long")


def test_a_release_is_made_compared_and_written(browser, own):
    assert browser.post("/api/publish/start", {"method": "mondrian"}).json["running"]
    assert browser.post("/api/publish/start", {"method": "mondrian"}).status == 400
    (made,) = waited(browser)["trials"]
    assert made["state"] == "made", made
    assert made["mood"] == "safe"
    assert sorted(os.listdir(own))[1:] == ["hospital.csv", "marital.csv", "policy.toml"]
    opened = browser.ask("/api/release?of=" + made["name"].replace(" ", "%20")).json
    assert opened["published"]
    assert opened["mood"] == "safe"
    told = browser.ask("/api/publish/compared?a=0&b=1").json
    rows = {row[0]: row[1:] for row in told["table"]["rows"]}
    assert rows["People"] == ["4,000", "4,000"]
    assert [cell["mood"] for cell in rows["Verdict"]] == ["unsafe", "safe"]
    assert rows["Against an adversary who knows the method"] == ["not judged"] * 2
    for wrong in ("../out", "hospital.csv", ".x", "CON", "nul.x", "", None, "a/b", "x" * 200):
        assert browser.post("/api/publish/write", {"trial": "1", "folder": wrong}).status == 400
    written = browser.post("/api/publish/write", {"trial": "1", "folder": "made"}).json
    assert written["trials"][0]["written"] == "made"
    assert browser.post("/api/publish/write", {"trial": "1", "folder": "again"}).status == 400
    fk.verify(own / "made")
    assert (own / "made.owner" / "members.parquet").is_file()
    assert browser.ask("/api/release?of=made").json["names"]


def test_cancelled_nothing_is_left(browser, own):
    browser.post("/api/publish/start", {"method": "fulldomain"})
    (left,) = browser.post("/api/publish/cancel", {}).json["trials"]
    assert left["state"] == "cancelled"
    assert browser.post("/api/publish/write", {"trial": "1", "folder": "x"}).status == 400


def test_that_nothing_is_safe_is_said_with_a_way_out(browser):
    browser.post("/api/publish/start", {"method": "anatomy", "form": "bucketized"})
    (none,) = waited(browser)["trials"]
    assert none["state"] == "none"
    assert "Anatomy" in none["why"][0]
    wrong = [{}, {"method": "x"}, {"method": 5}, {"method": "mondrian", "form": "x"}]
    wrong += [{"method": "mondrian", "settings": said} for said in ("suppresion = 1", "x", "= 5")]
    for given in wrong:
        assert browser.post("/api/publish/start", given).status == 400, given


# Writes a release that was made, and is killed at one of the renames, before it or after it.
KILLED = """
import os, signal, sys
from pathlib import Path
from foreknow.explore.publish import KeptRelease, Press, PublishRequest
from foreknow.explore.session import Session
from foreknow.atomic_files import write_whole
from foreknow_judge.scratch import CONTENT

press = Press(Session(Path()))
press._aside = press._make_place()
for place in (1, 2):
    kept = press._aside[0] / CONTENT / f"release-{place}"
    for folder in (kept, kept.with_name(kept.name + ".owner")):
        folder.mkdir()
        (folder / "file").touch()
    request = PublishRequest(
        place, "table.csv", "mondrian", kept, kept_release=KeptRelease(), state="made"
    )
    press._requests.append(request)

rename = Path.rename
def killed(path, target):
    if sys.argv[1] == "after":
        rename(path, target)
    if Path(target).name == "made":
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[1] == "before":
        rename(path, target)

Path.rename = killed
press.write({"trial": "1", "folder": "made"})
"""


@pytest.mark.parametrize(("when", "left"), [("before", []), ("after", ["made", "made.owner"])])
def test_killed_while_it_is_written_it_is_there_as_a_whole_or_not_at_all(tmp_path, when, left):
    killed = subprocess.run([sys.executable, "-c", KILLED, when], cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "made.owner").is_dir()
    write_whole(tmp_path / "next", "text")
    assert sorted(os.listdir(tmp_path)) == [*left, "next"]
    assert [os.listdir(tmp_path / name) for name in left] == [["file"]] * len(left)


def test_a_release_is_not_published_again(inside):
    assert inside.ask("/api/publish?of=out").status == 400
    assert inside.post("/api/publish/start", {"of": "out", "method": "mondrian"}).status == 400


def test_from_a_table_to_a_folder_in_a_browser(chromium, own):
    session = Session(own, own / "hospital.csv", own / "policy.toml")
    with serving(session) as (base, keys):
        view = View(chromium, base)
        view.open(f"/?token={keys.token}")
        page = view.open("/publish")
        page.wait_for_selector("#method option", state="attached")
        page.click("#start")
        page.wait_for_selector("#cancel:not([hidden])")
        page.wait_for_selector("#folder-1", timeout=300_000)
        page.wait_for_selector("#compared td")
        limits = page.inner_text("#trials .limits")
        assert "What the verdicts do not cover:" in limits
        assert "an adversary who knows it may be surer" in limits
        assert "Who is in the table" not in limits
        page.click("#trials .limits summary")
        limits = page.inner_text("#trials .limits")
        assert all(sentence in limits for sentence in ASSUMPTIONS)
        page.fill("#folder-1", "finished")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Written to finished.")
        page.wait_for_selector("#sizes-b rect")
        assert view.said == []
        view.context.close()
    fk.verify(own / "finished")
