"""What is verified is what was opened: nothing that happens to names meanwhile changes it."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.fuzz.test_certificates import at, places

import foreknow as fk
from foreknow.publishing import verification
from foreknow_judge import duckdb_files
from foreknow_judge import folder as release_folder
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError

WRITTEN = Path(__file__).parent / "certificates"
EVERY = sorted(path.name for path in WRITTEN.iterdir())
ONE = "facts-generalized-csv"


def edited(folder, change):
    path = folder / "certificate.json"
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))


def pointed(link, folder):
    """Let a link lead to another folder, at once."""
    link.with_name("new").symlink_to(folder)
    link.with_name("new").replace(link)


@pytest.mark.parametrize("descriptors", [True, False])
def test_a_folder_that_is_another_while_it_is_digested_is_not_verified(
    descriptors, tmp_path, monkeypatch
):
    """The safe folder has the digest of the unsafe one, which a link leads to for that moment."""
    safe, unsafe, link = (tmp_path / name for name in ("safe", "unsafe", "link"))
    for folder in (safe, unsafe):
        shutil.copytree(WRITTEN / ONE, folder)
    header, *rows = (unsafe / "release.csv").read_text().splitlines()
    rows = [row.rpartition(",")[0] + ",HIV" for row in rows]
    (unsafe / "release.csv").write_text("\n".join([header, *rows, ""]))
    forged = digest_of(unsafe / "release.csv")
    edited(safe, lambda table: table["release"]["files"].update({"release.csv": forged}))
    link.symlink_to(safe)

    def digest(path):
        pointed(link, unsafe)
        try:
            return digest_of(path)
        finally:
            pointed(link, safe)

    monkeypatch.setattr(release_folder, "digest_of", digest)
    if not descriptors:
        monkeypatch.setattr(duckdb_files, "_DESCRIPTORS", tmp_path / "none")
    with pytest.raises(CertificateError, match="digest differs"):
        fk.verify(link)


@pytest.mark.parametrize("name", EVERY)
def test_a_system_that_names_nothing_open_gets_private_copies(name, tmp_path, monkeypatch):
    monkeypatch.setattr(duckdb_files, "_DESCRIPTORS", tmp_path / "none")
    assert fk.verify(WRITTEN / name).people == 16


@pytest.mark.parametrize("name", EVERY)
def test_what_was_opened_stays_what_it_was(name, tmp_path):
    files = [path for path in (WRITTEN / name).iterdir() if path.suffix in (".csv", ".parquet")]
    folder = Path(shutil.copytree(WRITTEN / name, tmp_path / "out"))
    own = [folder / path.name for path in files]
    with duckdb_files.opened_once(own) as opened:
        for path in own:
            path.unlink()
            path.write_text("another")
        for path, file in zip(own, files, strict=True):
            assert (opened[path].name, digest_of(opened[path])) == (path.name, digest_of(file))
        places = [place.parent for place in opened.values()]
    assert not any(place.exists() for place in places)
    assert all(path.read_text() == "another" for path in own)


def test_parts_of_a_table_are_opened_once_as_well(tmp_path, monkeypatch):
    """As many as there are, though a process may have fewer files open."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = []
    for number in range(300):
        files.append(tmp_path / f"part-{number:05}.parquet")
        files[-1].write_text(str(number))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        with duckdb_files.opened_once(files) as opened:
            assert [path.read_text() for path in opened.values()] == list(map(str, range(300)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_is_read_of_a_signed_certificate_is_what_was_signed(tmp_path, monkeypatch):
    pytest.importorskip("cryptography")
    from tests.evidence_page.test_evidence import keys

    from foreknow.publishing.signature import Signer

    private, public = keys(tmp_path)
    folder = Path(shutil.copytree(WRITTEN / ONE, tmp_path / "out"))
    path = folder / "certificate.json"
    Signer(private).sign_file(path)
    signed = path.read_bytes()
    edited(folder, lambda table: table.update(notes=["Not what was signed"]))
    other = path.read_bytes()
    path.write_bytes(signed)
    check = verification.check_signature

    def checked(*given):
        path.write_bytes(signed)
        check(*given)
        path.write_bytes(other)

    monkeypatch.setattr(verification, "check_signature", checked)
    assert fk.verify(folder, key=public).claimed == ()


def test_an_owners_folder_that_is_somebody_elses_is_not_at_hand(tmp_path, monkeypatch):
    folder = Path(shutil.copytree(WRITTEN / ONE, tmp_path / "out"))
    ask = Path.is_file

    def is_file(path):
        if path.parent.name == "out.owner":
            raise PermissionError(13, "Permission denied", str(path))
        return ask(path)

    monkeypatch.setattr(Path, "is_file", is_file)
    assert fk.verify(folder).people == 16


# ---- no number of a certificate does harm -------------------------------------------------------

# What a number, a text or a list may be instead; more of them nightly.
NOTHING = [0, "0"]
ODD = [-1, 1, 2, 1e308, 1e-320, 10**18, "1/0", "", "x", None, True, [], {}]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A generalized release, and a bucketized one."""
    place, found = tmp_path_factory.mktemp("two"), {}
    rows = [
        {"name": i, "age": 20 + i % 6, "sex": "mf"[i % 2], "ill": f"d{i * i % 7 % 4}"}
        for i in range(240)
    ]
    for form, more in (
        ("generalized", [{"l_diversity": {"l": 2, "kind": "entropy"}}, {"k_anonymity": 2}]),
        ("bucketized", []),
    ):
        policy = fk.Policy.from_dict(
            {
                "schema": {
                    "identifiers": ["name"],
                    "quasi_identifiers": ["age", "sex"],
                    "sensitive": "ill",
                },
                "publish": {"form": form},
                "require": [{"facts": {"l": 1, "k": 1}, "below": 0.98}, *more],
            }
        )
        table = fk.Microdata(pa.Table.from_pylist(rows), policy.schema)
        found[form] = place / form
        fk.publish(table, policy, seed=1).write(found[form])
    return found


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize(
    "values", [NOTHING, pytest.param(ODD, marks=pytest.mark.slow)], ids=["nothing", "odd"]
)
def test_every_leaf_of_a_certificate_is_refused_or_changes_nothing_that_is_found(
    two, form, values, tmp_path
):
    folder = two[form]
    path = folder / "certificate.json"
    text, before = path.read_text(), fk.verify(folder)
    try:
        leaves = [
            place
            for place in places(json.loads(text))
            if place and not isinstance(at(json.loads(text), place), (dict, list))
        ]
        # By day every other one in each form, and one value.
        for number, place in enumerate(leaves):
            if not NIGHTLY and number % 2 == (form == "generalized"):
                continue
            for value in values if NIGHTLY else [values[number // 2 % len(values)]]:
                known = json.loads(text)
                at(known, place[:-1])[place[-1]] = value
                path.write_text(json.dumps(known))
                try:
                    found = fk.verify(folder)
                except fk.ForeknowError:
                    with pytest.raises(fk.ForeknowError):
                        fk.evidence_report(folder)
                    continue
                said = {"claimed": (), "claimed_scope": before.claimed_scope, "requirements": ()}
                assert replace(found, **said) == replace(before, **said), (place, value)
                fk.evidence_report(folder).to_html(tmp_path / "page.html")
    finally:
        path.write_text(text)


@pytest.mark.parametrize("name", [[], {}, None, 0, ["Decoy"]])
def test_a_method_without_a_name_is_no_fault_of_the_program(two, name):
    path = two["bucketized"] / "certificate.json"
    text = path.read_text()

    def change(known):
        known["method"]["name"] = name
        known["scope"]["method"] = "as required"

    edited(two["bucketized"], change)
    try:
        assert fk.verify(two["bucketized"]).claimed_scope.method == "as required"
        fk.evidence_report(two["bucketized"])
    finally:
        path.write_text(text)


def test_what_is_still_counted_when_the_process_ends_says_nothing(tmp_path):
    """An unclosed quote is an error at once, while the rest of the file is still counted."""
    folder = Path(shutil.copytree(WRITTEN / ONE, tmp_path / "out"))
    with (folder / "release.csv").open("a") as file:
        file.write('a,b,"' + 30_000_000 * "x\n")
    asked = [sys.executable, "-m", "foreknow", "verify", folder]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 2, done.stderr
