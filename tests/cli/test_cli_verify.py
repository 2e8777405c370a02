"""verify: claims of a certificate are recomputed; what it does not account for is refused."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

import foreknow as fk
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError

WRITTEN = Path(__file__).parents[1] / "certificates"
ONE, TWO = "facts-generalized-csv", "facts-bucketized-csv"
POLICY = """[schema]
quasi_identifiers = ["sex", "age"]
sensitive = "disease"
other = ["note"]

[[require]]
knowing = []
facts = { l = 0, k = 1, m = 0 }
below = 0.9
"""


@pytest.fixture
def copied(desk):
    """Copy one of the releases that are stored with the tests."""

    def copy(name=ONE):
        return Path(shutil.copytree(WRITTEN / name, desk.folder / "out"))

    return copy


def edit(folder, change):
    """Change the certificate's JSON; what the change returns, if it is a text, is the new file."""
    path = folder / "certificate.json"
    table = json.loads(path.read_text())
    text = change(table)
    path.write_text(text if isinstance(text, str) else json.dumps(table))


def certified(path):
    """Certify a file as it is now, as a forger would."""
    edit(path.parent, lambda t: t["release"]["files"].update({path.name: digest_of(path)}))


def refused(desk, folder="out", *more):
    """The one refusal; no traceback, nothing verified, no control character, and no waiting."""
    start = time.process_time()
    code, out, err = desk.run("verify", folder, *more)
    assert (code in (1, 2), out) == (True, ""), (code, out, err)
    assert not set("\x1b\x07\u202e") & set(err)
    assert "Traceback" not in err
    assert time.process_time() - start < 10
    return " ".join(err.split())


@pytest.mark.parametrize("name", sorted(path.name for path in WRITTEN.iterdir()))
def test_what_was_stored_is_verified(name, desk, copied):
    out = desk.says("verify", copied(name))
    assert out.startswith("Verified: 16 people in ")
    verification = fk.verify(WRITTEN / name)
    assert verification.people == 16
    assert all(finding.safe for finding in verification.findings)
    assert repr(verification).startswith("Verification(")


NINE = {"facts": {"l": 9, "k": 9, "m": 9}}
DIGEST = "0" * 64


def unescaped(table):
    """Certify that formulas are not escaped, though they are."""
    table["release"]["escape_formulas"] = False
    table["policy"]["publish"]["escape_formulas"] = False


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t["findings"][0].update(judged=NINE), "the judged is"),
        (lambda t: t["findings"][0].update(group="nobody"), "the group is"),
        (lambda t: t["findings"][0].update(probability=0.25), "the probability is 0.5"),
        (lambda t: t["findings"][0].update(exact="1/3", below="1/2"), "certified are 1/3 and 1/2"),
        (lambda t: t["findings"][0].update(safe=False), "contradicts itself"),
        (lambda t: t["findings"].append(t["findings"][0]), "3 points are judged, 4 are"),
        (lambda t: t.update(safe=False), "contradicts itself"),
        (lambda t: t["release"].update(files={"../release.csv": DIGEST}), "no others"),
        (lambda t: t["release"].update(groups=["sex", "age"]), "groups of the release are by"),
        (lambda t: t["release"].update(sensitive="sex"), "the sensitive column of the release"),
        (lambda t: t["release"].update(semantics="set"), "semantics of the release are 'set'"),
        (lambda t: t["release"].update(escape_formulas=False), "escape_formulas is True by policy"),
        (unescaped, "the worst probability is"),
        (lambda t: t["policy"].pop("schema"), "lacks 'policy.schema'"),
        (lambda t: t["policy"]["schema"].update(other=[]), "a column 'note', which its policy"),
        (
            lambda t: t["policy"]["schema"].update(other=["note", "x"]),
            "exactly one column 'x'",
        ),
        (lambda t: t["policy"]["require"][0].update(values=["hiv"]), "the worst probability is"),
        (lambda t: t["policy"]["require"][1].update(facts={"L": 9}), "unknown key"),
        (lambda t: t["policy"]["require"][1].update(facts={"l": 1.0}), "valid integer"),
        (lambda t: t["policy"]["require"][1].update(below=5), "require[1]: below: a threshold"),
        (lambda t: t["policy"]["require"][1].update(below="1e-99999999"), "too small"),
        (lambda t: t.update(version=True), "is of version True"),
        (lambda t: json.dumps(t)[:-1] + ', "safe": true}', "the key 'safe' is given twice"),
        (lambda t: json.dumps(t)[:-1] + ', "x": ' + "[" * 10**6 + "]" * 10**6 + "}", "nested more"),
        (lambda t: '"' + '\\"' * 10**6, "is not JSON"),
        (lambda t: t.update(notes=["\ud800"]), "half a character"),
        (
            lambda t: json.dumps(t).replace('"people": 16', f'"people": {"1" * 5000}'),
            "a whole number has 5,000 digits",
        ),
        (lambda t: json.dumps(t).replace('"people": 16', '"people": NaN'), "no number of JSON"),
        (lambda t: json.dumps(t).replace("0.5,", "1e999,"), "1e999 is too large"),
        (lambda t: t.update({"\x1b[2Jx\nVerified": 1}), r"\x1b[2Jx\nVerified"),
    ],
)
def test_certificates_that_claim_otherwise(change, message, desk, copied):
    edit(copied(), change)
    assert message in refused(desk)


@pytest.mark.parametrize(
    ("name", "file", "change", "message"),
    [
        (ONE, "release.csv", ("name", "Ann"), "has a column 'name'"),
        (ONE, "release.csv", ("disease", "Flu"), "needs exactly one column 'disease'"),
        (TWO, "people.csv", ("diagnosis", "Flu"), "has a column 'diagnosis'"),
        (TWO, "sensitive.csv", ("name", "Ann"), "has a column 'name'"),
        (ONE, "release.csv", ("\x1b]0;owned\x07", "x"), r"\x1b]0;owned\x07"),
        (TWO, "sensitive.csv", lambda x: [a.replace(",1", ",١") for a in x], "has no count"),
    ],
)
def test_files_that_hold_more(name, file, change, message, desk, copied):
    path = copied(name) / file
    lines = path.read_bytes().decode().splitlines()
    if callable(change):
        lines = change(lines)
    else:
        lines = [f"{line},{change[place > 0]}" for place, line in enumerate(lines)]
    path.write_bytes("\n".join([*lines, ""]).encode())
    certified(path)
    assert message in refused(desk)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"age"', b'"\xff"'),
        (b'"age"', b'"' + b"a" * 200_000 + b'"'),
        (b"\n", b"\na,b,c,d,e\n"),
    ],
)
def test_files_that_cannot_be_read(old, new, desk, copied):
    path = copied() / "release.csv"
    path.write_bytes(path.read_bytes().replace(old, new, 1) if old else b"")
    certified(path)
    assert "the release cannot be read" in refused(desk)


def test_groups_apart_by_an_apostrophe(desk, copied):
    """Taking the mark off would make one harmless group of two."""
    path = copied() / "release.csv"
    text = path.read_text().replace('"20 to 29"', '"=1"').replace('"32 to 41"', '"\'=1"')
    path.write_text(text)
    certified(path)
    assert "'=1' is a formula, and formulas are certified as escaped" in refused(desk)


@pytest.mark.parametrize(
    "name",
    [
        "release.parquet", "RELEASE.CSV.bak", "people.json", "hiv.csv", "hiv.tsv.gz", "a.txt",
        "all.pq", "data/hiv.csv", "a/b/c/release", "x.zip", "release.csv~", "r.csv\n", "y.csv ",
        "q.csv\u200b", "data", "table.json", "data.geojson", "dump.html", "release.md",
        "a/report.html", "README.md\u200b",
    ],
)  # fmt: skip
def test_files_that_may_be_data(name, desk, copied):
    path = copied() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("disease\nHIV\n")
    why = "lies beside the release, is no document such as README.md, and is not certified"
    text = f"{name!r} {why}"
    assert text.replace("\\", "") in refused(desk).replace("\\", "")


@pytest.mark.parametrize(
    "name", ["README", "LICENSE", "codebook.pdf", ".DS_Store", "docs/a.md", "certificate.json.sig"]
)
def test_documents_are_not_judged(name, desk, copied):
    path = copied() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("disease\nHIV\n")
    text = desk.says("verify", "out")
    assert f"In the same folder, and not judged: {Path(name).parts[0]}" in text


def test_what_is_no_certificate(desk, copied):
    copied()
    assert "nothere does not exist" in refused(desk, "out", "nothere")
    (desk.folder / "alone.csv").write_text("age\n1\n")
    message = refused(desk, desk.folder / "alone.csv")
    assert "is not JSON" in message
    assert "give the folder of a release, or its certificate.json" in message
    assert "--priors: the certificate" in refused(desk, "out", "--priors", "nothere.json")


@pytest.mark.parametrize("name", [ONE, TWO])
def test_what_is_no_file(name, desk, copied):
    folder = copied(name)
    (folder / "other.bin").write_text("x" * 100)
    code, out, err = desk.run("verify", folder, folder / "other.bin", "-q")
    assert (code in (1, 2), out) == (True, "")
    assert name == ONE or "is no file of the release that certificate.json names" in err
    (folder / "other.bin").unlink()
    os.mkfifo(folder / "pipe")
    message = refused(desk, folder, folder / "pipe", "-q")
    assert "is no file of the release that certificate.json names" in message
    (folder / "pipe").unlink()
    path = next(folder.glob("*e*.csv"))
    path.rename(desk.folder / "unsafe.csv")
    path.symlink_to(desk.folder / "unsafe.csv")
    assert f"{path.name} is a link" in refused(desk)


# ---- a policy of one's own ---------------------------------------------------------------------


# ---- policies ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (".".join("a" * 20_000) + " = 1", "a key has more than 16 parts"),
        ('x = ["""a"""", {' + ".".join("a" * 20_000) + " = 1}]", "a key has more than 16 parts"),
        ("a = " + "[" * 10_000 + "]" * 10_000, "nested more than 32"),
        ("a = " + "1" * 5000, "a whole number has too many digits"),
        ("a = 0x" + "f" * 5000, "more than 4,000 digits"),
        ("a = '" + "a" * 10**6 + "'", "more than 100,000 characters"),
        ("a = '\x1b[2J'", "not valid TOML"),
        ("'" + "a" * 90_000 + "' = 1", "unknown key"),
        ('"\\u001b[2Jb\\u202e" = 1', "unknown key"),
        (0.9, "0." + "3" * 10**6),
        (0.9, "1e-99999999"),
    ],
)
def test_policies_beyond_all_bounds(more, message, desk):
    limit = message if more == 0.9 else "0.9"
    policy = POLICY.replace("0.9", limit)
    desk.put("policy.toml", policy if more == 0.9 else f"{more}\n{policy}")
    start = time.process_time()
    refusal = desk.refused(*desk.audit())
    assert more == 0.9 or message in refusal
    assert not set("\x1b\x07\u202e") & set(refusal)
    assert len(refusal) < 4000
    assert time.process_time() - start < 10


def test_a_policy_of_ones_own(desk, copied):
    folder = copied()
    desk.put("own.toml", POLICY)
    text = desk.says("verify", folder, "--policy", "own.toml")
    assert "every requirement of your policy on disease holds" in text
    assert "against facts l = 0, k = 1, m = 0: at most" in text
    assert "were not run" not in text
    desk.put("my tries.toml", POLICY + '[[try]]\nlearned = { by = ["age"] }\nstop = 0.01\n')
    _, out, _ = desk.run("verify", folder, "--policy", "my tries.toml")
    text, command = out.splitlines()[-1].split("; to run them: ")
    assert text == "The trials of my tries.toml were not run"
    assert command == f"foreknow learned {folder} TABLE --policy 'my tries.toml'"
    verification = fk.verify(folder, policy="own.toml")
    assert (verification.own_policy, len(verification.findings)) == (True, 1)
    desk.put("strict.toml", POLICY.replace("0.9", "0.4"))
    assert "the limit is 2/5" in refused(desk, "out", "--policy", "strict.toml")
    with pytest.raises(CertificateError, match="the limit is 2/5"):
        fk.verify(folder, fk.Policy.load("strict.toml"))
