"""Certificates: read back whole, refused when they are not one, checked against a release."""

import csv
import hashlib
import json
import re
import shutil
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.people import FORMS, made, short_report

import foreknow as fk
from foreknow.publishing.verification import write_certificate
from foreknow_judge import folder as release_folder
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError
from foreknow_judge.numbers import exact_text
from foreknow_judge.parquet_layout import write as write_parquet


@pytest.fixture(autouse=True)
def _short_report(monkeypatch):
    short_report(monkeypatch)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A small release with groups of two, s and t; one of them has one person more."""
    place = tmp_path_factory.mktemp("published") / "out"
    table = pa.table({"age": [1, 1, 2, 2, 3, 3, 3], "disease": list("ststst") + ["t"]})
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9", values=["t"], name="require[0]")])
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    exact = {"age": "exact"}
    with pytest.MonkeyPatch.context() as patch:
        short_report(patch)
        made(table=table, policy=policy, roles=roles, labels=exact).write(place)
    return place


@pytest.fixture
def folder(published, tmp_path):
    """A copy of it, for this test alone."""
    return Path(shutil.copytree(published.parent, tmp_path, dirs_exist_ok=True)) / "out"


def load(folder):
    return fk.Certificate.load(folder / "certificate.json")


def edit(folder, change):
    """Change the certificate's JSON."""
    path = folder / "certificate.json"
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))
    return fk.Certificate.load(path)


def edit_rows(folder, change, certify=False):
    """Change the rows of release.csv; with `certify` the digest too, as a forger would."""
    path = folder / "release.csv"
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *change(rows)])
    if certify:
        edit(folder, lambda t: t["release"]["files"].update({"release.csv": digest_of(path)}))


# ---- reading -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "fmt"), FORMS)
def test_what_is_loaded_is_what_was_written(form, fmt, tmp_path):
    certificate = made(form, fmt).write(tmp_path / "out")
    again = load(tmp_path / "out")
    assert again == certificate
    assert again.safe
    assert again.to_dict() == certificate.to_dict()
    write_certificate(again, tmp_path / "copy.json")
    assert (tmp_path / "copy.json").read_bytes() == (
        tmp_path / "out" / "certificate.json"
    ).read_bytes()


def test_a_certificate_says_what_was_required_and_found_and_with_which_versions(folder):
    table = json.loads((folder / "certificate.json").read_text())
    assert table["format"] == "foreknow certificate"
    assert table["version"] == 1
    assert table["safe"] is True
    assert table["policy"]["require"] == [
        {"values": ["t"], "facts": {"l": 0, "k": 0, "m": 0}, "below": "9/10"}
    ]
    assert table["release"]["people"] == 7
    assert table["release"]["n_groups"] == 3
    assert table["findings"][0]["exact"] == "2/3"
    assert table["findings"][0]["group"] == "3"
    assert {"foreknow", "python", "duckdb", "numpy", "pyarrow"} <= set(table["versions"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "line 1: not UTF-8"),
        (b"[]", "is not a foreknow certificate"),
        (b"null", "is not a foreknow certificate"),
        (b"{}", "is not a foreknow certificate"),
        (b'{"format": "foreknow audit", "version": 1}', "is not a foreknow certificate"),
        (
            b'{"format": "foreknow certificate", "version": 2}',
            "of version 2, which this program does not know",
        ),
        (b'{"format": "foreknow certificate", "version": 0}', "version 0"),
        (b'{"format": "foreknow certificate"}', "version None"),
        (b'{"format": "foreknow certificate", "version": 1}', "lacks 'safe'"),
    ],
)
def test_what_is_no_certificate_is_refused_with_its_name(content, said, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_bytes(content)
    with pytest.raises(CertificateError, match=said) as caught:
        fk.Certificate.load(path)
    assert "certificate.json" in str(caught.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    for path, said in ((tmp_path / "none.json", "does not exist"), (tmp_path, "Is a directory")):
        with pytest.raises(CertificateError, match=said):
            fk.Certificate.load(path)


def test_probabilities_of_very_many_digits_are_written_short_and_rounded_up():
    few, many = Fraction(2, 3), Fraction(10**400, 3 * 10**400 - 1)
    assert exact_text(few) == "2/3"
    assert exact_text(many) == "0." + "3" * 39 + "4"
    assert Fraction(exact_text(many)) >= many
    assert exact_text(1 - Fraction(1, 10**400)) == "1." + "0" * 40


PARTS = ["policy", "release", "method", "findings", "source", "seeded", "versions"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *[(lambda t, key=key: t.pop(key), f"lacks '{key}'") for key in PARTS],
        (lambda t: t["policy"].pop("require"), None),
        (lambda t: t.update(policy=[]), None),
        (lambda t: t["policy"].update(require=[]) or t.update(findings=[]), None),
        (lambda t: t["policy"]["require"][0].pop("below"), None),
        (lambda t: t["policy"]["require"][0].update(below="x"), None),
        (lambda t: t["findings"][0].pop("exact"), None),
        (lambda t: t["release"].update(files=[]), None),
        *[
            (
                lambda t, name=name: t["policy"]["require"][0]["facts"].update({name: -1}),
                "should be greater than or equal to 0",
            )
            for name in "lkm"
        ],
    ],
)
def test_a_malformed_certificate_is_a_certificate_error(change, said, folder):
    with pytest.raises(CertificateError, match=said):
        edit(folder, change).check(folder)


# ---- checking ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "fmt"), FORMS)
def test_an_untouched_release_has_no_problems_by_folder_or_file(form, fmt, tmp_path):
    certificate = made(form, fmt).write(tmp_path / "out")
    assert certificate.check(tmp_path / "out") == []
    assert certificate.check(str(tmp_path / "out")) == []
    for path in (tmp_path / "out").glob(f"*.{fmt}"):
        assert certificate.check(path) == []


def test_a_release_may_have_moved_and_been_renamed(folder, tmp_path):
    moved = tmp_path / "other name.csv"
    (folder / "release.csv").rename(moved)
    assert load(folder).check(moved) == []


def put(row, *cells):
    """Replace the first row like this one."""

    def change(rows):
        rows[rows.index(row)] = list(cells)
        return rows

    return change


def swap(rows):
    return put(["2", "t"], "2", "s")(put(["1", "s"], "1", "t")(rows))


def without(row):
    return lambda rows: [r for i, r in enumerate(rows) if i != rows.index(row)]


@pytest.mark.parametrize(
    ("change", "certify", "said"),
    [
        (swap, False, ["digest differs", r"require\[0\]: 't' in group 1 reaches 1, .* is 9/10"]),
        (put(["1", "s"], "1", "t"), True, ["reaches 1"]),
        (without(["3", "t"]), True, ["certified are 2/3", "certified are 7 in 3"]),
        (
            lambda rows: [["1 to 2" if a in "12" else a, x] for a, x in rows],
            True,
            ["the release has 7 people in 2 groups; certified are 7 in 3$"],
        ),
        # Rows in another order are another file, but as safe.
        (lambda rows: rows[::-1], False, ["digest differs"]),
        (put(["2", "s"], "2", ""), True, ["^a sensitive value is missing in group 2$"]),
    ],
)
def test_a_release_that_was_changed_is_found_even_with_a_forged_digest(
    change, certify, said, folder
):
    edit_rows(folder, change, certify)
    problems = load(folder).check(folder)
    assert len(problems) == len(said)
    for problem, part in zip(problems, said, strict=True):
        assert re.search(part, problem)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t["policy"]["require"][0].update(below="1"), "certified are 2/3 and 9/10"),
        (lambda t: t["policy"]["require"][0].update(below="1/2"), "reaches 2/3, the limit is 1/2"),
        (lambda t: t["findings"][0].update(exact="1/2"), "is 2/3 and .*certified are 1/2"),
        (lambda t: t["findings"][0].update(below="1"), "certified are 2/3 and 1"),
        (lambda t: t["policy"]["require"][0]["facts"].update(k=1), "reaches 1"),
        (
            lambda t: t["policy"]["require"][0].update(values=["s"]),
            "is 1/2 and .*certified are 2/3",
        ),
        (
            lambda t: t["policy"]["require"].append(t["policy"]["require"][0]),
            "2 points are judged, 1 are certified",
        ),
        (
            lambda t: (t["release"].update(people=8), t["source"].update(rows=8)),
            "certified are 8 in 3",
        ),
        (lambda t: t["release"].update(n_groups=4), "certified are 7 in 4"),
        (lambda t: t["release"]["files"].update({"release.csv": "0" * 64}), "digest differs"),
    ],
)
def test_a_certificate_that_was_tampered_with_is_found(change, said, folder):
    problems = edit(folder, change).check(folder)
    assert len(problems) == 1
    assert re.search(said, problems[0])


def test_a_file_that_changes_once_its_digest_was_taken_is_refused(folder, monkeypatch):
    """Its rows in another order are as safe, and not those that were certified."""

    def and_turned(path):
        found = digest_of(path)
        if path.read_bytes() == (folder / "release.csv").read_bytes():
            edit_rows(folder, lambda rows: rows[::-1], certify=False)
        return found

    monkeypatch.setattr(release_folder, "digest_of", and_turned)
    with pytest.raises(CertificateError, match="changed"):
        fk.verify(folder)


def publishing(**options):
    """A change of what a certificate says of how the release is made."""

    def change(table):
        table["grids"] = {"age": "by 10"}
        table["policy"]["publish"].update(options)

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t["scope"].update(method="frequencies"), "for the bucketized form"),
        (lambda t: t["scope"].update(method="at most 0"), "is a probability"),
        (lambda t: t["scope"].update(method="at most 3/2"), "is a probability"),
        (lambda t: t["scope"].update(left_out=7), "the rows of the source are"),
        (lambda t: t["source"].update(rows=5), "the rows of the source are"),
        (publishing(form="bucketized"), "form is 'bucketized' by policy.publish"),
        (publishing(format="parquet"), "format is 'parquet' by policy.publish"),
        (publishing(escape_formulas=True), "escape_formulas is True by policy.publish"),
        (publishing(delimiter=";"), "delimiter is ';' by policy.publish, and ',' by the release"),
        (publishing(labels={"age": "exact"}), "labels of 'age' are exact by policy.publish"),
        (publishing(labels=["age"]), "labels is no table"),
    ],
)
def test_a_certificate_that_contradicts_itself_is_refused(change, said, folder):
    with pytest.raises(CertificateError, match=said):
        edit(folder, change).check(folder)


@pytest.mark.parametrize("missing", ["people.csv", "sensitive.csv"])
def test_a_file_that_is_missing_is_named(missing, tmp_path):
    certificate = made("bucketized").write(tmp_path / "out")
    (tmp_path / "out" / missing).unlink()
    with pytest.raises(CertificateError, match=f"{missing} does not exist"):
        certificate.check(tmp_path / "out")


def test_a_bucketized_release_whose_people_changed_groups_is_refused(tmp_path):
    certificate = made("bucketized", "parquet").write(tmp_path / "out")
    path = tmp_path / "out" / "people.parquet"
    table = pq.read_table(path)
    groups = table["group"].to_pylist()
    groups[0] = groups[-1]
    at = table.column_names.index("group")
    changed = table.set_column(at, "group", pa.array(groups))
    write_parquet([changed], path)
    problems = certificate.check(tmp_path / "out")
    assert any("digest differs" in problem for problem in problems)
    assert any("do not match" in problem for problem in problems)


def test_a_certificate_of_what_was_never_written_cannot_be_checked(folder):
    with pytest.raises(CertificateError, match="was never written"):
        made().certificate.check(folder)


def test_a_repr_is_one_short_line(folder):
    assert repr(load(folder)) == "Certificate(safe: 7 people in 3 groups)"
    unsafe = edit(folder, lambda t: [t.update(safe=False), t["findings"][0].update(safe=False)])
    assert repr(unsafe) == "Certificate(UNSAFE: 7 people in 3 groups)"


def test_a_release_without_rows_is_refused(tmp_path):
    """By every criterion, and by the same sentence."""
    table = pa.table({"age": [1, 1, 2, 2], "ill": list("abab")})
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    kinds = [
        {"beta_likeness": {"beta": 9}},
        {"delta_disclosure": {"delta": 9}},
        {"l_diversity": {"l": 2, "c": 9, "kind": "recursive"}},
        {"k_anonymity": 1},
    ]
    for number, kind in enumerate(kinds):
        out = tmp_path / str(number)
        fk.publish(table, {"schema": schema, "require": [kind]}, seed=1).write(out)
        release = out / "release.csv"
        release.write_text(release.read_text().splitlines(keepends=True)[0])
        digest = hashlib.sha256(release.read_bytes()).hexdigest()
        edit(out, lambda said, digest=digest: said["release"].update(files={"release.csv": digest}))
        with pytest.raises(CertificateError, match="the release has no rows"):
            fk.verify(out)
