"""Priors learned from the table are never published with it: they stay with the owner."""

import json
import shutil
import stat
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

import foreknow as fk
from foreknow.cli.entry import app

SEXES = ["other", "man", "woman"]
VALUES = ["flu", "cold", "hiv", "ulcer"]
ROWS = pa.table({  # one person of another sex, who has gout: the priors by sex say so for certain
    "sex": ["other", *["woman", "man"] * 20],
    "age": [50, *(20 + i % 9 for i in range(40))],
    "disease": ["gout", *(VALUES[i * i % 7 % 4] for i in range(40))],
})  # fmt: skip
SCHEMA = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")
OPTIONS = fk.PublishOptions(method="art", form="bucketized")
GIVEN = {"sex": [sex for sex in SEXES for _ in range(5)], "value": ["gout", *VALUES] * 3}


def given(*probabilities):
    return fk.Priors(pa.table({**GIVEN, "probability": [*probabilities, *["0.2"] * 10]}))


PUBLIC = given(*["0.2"] * 5)


def learned(smoothing=0):
    return fk.Priors.learn(ROWS, ["sex"], "disease", smoothing=smoothing)


def made(priors, **limit):
    policy = fk.Policy([fk.Requirement(priors, **(limit or {"at_most_times": 2}))])
    return fk.publish(fk.Microdata(ROWS, SCHEMA), policy, options=OPTIONS)


def from_file(folder, change=str):
    """Write learned priors as `foreknow priors` does, and give the file as any other."""
    path = folder / "statistics.csv"
    learned().tables[0].to_csv(path)
    path.write_text(change(path.read_text()))
    return fk.Priors(path)


def without_mark(text):
    return "\n".join(line.rpartition(",")[0] for line in text.splitlines()) + "\n"


def in_decimals(text, change=lambda chance: f"{chance:.4f}"):
    head, *rows = without_mark(text).splitlines()
    parts = [row.rpartition(",") for row in rows]
    return "\n".join([head, *(f"{own},{change(float(Fraction(p)))}" for own, _, p in parts)]) + "\n"


def pulled_to_the_middle(text):
    return in_decimals(text, lambda chance: f"{0.99 * chance + 0.002:.6f}")


WAYS = {
    "learned": lambda path: learned(),
    "learned with smoothing": lambda path: learned("1/10"),
    "a file of learned ones": from_file,
    "a file without its mark": lambda path: from_file(path, without_mark),
    "a file of rounded ones": lambda path: from_file(path, in_decimals),
    "pulled to the middle": lambda path: from_file(path, pulled_to_the_middle),
}


@pytest.mark.complete
@pytest.mark.parametrize("way", WAYS)
def test_published_files_hide_priors(way, tmp_path):
    publication = made(WAYS[way](tmp_path))
    publication.write(tmp_path / "out")
    files = {  # what the others may read
        path.name: path.read_text()
        for path in (tmp_path / "out").iterdir()
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    }
    papers = {"certificate.json", "datapackage.json", "report.html"}
    assert {*files} == {"people.csv", "sensitive.csv", *papers}
    certificate = json.loads(files["certificate.json"])
    assert {*tables_of(certificate)[0]} == {"attributes", "digest"}
    (finding,) = certificate["findings"]
    assert finding["safe"] is True
    said = {key for key, found in finding.items() if found is not None}
    assert not {"value", "group", "exact", "probability", "below"} & said
    for name in papers:
        text = "".join(files[name].split())
        for part in ('"rows":[', *(f'["{sex}"]' for sex in SEXES), *(f"sex{s}" for s in SEXES)):
            assert part not in text, name
    assert "kept with the owner" in files["report.html"]
    assert "Before and after" not in files["report.html"]
    assert "gout" not in json.dumps({**certificate, "scope": None})  # which lists values alone
    assert publication.to_dict()["findings"] == certificate["findings"]


def test_what_is_said_of_them(tmp_path):
    (note,) = [n for n in made(learned()).certificate.notes if "learned" in n]
    for said in ("by sex", "priors.json", "they state that person's value"):
        assert said in note
    # Priors that are public are published as they are.
    made(PUBLIC, at_most="9/10").write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert tables_of(certificate)[0]["rows"][0] == [["other"], ["1/5"] * 5]
    assert certificate["findings"][0]["value"] is not None
    assert not (tmp_path / "out" / "priors.json").exists()
    # One row of the table's own is enough.
    mixed = made(given("1", "0", "0", "0", "0"), at_most_times=4).certificate.policy
    assert {*tables_of({"policy": mixed})[0]} == {"attributes", "digest"}


# ---- verifying ---------------------------------------------------------------------------------


def verify(*arguments):
    """The exit code as the command line gives it, and all it says."""
    run = CliRunner().invoke(app, ["verify", *map(str, arguments)])
    if isinstance(run.exception, fk.InputError):
        return 2, str(run.exception)
    return run.exit_code, run.output


def tables_of(certificate):
    return certificate["policy"]["require"][0]["priors"]["tables"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with the release, and what its owner has of it."""
    place = tmp_path_factory.mktemp("written")
    made(learned()).write(place / "out")
    return place


@pytest.fixture
def folder(written, tmp_path):
    """A copy of it, for this test alone."""
    return Path(shutil.copytree(written, tmp_path, dirs_exist_ok=True)) / "out"


@pytest.fixture
def kept(folder):
    return folder.with_name("out.owner") / "priors.json"


def test_owners_file_verifies_them(folder, kept, tmp_path):
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    older = json.loads(kept.read_text())
    assert older["key"] not in (folder / "certificate.json").read_text()
    assert older.pop("this_file_is") == "for the owner only"
    assert verify(folder)[0] == 0
    kept.write_text(json.dumps({**older, "may_be_published": False}))
    for where in (kept, tmp_path / "elsewhere.json", folder / "priors.json"):
        place = [] if where != tmp_path / "elsewhere.json" else ["--priors", where]
        found = kept if where != folder / "priors.json" else tmp_path / "elsewhere.json"
        found.rename(where)
        code, said = verify(folder, *place)
        assert (code, "Verified" in said) == (0, True)
    assert "Keep priors.json to yourself" in said  # earlier versions wrote it into the folder


def test_without_file_nothing_is_verified(folder, kept):
    kept.unlink()
    code, said = verify(folder)
    assert (code, "Verified" in said) == (2, False)
    assert "--priors" in said
    assert "require[0]" in said
    policy = fk.Policy([fk.Requirement(PUBLIC, at_most=1)], SCHEMA)
    assert fk.verify(folder, policy).n_groups > 1  # by one's own policy
    with pytest.raises(fk.InputError, match="cannot be checked without the priors"):
        fk.verify(folder)
    with (folder / "people.csv").open("a") as file:
        file.write("man,20,1\n")
    code, said = verify(folder)
    assert code == 1
    assert "people.csv is not the file that was certified" in said


def test_exchanged_priors_are_refused(folder, kept):
    other = json.loads(kept.read_text())
    other["tables"][0]["rows"][0][1] = ["0", "1", "0", "0", "0"]
    kept.write_text(json.dumps(other))
    code, said = verify(folder)
    assert (code, "the file of priors is not what was certified" in said) == (2, True)
    # Equal priors have other digests in other releases: a key of the owner's is in them.
    again = tables_of({"policy": made(learned()).certificate.policy})[0]
    first = json.loads((folder / "certificate.json").read_text())
    assert tables_of(first)[0]["digest"] != again["digest"]
    for content in ("", "{}", "[]", '{"format": "foreknow priors"}', "[" * 10000):
        kept.write_text(content)
        code, said = verify(folder)
        assert (code, "priors.json" in said) == (2, True)


def first(certificate):
    return certificate["policy"]["require"][0]


FACTS = {"priors": None, "facts": {"l": 1}, "at_most_times": None, "below": "1"}
CHANGES = {
    "a limit that is broken": lambda c: first(c).update(at_most_times="1"),
    "another limit": lambda c: first(c).update(at_most_times="5"),
    "other columns": lambda c: tables_of(c)[0].update(attributes=["age"]),
    "another digest": lambda c: tables_of(c)[0].update(digest="0" * 64),
    "one more digest": lambda c: tables_of(c).append({"attributes": ["age"], "digest": "0" * 64}),
    "rows beside the digest": lambda c: tables_of(c)[0].update(rows=[], values=["flu"]),
    "another reading": lambda c: first(c)["priors"].update(semantics="binary"),
    "a finding with a worst case": lambda c: c["findings"][0].update(exact="1/9", value="flu"),
    "a finding of others": lambda c: c["findings"][0].update(judged={"facts": {"l": 9}}),
    "a finding that is unsafe": lambda c: c["findings"][0].update(safe=False),
    "no finding": lambda c: c.update(findings=[]),
    "an old version": lambda c: c.update(version=2),
    "fewer people": lambda c: c["release"].update(people=40),
    "nothing found of facts": lambda c: first(c).update(FACTS),
}


@pytest.mark.parametrize("change", CHANGES)
def test_certificate_that_says_something_else(folder, kept, change):
    certificate = json.loads((folder / "certificate.json").read_text())
    CHANGES[change](certificate)
    (folder / "certificate.json").write_text(json.dumps(certificate))
    for _ in ("with the file", "without it"):
        code, said = verify(folder)
        assert code in (1, 2)
        assert "Verified" not in said
        kept.unlink(missing_ok=True)
