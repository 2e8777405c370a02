"""Disclosure curves: the adversaries' own values at every point, and the paper's on Adult."""

import json
import re
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from tests import adult

import foreknow as fk
from foreknow.report import render
from foreknow_judge.errors import DataError, InputError, UnsupportedError

BAGS = [["Flu", "Flu", "AIDS", "Cold"], ["Flu", "Cold", "Mumps"]]


def random_counts(seed, groups=30, values=6, people=200):
    draw = np.random.default_rng(seed)
    of = np.concatenate((np.arange(groups), draw.integers(0, groups, people)))
    return fk.GroupCounts.from_pairs(
        of,
        draw.integers(0, values, len(of)),
        values=[f"v{i}" for i in range(values)],
        n_groups=groups,
    )


@pytest.mark.thinned(2)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("value", [None, "v2"])
def test_every_point_is_what_the_adversary_attains_on_all_groups(seed, value):
    counts = random_counts(seed)
    curves = fk.disclosure_curves(counts, 8, value)
    assert curves.ks == tuple(range(9))
    for k, worst, mild in zip(curves.ks, curves.implications, curves.negations, strict=True):
        fresh = random_counts(seed)
        assert worst.exact == fk.Implications(k).disclosure(fresh, value).exact
        assert mild.exact == fk.Negations(k).disclosure(fresh, value).exact
        assert mild.exact <= worst.exact


def test_one_value():
    counts = fk.GroupCounts.from_bags(BAGS)
    curves = fk.disclosure_curves(counts, 2, "Cold", name="two wards")
    assert [str(found.exact) for found in curves.implications] == ["1/3", "1/2", "1"]
    assert (
        repr(curves) == "DisclosureCurves(two wards: 'Cold', k = 0 to 2, implications 0.3333 to 1)"
    )


def test_the_figure_of_adult_to_six_decimals():
    """Figure 5: ages in steps of 20 years, everything else suppressed."""
    counts = fk.counts_at(adult.microdata(), {"age": 3})
    golden = json.loads(adult.GOLDEN.read_text())
    curves = fk.disclosure_curves(counts, upto=12)
    for kind in ("implications", "negations"):
        found = [round(found.probability, golden["decimals"]) for found in getattr(curves, kind)]
        assert found == golden[kind]
    # What the page of the docs says of the difference.
    pairs = list(zip(curves.implications, curves.negations, strict=True))
    gaps = [worst.exact - mild.exact for worst, mild in pairs]
    assert [k for k, gap in enumerate(gaps) if gap == 0] == [0, 1, 11, 12]
    assert (gaps.index(max(gaps)), f"{100 * float(max(gaps)):.1f}") == (5, "5.2")


def test_what_is_kept_as_json(tmp_path):
    curves = fk.disclosure_curves(fk.GroupCounts.from_bags(BAGS), 1, sensitive="illness")
    curves.to_json(tmp_path / "curves.json")
    read = json.loads((tmp_path / "curves.json").read_text())
    assert read == {"this_file_is": "for the owner only", **curves.to_dict()}
    assert (read["format"], read["version"], read["sensitive"]) == ("foreknow curves", 1, "illness")
    assert [point["k"] for point in read["points"]] == [0, 1]
    assert read["points"][1]["implications"] == {
        "probability": 0.75,
        "exact": "3/4",
        "value": "Flu",
    }


def test_a_release_gives_its_name_and_column(tmp_path):
    path = tmp_path / "ward.csv"
    path.write_text("ward,illness\n1,Flu\n1,Cold\n")
    curves = fk.disclosure_curves(fk.Release.from_groups(path, group="ward", sensitive="illness"))
    assert (curves.name, curves.sensitive) == ("ward.csv", "illness")


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({"upto": -1}, InputError, "upto must be 0 or more"),
        ({"upto": 1.5}, InputError, "upto must be a whole number"),
        ({"upto": 201}, InputError, "upto is at most 200"),
        ({"value": "Flue"}, DataError, "no group contains the sensitive value 'Flue'; did you"),
        ({"value": ["Flu"]}, DataError, "no group contains"),
    ],
)
def test_what_cannot_be_meant_is_refused(asked, error, said):
    with pytest.raises(error, match=re.escape(said)):
        fk.disclosure_curves(fk.GroupCounts.from_bags(BAGS), **asked)


def test_other_tables_are_refused():
    with pytest.raises(InputError, match="at least two releases"):
        fk.disclosure_curves([["Flu"]])
    sets = fk.GroupCounts.from_people([[{"Flu"}, {"Flu", "Cold"}]], semantics="set")
    with pytest.raises(UnsupportedError, match="'set'"):
        fk.disclosure_curves(sets)
    with pytest.raises(DataError, match="no sensitive values"):
        fk.disclosure_curves(fk.GroupCounts.from_bags([]))


# ---- columns that are published beside ----------------------------------------------------------


def beside():
    rows = {
        "age": ["30 to 39"] * 8,
        "job": ["Cook"] * 4 + ["Nurse"] * 4,
        "illness": [*"aabb", *"abcd"],
        "income": [*"xxxy", *"yyxx"],
    }
    return fk.Release.from_generalized(
        pa.table(rows), quasi_identifiers=["age"], sensitive=["illness", "income"], other=["job"]
    )


def by_hand(columns, sensitive):
    """The bags of those who agree in all of some columns."""
    found = beside()
    jobs, income, illness = ["Cook"] * 4 + ["Nurse"] * 4, [*"xxxyyyxx"], [*"aabbabcd"]
    every = {"job": jobs, "income": income, "illness": illness}
    bags = {}
    for row, value in enumerate(every[sensitive]):
        bags.setdefault(tuple(every[name][row] for name in columns), []).append(value)
    assert found.beside
    return fk.GroupCounts.from_bags(list(bags.values()))


@pytest.mark.parametrize(
    ("given", "columns", "sensitive"),
    [
        ({}, ["job", "income"], "illness"),
        ({"sensitive": "income"}, ["job", "illness"], "income"),
        ({"knowing": ["job"]}, ["job"], "illness"),
        ({"knowing": [], "sensitive": "income"}, [], "income"),
    ],
)
def test_columns_published_beside_are_known_unless_it_is_said_otherwise(given, columns, sensitive):
    counts, release = by_hand(columns, sensitive), beside()
    curves, own = fk.disclosure_curves(release, 2, **given), fk.disclosure_curves(counts, 2)
    assert [x.exact for x in curves.implications] == [x.exact for x in own.implications]
    assert set(curves.scope.known) == set(columns)
    skylines = fk.skyline_report(release, confidence="0.9", **given)
    assert skylines.skylines == fk.skyline_report(counts, confidence="0.9").skylines
    assert set(skylines.scope.known) == set(columns)
    for made in (curves, skylines):
        assert made.sensitive == sensitive
        assert ("The adversary knows the" in render(made).html()) == bool(columns)


def test_a_sight_stays_as_it_is_and_counts_know_no_columns():
    seen = beside().seen("illness", ["job"])
    assert fk.disclosure_curves(seen, 1).scope.known == ("job",)
    assert fk.skyline_report(seen, confidence="0.9").scope.known == ("job",)
    for look in (fk.disclosure_curves, partial(fk.skyline_report, confidence=1)):
        with pytest.raises(InputError, match="counts have none: give the release"):
            look(fk.GroupCounts.from_bags(BAGS), knowing=["job"])
        with pytest.raises(InputError, match="jobb"):
            look(beside(), knowing=["jobb"])
