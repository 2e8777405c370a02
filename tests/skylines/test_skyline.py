"""The knowledge skyline against its definition, and as a result: what is written, and the page."""

import json
import subprocess
import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.adversaries.releases import counts_of, small_releases, worst_cases
from tests.common import NIGHTLY
from tests.report.results import (
    Reader,
    assert_as_before,
    case_study,
    many_points,
    of_sets,
    three_values,
    words,
)

import foreknow as fk
from foreknow.adversaries.facts import fronts
from foreknow.features.skylines import knowledge_skyline as module
from foreknow.features.skylines.named_people import NamedWitness
from foreknow.features.skylines.skyline_page import (
    adversary,
    beyond_sentence,
    least_sentence,
    probability_text,
    skyline_heat,
    terms_of,
    worst_case,
    worst_sentence,
)
from foreknow.report import render
from foreknow.report.knowledge import Terms
from foreknow.report.terminal import Laid
from foreknow_judge.errors import DataError

SEMANTICS = ["single", "set", "multiset"]
every = pytest.mark.parametrize("semantics", SEMANTICS)

# Over the worlds of small releases: people, groups and values at most.
SMALL = [(1, 1, 2), (3, 2, 2), (4, 2, 2), (4, 1, 3)]
LARGER = [(5, 1, 3), (3, 3, 3), (4, 3, 2), (5, 2, 2), (6, 2, 2), (6, 1, 3)]


def below(points, amounts):
    return any(all(a <= b for a, b in zip(amounts, point, strict=True)) for point in points)


def brute_skyline(box, safe):
    """List the safe points up to a box that no other safe point exceeds, sorted.

    No safe point may lie beyond. The first amount is capped (more values to rule out or to co-occur
    than there are add nothing), the others must leave the last layer unsafe, which is checked.
    """
    inside = {point for point in product(*(range(top + 1) for top in box)) if safe(*point)}
    assert all(k < box[1] and m < box[2] for _, k, m in inside), (box, inside)
    return sorted(point for point in inside if not below(inside - {point}, point))


def box_of(groups, value):
    """Amounts beyond which nothing can be safe, or nothing changes.

    Who knows all others of a group that has the value, or is told that each of them brings it to
    the target, is certain; so is, all the more, who knows of as many as the smallest such group
    has people.
    """
    lowest = min(size for size, bag in groups if value in bag)
    return len({x for _, bag in groups for x in bag} - {value}), lowest, lowest


def same(counts, expected, c):
    """The skylines are as expected, one by one and all at once: lists of tuples, sorted."""
    where = (counts.to_dict(), c)
    assert fk.knowledge_skylines(counts, confidence=c) == expected, where
    for value, points in expected.items():
        skyline = fk.knowledge_skyline(counts, value=value, confidence=c)
        assert skyline == points, (where, value)
        assert type(skyline) is list, (where, value)
        assert {type(point) for point in skyline} <= {tuple}, (where, value)
        assert {type(amount) for point in skyline for amount in point} <= {int}, (where, value)


@every
@pytest.mark.parametrize(
    "limits", [*SMALL, *(pytest.param(x, marks=pytest.mark.slow) for x in LARGER)], ids=str
)
def test_small_releases_against_enumeration(limits, semantics):
    """At every limit that matters: what some amounts attain, numbers just above that, and 1."""
    for groups in small_releases(*limits, 2, semantics):
        counts, truths = counts_of(groups, semantics), {}
        for value in counts.values:
            box = box_of(groups, value)
            truths[value] = box, worst_cases(groups, value, box, semantics)
        attained = {chance for _, truth in truths.values() for chance in truth.values()}
        for c in {1, *attained, *(chance + Fraction(1, 10**9) for chance in attained - {1})}:
            expected = {
                value: brute_skyline(box, lambda *at: truth[at] < c)  # noqa: B023
                for value, (box, truth) in truths.items()
            }
            same(counts, expected, c)


@every
def test_points_are_safe_next_unsafe(semantics):
    """Of a box too large to try, only around the skyline; and between its points, no gap."""
    rng = np.random.default_rng(7)
    people = [
        [[x] for x in rng.choice(list("abcdef"), size, p=[0.1, 0.3, 0.2, 0.2, 0.1, 0.1]).tolist()]
        for size in rng.integers(20, 30, 15).tolist()
    ]
    counts = fk.GroupCounts.from_people(people, semantics=semantics)

    def safe(*at):
        return fk.Facts(*at).disclosure(counts, "a").below(c)

    for c in ["1/2", 1]:
        skyline = fk.knowledge_skyline(counts, value="a", confidence=c)
        assert skyline == sorted(skyline) != []
        for l, k, m in skyline:  # noqa: E741
            assert not below(set(skyline) - {(l, k, m)}, (l, k, m))
            assert safe(l, k, m)
            more = [(l + 1, k, m)] if l < 5 else []
            assert not any(safe(*richer) for richer in [*more, (l, k + 1, m), (l, k, m + 1)])
        for l, k in product(range(6), range(1 + max(p[1] for p in skyline))):  # noqa: E741
            edge = max((m for a, b, m in skyline if a >= l and b >= k), default=-1)
            assert edge < 0 or safe(l, k, edge)
            assert not safe(l, k, edge + 1)


# ---- numbers known by hand, and the edges ----------------------------------------------------


@every
def test_edges_of_skylines(semantics):
    def of(people, c, value="a"):
        counts = fk.GroupCounts.from_people(people, semantics=semantics)
        found = fk.knowledge_skyline(counts, value=value, confidence=c)
        assert fk.knowledge_skylines(counts, confidence=c)[value] == found
        return found

    # No knowledge is too much; unless occurrences are labelled, all of the first group have a.
    people = [[["a"], ["a"]], [["a"], ["b"]]]
    reached = fk.Facts().disclosure(fk.GroupCounts.from_people(people, semantics=semantics), "a")
    for c in [reached.exact, "1/100", *([1] if semantics != "multiset" else [])]:
        assert of(people, c) == []
    alone = [[["a"]], [["a"], ["b"], ["c"]]]
    assert of(alone, 1) == []
    assert of(alone, 1, "b") == of(alone, 1, "c") != []
    # Without other values the first amount is nought.
    whole = [[["a"]] * 3] if semantics == "single" else [[["a"], [], [], []]]
    assert of(whole, 1) == ([] if semantics == "single" else [(0, 0, 2), (0, 1, 1), (0, 2, 0)])
    # Other values are those the release has, not those it might have had.
    people = [[["a"], ["b"], ["b"], ["a"]], [["c"], ["d"]]]
    some = fk.GroupCounts.from_people(people, semantics=semantics).take(np.array([0]))
    for value in "ab":
        skyline = fk.knowledge_skyline(some, value=value, confidence=1)
        assert skyline == of(people[:1], 1, value)
        assert max((p[0] for p in skyline), default=0) <= 1
    with pytest.raises(DataError, match="no group contains the sensitive value 'c'"):
        fk.knowledge_skyline(some, value="c", confidence="1/2")
    if semantics != "single":
        nothing = fk.GroupCounts.from_people([[[], []], [[]]], semantics=semantics)
        assert fk.knowledge_skylines(nothing, confidence="1/2") == {}
        with pytest.raises(DataError):
            fk.knowledge_skyline(nothing, value="a", confidence="1/2")


# ---- very many values: by class, and all together ----------------------------------------------

LIMITS = ["1/4", "1/3", "1/2", "2/3", "9/10", "1"]
SETTINGS = {
    "as it is": [],
    "one by one": [(module, "_FEW", 1), (fronts, "BLOCK", 8)],
    "small blocks": [
        *((module, "_FEW", 0), (module, "_BLOCK", 4)),
        *((fronts, "BLOCK", 4), (fronts, "_REMEMBERED", 0)),
    ],
    "one round": [(module, "_ROUNDS", 1)],
    "no table": [(module, "_MOST_SPARE", 0)],
}


def of_all_by_points(each):
    """The largest points that lie below the skyline of every value, by trying all."""
    tops = [[0, *(point[axis] for own in each for point in own)] for axis in range(3)]
    box = product(*(range(max(top) + 1) for top in tops))
    inside = [point for point in box if all(below(own, point) for own in each)]
    return sorted(p for p in inside if not below(set(inside) - {p}, p))


@pytest.mark.thinned(2)
@every
@pytest.mark.parametrize("setting", SETTINGS)
def test_classes_and_all_together(semantics, setting, monkeypatch):
    """Against the skyline of each value alone."""
    rng = np.random.default_rng([SEMANTICS.index(semantics), len(setting)])
    shared = 0
    for _ in range(1_600 if NIGHTLY else 15):
        sizes = rng.integers(1, 9, rng.integers(1, 7))
        counts = drawn_counts(rng, semantics, sizes, "abcdefgh"[: rng.integers(2, 9)])
        limit = LIMITS[rng.integers(len(LIMITS))]
        where = counts.to_dict(), limit
        has = [value for value in counts.values if counts.totals[counts.values.codes[value]]]
        alone = {value: fk.knowledge_skyline(counts, value, limit) for value in has}
        with monkeypatch.context() as patch:
            for place, name, small in SETTINGS[setting]:
                patch.setattr(place, name, small)
            skylines = fk.knowledge_skylines(counts, limit)
            assert dict(skylines) == alone, where
        assert skylines.of_all == of_all_by_points(list(alone.values())), where
        by_class = list(skylines.members())
        assert sorted(value for _, members in by_class for value in members) == sorted(skylines)
        assert [each for each, _ in by_class] == list(skylines.classes)
        for each, members in by_class:
            assert (members[0], len(members)) == (each.example, each.n_values)
            for value in members:
                most = tuple(map(max, zip(*alone[value], strict=True)))
                assert (skylines[value], skylines.class_of(value)) == (alone[each.example], each)
                assert each.most == (most or None), (where, value)
        shared += len(skylines) - len(skylines.classes)
    assert shared > 3


def test_many_values_make_few_classes():
    rng = np.random.default_rng(1)
    groups = [rng.choice(2_000, n, replace=False).tolist() for n in rng.integers(10, 30, 900)]
    skylines = fk.knowledge_skylines(fk.GroupCounts.from_bags(groups), "1/2")
    assert len(skylines) > 1_900
    assert len(skylines.classes) < 25
    # Nothing is withstood of all values that is not of the class that withstands least.
    assert skylines.of_all == skylines[skylines.classes[0].example]
    with pytest.raises(KeyError):
        skylines["nobody's"]
    assert repr(skylines) == f"Skylines({len(skylines)} values, {len(skylines.classes)} classes)"
    assert fk.knowledge_skylines(fk.GroupCounts.from_bags([]), "1/2").of_all == []
    unsafe = fk.knowledge_skylines(fk.GroupCounts.from_bags([["a"], ["b", "c", "d"]]), "1/2")
    assert (unsafe.of_all, unsafe["a"], unsafe.classes[0].most) == ([], [], None)
    assert unsafe["c"] == unsafe["d"] != []
    assert [(each.example, each.n_values) for each in unsafe.classes] == [("a", 1), ("b", 3)]


@pytest.mark.slow
def test_a_hundred_thousand_values_fit():
    program = """
import numpy as np, foreknow as fk
rng, n = np.random.default_rng(0), 1_000_000
values = np.concatenate((np.arange(100_000), rng.integers(0, 100_000, n - 100_000)))
counts = fk.GroupCounts.from_pairs(
    np.arange(n) // 20, rng.permutation(values), values=range(100_000), n_groups=n // 20
)
found = fk.knowledge_skylines(counts, confidence="1/2")
assert len(found) == 100_000 and all(found.values())
(peak,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak) / 2**20)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1


# ---- random releases of groups -------------------------------------------------------------------


def drawn_counts(rng, semantics, sizes, values):
    """Groups of these sizes, whose people have some of these values."""
    if semantics == "single":
        return fk.GroupCounts.from_bags([rng.choice(list(values), n).tolist() for n in sizes])
    most = 2 if semantics == "set" else 3
    people = [
        [[v for v in values for _ in range(rng.integers(0, most))] for _ in range(n)] for n in sizes
    ]
    return fk.GroupCounts.from_people(people, semantics=semantics)


# ---- skylines as a result: what Facts says at their points, what is written, and the page --------


WORST = fk.GroupCounts.from_bags([["Boss", "Boss", "Clerk", "Cook", "Farmer", "Nurse", "Smith"]])


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "1"])
def test_points_and_beside_are_facts(semantics, confidence):
    rng = np.random.default_rng([int(10 * float(confidence)), len(semantics)])
    counts = drawn_counts(rng, semantics, rng.integers(2, 10, 4), "abcd")
    report = fk.skyline_report(counts, confidence=confidence)
    assert report.skylines == fk.knowledge_skylines(counts, confidence)
    some = list(report.values[::-2])
    assert fk.skyline_report(counts, some, confidence=confidence).values == tuple(some)
    others = int(np.count_nonzero(counts.totals)) - 1
    for value in report.values:
        for corner in report.corners(value):
            l, k, m = corner.point  # noqa: E741
            beside = [(l + 1, k, m), (l, k + 1, m), (l, k, m + 1)]
            text = zip([corner.point, *beside], (corner.found, *corner.beyond), strict=True)
            for point, found in text:
                truth = fk.Facts(*point).disclosure(counts, value)
                if found is None:
                    assert point[0] > others
                    continue
                assert found.exact == truth.exact
                assert found.probability == pytest.approx(float(truth.exact), abs=1e-12)
                assert found.witness == truth.witness
                assert found.below(confidence) == (point == corner.point)
        # All amounts up to one more than the skyline has.
        points = report.skylines[value] or [(0, 0, 0)]
        box = [*product(*(range(max(p[axis] for p in points) + 2) for axis in range(3)))]
        beyond = [point for point in box if not report.withstands(value, point)]
        if value == report.values[0]:
            for point in box:
                below = fk.Facts(*point).disclosure(counts, value).below(confidence)
                assert (point not in beyond) == below, point
        least = report.least_beyond(value)
        assert least in beyond
        assert sum(least) == min(map(sum, beyond))


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        ({"values": "Boss", "confidence": 1}, fk.InputError, r"such as \['Boss'\]"),
        ({"values": 7, "confidence": 1}, fk.InputError, r"such as \[7\]"),
        ({"values": [], "confidence": 1}, fk.InputError, "leave it out for all values"),
        ({"values": ["Bos"], "confidence": 1}, DataError, "did you mean 'Boss'"),
        ({"confidence": 0}, fk.InputError, "above 0 and at most 1"),
        ({"confidence": 95}, fk.InputError, "above 0 and at most 1"),
        ({"confidence": "x"}, fk.InputError, "not a number"),
    ],
)
def test_what_cannot_be_meant(given, kind, says):
    with pytest.raises(kind, match=says):
        fk.skyline_report(WORST, **given)
    with pytest.raises(fk.InputError, match="'Cook'"):
        fk.skyline_report(WORST, ["Boss"], confidence=1).corners("Cook")


# ---- very many values ---------------------------------------------------------------------------


def test_very_many_values_by_class(monkeypatch):
    rng = np.random.default_rng(3)
    groups = [rng.choice(1_200, n, replace=False).tolist() for n in rng.integers(6, 12, 500)]
    counts = fk.GroupCounts.from_bags(groups)
    report = fk.skyline_report(counts, confidence="1/2")
    skylines = fk.knowledge_skylines(counts, "1/2")
    number, many = len(skylines.of_all), len(skylines)
    assert repr(report) == (
        f"SkylineReport(release: {many} values together, {number} points below 0.5)"
    )
    document = json.loads(report.to_json())
    assert "values" not in document
    assert [(p["l"], p["k"], p["m"]) for p in document["of_all"]] == skylines.of_all
    assert sum(len(each["values"]) for each in document["classes"]) == many
    for each in document["classes"]:
        points = report.points(each["values"][-1])
        assert list(each["most_alone"].values()) == [max(x) for x in zip(*points, strict=True)]
    text = " ".join(report.summary().split())
    assert f"All values together: {number} points" in text
    assert f"Values by class: {len(skylines.classes)} classes" in text
    with pytest.raises(fk.InputError, match="not about 'nobody'"):
        report.points("nobody")
    # Where there are too many classes, too, a few examples have parts, and no value has a line.
    most = "The largest amount of one kind of knowledge alone that stays"
    assert most in text
    monkeypatch.setattr("foreknow.features.skylines.skyline_page._MOST_LISTED", 2)
    page = report.to_html()
    assert ('id="value-3"' in page, 'id="value-7"' in page) == (True, False)
    assert "more rows are left out" in page
    assert most not in report.summary()


def test_where_one_value_is_unsafe():
    """Nothing is withstood of all values together."""
    bags = [["alone"], *([f"v{2 * i}", f"v{2 * i + 1}"] for i in range(510))]
    report = fk.skyline_report(fk.GroupCounts.from_bags(bags), confidence="0.9")
    assert report.skylines.of_all == []
    assert "For at least one value, the release alone is too much" in report.summary()
    document = json.loads(report.to_json())
    assert document["classes"][0] == {"values": ["alone"], "most_alone": dict.fromkeys("lkm")}


# ---- the page -----------------------------------------------------------------------------------

JOBS = terms_of(case_study(), "Boss")


def test_percentages_keep_their_side():
    report = case_study("95.24e-2")
    for corner in report.corners("Boss"):
        assert "95.24%" not in beyond_sentence(JOBS, corner, report.confidence)


def test_values_have_parts_and_cuts(monkeypatch):
    """A part each, and a heat map where something is withstood; long tables are cut."""
    reader = Reader(render(three_values()).html())
    ids = [own["id"] for _, own in reader.elements if "id" in own]
    parts = [own for own in ids if own.startswith("value-") and own[6:].isdigit()]
    assert parts == ["value-1", "value-2", "value-3"]
    heats = [own["id"] for _, own in reader.elements if own.get("class") == "heat"]
    assert heats == ["value-1-heat-figure", "value-3-heat-figure"]
    monkeypatch.setattr("foreknow.features.skylines.skyline_page._MOST_ROWS", 30)
    report = many_points()
    left = len(report.skylines["AIDS"]) - 30
    assert f"And {left} others, which are in the JSON" in Reader(render(report).html()).text
    monkeypatch.setattr("foreknow.features.skylines.skyline_page._MOST_VALUES", 2)
    text = Reader(render(three_values()).html()).text
    assert "And one other value without a section here; ask" in text


@pytest.mark.parametrize("make", [case_study, many_points, of_sets])
def test_squares_within_are_withstood(make):
    report = make()
    (value,) = report.values
    heat = skyline_heat(report, value)
    for panel in heat.panels:
        assert len(panel.rows) == len(heat.rows)
        for row in panel.rows:
            assert len(row) == len(heat.columns)
            for square in row:
                disclosure = report.disclosure(value, square.at)
                assert square.inside == disclosure.below(report.confidence)
                assert square.share == pytest.approx(disclosure.probability, abs=1e-12)
                assert square.text.startswith("l={}, k={}, m={}: ".format(*square.at))
    if make is many_points:  # few amounts are drawn, and the ends among them
        points = report.points(value)
        assert len(heat.panels) <= 6
        assert max(len(heat.columns), len(heat.rows)) <= 14
        for axis, drawn in ((0, heat.rows), (1, heat.columns)):
            assert f"{max(point[axis] for point in points):,}" in drawn
        (last,) = {square.at[2] for square in heat.panels[-1].rows[0]}
        assert last == max(point[2] for point in points)


def test_sentences_are_as_before():
    report = case_study()
    known = [(Terms("value"), at) for at in ((2, 0, 3), (0, 0, 0), (1, 1, 1))]
    known.append((Terms.of("set", "diagnosis", "AIDS"), (0, 3, 0)))
    texts = [adversary(terms, at) for terms, at in known]
    texts += [beyond_sentence(JOBS, corner, report.confidence) for corner in report.corners("Boss")]
    texts += [least_sentence(report, "Boss"), least_sentence(three_values(), "Flu")]
    texts.append(worst_sentence(report, "Boss", (2, 1, 3)))
    texts += [probability_text(report, "Boss", at) for at in ((2, 1, 3), (0, 5, 0))]
    texts += [words(Laid(worst_case(report, "Boss", at))) for at in ((0, 5, 0), (0, 4, 0))]
    half, ed = Fraction(1, 2), (("Ed", "Flu"),)
    named = NamedWitness("Tom", "AIDS", 0.5, half, (), ed, ("Bo\x1b",), "single")
    notes = (("B", "x"),), (), "multiset", ("x not in B",)
    marked = NamedWitness("A", "x", 1.0, Fraction(1), (), *notes)
    assert_as_before("skyline-sentences", [*texts, words(named, 200), words(marked)])
