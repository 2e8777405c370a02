"""k-map and delta-presence: measured, decided, searched, published, verified and refused."""

import datetime as dt
import json
import random
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.oracle.presence_worlds import chosen, presence

import foreknow as fk

boxes = st.tuples(st.integers(0, 5), st.integers(0, 3), st.sampled_from(["m", "f", "*"]))
crowd = st.lists(st.tuples(st.integers(0, 8), st.sampled_from("mf")), min_size=1, max_size=7)
limits = st.fractions(0, 1, max_denominator=6)


def covers(box, person):
    low, wide, sex = box
    return low <= person[0] <= low + wide and sex in ("*", person[1])


def label(box):
    low, wide, sex = box
    return (str(low) if not wide else f"{low} to {low + wide}", sex)


def release_of(groups):
    rows = [(*label(box), "x") for box, size in groups for _ in range(size)]
    ages, sexes, values = zip(*rows, strict=True)
    table = pa.table({"age": ages, "sex": sexes, "ill": values})
    return fk.Release.from_generalized(table, quasi_identifiers=["age", "sex"], sensitive="ill")


def table_of(people):
    ages, sexes = zip(*people, strict=True)
    return pa.table({"sex": sexes, "age": ages, "town": ["Rome"] * len(ages)})


def truth(groups, people):
    """Of whom each group could be, and the lowest and highest presence by all worlds."""
    cover = [[i for i, person in enumerate(people) if covers(box, person)] for box, _ in groups]
    found = presence(len(people), cover, [size for _, size in groups])
    return cover, min(found), max(found)


@st.composite
def publications(draw):
    """A population, and groups of some of its people, by distinct labels."""
    people = draw(crowd)
    found = {}
    for box in draw(st.lists(boxes, min_size=1, max_size=3, unique=True)):
        inside = sum(covers(box, person) for person in people)
        if inside:
            found[box] = draw(st.integers(1, min(inside, 3)))
    assume(found)
    return people, list(found.items())


def possible(groups, people):
    cover = [[i for i, person in enumerate(people) if covers(box, person)] for box, _ in groups]
    return next(chosen(cover, [size for _, size in groups]), None) is not None


def overlap(cover):
    return any(set(a) & set(b) for i, a in enumerate(cover) for b in cover[:i])


@examples(600, deadline=None)
@given(publications(), st.integers(1, 4), limits, limits)
def test_measures_and_verdicts_are_those_of_all_worlds(publication, k, one, other):
    people, groups = publication
    cover = [[p for p in people if covers(box, p)] for box, _ in groups]
    release, table = release_of(groups), table_of(people)
    k_map = fk.KMap(k, table)
    assert k_map.measure(release) == min(map(len, cover))
    assert k_map.holds(release) == (min(map(len, cover)) >= k)
    assert k_map.ledger().admits(None, release.counts) == k_map.holds(release)
    low, high = sorted((one, other))
    criterion = fk.DeltaPresence(low, high, table)
    (verdict,) = fk.audit(release, fk.Policy([fk.Requirement(criterion)])).criteria
    assert verdict.safe == criterion.holds(release)
    assert criterion.ledger().admits(None, release.counts) == criterion.holds(release) or (
        (low, high) == (0, 1)  # what a search refuses may hold where nothing is asked
    )
    cover = [[i for i, p in enumerate(people) if covers(box, p)] for box, _ in groups]
    if overlap(cover):
        assert criterion.presence(release) == (0, 1)
        return
    _, lowest, highest = truth(groups, people)
    assert criterion.presence(release) == (lowest, highest)
    assert criterion.measure(release) == highest
    assert criterion.holds(release) == (low <= lowest and highest <= high)


@examples(600, deadline=None)
@given(publications(), limits)
def test_merging_groups_of_which_none_overlap_never_hurts(publication, limit):
    people, groups = publication
    if len(groups) < 2 or not possible(groups, people):
        return
    (one, few), (other, more), *rest = groups
    low, high = min(one[0], other[0]), max(one[0] + one[1], other[0] + other[1])
    both = (low, high - low, one[2] if one[2] == other[2] else "*")
    merged = [(both, few + more), *rest]
    before, after, table = release_of(groups), release_of(merged), table_of(people)
    assert fk.KMap(1, table).measure(after) >= fk.KMap(1, table).measure(before)
    cover, lowest, highest = truth(groups, people)
    joined, least, most = truth(merged, people)
    if overlap(cover) or overlap(joined):
        return
    assert most <= highest
    if lowest > 0:  # then everybody is in a group
        assert least >= lowest
    criterion = fk.DeltaPresence(min(limit, lowest), highest, table)
    assert criterion.holds(before)
    assert criterion.holds(after) or not lowest


def test_the_order_of_columns_does_not_matter():
    people = [(age, sex) for age in range(6) for sex in "mf"]
    k_map = fk.KMap(1, table_of(people))
    overlapping = [((0, 3, "*"), 1), ((2, 3, "m"), 1)]
    first = release_of(overlapping)
    turned = fk.Release.from_generalized(
        pa.table({"sex": ["*", "m"], "age": ["0 to 3", "2 to 5"], "ill": ["x", "x"]}),
        quasi_identifiers=["sex", "age"],
        sensitive="ill",
    )
    assert k_map.measure(first) == k_map.measure(turned) == k_map.measure(first) == 4


def test_a_merged_label_over_a_third_group_can_hurt():
    """Why groups that overlap are never called safe."""
    people = [(age, "m") for age in range(5)]
    apart = [((0, 0, "m"), 1), ((4, 0, "m"), 1), ((1, 2, "m"), 1)]
    over = [((0, 4, "m"), 2), ((1, 2, "m"), 1)]
    assert truth(apart, people)[2] == 1
    inner = truth([((1, 2, "m"), 1)], people)[2]
    assert truth(over, people)[2] == inner + (1 - inner) * Fraction(2, 4) > Fraction(1, 2)
    assert not fk.DeltaPresence(0, "2/3", table_of(people)).holds(release_of(over))


LABELS = [
    ("20 to 29", [19, 20, 29, 30], [20, 29]),
    ("0.5 to <1", ["0.4", "0.5", "0.99", "1", None], ["0.5", "0.99"]),
    ("021**", ["02139", "02210", "0213", None], ["02139"]),
    ("*****", ["02139", None], ["02139", None]),
    ("7", [7, 7.0, 70], [7, 7.0]),
    ("007", ["007", "7"], ["007"]),
    ("a | b", ["a", "b", "c", "a | b"], ["a", "b", "a | b"]),
    ('"a | b" | "c"', ["a", "a | b", "c"], ["a | b", "c"]),
    ("missing | a", ["a", "b", None], ["a", None]),
    ("1 to 3 or missing", [0, 1, 3, None], [1, 3, None]),
    ("missing", ["a", None], [None]),
    (None, ["a", None], [None]),
    ("2024-02", [dt.date(2024, 1, 31), dt.date(2024, 2, 29)], [dt.date(2024, 2, 29)]),
    ("2024-Q1 to 2024-Q2", ["2023-12-31", "2024-01-01", "2024-06-30", "2024-07-01"], None),
    ("2020s", ["2019-12-31", "2020-01-01", "2029-12-31"], ["2020-01-01", "2029-12-31"]),
    ("1900 to 1999", ["1899-12-31", "1900-01-01", "1999-12-31"], ["1900-01-01", "1999-12-31"]),
    ("2024-02-29", ["2024-02-29", "2024-02-28"], ["2024-02-29"]),
    ("*+", ["a", "*"], ["a", "*"]),
]


@pytest.mark.parametrize(("text", "values", "inside"), LABELS)
def test_labels_are_read_as_they_say_by_the_criterion_and_by_the_verifier(text, values, inside):
    from foreknow.verifier.population import _reading

    inside = values[1:3] if inside is None else inside
    release = fk.Release.from_generalized(
        pa.table({"q": [text, "nothing"], "ill": ["x", "y"]}),
        quasi_identifiers=["q"],
        sensitive="ill",
    )
    typed = len({type(value) for value in values if value is not None}) == 1
    for value in values:
        column = values if typed else [None if v is None else str(v) for v in values]
        own = column[values.index(value)]
        table = pa.table({"q": [own]})
        rows = release.counts.groups.index((text,))
        many, _ = fk.KMap(1, table).population.match(release.counts)
        assert many[rows] == (value in inside), value
        assert _reading(None, None)(text, None if own is None else str(own)) == (value in inside)


TOWNS = [("Oslo", "Norway"), ("Bergen", "Norway"), ("Turku", "Finland"), ("Espoo", "Finland")]


def register(n=400, everybody=1600, seed=5):
    draw = random.Random(seed)
    people = [
        (draw.randint(20, 59), draw.choice("mf"), draw.choice(TOWNS)[0]) for _ in range(everybody)
    ]
    return people, draw.sample(people, n)


SCHEMA = fk.Schema(
    quasi_identifiers=["age", "sex", "town"],
    sensitive="ill",
    hierarchies={"age": {"intervals": [5, 20]}, "town": {"rows": [list(row) for row in TOWNS]}},
)


def as_table(people, **more):
    columns = zip(*people, strict=True)
    return pa.table({**dict(zip(["age", "sex", "town"], columns, strict=True)), **more})


@pytest.fixture
def place(tmp_path):
    people, own = register()
    pc.write_csv(as_table(people), tmp_path / "everybody.csv")
    pq.write_table(as_table(people), tmp_path / "everybody.parquet")
    values = random.Random(2).choices("abcd", k=len(own))
    pc.write_csv(as_table(own, ill=values), tmp_path / "table.csv")
    return tmp_path


def recounted(rows, people):
    """How many people, and of how many of the population, each published group is."""
    country = dict(TOWNS)

    def falls(group, person):
        age, sex, town = group
        low, _, high = age.partition(" to ")
        return (
            (age == "*" or int(low) <= person[0] <= int(high or low))
            and sex in ("*", "f | m", person[1])
            and town in ("*", person[2], country[person[2]])
        )

    groups = {}
    for row in rows:
        key = row["age"], row["sex"], row["town"]
        groups[key] = groups.get(key, 0) + 1
    return [(n, sum(falls(key, person) for person in people)) for key, n in groups.items()]


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
@pytest.mark.parametrize("source", ["everybody.csv", "everybody.parquet", "frame"])
def test_what_is_published_holds_and_verifies_with_the_population_only(method, source, place):
    people, _ = register()
    given = as_table(people) if source == "frame" else place / source
    policy = fk.Policy(
        [
            fk.Requirement(fk.KMap(20, given)),
            fk.Requirement(fk.DeltaPresence(0, "2/5", given)),
            fk.Requirement(fk.Facts(1), below="0.99"),
        ],
        SCHEMA,
    )
    made = fk.publish(place / "table.csv", policy, method=method)
    made.write(place / "out")
    found = recounted(made.to_arrow().to_pylist(), people)
    assert len(found) > 3
    assert min(of for _, of in found) == made.audit.criteria[0].attained.amount >= 20
    most = max(Fraction(n, of) for n, of in found)
    assert most == made.audit.criteria[1].attained.amount <= Fraction(2, 5)
    with pytest.raises(fk.InputError, match="cannot be checked without the population"):
        fk.verify(place / "out")
    at = place / ("everybody.csv" if source == "frame" else source)
    kept = fk.verify(place / "out", population=at)
    assert [finding.attained for finding in kept.findings[:2]] == [min(o for _, o in found), most]
    with pytest.raises(fk.InputError, match="not the population that was certified"):
        fk.verify(place / "out", population=place / "table.csv")
    said = (place / "out" / "certificate.json").read_text()
    assert "everybody" in said or source == "frame"
    assert str(place) not in said
    assert str(place) not in (place / "out" / "report.html").read_text("utf-8")


def test_a_certificate_that_promises_more_is_refused(place):
    rules = [
        fk.Requirement(fk.KMap(20, place / "everybody.csv")),
        fk.Requirement(fk.DeltaPresence(0, "1/2", place / "everybody.csv")),
    ]
    fk.publish(place / "table.csv", fk.Policy(rules, SCHEMA)).write(place / "out")
    path = place / "out" / "certificate.json"
    said = json.loads(path.read_text())
    changes = [(0, "k_map", "k", 10**6), (1, "delta_presence", "highest", "1/1000")]
    for at, key, amount, more in changes:
        told = json.loads(json.dumps(said))
        for table in (told["policy"]["require"][at], told["findings"][at]["criterion"]):
            table[key][amount] = more
        path.write_text(json.dumps(told))
        with pytest.raises(fk.InputError, match=f"{key}.* does not hold"):
            fk.verify(place / "out", population=place / "everybody.csv")
    told = json.loads(json.dumps(said))
    told["version"] = 5
    path.write_text(json.dumps(told))
    with pytest.raises(fk.InputError, match="from version 6 on"):
        fk.verify(place / "out")


def test_a_presence_that_everybody_has_is_searched_for(place):
    """Everybody of the population must be in a group, so no cut may leave a gap."""
    people, _ = register()
    rules = fk.Policy([fk.Requirement(fk.DeltaPresence("1/6", "1/2", as_table(people)))], SCHEMA)
    for method in ("mondrian", "fulldomain"):
        made = fk.publish(place / "table.csv", rules, method=method)
        found = recounted(made.to_arrow().to_pylist(), people)
        assert sum(of for _, of in found) == len(people)
        assert all(Fraction(1, 6) <= Fraction(n, of) <= Fraction(1, 2) for n, of in found)
        assert len(found) > 1


def test_a_policy_file_names_the_population_from_its_own_folder(place):
    (place / "policy.toml").write_text(
        """
        [schema]
        quasi_identifiers = ["age", "sex", "town"]
        sensitive = "ill"
        [[require]]
        k_map = { k = 5, population = "everybody.csv" }
        [[require]]
        delta_presence = { lowest = 0, highest = 0.5, population = "everybody.csv" }
        """
    )
    policy = fk.Policy.load(place / "policy.toml")
    again = fk.Policy.from_dict(policy.to_dict(), place)
    assert [r.criterion for r in again.requirements] == [r.criterion for r in policy.requirements]
    made = fk.publish(place / "table.csv", policy)
    assert made.audit.safe
    made.audit.to_html(place / "audit.html")
    page = (place / "audit.html").read_text("utf-8")
    assert "the group that fewest of the population could be in" in page


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fk.KMap(0, "x.csv"), "KMap: k"),
        (lambda: fk.KMap(5, None), "a population is a table"),
        (lambda: fk.DeltaPresence(0.5, 0.2, "x.csv"), "in this order"),
        (lambda: fk.DeltaPresence(0, 2, "x.csv"), "from 0 to 1"),
        (lambda: fk.KMap(2, "nowhere.csv").holds(release_of([((0, 1, "*"), 1)])), "there is no"),
        (
            lambda: fk.KMap(2, pa.table({"agee": [1], "sex": ["m"]})).holds(
                release_of([((0, 1, "*"), 1)])
            ),
            "has no column 'age'; did you mean 'agee'",
        ),
        (
            lambda: fk.DeltaPresence(0, 1, table_of([(9, "m")])).measure(
                release_of([((0, 1, "m"), 1)])
            ),
            "it must hold everybody of the table",
        ),
        (
            lambda: fk.KMap(2, table_of([(9, "m")])).measure(fk.GroupCounts.from_bags(["ab"])),
            "published quasi-identifiers",
        ),
    ],
)
def test_what_means_nothing_is_refused(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()


def test_what_cannot_be_searched_is_refused_with_a_way_out(place):
    rules = fk.Policy([fk.Requirement(fk.KMap(5, place / "everybody.csv"))], SCHEMA)
    with pytest.raises(fk.InputError, match="published quasi-identifiers"):
        fk.publish(place / "table.csv", rules, form="bucketized")
    with pytest.raises(fk.InputError, match="suppression = 0"):
        fk.publish(place / "table.csv", rules, method=fk.FullDomain(suppression=0.1))
    too_much = fk.Policy([fk.Requirement(fk.KMap(10**4, place / "everybody.csv"))], SCHEMA)
    for method in ("mondrian", "fulldomain"):
        with pytest.raises(fk.NoSafeRelease, match="has 1600 of them, the least is 10000"):
            fk.publish(place / "table.csv", too_much, method=method)


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_a_population_beside_several_sensitive_columns(method):
    ages = [20, 21, 24, 26, 27, 33, 34, 38] * 3
    table = pa.table({"age": ages, "ill": ["flu", "cold"] * 12, "pay": [1, 2, 3] * 8})
    schema = fk.Schema(
        quasi_identifiers=["age"],
        sensitive=["ill", "pay"],
        hierarchies={"age": fk.Intervals([10, 20])},
    )
    everybody = pa.table({"age": ages * 2 + [29] * 2})
    asked = [
        fk.Requirement(fk.KMap(20, everybody)),
        fk.Requirement(fk.DeltaPresence(0, "1/2", everybody)),
        fk.Requirement(fk.Facts(), below=1, sensitive="ill", knowing=["pay"]),
    ]
    made = fk.publish(table, fk.Policy(asked, schema=schema), method=method)
    assert made.audit.safe
    tens = [sum(age // 10 == decade for age in everybody["age"].to_pylist()) for decade in (2, 3)]
    whole = made.release.counts.n_groups == 1
    least = made.audit.criteria[0].attained.amount
    assert least == (sum(tens) if whole else min(tens))


def test_a_code_with_a_leading_zero_is_no_number():
    table = pa.table({"zip": ["2139"] * 2, "ill": ["flu", "gout"]})
    everybody = pa.table({"zip": ["2139"] * 2 + ["02139"] * 5})
    release = fk.Release.from_generalized(table, quasi_identifiers=["zip"], sensitive="ill")
    assert fk.KMap(3, everybody).measure(release) == 2
    assert not fk.KMap(3, everybody).holds(release)
