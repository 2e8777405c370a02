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
ROWS = {
    # One person of another sex, who has gout: the priors by sex say so with certainty.
    "sex": ["other", *["woman", "man"] * 20],
    "age": [50, *(20 + i % 9 for i in range(40))],
    "disease": ["gout", *(VALUES[i * i % 7 % 4] for i in range(40))],
}
SCHEMA = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")
OPTIONS = fk.PublishOptions(method="art", form="bucketized")
GIVEN = {
    "sex": [sex for sex in SEXES for _ in range(5)],
    "value": ["gout", *VALUES] * 3,
    "probability": ["0.2"] * 15,
}


def learned(smoothing=0):
    return fk.Priors.learn(pa.table(ROWS), ["sex"], "disease", smoothing=smoothing)


def made(priors, **limit):
    policy = fk.Policy([fk.Requirement(priors, **(limit or {"at_most_times": 2}))])
    return fk.publish(fk.Microdata(pa.table(ROWS), SCHEMA), policy, options=OPTIONS)


def from_file(tmp_path, change=lambda text: text):
    """Write learned priors as `foreknow priors` does, and give the file as any other."""
    path = tmp_path / "statistics.csv"
    learned().tables[0].to_csv(path)
    path.write_text(change(path.read_text()))
    return fk.Priors(path)


def without_mark(text):
    return "\n".join(line.rpartition(",")[0] for line in text.splitlines()) + "\n"


def in_decimals(text):
    head, *rows = without_mark(text).splitlines()
    parts = [row.rpartition(",") for row in rows]
    return "\n".join([head, *(f"{a},{float(Fraction(b)):.4f}" for a, _, b in parts)]) + "\n"


def nearly(tmp_path, change):
    """Learned priors as a frame without a mark, each number changed a little."""
    rows = [
        {"sex": sex, "value": value, "probability": change(chance)}
        for (sex,), row in learned().tables[0].chances.items()
        for value, chance in zip(learned().tables[0].values, row, strict=True)
    ]
    return fk.Priors(pa.Table.from_pylist(rows))


WAYS = {
    "learned": lambda path: learned(),
    "learned with smoothing": lambda path: learned("1/10"),
    "a file of learned ones": from_file,
    "a file without its mark": lambda path: from_file(path, without_mark),
    "a file of rounded ones": lambda path: from_file(path, in_decimals),
    "pulled to the middle": lambda path: nearly(path, lambda p: f"{0.99 * float(p) + 0.002:.6f}"),
}


@pytest.fixture(params=WAYS)
def own(request, tmp_path):
    return WAYS[request.param](tmp_path)


def public(folder):
    """What may be published of a folder: each file that the others may read."""
    return {
        path.name: path.read_text()
        for path in folder.iterdir()
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    }


@pytest.mark.complete
def test_no_published_file_holds_a_row_of_them(own, tmp_path):
    publication = made(own)
    publication.write(tmp_path / "out")
    files = public(tmp_path / "out")
    papers = {"certificate.json", "datapackage.json", "report.html"}
    assert set(files) == {"people.csv", "sensitive.csv", *papers}
    certificate = json.loads(files["certificate.json"])
    (table,) = certificate["policy"]["require"][0]["priors"]["tables"]
    assert set(table) == {"attributes", "digest"}
    (finding,) = certificate["findings"]
    assert finding["safe"] is True
    assert not {"value", "group", "exact", "probability", "below"} & {
        key for key, found in finding.items() if found is not None
    }
    for name in papers:
        said = "".join(files[name].split())
        assert '"rows":[' not in said, name
        for sex in SEXES:
            assert f'["{sex}"]' not in said, name
            assert f"sex{sex}" not in said, name
    assert "kept with the owner" in files["report.html"]
    assert "Before and after" not in files["report.html"]
    assert "gout" not in json.dumps({**certificate, "scope": None})  # which lists values alone
    assert publication.to_dict()["findings"] == certificate["findings"]


def test_what_they_give_away_is_said_in_words(tmp_path):
    (note,) = [n for n in made(learned()).certificate.notes if "learned" in n]
    assert "by sex" in note
    assert "priors.json" in note
    assert "they state that person's value" in note


def test_priors_that_are_public_are_published_as_they_are(tmp_path):
    made(fk.Priors(pa.table(GIVEN)), at_most="9/10").write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    (table,) = certificate["policy"]["require"][0]["priors"]["tables"]
    assert table["rows"][0] == [["other"], ["1/5"] * 5]
    assert certificate["findings"][0]["value"] is not None
    assert not (tmp_path / "out" / "priors.json").exists()


def test_one_row_of_the_tables_own_is_enough(tmp_path):
    mixed = dict(GIVEN)
    mixed["probability"] = ["1", "0", "0", "0", "0", *["0.2"] * 10]
    publication = made(fk.Priors(pa.table(mixed)), at_most_times=4)
    (table,) = publication.certificate.policy["require"][0]["priors"]["tables"]
    assert set(table) == {"attributes", "digest"}


# ---- verifying ---------------------------------------------------------------------------------


def verify(*arguments):
    return CliRunner().invoke(app, ["verify", *map(str, arguments)])


def outcome(run):
    """Exit code as the command line gives it, and all it says."""
    if isinstance(run.exception, fk.InputError):
        return 2, str(run.exception)
    return run.exit_code, run.output


@pytest.fixture(scope="module")
def publication():
    return made(learned())


@pytest.fixture(scope="module")
def written(publication, tmp_path_factory):
    """A folder with the release, and what its owner has of it."""
    place = tmp_path_factory.mktemp("written")
    publication.write(place / "out")
    return place


@pytest.fixture
def folder(written, tmp_path):
    """A copy of it, for this test alone."""
    return Path(shutil.copytree(written, tmp_path, dirs_exist_ok=True)) / "out"


@pytest.fixture
def kept(folder):
    return folder.with_name("out.owner") / "priors.json"


def test_with_the_file_of_the_owner_or_named_a_release_is_verified(folder, kept, tmp_path):
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    code, said = outcome(verify(folder))
    assert (code, "Verified" in said) == (0, True)
    kept.rename(tmp_path / "elsewhere.json")
    code, said = outcome(verify(folder, "--priors", tmp_path / "elsewhere.json"))
    assert (code, "Verified" in said) == (0, True)
    # Earlier versions wrote it into the folder.
    (tmp_path / "elsewhere.json").rename(folder / "priors.json")
    code, said = outcome(verify(folder))
    assert (code, "Verified" in said) == (0, True)
    assert "Keep priors.json to yourself" in said


def test_an_older_file_is_read(folder, kept):
    older = json.loads(kept.read_text())
    assert older.pop("this_file_is") == "for the owner only"
    kept.write_text(json.dumps({**older, "may_be_published": False}))
    assert outcome(verify(folder))[0] == 0


def test_without_the_file_nothing_is_called_verified(folder, kept):
    kept.unlink()
    code, said = outcome(verify(folder))
    assert code == 2
    assert "Verified" not in said
    assert "--priors" in said
    assert "require[0]" in said


def test_what_is_wrong_besides_is_said_without_the_file_too(folder, kept):
    kept.unlink()
    with (folder / "people.csv").open("a") as file:
        file.write("man,20,1\n")
    code, said = outcome(verify(folder))
    assert code == 1
    assert "people.csv is not the file that was certified" in said


def test_other_priors_are_not_those_of_the_certificate(folder, kept, tmp_path):
    other = json.loads(kept.read_text())
    other["tables"][0]["rows"][0][1] = ["0", "1", "0", "0", "0"]
    kept.write_text(json.dumps(other))
    code, said = outcome(verify(folder))
    assert code == 2
    assert "the file of priors is not what was certified" in said


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": "foreknow priors"}', "[" * 10000])
def test_a_file_that_holds_no_priors_is_refused(folder, kept, content):
    kept.write_text(content)
    code, said = outcome(verify(folder))
    assert code == 2
    assert "priors.json" in said


def test_guesses_of_the_priors_cannot_be_tested(folder, kept):
    # Equal priors have other digests in other releases: a key that only the owner has is in them.
    again = made(learned())
    first = fk.Certificate.load(folder / "certificate.json")
    tables = [c.policy["require"][0]["priors"]["tables"][0] for c in (first, again.certificate)]
    assert tables[0]["digest"] != tables[1]["digest"]
    key = json.loads(kept.read_text())["key"]
    assert key not in (folder / "certificate.json").read_text()


def test_a_release_that_breaks_the_limit_is_found_with_the_file(folder):
    # The certificate asks for less than the release keeps: the priors make it fail.
    certificate = json.loads((folder / "certificate.json").read_text())
    certificate["policy"]["require"][0]["at_most_times"] = "1"
    (folder / "certificate.json").write_text(json.dumps(certificate))
    code, said = outcome(verify(folder))
    assert code == 1
    assert "Verified" not in said


CHANGES = {
    "another limit": lambda c: c["policy"]["require"][0].update(at_most_times="5"),
    "other columns": lambda c: tables_of(c)[0].update(attributes=["age"]),
    "another digest": lambda c: tables_of(c)[0].update(digest="0" * 64),
    "one more digest": lambda c: tables_of(c).append({"attributes": ["age"], "digest": "0" * 64}),
    "rows beside the digest": lambda c: tables_of(c)[0].update(rows=[], values=["flu"]),
    "another reading": lambda c: c["policy"]["require"][0]["priors"].update(semantics="binary"),
    "a finding with a worst case": lambda c: c["findings"][0].update(exact="1/9", value="flu"),
    "a finding of others": lambda c: c["findings"][0].update(judged={"facts": {"l": 9}}),
    "a finding that is unsafe": lambda c: c["findings"][0].update(safe=False),
    "no finding": lambda c: c.update(findings=[]),
    "an old version": lambda c: c.update(version=2),
    "fewer people": lambda c: c["release"].update(people=40),
    "nothing found of facts": lambda c: c["policy"]["require"][0].update(
        priors=None, facts={"l": 1}, at_most_times=None, below="1"
    ),
}


def tables_of(certificate):
    return certificate["policy"]["require"][0]["priors"]["tables"]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("at_hand", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_a_certificate_that_says_something_else_is_refused(folder, kept, change, at_hand):
    if not at_hand:
        kept.unlink()
    certificate = json.loads((folder / "certificate.json").read_text())
    CHANGES[change](certificate)
    (folder / "certificate.json").write_text(json.dumps(certificate))
    code, said = outcome(verify(folder))
    assert code in (1, 2)
    assert "Verified" not in said


def test_a_release_can_be_judged_by_ones_own_policy_without_the_file(folder, kept, tmp_path):
    kept.unlink()
    policy = fk.Policy([fk.Requirement(fk.Priors(pa.table(GIVEN)), at_most=1)], SCHEMA)
    assert fk.verify(folder, policy).n_groups > 1
    with pytest.raises(fk.InputError, match="cannot be checked without the priors"):
        fk.verify(folder)
