"""Values by how they begin and in ranges, what nobody has, and which values a label lists."""

import datetime
import datetime as dt
import json
import random
import sqlite3
import tomllib
from collections import Counter
from fractions import Fraction

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import POLICY
from tests.cli.conftest import desk as desk
from tests.common import examples
from tests.oracle.facts import meant

import foreknow as fk
from foreknow.data.labels.ranges import Range
from foreknow.errors import SchemaError
from foreknow_judge.errors import CertificateError, PolicyError
from foreknow_judge.output_lines import main

CODES = ["B20", "B20.1", "B2", "B", "Z21", "Z21*", "Flu"]
TEXTS = [*CODES, "B20*", "B*", "Z*", "C34", "F*", "Q*", "cough"]
NUMBERS = ["0", "5", "5.0", "7.5", "10", "-3", "unknown"]
SCHEMA = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="ill")


def table_of(values, seed=0):
    chance = random.Random(seed)
    ages = [chance.randint(20, 79) for _ in values]
    return pa.table({"age": ages, "sex": [chance.choice("mf") for _ in values], "ill": values})


def written(values, rules, folder, **more):
    publication = fk.publish(fk.Microdata(table_of(values), rules.schema), rules, **more)
    publication.write(folder)
    return publication


def policy(adversary=None, below="3/4", schema=SCHEMA, **about):
    return fk.Policy([fk.Requirement(adversary or fk.Facts(), below=below, **about)], schema)


def bags_of(*bags):
    return fk.GroupCounts.from_bags(bags)


# ---- by how values begin, and in ranges ----------------------------------------------------------

lists = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3, unique=True)
ends = st.one_of(st.none(), st.sampled_from([0, 5, "5", 7, "7.5", 10.0, -3, "1e1"]))
ranges = st.tuples(ends, ends).filter(lambda two: two != (None, None))


def as_range(two):
    return {key: end for key, end in zip(("from", "to"), two, strict=True) if end is not None}


KNOWN = [fk.Facts(), fk.Facts(1, 1, 0), fk.Facts(0, 1, 1), fk.Implications(1), fk.Negations(1)]


@st.composite
def cases(draw):
    """A table, a policy of lists, sets or ranges, and a form."""
    numbers = draw(st.booleans())
    values = draw(st.lists(st.sampled_from(NUMBERS if numbers else CODES), min_size=6, max_size=40))
    rising = ranges.map(as_range).filter(lambda r: len(r) < 2 or float(r["from"]) <= float(r["to"]))
    sets = st.dictionaries(st.sampled_from(["x", "B20"]), rising if numbers else lists, min_size=1)
    key, own = "any_of", draw(sets)
    if not numbers and draw(st.booleans()):
        key, own = draw(st.sampled_from(["any_of", "values", "excluded"])), draw(lists)
    form = draw(st.sampled_from(["generalized", "bucketized"]))
    return values, draw(st.sampled_from(KNOWN)), {key: own}, form


@examples(2000, daily=8, deadline=None)
@given(cases())
def test_second_reading_verifies_publication(tmp_path_factory, case):
    values, adversary, about, form = case
    folder = tmp_path_factory.mktemp("made") / "out"
    rules = policy(adversary, "9/10", **about)
    try:
        result = written(values, rules, folder, options=fk.PublishOptions(form=form))
    except fk.NoSafeRelease:
        return
    except PolicyError:  # everybody has one of these
        members = rules.requirements[0].any_of
        sets = members.values() if isinstance(members, dict) else [members]
        plain = [own.to_dict() if isinstance(own, Range) else own for own in sets]
        everybody = [meant(own, {*values}) == {*values} for own in plain]
        assert any(everybody)
        return
    verification = fk.verify(folder, rules)
    assert fk.verify(folder).findings[0].reached == result.audit.verdicts[0].disclosure.exact
    for key in ("absent", "idle", "begin_alike", "no_numbers"):
        assert getattr(verification.scope, key) == getattr(result.audit.scope, key)


def test_dates_are_in_ranges_too(tmp_path):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i % 60) for i in range(240)]
    rules = policy(fk.Facts(0, 1, 0), any_of={"january": {"to": datetime.date(2024, 1, 31)}})
    result = written(days, rules, tmp_path / "out")
    assert rules.to_dict()["require"][0]["any_of"] == {"january": {"to": "2024-01-31"}}
    fk.verify(tmp_path / "out")
    assert max(rules.requirements[0].sets(result.release.counts.values)["january"]) == "2024-01-31"
    moments = bags_of(["2024-01-31 23:59", "2024-02-01 00:00", "2024-03-01"])
    assert rules.requirements[0].sets(moments.values) == {"january": ("2024-01-31 23:59",)}


# ---- what nobody has ----------------------------------------------------------------------------


@pytest.mark.complete
def test_a_policy_outlives_a_table(tmp_path):
    rules = fk.Policy(
        [
            fk.Requirement(fk.Facts(0, 2, 0), below="3/4"),
            fk.Requirement(fk.Facts(), below="1/2", values=["Syphilis"]),
            fk.Requirement(fk.Facts(), below="1/2", any_of={"lungs": ["Asthma", "COPD*"]}),
            fk.Requirement(fk.Facts(), below="4/5", excluded=["HIW"]),
        ],
        SCHEMA,
    )
    result = written(["HIV", "Flu", "Cold", "Gout", "Ache"] * 20, rules, tmp_path / "out")
    for scope in (result.audit.scope, fk.verify(tmp_path / "out").scope):
        assert scope.idle == ("Syphilis", "lungs")
        assert scope.absent == (("Asthma", ""), ("COPD*", ""), ("HIW", "HIV"), ("Syphilis", ""))
    assert result.audit.notes[:3] == (
        "Nobody has Syphilis: a requirement on it asks nothing of this table.",
        "Nobody has lungs: a requirement on it asks nothing of this table.",
        "Requirements name what nobody in the table has: 'Asthma', 'COPD*', 'HIW'. Did you mean "
        "'HIV' for 'HIW'?",
    )
    assert [v.safe for v in result.audit.verdicts] == [True] * 4
    assert result.audit.to_dict()["scope"]["idle"] == ["Syphilis", "lungs"]
    report = (tmp_path / "out" / "report.html").read_text()
    assert report.count("asks nothing</span>") == 4
    assert "Safe: both requirements hold; 2 ask nothing of this table" in report
    assert "Nobody has Syphilis: a requirement on it asks nothing of this table." in report


def test_report_of_nothing_asked(desk):
    idle = desk.put("p.toml", POLICY.replace('"flu"', '"gout"'))
    asked = "table.csv", "--policy", "p.toml"
    code, _, err = desk.run("publish", *asked, "--out", "out")
    assert code == 1
    assert "nothing was judged: nobody has a value" in " ".join(err.split())
    assert not (desk.folder / "out").exists()
    code, out, err = desk.run("compare", *asked, "--queries", 20)
    assert code == 1
    assert " ".join(out.split()).startswith("Nothing was judged: nobody has a value")
    desk.run("audit", *asked, "--html", "page.html")
    code, out, _ = desk.run("audit", *asked)
    report = (desk.folder / "page.html").read_text()
    assert code == 1
    for shown in (" ".join(out.split()), report):
        assert "Nothing was judged: nobody has a value that the requirement is about" in shown
        assert "Safe" not in shown
    assert '<header class="verdict plain">' in report
    code, out, _ = desk.run("audit", *asked, "--json", "-")
    document = json.loads(out)
    assert (code, document["safe"], document["nothing_judged"]) == (1, False, True)
    audit = fk.audit(desk.folder / "table.csv", fk.Policy.load(idle))
    assert (audit.safe, audit.idle) == (False, True)
    assert "nothing was judged" in repr(audit)
    assert "None" not in repr(audit.verdicts[0])


def test_idle_release_is_not_verified(desk):
    desk.put("idle.toml", POLICY.replace('"flu"', '"gout"'))
    desk.says("publish", "table.csv", "--policy", "policy.toml", "--out", "out")
    desk.says("verify", "out")
    code, out, err = desk.run("verify", "out", "--policy", "idle.toml")
    assert (code, out) == (1, "")
    assert "nothing was judged" in err
    rules, place = fk.Policy.load(desk.folder / "idle.toml"), desk.folder / "out"
    document = json.loads((place / "certificate.json").read_text())
    document["policy"]["require"] = rules.published()["require"]
    document["findings"] = [fk.audit(place, rules).verdicts[0].to_dict()]
    document["scope"] |= {"unprotected": {"cold": 4, "flu": 4}}
    document["scope"] |= {"absent": [["gout", ""]], "idle": ["gout"]}
    (place / "certificate.json").write_text(json.dumps(document))
    for read in (fk.verify, fk.evidence_report):
        with pytest.raises(CertificateError, match="nothing was judged"):
            read(place)


def test_newcomers_may_have_none(tmp_path):
    rows, more = (
        table_of(["HIV", "Flu", "Cold", "Gout"] * 20),
        table_of(["Flu", "Cold"] * 30, seed=2),
    )
    rows = rows.append_column("pid", [[str(i) for i in range(80)]])
    more = more.append_column("pid", [[str(i) for i in range(100, 160)]])
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="ill", identifiers=["pid"])
    rules = policy(values=["HIV"], schema=schema)
    fk.publish(rows, rules, seed=1).write(tmp_path / "one")
    publication = fk.publish(more, rules, seed=1, after=tmp_path / "one")
    publication.write(tmp_path / "two")
    assert (publication.audit.idle, publication.together.safe) == (True, True)
    assert fk.verify(tmp_path / "two", after=tmp_path / "one").together
    two, one = (str(tmp_path / name) for name in ("two", "one"))
    assert main([two, "--after", one]) == 0
    assert main([two]) == 1
    with pytest.raises(CertificateError, match="name the releases before it"):
        fk.verify(tmp_path / "two")
    third, fourth = (
        more.set_column(more.num_columns - 1, "pid", [[str(i) for i in range(first, first + 60)]])
        for first in (200, 300)
    )
    before = [tmp_path / "one", tmp_path / "two"]
    fk.publish(third, rules, seed=1, after=before).write(tmp_path / "three")
    assert fk.verify(tmp_path / "three", after=before).together
    with pytest.raises(fk.NoSafeRelease, match="nothing was judged"):
        fk.publish(fourth, policy(values=["Mumps"], schema=schema), after=tmp_path / "one")


# ---- what looks like a value that somebody has ---------------------------------------------------


def test_other_values_are_noted():
    known = ["B20", "Hepatitis B", "Stage II", "male", "asymptomatic", "1.5", "HER2+", "Flu"]
    others = [
        "B24",
        "B2",
        "B20.*",
        "Hepatitis A",
        "Stage III",
        "female",
        "symptomatic",
        "15",
        "HER2-",
    ]
    for text in others:
        audit = fk.audit(bags_of(known), policy(values=[text, "Flu"]))
        assert text in dict(audit.scope.absent)
    for absent in ([], ["1200.5"]):
        with pytest.raises(PolicyError, match=r"'1200\.50' is the same number"):
            fk.audit(bags_of(["1200.50", "7", "Flu"]), policy(values=["1200.5"], absent=absent))


def test_label_of_nobody_is_fine():
    rows = [["B20", "HIV", "*"], ["Z21", "HIV", "*"], ["J11", "flu", "*"], ["M1", "M", "*"]]
    schema = fk.Schema(
        quasi_identifiers=["age"], sensitive="ill", hierarchies={"ill": fk.Tree(rows)}
    )
    counts = bags_of(["J11", "M1"])
    audit = fk.audit(counts, policy(schema=schema, any_of="HIV"))
    assert (audit.safe, audit.scope.idle) == (False, ("HIV",))
    assert fk.audit(counts, policy(schema=schema, at_level=1, excluded=["HIV"])).scope.idle == ()
    with pytest.raises(PolicyError, match="'HVI'"):
        fk.audit(counts, policy(schema=schema, any_of="HVI"))
    with pytest.raises(fk.InputError, match="'HIV'"):
        fk.skyline(counts, confidence="1/2", any_of="HIV", policy=policy(schema=schema, any_of="M"))


def test_labels_in_two_spellings():
    """The values below "Lung" would not be counted with those below "lung"."""
    rows = [["flu", "lung", "*"], ["cold", "Lung", "*"], ["ulcer", "stomach", "*"]]
    counts, labels = bags_of(["flu", "cold", "ulcer", "ulcer"]), [*"ab"]
    for key, label in (("any_of", "lung"), ("at_level", 1)):
        schema = fk.Schema(
            quasi_identifiers=labels, sensitive="ill", hierarchies={"ill": fk.Tree(rows)}
        )
        with pytest.raises(PolicyError, match="the labels 'lung' and 'Lung', which differ only"):
            fk.audit(counts, policy(schema=schema, **{key: label}))
    assert fk.audit(counts, policy(schema=schema, any_of="stomach")).verdicts
    rows[1][1] = "lung"
    schema = fk.Schema(
        quasi_identifiers=labels, sensitive="ill", hierarchies={"ill": fk.Tree(rows)}
    )
    assert fk.audit(counts, policy(schema=schema, any_of="lung")).verdicts[0].reached == 0.5


# ---- near, but all alike ------------------------------------------------------------------------


# ---- sets of values: a label lists only what enough people of the table have ---------------------


ILL = ["flu", "cold", "cough"]
K5 = fk.Requirement(fk.KAnonymity(5))
HALF = fk.Requirement(fk.Facts(1, 1, 0), below="9/10")


def people(seed=0, n=240, **columns):
    """A table of people of some jobs, of which a few are rare."""
    draw = random.Random(seed)
    jobs = draw.choices(["clerk", "cook", "nurse", "teacher"], k=n)
    jobs[3], jobs[50], jobs[51], jobs[90] = "queen", "pope", "pope", "nun"
    made = {"job": jobs, "age": draw.choices(range(20, 60), k=n), "ill": draw.choices(ILL, k=n)}
    return pa.table(made | columns)


def policy_labels(*required, columns=("job", "age"), **more):
    schema = fk.Schema(quasi_identifiers=[*columns], sensitive="ill", **more)
    return fk.Policy([*required] or [K5], schema)


def listed(made, column="job", table=None):
    """Every value that a label of a column lists."""
    labels = made.to_arrow(table)[column].to_pylist()
    return {part.strip('"') for label in labels for part in label.split(" | ")}


def refused(said, table, rules, **how):
    with pytest.raises(fk.InputError, match=said) as caught:
        fk.publish(table, rules, **how)
    return str(caught.value)


@pytest.mark.parametrize(
    ("method", "required", "least"),
    [
        ("mondrian", [K5], 5), ("fulldomain", [HALF], 5), ("decoy", [K5, HALF], 5),
        ("mondrian", [fk.Requirement(fk.KAnonymity(2))], 2),
    ],
)  # fmt: skip
def test_labels_list_no_rare_value(method, required, least, tmp_path):
    table = people()
    have = Counter(table["job"].to_pylist())
    publication = fk.publish(table, policy_labels(*required), method=method, seed=1)
    rare = {job for job, n in have.items() if n < least}
    assert rare
    assert listed(publication) <= {*have, "other", "*"} - rare
    assert any(note.startswith("rare values: in job") for note in publication.certificate.notes)
    publication.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out")
    text = (tmp_path / "out" / "release.csv").read_text()
    assert not any(job in text for job in rare)


def test_numbers_as_sets_are_refused():
    rules = policy_labels(columns=["age"])
    own = policy_labels(columns=["age"], hierarchies={"age": fk.Intervals([10])})
    for of, way in ((rules, "ranges"), (own, "hierarchy")):
        text = f'{way}: leave out labels = "set"'
        refused(text, people(age=[*range(240)]), of, labels={"age": "set"})
    publication = fk.publish(people(age=[i % 4 for i in range(240)]), rules, labels={"age": "set"})
    assert listed(publication, "age") <= {"0", "1", "2", "3", "*"}


def test_populations_exclude_merged_values():
    rows = people()
    rules = policy_labels(
        fk.Requirement(fk.KMap(3, pa.concat_tables([rows.select(["job", "age"])] * 3)))
    )
    refused("compared with the labels of groups", rows, rules)
    assert fk.publish(rows, rules, labels={"job": "exact"}).audit.safe


@pytest.mark.parametrize(
    ("values", "more", "way"),
    [
        (pa.array([f"N{i:03d}" for i in range(240)]), {"mask": 4}, 'leave out labels = "range"'),
        (pa.array([float("inf"), *(20_000.5 + i for i in range(239))]), None, "finite numbers"),
    ],
)
def test_ranges_avoid_rare_ends(values, more, way):
    table = people(place=values)
    rules = policy_labels(columns=("place",), hierarchies={"place": more} if more else {})
    assert way in refused("ranges would end at them", table, rules, labels={"place": "range"})
    assert fk.publish(table, rules, labels={"place": "exact"}).audit.safe


# ---- texts that are dates or numbers -------------------------------------------------------------

DAYS = [dt.date(1950, 1, 1) + dt.timedelta(days=41 * i) for i in range(240)]
GERMAN = [day.strftime("%d.%m.%Y") for day in DAYS]


@pytest.mark.parametrize(
    ("values", "odd", "rows", "kind"),
    [
        (["00.00.1961", "old", *GERMAN[2:]], "dates", "row 1 ('00.00.1961'), row 2 ('old')", "csv"),
        ([*map(str, DAYS[:-1]), "unknown"], "dates", "row 240 ('unknown')", "frame"),
        (
            [*(str(20 + i % 60) for i in range(238)), "old", "old"],
            *("numbers", "row 239 ('old')", "csv"),
        ),
        ([*(f"{i}.690,00" for i in range(239)), "NA"], "numbers", "row 240 ('NA')", "frame"),
        ([*map(str, DAYS[:-1]), "unknown"], "dates", "row 240 ('unknown')", "csv"),
    ],
)
def test_texts_almost_all_numbers(values, odd, rows, kind, tmp_path):
    source = table = people(born=values)
    if kind == "csv":
        source = tmp_path / "t.csv"
        pc.write_csv(table, source)
    rules, message = policy_labels(columns=["born", "job"]), f"nearly all values read as {odd}"
    for form in ("generalized", "bucketized"):
        told = refused(message, source, rules, form=form)
        for part in ("'born'", rows, "missing = [", '"text"'):
            assert part in told
    with pytest.raises(fk.InputError, match=message):
        fk.audit(source, rules)
    spelled = [value for value in values if not value[0].isdigit()]
    missing = policy_labels(columns=["born", "job"], reading={"missing": ["00.00.1961", *spelled]})
    assert not fk.audit(source, missing).safe  # a raw table fails, and is no input error
    # It is text, then, and still not to be listed.
    text = policy_labels(columns=["born", "job"], types={"born": "text"})
    refused("had by fewer than 5 people", source, text)
    crowd = policy_labels(
        fk.Requirement(fk.KAnonymity(241)), columns=["born"], types={"born": "text"}
    )
    with pytest.raises(fk.NoSafeRelease, match="at least 241 people, and the table has 240"):
        fk.publish(source, crowd)


def test_dates_stored_as_text(tmp_path):
    source = tmp_path / "t.sqlite"
    with sqlite3.connect(source) as database:
        database.execute("CREATE TABLE t (born TEXT, ill TEXT)")
        rows = zip(map(str, DAYS), [ILL[i % 3] for i in range(240)], strict=True)
        database.executemany("INSERT INTO t VALUES (?, ?)", rows)
    refused(r'add types = \{ "born" = "date" \}', source, policy_labels(columns=["born"]))
    publication = fk.publish(source, policy_labels(columns=["born"], types={"born": "date"}))
    assert not listed(publication, "born") & {*map(str, DAYS)}
    suggestion = fk.suggest_policy(source)
    assert fk.publish(source, tomllib.loads(suggestion.to_toml())).audit.safe
    assert "born" in suggestion.policy.schema.quasi_identifiers


MIDNIGHTS = [dt.datetime(2024, month, 1) for month in (1, 1, 1, 2, 2, 3)]
SAME = {"age": [1] * 6, "sex": ["f"] * 6}


def midnights(folder):
    """One table of times that are all midnight, as each source has it."""
    table = pa.table({**SAME, "ill": MIDNIGHTS})
    pq.write_table(table, folder / "midnights.parquet")
    days = table.set_column(2, "ill", pa.array([time.date() for time in MIDNIGHTS]))
    pc.write_csv(days, folder / "midnights.csv")
    frame = table.to_pandas()
    return {
        "pandas": frame,
        "objects": frame.assign(ill=pd.Series(MIDNIGHTS, dtype=object)),
        "categories": frame.astype({"ill": "category"}),
        "nanoseconds": frame.astype({"ill": "datetime64[ns]"}),
        "polars": pl.from_arrow(table),
        "arrow": table,
        "records": table.to_pylist(),
        "duckdb": duckdb.from_arrow(table),
        "parquet": folder / "midnights.parquet",
        "csv": folder / "midnights.csv",
        "days": days,
    }


SOURCES = "pandas objects categories nanoseconds polars arrow records duckdb parquet csv days"


@pytest.mark.parametrize("source", SOURCES.split())
def test_midnights_are_days(source, tmp_path):
    """Every door spells them as days; a policy on the other spelling is refused by all."""
    table = midnights(tmp_path)[source]
    schema = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill"}
    ask = {"values": ["2024-01-01"], "facts": {}, "below": "2/3"}
    asked = {"schema": schema, "require": [ask]}
    days = ["2024-01-01", "2024-02-01", "2024-03-01"]
    for audit in (fk.audit(table, asked), fk.publish(table, asked).audit):
        assert [*map(str, audit.counts.values)] == days
        assert audit.verdicts[0].disclosure.exact == Fraction(1, 2)
    made = fk.publish(table, asked, out=str(tmp_path / "out"))
    assert sorted({*map(str, made.to_arrow()["ill"].to_pylist())}) == days
    doors = [(fk.audit, table), (fk.publish, table), (fk.audit, tmp_path / "out")]
    for text in ("2024-01-01 00:00:00", "2024-01-01T00:00"):
        asked["require"] = [{**ask, "values": [text]}, {"k_anonymity": 2}]
        for door, release in doors:
            with pytest.raises(PolicyError, match="somebody has '2024-01-01': write it as"):
                door(release, asked)
    asked["require"] = [{**ask, "below": "1/2"}]
    assert not fk.audit(table, asked).safe
    with pytest.raises(fk.NoSafeRelease, match="3 of 6 people"):
        fk.publish(table, asked)


def test_one_hour_keeps_times():
    times = [*MIDNIGHTS[:5], dt.datetime(2024, 3, 1, 8)]
    table = pa.table({**SAME, "ill": times})
    schema = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill"}
    asked = {"schema": schema, "require": [{"facts": {}, "below": "2/3"}]}
    for audit in (fk.audit(table, asked), fk.publish(table, asked).audit):
        assert str(audit.counts.values[0]) == "2024-01-01 00:00:00"


@pytest.mark.parametrize("text", ["2024-01-01 00:00:00", "2024-01-01t00:00"])
def test_rules_name_days(text):
    """A midnight names nobody's day: such a rule would do nothing."""
    ill = ["u", "v", "v", "O04", "u", "v"]
    table = pa.table({"day": MIDNIGHTS, "ward": ["3"] * 6, "ill": ill, "when": MIDNIGHTS})
    schema = {"quasi_identifiers": ["day", "ward"], "sensitive": "ill"}
    ask = {"facts": {}, "below": "9/10"}
    rules = [
        (schema, {"values": ["O04"], "where": {"day": [text]}}),
        ({**schema, "sensitive": "when"}, {"values": [text], "where": {"ward": ["3"]}}),
    ]
    for roles, rule in rules:
        asked = {"schema": {**roles, "impossible": [rule]}, "require": [ask]}
        for door in (fk.audit, fk.publish):
            with pytest.raises(SchemaError, match="write it as it stands in the table"):
                door(table, asked)


def test_days_and_midnights_look_alike():
    counts = bags_of(["2024-01-31", "2024-01-31 00:00:00", "2024-02-01", "Flu"])
    (pair,) = fk.audit(counts, policy()).scope.alike
    assert pair == ("2024-01-31", "2024-01-31 00:00:00")
