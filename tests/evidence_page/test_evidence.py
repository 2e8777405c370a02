"""Evidence of a release, and signatures: what the page says, and what is refused."""

import csv
import json
import os
import random
import re
import stat
import subprocess

import pyarrow as pa
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from tests.common import NIGHTLY
from tests.report.results import Reader

import foreknow as fk
from foreknow import sample
from foreknow.cli.entry import app
from foreknow.errors import SchemaError
from foreknow.report import render
from foreknow_judge.errors import CertificateError, DataError, InputError

pytestmark = pytest.mark.complete

POLICY = """[schema]
identifiers = ["name"]
quasi_identifiers = ["age", "town"]
sensitive = "illness"
hierarchies = { age = { intervals = [5, 10, 20] } }

[[require]]
facts = { l = 1, k = 1 }
below = 0.95

[[require]]
name = "gout stays hidden"
values = ["gout"]
implications = { k = 1 }
below = 0.5

[[require]]
k_anonymity = 5
"""


def people(seed=1, rows=200):
    draw = random.Random(seed)
    ages = [(draw.randint(20, 80), draw.choice(["Ulm", "Kiel"])) for _ in range(rows)]
    ills = draw.choices(["flu", "cold", "gout"], [5, 4, 1], k=rows)
    return [(f"p{i}", *ages[i], ills[i]) for i in range(rows)]


def write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("name", "age", "town", "illness"), *rows])


def keys(folder, name="key", kind=None):
    """A private and a public key."""
    private = kind or ed25519.Ed25519PrivateKey.generate()
    own, public = folder / f"{name}.pem", folder / f"{name}.pub"
    plain = pem.NoEncryption()
    own.write_bytes(private.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, plain))
    subject = pem.PublicFormat.SubjectPublicKeyInfo
    public.write_bytes(private.public_key().public_bytes(pem.Encoding.PEM, subject))
    return own, public


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A folder with a table, its policy, keys, and a signed release."""
    place = tmp_path_factory.mktemp("evidence")
    write(place / "table.csv", people())
    (place / "policy.toml").write_text(POLICY)
    own, _ = keys(place)
    keys(place, "other")
    publication = fk.publish(place / "table.csv", place / "policy.toml")
    publication.write(place / "out", key=own)
    return place


@pytest.fixture
def place(published, tmp_path, monkeypatch):
    """A copy of it to spoil."""
    subprocess.run(["cp", "-r", f"{published}/.", tmp_path], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


# ---- what it says ---------------------------------------------------------------------------


def test_same_people_before_and_after(tmp_path):
    """Who lacks a value of either column is in no release; k-anonymity counted them before."""
    rows = {"age": [20, 30, 30, 30, 40, 40, 40, 50, 50, 50]}
    rows |= {"ill": [*"aab", None, *"caab", None, "c"], "job": ["x", None, *"yxyxyxyy"]}
    policy = {
        "schema": {"quasi_identifiers": ["age"], "sensitive": ["ill", "job"], "missing": "drop"},
        "require": [
            {"k_anonymity": 3},
            {"l_diversity": {"l": 2}, "sensitive": "job", "knowing": []},
        ],
    }
    table = pa.table(rows)
    fk.publish(table, policy).write(tmp_path / "out")
    report = fk.evidence_report(tmp_path / "out", table, policy, queries=20)
    assert report.before.counts.n_people == report.audit.counts.n_people == 7
    assert [exposed.over.people for exposed in report.before.exposed] == [4, 2]


def test_exact_columns_single_out(tmp_path):
    """A pick in a group of a bucketized release was said to be right in 1 of 3 cases at most."""
    policy = {
        "schema": {"quasi_identifiers": ["age"], "sensitive": "ill"},
        "require": [{"facts": {}, "below": "1/2"}],
        "publish": {"form": "bucketized", "method": "anatomy", "anatomy": {"l": 3}},
    }
    table = pa.table({"age": [20, 20, 30, 40, 40, 50], "ill": [*"abcabc"]})
    fk.publish(table, policy).write(tmp_path / "out")
    report = fk.evidence_report(tmp_path / "out", table, policy, queries=20)
    page = Reader(render(report).html()).text
    assert "right for certain if the person is alone with them (2 people are)" in page
    assert "a chance of 0.667 (4 groups, 6 people)" in page
    assert "at most 0.334" not in page
    assert "by which as many are alone as before" in page


def test_learned_priors_stay_with_owner(published, tmp_path):
    policy = fk.Policy(
        [fk.Requirement(fk.Priors.learn(published / "table.csv", ["town"], "illness"), "0.95")],
        fk.Schema(quasi_identifiers=["age", "town"], sensitive="illness", identifiers=["name"]),
    )
    method = fk.ART(r="10/9", priors=policy.requirements[0].adversary)
    publication = fk.publish(published / "table.csv", policy, method=method)
    publication.write(tmp_path / "out")
    report = fk.evidence_report(tmp_path / "out")
    text = Reader(render(report).html()).text
    assert "it holds. The priors were learned from the table itself" in text
    assert "people by how sure" not in text
    (tmp_path / "out.owner" / "priors.json").rename(tmp_path / "elsewhere.json")
    with pytest.raises(CertificateError, match="kept with the owner"):
        fk.evidence_report(tmp_path / "out")
    fk.evidence_report(tmp_path / "out", priors=tmp_path / "elsewhere.json")


# ---- what it refuses ------------------------------------------------------------------------


def test_mismatched_inputs_are_refused(place):
    write(place / "other.csv", people(seed=2))
    write(place / "short.csv", people(rows=199))
    (place / "other.toml").write_text(POLICY.replace('"age", "town"', '"age"'))
    for kind, said, *given in (
        (DataError, "is not the table that 'out' was made of", "other.csv"),
        (DataError, "is not the table", "short.csv"),
        (SchemaError, "the certificate is for age, town", "table.csv", "other.toml"),
    ):
        with pytest.raises(kind, match=said):
            fk.evidence_report(place / "out", *given)
    text = (place / "out" / "release.csv").read_text()
    (place / "out" / "release.csv").write_text(text.replace("flu", "cold", 1))
    for call in (
        lambda: fk.evidence_report(place / "out"),
        lambda: fk.verify(
            place / "out", key=place / "key.pub"
        ),  # a signature is of the tables, too
    ):
        with pytest.raises(CertificateError, match="digest differs"):
            call()


def test_certificate_paths_are_never_read(tmp_path):
    rules = sample.policy_path()
    fk.publish(sample.table_path(), rules).write(tmp_path / "out")
    with pytest.raises(SchemaError, match="'marital' is in a file, and not in the certificate"):
        fk.evidence_report(tmp_path / "out", sample.table_path())
    assert fk.evidence_report(tmp_path / "out", sample.table_path(), rules, queries=10).same_source


def test_population_must_be_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "table.csv", people())
    write(tmp_path / "all.csv", people(seed=7, rows=2000))
    rule = '[[require]]\nk_map = { k = 20, population = "all.csv" }\n'
    rule += "[[require]]\nk_anonymity = 20\n"
    (tmp_path / "policy.toml").write_text(POLICY + rule)
    fk.publish("table.csv", "policy.toml").write("out")
    with pytest.raises(CertificateError, match="--population"):
        fk.evidence_report("out")
    (tmp_path / "all.csv").rename(tmp_path / "moved.csv")
    report = fk.evidence_report("out", population="moved.csv")
    assert [own.over.people for own in report.audit.exposed] == [0, 0, 0, 0, 0]


def test_source_is_unconfirmed_without_key(place):
    (place / "out.owner" / "owner.json").unlink()
    report = fk.evidence_report(place / "out", place / "table.csv", queries=20)
    assert report.before is not None
    assert not report.same_source
    assert "It was not compared with a table." in Reader(render(report).html()).text


def test_command_writes_the_owners_page(place):
    options = "--queries", 20, "--json", "e.json", "--key", "key.pem"
    done = run("evidence", "out", "table.csv", *options)
    assert done.exit_code == 0, done.output
    page = place / "out.evidence.html"
    assert os.name == "nt" or stat.S_IMODE(page.stat().st_mode) == 0o600
    assert (place / "out.evidence.html.sig").stat().st_size == 64
    assert "Signed in out.evidence.html.sig" in done.output
    assert json.loads((place / "e.json").read_text())["same_source"] is True
    done = run("verify", "out", "--key", "key.pub", "--evidence", page.name)
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert (
        "Signed by the owner of key.pub: certificate.json, out.evidence.html, report.html." in text
    )
    page.write_text(page.read_text().replace("200 people", "201 people", 1))
    done = run("verify", "out", "--key", "key.pub", "--evidence", page.name)
    assert isinstance(done.exception, CertificateError)


# ---- signatures -----------------------------------------------------------------------------


def test_every_changed_byte_is_refused(place):
    path = place / "out" / "certificate.json"
    whole, public = path.read_bytes(), place / "key.pub"
    assert fk.verify(place / "out", key=public).files == ("release.csv",)
    draw = random.Random(1)
    for at in draw.sample(range(len(whole)), 60 if NIGHTLY else 20):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :])
        with pytest.raises(CertificateError, match=r"is not what the owner of key\.pub signed"):
            fk.verify(place / "out", key=public)
    for spoiled in (whole + b" ", whole[:-1], whole + b"\n"):
        path.write_bytes(spoiled)
        with pytest.raises(CertificateError, match="signed"):
            fk.verify(place / "out", key=public)
    path.write_bytes(whole)
    with pytest.raises(CertificateError, match="signed with another key"):
        fk.verify(place / "out", key=place / "other.pub")
    signature = place / "out" / "certificate.json.sig"
    signed = signature.read_bytes()
    for at in range(0, 64, 13):
        signature.write_bytes(signed[:at] + bytes([signed[at] ^ 1]) + signed[at + 1 :])
        with pytest.raises(CertificateError, match="signed"):
            fk.verify(place / "out", key=public)


def test_signature_stands_for_report_too(place):
    report = place / "out" / "report.html"
    text = " ".join(run("verify", place / "out", "--key", place / "key.pub").output.split())
    assert "Signed by the owner of key.pub: certificate.json, report.html." in text
    whole = report.read_bytes()
    for spoiled in (whole + b" ", whole[:-1], whole.replace(b"safe", b"SAFE", 1), b""):
        report.write_bytes(spoiled)
        with pytest.raises(CertificateError, match=r"^report\.html is not the file"):
            fk.verify(place / "out", key=place / "key.pub")
    (place / "copy.html").write_bytes(whole)
    report.unlink()
    report.symlink_to(place / "copy.html")
    with pytest.raises(CertificateError, match=r"report\.html is a link"):
        fk.verify(place / "out")
    report.unlink()
    for key in (None, place / "key.pub"):
        with pytest.raises(CertificateError, match=r"^report\.html is missing, which was cert"):
            fk.verify(place / "out", key=key)
    output = run("verify", place / "out")
    assert output.exit_code
    assert "report.html is missing" in output.output


def test_report_digest_is_certified(place):
    path = place / "out" / "certificate.json"
    table = json.loads(path.read_text())
    assert table["version"] == 1
    for wrong in ("0" * 63, 7):
        path.write_text(json.dumps({**table, "report": wrong}))
        with pytest.raises(CertificateError, match="malformed: report"):
            fk.verify(place / "out")
    del table["report"]
    for text in ("anything", None):
        path.write_text(json.dumps(table))
        report = place / "out" / "report.html"
        report.unlink() if text is None else report.write_text(text)
        with pytest.raises(CertificateError, match="a report, and its digest is missing"):
            fk.verify(place / "out")


def test_invalid_signatures_are_refused(place):
    path = place / "out" / "certificate.json.sig"
    for content in (b"", b"x" * 63, b"x" * 65, b"x" * 10_000):
        path.write_bytes(content)
        with pytest.raises(CertificateError, match="is no Ed25519 signature"):
            fk.verify(place / "out", key=place / "key.pub")
    path.unlink()
    fk.verify(place / "out")  # without a key it need not be signed
    with pytest.raises(CertificateError, match=r"certificate\.json is not signed"):
        fk.verify(place / "out", key=place / "key.pub")


def wrong_keys(place):
    """Files that are no keys to sign with, and what is said of them."""
    keys(place, "curve", ec.generate_private_key(ec.SECP256R1()))
    locked = ed25519.Ed25519PrivateKey.generate().private_bytes(
        pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.BestAvailableEncryption(b"word")
    )
    (place / "locked.pem").write_bytes(locked)
    (place / "text.pem").write_text("my key")
    (place / "bytes.pem").write_bytes(b"\xff\xfe\x00")
    return {
        "curve.pem": r"is a key of \w+; only Ed25519",
        "locked.pem": "has a password",
        "text.pem": "is no private key in PEM form",
        "bytes.pem": "not UTF-8",
        "key.pub": "is a public key",
        "missing.pem": "does not exist",
    }


def test_wrong_keys_have_clear_errors(place):
    publication = fk.publish(place / "table.csv", place / "policy.toml")
    for name, wrong_key in wrong_keys(place).items():
        with pytest.raises(InputError, match=wrong_key):
            publication.write(place / "new", key=place / name)
        assert not (place / "new").exists()
        done = run("publish", "table.csv", "-p", "policy.toml", "-o", "new", "--key", name)
        assert re.search(wrong_key, str(done.exception))
    for name, wrong_key in {
        "curve.pub": r"is a key of \w+; only Ed25519",
        "key.pem": "is a private key; who signed keeps it",
        "text.pem": "is no public key in PEM form",
    }.items():
        with pytest.raises(InputError, match=wrong_key):
            fk.verify(place / "out", key=place / name)


def test_openssh_keys_work(place):
    private = ed25519.Ed25519PrivateKey.generate()
    plain = pem.NoEncryption()
    form = pem.PrivateFormat.OpenSSH
    (place / "id").write_bytes(private.private_bytes(pem.Encoding.PEM, form, plain))
    form = pem.PublicFormat.OpenSSH
    (place / "id.pub").write_bytes(private.public_key().public_bytes(pem.Encoding.OpenSSH, form))
    fk.publish(place / "table.csv", place / "policy.toml").write(place / "new", key=place / "id")
    fk.verify(place / "new", key=place / "id.pub")


# ---- guidances ------------------------------------------------------------------------------


def made(folder, form, rows=40):
    ages = [20 + i % 20 for i in range(rows)]
    table = pa.table({"age": ages, "illness": [list("abcd")[i % 4] for i in range(rows)]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="illness")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="3/4")], schema)
    fk.publish(fk.Microdata(table, schema), policy, form=form).write(folder / form)
    return fk.evidence_report(folder / form)
