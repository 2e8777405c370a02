"""The verifier under `set` and `multiset`: right by enumeration, whatever the tables are."""

import random
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.diagnoses import SEMANTICS
from tests.examples import examples
from tests.oracle.many_worlds import small_releases, worst_cases
from tests.people import files
from tests.refusals import refused

import foreknow as fk
from foreknow_judge.errors import CertificateError
from foreknow_judge.verdicts import verdicts as verify
from foreknow_judge.written import Written, count_people

FORMS = ["generalized", "bucketized"]
AMOUNTS = st.tuples(*[st.integers(0, 3)] * 3)


def tables(form, groups):
    """The two tables of a release; a group is (people, bag), and its name has two parts or one."""
    generalized = form == "generalized"
    names = [{"age": f"{g} to 9", "zip": None if g % 2 else f"z, {g}"} for g in range(len(groups))]
    if not generalized:
        names = [{"group": g + 1} for g in range(len(groups))]
    people = [name for name, (size, _) in zip(names, groups, strict=True) for _ in range(size)]
    tally = [
        {**name, "disease": x, "count": bag.count(x)}
        for name, (_, bag) in zip(names, groups, strict=True)
        for x in sorted(set(bag))
    ]
    chance = random.Random(len(people))
    chance.shuffle(people)
    chance.shuffle(tally)
    types = [("age", pa.string()), ("zip", pa.string())] if generalized else [("group", pa.int64())]
    of_tally = [*types, ("disease", pa.string()), ("count", pa.int64())]
    return {
        "people": pa.Table.from_pylist(people, pa.schema(types)),
        "sensitive": pa.Table.from_pylist(tally, pa.schema(of_tally)),
    }


def written(form, groups, semantics, held=None):
    columns = ("age", "zip") if form == "generalized" else ("group",)
    return Written(form, columns, "disease", held or tables(form, groups), semantics=semantics)


def facts(point, **more):
    return {"facts": dict(zip("lkm", point, strict=True)), "below": "1/2", **more}


def counts_of(groups, semantics):
    """The same release as counts, by another way than the verifier's."""
    values = sorted({x for _, bag in groups for x in bag})
    pairs = [(g, values.index(x)) for g, (_, bag) in enumerate(groups) for x in bag]
    codes = pa.array(pairs, pa.list_(pa.int64(), 2)).flatten().to_numpy().reshape(-1, 2)
    return fk.GroupCounts.from_pairs(
        codes[:, 0],
        codes[:, 1],
        values=values,
        n_groups=len(groups),
        sizes=pa.array([size for size, _ in groups]).to_numpy(),
        semantics=semantics,
    )


@st.composite
def releases(draw, semantics):
    groups = []
    for size in draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)):
        top = size if semantics == "set" else 4
        groups.append((size, "".join(x * draw(st.integers(0, top)) for x in "stu")))
    assume(any(bag for _, bag in groups))
    return groups


# ---- the numbers are right ---------------------------------------------------------------------


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_probabilities_are_those_of_enumerated_worlds(semantics):
    most = (2, 2, 2)
    for groups in small_releases(3, 2, 2, 2, semantics):
        values = sorted({x for _, bag in groups for x in bag})
        cases = list(product(values, product(*(range(amount + 1) for amount in most))))
        truth = {x: worst_cases(groups, x, most, semantics) for x in values}
        rules = [facts(point, values=[x]) for x, point in cases]
        found = verify(written("bucketized", groups, semantics), rules)
        for finding, (x, point) in zip(found, cases, strict=True):
            assert finding.reached == truth[x][point], (groups, x, point)
            assert type(finding.reached) is Fraction


@examples(25, deadline=None)
@given(data=st.data(), point=AMOUNTS)
@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("form", FORMS)
def test_probabilities_are_those_of_the_adversary(form, semantics, data, point):
    groups = data.draw(releases(semantics))
    expected = fk.Facts(*point).disclosures(counts_of(groups, semantics))
    rules = [facts(point), *(facts(point, values=[x]) for x in expected)]
    worst, *found = verify(written(form, groups, semantics), rules)
    assert [f.reached for f in found] == [d.exact for d in expected.values()]
    assert worst.reached == max(d.exact for d in expected.values())
    assert expected[worst.value].exact == worst.reached


@pytest.mark.parametrize(
    ("groups", "point", "semantics", "probability"),
    [
        ([(2, "s"), (1, "ab")], (2, 0, 0), "set", "1/2"),
        ([(3, "sab")], (2, 0, 0), "set", "9/17"),  # merged: worse
        ([(2, "ss")], (0, 0, 0), "multiset", "3/4"),
        ([(2, "ss")], (0, 0, 3), "multiset", "1"),
        ([(3, "")], (1, 1, 1), "set", "0"),
        ([(4, "sa")], (0, 4, 0), "set", "1"),
    ],
)
def test_the_cases_of_the_papers_errata(groups, point, semantics, probability):
    (found,) = verify(written("bucketized", groups, semantics), [facts(point, values=["s"])])
    assert found.reached == Fraction(probability)


def test_large_groups_are_settled_in_whole_numbers():
    size, bag = 3000, "s" * 1000 + "a" * 700 + "b" * 300
    (found,) = verify(written("bucketized", [(size, bag)], "multiset"), [facts((1, 2, 3))])
    disclosure = fk.Facts(1, 2, 3).disclosure(counts_of([(size, bag)], "multiset"))
    assert found.reached == disclosure.exact


# ---- reading -----------------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("fmt", ["csv", "parquet"])
@pytest.mark.parametrize("form", FORMS)
def test_files_hold_the_groups_of_their_tables(form, fmt, semantics, tmp_path):
    groups = [(3, "sst"), (2, ""), (4, "tu"), (1, "s")]
    on_disk = written(form, groups, semantics, files(tables(form, groups), fmt, tmp_path))
    assert on_disk.held == written(form, groups, semantics).held
    assert count_people(on_disk) == (10, 4)
    found = sorted((people, sorted(bag.items())) for people, bag in on_disk.held.values())
    assert found == [
        (1, [("s", 1)]),
        (2, []),
        (3, [("s", 2), ("t", 1)]),
        (4, [("t", 1), ("u", 1)]),
    ]


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_a_release_without_values_discloses_nothing(fmt, tmp_path):
    paths = files(tables("generalized", [(3, ""), (2, "")]), fmt, tmp_path)
    (found,) = verify(written("generalized", [], "set", paths), [facts((1, 1, 1))])
    assert (found.value, found.group, found.reached) == (None, None, 0)
    assert found.safe


def moved(held, name, change):
    rows = held[name].to_pylist()
    change(rows)
    return held | {name: pa.Table.from_pylist(rows, held[name].schema)}


def put(row, **cells):
    def change(rows):
        rows[row].update(cells)

    return change


def put_again(rows):
    rows.append({**rows[0]})


def put_more(rows):
    rows.append({"group": 9})


@pytest.mark.parametrize(
    ("name", "change", "semantics", "code", "about"),
    [
        ("sensitive", put(0, count=4), "set", "people-differ", {"group": "1"}),
        ("sensitive", put(0, group=9), "multiset", "people-differ", {"group": "9"}),
        ("people", put_more, "single", "people-differ", {"group": "9"}),
        ("people", lambda rows: rows.pop(), "single", "people-differ", {"group": "1"}),
        ("sensitive", put(0, count=0), "set", "no-count", {"value": "s"}),
        ("sensitive", put(0, count=None), "set", "no-count", {"value": "s"}),
        ("sensitive", put(0, disease=None), "set", "no-count", {"value": None}),
        ("sensitive", put(1, disease="s"), "set", "listed-twice", {"group": "1", "value": "s"}),
        ("sensitive", put_again, "set", "listed-twice", {"group": "1", "value": "s"}),
    ],
)
def test_tables_that_contradict_each_other_are_refused(name, change, semantics, code, about):
    people = pa.table({"group": [1, 1, 1]})
    tally = pa.table({"group": [1, 1], "disease": ["s", "t"], "count": [1, 2]})
    held = moved({"people": people, "sensitive": tally}, name, change)
    release = written("bucketized", [], semantics, held)
    with refused(code, CertificateError, **about):
        verify(release, [facts((0, 0, 0))])


def test_unknown_semantics_are_refused():
    with refused("wrong-setting", CertificateError, key="semantics"):
        verify(written("bucketized", [(1, "s")], "bag"), [facts((0, 0, 0))])
