"""The verifier of priors on large groups, and on certificates that say what is not true."""

import json
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.releases_priors import priors_table, random_row
from tests.examples import examples
from tests.refusals import refused
from tests.test_verifier_priors import READINGS, SEEDS, judged, rule

import foreknow as fk
from foreknow.certificates import Certificate
from foreknow_judge import priors as verifier_priors
from foreknow_judge.errors import CertificateError
from foreknow_judge.verdicts import verdicts as verify
from foreknow_judge.written import Written

# ---- large groups --------------------------------------------------------------------------


@examples(30)
@given(SEEDS, st.integers(13, 30))
@pytest.mark.parametrize("reading", READINGS)
def test_groups_of_thirteen_and_more(reading, seed, size):
    random = Random(seed)
    kind = random.choice(["any", "tiny"])
    table = {(s,): random_row(random, "abc", kind) for s in "mf"}
    sexes, values = random.choices("mf", k=size), random.choices("abc", k=size)
    frame = pa.table({"gid": [1] * size, "sex": sexes, "disease": values})
    priors = fk.Priors(priors_table(table, ["sex"]), reading)
    release = fk.Release.from_groups(frame, group="gid", sensitive="disease")
    rows = {sex: row for (sex,), row in table.items()}
    _, _, found = judged([(Counter(sexes), Counter(values))], rows, set("abc"), reading)
    assert found == priors.disclosure(release).exact


@pytest.mark.parametrize("reading", READINGS)
def test_hundreds_of_people_in_one_group(reading):
    rows = {"m": {"a": "1/3", "b": "1/3"}, "f": {"a": "1/6", "b": "1/3"}}
    _, _, found = judged([({"m": 300, "f": 200}, {"a": 100, "b": 400})], rows, {"a"}, reading)
    sexes, values = ["m"] * 300 + ["f"] * 200, ["a"] * 100 + ["b"] * 400
    frame = pa.table({"gid": [1] * 500, "sex": sexes, "disease": values})
    release = fk.Release.from_groups(frame, group="gid", sensitive="disease")
    table = priors_table({(sex,): row for sex, row in rows.items()}, ["sex"])
    assert found == fk.Priors(table, reading).disclosure(release, "a").exact


def test_a_group_that_is_too_large_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(verifier_priors, "_MOST_STATES", 1000)
    row = {x: Fraction(i + 1, 100) for i, x in enumerate("abcdefgh")}
    table = {str(i): row for i in range(16)}
    with refused("too-large", CertificateError, what="a group with priors"):
        judged([(dict.fromkeys(table, 1), dict.fromkeys("abcdefgh", 2))], table, {"a"})


def test_values_that_nobody_asks_about_are_not_reckoned_with():
    table = {s: {x: Fraction(1, 10) for x in "ab"} for s in "mf"}
    groups = [({"m": 1, "f": 1}, {"a": 1, "b": 1})]
    assert judged(groups, table, set()) == (None, None, 0)
    assert judged(groups, table, {"c"}) == (None, None, 0)


# ---- lies ----------------------------------------------------------------------------------


class AsTold:
    """A method that groups rows as given."""

    def __init__(self, groups):
        self.groups = np.array(groups)

    def partition(self, microdata, policy=None, seed=None):
        return self.groups


PRIORS = priors_table(
    {
        ("m",): {"Flu": "0.3", "HIV": "0.1", "Gout": "0.2"},
        ("f",): {"Flu": "0.2", "HIV": "0.2", "Gout": "0.1"},
    },
    ["sex"],
)
TABLE = pa.table(
    {
        "sex": list("mfmfmf"),
        "age": [str(30 + i) for i in range(6)],
        "disease": ["Flu", "HIV", "Gout", "Gout", "Flu", "HIV"],
    }
)
SCHEMA = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")


def published(folder, form="bucketized", reading="joint", limit="9/10", file_format="csv"):
    policy = fk.Policy(
        [
            fk.Requirement(fk.Priors(PRIORS, reading), at_most=limit),
            fk.Requirement(fk.Facts(), "9/10"),
        ],
        SCHEMA,
        fk.PublishOptions(form=form, format=file_format),
    )
    made = fk.publish(fk.Microdata(TABLE, SCHEMA), policy, method=AsTold([0, 0, 0, 1, 1, 1]))
    made.write(folder)
    return made


@pytest.mark.thinned(2)
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
@pytest.mark.parametrize("reading", READINGS)
def test_a_true_certificate_is_confirmed_from_the_files_alone(tmp_path, reading, file_format):
    made = published(tmp_path / "out", reading=reading, file_format=file_format)
    known = Certificate.load(tmp_path / "out" / "certificate.json")
    assert known.check(tmp_path / "out") == []
    finding = known.findings[0]
    assert finding["at_most"] == "9/10"
    assert Fraction(finding["exact"]) == made.audit.verdicts[0].disclosure.exact
    assert finding["judged"]["priors"]["semantics"] == reading
    assert ["at_most" in f for f in known.findings] == [True, False]


def changed(folder, change):
    """The certificate of a folder with something changed, and what is wrong with it."""
    path = folder / "certificate.json"
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))
    try:
        return Certificate.load(path).check(folder)
    except CertificateError as error:
        return [str(error)]


def rows_of(table):
    return table["policy"]["require"][0]["priors"]["tables"][0]["rows"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t["findings"][0].update(exact="1/3"), "certified are 1/3 and 9/10"),
        (lambda t: t["findings"][0].update(exact="1/3"), "the worst probability is"),
        (lambda t: rows_of(t)[0].__setitem__(1, ["1/9"] * 3), "the worst probability is"),
        (lambda t: t["policy"]["require"][0].update(at_most="1/3"), "the limit is 1/3"),
        (lambda t: t["policy"]["require"][0]["priors"].update(semantics="binary"), ""),
    ],
)
def test_another_probability_limit_or_reading_and_other_priors_are_found(change, said, tmp_path):
    published(tmp_path / "out")
    found = changed(tmp_path / "out", change)
    assert said in found[0]
    assert len(found) == 1 or not said


def test_a_changed_table_of_people_is_found(tmp_path):
    published(tmp_path / "out")
    path = tmp_path / "out" / "people.csv"
    lines = path.read_text().splitlines()
    changed = [re.sub(r"\b[mf]\b", "m", line) for line in lines]
    path.write_text("\n".join(changed) + "\n")
    problems = Certificate.load(tmp_path / "out" / "certificate.json").check(tmp_path / "out")
    assert "digest differs" in problems[0]
    assert any("the worst probability is" in said for said in problems)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: rows.pop(), "no probability of '.*' for people with"),
        (lambda rows: rows[0].__setitem__(1, ["1/2"]), "3 probabilities from 0 to 1 in each row"),
        (lambda rows: rows[0].__setitem__(1, ["1/0"] * 3), r"tables\[0\]: '1/0' is not a number"),
        (lambda rows: rows[0].__setitem__(1, ["x"] * 3), r"tables\[0\]: 'x' is not a number"),
        (lambda rows: rows[0].__setitem__(1, ["-1", "1", "1"]), "from 0 to 1 in each row"),
        (lambda rows: rows[0].__setitem__(0, 5), r"rows\[0\]\[0\]: input should be a valid list"),
        (lambda rows: [row.__setitem__(1, ["0"] * 3) for row in rows], "allow no way to assign"),
    ],
)
def test_priors_of_a_certificate_that_are_none(tmp_path, change, says):
    published(tmp_path / "out")
    (said,) = changed(tmp_path / "out", lambda table: change(rows_of(table)))
    assert re.search(says, said)


@pytest.mark.parametrize(
    ("reading", "semantics", "code", "about"),
    [
        ("other", "single", "wrong-value", {"where": "priors"}),
        ("joint", "set", "one-value-only", {"key": "priors"}),
    ],
)
def test_what_priors_cannot_be_read_as(reading, semantics, code, about):
    tables = {
        "people": pa.table({"group": [1, 1], "sex": ["m", "f"]}),
        "sensitive": pa.table({"group": [1, 1], "disease": ["Flu", "HIV"], "count": [1, 1]}),
    }
    release = Written("bucketized", ("group",), "disease", tables, semantics=semantics)
    table = fk.Requirement(fk.Priors(PRIORS), "1/2").to_dict()
    table["priors"]["semantics"] = reading
    with refused(code, CertificateError, **about):
        verify(release, [table])


def test_the_column_of_groups_may_be_an_attribute():
    table = TABLE.append_column("ward", pa.array(list("xxxyyy")))
    rows = {
        (ward, sex): {"Flu": f"{i}/20", "HIV": f"{9 - i}/20", "Gout": "1/10"}
        for i, (ward, sex) in enumerate([("x", "m"), ("x", "f"), ("y", "m"), ("y", "f")])
    }
    priors = fk.Priors(priors_table(rows, ["ward", "sex"]))
    release = fk.Release.from_groups(table, group="ward", sensitive="disease")
    tables = {"release": table}
    (found,) = verify(Written("generalized", ("ward",), "disease", tables), [rule(priors)])
    assert found.reached == priors.disclosure(release).exact


def test_disarmed_texts_of_people_are_compared_as_they_were():
    tables = {
        "people": pa.table({"group": [1, 1], "sex": ["'=m", "f"]}),
        "sensitive": pa.table({"group": [1, 1], "disease": ["'+a", "b"], "count": [1, 1]}),
    }
    release = Written("bucketized", ("group",), "disease", tables, escaped=True)
    priors = priors_table(
        {("=m",): {"+a": "0.1", "b": "0.9"}, ("f",): {"+a": "0.003", "b": "0.997"}}, ["sex"]
    )
    (found,) = verify(release, [rule(fk.Priors(priors))])
    assert found.reached == Fraction(997, 1024)
    with pytest.raises(CertificateError, match=r"no probability of .* for people with '=m"):
        verify(replace(release, escaped=False), [rule(fk.Priors(priors))])
