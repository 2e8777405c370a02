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
from foreknow.data.generalization import meant_by_sets
from foreknow.data.sights import placed

ILL = ["flu", "cold", "cough"]
K5 = fk.Requirement(fk.KAnonymity(5))
HALF = fk.Requirement(fk.Facts(1, 1, 0), below="9/10")
RARE = {"queen", "pope", "nun"}


def people(seed=0, n=240, **columns):
    """A table of people of some jobs, of which a few are rare."""
    draw = random.Random(seed)
    jobs = draw.choices(["clerk", "cook", "nurse", "teacher"], k=n)
    jobs[3], jobs[50], jobs[51], jobs[90] = "queen", "pope", "pope", "nun"
    made = {"job": jobs, "age": draw.choices(range(20, 60), k=n), "ill": draw.choices(ILL, k=n)}
    return pa.table(made | columns)


def policy(*required, columns=("job", "age"), **more):
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
    made = fk.publish(table, policy(*required), method=method, seed=1)
    rare = {job for job, n in have.items() if n < least}
    assert rare
    assert listed(made) <= {*have, "other", "*"} - rare
    assert any(note.startswith("rare values: in job") for note in made.certificate.notes)
    made.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out")
    written = (tmp_path / "out" / "release.csv").read_text()
    assert not any(job in written for job in rare)


def test_rare_values_merge_everywhere(tmp_path):
    pc.write_csv(people(), tmp_path / "t.csv")
    found = []
    for engine in ("memory", "duckdb"):
        shown = fk.publish(tmp_path / "t.csv", policy(HALF), engine=engine).to_arrow()
        found.append(Counter(zip(*(shown[n].to_pylist() for n in ("job", "age")), strict=True)))
    assert found[0] == found[1]
    assert any("other" in label for label, _ in found[0])
    rows = people(pid=[str(i) for i in range(240)])
    jobs = listed(fk.publish(rows, policy(K5, person="pid", semantics="set")), table="people")
    assert "other" in jobs
    assert not jobs & RARE


def test_others_are_a_category():
    rows, rules = people(), policy(columns=["job"])
    jobs = rows["job"].to_pylist()
    others = rows.set_column(0, "job", [["other" if job == "cook" else job for job in jobs]])
    assert "other" in listed(fk.publish(others, rules))
    assert not RARE & listed(fk.publish(others, rules))
    own = fk.Microdata(others, rules.schema).rounded(least=5)
    assert own.attributes[0].domain[-1] == "other+"
    missing = rows.set_column(0, "job", [[None if i == 7 else job for i, job in enumerate(jobs)]])
    own = fk.Microdata(missing, rules.schema).rounded(least=5)
    assert own.attributes[0].domain == [None, "clerk", "cook", "nurse", "teacher", "other"]


def test_others_are_what_they_mean(tmp_path):
    """The share of the other values that a label covers, counted over all pairs of values."""
    rows = people()
    made = fk.publish(rows, policy(HALF), seed=3)
    jobs = sorted({*rows["job"].to_pylist()})
    of_label = {"other": RARE, "*": {*jobs}}
    labels = made.to_arrow()["job"].to_pylist()
    sets = [set().union(*(of_label.get(p, {p}) for p in label.split(" | "))) for label in labels]
    wanted = pytest.approx(sum((len(own) - 1) / (len(jobs) - 1) for own in sets) / len(rows))
    assert made.utility.ncp["job"] == wanted
    microdata = fk.Microdata(rows, policy().schema)
    made.write(tmp_path / "out")
    for release in (made, tmp_path / "out"):
        assert fk.utility_report(release, microdata, queries=50).utility.ncp["job"] == wanted
    # Who is in which group is found by these labels.
    assert fk.Learned(by=["age"]).disclosures(made.release)
    groups = placed(made.release, microdata).tolist()
    for job, group in zip(rows["job"].to_pylist(), groups, strict=True):
        label = made.release.counts.groups[group][0]
        assert label == "*" or ("other" if job in RARE else job) in label.split(" | ")
    # And queries know what others may mean.
    one = policy(columns=["job"])
    made, microdata = (
        fk.publish(rows, one, labels={"job": "set"}, seed=1),
        fk.Microdata(rows, one.schema),
    )
    (attribute,) = microdata.attributes
    labels = sorted({*made.to_arrow()["job"].to_pylist()} - {"*"})
    for label, codes in meant_by_sets(attribute, labels).items():
        wanted = set().union(*(of_label.get(part, {part}) for part in label.split(" | ")))
        assert {attribute.domain[code] for code in codes} == wanted
    fk.query_error(made, microdata, queries=20)


@pytest.mark.parametrize("method", ["mondrian", "fulldomain", "anatomy"])
def test_rare_texts_are_refused(method):
    rows = people(name=[f"Frau Nr {i}" for i in range(240)])
    rules = policy(fk.Requirement(fk.Facts(), below="1/2"), columns=["name", "age"])
    said = refused("had by fewer than 5 people", rows, rules, method=method, form="generalized")
    for way in ("a hierarchy", "its type", "identifiers", 'labels = { "name" = "exact" }'):
        assert way in said
    assert fk.publish(rows, rules, form="bucketized").audit.safe  # which says exact values
    assert "Frau Nr 7" in listed(fk.publish(rows, rules, labels={"name": "exact"}), "name")


def test_half_of_values_are_rare():
    jobs, rules = ["cook"] * 50 + ["nurse"] * 50 + ["queen", "pope"], policy(columns=["job"])
    rows, more = (
        pa.table({"job": own, "ill": [ILL[i % 3] for i in range(len(own))]})
        for own in (jobs, [*jobs, "nun"])
    )
    assert listed(fk.publish(rows, rules)) <= {"cook", "nurse", "other", "*"}
    refused("3 of its 5 values", more, rules)
    codes = ["N" + str(i) for i in range(240)]
    for order, said in (
        (range(240), r"240 of its 240 values .* ranges would end at them"),
        (None, ""),
    ):
        indices = order or [3, *(i % 3 for i in range(239))]
        coded = pa.DictionaryArray.from_arrays(
            pa.array(indices, pa.int16()), pa.array(codes if order else codes[:4]), ordered=True
        )
        if order:
            refused(said, people(place=coded), policy(columns=("place",)))
        else:
            assert fk.publish(people(place=coded), policy(columns=("place",))).audit.safe


def test_numbers_as_sets_are_refused():
    rules = policy(columns=["age"])
    own = policy(columns=["age"], hierarchies={"age": fk.Intervals([10])})
    for of, way in ((rules, "ranges"), (own, "hierarchy")):
        said = f'{way}: leave out labels = "set"'
        refused(said, people(age=[*range(240)]), of, labels={"age": "set"})
    made = fk.publish(people(age=[i % 4 for i in range(240)]), rules, labels={"age": "set"})
    assert listed(made, "age") <= {"0", "1", "2", "3", "*"}


def test_populations_exclude_merged_values():
    rows = people()
    rules = policy(fk.Requirement(fk.KMap(3, pa.concat_tables([rows.select(["job", "age"])] * 3))))
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
    rules = policy(columns=("place",), hierarchies={"place": more} if more else {})
    assert way in refused("ranges would end at them", table, rules, labels={"place": "range"})
    assert fk.publish(table, rules, labels={"place": "exact"}).audit.safe


def test_merging_matches_enumeration():
    """Every label of random tables, against the values that enough people have."""
    draw = np.random.default_rng(5)
    for _ in range(20):
        sizes = draw.integers(1, 12, draw.integers(2, 9)).tolist()
        jobs = [f"j{i}" for i, n in enumerate(sizes) for _ in range(n)]
        rows = pa.table({"job": jobs, "ill": draw.choice(ILL, len(jobs)).tolist()})
        k = min(int(draw.integers(1, 7)), len(jobs))
        rules = policy(fk.Requirement(fk.KAnonymity(k)), columns=["job"])
        enough = {f"j{i}" for i, n in enumerate(sizes) if n >= k}
        if 2 * len(enough) < len(sizes):
            refused("had by fewer than", rows, rules)
        else:
            assert listed(fk.publish(rows, rules)) <= enough | {"other", "*"}


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
    rules, said = policy(columns=["born", "job"]), f"nearly all values read as {odd}"
    for form in ("generalized", "bucketized"):
        told = refused(said, source, rules, form=form)
        for part in ("'born'", rows, "missing = [", '"text"'):
            assert part in told
    with pytest.raises(fk.InputError, match=said):
        fk.audit(source, rules)
    spelled = [value for value in values if not value[0].isdigit()]
    missing = policy(columns=["born", "job"], reading={"missing": ["00.00.1961", *spelled]})
    assert not fk.audit(source, missing).safe  # a raw table fails, and is no input error
    # It is text, then, and still not to be listed.
    text = policy(columns=["born", "job"], types={"born": "text"})
    refused("had by fewer than 5 people", source, text)


def test_dates_stored_as_text(tmp_path):
    source = tmp_path / "t.sqlite"
    with sqlite3.connect(source) as database:
        database.execute("CREATE TABLE t (born TEXT, ill TEXT)")
        rows = zip(map(str, DAYS), [ILL[i % 3] for i in range(240)], strict=True)
        database.executemany("INSERT INTO t VALUES (?, ?)", rows)
    refused(r'add types = \{ "born" = "date" \}', source, policy(columns=["born"]))
    made = fk.publish(source, policy(columns=["born"], types={"born": "date"}))
    assert not listed(made, "born") & {*map(str, DAYS)}
    found = fk.suggest_policy(source)
    assert fk.publish(source, tomllib.loads(found.to_toml())).audit.safe
    assert "born" in found.policy.schema.quasi_identifiers


def test_other_texts_stay_texts(tmp_path):
    codes = [f"{i % 9:05}" if i % 30 else "01067" for i in range(240)]
    for values in (
        *(codes, [f"{10000 + i % 9}" if i % 30 else "01067" for i in range(240)]),
        ["low" if i % 12 else "7" for i in range(240)],
        [str(i % 9) if i % 10 else "none" for i in range(240)],  # of ten, nine
    ):
        pc.write_csv(people(zip=values), tmp_path / "t.csv")
        for source in (people(zip=values), tmp_path / "t.csv"):
            assert fk.publish(source, policy(columns=["zip"])).audit.safe
    ages = [str(20 + i % 60) if i % 40 else "*" for i in range(240)]  # somebody else's labels
    assert fk.audit(people(age=ages), policy(columns=["age"])).counts.n_people == 240


def test_first_policy_lists_no_rarity():
    rows = people(town=[f"Ort {i // 2}" for i in range(240)])
    found = fk.suggest_policy(rows, sensitive="ill")
    (town,) = [own for own in found.columns if own.name == "town"]
    assert town.role == "undecided"
    assert "labels would list them" in town.reason
    assert "job" in found.policy.schema.quasi_identifiers
    assert not listed(fk.publish(rows, tomllib.loads(found.to_toml()))) & {"queen", "pope", "nun"}
    odd = people(age=[*map(str, range(239)), "old"])
    (age,) = [own for own in fk.suggest_policy(odd).columns if own.name == "age"]
    assert "nearly all of its values read as numbers" in age.reason
    # What must stay hidden may have any values.
    rows = pa.table({"age": [1, 2], "disease": ["Flu", "Cold"]})
    assert fk.suggest_policy(rows).policy.schema.sensitive == "disease"
