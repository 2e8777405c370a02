"""Numbers and dates to within a width: counted, searched, published, verified and refused."""

import csv
import datetime as dt
import json
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import product
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import NIGHTLY, examples
from tests.oracle.windows import windows_of, worst_of_windows

import foreknow as fk
from foreknow.adversaries.facts import windows as kernel
from foreknow_judge.verdicts import verdicts as verify
from foreknow_judge.written import Written

MOST = (2, 2, 2)
AMOUNTS = list(product(*(range(amount + 1) for amount in MOST)))
NUMBERS = [-12, -10, 0, 3, 4, 5, 9]
releases = st.lists(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=4), min_size=1).filter(
    lambda bags: sum(map(len, bags)) <= (5 if NIGHTLY else 4)
)
WIDTHS = [1, 2, 4, 6, "1/2", "20%", "80%", "200%"]


def policy(adversary, below="1/2", within=5000, **more):
    return fk.Policy([fk.Requirement(adversary, below=below, within=within)], **more)


def width_of(within):
    if str(within).endswith("%"):
        return Fraction(within[:-1]) / 100, True
    return Fraction(within), False


def some_windows(bags, within):
    """The sets that lie in windows; nothing where one holds every value."""
    values = {value for bag in bags for value in bag}
    found = windows_of(values, *width_of(within))
    assume(all(set(united) != values for united in found))
    return found


@examples(400, daily=12, deadline=None)
@given(releases, st.sampled_from(WIDTHS), st.sampled_from(AMOUNTS))
def test_facts_are_those_of_an_enumeration_of_worlds_for_windows_that_begin_anywhere(
    bags, within, amounts
):
    some_windows(bags, within)
    counts = fk.GroupCounts.from_bags(bags)
    wide, share = width_of(within)
    truth = worst_of_windows(bags, wide, MOST, share)
    every = fk.Requirement([(fk.Facts(*at), truth[at]) for at in AMOUNTS], within=within)
    verdicts = fk.audit(counts, fk.Policy([every])).verdicts
    assert [v.disclosure.exact for v in verdicts] == [truth[at] for at in AMOUNTS]
    assert not any(verdict.safe for verdict in verdicts)
    at_limit = policy(fk.Facts(*amounts), truth[amounts], within)
    assert not at_limit.ledger(counts.values).admits(None, counts)
    above = {at: truth[at] + Fraction(1, 10**12) for at in AMOUNTS if truth[at] < 1}
    if above:
        safe = fk.Requirement([(fk.Facts(*at), above[at]) for at in above], within=within)
        assert fk.audit(counts, fk.Policy([safe])).safe
        assert fk.Policy([safe]).ledger(counts.values).admits(None, counts)
    (verdict,) = fk.audit(counts, policy(fk.Negations(2), within=within)).verdicts
    assert verdict.disclosure.exact == truth[2, 0, 0]


def test_relatives_widen_a_window():
    """The target has 10, and the window begins at 8, which only relatives have."""
    bags = [[10, 100, 200, 300] * 2 + [400], [8, 9, 9, 500, 600, 700, 800, 900, 999]]
    counts = fk.GroupCounts.from_bags(bags)
    (verdict,) = fk.audit(counts, policy(fk.Facts(3, 0, 1), within=2)).verdicts
    assert verdict.reached == Fraction(3, 4)  # odds of 1/2, times 6/9 for the relative


def one_by_one(bags, adversary, every):
    """The worst of some sets, each counted as one value."""
    found = []
    for united in every:
        plain = [["it" if x in united else x for x in bag] for bag in bags]
        found.append(adversary.disclosure(fk.GroupCounts.from_bags(plain), "it").exact)
    return max(found)


@examples(600, daily=20, deadline=None)
@given(
    st.lists(st.lists(st.integers(-9, 25), min_size=1, max_size=9), min_size=1, max_size=5),
    st.sampled_from([*WIDTHS, 11]),
    st.tuples(*[st.integers(0, 4)] * 3),
    st.sampled_from([1, 7, 10**6]),
    st.sampled_from([1, 3, 64]),
)
def test_of_windows_counted_one_by_one_the_worst_is_found_however_much_is_held_at_once(
    bags, within, amounts, block, parts
):
    every = some_windows(bags, within)
    counts, adversary = fk.GroupCounts.from_bags(bags), fk.Facts(*amounts)
    truth = one_by_one(bags, adversary, every)
    with mock.patch.multiple(kernel, _BLOCK=block, _PARTS=parts):
        asked = policy(adversary, truth, within)
        (verdict,) = fk.audit(counts, asked).verdicts
        assert verdict.disclosure.exact == truth
        assert not asked.ledger(counts.values).admits(None, counts)
        if parts == 64 and truth < 1:
            asked = policy(adversary, truth + Fraction(1, 10**9), within)
            assert asked.ledger(counts.values).admits(None, counts)
    # The witness is of the window that is named, and attains what is said.
    (low, high), found = in_words(verdict.disclosure.value), verdict.disclosure.witness
    inside = [value for value in counts.values if low <= value <= high]
    assert one_by_one(bags, adversary, [inside]) == truth
    assert found.value == verdict.disclosure.value
    assert not set(found.ruled_out) & set(inside)
    assert len(found.ruled_out) <= amounts[0]
    assert sum(found.known.values()) <= amounts[1]
    assert found.family <= amounts[2]


def in_words(name):
    """The ends of a window, as it is named."""
    ends = name.removeprefix("between ").replace(",", "").split(" and ")
    return Fraction(ends[0]), Fraction(ends[-1])


@examples(500, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=6), min_size=2, max_size=4),
    st.sampled_from([2, 5, "50%"]),
    st.tuples(*[st.integers(0, 2)] * 3),
    st.lists(st.integers(0, 1), min_size=4, max_size=4),
)
def test_merging_groups_never_makes_it_worse(bags, within, amounts, into):
    some_windows(bags, within)
    counts = fk.GroupCounts.from_bags(bags)
    into = np.unique(into[: len(bags)], return_inverse=True)[1]
    adversary = fk.Facts(*amounts)
    apart, merged = (
        fk.audit(each, policy(adversary, within=within)).verdicts[0].disclosure.exact
        for each in (counts, counts.merge(into))
    )
    assert merged <= apart


@examples(400, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 12), min_size=4, max_size=9), min_size=3, max_size=5),
    st.sampled_from([2, 5, "50%"]),
    st.tuples(*[st.integers(0, 2)] * 3),
    st.sampled_from(["1/2", "2/3", "4/5"]),
)
def test_a_search_that_divides_groups_is_answered_as_if_all_were_judged_afresh(
    bags, within, amounts, below
):
    some_windows(bags, within)
    counts = fk.GroupCounts.from_bags(bags)
    asked = policy(fk.Facts(*amounts), below, within)
    ledger, whole = asked.ledger(counts.values), counts.merge(np.zeros(len(bags), dtype=int))
    if not ledger.admits(None, whole):
        return
    ledger.commit(None, whole)
    standing = [np.arange(len(bags))]
    while divisible := [part for part in standing if len(part) > 1]:
        part = divisible[0]
        halves = [part[:1], part[1:]]
        rest = [other for other in standing if other is not part]
        after = united(counts, [*rest, *halves])
        expected = fk.audit(after, asked).safe
        removed, added = united(counts, [part]), united(counts, halves)
        assert ledger.admits(removed, added) == expected
        evaluated = ledger.evaluate(removed, added, np.zeros(2, dtype=int))
        assert evaluated.safe_each().tolist() == [expected]
        if not expected:
            return
        ledger.commit(removed, added)
        standing = [*rest, *halves]


@examples(50, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 12), min_size=2, max_size=4), min_size=1, max_size=2),
    st.sampled_from([1, 3, "50%"]),
    st.sampled_from(["1/2", "3/4", 1]),
)
def test_the_skyline_is_what_is_withstood_of_all_amounts(bags, within, below):
    some_windows(bags, within)
    counts = fk.GroupCounts.from_bags(bags)
    points = list(product(range(5), range(5), range(6)))
    asked = fk.Requirement([(fk.Facts(*at), below) for at in points], within=within)
    verdicts = fk.audit(counts, fk.Policy([asked])).verdicts
    held = {at for at, verdict in zip(points, verdicts, strict=True) if verdict.safe}
    best = [
        at
        for at in held
        if not any(
            other != at and all(a <= b for a, b in zip(at, other, strict=True)) for other in held
        )
    ]
    found = fk.knowledge_skyline(counts, confidence=below, within=within)
    assert found == sorted(best)


def test_a_report_of_a_skyline_is_about_any_window(tmp_path):
    pays = [20 + i * i % 37 for i in range(40)]
    release = fk.GroupCounts.from_bags([pays[::2], pays[1::2]])
    report = fk.skyline_report(release, confidence="1/2", within=5)
    (window,) = report.values
    assert report.skylines[window] == fk.knowledge_skyline(release, confidence="1/2", within=5)
    for corner in report.corners(window):
        assert corner.found.below("1/2")
        assert not any(more.below("1/2") for more in corner.beyond if more is not None)
    report.to_html(tmp_path / "s.html")
    assert "a value in a window of 5" in (tmp_path / "s.html").read_text()
    with pytest.raises(fk.InputError, match="give one of values, any_of and within"):
        fk.skyline_report(release, ["20"], confidence="1/2", within=5)


def test_a_skyline_is_of_a_value_or_of_windows():
    counts = fk.GroupCounts.from_bags([[1, 2, 9]])
    half = {"confidence": "1/2"}
    for asked in (half, {"value": 1, "within": 1, **half}, {"within": 1}):
        with pytest.raises(
            fk.InputError, match="give one of value, any_of and within, and a confidence"
        ):
            fk.knowledge_skyline(counts, **asked)
    with pytest.raises(fk.InputError, match="holds every"):
        fk.knowledge_skyline(counts, confidence="1/2", within=8)


def united(counts, parts):
    into = np.concatenate([np.full(len(part), i) for i, part in enumerate(parts)])
    return counts.take(np.concatenate(parts)).merge(into)


# ---- what it is for -------------------------------------------------------------------------


def test_an_income_column_in_which_everyones_value_differs_by_a_dollar_is_unsafe():
    rows = range(400)
    table = pa.table(
        {
            "sex": ["fm"[i % 2] for i in rows],
            "age": [20 + i // 10 for i in rows],
            "income": [30_000 + i for i in rows],
        }
    )
    release = fk.Release.from_generalized(
        table, quasi_identifiers=["sex", "age"], sensitive="income"
    )
    each = fk.Policy([fk.Requirement(fk.Facts(1, 1, 1), below="1/2")])
    assert release.counts.sizes.min() == 5
    assert not fk.audit(release, policy(fk.Facts(1, 1, 1), within=20)).safe
    wide = fk.Release.from_generalized(table, quasi_identifiers=["sex"], sensitive="income")
    assert fk.audit(wide, each).safe
    (verdict,) = fk.audit(wide, policy(fk.Facts(1, 1, 1), within="1%")).verdicts
    assert not verdict.safe
    assert verdict.disclosure.exact > Fraction(3, 4)
    assert in_words(verdict.value)[1] <= Fraction(101, 100) * in_words(verdict.value)[0]


@pytest.mark.parametrize(
    "values",
    [
        [30000, 31000, 35000, 35001, 50000],
        ["30000", "31000.0", "35000", "35001", "5e4"],
        [30000.0, 31000.0, 35000.0, 35001.0, 50000.0],
        [Decimal(30000), Decimal("31000.00"), Decimal("3.5e4"), Decimal(35001), Decimal(50000)],
        [np.int32(30000), np.float64(31000), 35000, "35001", Decimal(50000)],
    ],
)
def test_numbers_are_numbers_however_they_are_written(values):
    counts = fk.GroupCounts.from_bags([values])
    (verdict,) = fk.audit(counts, policy(fk.Facts())).verdicts
    assert (verdict.value, verdict.disclosure.exact) == (
        "between 30,000 and 35,000",
        Fraction(3, 5),
    )


def test_labels_that_are_one_number_are_one_value():
    counts = fk.GroupCounts.from_bags([["1", "1.0", "01", "2", "3"], ["3", "1", "9"]])
    (verdict,) = fk.audit(counts, policy(fk.Facts(), within="1/4")).verdicts
    assert (verdict.value, verdict.disclosure.exact) == ("between 1 and 1.25", Fraction(3, 5))
    (verdict,) = fk.audit(counts, policy(fk.Facts(1), within="1/4")).verdicts
    assert verdict.disclosure.exact == Fraction(3, 4)


@pytest.mark.parametrize(
    ("values", "within", "name", "exact"),
    [
        (["2024-01-01", "2024-01-31", "2024-02-01"], "30 days", "2024-01-01 and 2024-01-31", "2/3"),
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 31), dt.date(2024, 2, 1)], 29, None, "2/3"),
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 31), dt.date(2024, 3, 1)], 29, None, "1/3"),
        (
            ["2024-01-01 10:00", "2024-01-01 22:00:00", "2024-01-02"],
            "12 hours",
            "2024-01-01 10:00:00 and 2024-01-01 22:00:00",
            "2/3",
        ),
        (
            [dt.datetime(2024, 1, 1, 10), dt.datetime(2024, 1, 2, 9), dt.datetime(2024, 1, 3, 9)],
            1,
            "2024-01-01 10:00:00 and 2024-01-02 10:00:00",
            "2/3",
        ),
        (["9999-12-31", "9999-12-30", "2024-01-01"], 5, "9999-12-30 and 9999-12-31", "2/3"),
    ],
)
def test_dates_are_near_by_days_and_hours(values, within, name, exact):
    counts = fk.GroupCounts.from_bags([values])
    (verdict,) = fk.audit(counts, policy(fk.Facts(), within=within)).verdicts
    assert verdict.disclosure.exact == Fraction(exact)
    assert name is None or verdict.value == f"between {name}"


def test_a_share_is_of_the_smaller_amount_and_0_lies_apart():
    counts = fk.GroupCounts.from_bags([[-110, -100, 0, 100, 110, 111]])
    rules = policy(fk.Facts(), within="10%")
    assert fk.audit(counts, rules).verdicts[0].disclosure.exact == Fraction(1, 3)
    counts = fk.GroupCounts.from_bags([[-111, -100, 0, 5, 100, 111]])
    assert fk.audit(counts, rules).verdicts[0].disclosure.exact == Fraction(1, 6)


# ---- published and verified -----------------------------------------------------------------


def people(n=400, seed=1, salary=lambda r: f"{r.lognormvariate(10.3, 0.6):.2f}"):
    r = random.Random(seed)
    ages, sexes = [r.randint(20, 79) for _ in range(n)], r.choices("mf", k=n)
    return pa.table({"age": ages, "sex": sexes, "salary": [salary(r) for _ in range(n)]})


def day(r):
    return (dt.date(2023, 1, 1) + dt.timedelta(days=r.randint(0, 600))).isoformat()


SCHEMA = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="salary")


@pytest.mark.parametrize(
    ("method", "form", "within", "salary"),
    [
        ("mondrian", "generalized", 5000, None),
        ("mondrian", "bucketized", "10%", None),
        ("mondrian", "generalized", "30 days", day),
        ("fulldomain", "generalized", "20%", lambda r: r.randint(-20, 80)),
        ("anatomy", "bucketized", 2000, None),
    ],
)
def test_what_is_published_holds_by_a_plain_reading_of_the_files(
    method, form, within, salary, tmp_path
):
    schema = fk.Schema(
        quasi_identifiers=["age", "sex"],
        sensitive="salary",
        hierarchies={"age": {"intervals": [10]}} if method == "fulldomain" else {},
    )
    adversary = fk.Facts(1, 1, 1)
    rules = policy(adversary, "2/3", within, schema=schema)
    table = people() if salary is None else people(salary=salary)
    made = fk.publish(
        fk.Microdata(table, schema),
        rules,
        method=method,
        options=fk.PublishOptions(form=form),
        seed=1,
    )
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    groups = {}
    name = "release.csv" if form == "generalized" else "sensitive.csv"
    with (tmp_path / "out" / name).open() as lines:
        for row in csv.DictReader(lines):
            key = row.get("group", (row.get("age"), row.get("sex")))
            read = dt.date.toordinal if salary is day else Fraction
            value = dt.date.fromisoformat(row["salary"]) if salary is day else row["salary"]
            groups.setdefault(key, Counter())[read(value)] += int(row.get("count", 1))
    bags = [list(bag.elements()) for bag in groups.values()]
    wide, share = (30, False) if salary is day else width_of(within)
    begin = sorted({value for bag in bags for value in bag})
    if not share:
        every = [[v for v in begin if x <= v <= x + wide] for x in begin]
    else:
        ends = [x * (1 + wide) if x >= 0 else x / (1 + wide) for x in begin]
        every = [[v for v in begin if x <= v <= end] for x, end in zip(begin, ends, strict=True)]
    found = one_by_one(
        bags, adversary, random.Random(2).sample(every, min(60 if NIGHTLY else 25, len(every)))
    )
    claimed = made.audit.verdicts[0].disclosure
    assert len(groups) > 1
    assert found <= claimed.exact < Fraction(2, 3)
    if salary is not day:
        inside = [v for v in begin if in_words(claimed.value)[0] <= v <= in_words(claimed.value)[1]]
        assert one_by_one(bags, adversary, [inside]) == claimed.exact
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["version"] == 1
    assert certificate["findings"][0]["exact"] == str(claimed.exact)
    assert not certificate["minimal"]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("within") / "out"
    rules = policy(fk.Facts(), schema=SCHEMA)
    fk.publish(fk.Microdata(people(), SCHEMA), rules).write(folder)
    return folder


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"within": 5000', '"within": 500', "the worst probability is"),
        ('"within": 5000', '"within": 0', "above 0"),
        ('"within": 5000', '"within": true', "within"),
        ('"within": 5000', '"within": [5000]', "within"),
        ('"within": 5000', '"within": "a lot"', "cannot be read"),
        ('"within": 5000', '"within": "30 days"', "cannot be read for these values"),
        ('"within": 5000', '"within": 5000, "any_of": ["1"]', "give within or any_of, not both"),
    ],
)
def test_a_certificate_that_says_another_width_is_refused(old, new, message, published):
    path = published / "certificate.json"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    try:
        with pytest.raises(fk.InputError, match=message):
            fk.verify(published)
    finally:
        path.write_text(text)


@examples(500, deadline=None)
@given(
    st.lists(st.lists(st.integers(-9, 25), min_size=1, max_size=9), min_size=1, max_size=5),
    st.sampled_from([*WIDTHS, 11]),
    st.tuples(*[st.integers(0, 3)] * 3),
)
def test_the_verifier_finds_the_same_by_a_way_of_its_own(bags, within, amounts):
    some_windows(bags, within)
    rows = [(str(g), str(value)) for g, bag in enumerate(bags) for value in bag]
    written = Written(
        "generalized",
        ["gid"],
        "x",
        {"release": pa.table({"gid": [g for g, _ in rows], "x": [x for _, x in rows]})},
    )
    asked = policy(fk.Facts(*amounts), within=within)
    (finding,) = verify(written, asked.to_dict()["require"])
    counts = fk.GroupCounts.from_bags(bags)
    (verdict,) = fk.audit(counts, asked).verdicts
    assert finding.reached == verdict.disclosure.exact
    assert finding.safe == verdict.safe
    low, high = in_words(finding.value)
    inside = [value for value in counts.values if low <= value <= high]
    assert one_by_one(bags, fk.Facts(*amounts), [inside]) == finding.reached


# ---- the policy, and what is refused --------------------------------------------------------


def test_the_policy_file_says_it_and_gets_it_back():
    for within in (5000, "10%", "30 days", 0.5, "1/3"):
        table = {"require": [{"within": within, "facts": {"l": 1}, "below": "1/2"}]}
        rules = fk.Policy.from_dict(table)
        again = fk.Policy.from_dict(rules.to_dict())
        assert again.requirements == rules.requirements
        assert again.requirements[0].within == rules.requirements[0].within
    assert fk.Policy.from_dict(table) is not None
    one = policy(fk.Facts(), within=5000.0).to_dict()["require"][0]["within"]
    assert (one, type(one)) == (5000, int)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"within": 0}, "within must be above 0, not 0"),
        ({"within": -5}, "within must be above 0, not -5"),
        ({"within": "0%"}, "within must be above 0"),
        ({"within": "near"}, "within cannot be read: 'near'"),
        ({"within": True}, "within cannot be read"),
        ({"within": [5]}, "within cannot be read"),
        ({"within": float("nan")}, "within cannot be read"),
        ({"within": 5, "any_of": ["1"]}, "give within or any_of, not both"),
        ({"within": 5, "values": ["1"]}, "give within or values, not both"),
        ({"within": 5, "excluded": ["1"]}, "give within or except, not both"),
    ],
)
def test_a_width_that_means_nothing_is_refused(given, message):
    with pytest.raises(fk.InputError, match=message):
        fk.Requirement(fk.Facts(), below="1/2", **given)


@pytest.mark.parametrize(
    ("values", "within", "message"),
    [
        ([1, 2, 3], 2, "within = 2 holds every sensitive value .* from 1 to 3.*less than 2"),
        ([100, 110, 120], "25%", "holds every sensitive value.*give less than 20%"),
        ([7], 1, "one value has nothing to hide"),
        (
            [1, 2, "none", "x", "y", "z"],
            1,
            r"of 6 .* are neither: 'none', 'x', 'y' and 1 more",
        ),
        (["1,5", "2"], 1, "neither: '1,5'"),
        (["1e999999", "2"], 1, "neither"),
        ([True, 2], 1, "neither: 'True'"),
        ([1, "2024-01-01"], 1, "has both"),
        (["2024-01-01", "2024-02-31"], 1, "neither: '2024-02-31'"),
        (["2024-01-01", "2024-01-31"], "10%", "is for numbers"),
        (["2024-01-01", "2024-01-31"], "12 hours", "give whole days"),
        (["2024-01-01", "2024-01-31"], "1/2", "give whole days"),
        (["2024-01-01", "2024-01-31"], 30, "give less than 30 days"),
        (["2024-01-01 10:00", "2024-01-31"], "1/2", 'or a span such as "12 hours"'),
        ([1, 2], "30 days", "is for dates"),
    ],
)
def test_a_width_that_does_not_fit_the_table_is_refused(values, within, message):
    counts = fk.GroupCounts.from_bags([values])
    with pytest.raises(fk.ForeknowError, match=message) as raised:
        fk.audit(counts, policy(fk.Facts(), within=within))
    assert str(raised.value).startswith("requirement: ")
    with pytest.raises(fk.ForeknowError, match=message):
        policy(fk.Facts(), within=within).ledger(counts.values)


def test_where_windows_are_unsupported_they_are_refused():
    several = fk.GroupCounts.from_people([[{1}, {2, 3}]], semantics="set")
    with pytest.raises(fk.ForeknowError, match="within needs one sensitive value per person"):
        fk.audit(several, policy(fk.Facts(), within=1))
    held = fk.Schema(quasi_identifiers=["age"], sensitive="x", semantics="set", person="id")
    with pytest.raises(fk.ForeknowError, match="within needs one sensitive value per person"):
        policy(fk.Facts(), within=1, schema=held).ledger(several.values)
    rules = policy(fk.Facts(), schema=SCHEMA)
    microdata = fk.Microdata(people(40), SCHEMA)
    with pytest.raises(fk.ForeknowError, match="within is unsupported by jump"):
        fk.publish(microdata, rules, method="safe")


def test_two_limits_for_one_width_contradict_each_other():
    one = fk.Requirement(fk.Facts(), below="1/2", within="50%")
    other = fk.Requirement(fk.Facts(), below="1/3", within="50 %")
    with pytest.raises(fk.InputError, match="values within 50 % must stay below 1/3"):
        fk.Policy([one, other])
    fk.Policy([one, fk.Requirement(fk.Facts(), below="1/3", within="20%")])


def test_values_that_nobody_has_any_more_do_no_harm():
    counts = fk.GroupCounts.from_bags([[1, 2, 9, 30], [50, 60, 70], [90, 99]])
    kept = counts.take(np.array([0, 1]))
    for amounts in ((0, 0, 0), (1, 1, 0), (0, 1, 1), (0, 0, 2)):
        every = windows_of([1, 2, 9, 30, 50, 60, 70], 10)
        truth = one_by_one([[1, 2, 9, 30], [50, 60, 70]], fk.Facts(*amounts), every)
        (verdict,) = fk.audit(kept, policy(fk.Facts(*amounts), within=10)).verdicts
        assert verdict.disclosure.exact == truth


def test_the_people_of_a_window_are_not_named():
    table = pa.table({"name": list("abcd"), "gid": [1] * 4, "x": [1, 2, 9, 20]})
    release = fk.Release.from_groups(table, group="gid", sensitive="x", person="name")
    found = fk.audit(release, policy(fk.Facts(), within=1)).verdicts[0].disclosure
    with pytest.raises(fk.InputError, match="a window is no value of a person"):
        fk.name_people(release, found)


def test_where_no_release_is_safe_the_way_out_is_named():
    with pytest.raises(fk.NoSafeRelease, match=r"60 of 60 people|people have values between"):
        fk.publish(
            fk.Microdata(people(60), SCHEMA), policy(fk.Facts(), "1/9", within=9000, schema=SCHEMA)
        )


def test_a_report_names_the_window_and_no_value_is_said_to_be_unprotected(tmp_path):
    counts = fk.GroupCounts.from_bags([[30000, 31000, 50000, 90000], [30500, 60000, 70000, 80000]])
    audit = fk.audit(counts, policy(fk.Facts(1, 1, 1)))
    audit.to_html(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "to within 5,000" in page
    assert "has a value between 30,000 and 35,000" in page
    assert audit.unprotected == ()
    assert [each.over for each in audit.exposed] == [None]  # of single values it would be wrong
    assert audit.to_dict()["verdicts"][0]["within"] == 5000
    assert audit.to_dict()["verdicts"][0]["worst"]["value"] == "between 30,000 and 35,000"


def test_windows_are_of_one_of_several_columns_in_the_sight_of_what_is_known(tmp_path):
    table = people(400)
    jobs = ["abc"[i % 3] for i in range(400)]
    table = table.append_column("job", [jobs])
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive=["job", "salary"])
    rules = fk.Policy(
        [
            fk.Requirement(
                fk.Facts(1, 1, 1), below="3/4", sensitive="salary", within="10%", knowing=["job"]
            ),
            fk.Requirement(fk.Facts(1), below="4/5", sensitive="job", knowing=[]),
        ],
        schema,
    )
    made = fk.publish(fk.Microdata(table, schema), rules)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    found = made.audit.verdicts[0].disclosure
    bags = {}
    with (tmp_path / "out" / "release.csv").open() as lines:
        for row in csv.DictReader(lines):
            key = row["age"], row["sex"], row["job"]
            bags.setdefault(key, []).append(Fraction(row["salary"]))
    low, high = in_words(found.value)
    inside = {x for bag in bags.values() for x in bag if low <= x <= high}
    assert one_by_one(bags.values(), fk.Facts(1, 1, 1), [inside]) == found.exact < Fraction(3, 4)
