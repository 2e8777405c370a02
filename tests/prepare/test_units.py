"""Units: whether a row is a person, a case of one, or one of several; and households of people."""

import json
import random
import re
from contextlib import nullcontext
from io import StringIO

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from tests.cli.conftest import desk as desk
from tests.common import NIGHTLY
from tests.crossings.worlds import Facts, Member, added_up, sure_of

import foreknow as fk
from foreknow.data.people import repeated_people as repeated
from foreknow.data.people import units
from foreknow.data.person_names import refuse_two_spellings
from foreknow.data.tables.formats.duckdb_table import DuckTable
from foreknow.errors import SchemaError
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.files.written_release import Written
from foreknow_judge.knowledge.cases import chances_by_facts, worst_sum

ROLES = {"person": "who", "unit": "row", "quasi_identifiers": ["ward"], "sensitive": "ill"}


def table_of(cases):
    who, ward, ill = zip(*cases, strict=True)
    return pa.table({"who": who, "ward": [f"w{group}" for group in ward], "ill": ill})


def asked(*require, **schema):
    return {"schema": {**ROLES, **schema}, "require": [*require]}


def judged(cases, *require):
    return fk.audit(table_of(cases), asked(*require), learned=False)


def test_the_witness_names_the_groups():
    cases = [("A", 0, "x"), ("A", 1, "x"), ("B", 0, "y"), ("C", 1, "y"), ("D", 2, "y")]
    (verdict,) = judged(cases, {"facts": {}, "values": ["x"], "below": 0.9}).verdicts
    assert (verdict.found.settled, verdict.found.bounded) == (1, True)
    told = {"groups": ["(ward='w0')", "(ward='w1')"], "chances": [0.5, 0.5]}
    assert verdict.found.witness.to_dict() == told


def test_the_risk_report_counts_people():
    cases = [("A", 0, "x")] * 3 + [("B", 1, "y"), ("C", 1, "y"), ("C", 1, "x")]
    report = fk.risk_report(table_of(cases), policy=asked({"k_anonymity": 1}))
    assert (report.people, report.uniques, report.prosecutor.highest) == (3, 1, 1)
    assert not report.in_cases


def visits(rng, many=300, people=200):
    """A table of visits; nobody's age is always the same."""
    who = [f"P{rng.randrange(people)}" for _ in range(many)]
    return pa.table({
        "who": who,
        "ward": [rng.choice("ABCDEFGH") for _ in who],
        "age": [rng.randrange(20, 80) for _ in who],
        "house": [int(name[1:]) // 3 for name in who],
        "ill": [rng.choice([f"d{i}" for i in range(12)]) for _ in who],
    })  # fmt: skip


TWO = [("A", 0, "x"), ("B", 0, "y")]
OF_ONE = [("A", 0, "x"), ("A", 0, "y")]
FIVE = [("A", 0, "x"), ("A", 0, "y"), ("B", 0, "z"), ("A", 1, "x"), ("A", 1, "y")]
ALIKE = [(f"p{p}", p, "xyz"[p % 3]) for p in range(4) for _ in range(4)]


def refused_of(call, said, error=fk.InputError):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize(
    ("cases", "require", "how", "message"),
    [
        ([("A", 0, "x"), (None, 0, "y")], {"k_anonymity": 1}, {}, "row 2 names nobody in 'who'"),
        ([("1", 0, "x"), ("01", 0, "y")], {"k_anonymity": 1}, {}, "look like one"),
        ([("7", 0, "x"), ("7.0", 0, "y")], {"k_anonymity": 1}, {}, "look like one"),
        (FIVE, {"group_size": 3}, {"method": fk.Anatomy(l=2)}, "[12] different who"),
        (ALIKE, {"k_anonymity": 3}, {"form": "bucketized"}, "different who look alike"),
        ([("A", 0, "x")] * 6 + [(f"P{i}", 0, "y") for i in range(6)],
         {"facts": {}, "below": 0.9, "values": ["x"]}, {}, "'x'"),
    ],
)  # fmt: skip
def test_what_cannot_be_published(cases, require, how, message):
    refused_of(
        lambda: fk.publish(table_of(cases), asked(require), **how), message, fk.ForeknowError
    )
    if "look like" in message:
        refused_of(lambda: judged(cases, {"k_anonymity": 2}), message)


def test_unpublished_columns_may_be_known(tmp_path):
    table = visits(random.Random(3))
    table = table.append_column("sex", [["f" if i % 2 else "m" for i in range(len(table))]])
    roles = {"quasi_identifiers": ["ward", "age"], "sensitive": "ill"}
    required = {"facts": {"k": 1}, "below": 0.6, "knowing": ["sex"]}
    policy = {"schema": roles, "require": [required]}
    publication = fk.publish(table, policy, seed=1)
    made_release = fk.publish(table, {**policy, "schema": {**roles, "other": ["sex"]}}, seed=1)
    assert "sex" not in publication.tables["release"].column_names
    assert publication.audit.verdicts[0].reached == made_release.audit.verdicts[0].reached
    assert publication.groups == made_release.groups
    publication.write(tmp_path / "out")
    assert "sex known of everybody" in fk.verify(tmp_path / "out").claimed_scope.word[0]
    refused_of(lambda: fk.audit(tmp_path / "out", policy), "'sex' is not among the columns")
    how = {"form": "bucketized", "method": "mondrian"}
    refused_of(lambda: fk.publish(table, policy, **how), "generalized")
    # Two requirements that differ by what only the owner sees do not conflict.
    facts = [{"facts": {"l": 1}, "below": 0.9, "knowing": own} for own in (["sex"], [])]
    assert fk.publish(table, {"schema": roles, "require": facts}).audit.safe


def test_values_are_no_households():
    counts = fk.GroupCounts.from_bags([["x", "y", "z"]])
    refused_of(lambda: fk.KAnonymity(2, of="home").measure(counts), "different home")
    columns = {"quasi_identifiers": ["ward"], "sensitive": "ill"}
    release = fk.Release.from_generalized(table_of(OF_ONE), **columns)
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(2, of="who"))])
    refused_of(lambda: fk.audit(release, policy), "different who")
    unnamed = {key: ROLES[key] for key in ROLES if key != "person"}
    people = fk.Microdata(table_of(OF_ONE), fk.Schema(**unnamed))
    refused_of(lambda: fk.publish(people, asked({"k_anonymity": 1})), "who is counted")


# ---- criteria ------------------------------------------------------------------------------------


def test_criteria_state_counting_cases():
    table, require = table_of([("A", 0, v) for v in "xyz"]), [{"l_diversity": {"l": 2}}]
    audit = fk.audit(table, asked(*require, {"k_anonymity": 1}), learned=False)
    text = "; counted are cases, and all of them may be of one person"
    assert [text in verdict.words for verdict in audit.verdicts] == [True, False]
    assert text in audit.to_html()
    people = {"quasi_identifiers": ["ward"], "sensitive": "ill"}
    audit_of_release = fk.audit(table, {"schema": people, "require": require}, learned=False)
    assert text not in audit_of_release.to_html()
    for limits in ([], [{"facts": {}, "below": 1}]):
        notes = judged(TWO, {"k_anonymity": 2}, *limits).notes
        text = "limits hold for the sum over a person's cases"
        assert any(text in note for note in notes) == bool(limits)
        assert "the owner counts people" in notes[0]


def test_surest_people_come_first(monkeypatch):
    """One after the other, the surest first, and all at once, people have the same highest sum."""
    for seed in range(40 if NIGHTLY else 15):
        rng, figures = random.Random(f"surest {seed}"), []
        cases = [
            (rng.choice("ABCDEFGHIJ"), rng.randrange(3), rng.choice("vwxyz")) for _ in range(24)
        ]
        for at_once in (1 << 16, 1):
            for module in ("foreknow_judge.knowledge.cases", "foreknow.policy.person_limits"):
                monkeypatch.setattr(f"{module}._AT_ONCE", at_once)
            audit = fk.audit(table_of(cases), asked({"facts": {}, "below": "9/10"}), learned=False)
            (verdict,) = audit.verdicts
            (exposed,) = audit.exposed
            held = Written("generalized", ["ward"], "ill", {"release": table_of(cases)})
            cells = chances_by_facts(held.held, {*"vwxyz"}, 0, 0, 0)
            by_judge = worst_sum(held.held, held.groups_of("who", ()), *cells)
            figures.append((verdict.found.exact, verdict.found.value, exposed.over, by_judge))
        assert figures[0] == figures[1], cases


def test_sums_of_cases_by_enumeration():
    """Facts, links and negations; in half of the tables, x is impossible for one person."""
    equal, seeds = 0, range(2_000 if NIGHTLY else 45)
    for seed in seeds:
        rng = random.Random(f"cases {seed}")
        drawn = [(rng.choice("ABC"), rng.choice([0, 0, 1]), rng.choice("xyz")) for _ in range(6)]
        barred = {"B"} & {who for who, *_ in drawn} if seed % 2 else set()
        cases = [(who, at, rng.choice("yz") if who in barred else ill) for who, at, ill in drawn]
        if not any(ill == "x" for *_, ill in cases):
            continue
        groups = [
            [
                Member(who, (ill,), frozenset("x" if who in barred else ""))
                for who, g, ill in cases
                if g == at
            ]
            for at in {g for _, g, _ in cases}
        ]
        amounts = tuple(rng.randint(0, 2) for _ in range(3))
        knowledge, splits = {"facts": dict(zip("lkm", amounts, strict=True))}, [amounts]
        if seed % 3 == 0:
            many = amounts[0]
            knowledge = {"negations": {"k": many}}
            splits = [(n, many - n if barred else 0, 0) for n in range(many + 1)]
        sure = [sure_of(groups, frozenset("x"), Facts(*split)) for split in splits]
        truth = max(added_up(groups, of_split) for of_split in sure)
        table = table_of(cases).append_column("sex", [["mf"[who in barred] for who, *_ in cases]])
        rules = {"impossible": [{"values": ["x"], "where": {"sex": ["f"]}}]} if barred else {}
        require = {**knowledge, "below": 1, "values": ["x"], "knowing": []}
        (verdict,) = fk.audit(table, asked(require, **rules), learned=False).verdicts
        above = verdict.found.probability - float(truth)
        assert above > -1e-12, (cases, amounts, knowledge)
        equal += above < 1e-12
        if not barred and "facts" in knowledge:
            held = Written("generalized", ["ward"], "ill", {"release": table.drop(["sex"])})
            cells = chances_by_facts(held.held, {"x"}, *amounts)
            by_judge = worst_sum(held.held, held.groups_of("who", ()), *cells)[1]
            assert max(by_judge, *sure[0][0], *sure[0][-1]) == truth, (cases, amounts)
    assert equal > len(seeds) * 0.6


# ---- columns that link rows ----------------------------------------------------------------------


# ---- two spellings of a name ---------------------------------------------------------------------


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_spellings_are_one_person(semantics):
    """A release that names people: two were counted as three."""
    table = pd.DataFrame({"who": ["7", "07", "8"], "ward": ["a"] * 3, "ill": ["x", "y", "z"]})
    columns = {"quasi_identifiers": ["ward"], "sensitive": "ill", "person": "who"}
    release = fk.Release.from_generalized(table, **columns, semantics=semantics)
    limit = {"facts": {"l": 0}, "below": "1/2", "values": ["x"]}
    with pytest.raises(SchemaError, match="look like one"):
        fk.audit(release, {"require": [limit]})


@pytest.mark.parametrize("other", ["1e3", "1E3", "1.000", "1,000", "1 000", "1e+3"])
def test_two_spellings_of_numbers(other, tmp_path):
    """Where all are numbers, these were two people; beside 1f3 they may be codes."""
    rows = {"ward": ["a"] * 4, "ill": [*"uvuv"]}
    schema = {"identifiers": ["who"], "quasi_identifiers": ["ward"], "sensitive": "ill"}
    policy = {"schema": schema, "require": [{"k_anonymity": 4}]}
    numbers = pd.DataFrame({"who": ["1000", other, "1001", "7"], **rows})
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    for source in numbers, tmp_path / "numbers.csv":
        for call in fk.audit, fk.publish:
            with pytest.raises(SchemaError, match="look like one, and would be counted as two"):
                call(source, policy)
    assert fk.audit(numbers.assign(who=["1000", "2e3", "3.000", "7"]), policy).safe
    if {*"+ "}.isdisjoint(other):
        assert fk.audit(numbers.assign(who=["1000", other, "1f3", "7"]), policy).safe


def test_spelt_twice_is_refused():
    """What is found at once is what is refused one by one."""
    draw = random.Random(3)
    for _ in range(3000):
        few = [*{"".join(draw.choices("0aA7-. +_,eé", k=draw.randint(1, 4))) for _ in range(3)}]
        is_refused = repeated._is_spelt_twice(pa.array(few))
        if not is_refused and repeated._are_marked(pa.array(few)):
            continue
        with pytest.raises(SchemaError) if is_refused else nullcontext():
            refuse_two_spellings(few, "who")


# ---- units: whether a row is a person; where it is not, everything is said of cases --------------


ILLS = ["flu", "cold", "Sick person", "cough"]
REQUIRE = [{"facts": {"l": 0, "k": 1}, "below": 0.9}, {"k_anonymity": 4}]


def visits_of_people(people=24, each=5, **more):
    """A table of visits: `each` of every patient, who is always of one age."""
    of = [p for p in range(people) for _ in range(each)]
    rows = {
        "patient_id": [f"P{p}" for p in of],
        "visit_id": [f"V{i}" for i in range(len(of))],
        "age": [20 + p % 6 for p in of],
        "ill": [ILLS[(i + i // 7) % 4] for i in range(len(of))],
    }
    return pa.table({**rows, **more})


def policy(**schema):
    roles = {"identifiers": ["patient_id"], "quasi_identifiers": ["age"], "sensitive": "ill"}
    return {"schema": {**roles, **schema}, "require": REQUIRE}


def read(table, **schema):
    return fk.Microdata(table, **policy(**schema)["schema"])


def written(table, folder, kind="csv"):
    """The table as a file, a frame or a relation."""
    if kind in ("arrow", "polars"):
        return table if kind == "arrow" else pl.from_arrow(table)
    if kind == "duckdb":
        return duckdb.connect().from_arrow(table)
    path = folder / f"t.{kind}"
    pq.write_table(table, path) if kind == "parquet" else pl.from_arrow(table).write_csv(path)
    return path


def refused(table, said, **schema):
    with pytest.raises(fk.InputError, match=said) as error:
        fk.publish(table, policy(**schema))
    return str(error.value)


# ---- an identifier that repeats -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["arrow", "polars", "csv", "parquet", "duckdb"])
def test_identifier_that_repeats_is_refused(kind, tmp_path):
    source = written(visits_of_people(), tmp_path, kind)
    for engine in ("memory", "duckdb"):
        with pytest.raises(fk.InputError) as error:
            fk.publish(source, policy(), engine=engine)
        text = str(error.value)
        assert "'patient_id' repeats: 'P0' is in rows 1 and 2, and 120 rows have 24" in text
        ways = 'person = "patient_id"', '"set" or "multiset"', 'unit = "row"'
        for way in ("one row for each person", *ways):
            assert way in text


@pytest.mark.parametrize("how", ["arrow", "csv"])
def test_two_people_have_one_name(how, tmp_path):
    names = [f"N{i}" for i in range(119)] + ["N7"]
    table = written(visits_of_people(120, 1, name=names, id=[*range(120)]), tmp_path, how)
    assert fk.publish(table, policy(identifiers=["patient_id", "name"])).audit.safe
    assert fk.audit(table, policy(identifiers=["name", "patient_id"])).verdicts
    for others in (["id", "name"], ["visit_id", "name"]):  # which may number rows
        message = refused(table, f'say person = "{others[0]}" in', identifiers=others)
        assert 'person = "name"' not in message
        assert fk.publish(table, policy(identifiers=others, person=others[0])).audit.safe
        assert fk.publish(table, policy(identifiers=others[:1])).audit.safe


@pytest.mark.parametrize("name", ["Patient", "patient_id", "id"])
def test_number_is_of_one_person(name):
    numbers = [1000 + i for i in range(119)] + [1007]
    coded = [*map("P{}".format, numbers[:-2]), "unknown", "P1007"]
    table = visits_of_people(120, 1).drop_columns("patient_id")
    for own in (numbers, coded):
        again = table.append_column(name, pa.array(own))
        message = refused(again, f"'{name}' repeats", identifiers=[name], person="visit_id")
        assert f'say person = "{name}" with semantics' in message or own is coded
        assert 'person = "visit_id"' not in message or own is coded


def test_every_row_needs_its_number():
    names = [f"N{i}" for i in range(119)] + ["N7"]
    numbers = [f"P{i}" for i in range(119)] + [None]
    table = visits_of_people(120, 1, name=names, patient_id=numbers)
    refused(table, "'name' repeats", identifiers=["patient_id", "name"])
    both = ["visit_id", "patient_id"]
    refused(visits_of_people(), "'patient_id' repeats", identifiers=both, person="visit_id")
    # Where people have several rows, an identifier is of one of them.
    several = {"person": "patient_id", "semantics": "multiset"}
    read(
        visits_of_people(name=[f"n{i // 5}" for i in range(120)]), **several, identifiers=["name"]
    ).everyone()
    with pytest.raises(fk.InputError, match="'visit_id'"):
        read(visits_of_people(), **several | {"person": "visit_id"}).everyone()


def test_a_published_number_is_noted(tmp_path):
    text = "patient_id is published, and looks like the number of a person"
    more = {"identifiers": [], "quasi_identifiers": ["age", "patient_id"]}
    rules = policy(**more)
    publication = fk.publish(visits_of_people(), rules)
    for found in (
        publication.audit,
        fk.audit(visits_of_people(), rules),
        fk.audit(read(visits_of_people(), **more), rules),
    ):
        assert found.scope.numbers == ("patient_id",)
        (note,) = [note for note in found.notes if note.startswith(text)]
        assert 'unit = "row" and person = "patient_id"' in note
    publication.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").claimed_scope.numbers == ("patient_id",)
    for table, schema, numbers in (
        (visits_of_people(), {"unit": "row", "person": "patient_id"}, ()),
        (visits_of_people(), {"identifiers": [], "sensitive": "patient_id"}, ("patient_id",)),
        (visits_of_people(each=1), more, ()),
    ):
        assert fk.audit(table, policy(**schema)).scope.numbers == numbers


# ---- cases ---------------------------------------------------------------------------------------

# What is said of people where rows are cases: labels of the table, and what persons may have.
TOLD = re.compile(
    r"Sick person|and not a person: people may have several cases|be of one person|"
    r"of a person who has several|of people it was not judged|"
    r"releases of the same people|those of one person|names people|--people|--person|person="
)
TAGS = re.compile(r"(?s)<(script|style).*?</\1>|<[^>]*>")


def assert_cases(text):
    rest = TOLD.sub("", " ".join(text.split()))
    match = re.search(r".{0,60}\b(people|persons?)\b.{0,30}", rest, re.IGNORECASE)
    assert match is None, match[0]
    assert "cases" in rest


def printed(result):
    text = StringIO()
    Console(file=text, width=100).print(result)
    return text.getvalue()


@pytest.mark.complete
def test_reports_speak_of_cases(desk):
    pl.from_arrow(visits_of_people(each=5)).write_csv("visits.csv")
    rules = fk.Policy.from_dict(policy(unit="row"))
    rules.save(desk.folder / "p.toml")
    both = "visits.csv", "-p", "p.toml"
    desk.says("publish", *both, "-o", "out")
    for call in (["audit", *both], ["verify", "out"], ["risk", "out"]):
        message = desk.says(*call)
        assert "people may have several cases" in message
        assert_cases(message)
    for call in (
        ["evidence", "out", *both, "--queries", "5"],
        ["risk", *both],
        ["curves", "out", "--html", "c.html"],
        ["skyline", "out", "-c", "0.9"],
        ["skyline", "out", "-c", "0.9", "--value", "flu"],
        ["utility", "out", *both, "--html", "u.html"],
        ["learned", "out", *both, "--by", "age"],
    ):
        assert_cases(desk.says(*call))
    publication = fk.publish("visits.csv", rules)
    for message in (fk.verify("out"), publication.certificate):
        assert_cases(repr(message))
    assert_cases("\n".join(fk.audit("out", rules).notes))
    pages = ("out/report.html", "out.evidence.html", "c.html", "u.html")
    report, evidence, *others = ((desk.folder / page).read_text() for page in pages)
    for text in (report, evidence):
        for message in ("people may have several cases", "120 cases", "Sick person"):
            assert message in text
    for text in (report, *others):
        assert_cases(TAGS.sub(" ", text))
    assert "so none of these rows can be told" not in " ".join(evidence.split())
    assert "All of them may be those of one person" in " ".join(evidence.split())
    assert_cases(printed(fk.compare("visits.csv", rules, methods=["mondrian"], processes=0)))
    microdata = fk.Microdata("visits.csv", rules.schema)
    result = printed(fk.attack(microdata, fk.Mondrian(), rules, seconds=1))
    assert_cases(result)
    assert "120 cases" in result


def test_refusals_and_certificates_say_cases(tmp_path):
    rare = visits_of_people(people=40, each=1, age=[f"place {i}" for i in range(40)])
    refused(rare, "fewer than 4 cases each", unit="row")
    with pytest.raises(fk.NoSafeRelease) as error:
        fk.publish(visits_of_people(people=1, each=3, ill=["Sick person"] * 3), policy(unit="row"))
    assert_cases(str(error.value))
    assert "Sick person" in str(error.value)
    assert "120 people" in fk.publish(visits_of_people(), policy(identifiers=[])).audit.summary()
    fk.publish(visits_of_people(), policy(unit="row")).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    document = json.loads(path.read_text())
    assert document["scope"]["cases"] is True
    assert document["policy"]["schema"].pop("unit") == "row"
    path.write_text(json.dumps(document))
    with pytest.raises(fk.ForeknowError, match=r"cases"):
        fk.verify(tmp_path / "out")
    for more, said in (
        ({"person": "id", "unit": "row", "semantics": "set"}, "each row is a case of 'id'"),
        ({"unit": "rows"}, "'row'"),
    ):
        with pytest.raises(fk.InputError, match=said):
            fk.Schema(sensitive="ill", quasi_identifiers=["age"], **more)


# ---- a first policy ------------------------------------------------------------------------------


def test_init_finds_repeated_people():
    table = visits_of_people(people=12, each=40)  # 12 numbers in 480 rows
    suggestion = fk.suggest_policy(table)
    assert suggestion.repeated == ("patient_id",)
    assert "can be run as it is" not in suggestion.to_toml()
    assert 'unit = "row"\nperson = "patient_id"\n' in suggestion.to_toml()
    with pytest.raises(fk.NoSafeRelease):  # nobody's 40 rows together
        fk.publish(table, suggestion.policy)
    assert "can be run as it is" in fk.suggest_policy(visits_of_people(each=1)).to_toml()
    # Names that only together name somebody need no role.
    names = {"last_name": [f"L{i % 11}" for i in range(120)]}
    names["first_name"] = [f"F{i // 11}" for i in range(120)]
    suggestion = fk.suggest_policy(visits_of_people(people=120, each=1, **names))
    assert not suggestion.repeated
    assert not {*names} & {*suggestion.policy.schema.identifiers}
    # Dates of birth but for one are no numbers of people.
    born = [f"{i % 28 + 1:02d}.03.{1900 + i % 97}" for i in range(2716)]
    table = visits_of_people(people=2718, each=1, geb=[*born, "00.00.1961", born[0]])
    suggestion = fk.suggest_policy(table, sensitive="ill")
    assert not suggestion.repeated
    assert "geb" not in suggestion.policy.schema.columns
    assert "nearly all of its values read as dates" in suggestion.to_toml()


# ---- households, and other releases -------------------------------------------------------------


@pytest.mark.complete
@pytest.mark.parametrize(
    ("name", "how"), [("household_id", "arrow"), ("hid", "csv"), ("Anschrift", "arrow")]
)
def test_rarely_shared_columns_are_named(name, how, tmp_path):
    table = visits_of_people(120, 1, **{name: [f"H{i // 3:03d}" for i in range(120)]})
    table = written(table, tmp_path, how)
    text = f"People who share {name}: most of its values are those of two to nine rows."
    publication = fk.publish(table, policy())
    for notes in (publication.audit.notes, fk.audit(table, policy()).notes):
        assert any(note.startswith(text) for note in notes)
    suggested = fk.suggest_policy(table, sensitive="ill")
    assert f"share a value of {name}" in suggested.to_toml()
    assert suggested.policy.requirements[0].points[0].adversary.m == 2  # of three who live there
    # What has no role is not named in what is published.
    publication.write(tmp_path / "out")
    report, told = ((tmp_path / "out" / f).read_text() for f in ("report.html", "certificate.json"))
    assert f"share {name}" not in report
    assert f'"{name}"' not in told
    assert "a column that is not published" in report
    assert fk.verify(tmp_path / "out").claimed_scope.shared == ("",)
    other = "Other releases of the same people"
    assert sum(note.startswith(other) for note in publication.audit.notes) == 1
    assert other in report
    rules = fk.Policy([fk.Requirement(fk.Facts(), below=0.9)])
    notes = fk.audit(fk.GroupCounts.from_bags([["a", "b"]]), rules).notes
    assert any(note.startswith(other) for note in notes)


# ---- what is looked at in the reading that is made anyway ---------------------------------------


@pytest.fixture
def asked_of_rows(monkeypatch):
    """A CSV file is large here; what its engine is asked to count is noted."""
    monkeypatch.setattr(units, "_LARGE", 1)
    asked = []
    for name in ("distinct", "sampled"):
        own = getattr(DuckTable, name)

        def noted(self, what, *more, own=own, name=name):
            asked.append(name)
            return own(self, what, *more)

        monkeypatch.setattr(DuckTable, name, noted)
    return asked


def large(folder, each, missing="", **more):
    """A CSV file of 6000 people, `each` of a household."""
    n = 6000
    table = {
        "patient_id": [missing if i % 7 == 3 else f"P{i * 37 % n}" for i in range(n)],
        "household": [f"H{i * 11 % n // each}" for i in range(n)],
        "age": [str(20 + i % 6) for i in range(n)],
        "ill": [ILLS[(i + i // 7) % 4] for i in range(n)],
    }
    pl.DataFrame(table | more).write_csv(folder / "large.csv")
    return folder / "large.csv"


@pytest.mark.parametrize("each", [1, 3, 40])
def test_csv_is_read_once(each, tmp_path, asked_of_rows):
    path = large(tmp_path, each)
    microdata = read(path)
    assert (microdata.n_people, asked_of_rows) == (6000, [])
    assert microdata.shared == (("household",) if each == 3 else ())
    assert read(pl.read_csv(path).to_arrow()).shared == microdata.shared


def test_missing_spellings_hide_no_household(tmp_path, asked_of_rows, monkeypatch):
    monkeypatch.setattr(units, "_OF_LARGE", 1)
    homes = [i * 11 % 6000 // 3 for i in range(6000)]
    path = large(tmp_path, 3, household=["NA" if i % 10 < 6 else f"H{i}" for i in homes])
    microdata = read(path, reading={"missing": ["NA"]})
    assert (microdata.n_people, microdata.shared) == (6000, ("household",))


# ---- households: what all of one have is shown once; and how many share chosen columns ---------

SHARED = {
    "quasi_identifiers": ["ward"],
    "sensitive": ["ill", "income"],
    "shared": {"by": "home", "values": ["income"]},
}
INCOME = {**SHARED, "sensitive": "income"}
LIMIT = {"facts": {}, "below": 0.3, "sensitive": "income"}
EXACT = {"publish": {"labels": {"ward": "exact"}}}


def table_of_homes(rows, value):
    home, groups = zip(*rows, strict=True)
    wards = [f"w{group}" for group in groups]
    income = [value[own] for own in home]
    return pa.table({"home": home, "ward": wards, "ill": ["flu"] * len(rows), "income": income})


def in_one_ward(*rows):
    """Households, in short, with their incomes."""
    return table_of_homes([(home, 0) for home, _ in rows], dict(rows))


def asking(*require, schema=SHARED, **more):
    return fk.Policy.from_dict({"schema": schema, "require": [*require], **more})


def audited(table, policy):
    return fk.audit(table, policy, learned=False).verdicts[0]


TWELVE = pa.table({
    "home": [h for h in range(6) for _ in range(2)],
    "ward": [f"w{h}" for h in range(6) for _ in range(2)],
    "ill": ["abcd"[(h + j) % 4] for h in range(6) for j in range(2)],
    "income": ["123"[h % 3] for h in range(6) for _ in range(2)],
})  # fmt: skip
JOB = {"sensitive": "ill", "facts": {}, "below": "1/2", "knowing": []}


def shared(**own):
    return lambda: fk.Schema(**{**SHARED, "shared": own})


def published(*require, table=TWELVE, **how):
    return lambda: fk.publish(table, asking(*require), **how)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (shared(by="home", values=["pay"]), "'pay' is no sensitive column"),
        (shared(values=["income"]), "by is missing"),
        (published(JOB, method=fk.Anatomy(l=2)), 'form = "generalized"'),
        (lambda: fk.audit(TWELVE.drop_columns("home"), asking(LIMIT)), "home"),
        (
            lambda: fk.publish(fk.Microdata(TWELVE, **{**SHARED, "shared": None}), asking(LIMIT)),
            "shared",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(call, message):
    with pytest.raises(fk.InputError, match=message):
        call()


def test_households_are_not_followed(tmp_path):
    table = TWELVE.append_column("who", [[f"p{i}" for i in range(12)]])
    schema = {**SHARED, "identifiers": ["who"]}
    policy = asking({**LIMIT, "below": 0.9, "knowing": []}, schema=schema, **EXACT)
    fk.publish(table, policy).write(tmp_path / "one")
    with pytest.raises(fk.NoSafeRelease, match="Nobody is new"):
        fk.publish(table, policy, after=tmp_path / "one")
    with pytest.raises(fk.InputError, match="several releases together"):
        fk.audit([tmp_path / "one", tmp_path / "one"], policy)


def test_others_know_the_shown_column():
    policy = asking(JOB)
    assert policy.requirements[0].knowing == ("home_shown",)
    table = TWELVE.set_column(2, "ill", [["x", "y"] * 6]).set_column(1, "ward", [["w"] * 12])
    with pytest.raises(fk.NoSafeRelease, match="reaches 1"):
        fk.publish(table, policy, labels={"ward": "exact"})


def test_a_forged_certificate_is_refused(tmp_path):
    policy = asking({**LIMIT, "below": "0.9", "knowing": []}, **EXACT)
    fk.publish(TWELVE, policy, seed=1).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    document = json.loads(path.read_text())
    assert document["policy"]["require"][0]["knowing"] == ["home_shown"]
    document["policy"]["require"][0]["knowing"] = []
    path.write_text(json.dumps(document))
    with pytest.raises(fk.InputError, match="whose row shows it"):
        fk.verify(tmp_path / "out")


def test_households_without_values_are_dropped(tmp_path):
    rows = [("a", "1"), ("b", None), ("b", None), ("c", "2"), ("c", "2"), (None, None)]
    limit = {"facts": {}, "below": "9/10"}
    policy = asking(limit, schema={**INCOME, "missing": "drop"}, **EXACT)
    fk.publish(in_one_ward(*rows), policy, seed=1).write(tmp_path / "out")
    shown = csv.read_csv(tmp_path / "out" / "release.csv").to_pylist()
    results = sorted((row["home_shown"], row["income"]) for row in shown)
    assert results == [("here", "1"), ("here", "2"), ("shown once", "shown once")]


# ---- releases that do not say where a household's value stands ----------------------------------

TABLE = pd.DataFrame({
    "ward": ["w"] * 6,
    "home": [3, 3, 5, 3, 5, 1],
    "job": ["nurse"] * 4 + ["cook"] * 2,
    "income": ["low", "low", "high", "low", "high", "high"],
    "ill": ["flu", "cold", "cold", "gout", "cold", "flu"],
})  # fmt: skip


def test_columns_beside_shared_ones():
    """Who is the only cook with an income that is shown has flu: 1, where rows said 1/2, safe."""
    schema = {**SHARED, "sensitive": ["income", "ill"], "other": ["job"]}
    asks = {"sensitive": "ill", "facts": {"l": 0}, "below": "2/3", "values": ["flu"]}
    policy = {"schema": schema, "require": [asks]}
    for table in (TABLE, fk.Release.from_schema(TABLE, fk.Schema(**schema))):
        assert audited(table, policy).found.exact == 1
    columns = {key: of for key, of in schema.items() if key != "shared"}
    release = fk.Release.from_generalized(TABLE, **columns)
    with pytest.raises(SchemaError, match=r"no column 'home_shown' .* fk\.Microdata"):
        fk.audit(release, policy)
    sizes = {"schema": schema, "require": [{"k_anonymity": 6, "knowing": []}]}
    assert fk.audit(release, sizes).safe  # people are counted whatever their values
    counts = fk.GroupCounts.from_bags([["low", "high"]])
    with pytest.raises(UnsupportedError, match="is shown once for each"):
        fk.audit(counts, asking({"facts": {"l": 0}, "below": "2/3"}, schema=INCOME))


# ---- k-anonymity of chosen columns: how many share what is published in them, row by row ---------


COLUMNS = ["age", "sex", "zip"]


def drawn(draw):
    size = draw.randint(8, 30)
    pools = {"sex": "mf", "zip": ["0123", "0124", "0211"], "job": "xy", "ill": "abc"}
    rows = {name: draw.choices(pool, k=size) for name, pool in pools.items()}
    return pa.table({"age": draw.choices(range(20, 44), k=size), **rows})


ROLES_COLUMNS = {"quasi_identifiers": COLUMNS, "sensitive": "ill", "other": ["job"]}
SCHEMA = fk.Schema(**ROLES_COLUMNS, hierarchies={"zip": {"mask": 4}})


def test_certificates_cannot_promise_more(tmp_path):
    requirements = [fk.Requirement(fk.KAnonymity(4, of=["age", "zip"]))]
    policy = fk.Policy(requirements, SCHEMA, fk.PublishOptions(labels={"sex": "exact"}))
    fk.publish(drawn(random.Random(5)), policy).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    text = path.read_text()
    lies = [[["ill"]], [["nothing"]], [], ["age"], [[["age"]]]]
    for k, of in ((1000, [["age"]]), (0, [["age"]]), *((1, ly) for ly in lies)):
        document = json.loads(text)
        for own in (document["policy"]["require"][0], document["findings"][0]["judged"]):
            own["k_anonymity"] = {"k": k, "of": of}
        path.write_text(json.dumps(document))
        with pytest.raises(fk.InputError):
            fk.verify(tmp_path / "out")


def required(rule, schema=SCHEMA, **more):
    return lambda: fk.Policy([fk.Requirement(rule, **more)], schema)


CASES = fk.Schema(quasi_identifiers=["age"], sensitive="ill", person="who", unit="row")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fk.KAnonymity(2, of=[]), "of is a list of columns"),
        (lambda: fk.KAnonymity(2, of=[["age", "age"]]), "a column twice"),
        (lambda: fk.GroupSize(2, of=["age"]), "of names one column of households"),
        (required(fk.KAnonymity(2, of=["ages"])), "no quasi-identifier.*did you mean 'age'"),
        (required(fk.KAnonymity(2, of=["job"])), "'job' is no quasi-identifier"),
        (required(fk.KAnonymity(2, of=["age"]), CASES), "rows are cases of 'who'"),
    ],
)
def test_absent_columns_are_refused(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()
