"""What a schema says of people is counted, or the analysis that cannot count it is refused."""

import pickle
import sys
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.adversaries.protocol import counts_of
from foreknow.cli import main
from foreknow.data.windows import Width, Windows
from foreknow.explore.release import asked as asked_in_explorer
from foreknow.explore.session import Session
from foreknow.releases.written import open_published
from foreknow_judge.errors import UnsupportedError


class Kind:
    """A table, its schema, a value of it, and how it is said that this is not counted."""

    def __init__(self, columns, value, said, why, **roles):
        self.table = pa.table({"age": [30] * len(columns["pid"]), **columns})
        self.schema = fk.Schema(quasi_identifiers=["age"], **roles)
        self.value, self.said, self.why = value, said, why

    @property
    def release(self):
        return fk.Release.from_schema(self.table, self.schema)


MEN = {"sex": [*"mmff"], "ill": [*"xyOx"], "pid": [*"ABCD"]}
KINDS = {
    "shared": Kind(
        {"pay": [*"xxyy"], "home": [1, 1, 2, 2], "pid": [*"ABCD"]},
        *("x", r"of a household all have one value \(shared\); .*fk\.audit"),
        "shown once for each household",
        sensitive="pay",
        shared={"by": "home", "values": ["pay"]},
    ),
    # Men cannot have O, so one of the two women has it.
    "impossible": Kind(
        *(MEN, "O", r"what some cannot have \(impossible\); ", "counts do not say who"),
        sensitive="ill",
        other=["sex"],
        identifiers=["pid"],
        impossible=[{"values": ["O"], "where": {"sex": ["m"]}}],
    ),
    "cases": Kind(
        {"ill": [*"abcabc"], "pid": ["p"] * 6},
        *("a", r"people of 'pid' may have several; .*fk\.audit", "does not show whose cases"),
        sensitive="ill",
        unit="row",
        person="pid",
    ),
}
RULED = ["shared", "impossible"]
PRIORS = pa.table({"age": ["30"], "value": ["x"], "probability": [1.0]})
HALF = fk.Policy([fk.Requirement(fk.Facts(), below="3/4")])


def policy(schema, **more):
    return fk.Policy([fk.Requirement(fk.Facts(k=1), below="9/10", **more)], schema)


def given_as(kind, form):
    """A kind's people in a form, and what a call needs beside."""
    if form == "table":
        return kind.table, {"policy": policy(kind.schema)}
    if form == "microdata":
        return fk.Microdata(kind.table, kind.schema), {}
    return (kind.release if form == "release" else kind.release.seen(None, [])), {}


def refuse(said, call, *own, error=UnsupportedError, **more):
    with pytest.raises(error, match=said):
        call(*own, **more)


@pytest.mark.parametrize("kind", RULED)
@pytest.mark.parametrize("form", ["table", "microdata", "release", "sight"])
def test_skylines_and_curves_refuse(kind, form):
    kind = KINDS[kind]
    given, more = given_as(kind, form)
    for known in (None, []):
        asked = {"knowing": known, **more}
        refuse(kind.said, fk.skyline_report, given, [kind.value], confidence="9/10", **asked)
        refuse(kind.said, fk.disclosure_curves, given, value=kind.value, **asked)
    if form in ("table", "microdata"):
        refuse(kind.said, fk.survey, given, [1], **more)
        refuse(kind.said, fk.attack, fk.Microdata(kind.table, kind.schema), fk.Mondrian())


def test_unshared_columns_have_a_skyline():
    kind, shared = KINDS["shared"], {"by": "home", "values": ["pay"]}
    table = kind.table.append_column("ill", pa.array([*"abab"]))
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["pay", "ill"], shared=shared)
    release = fk.Release.from_schema(table, schema)
    asked = {"confidence": "9/10", "knowing": []}
    report = fk.skyline_report(release, ["a"], sensitive="ill", **asked)
    assert report.skylines["a"] == fk.knowledge_skyline(release.seen("ill", []), "a", "9/10")
    refuse("household", fk.skyline_report, release, ["x"], sensitive="pay", **asked)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["table", "microdata"])
def test_bare_counts_are_not_made(kind, form):
    given, more = given_as(KINDS[kind], form)
    refuse(KINDS[kind].said, fk.counts_at, given, {"age": 0}, **more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["release", "sight"])
def test_adversaries_refuse_a_release_alone(kind, form):
    kind = KINDS[kind]
    given, _ = given_as(kind, form)
    asked = [fk.Facts(), fk.Facts(k=1), fk.Implications(1), fk.Negations(1)]
    said = f"without a policy.*{kind.said}|_skyline.*{kind.said}"
    for own in asked:
        refuse(said, own.disclosure, given, kind.value)
        refuse(said, own.disclosures, given)
        refuse(said, own.chances, given)
    refuse(said, fk.knowledge_skyline, given, kind.value, "2/5")
    refuse(said, fk.knowledge_skylines, given, "2/5")
    refuse(said, fk.Priors(PRIORS).disclosure, given)
    refuse(said, fk.Priors(PRIORS).gain, given)
    refuse(said, fk.Algorithm(fk.Mondrian(), schema=kind.schema).disclosure, given)


@pytest.mark.parametrize("name", KINDS)
def test_counts_of_rows_say_rules(name):
    """Counts of rows, and what others make of them."""
    kind = KINDS[name]
    counts = kind.release.seen(None, []).counts
    rows = np.zeros(len(kind.table), dtype=np.int64)
    every = [counts, fk.Microdata(kind.table, kind.schema).counts(rows)]
    every += [counts.take([0]), counts.merge([0]), counts.any_of([kind.value])[0]]
    every += [pickle.loads(pickle.dumps(counts))]
    plain = fk.Schema(quasi_identifiers=["age"], sensitive=kind.schema.sensitive)
    for own in every:
        for call in (fk.Facts().disclosure, fk.Negations(1).chances, fk.LDiversity(2).holds):
            refuse(kind.said, call, own)
        refuse(kind.said, fk.t_closeness, own)
        refuse(kind.said, fk.knowledge_skyline, own, kind.value, "2/5")
        refuse(kind.said, Windows.of, own, Width(1))
        for more in ({}, {"policy": policy(kind.schema)}) if name != "cases" else ():
            refuse(kind.said, fk.skyline_report, own, [kind.value], confidence="9/10", **more)
            refuse(kind.said, fk.disclosure_curves, own, value=kind.value, **more)
        for schema in (kind.schema, None):
            refuse(kind.why, fk.audit, own, policy(schema), error=fk.ForeknowError)
        differs = f"differ in {'unit' if name == 'cases' else name}"
        refuse(differs, fk.audit, own, policy(plain), error=fk.ForeknowError)
    assert fk.risk_report(counts).in_cases == (name == "cases")
    # They were counted for the search, before anybody said whose they are.
    made = fk.publish(kind.table, fk.Policy([fk.Requirement(fk.KAnonymity(1))], kind.schema))
    for own in (made.release.counts, made.release.seen(None, []).counts):
        refuse("without a policy", fk.Facts().disclosure, own)
        refuse(".", fk.audit, own, HALF, error=fk.ForeknowError)


OF_CASES = [
    {"facts": {}, "below": "3/4"},
    {"facts": {}, "below": "3/4", "any_of": ["a", "b"]},
    {"facts": {}, "below": "3/4", "knowing": ["ward"]},
    {"l_diversity": {"l": 2}},
    {"k_anonymity": 2},
]


def refuse_cases(every):
    for own in every:
        refuse("people of 'pid' may have several", fk.Facts().disclosure, own)
        refuse("does not show whose cases", fk.audit, own, HALF, error=fk.ForeknowError)


@pytest.mark.parametrize("required", OF_CASES)
def test_counts_of_an_audit_refuse(required):
    kind = KINDS["cases"]
    table = kind.table.append_column("ward", pa.array(["x"] * 6))
    asked = {"schema": kind.schema.to_dict(), "require": [required]}
    made = fk.audit(table, fk.Policy.from_dict(asked))
    (counted,) = made.counted
    counts = [made.counts, counted.counts, counted.seen, made.verdicts[0].counts]
    for own in map(counts_of, filter(None, counts)):
        refuse_cases([own, pickle.loads(pickle.dumps(own)), own.take([0])])
    assert made.exposed[0].verdict is made.verdicts[0]
    assert counted.explanations()[0].words == made.verdicts[0].words.partition(";")[0]


@pytest.mark.parametrize("required", [*OF_CASES[:3], {"group_size": 2}])
def test_counts_of_a_publication_refuse(required):
    rows = {"pid": [*"abcdefgha"], "age": [30] * 9, "ward": ["x"] * 9, "ill": [*"abcabcabc"]}
    schema = {"quasi_identifiers": ["age"], "other": ["ward"], "sensitive": "ill"}
    schema |= {"person": "pid", "unit": "row"}
    loose = required | ({"below": "1"} if "facts" in required else {})
    loose |= {"any_of": ["a"]} if "any_of" in required else {}
    made = fk.publish(pa.table(rows), {"schema": schema, "require": [loose]}, learned=False)
    counted, (verdict,) = made.audit.counted[0], made.audit.verdicts
    refuse_cases(map(counts_of, (made, made.audit, counted, counted.counts, counted.seen)))
    refuse_cases([made.audit, counted, *([verdict] if verdict.counts else [])])


@pytest.mark.parametrize("required", [{"facts": {}, "below": "3/4"}, {"l_diversity": {"l": 2}}])
def test_counts_of_who_cannot_refuse(required):
    kind = KINDS["impossible"]
    asked = fk.Requirement(fk.Facts(), below="1", values=[kind.value], knowing=[])
    people = fk.Microdata(kind.table, kind.schema)
    made = fk.audit(people, fk.Policy([asked], kind.schema), learned=False)
    for own in (made, made.counted[0], made.counted[0].seen, made.verdicts[0]):
        said = "what some cannot have|counts do not say who"
        refuse(said, fk.audit, own, {"require": [required]}, error=fk.ForeknowError)


def test_counts_of_people_say_nothing():
    kind = KINDS["impossible"]
    plain = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    counts = fk.Release.from_schema(kind.table, plain).counts
    assert type(counts) is fk.GroupCounts
    assert fk.Facts().disclosure(counts, kind.value).exact == Fraction(1, 4)
    release = kind.release
    assert type(release.by_policy.counts) is fk.GroupCounts
    assert release.counts.schema is kind.schema  # whichever was counted first


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [",".join(map(str, row.values())) for row in KINDS["impossible"].table.to_pylist()]
    (tmp_path / "t.csv").write_text("\n".join(["age,sex,ill,pid", *rows]) + "\n")
    (tmp_path / "p.toml").write_text(
        '[schema]\nquasi_identifiers=["age"]\nsensitive="ill"\nother=["sex"]\n'
        'identifiers=["pid"]\n[[schema.impossible]]\nvalues=["O"]\nwhere={sex=["m"]}\n'
        '[[require]]\nvalues=["O"]\nfacts={}\nbelow="2/3"\nknowing=[]\n'
    )
    fk.publish("t.csv", "p.toml", method="mondrian", learned=False).write("out")
    return tmp_path


def test_what_is_published_says_rules(folder):
    made = fk.publish("t.csv", "p.toml", method="mondrian", learned=False)
    for own in (made, made.release, open_published(folder / "out").release):
        refuse("impossible", fk.knowledge_skyline, own, "O", "2/5")
        refuse("impossible", fk.Facts().disclosure, own, "O")
        refuse("impossible", fk.LDiversity(3).holds, own)
    (verdict,) = fk.audit(made, fk.Policy.load("p.toml"), learned=False).verdicts
    assert verdict.found.exact == Fraction(1, 2)  # which counts by the rule
    named = fk.named_release(folder / "out", person="pid")
    for own in (named, named.seen("ill", [])):
        refuse("impossible", fk.Statements("D != O").posterior, own, "C", "O")
        refuse("impossible", fk.Statements().disclosure, own)
    looked = Session(folder, folder / "out").looked("out")
    refuse("impossible", asked_in_explorer, looked, {"statements": "D != O", "about": "C"})


def test_statements_know_nothing_of_households():
    kind = KINDS["shared"]
    release = fk.Release.from_schema(kind.table, kind.schema.naming("pid")).seen("pay", [])
    refuse("household", fk.Statements("A = x").posterior, release, "B", "x")


def test_commands_refuse_them(folder, monkeypatch, capsys):
    for asked in (
        "curves out --value O --knowing=",
        "curves t.csv --policy p.toml --value O",
        "curves t.csv --policy p.toml --levels age=0 --value O",
        "skyline out --value O --confidence 2/5 --knowing=",
        "ask out --about C --value O --knowing=",
        "ask out --about C --value O --knowing= --policy p.toml",
        "survey t.csv --policy p.toml",
    ):
        monkeypatch.setattr(sys, "argv", ["foreknow", *asked.split()])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert "(impossible)" in " ".join(capsys.readouterr().err.split())


# ---- measures -----------------------------------------------------------------------------------


def test_measures_do_not_count_cases():
    kind = KINDS["cases"]
    loose, strict = (fk.Policy([fk.Requirement(fk.KAnonymity(k))], kind.schema) for k in (1, 2))
    made = fk.publish(kind.table, loose, method="mondrian", learned=False)
    assert not fk.audit(made, strict, learned=False).safe  # 1 person
    measures = [fk.k_anonymity, fk.l_diversity, fk.t_closeness, fk.beta_likeness]
    criteria = [fk.KAnonymity(6), fk.GroupSize(6), fk.LDiversity(3), fk.TCloseness(1)]
    for own in (made, made.release, kind.release, kind.release.seen("ill", [])):
        for call in (*measures, *(criterion.holds for criterion in criteria)):
            refuse("people of 'pid' may have several", call, own)


@pytest.mark.parametrize("kind", RULED)
@pytest.mark.parametrize("form", ["microdata", "release"])
def test_measures_of_values_refuse_rules(kind, form):
    given, _ = given_as(KINDS[kind], form)
    assert fk.k_anonymity(given) == 4
    refuse(KINDS[kind].said, fk.l_diversity, given)
    refuse(KINDS[kind].said, fk.t_closeness, given)


@pytest.mark.parametrize(
    ("missing", "more"),
    [
        (None, {"missing": "drop"}),
        ("NA", {"missing": "drop", "reading": {"missing": ["NA"]}}),
        (None, {"missing": {"label": "none"}}),
    ],
)
def test_measure_reads_as_an_audit(missing, more):
    ill = [missing, missing, "flu", "flu"]
    table = pa.table({"age": [30] * 4, "sex": [*"fmfm"], "ill": ill})
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(2)), fk.Requirement(fk.LDiversity(2))])
    age, sex = (
        fk.Microdata(table, fk.Schema(quasi_identifiers=[name], sensitive="ill", **more))
        for name in ("age", "sex")
    )
    for given, by in ((age, ()), (sex, (["sex"],))):
        audited = [own.found.amount for own in fk.audit(given, policy, learned=False).verdicts]
        assert [fk.k_anonymity(age, *by), fk.l_diversity(age, *by)] == audited


def test_measure_of_one_column():
    table = pa.table({"age": [30] * 4, "ill": [*"abab"], "pay": [*"xyzx"]})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"]))
    assert (fk.l_diversity(microdata), fk.l_diversity(microdata, sensitive="pay")) == (2, 3)


def test_nameless_cases_count_as_cases():
    table = KINDS["cases"].table.drop_columns("pid")
    schema, plain = (
        fk.Schema(quasi_identifiers=["age"], sensitive="ill", **more)
        for more in ({"unit": "row"}, {})
    )
    release = fk.Release.from_schema(table, schema)
    grouped = fk.Microdata(table, schema).counts(np.zeros(6, dtype=np.int64))
    for own in (release, release.counts, release.counts.take([0]), grouped):
        found = fk.audit(own, fk.Policy([fk.Requirement(fk.KAnonymity(2))]))
        assert found.in_cases
        assert "6 cases" in found.summary()
        assert fk.risk_report(own).in_cases
        refuse("differ in unit", fk.audit, own, policy(plain), error=fk.ForeknowError)
