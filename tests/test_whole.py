"""One file for all: a release that holds earlier groups as they were written, and new people."""

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.cli.desk import Desk
from tests.examples import NIGHTLY
from tests.test_after import policy, register

import foreknow as fk
from foreknow.publishing.verification import write_certificate
from foreknow_judge.errors import CertificateError, UnsupportedError
from foreknow_judge.file_names import CERTIFICATE


def richer(first, last):
    """The register with an income, and a job that begins like a formula."""
    table = register(first, last)
    numbers = [int(name[1:]) for name in table.column("pid").to_pylist()]
    table = table.append_column("income", [[f"{n % 4 + 1}0000" for n in numbers]])
    return table.append_column("job", [["=cook" if n % 2 else "nurse" for n in numbers]])


def of_sets(first, last):
    """The register with a set of illnesses for each person."""
    table = register(first, last)
    ills = [[ill] * (i % 3 > 0) for i, ill in enumerate(table.column("ill").to_pylist())]
    return table.set_column(3, "ill", pa.array(ills, pa.list_(pa.string())))


LOOSE = fk.Requirement(fk.Facts(1, 1), below=0.95)
KINDS = {
    "generalized": (register, policy(), {"form": "generalized"}),
    "bucketized": (register, policy(), {"form": "bucketized"}),
    "parquet": (register, policy(), {"form": "bucketized", "format": "parquet"}),
    "criteria": (register, policy(fk.Requirement(fk.KAnonymity(3)), LOOSE), {}),
    "sets": (of_sets, policy(LOOSE, semantics="set"), {"form": "generalized"}),
    "sets in buckets": (of_sets, policy(LOOSE, semantics="set"), {"form": "bucketized"}),
    "other": (
        richer,
        policy(fk.Requirement(fk.Facts(1, 1), below=0.95, knowing=[]), other=["job"]),
        {"escape_formulas": True},
    ),
    "shuffled": (
        richer,
        policy(
            *(fk.Requirement(fk.Facts(1), below=0.95, sensitive=of) for of in ("ill", "income")),
            sensitive=["ill", "income"],
        ),
        {"unlinked": ["income"]},
    ),
    "apart": (
        richer,
        policy(
            *(fk.Requirement(fk.Facts(1), below=0.95, sensitive=of) for of in ("ill", "income")),
            sensitive=["ill", "income"],
        ),
        {"unlinked": ["income"], "form": "bucketized"},
    ),
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "kind", [pytest.param("generalized", marks=pytest.mark.complete), *[*KINDS][1:]]
)
def test_one_file_has_all_groups_as_they_were_written(kind, tmp_path):
    table, rules, how = KINDS[kind]
    january, march = tmp_path / "january", tmp_path / "march"
    first = fk.publish(table(0, 300), rules, seed=1, **how)
    first.write(january)
    made = fk.publish(table(100, 420), rules, after=january, whole=True, seed=1, **how)
    made.write(march)
    assert (made.since.new, made.counts.n_people, made.certificate.newcomers) == (120, 420, 120)
    assert [v.reached for v in made.audit.verdicts] == [v.reached for v in made.together.verdicts]
    # The rows of january are there, as they were.
    name = "release" if "release" in made.tables else "people"
    ours = made.to_arrow(name).filter(pc.equal(made.to_arrow(name).column("cohort"), "1"))
    rows = ours.drop_columns(["cohort"]).to_pylist()
    before = first.to_arrow(name).select(ours.column_names[1:]).to_pylist()
    as_text = [[Counter(map(str, row.values())) for row in each] for each in (rows, before)]
    assert as_text[0] == as_text[1]
    if kind == "generalized":
        said = "Published after one earlier release of 300 people"
        assert said in (march / "report.html").read_text()
    assert fk.verify(march).people == 420
    assert fk.audit(march, rules).safe
    # It counts once beside the release that it copies, and neither crosses the other.
    both = fk.together([january, march])
    assert (both.unsettled, both.counts.n_people) == (None, 420)
    assert both.counts.n_groups == made.counts.n_groups
    assert fk.verify(march, after=january).people_of_all == 420
    both_ways = (False, True) if NIGHTLY else ([*KINDS].index(kind) % 2 == 0,)
    for whole in both_ways:
        after = [march, january] if whole else [january, march]
        last = fk.publish(table(0, 500), rules, after=after, whole=whole, seed=1, **how)
        assert last.since.new == 80
        assert last.together.counts.n_people == 500
        last.write(tmp_path / f"may {whole}")
        found = fk.verify(tmp_path / f"may {whole}", after=[january, march])
        assert found.people_of_all == 500
        assert dict(found.after) == {"january": 300, "march": 120}
        assert fk.together([january, march, tmp_path / f"may {whole}"]).counts.n_people == 500
        if whole:
            assert last.certificate.cohort == "cohort"
            assert len(last.groups) == last.together.counts.n_groups


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A folder with a release of 300 people, and what its owner has of it."""
    place = tmp_path_factory.mktemp("published")
    fk.publish(register(0, 300), policy(), seed=1).write(place / "january")
    return place


@pytest.fixture
def january(published, tmp_path):
    """A copy of it, for this test alone."""
    return Path(shutil.copytree(published, tmp_path, dirs_exist_ok=True)) / "january"


def test_whose_names_the_owner_has_are_those_of_new_people(january, tmp_path):
    made = fk.publish(register(100, 420), policy(), after=january, whole=True, seed=1)
    made.write(tmp_path / "march")
    named = fk.named_release(tmp_path / "march").members
    assert sorted(named.names) == sorted(f"p{i}" for i in range(300, 420))
    fk.forget(tmp_path / "march", "p350")
    fk.forget(january, "p7")
    both = [january, tmp_path / "march"]
    assert fk.publish(register(0, 500), policy(), after=both).since.new == 80
    with pytest.raises(fk.InputError, match="name all of these, too"):
        fk.together([tmp_path / "march", tmp_path / "march"])
    with pytest.raises(fk.InputError, match="name that, too"):
        fk.publish(register(0, 500), policy(), after=tmp_path / "march")


def test_a_copy_that_is_no_copy_is_found(january, tmp_path):
    """The publisher moved a value of an earlier group, and certified what came of it."""
    made = fk.publish(register(0, 420), policy(), after=january, whole=True, seed=1)
    rows = made.tables["release"].to_pylist()
    one = next(i for i, row in enumerate(rows) if row["ill"] == "Flu")
    other = next(
        i for i, row in enumerate(rows) if row["age"] != rows[one]["age"] and row["ill"] == "Cold"
    )
    assert rows[one]["cohort"] == rows[other]["cohort"] == "1"
    rows[one]["ill"], rows[other]["ill"] = "Cold", "Flu"
    changed = pa.Table.from_pylist(rows, schema=made.tables["release"].schema)
    forged = certified_again(made, changed)
    forged.write(tmp_path / "march")
    fk.verify(tmp_path / "march")
    with pytest.raises(CertificateError, match="does not have the groups of january"):
        fk.verify(tmp_path / "march", after=january)


def test_a_certificate_that_contradicts_its_cohorts_is_refused(january, tmp_path):
    made = fk.publish(register(0, 420), policy(), after=january, whole=True, seed=1)
    for said in (
        {"cohort": "age"},
        {"cohort": ""},
        {"after": ()},
        {"after": ({**made.certificate.after[0], "people": 420},)},
    ):
        with pytest.raises(CertificateError, match="contradicts itself"):
            write_certificate(replace(made.certificate, **said), tmp_path / "certificate.json")


def test_what_cannot_be_one_file_is_refused_with_a_way_out(january):
    def again(rules=None, **how):
        return fk.publish(
            register(0, 420), rules or policy(), after=january, whole=True, seed=1, **how
        )

    with pytest.raises(fk.InputError, match="whole is for a release after others"):
        fk.publish(register(0, 300), policy(), whole=True)
    with pytest.raises(UnsupportedError, match="by other labels"):
        again(labels={"age": "exact"})
    with pytest.raises(UnsupportedError, match="by other hierarchies"):
        again(policy(hierarchies={"age": fk.Intervals([10])}))
    with pytest.raises(UnsupportedError, match="differ in"):
        again(form="bucketized")
    jobs = policy(LOOSE, quasi_identifiers=["age"])
    with pytest.raises(UnsupportedError, match="differ in the columns that make groups"):
        again(jobs)


def test_the_command_line_writes_the_whole(january, tmp_path, monkeypatch, capsys):
    desk = Desk(tmp_path, monkeypatch, capsys)
    place = tmp_path / "table.parquet"
    pq.write_table(register(0, 420), place)
    rules = tmp_path / "policy.toml"
    rules.write_text(
        '[schema]\nidentifiers = ["pid"]\nquasi_identifiers = ["age", "sex"]\nsensitive = "ill"\n'
        "[[require]]\nfacts = { l = 1, k = 1 }\nbelow = 0.8\n"
    )
    out = str(tmp_path / "march")
    given = ["--policy", str(rules), "--out", out, "--after", str(january)]
    said = desk.says("publish", place, *given[:3], f"{out} of new people", *given[4:])
    headlines = re.findall(r"(\S+) (\d+) people in \d+ groups", said)
    assert headlines == [("release", "120"), ("together:", "420")]
    given.append("--whole")
    said = desk.says("publish", place, *given)
    assert "Written is a release of all of them, 420 people." in said
    headlines = re.findall(r"(\S+) (\d+) people in \d+ groups", said)
    assert headlines == [("release", "420"), ("together:", "420")]
    said = json.loads((tmp_path / "march" / CERTIFICATE).read_text())
    assert said["cohort"] == "cohort"
    assert "420 people" in desk.says("verify", out, "--after", january)


def test_values_that_were_escaped_are_the_same_values_in_all_releases(tmp_path):
    """An apostrophe before what looks like a formula is no part of the value."""
    rules = policy(fk.Requirement(fk.Facts(1), below=0.8, values=["=HIV"]))
    table, how = register(0, 420, ills=["=HIV", "Flu", "Cold"]), {"escape_formulas": True}
    fk.publish(table.slice(0, 300), rules, seed=1, **how).write(tmp_path / "january")
    made = fk.publish(table, rules, after=tmp_path / "january", seed=1, **how)
    assert {*made.together.counts.values} == {"=HIV", "Flu", "Cold"}
    made.write(tmp_path / "march")
    both = fk.together([tmp_path / "january", tmp_path / "march"])
    assert {*both.counts.values} == {"=HIV", "Flu", "Cold"}


def certified_again(made, table, **said):
    """A publication of another table, whose publisher certifies what is found of it."""
    release = fk.Release.from_generalized(
        table, quasi_identifiers=made.certificate.groups, sensitive="ill"
    )
    found = fk.audit(release, policy()).verdicts
    findings = tuple(
        {**then, "exact": str(now.reached), "value": now.value, "group": ", ".join(now.group)}
        for then, now in zip(made.certificate.findings, found, strict=True)
    )
    certificate = replace(made.certificate, findings=findings, **said)
    return replace(made, tables={"release": table}, certificate=certificate)


def test_people_of_no_release_are_found(january, tmp_path):
    """A group of somebody else, hidden under a number that the certificate does not account for."""
    made = fk.publish(register(0, 420), policy(), after=january, whole=True, seed=1)
    rows = made.tables["release"].to_pylist()
    first = next(row for row in rows if row["cohort"] == "2")
    for row in rows:
        if (row["cohort"], row["age"], row["sex"]) == ("2", first["age"], first["sex"]):
            row["cohort"] = "3"
    table = pa.Table.from_pylist(rows, schema=made.tables["release"].schema)
    certified_again(made, table).write(tmp_path / "march")
    with pytest.raises(CertificateError, match="in no release that the certificate names"):
        fk.verify(tmp_path / "march", after=january)
    with pytest.raises(CertificateError, match="as many new people as its certificate says"):
        fk.together([january, tmp_path / "march"])


@pytest.mark.thinned(2)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("secret", [{"any_of": "virus"}, {"at_level": 1}])
def test_a_set_has_the_values_of_all_releases(secret, whole, tmp_path):
    """New people lack some of what its name stands for, and the verifier counts it all the same."""
    ills = ["B20", "B24", "Flu", "Cold", "Asthma", "Cough"]
    kinds = [[ill, "virus" if ill[0] == "B" else f"other {i % 2}"] for i, ill in enumerate(ills)]
    tree = fk.Tree(kinds)
    rules = policy(fk.Requirement(fk.Facts(1), below="0.9", **secret), hierarchies={"ill": tree})
    fk.publish(register(0, 300, ills=ills), rules, seed=1).write(tmp_path / "january")
    table = register(300, 420, ills=[ill for ill in ills if ill != "B24"])
    made = fk.publish(table, rules, after=tmp_path / "january", whole=whole, seed=1)
    made.write(tmp_path / "march")
    fk.verify(tmp_path / "march")
    found = fk.verify(tmp_path / "march", after=tmp_path / "january").together
    assert [each.reached for each in found] == [each.reached for each in made.together.verdicts]


def test_links_over_cohorts_are_judged_in_one_file(tmp_path):
    """Each holds 3/4 by itself, and both together do not."""
    strict, loose = (
        policy(fk.Requirement(fk.Facts(1, 0, 1), below=below, values=["v"]))
        for below in ("3/4", "9/10")
    )
    tables = []
    for bag in ({"v": 2, "o": 7, "x": 1}, {"v": 10, **dict.fromkeys("abcdefghij", 1)}):
        ills = [ill for ill, times in bag.items() for _ in range(times)]
        names = [f"{len(tables)} {i}" for i in range(len(ills))]
        known = {"age": [30] * len(ills), "sex": ["f"] * len(ills)}
        tables.append(pa.table({"pid": names, **known, "ill": ills}))
    fk.publish(tables[0], strict, seed=1).write(tmp_path / "january")
    again = {"after": tmp_path / "january", "whole": True, "seed": 1}
    with pytest.raises(fk.NoSafeRelease, match="together do not hold"):
        fk.publish(tables[1], strict, **again)
    fk.publish(tables[1], loose, **again).write(tmp_path / "march")
    with pytest.raises(CertificateError, match="reaches 4/5, the limit is 3/4"):
        fk.verify(tmp_path / "march", strict)


def test_two_tries_of_the_same_new_people_cross(january, tmp_path):
    for name, people, whole in (("one", 420, True), ("two", 450, False)):
        made = fk.publish(register(0, people), policy(), after=january, whole=whole, seed=1)
        made.write(tmp_path / name)
    each = [january, tmp_path / "one", tmp_path / "two"]
    with pytest.raises(fk.NotSettled):
        fk.audit(each, policy())
    with pytest.raises(fk.InputError, match="a person is to be published once"):
        fk.publish(register(0, 600), policy(), after=each)


def test_a_column_that_is_called_cohort_stays_what_it_is(tmp_path):
    rules = policy(fk.Requirement(fk.Facts(1), below=0.95, knowing=[]), other=["cohort"])
    table = register(0, 420).append_column("cohort", pa.array(["x", "y"] * 210))
    fk.publish(table.slice(0, 300), rules, seed=1).write(tmp_path / "january")
    made = fk.publish(table, rules, after=tmp_path / "january", whole=True, seed=1)
    made.write(tmp_path / "march")
    assert made.certificate.cohort == "cohort_"
    assert fk.verify(tmp_path / "march", after=tmp_path / "january").people_of_all == 420
