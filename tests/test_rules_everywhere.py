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

HOMES = pa.table({"age": [30] * 4, "pay": ["x", "x", "y", "y"], "home": [1, 1, 2, 2]})
# Men cannot have O, so one of the two women has it.
MEN = pa.table(
    {
        "age": [30] * 4,
        "sex": ["m", "m", "f", "f"],
        "ill": ["x", "y", "O", "x"],
        "pid": ["A", "B", "C", "D"],
    }
)
CASES = pa.table({"age": [30] * 6, "ill": [*"abcabc"], "pid": ["p"] * 6})


def of_homes():
    shared = {"by": "home", "values": ["pay"]}
    return HOMES, fk.Schema(quasi_identifiers=["age"], sensitive="pay", shared=shared), "x"


def of_men():
    schema = fk.Schema(
        quasi_identifiers=["age"],
        sensitive="ill",
        other=["sex"],
        identifiers=["pid"],
        impossible=[{"values": ["O"], "where": {"sex": ["m"]}}],
    )
    return MEN, schema, "O"


def of_cases():
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", unit="row", person="pid")
    return CASES, schema, "a"


PRIORS = pa.table({"age": ["30"], "value": ["x"], "probability": [1.0]})
SAID = {
    "shared": (of_homes, r"of a household all have one value \(shared\); .*fk\.audit"),
    "impossible": (of_men, r"what some cannot have \(impossible\); "),
    "cases": (of_cases, r"people of 'pid' may have several; .*fk\.audit"),
}
FORMS = {
    "table": lambda table, schema: (table, {"policy": policy(schema)}),
    "microdata": lambda table, schema: (fk.Microdata(table, schema), {}),
    "release": lambda table, schema: (fk.Release.from_schema(table, schema), {}),
    "sight": lambda table, schema: (fk.Release.from_schema(table, schema).seen(None, []), {}),
}


def policy(schema, limit="9/10", **more):
    return fk.Policy([fk.Requirement(fk.Facts(k=1), below=limit, **more)], schema)


def forms(schema_kinds, names):
    return [(kind, name) for kind in schema_kinds for name in names]


@pytest.mark.parametrize(("kind", "form"), forms(["shared", "impossible"], FORMS))
@pytest.mark.parametrize("knowing", [None, []])
def test_skylines_and_curves_refuse_what_they_do_not_count(kind, form, knowing):
    of, said = SAID[kind]
    table, schema, value = of()
    given, more = FORMS[form](table, schema)
    for ask in (
        lambda: fk.skyline_report(given, [value], confidence="9/10", knowing=knowing, **more),
        lambda: fk.disclosure_curves(given, value=value, knowing=knowing, **more),
    ):
        with pytest.raises(UnsupportedError, match=said):
            ask()


def test_a_value_that_households_do_not_share_has_its_skyline():
    table, schema, _ = of_homes()
    table = table.append_column("ill", pa.array([*"abab"]))
    shared = {"by": "home", "values": ["pay"]}
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["pay", "ill"], shared=shared)
    release = fk.Release.from_schema(table, schema)
    report = fk.skyline_report(release, ["a"], confidence="9/10", sensitive="ill", knowing=[])
    assert report.skylines["a"] == fk.knowledge_skyline(release.seen("ill", []), "a", "9/10")
    with pytest.raises(UnsupportedError, match="household"):
        fk.skyline_report(release, ["x"], confidence="9/10", sensitive="pay", knowing=[])


@pytest.mark.parametrize("kind", ["shared", "impossible"])
def test_a_policy_beside_counts_says_what_they_do_not(kind):
    of, said = SAID[kind]
    table, schema, value = of()
    counts = fk.Release.from_schema(table, schema).seen(None, []).counts
    with pytest.raises(UnsupportedError, match=said):
        fk.skyline_report(counts, [value], confidence="9/10", policy=policy(schema))
    with pytest.raises(UnsupportedError, match=said):
        fk.disclosure_curves(counts, value=value, policy=policy(schema))


@pytest.mark.parametrize("kind", ["shared", "impossible"])
@pytest.mark.parametrize("form", ["table", "microdata"])
def test_a_survey_and_an_attack_refuse_them(kind, form):
    of, said = SAID[kind]
    table, schema, _ = of()
    given, more = FORMS[form](table, schema)
    with pytest.raises(UnsupportedError, match=said):
        fk.survey(given, [1], **more)
    with pytest.raises(UnsupportedError, match=said):
        fk.attack(fk.Microdata(table, schema), fk.Mondrian())


@pytest.mark.parametrize(("kind", "form"), forms(SAID, ["table", "microdata"]))
def test_bare_counts_are_not_made_where_they_would_lose_a_rule(kind, form):
    of, said = SAID[kind]
    table, schema, _ = of()
    given, more = FORMS[form](table, schema)
    with pytest.raises(UnsupportedError, match=said):
        fk.counts_at(given, {"age": 0}, **more)


@pytest.mark.parametrize(("kind", "form"), forms(SAID, ["release", "sight"]))
def test_an_adversary_is_not_asked_of_a_release_by_itself_where_rules_bear_on_it(kind, form):
    of, said = SAID[kind]
    table, schema, value = of()
    given, _ = FORMS[form](table, schema)
    asked = [fk.Facts(), fk.Facts(k=1), fk.Implications(1), fk.Negations(1)]
    calls = [
        *(lambda own=own: own.disclosure(given, value) for own in asked),
        *(lambda own=own: own.disclosures(given) for own in asked),
        *(lambda own=own: own.chances(given) for own in asked),
        lambda: fk.knowledge_skyline(given, value, "2/5"),
        lambda: fk.knowledge_skylines(given, "2/5"),
        lambda: fk.Priors(PRIORS).disclosure(given),
        lambda: fk.Priors(PRIORS).gain(given),
        lambda: fk.Algorithm(fk.Mondrian(), schema=schema).disclosure(given),
    ]
    for ask in calls:
        with pytest.raises(UnsupportedError, match=f"without a policy.*{said}|_skyline.*{said}"):
            ask()


def counted(kind):
    """Counts of rows, and what others make of them."""
    of, said = SAID[kind]
    table, schema, value = of()
    counts = fk.Release.from_schema(table, schema).seen(None, []).counts
    of_rows = fk.Microdata(table, schema).counts(np.zeros(len(table), dtype=np.int64))
    made = [counts.take([0]), counts.merge([0]), counts.any_of([value])[0]]
    return [counts, of_rows, *made, pickle.loads(pickle.dumps(counts))], schema, value, said


@pytest.mark.parametrize("kind", SAID)
def test_counts_of_rows_say_the_rules_that_they_do_not_follow(kind):
    every, _, value, said = counted(kind)
    for given in every:
        calls = [
            lambda given=given: fk.Facts().disclosure(given),
            lambda given=given: fk.Negations(1).chances(given),
            lambda given=given: fk.LDiversity(2).holds(given),
            lambda given=given: fk.t_closeness(given),
            lambda given=given: fk.knowledge_skyline(given, value, "2/5"),
        ]
        for ask in calls:
            with pytest.raises(UnsupportedError, match=said):
                ask()
    assert fk.risk_report(every[0]).in_cases == (kind == "cases")


@pytest.mark.parametrize("kind", ["shared", "impossible"])
def test_a_skyline_of_counts_of_rows_is_refused(kind):
    every, _, value, said = counted(kind)
    for given in every:
        with pytest.raises(UnsupportedError, match=said):
            fk.skyline_report(given, [value], confidence="9/10")
        with pytest.raises(UnsupportedError, match=said):
            fk.disclosure_curves(given, value=value)


@pytest.mark.parametrize("kind", SAID)
def test_a_policy_does_not_take_counts_of_rows_for_people(kind):
    every, schema, _, _ = counted(kind)
    plain = fk.Schema(quasi_identifiers=["age"], sensitive=schema.sensitive)
    says_why = {
        "shared": "shown once for each household",
        "impossible": "counts do not say who",
        "cases": "does not show whose cases",
    }[kind]
    key = "unit" if kind == "cases" else kind
    for given in every:
        for asked in (policy(schema), policy(None)):
            with pytest.raises(fk.ForeknowError, match=says_why):
                fk.audit(given, asked)
        with pytest.raises(fk.ForeknowError, match=rf"differ in {key}"):
            fk.audit(given, policy(plain))


@pytest.mark.parametrize("kind", SAID)
def test_windows_are_not_made_of_counts_of_rows(kind):
    every, _, _, said = counted(kind)
    for given in every:
        with pytest.raises(UnsupportedError, match=said):
            Windows.of(given, Width(1))


OF_CASES = [
    {"facts": {}, "below": "3/4"},
    {"facts": {}, "below": "3/4", "any_of": ["a", "b"]},
    {"facts": {}, "below": "3/4", "knowing": ["ward"]},
    {"l_diversity": {"l": 2}},
    {"k_anonymity": 2},
]


@pytest.mark.parametrize("required", OF_CASES)
def test_counts_of_an_audit_refuse(required):
    table, schema, _ = of_cases()
    table = table.append_column("ward", pa.array(["x"] * len(table)))
    made = fk.audit(table, fk.Policy.from_dict({"schema": schema.to_dict(), "require": [required]}))
    (counted,) = made.counted
    every = [made.counts, counted.counts, counted.seen, made.verdicts[0].counts]
    for given in [own for own in every if own is not None]:
        counts = counts_of(given)
        for own in (given, pickle.loads(pickle.dumps(counts)), counts.take([0])):
            with pytest.raises(UnsupportedError, match="people of 'pid' may have several"):
                fk.Facts().disclosure(own)
            with pytest.raises(fk.ForeknowError, match="does not show whose cases"):
                fk.audit(counts_of(own), fk.Policy([fk.Requirement(fk.Facts(), below="3/4")]))
    assert made.exposed[0].verdict is made.verdicts[0]
    assert counted.explanations()[0].words == made.verdicts[0].words.partition(";")[0]


def test_counts_of_people_say_nothing():
    table, schema, value = of_men()
    plain = fk.Schema(quasi_identifiers=["age"], sensitive=schema.sensitive)
    counts = fk.Release.from_schema(table, plain).counts
    assert type(counts) is fk.GroupCounts
    assert fk.Facts().disclosure(counts, value).exact == Fraction(1, 4)
    release = fk.Release.from_schema(table, schema)
    assert type(release.by_policy.counts) is fk.GroupCounts
    assert release.counts.schema is schema  # whichever was counted first


def test_what_is_published_says_the_rules_too(tmp_path):
    table, schema, value = of_men()
    required = fk.Requirement(fk.Facts(), below="2/3", values=[value], knowing=[])
    required = fk.Policy([required], schema)
    made = fk.publish(table, required, method="mondrian", learned=False)
    made.write(tmp_path / "out")
    for given in (made, made.release, open_published(tmp_path / "out").release):
        with pytest.raises(UnsupportedError, match="impossible"):
            fk.knowledge_skyline(given, value, "2/5")
        with pytest.raises(UnsupportedError, match="impossible"):
            fk.Facts().disclosure(given, value)
        with pytest.raises(UnsupportedError, match="impossible"):
            fk.LDiversity(3).holds(given)
    (verdict,) = fk.audit(made, required, learned=False).verdicts  # which counts by the rule
    assert verdict.found.exact == Fraction(1, 2)
    named = fk.named_release(tmp_path / "out", person="pid")
    for release in (named, named.seen("ill", [])):
        with pytest.raises(UnsupportedError, match="impossible"):
            fk.Statements("D != O").posterior(release, "C", "O")
        with pytest.raises(UnsupportedError, match="impossible"):
            fk.Statements().disclosure(release)


def test_statements_know_nothing_of_households():
    table, schema, _ = of_homes()
    table = table.append_column("pid", pa.array([*"ABCD"]))
    release = fk.Release.from_schema(table, schema.naming("pid")).seen("pay", [])
    with pytest.raises(UnsupportedError, match="household"):
        fk.Statements("A = x").posterior(release, "B", "x")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, _, _ = of_men()
    rows = [",".join(map(str, row.values())) for row in table.to_pylist()]
    (tmp_path / "t.csv").write_text("\n".join(["age,sex,ill,pid", *rows]) + "\n")
    (tmp_path / "p.toml").write_text(
        '[schema]\nquasi_identifiers=["age"]\nsensitive="ill"\nother=["sex"]\n'
        'identifiers=["pid"]\n[[schema.impossible]]\nvalues=["O"]\nwhere={sex=["m"]}\n'
        '[[require]]\nvalues=["O"]\nfacts={}\nbelow="2/3"\nknowing=[]\n'
    )
    made = fk.publish("t.csv", "p.toml", method="mondrian", learned=False)
    made.write("out")
    return tmp_path


@pytest.mark.parametrize(
    "asked",
    [
        "curves out --value O --knowing=",
        "curves t.csv --policy p.toml --value O",
        "curves t.csv --policy p.toml --levels age=0 --value O",
        "skyline out --value O --confidence 2/5 --knowing=",
        "ask out --about C --value O --knowing=",
        "ask out --about C --value O --knowing= --policy p.toml",
        "survey t.csv --policy p.toml",
    ],
)
def test_commands_refuse_them_with_and_without_a_policy(folder, monkeypatch, capsys, asked):
    monkeypatch.setattr(sys, "argv", ["foreknow", *asked.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "(impossible)" in " ".join(capsys.readouterr().err.split())


def test_the_explorer_refuses_what_statements_cannot_count(folder):
    looked = Session(folder, folder / "out").looked("out")
    with pytest.raises(UnsupportedError, match="impossible"):
        asked_in_explorer(looked, {"statements": "D != O", "about": "C"})


# ---- measures -----------------------------------------------------------------------------------


def test_cases_are_not_counted_as_people_by_measures_and_criteria():
    table, schema, _ = of_cases()
    required = fk.Policy([fk.Requirement(fk.KAnonymity(1))], schema)
    made = fk.publish(table, required, method="mondrian", learned=False)
    release = fk.Release.from_schema(table, schema)
    strict = fk.Policy([fk.Requirement(fk.KAnonymity(2))], schema)
    assert not fk.audit(made, strict, learned=False).safe  # 1 person
    for given in (made, made.release, release, release.seen("ill", [])):
        for ask in (
            lambda given=given: fk.k_anonymity(given),
            lambda given=given: fk.l_diversity(given),
            lambda given=given: fk.t_closeness(given),
            lambda given=given: fk.beta_likeness(given),
            lambda given=given: fk.KAnonymity(6).holds(given),
            lambda given=given: fk.GroupSize(6).holds(given),
            lambda given=given: fk.LDiversity(3).holds(given),
            lambda given=given: fk.TCloseness(1).holds(given),
        ):
            with pytest.raises(UnsupportedError, match="people of 'pid' may have several"):
                ask()


@pytest.mark.parametrize("kind", ["shared", "impossible"])
@pytest.mark.parametrize("form", ["microdata", "release"])
def test_measures_of_values_refuse_rules_and_k_anonymity_counts_people(kind, form):
    of, said = SAID[kind]
    table, schema, _ = of()
    given, _ = FORMS[form](table, schema)
    assert fk.k_anonymity(given) == 4
    with pytest.raises(UnsupportedError, match=said):
        fk.l_diversity(given)
    with pytest.raises(UnsupportedError, match=said):
        fk.t_closeness(given)


def measured(microdata):
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(2)), fk.Requirement(fk.LDiversity(2))])
    alike, diverse = fk.audit(microdata, policy, learned=False).verdicts
    return alike.found.amount, diverse.found.amount


@pytest.mark.parametrize(
    ("ill", "more"),
    [
        ([None, None, "flu", "flu"], {"missing": "drop"}),
        (["NA", "NA", "flu", "flu"], {"missing": "drop", "reading": {"missing": ["NA"]}}),
        ([None, None, "flu", "flu"], {"missing": {"label": "none"}}),
    ],
)
def test_a_measure_reads_microdata_as_an_audit_does(ill, more):
    table = pa.table({"age": [30] * 4, "sex": [*"fmfm"], "ill": ill})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", **more)
    microdata = fk.Microdata(table, schema)
    assert (fk.k_anonymity(microdata), fk.l_diversity(microdata)) == measured(microdata)
    by = fk.Microdata(table, fk.Schema(quasi_identifiers=["sex"], sensitive="ill", **more))
    named = fk.k_anonymity(microdata, ["sex"]), fk.l_diversity(microdata, ["sex"])
    assert named == measured(by)


def test_a_measure_of_one_of_several_columns():
    table = pa.table({"age": [30] * 4, "ill": [*"abab"], "pay": [*"xyzx"]})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"]))
    assert fk.l_diversity(microdata) == 2
    assert fk.l_diversity(microdata, sensitive="pay") == 3


@pytest.mark.parametrize("kind", SAID)
def test_counts_of_what_was_published_say_the_rules_too(kind):
    of, _ = SAID[kind]
    table, schema, _ = of()
    required = fk.Requirement(fk.KAnonymity(1))
    release = fk.publish(table, fk.Policy([required], schema)).release
    # They were counted for the search, before anybody said whose they are.
    for counts in (release.counts, release.seen(None, []).counts):
        asked = fk.Policy([fk.Requirement(fk.Facts(), below="9/10", knowing=[])])
        with pytest.raises(fk.ForeknowError):
            fk.audit(counts, asked)
        with pytest.raises(UnsupportedError, match="without a policy"):
            fk.Facts().disclosure(counts)


def test_counts_of_cases_whose_people_nobody_knows_are_counts_of_cases():
    table, schema, _ = of_cases()
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", unit="row")
    release = fk.Release.from_schema(table.drop_columns("pid"), schema)
    plain = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    grouped = fk.Microdata(table.drop_columns("pid"), schema).counts(np.zeros(6, dtype=np.int64))
    for given in (release, release.counts, release.counts.take([0]), grouped):
        found = fk.audit(given, fk.Policy([fk.Requirement(fk.KAnonymity(2))]))
        assert found.in_cases
        assert "6 cases" in found.summary()
        assert fk.risk_report(given).in_cases
        with pytest.raises(fk.ForeknowError, match="differ in unit"):
            fk.audit(given, policy(plain))


@pytest.mark.parametrize("required", [*OF_CASES[:3], {"group_size": 2}])
def test_counts_of_a_publication_refuse(required):
    pid = [*"abcdefgh", "a"]
    rows = {"pid": pid, "age": [30] * 9, "ward": ["x"] * 9, "ill": [*"xyzxyzxyz"]}
    schema = {"quasi_identifiers": ["age"], "other": ["ward"], "sensitive": "ill"}
    schema |= {"person": "pid", "unit": "row"}
    loose = required | ({"below": "1"} if "facts" in required else {})
    loose |= {"any_of": ["x"]} if "any_of" in required else {}
    policy = fk.Policy.from_dict({"schema": schema, "require": [loose]})
    made = fk.publish(pa.table(rows), policy, learned=False)
    counted, (verdict,) = made.audit.counted[0], made.audit.verdicts
    counts = [counts_of(own) for own in (made, made.audit, counted, counted.counts, counted.seen)]
    for given in (*counts, made.audit, counted, *([verdict] if verdict.counts else [])):
        with pytest.raises(UnsupportedError, match="people of 'pid' may have several"):
            fk.Facts().disclosure(given)
        with pytest.raises(fk.ForeknowError, match="does not show whose cases"):
            fk.audit(given, fk.Policy([fk.Requirement(fk.Facts(), below="3/4")]))


@pytest.mark.parametrize("required", [{"facts": {}, "below": "3/4"}, {"l_diversity": {"l": 2}}])
def test_counts_of_who_cannot_refuse(required):
    table, schema, value = of_men()
    asked = fk.Requirement(fk.Facts(), below="1", values=[value], knowing=[])
    made = fk.audit(fk.Microdata(table, schema), fk.Policy([asked], schema), learned=False)
    for given in (made, made.counted[0], made.counted[0].seen, made.verdicts[0]):
        with pytest.raises(fk.ForeknowError, match=r"what some cannot have|counts do not say who"):
            fk.audit(given, {"require": [required]})
