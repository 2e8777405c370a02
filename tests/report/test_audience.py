"""Who may see what is written: every page says it, and only the owner reads what is kept."""

import json
import os
import re
import stat

import pyarrow as pa
import pytest
from click.testing import CliRunner

import foreknow as fk
from foreknow.cli.entry import app

pytestmark = pytest.mark.complete

TABLE = "ward,age,sex,disease\n" + "".join(
    f"{i // 4},{20 + i // 4},{'fm'[i % 2]},{['flu', 'cold'][i // 2 % 2]}\n" for i in range(16)
)
POLICY = """[schema]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"
hierarchies = { age = { intervals = [10] } }

[[require]]
facts = { l = 0 }
below = 0.9
"""
BY = ("--policy", "policy.toml", "--group", "ward")
COMMANDS = {
    "audit": ("audit", "table.csv", *BY),
    "skyline": ("skyline", "table.csv", "-c", "0.95", *BY),
    "curves": ("curves", "table.csv", "--upto", "2", *BY),
    "survey": ("survey", "table.csv", "--policy", "policy.toml", "-k", "1"),
    "attack": ("attack", "table.csv", "--policy", "policy.toml", "--worlds", "20", "--seed", "1"),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    yield tmp_path
    os.umask(before)


def run(*arguments):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code in (0, 1), done.output


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def said(path):
    """What a page says of who may see it, as plain text."""
    (line,) = re.findall(r'<p class="audience.*?</p>', path.read_text(), re.DOTALL)
    return re.sub("<[^>]*>", "", line)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_writes_is_for_the_owner_and_says_so(place, command):
    for name in ("page.html", "found.json"):
        (place / name).write_text("readable by all before")
    run(*COMMANDS[command], "--html", "page.html", "--json", "found.json")
    assert said(place / "page.html").startswith("For the owner only: ")
    assert mode(place / "page.html") == 0o600
    assert json.loads((place / "found.json").read_text())["this_file_is"] == "for the owner only"
    assert mode(place / "found.json") == 0o600


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_what_publish_writes_is_readable_as_its_audience_has_it(place, method):
    run("publish", "table.csv", "-p", "policy.toml", "-o", "out", "--method", method)
    kept = ["lattice.html"] if method == "fulldomain" else []
    modes = {path.name: mode(path) for path in (place / "out").iterdir()}
    assert modes == dict.fromkeys(
        ["certificate.json", "datapackage.json", "release.csv", "report.html"], 0o644
    )
    modes = {path.name: mode(path) for path in (place / "out.owner").iterdir()}
    assert modes == dict.fromkeys([*kept, "members.parquet", "owner.json"], 0o600)
    assert (mode(place / "out"), mode(place / "out.owner")) == (0o755, 0o700)
    assert said(place / "out" / "report.html").startswith("This page may go out with the release")
    if method == "fulldomain":
        assert said(place / "out.owner" / "lattice.html").startswith("For the owner only: ")


def test_measures_and_learned_priors_are_for_the_owner(place):
    run("publish", "table.csv", "-p", "policy.toml", "-o", "out")
    call = ["utility", "out", "table.csv", "-p", "policy.toml", "--queries", "5"]
    run(*call, "--json", "found.json")
    assert mode(place / "found.json") == 0o600
    assert json.loads((place / "found.json").read_text())["this_file_is"] == "for the owner only"
    run("priors", "table.csv", "--by", "sex", "-s", "disease", "--out", "statistics.csv")
    assert mode(place / "statistics.csv") == 0o600


def test_the_report_of_a_release_shows_priors_that_are_public_and_an_audit_is_kept(place):
    frame = {
        "sex": list("fmfm"),
        "value": ["flu", "flu", "cold", "cold"],
        "probability": ["1/3", "1/4", "2/3", "3/4"],
    }
    policy = fk.Policy([fk.Requirement(fk.Priors(pa.table(frame)), at_most="9/10")])
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="disease")
    options = fk.PublishOptions(method="art", form="bucketized")
    made = fk.publish(fk.Microdata("table.csv", schema), policy, options=options)
    made.write("out")
    made.audit.to_html("audit.html")
    assert "Before and after the release" in (place / "out" / "report.html").read_text()
    assert said(place / "audit.html").startswith("For the owner only: ")
    assert mode(place / "audit.html") == 0o600
