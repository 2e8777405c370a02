"""Sets of values: a label lists only what enough people of the table have."""

import datetime as dt
import random
import sqlite3
import tomllib
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import foreknow as fk

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


def policy(*required, columns=("job", "age"), **more):
    schema = fk.Schema(quasi_identifiers=list(columns), sensitive="ill", **more)
    return fk.Policy(list(required) or [K5], schema)


def listed(made, column="job"):
    """Every value that a label of a column lists."""
    labels = made.to_arrow()[column].to_pylist()
    return {part.strip('"') for label in labels for part in label.split(" | ")}


def rows_of(made, table, columns):
    return Counter(zip(*(made.to_arrow(table)[name].to_pylist() for name in columns), strict=True))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("method", ["mondrian", "fulldomain", "decoy"])
@pytest.mark.parametrize(
    ("required", "least"),
    [([K5], 5), ([HALF], 5), ([fk.Requirement(fk.KAnonymity(2))], 2), ([K5, HALF], 5)],
)
def test_no_label_lists_what_fewer_people_have(method, required, least, tmp_path):
    table = people()
    have = Counter(table["job"].to_pylist())
    made = fk.publish(table, policy(*required), method=method, seed=1)
    rare = {job for job, n in have.items() if n < least}
    assert rare
    assert listed(made) <= {*have, "other", "*"} - rare
    assert any(note.startswith("rare values: in job") for note in made.certificate.notes)
    made.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out")
    written = (tmp_path / "out" / "release.csv").read_text()
    assert not any(job in written for job in rare)


def test_rare_values_are_merged_alike_by_every_engine(tmp_path):
    pc.write_csv(people(), tmp_path / "t.csv")
    found = [
        rows_of(fk.publish(tmp_path / "t.csv", policy(HALF), engine=engine), None, ["job", "age"])
        for engine in ("memory", "duckdb")
    ]
    assert found[0] == found[1]
    assert any("other" in label for label, _ in found[0])


def test_a_set_for_several_values_per_person_lists_no_rare_one():
    rows = people(pid=[str(i) for i in range(240)])
    rules = policy(K5, person="pid", semantics="set")
    made = fk.publish(rows, rules)
    jobs = {
        part for label in made.tables["people"]["job"].to_pylist() for part in label.split(" | ")
    }
    assert "other" in jobs
    assert not jobs & {"queen", "pope", "nun"}


def test_a_value_that_is_called_other_is_not_the_others():
    rows = people()
    jobs = ["other" if job == "cook" else job for job in rows["job"].to_pylist()]
    made = fk.publish(rows.set_column(0, "job", [jobs]), policy(columns=["job"]))
    assert {"other", "other+"} <= listed(made) | {"other+"}
    assert "queen" not in listed(made)
    microdata = fk.Microdata(rows.set_column(0, "job", [jobs]), policy(columns=["job"]).schema)
    assert microdata.rounded(least=5).attributes[0].domain[-1] == "other+"


def test_missing_values_are_not_among_the_others():
    rows = people()
    jobs = [None if i == 7 else job for i, job in enumerate(rows["job"].to_pylist())]
    own = fk.Microdata(rows.set_column(0, "job", [jobs]), policy().schema).rounded(least=5)
    assert own.attributes[0].domain == [None, "clerk", "cook", "nurse", "teacher", "other"]


def test_a_label_with_others_is_as_wide_as_the_values_that_it_may_mean(tmp_path):
    """The share of the other values that a label covers, counted over all pairs of values."""
    rows = people()
    made = fk.publish(rows, policy(HALF), seed=3)
    jobs = sorted(set(rows["job"].to_pylist()))
    meant = {"other": {"queen", "pope", "nun"}, "*": set(jobs)}
    total = 0.0
    for label in made.to_arrow()["job"].to_pylist():
        covered = set().union(*(meant.get(part, {part}) for part in label.split(" | ")))
        total += (len(covered) - 1) / (len(jobs) - 1)
    assert made.utility.ncp["job"] == pytest.approx(total / len(rows))
    microdata = fk.Microdata(rows, policy().schema)
    made.write(tmp_path / "out")
    for release in (made, tmp_path / "out"):
        found = fk.utility_report(release, microdata, queries=50)
        assert found.utility.ncp["job"] == pytest.approx(total / len(rows))


def test_queries_know_what_others_may_mean(tmp_path):
    """One group of everybody: each value is as likely as any, and the others are three values."""
    rows = people(n=120)
    made = fk.publish(rows, policy(columns=["job"]), labels={"job": "set"}, seed=1)
    microdata = fk.Microdata(rows, policy(columns=["job"]).schema)
    (attribute,) = microdata.attributes
    from foreknow.data.generalization import meant_by_sets

    labels = sorted(set(made.to_arrow()["job"].to_pylist()))
    found = meant_by_sets(attribute, labels)
    names = {label: {attribute.domain[code] for code in codes} for label, codes in found.items()}
    for label, meant in names.items():
        if label != "*":
            want = set().union(
                *(
                    {"queen", "pope", "nun"} if part == "other" else {part}
                    for part in label.split(" | ")
                )
            )
            assert meant == want
    fk.query_error(made, microdata, queries=20)


def test_who_is_in_which_group_is_found_by_labels_with_others():
    rows = people()
    made = fk.publish(rows, policy(HALF), seed=1)
    found = fk.Learned(by=["age"]).disclosures(made.release)
    assert found
    from foreknow.data.sights import placed

    labels = made.release.counts.groups
    groups = placed(made.release, fk.Microdata(rows, policy().schema))
    for job, group in zip(rows["job"].to_pylist(), groups.tolist(), strict=True):
        label = labels[group][0]
        own = "other" if job in {"queen", "pope", "nun"} else job
        assert label == "*" or own in label.split(" | ")


@pytest.mark.parametrize("method", ["mondrian", "fulldomain", "anatomy"])
def test_texts_that_are_mostly_of_few_people_are_refused_with_the_ways_out(method):
    rows = people(name=[f"Frau Nr {i}" for i in range(240)])
    rules = policy(fk.Requirement(fk.Facts(), below="1/2"), columns=["name", "age"])
    with pytest.raises(fk.InputError, match="had by fewer than 5 people") as caught:
        fk.publish(rows, rules, method=method, form="generalized")
    for way in ("a hierarchy", "its type", "identifiers", 'labels = { "name" = "exact" }'):
        assert way in str(caught.value)
    made = fk.publish(rows, rules, form="bucketized")  # which says exact values by its form
    assert made.audit.safe
    made = fk.publish(rows, rules, labels={"name": "exact"})
    assert "Frau Nr 7" in listed(made, "name")


def test_half_of_the_values_may_be_rare():
    jobs = ["cook"] * 50 + ["nurse"] * 50 + ["queen", "pope"]
    rows = pa.table({"job": jobs, "ill": [ILL[i % 3] for i in range(102)]})
    assert listed(fk.publish(rows, policy(columns=["job"]))) <= {"cook", "nurse", "other", "*"}
    more = pa.table({"job": [*jobs, "nun"], "ill": [ILL[i % 3] for i in range(103)]})
    with pytest.raises(fk.InputError, match="3 of its 5 values"):
        fk.publish(more, policy(columns=["job"]))


def test_numbers_as_sets_are_refused_unless_enough_people_have_each():
    rules = policy(columns=["age"])
    with pytest.raises(fk.InputError, match='ranges: leave out labels = "set"'):
        fk.publish(people(age=list(range(240))), rules, labels={"age": "set"})
    own = policy(columns=["age"], hierarchies={"age": fk.Intervals([10])})
    with pytest.raises(fk.InputError, match='hierarchy: leave out labels = "set"'):
        fk.publish(people(age=list(range(240))), own, labels={"age": "set"})
    made = fk.publish(people(age=[i % 4 for i in range(240)]), rules, labels={"age": "set"})
    assert listed(made, "age") <= {"0", "1", "2", "3", "*"}


def test_values_that_priors_are_about_are_listed_where_enough_people_have_them():
    jobs = ["cook"] * 20 + ["nurse"] * 20 + ["pope"] * 2
    rows = pa.table({"job": jobs, "ill": [ILL[i % 2] for i in range(42)]})
    chances = [(job, ill) for job in ("cook", "nurse", "pope") for ill in ILL[:2]]
    known = {"job": [j for j, _ in chances], "value": [i for _, i in chances]}
    priors = fk.Priors(pa.table(known | {"probability": ["1/2"] * 6}))
    rules = policy(fk.Requirement(priors, at_most="97/100"), columns=["job"])
    with pytest.raises(fk.InputError, match="1 of its 3 values"):
        fk.publish(rows, rules, method="art")
    made = fk.publish(rows, rules, method="art", labels={"job": "exact"})
    assert made.audit.safe
    assert "pope" in listed(made)


# ---- texts that are dates or numbers -------------------------------------------------------------

DAYS = [dt.date(1950, 1, 1) + dt.timedelta(days=41 * i) for i in range(240)]
GERMAN = [day.strftime("%d.%m.%Y") for day in DAYS]


@pytest.mark.parametrize("kind", ["csv", "frame"])
@pytest.mark.parametrize(
    ("values", "odd", "rows"),
    [
        (["00.00.1961", "old", *GERMAN[2:]], "dates", "row 1 ('00.00.1961'), row 2 ('old')"),
        ([*map(str, DAYS[:-1]), "unknown"], "dates", "row 240 ('unknown')"),
        (
            [*(str(20 + i % 60) for i in range(238)), "old", "old"],
            "numbers",
            "row 239 ('old')",
        ),
        ([*(f"{i}.690,00" for i in range(239)), "NA"], "numbers", "row 240 ('NA')"),
    ],
)
def test_texts_that_are_dates_or_numbers_but_for_a_few_are_refused(
    kind, values, odd, rows, tmp_path
):
    table = people(born=values)
    source = table
    if kind == "csv":
        source = tmp_path / "t.csv"
        pc.write_csv(table, source)
    rules = policy(columns=["born", "job"])
    for form in ("generalized", "bucketized"):
        with pytest.raises(fk.InputError) as caught:
            fk.publish(source, rules, form=form)
        for part in ("'born'", f"nearly all values read as {odd}", rows, "missing = [", '"text"'):
            assert part in str(caught.value)
    with pytest.raises(fk.InputError, match=f"nearly all values read as {odd}"):
        fk.audit(source, rules)
    spelled = [value for value in values if not value[0].isdigit()]
    missing = policy(columns=["born", "job"], reading={"missing": ["00.00.1961", *spelled]})
    assert not fk.audit(source, missing).safe  # a raw table fails, and is no input error
    text = policy(columns=["born", "job"], types={"born": "text"})
    with pytest.raises(fk.InputError, match="had by fewer than 5 people"):
        fk.publish(source, text)  # it is text, then, and still not to be listed


def test_dates_in_a_database_that_has_them_as_text(tmp_path):
    database = sqlite3.connect(tmp_path / "t.sqlite")
    database.execute("CREATE TABLE t (born TEXT, ill TEXT)")
    ill = [ILL[i % 3] for i in range(240)]
    database.executemany("INSERT INTO t VALUES (?, ?)", zip(map(str, DAYS), ill, strict=True))
    database.commit()
    database.close()
    source, rules = tmp_path / "t.sqlite", policy(columns=["born"])
    with pytest.raises(fk.InputError, match=r'add types = \{ "born" = "date" \}'):
        fk.publish(source, rules)
    made = fk.publish(source, policy(columns=["born"], types={"born": "date"}))
    assert not listed(made, "born") & set(map(str, DAYS))
    found = fk.suggest_policy(source)
    assert fk.publish(source, tomllib.loads(found.to_toml())).audit.safe
    assert "born" in found.policy.schema.quasi_identifiers


@pytest.mark.parametrize(
    "values",
    [
        [f"{i % 9:05}" if i % 30 else "01067" for i in range(240)],  # codes
        [f"{10000 + i % 9}" if i % 30 else "01067" for i in range(240)],
        ["low" if i % 12 else "7" for i in range(240)],
        [str(i % 9) if i % 10 else "none" for i in range(240)],  # of ten, nine
    ],
)
def test_other_texts_are_taken_as_they_are(values, tmp_path):
    pc.write_csv(people(zip=values), tmp_path / "t.csv")
    for source in (people(zip=values), tmp_path / "t.csv"):
        assert fk.publish(source, policy(columns=["zip"])).audit.safe


def test_a_release_of_somebody_else_is_audited_with_its_labels():
    ages = [str(20 + i % 60) if i % 40 else "*" for i in range(240)]
    assert fk.audit(people(age=ages), policy(columns=["age"])).counts.n_people == 240


# ---- a first policy --------------------------------------------------------------------------


def test_a_first_policy_lists_nothing_of_few_people():
    rows = people(town=[f"Ort {i // 2}" for i in range(240)])
    found = fk.suggest_policy(rows, sensitive="ill")
    (town,) = [each for each in found.columns if each.name == "town"]
    assert town.role == "undecided"
    assert "labels would list them" in town.reason
    assert "job" in found.policy.schema.quasi_identifiers
    made = fk.publish(rows, tomllib.loads(found.to_toml()))
    assert not listed(made) & {"queen", "pope", "nun"}
    odd = people(age=[*map(str, range(239)), "old"])
    (age,) = [each for each in fk.suggest_policy(odd).columns if each.name == "age"]
    assert "nearly all of its values read as numbers" in age.reason


def test_what_must_stay_hidden_may_have_any_values():
    rows = pa.table({"age": [1, 2], "disease": ["Flu", "Cold"]})
    assert fk.suggest_policy(rows).policy.schema.sensitive == "disease"


def test_merging_by_the_rule_is_what_enumeration_says():
    """Every label of random tables, against the values that enough people have."""
    draw = np.random.default_rng(5)
    for _ in range(20):
        sizes = draw.integers(1, 12, draw.integers(2, 9))
        jobs = [f"j{i}" for i, n in enumerate(sizes.tolist()) for _ in range(n)]
        rows = pa.table({"job": jobs, "ill": draw.choice(ILL, len(jobs)).tolist()})
        k = int(draw.integers(1, 7))
        rules = policy(fk.Requirement(fk.KAnonymity(min(k, len(jobs)))), columns=["job"])
        enough = {f"j{i}" for i, n in enumerate(sizes.tolist()) if n >= min(k, len(jobs))}
        if 2 * len(enough) < len(sizes):
            with pytest.raises(fk.InputError, match="had by fewer than"):
                fk.publish(rows, rules)
            continue
        assert listed(fk.publish(rows, rules)) <= enough | {"other", "*"}


def test_a_population_cannot_be_compared_with_others():
    rows = people()
    population = pa.concat_tables([rows.select(["job", "age"])] * 3)
    rules = policy(fk.Requirement(fk.KMap(3, population)))
    with pytest.raises(fk.InputError, match="compared with the labels of groups"):
        fk.publish(rows, rules)
    assert fk.publish(rows, rules, labels={"job": "exact"}).audit.safe


# ---- ends of ranges ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "more", "way"),
    [
        (pa.array([f"N{i:03d}" for i in range(240)]), {"mask": 4}, 'leave out labels = "range"'),
        (pa.array([float("inf"), *(20_000.5 + i for i in range(239))]), None, "finite numbers"),
    ],
)
def test_no_range_ends_at_values_of_few_people(values, more, way):
    table = people(place=values)
    required = policy(columns=("place",), hierarchies={"place": more} if more else {})
    wanted = {"labels": {"place": "range"}}
    with pytest.raises(fk.InputError, match="ranges would end at them") as error:
        fk.publish(table, required, **wanted)
    assert way in str(error.value)
    made = fk.publish(table, required, labels={"place": "exact"})
    assert made.audit.safe


def test_an_ordered_categorical_is_no_way_round():
    codes = pa.DictionaryArray.from_arrays(
        pa.array(range(240), pa.int16()), pa.array([f"N{i:03d}" for i in range(240)]), ordered=True
    )
    with pytest.raises(fk.InputError, match=r"240 of its 240 values .* ranges would end at them"):
        fk.publish(people(place=codes), policy(columns=("place",)))
    few = [["low", "mid", "high"][i % 3] for i in range(240)]
    few[0] = "top"
    order = ["low", "mid", "high", "top"]
    codes = pa.DictionaryArray.from_arrays(
        pa.array([order.index(each) for each in few], pa.int8()), pa.array(order), ordered=True
    )
    assert fk.publish(people(place=codes), policy(columns=("place",))).audit.safe
