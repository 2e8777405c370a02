"""Certificates: read back whole, refused when they are not one, checked against a release."""

import copy
import hashlib
import json
import re
import shutil
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.common import refused
from tests.people import made
from tests.support import UNSUPPORTED

import foreknow as fk
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError, UnsupportedError
from foreknow_judge.files import release_folder
from foreknow_judge.files.written_release import read_population
from foreknow_judge.messages import MESSAGES
from foreknow_judge.numbers import exact_text
from foreknow_judge.output_lines import main

STORED = Path(__file__).parents[1] / "certificates"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A small release with groups of two, s and t; one of them has one person more."""
    place = tmp_path_factory.mktemp("published") / "out"
    table = pa.table({"age": [1, 1, 2, 2, 3, 3, 3], "disease": [*"stststt"]})
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9", values=["t"], name="require[0]")])
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    made(table=table, policy=policy, roles=roles, labels={"age": "exact"}).write(place)
    return place


@pytest.fixture
def folder(published, tmp_path):
    """A copy of it, for this test alone."""
    return Path(shutil.copytree(published, tmp_path / "out"))


def load(folder):
    return fk.Certificate.load(folder / "certificate.json")


DROP = object()


def changed(table, **values):
    """A copy of a table in which places such as policy__require__0__below have other values."""
    table = copy.deepcopy(table)
    for path, value in values.items():
        *above, last = (int(key) if key.isdigit() else key for key in path.split("__"))
        holder = table
        for key in above:
            holder = holder[key]
        if value is DROP:
            del holder[last]
        else:
            holder[last] = value
    return table


def forged(folder, **values):
    """The certificate of a folder with other values, which nobody wrote there."""
    path = folder / "certificate.json"
    table = changed(json.loads(path.read_text()), **values)
    return fk.Certificate.load(path, json.dumps(table).encode())


def edit(folder, **values):
    """Write such a certificate into the folder."""
    path = folder / "certificate.json"
    path.write_text(json.dumps(changed(json.loads(path.read_text()), **values)))


# ---- reading -----------------------------------------------------------------------------------


def test_what_a_certificate_says(published):
    table = json.loads((published / "certificate.json").read_text())
    assert (table["format"], table["version"]) == ("foreknow certificate", 1)
    assert table["safe"] is True
    assert table["policy"]["require"] == [
        {"values": ["t"], "facts": {"l": 0, "k": 0, "m": 0}, "below": "9/10"}
    ]
    assert (table["release"]["people"], table["release"]["n_groups"]) == (7, 3)
    assert (table["findings"][0]["exact"], table["findings"][0]["group"]) == ("2/3", "3")
    assert {"foreknow", "python", "duckdb", "numpy", "pyarrow"} <= set(table["versions"])
    assert repr(load(published)) == "Certificate(says what is required holds: 7 people in 3 groups)"
    unsafe = forged(published, safe=False, findings__0__safe=False)
    assert repr(unsafe) == "Certificate(says UNSAFE: 7 people in 3 groups)"


SAYS = b'{"format": "foreknow certificate", "version": '


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *((content, "is not JSON") for content in (b"", b"{")),
        (b"\xff\xfe", "line 1: not UTF-8"),
        *((content, "is not a foreknow certificate") for content in (b"[]", b"null", b"{}")),
        (b'{"format": "foreknow audit", "version": 1}', "is not a foreknow certificate"),
        (SAYS + b"2}", "of version 2, which this program does not know"),
        (SAYS + b"0}", "version 0"),
        (SAYS + b"1.0}", "of version 1.0, which"),
        (SAYS + b"true}", "of version True, which"),
        (b'{"format": "foreknow certificate"}', "version None"),
        (SAYS + b"1}", "lacks 'release.form'"),
    ],
)
def test_non_certificates_are_refused(content, message, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_bytes(content)
    with pytest.raises(CertificateError, match=message) as caught:
        fk.Certificate.load(path)
    assert "certificate.json" in str(caught.value)


def test_unreadable_files_are_refused(tmp_path):
    folder = "cannot be read: Is a directory"
    for path, said in ((tmp_path / "none.json", "does not exist"), (tmp_path, folder)):
        with pytest.raises(CertificateError, match=said):
            fk.Certificate.load(path)


def test_many_digits_round_up():
    few, many = Fraction(2, 3), Fraction(10**400, 3 * 10**400 - 1)
    assert exact_text(few) == "2/3"
    assert exact_text(many) == "0." + "3" * 39 + "4"
    assert Fraction(exact_text(many)) >= many
    assert exact_text(1 - Fraction(1, 10**400)) == "1." + "0" * 40


# ---- forgeries ---------------------------------------------------------------------------------

TWICE = [{"facts": dict.fromkeys("lkm", 0), "below": "9/10", "values": ["t"]}] * 2
RULE, FOUND = "policy__require__0__", "findings__0__"


def publishing(**options):
    """A change of what a certificate says of how the release is made."""
    options = {f"policy__publish__{key}": option for key, option in options.items()}
    return {"grids": {"age": "by 10"}, **options}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        # what is malformed, or contradicts itself
        *(
            ({key: DROP}, f"lacks '{key}'")
            for key in ("policy", "method", "findings", "source", "seeded", "versions")
        ),
        ({"release": DROP}, "lacks 'release.form'"),
        ({"policy__require": DROP}, None),
        ({"policy": []}, None),
        ({"policy__require": [], "findings": []}, None),
        ({RULE + "below": DROP}, None),
        ({RULE + "below": "x"}, None),
        ({FOUND + "exact": DROP}, None),
        ({"release__files": []}, None),
        *(({RULE + f"facts__{n}": -1}, "should be greater than or equal to 0") for n in "lkm"),
        ({"scope__method": "frequencies"}, "for the bucketized form"),
        ({"scope__method": "at most 0"}, "is a probability"),
        ({"scope__method": "at most 3/2"}, "is a probability"),
        ({"scope__left_out": 7}, "the rows of the source are"),
        ({"source__rows": 5}, "the rows of the source are"),
        *(({f"source__{key}": DROP}, f"lacks 'source.{key}'") for key in ("rows", "digest")),
        ({"source__who": "Ann"}, "unknown key 'source.who'"),
        *((publishing(**{key: "Ann"}), f"policy.publish.{key}: ") for key in ("who", "unlinked")),
        (publishing(unlinked=["x"]), "unlinked columns are sensitive"),
        (publishing(form="bucketized"), "form is 'bucketized' by policy.publish"),
        (publishing(format="parquet"), "format is 'parquet' by policy.publish"),
        (publishing(escape_formulas=True), "escape_formulas is True by policy.publish"),
        (publishing(delimiter=";"), "delimiter is ';' by policy.publish, and ',' by the release"),
        (publishing(labels={"age": "exact"}), "labels of 'age' are exact by policy.publish"),
        (publishing(labels=["age"]), "publish.labels: input should be a valid dictionary"),
        (publishing(round=[]), "publish.round: input should be a valid dictionary"),
    ],
)
def test_unknown_settings_are_refused(values, message, published):
    with pytest.raises(CertificateError, match=message):
        forged(published, **values).check(published)


@pytest.mark.parametrize(
    ("values", "code", "message"),
    [
        ({RULE + "below": "1"}, "other-figures", "certified are 2/3 and 9/10"),
        ({RULE + "below": "1/2"}, "not-safe", "reaches 2/3, the limit is 1/2"),
        ({FOUND + "exact": "1/2"}, "other-figures", "is 2/3 and .*certified are 1/2"),
        ({FOUND + "below": "1"}, "other-figures", "certified are 2/3 and 1"),
        ({RULE + "facts__k": 1}, "not-safe", "reaches 1"),
        ({RULE + "values": ["s"]}, "other-figures", "is 1/2 and .*certified are 2/3"),
        ({"policy__require": TWICE}, "other-figures", "2 points are judged, 1 are certified"),
        ({"release__people": 8, "source__rows": 8}, "other-figures", "certified are 8 in 3"),
        ({"release__n_groups": 4}, "other-figures", "certified are 7 in 4"),
        ({"release__files": {"release.csv": "0" * 64}}, "digest-differs", "digest differs"),
    ],
)
def test_other_figures_are_noticed(values, code, message, published):
    (problem,) = forged(published, **values).check(published)
    assert problem.code == code
    assert re.search(message, problem)


SURE = r"require\[0\]: 't' in group 1 reaches 1, .* is 9/10"


def put(*pairs):
    """Replace rows, as "1s", by others; or by none."""

    def change(rows):
        for row, instead in pairs:
            rows[rows.index(row)] = instead
        return [row for row in rows if row]

    return change


@pytest.mark.parametrize(
    ("change", "certify", "message"),
    [
        (put(("1s", "1t"), ("2t", "2s")), False, ["digest differs", SURE]),
        (put(("1s", "1t")), True, ["reaches 1"]),
        (put(("3t", None)), True, ["certified are 2/3", "certified are 7 in 3"]),
        (put(("2s", "1s"), ("2t", "1t")), True, ["7 people in 2 groups; certified are 7 in 3$"]),
        # Rows in another order are another file, but as safe.
        (lambda rows: rows[::-1], False, ["digest differs"]),
        (put(("2s", "2")), True, ["^a sensitive value is missing in group 2$"]),
        (lambda rows: [], True, ["^the release has no rows$"]),
    ],
)
def test_a_changed_release_is_found(change, certify, message, folder):
    edit_rows(folder, change)
    if certify:
        certified(folder)  # as a forger would
    problems = load(folder).check(folder)
    assert len(problems) == len(message)
    for problem, part in zip(problems, message, strict=True):
        assert re.search(part, problem)


def edit_rows(folder, change):
    """Change the rows of release.csv, given as texts such as "1s"."""
    path = folder / "release.csv"
    header, *rows = path.read_text().splitlines()
    rows = change([re.sub('[",]', "", row) for row in rows])
    path.write_text("\n".join([header, *(f"{row[0]},{row[1:]}" for row in rows), ""]))


def certified(folder):
    """Have the certificate name the file that is there."""
    digest = hashlib.sha256((folder / "release.csv").read_bytes()).hexdigest()
    edit(folder, release__files={"release.csv": digest})


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda folder: (folder / "more.csv").write_text("a"), "uncertified-file"),
        (lambda folder: (folder / "release.csv").write_text("a\n"), "digest-differs"),
        (lambda folder: edit(folder, release__n_groups=77), "other-figures"),
    ],
)
def test_each_problem_has_its_code(folder, capsys, change, code):
    change(folder)
    assert main([str(folder), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["verified"], document["headline"]) == (False, "Not verified")
    assert len(document["codes"]) == len(document["problems"]) > 0
    assert code in document["codes"]
    assert {*document["codes"]} <= MESSAGES.keys()


def test_files_changed_later_are_refused(folder, monkeypatch):
    """Its rows in another order are as safe, and not those that were certified."""

    def and_turned(path):
        result = digest_of(path)
        if path.read_bytes() == (folder / "release.csv").read_bytes():
            edit_rows(folder, lambda rows: rows[::-1])
        return result

    monkeypatch.setattr(release_folder, "digest_of", and_turned)
    with pytest.raises(CertificateError, match="changed"):
        fk.verify(folder)


def test_files_may_move_not_vanish(folder, tmp_path):
    (folder / "release.csv").rename(tmp_path / "other name.csv")
    assert load(folder).check(tmp_path / "other name.csv") == []
    for missing in ("people.csv", "sensitive.csv"):
        place = tmp_path / missing.partition(".")[0]
        certificate = made("bucketized").write(place)
        (place / missing).unlink()
        with refused("no-file", CertificateError):
            certificate.check(place)
    assert made(delimiter=";").write(tmp_path / "semicolons").check(tmp_path / "semicolons") == []
    with refused("nothing-certified", CertificateError):
        made().certificate.check(folder)


@pytest.mark.parametrize(
    "kind",
    [
        {"beta_likeness": {"beta": 9}},
        {"delta_disclosure": {"delta": 9}},
        {"l_diversity": {"l": 2, "c": 9, "kind": "recursive"}},
        {"k_anonymity": 1},
    ],
)
def test_release_without_rows_is_refused(kind, tmp_path):
    table = pa.table({"age": [1, 1, 2, 2], "ill": list("abab")})
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    fk.publish(table, {"schema": schema, "require": [kind]}, seed=1).write(tmp_path / "out")
    release = tmp_path / "out" / "release.csv"
    release.write_text(release.read_text().splitlines(keepends=True)[0])
    certified(tmp_path / "out")
    with pytest.raises(CertificateError, match="the release has no rows"):
        fk.verify(tmp_path / "out")


# ---- combinations that are refused -------------------------------------------------------------

ROWS = pa.table(
    {
        "age": [20, 21, 22, 23, 24, 25, 26, 27],
        "ill": list("abcdabcd"),
        "pay": list("xyzwwzyx"),
    }
)
ROLES = {"quasi_identifiers": ["age"], "sensitive": ["ill", "pay"]}
ONE = {"quasi_identifiers": ["age"], "sensitive": "ill"}
ILL, PAY = EACH = [
    {"sensitive": own, "facts": {}, "below": 1, "knowing": []} for own in ("ill", "pay")
]


def policy(schema, require, **publish):
    return {"schema": schema, "require": require, "publish": publish}


def by_priors(m):
    rows = [[[str(age)], ["1/4"] * 4] for age in range(20, 28)]
    tables = [{"attributes": ["age"], "values": [*"abcd"], "rows": rows}]
    return policy(ONE, [{"priors": {"tables": tables, "facts": {"m": m}}, "at_most_times": 3}])


def knowing(column):
    return policy(ROLES, [{**ILL, "knowing": column}, PAY], unlinked=["ill", "pay"])


SETS = {**ONE, "semantics": "set"}
SHARED = {**ROLES, "shared": {"by": "home", "values": ["pay"]}}
SHOWN = [{**one, "knowing": ["home_shown"]} for one in EACH]
LINKS = [{**one, "facts": {"m": 1}} for one in EACH]
RULE_ON_PAY = {"values": ["x"], "where": {"age": ["20"]}, "sensitive": "pay"}
RULED = {**ROLES, "impossible": [RULE_ON_PAY]}
CASES = {  # what is refused, and the way out
    "relative-links": (by_priors(1), by_priors(0)),
    "whole-after": None,  # tests/several_releases/test_after.py
    "bucketized-sets": (policy(SETS, [ILL], form="bucketized"), policy(SETS, [ILL])),
    "bucketized-shared": (policy(SHARED, SHOWN, form="bucketized"), policy(SHARED, SHOWN)),
    "shuffled-known": (knowing(["pay"]), knowing([])),
    "impossible-linked": (policy(RULED, LINKS), policy(RULED, EACH)),
    "priors-beside": None,  # tests/judge/test_priors.py
}


def test_each_combination_is_tried():
    assert [*CASES] == [*UNSUPPORTED]
    assert len({MESSAGES[code].way_out for code in UNSUPPORTED}) == len(UNSUPPORTED)


@pytest.mark.parametrize("code", [code for code, case in CASES.items() if case])
def test_refused_combinations_have_ways_out(code):
    wrong, right = CASES[code]
    with refused(code, fk.InputError):
        fk.Policy.of(wrong)
    assert fk.Policy.of(right).requirements


def test_no_certificate_says_a_combination(tmp_path):
    """What a publisher writes into a certificate is refused by the same code."""
    as_sets = dict.fromkeys(["policy__schema__semantics", "release__semantics"], "set")
    for code, given, values in (
        ("bucketized-sets", policy(ONE, [ILL], form="bucketized"), as_sets),
        ("shuffled-known", knowing([]), {RULE + "knowing": ["pay"]}),
    ):
        fk.publish(ROWS, given, seed=1).write(tmp_path / code)
        edit(tmp_path / code, **values)
        with refused(code, UnsupportedError):
            fk.verify(tmp_path / code)
    shutil.copytree(STORED / "priors-at-most-times-csv", tmp_path / "out")
    edit(tmp_path / "out", **{RULE + "priors__facts": {"l": 0, "k": 0, "m": 1}})
    with refused("relative-links", UnsupportedError):
        fk.verify(tmp_path / "out")


def test_release_of_everybody_is_refused(folder):
    edit(folder, cohort={})
    with refused("whole-after", UnsupportedError):
        fk.verify(folder)


# ---- populations: who is twice in one counts as more people than there are ---------------------

BY_TENS = {
    **ONE,
    "identifiers": ["id"],
    "hierarchies": {"age": {"intervals": [10]}},
}
PEOPLE = pd.DataFrame(
    {"id": [f"p{i}" for i in range(20)], "age": range(20, 40), "ill": ["flu", "cold"] * 10}
)
OTHERS = PEOPLE.assign(id=[f"q{i}" for i in range(20)])
CRITERIA = [
    {"k_map": {"k": 4}},
    {"population_risk": {"journalist": 0.25}},
    {"delta_presence": {"lowest": 0, "highest": 0.5}},
]


def of_population(criterion, path, schema=BY_TENS):
    ((key, own),) = criterion.items()
    require = [{"k_anonymity": 2}, {key: {**own, "population": str(path)}}]
    return fk.Policy.from_dict({"schema": schema, "require": require})


def register(path, *frames, columns=("id", "age")):
    table = pa.Table.from_pandas(pd.concat(frames)[list(columns)], preserve_index=False)
    (pq.write_table if path.suffix == ".parquet" else pa.csv.write_csv)(table, path)
    return path


@pytest.mark.parametrize("criterion", CRITERIA)
def test_repeated_people_in_registers(tmp_path, criterion):
    rules = of_population(criterion, register(tmp_path / "twice.csv", PEOPLE, PEOPLE))
    for judge in (fk.publish, fk.audit):
        with pytest.raises(fk.ForeknowError, match="'p0' in 2 rows, by id"):
            judge(PEOPLE, rules)


def test_registers_with_namesakes_are_taken(tmp_path):
    nameless = PEOPLE.assign(id=None)
    for name, columns in (("nameless", ["age"]), ("partly", ["id", "age"])):
        path = register(tmp_path / f"{name}.csv", PEOPLE, nameless, nameless, columns=columns)
        fk.publish(PEOPLE, of_population(CRITERIA[0], path), seed=1).write(tmp_path / name)
        fk.verify(tmp_path / name, population=path)
    people, others = (own.assign(name=[f"n{i}" for i in range(20)]) for own in (PEOPLE, OTHERS))
    path = register(tmp_path / "two.parquet", people, others, columns=["id", "name", "age"])
    schema = {**BY_TENS, "identifiers": ["id", "name"]}
    assert fk.publish(people, of_population(CRITERIA[0], path, schema), seed=1).audit.safe


def test_verifier_refuses_people_twice_too(tmp_path):
    once, twice = register(tmp_path / "once.csv", PEOPLE, OTHERS), tmp_path / "twice.csv"
    register(twice, PEOPLE, PEOPLE)
    fk.publish(PEOPLE, of_population(CRITERIA[0], once), seed=1).write(tmp_path / "out")
    rule = load(tmp_path / "out").policy["require"][1]["k_map"]
    assert read_population(twice, ["age"]).digest == rule["digest"]
    fk.verify(tmp_path / "out", population=once)
    with refused("person-twice"):
        fk.verify(tmp_path / "out", population=twice)
