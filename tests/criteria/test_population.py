"""k-map and delta-presence: measured, decided, published, verified and refused."""

import datetime as dt
import json
import random
import re
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.common import examples, refused
from tests.oracle.risks import chosen, presence_in_worlds

import foreknow as fk
from foreknow_judge.criteria.population import (
    Population,
    PopulationSettings,
    _LabelReader,
    count_matches,
)
from foreknow_judge.errors import CertificateError
from foreknow_judge.files.written_release import Written
from foreknow_judge.verdicts import verdicts as verify

BOXES = st.tuples(st.integers(0, 5), st.integers(0, 3), st.sampled_from(["m", "f", "*"]))
CROWD = st.lists(st.tuples(st.integers(0, 8), st.sampled_from("mf")), min_size=1, max_size=7)


def covers(box, person):
    low, wide, sex = box
    return low <= person[0] <= low + wide and sex in ("*", person[1])


def label(box):
    low, wide, sex = box
    return (str(low) if not wide else f"{low} to {low + wide}", sex)


def rows_of(groups):
    rows = [(*label(box), "x") for box, size in groups for _ in range(size)]
    ages, sexes, values = zip(*rows, strict=True)
    return pa.table({"age": ages, "sex": sexes, "ill": values})


def release_of(groups):
    return fk.Release.from_generalized(
        rows_of(groups), quasi_identifiers=["age", "sex"], sensitive="ill"
    )


def placed_by_the_verifier(groups, people):
    """How many people each group could hold, by its label, how many are in none, and in two."""
    held = Written("generalized", ["age", "sex"], "ill", {"release": rows_of(groups)}).held
    everybody = Population(["age", "sex"], [(str(age), sex, 1) for age, sex in people])
    many, outside, overlap = count_matches(held, PopulationSettings(population=""), everybody)
    return dict(zip(map(tuple, held), many, strict=True)), outside, overlap


def table_of(people):
    ages, sexes = zip(*people, strict=True)
    return pa.table({"sex": sexes, "age": ages, "town": ["Rome"] * len(ages)})


@st.composite
def publications(draw):
    """A population, and groups of some of its people, by distinct labels."""
    people = draw(CROWD)
    results = {}
    for box in draw(st.lists(BOXES, min_size=1, max_size=3, unique=True)):
        inside = sum(covers(box, person) for person in people)
        if inside:
            results[box] = draw(st.integers(1, min(inside, 3)))
    assume(results)
    return people, list(results.items())


LITTLE = Fraction(1, 1000)


def is_safe(groups, criterion):
    """Whether a release is safe: by the criterion, and by the judge of its files."""
    release = release_of(groups)
    (verdict,) = fk.audit(release, fk.Policy([fk.Requirement(criterion)])).criteria
    failing = criterion.fails(release.counts).any() or criterion.beyond_groups(release)
    everybody = criterion.population
    files = {"release": rows_of(groups)}, {everybody.digest(): everybody.written()}
    held = Written("generalized", ["age", "sex"], "ill", files[0], populations=files[1])
    (finding,) = verify(held, [criterion.published()])
    assert finding.safe == verdict.safe == criterion.holds(release) == (not failing)
    return finding.safe


# Somebody may be in either of two groups.
CROSSED = [(0, "m"), (1, "m"), (2, "m")], [((0, 1, "m"), 1), ((1, 1, "m"), 1)]


@examples(600, daily=8, deadline=None)
@example(CROSSED)
@given(publications())
def test_measures_by_all_worlds(publication):
    people, groups = publication
    cover = [[i for i, person in enumerate(people) if covers(box, person)] for box, _ in groups]
    sizes = [size for _, size in groups]
    if next(chosen(cover, sizes), None) is None:
        return  # no register of these people: refused, as far as counting tells
    release, table = release_of(groups), table_of(people)
    fewest = min(map(len, cover))
    assert fk.KMap(1, table).measure(release) == fewest
    assert is_safe(groups, fk.KMap(fewest, table))
    assert not is_safe(groups, fk.KMap(fewest + 1, table))
    n_unique = sum(size for size, own in zip(sizes, cover, strict=True) if len(own) == 1)
    share = Fraction(n_unique, sum(sizes))
    assert is_safe(groups, fk.PopulationRisk(uniqueness=share, population=table))
    if share:
        lower = max(share - LITTLE, 0)
        assert not is_safe(groups, fk.PopulationRisk(uniqueness=lower, population=table))
    many = {label(box): len(own) for (box, _), own in zip(groups, cover, strict=True)}
    outside = len(people) - len({i for own in cover for i in own})
    overlap = any(set(a) & set(b) for i, a in enumerate(cover) for b in cover[:i])
    assert placed_by_the_verifier(groups, people) == (many, outside, overlap)
    result = [Fraction(0), Fraction(1)]  # where somebody may be in two groups, nothing is claimed
    if not overlap:
        result = presence_in_worlds(len(people), cover, sizes)
    low, high = min(result), max(result)
    assert fk.DeltaPresence(low, high, table).presence(release) == (low, high)
    assert is_safe(groups, fk.DeltaPresence(low, high, table))
    if low < high:
        assert not is_safe(groups, fk.DeltaPresence(low, high - LITTLE, table))
        assert not is_safe(groups, fk.DeltaPresence(low + LITTLE, high, table))


def test_populations_of_other_people():
    people = [(20, "m"), (21, "m"), (22, "m")]
    for groups in ([((20, 2, "m"), 4)], [((20, 2, "m"), 2), ((21, 0, "m"), 1), ((22, 0, "m"), 1)]):
        with pytest.raises(CertificateError, match="the population is none of this table"):
            placed_by_the_verifier(groups, people)
    assert placed_by_the_verifier([((20, 2, "m"), 3)], people) == ({("20 to 22", "m"): 3}, 0, False)
    # Groups within a group count among those whom it covers.
    groups = [((20, 2, "m"), 2), ((20, 0, "m"), 1), ((21, 0, "m"), 1)]
    for criterion in (fk.KMap(1, table_of(people)), fk.DeltaPresence(0, 1, table_of(people))):
        with pytest.raises(fk.InputError, match="and those within it, it has 3 people"):
            criterion.measure(release_of(groups))
    assert fk.KMap(1, table_of([*people, (22, "m")])).measure(release_of(groups)) == 1
    # The order of columns does not matter; a code with a leading zero is no number.
    columns = {"sex": ["*", "m"], "age": ["0 to 3", "2 to 5"], "ill": ["x", "x"]}
    turned = fk.Release.from_generalized(
        pa.table(columns), quasi_identifiers=["sex", "age"], sensitive="ill"
    )
    k_map = fk.KMap(1, table_of([(age, sex) for age in range(6) for sex in "mf"]))
    assert k_map.measure(release_of([((0, 3, "*"), 1), ((2, 3, "m"), 1)])) == 4
    assert k_map.measure(turned) == 4
    zips = pa.table({"zip": ["2139"] * 2, "ill": ["flu", "gout"]})
    release = fk.Release.from_generalized(zips, quasi_identifiers=["zip"], sensitive="ill")
    everybody = pa.table({"zip": ["2139"] * 2 + ["02139"] * 5})
    assert fk.KMap(3, everybody).measure(release) == 2
    assert not fk.KMap(3, everybody).holds(release)


LABELS = [
    ("20 to 29", [19, 20, 29, 30], [20, 29]),
    ("0.5 to <1", ["0.4", "0.5", "0.99", "1", None], ["0.5", "0.99"]),
    ("021**", ["02139", "02210", "0213", None], ["02139"]),
    ("*****", ["02139", None], ["02139", None]),
    ("7", [7, 70], [7]),
    ("7", [7.0, 70.0], [7.0]),
    ("007", ["007", "7"], ["007"]),
    ("a | b", ["a", "b", "c"], ["a", "b"]),
    ("a | b", ["c", "a | b"], ["a | b"]),
    ('"a | b" | "c"', ["a", "a | b", "c"], ["a | b", "c"]),
    ("missing | a", ["a", "b", None], ["a", None]),
    ('missing | "a | b" | "c"', ["a | b", "c", "a", None], ["a | b", "c", None]),
    ("1 to 3 or missing", [0, 1, 3, None], [1, 3, None]),
    ("missing", ["a", None], [None]),
    (None, ["a", None], [None]),
    ("2024-02", [dt.date(2024, 1, 31), dt.date(2024, 2, 29)], [dt.date(2024, 2, 29)]),
    ("2024-Q1 to 2024-Q2", ["2023-12-31", "2024-01-01", "2024-06-30", "2024-07-01"], None),
    ("2020s", ["2019-12-31", "2020-01-01", "2029-12-31"], ["2020-01-01", "2029-12-31"]),
    ("1900 to 1999", ["1899-12-31", "1900-01-01", "1999-12-31"], ["1900-01-01", "1999-12-31"]),
    ("2024-02-29", ["2024-02-29", "2024-02-28"], ["2024-02-29"]),
    (
        "2024-03",
        ["2024-03-05 10:00:00.5+01:00", "2024-04-01 10:00Z"],
        ["2024-03-05 10:00:00.5+01:00"],
    ),
    ("5", ["5", "5Z"], ["5"]),
    ("29 or more", [28, 29, 30], [29, 30]),
    ("<0.5", ["0.4", "0.5", "x"], ["0.4"]),
    ("2024-02 or earlier", ["2024-03-01", "2024-01-31", "2024-02-29"], None),
    ("1 | 2 or more", ["1", "2", "3"], ["1"]),
    ("*+", ["a", "*"], ["a", "*"]),
]


@pytest.mark.parametrize(("text", "values", "inside"), LABELS)
def test_labels_as_they_say(text, values, inside):
    """By the criterion, of one person with the first value, two with the second, four..."""
    inside = values[1:3] if inside is None else inside
    table = pa.table({"q": [text, "nothing"], "ill": ["x", "y"]})
    release = fk.Release.from_generalized(table, quasi_identifiers=["q"], sensitive="ill")
    typed = len({type(value) for value in values if value is not None}) == 1
    column = values if typed else [None if v is None else str(v) for v in values]
    people = [value for position, value in enumerate(column) for _ in range(2**position)]
    place = fk.KMap(1, pa.table({"q": people})).population.place(release.counts)
    many = int(place.people[release.counts.groups.index((text,))])
    assert [bool(many >> at & 1) for at in range(len(values))] == [v in inside for v in values]
    for value, own in zip(values, column, strict=True):
        reader = _LabelReader({None if own is None else str(own)}, "q", None, None, None)
        assert bool(reader.in_label(text)) == (value in inside), value


# ---- published and verified --------------------------------------------------------------------


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


def policy_of(*criteria):
    return fk.Policy([fk.Requirement(each) for each in criteria], SCHEMA)


@pytest.mark.complete
@pytest.mark.parametrize(
    ("source", "method"),
    [("everybody.csv", "fulldomain"), ("everybody.parquet", "mondrian"), ("frame", "fulldomain")],
)
def test_publications_verify_with_the_population(method, source, place):
    people, _ = register()
    given = as_table(people) if source == "frame" else place / source
    facts = fk.Policy([fk.Requirement(fk.Facts(1), below="0.99")]).requirements
    rules = policy_of(fk.KMap(20, given), fk.DeltaPresence(0, "2/5", given)).requirements
    policy = fk.Policy([*rules, *facts, fk.Requirement(fk.KAnonymity(20))], SCHEMA)
    publication = fk.publish(place / "table.csv", policy, method=method)
    publication.write(place / "out")
    result = recounted(publication.to_arrow().to_pylist(), people)
    assert len(result) > 3
    assert min(of for _, of in result) == publication.audit.criteria[0].reached >= 20
    highest = max(Fraction(n, of) for n, of in result)
    assert highest == publication.audit.criteria[1].reached <= Fraction(2, 5)
    with pytest.raises(fk.InputError, match="cannot be checked without the population"):
        fk.verify(place / "out")
    at = place / ("everybody.csv" if source == "frame" else source)
    verification = fk.verify(place / "out", population=at)
    assert [finding.reached for finding in verification.findings[:2]] == [
        min(o for _, o in result),
        highest,
    ]
    with refused("digest-differs", fk.InputError, file="table.csv"):
        fk.verify(place / "out", population=place / "table.csv")
    path = place / "out" / "certificate.json"
    text = path.read_text()
    assert "everybody" in text or source == "frame"
    assert str(place) not in text
    assert str(place) not in (place / "out" / "report.html").read_text("utf-8")
    # A certificate that promises more is refused.
    changes = [(0, "k_map", "k", 10**6), (1, "delta_presence", "highest", "1/1000")]
    for place_of, key, amount, more in changes:
        document = json.loads(text)
        for table in (
            document["policy"]["require"][place_of],
            document["findings"][place_of]["judged"],
        ):
            table[key][amount] = more
        path.write_text(json.dumps(document))
        with pytest.raises(fk.InputError, match=f"{key}.* does not hold"):
            fk.verify(place / "out", population=at)


def test_policy_files_name_the_population(place):
    (place / "policy.toml").write_text(
        """
        [schema]
        quasi_identifiers = ["age", "sex", "town"]
        sensitive = "ill"
        [[require]]
        k_map = { k = 5, population = "everybody.csv" }
        [[require]]
        delta_presence = { lowest = 0, highest = 0.7, population = "everybody.csv" }
        [[require]]
        k_anonymity = 5
        """
    )
    policy = fk.Policy.load(place / "policy.toml")
    rules = fk.Policy.from_dict(policy.to_dict(), place)
    assert [r.criterion for r in rules.requirements] == [r.criterion for r in policy.requirements]
    publication = fk.publish(place / "table.csv", policy)
    assert publication.audit.safe
    assert "the group that fewest of the population could be in" in publication.audit.to_html()


# ---- what is refused, and the ways out ---------------------------------------------------------

REGISTER = as_table(register()[0])
OF_AGES = release_of([((0, 1, "*"), 1)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fk.KMap(0, "x.csv"), "KMap: k"),
        (lambda: fk.KMap(5, None), "a population is a table"),
        (lambda: fk.DeltaPresence(0.5, 0.2, "x.csv"), "in this order"),
        (lambda: fk.DeltaPresence(0, 2, "x.csv"), "from 0 to 1"),
        (lambda: fk.KMap(2, "nowhere.csv").holds(OF_AGES), "there is no"),
        (
            lambda: fk.KMap(2, pa.table({"agee": [1], "sex": ["m"]})).holds(OF_AGES),
            "has no column 'age'; did you mean 'agee'",
        ),
        (
            lambda: fk.DeltaPresence(0, 1, table_of([(9, "m")])).measure(OF_AGES),
            "it must hold everybody of the table",
        ),
        (
            lambda: fk.KMap(2, table_of([(9, "m")])).measure(fk.GroupCounts.from_bags(["ab"])),
            "published quasi-identifiers",
        ),
    ],
)
def test_populations_refused(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("criteria", "options", "message"),
    [
        ([fk.DeltaPresence("1/6", "1/2", REGISTER)], {"method": "fulldomain"}, "1/6 to 1/2 is"),
        ([fk.KMap(5, REGISTER)], {"form": "bucketized"}, 'form = "generalized"'),
        *(
            ([fk.KMap(10**4, REGISTER)], {"method": own}, "The table has fewer people, 400: requ")
            for own in ("mondrian", "fulldomain")
        ),
        (
            [fk.DeltaPresence(0, "2/3", REGISTER), fk.KAnonymity(10)],
            {},
            r"labels of groups overlap.*fulldomain",
        ),
    ],
)
def test_no_safe_release(criteria, options, message, place):
    with pytest.raises(fk.NoSafeRelease, match=message) as refused:
        fk.publish(place / "table.csv", policy_of(*criteria), **options)
    if "is" in message[-2:]:
        assert refused.value.way_out[0].startswith("Coarser groups may do: require k_anonymity abo")
        coarse = policy_of(*criteria, fk.KAnonymity(40))
        publication = fk.publish(place / "table.csv", coarse, **options)
        result = recounted(publication.to_arrow().to_pylist(), register()[0])
        assert sum(of for _, of in result) == len(REGISTER)
        assert all(Fraction(1, 6) <= Fraction(n, of) <= Fraction(1, 2) for n, of in result)
        assert len(result) > 1
    if not options:
        assert fk.publish(place / "table.csv", policy_of(*criteria), method="fulldomain").audit.safe


@pytest.mark.parametrize("method", ["mondrian", "fulldomain", "decoy"])
def test_no_search_asks_it(method, place):
    """The way out holds."""
    asked = fk.KMap(20, place / "everybody.csv")
    with pytest.raises(fk.NoSafeRelease, match="in has 1 of them, the least is 20") as refused:
        fk.publish(place / "table.csv", policy_of(asked), method=method)
    assert "Whoever looks like 20 people of the table" in refused.value.way_out[0]
    assert refused.value.way_out[1:] == ("  [[require]]", "  k_anonymity = 20")
    publication = fk.publish(
        place / "table.csv", policy_of(asked, fk.KAnonymity(20)), method=method
    )
    assert publication.audit.safe
    assert publication.counts.n_groups > 1
    assert publication.audit.criteria[0].reached >= 20
    if method == "decoy":
        return
    method = fk.Mondrian(suppression=0.1) if method == "mondrian" else fk.FullDomain()
    policy, microdata = (
        policy_of(asked, fk.KAnonymity(3)),
        fk.Microdata(place / "table.csv", SCHEMA),
    )
    with pytest.raises(fk.InputError, match="KMap needs groups that are finished, and a search"):
        method.partition(microdata, policy)
    group_of_row = method.partition(microdata, policy.searched)
    assert (
        group_of_row.tolist() == method.partition(microdata, policy_of(fk.KAnonymity(3))).tolist()
    )


def test_intervals_that_groups_have(place):
    def policy(lowest, highest):
        return policy_of(fk.DeltaPresence(lowest, highest, REGISTER), fk.KAnonymity(40))

    with pytest.raises(fk.NoSafeRelease) as refused:
        fk.publish(place / "table.csv", policy("1/4", "1/4"), method="fulldomain")
    line = refused.value.way_out[-1]
    lowest, highest = re.fullmatch(r'  lowest = "(.*)", highest = "(.*)"', line).groups()
    publication = fk.publish(place / "table.csv", policy(lowest, highest), method="fulldomain")
    assert publication.audit.safe
    assert Fraction(lowest) < Fraction(1, 4) < Fraction(highest) < 1


def test_populations_that_lack_people(place):
    people, own = register()
    coarse = as_table([(age // 10 * 10, sex, town) for age, sex, town in people])
    for criterion in (fk.KMap(2, coarse), fk.DeltaPresence(0, 1, coarse)):
        with pytest.raises(fk.InputError, match=r"no population of this table: with age .* has 0"):
            fk.publish(place / "table.csv", policy_of(criterion))
    missing = as_table([person for person in people if person != own[0]])
    with pytest.raises(fk.InputError, match=f"age '{own[0][0]}' and sex '{own[0][1]}'"):
        fk.publish(place / "table.csv", policy_of(fk.KMap(2, missing)))


@pytest.mark.parametrize("separator", [";", "\t"])
def test_populations_read_otherwise_by_verifiers(place, separator, tmp_path, monkeypatch):
    """Before groups are made; the file that is advised is taken."""

    def searched(*given, **more):
        raise AssertionError("groups were made")

    text = (place / "everybody.csv").read_text("utf-8").replace(",", separator)
    (tmp_path / "other.csv").write_text(text, "utf-8")
    advised = (tmp_path / "other.csv").read_text("utf-8").replace(separator, ",")
    (tmp_path / "advised.csv").write_text(advised, "utf-8")
    rules = policy_of(fk.KMap(1, str(tmp_path / "advised.csv")))
    assert fk.publish(place / "table.csv", rules).audit.safe
    monkeypatch.setattr(fk.Mondrian, "partition", searched)
    with pytest.raises(fk.InputError, match="UTF-8 with commas between cells"):
        fk.publish(place / "table.csv", policy_of(fk.KMap(1, str(tmp_path / "other.csv"))))


# ---- values that look like labels --------------------------------------------------------------


HOSTILE = ["*", "ab*", "a | b", "20 to 29", "2024", "missing", "1", "****", "a or missing"]

OTHERS = ["abc", "a", "b", "20", "25", "2024-05-05", "2024-01-31", "1.0", None, "x", "abcd"]


def towns(path, values):
    table = pa.table({"town": pa.array(values, pa.string()), "n": [1] * len(values)})
    pq.write_table(table, path) if path.suffix == ".parquet" else pc.write_csv(table, path)
    return path


@pytest.mark.parametrize(
    ("value", "form"),
    [(own, ("csv", "parquet")[position % 2]) for position, own in enumerate(HOSTILE)],
)
def test_values_that_look_like_labels(value, form, tmp_path):
    """Two people have it in table and population, whatever else its text could cover."""
    path = towns(tmp_path / f"everybody.{form}", [value] * 2 + [x for x in OTHERS for _ in (1, 2)])
    values = [value] * 2 + ["x"] * 2
    table = pa.table({"town": pa.array(values, pa.string()), "ill": ["flu", "cold"] * 2})
    schema = fk.Schema(quasi_identifiers=["town"], sensitive="ill", types={"town": "text"})
    rules = [fk.Requirement(fk.KMap(2, path)), fk.Requirement(fk.DeltaPresence(0, 1, path))]
    publication = fk.publish(table, fk.Policy(rules, schema), format=form, labels={"town": "exact"})
    assert publication.counts.n_groups == 2
    publication.write(tmp_path / "out")
    findings = fk.verify(tmp_path / "out", population=path).findings
    assert [finding.reached for finding in findings] == [2, 1]
    # By itself the file does not say whether it is the value or the label.
    release = fk.Release.from_generalized(table, quasi_identifiers=["town"], sensitive="ill")
    for criterion in (fk.KMap(2, path), fk.DeltaPresence(0, 1, path)):
        with pytest.raises(fk.InputError, match="may be one value, or a label"):
            criterion.measure(release)
    at = tmp_path / "out" / "certificate.json"
    document = json.loads(at.read_text())
    for known in document["policy"]["require"]:
        assert next(iter(known.values())).pop("exact") == {"town": [value]}
    for known in document["findings"]:
        next(iter(known["judged"].values())).pop("exact")
    at.write_text(json.dumps(document))
    with pytest.raises(fk.InputError, match="can be read in two ways"):
        fk.verify(tmp_path / "out", population=path)


@pytest.mark.parametrize("values", [['"b"', None], ['"b"', None, "b"]])
def test_quotes_of_values(values, tmp_path):
    """`missing | "b"` is a null and a value with quotes, or b: read so if only one is there."""
    path = towns(tmp_path / "everybody.parquet", [value for value in values for _ in range(3)])
    table = pa.table({"town": ['"b"', None], "ill": ["flu", "cold"]})
    schema = fk.Schema(quasi_identifiers=["town"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.KMap(4, path)), fk.Requirement(fk.KAnonymity(2))], schema)
    release = pa.table({"town": ['missing | "b"'] * 2, "ill": ["flu", "cold"]})
    if "b" in values:
        with pytest.raises(fk.InputError, match="may be one value, or a label"):
            fk.audit(release, policy)
    else:
        assert fk.audit(release, policy).criteria[0].reached == 6
        publication = fk.publish(table, policy, format="parquet", labels={"town": "exact"})
        publication.write(tmp_path / "out")
        assert fk.verify(tmp_path / "out", population=path).findings[0].reached == 6


def test_labels_for_rarer_values(tmp_path):
    """Three people have a rare job each; in the population, a thousand have the job "other"."""
    jobs = ["pope", "nun", "abbot", *(["cook", "clerk", "nurse"][i % 3] for i in range(237))]
    table = pa.table({"job": jobs, "ill": [["flu", "cold"][i % 2] for i in range(240)]})
    path = tmp_path / "everybody.csv"
    pc.write_csv(pa.table({"job": [*jobs, *["other"] * 1000]}), path)
    schema = {"quasi_identifiers": ["job"], "sensitive": "ill"}
    half = {"schema": schema, "require": [{"facts": {"l": 0, "k": 0}, "below": 0.9}]}
    publication = fk.publish(table, half)
    assert "other" in publication.to_arrow()["job"].to_pylist()
    publication.write(tmp_path / "out")
    required = {"k_map": {"k": 50, "population": str(path)}}
    policy = fk.Policy.of({"schema": schema, "require": [required]})
    for judge in (
        lambda: fk.audit(publication.release, policy),
        lambda: fk.audit(tmp_path / "out", policy),
        lambda: fk.audit(tmp_path / "out" / "release.csv", policy),
        lambda: fk.verify(tmp_path / "out", policy),
    ):
        with pytest.raises(fk.InputError, match=r"'other' may be one value, or stand for rarer"):
            judge()
    # Where the table is at hand, it is known to be a value.
    real = pa.table(
        {"job": ["other", "cook"] * 120, "ill": [["flu", "cold"][i // 2 % 2] for i in range(240)]}
    )
    pc.write_csv(pa.table({"job": ["other", "cook", "nun"] * 130}), path)
    rules = fk.Policy.of({"schema": schema, "require": [required]})
    publication = fk.publish(real, rules)
    assert [each.reached for each in publication.audit.criteria] == [130]
    publication.write(tmp_path / "real")
    assert fk.verify(tmp_path / "real", population=path)


@pytest.mark.parametrize(
    ("label", "everybody", "refusal"),
    [
        ("other", ["other"] * 20, None),
        ("other | cook", ["other", "cook"] * 10, None),
        ("other | cook", ["other", "cook", "nun"] * 10, "such as 'nun'"),
    ],
)
def test_label_other_that_covers_everybody(label, everybody, refusal, tmp_path):
    """A label that covers the whole population, and says `other`, lists its values."""
    released = pa.table({"job": [label] * 8, "ill": ["flu", "cold"] * 4})
    population = tmp_path / "everybody.csv"
    pc.write_csv(pa.table({"job": everybody}), population)
    schema = {"quasi_identifiers": ["job"], "sensitive": "ill"}
    k_map = {"k_map": {"k": 20, "population": str(population)}}
    policy = fk.Policy.of({"schema": schema, "require": [k_map]})
    if refusal is None:
        assert [finding.reached for finding in fk.audit(released, policy).criteria] == [20]
    else:
        with pytest.raises(fk.InputError, match=refusal):
            fk.audit(released, policy)


@pytest.mark.parametrize("key", ["trees", "orders"])
def test_labels_by_the_schemas_hierarchy(key, tmp_path):
    """A certificate that reads "N" otherwise than its schema would find more people there."""
    zips = ["A", "A", "A", "B", "B", "B", "C", "C", "C", "D", "D", "D"]
    table = pa.table({"zip": zips, "ill": ["HIV", "Flu", "Cold", "Flu", "Cold", "Gout"] * 2})
    population = tmp_path / "population.csv"
    population.write_text("\n".join(["zip", *zips, *["E"] * 50]) + "\n")
    rows = [["A", "N", "*"], ["B", "N", "*"], ["C", "S", "*"], ["D", "S", "*"], ["E", "W", "*"]]
    schema = {
        "quasi_identifiers": ["zip"],
        "sensitive": "ill",
        "hierarchies": {"zip": {"rows": rows}},
    }
    k_map = {"k_map": {"k": 6, "population": str(population)}}
    rules = {"schema": schema, "require": [k_map, {"k_anonymity": 6}]}
    fk.publish(table, fk.Policy.from_dict(rules), seed=1).write(tmp_path / "out")
    fk.verify(tmp_path / "out", population=population)
    path = tmp_path / "out" / "certificate.json"
    document = json.loads(path.read_text("utf-8"))
    given = document["policy"]["require"][0]["k_map"]
    if key == "trees":
        given["trees"]["zip"] = [["E", "N", "*"] if row[0] == "E" else row for row in rows]
    else:
        given["orders"] = {"zip": ["A", "E", "B", "C", "D"]}
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="k_map reads labels of 'zip' by another hierarchy"):
        fk.verify(tmp_path / "out", population=population)
