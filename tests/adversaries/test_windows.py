"""Numbers and dates to within a width: a window is a set of values, the worst of all is judged."""

import datetime as dt
import random
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle.sets import windows_of, worst_of_two

import foreknow as fk
from foreknow_judge.counts.group_bags import Column, GroupBags
from foreknow_judge.knowledge.facts import worst_facts
from foreknow_judge.knowledge.windows import worst_near


def policy(adversary, below="1/2", within=5000, **more):
    return fk.Policy([fk.Requirement(adversary, below=below, within=within)], **more)


def judged(values, within=5000, amounts=(0, 0, 0), below="1/2"):
    """The verdict on some groups."""
    counts = fk.GroupCounts.from_bags(values)
    (verdict,) = fk.audit(counts, policy(fk.Facts(*amounts), below, within)).verdicts
    return verdict


def width_of(within):
    if str(within).endswith("%"):
        return Fraction(within[:-1]) / 100, True
    return Fraction(within), False


# ---- by enumeration --------------------------------------------------------------------------


def one_by_one(bags, adversary, every):
    """The worst of some sets, each counted as one value."""
    results = []
    for united in every:
        plain = [["it" if x in united else x for x in bag] for bag in bags]
        results.append(adversary.disclosure(fk.GroupCounts.from_bags(plain), "it").exact)
    return max(results)


def uneven(seed, many):
    """Releases of small and large groups, with values that many have, and widths."""
    r = random.Random(seed)
    for _ in range(many):
        often = r.sample(range(-4, 8), 2)
        sizes = r.choices([1, 2, 3, 5, 20], k=r.randint(1, 6))
        bags = [[r.choice([*often, r.randrange(-4, 8)]) for _ in range(size)] for size in sizes]
        yield bags, r.choice([2, 4, 6, "1/2", "20%", "80%", "200%"])


def held_of(bags):
    """The counts of groups as the judge has them."""
    groups = np.repeat(np.arange(len(bags)), list(map(len, bags)))
    values = Column.of([str(value) for bag in bags for value in bag], np.arange(len(groups)))
    labels = Column.of([f"{at:03}" for at in range(len(bags))], np.arange(len(bags)))
    ones = np.ones(len(groups), np.int64)
    return GroupBags([labels], values.texts, groups, values.codes, ones)


def test_no_worse_window_left_out():
    amounts = [*product(range(3), repeat=3)]
    for position, (bags, within) in enumerate(uneven(1, 5_000 if NIGHTLY else 90)):
        held, asked = held_of(bags), amounts[position % len(amounts)]
        merged = (
            held.merged({str(value): "inside" for value in window})
            for window in windows_of([value for bag in bags for value in bag], *width_of(within))
        )
        truth = max(worst_facts(one, {"inside"}, "single", *asked).chance for one in merged)
        assert worst_near(held, str(within), *asked)[2] == truth, (bags, within, asked)


def ends_of(name):
    """The ends of a window, as it is named."""
    ends = name.removeprefix("between ").replace(",", "").split(" and ")
    return Fraction(ends[0]), Fraction(ends[-1])


def test_relatives_widen_a_window():
    """The target has 10, and the window begins at 8, which only relatives have."""
    bags = [[10, 100, 200, 300] * 2 + [400], [8, 9, 9, 500, 600, 700, 800, 900, 999]]
    # Odds of 1/2, times 6/9 for the relative.
    assert judged(bags, 2, (3, 0, 1)).reached == Fraction(3, 4)


def test_links_are_about_one_window():
    """What the requirement does not keep: links from another window, and who is near whom."""
    groups = [[9, 0, 30], [4, 9, 6, 9, 9, 2]]
    assert judged(groups, 2, (1, 0, 1)).reached == Fraction(15, 19)
    results = [worst_of_two(groups, 2, 1, link) for link in ("same", "any")]
    assert results == [Fraction(15, 19), Fraction(5, 6)]
    assert judged([[0, 0, 6, 2]], 1, (0, 0, 1)).reached == Fraction(3, 4)
    assert worst_of_two([[0, 0, 6, 2]], 1, 0, "near") == 1


# ---- searches and skylines -------------------------------------------------------------------


def test_reports_and_mistakes_of_skylines(tmp_path):
    pays = [20 + i * i % 37 for i in range(16)]
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
    half = {"confidence": "1/2"}
    for asked in (half, {"value": 20, "within": 1, **half}, {"within": 1}):
        with pytest.raises(fk.InputError, match="give one of value, any_of and within, and a conf"):
            fk.knowledge_skyline(release, **asked)
    with pytest.raises(fk.InputError, match="holds every"):
        fk.knowledge_skyline(release, within=40, **half)


# ---- what is near ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "within", "name", "exact"),
    [
        *(
            (values, 5000, "30,000 and 35,000", "3/5")
            for values in (
                ["30000", "31000.0", "35000", "35001", "5e4"],
                [Decimal(30000), Decimal("31000.00"), Decimal("3.5e4"), Decimal(35001), 50000.0],
                [np.int32(30000), np.float64(31000), 35000, "35001", Decimal(50000)],
            )
        ),
        (["1", "1.0", "01", "2", "3"], "1/4", "1 and 1.25", "3/5"),  # labels of one number
        ([-110, -100, 0, 100, 110, 111], "10%", None, "1/3"),  # of the smaller; 0 lies apart
        ([-111, -100, 0, 5, 100, 111], "10%", None, "1/6"),
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
def test_what_is_near(values, within, name, exact):
    verdict = judged([values], within)
    assert verdict.disclosure.exact == Fraction(exact)
    assert name is None or verdict.value == f"between {name}"


def test_a_dollar_apart_is_unsafe():
    rows = range(400)
    columns = {"sex": ["fm"[i % 2] for i in rows], "income": [30_000 + i for i in rows]}
    wide = fk.Release.from_generalized(
        pa.table(columns), quasi_identifiers=["sex"], sensitive="income"
    )
    single = fk.Policy([fk.Requirement(fk.Facts(1, 1, 1), below="1/2")])
    assert fk.audit(wide, single).safe
    (verdict,) = fk.audit(wide, policy(fk.Facts(1, 1, 1), within="1%")).verdicts
    assert verdict.disclosure.exact > Fraction(3, 4)
    assert ends_of(verdict.value)[1] <= Fraction(101, 100) * ends_of(verdict.value)[0]
    # Values that nobody has any more do no harm.
    kept = fk.GroupCounts.from_bags([[1, 2, 9, 30], [50, 60, 70], [90, 99]]).take(np.arange(2))
    for amounts in ((0, 0, 0), (1, 1, 0), (0, 1, 1), (0, 0, 2)):
        every = windows_of([1, 2, 9, 30, 50, 60, 70], 10)
        truth = one_by_one([[1, 2, 9, 30], [50, 60, 70]], fk.Facts(*amounts), every)
        (verdict,) = fk.audit(kept, policy(fk.Facts(*amounts), within=10)).verdicts
        assert verdict.disclosure.exact == truth


# ---- published and verified -----------------------------------------------------------------


def people(n=400, seed=1, salary=lambda r: f"{r.lognormvariate(10.3, 0.6):.2f}"):
    r = random.Random(seed)
    ages, sexes = [r.randint(20, 79) for _ in range(n)], r.choices("mf", k=n)
    return pa.table({"age": ages, "sex": sexes, "salary": [salary(r) for _ in range(n)]})


SCHEMA = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="salary")


def test_certificates_of_another_width(tmp_path):
    rules = policy(fk.Facts(), schema=SCHEMA)
    fk.publish(people(), rules).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    text = path.read_text()
    assert text.count('"within": 5000') == 1
    for new, message in (
        ("500", "the worst probability is"),
        ("0", "above 0"),
        ("true", "within"),
        ("[5000]", "within"),
        ('"a lot"', "cannot be read"),
        ('"30 days"', "cannot be read for these values"),
        ('5000, "any_of": ["1"]', "give within or any_of, not both"),
    ):
        path.write_text(text.replace('"within": 5000', f'"within": {new}'))
        with pytest.raises(fk.InputError, match=message):
            fk.verify(tmp_path / "out")
    with pytest.raises(fk.NoSafeRelease, match=r"60 of 60 people|people have values between"):
        fk.publish(people(60), policy(fk.Facts(), "1/9", within=9000, schema=SCHEMA))


# ---- the policy, the report, and what is refused ---------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"within": 0}, "within must be above 0, not 0"),
        ({"within": -5}, "within must be above 0, not -5"),
        ({"within": "0%"}, "within must be above 0"),
        ({"within": "near"}, "within cannot be read: 'near'"),
        *(({"within": x}, "within cannot be read") for x in (True, [5], float("nan"))),
        ({"within": 5, "any_of": ["1"]}, "give within or any_of, not both"),
        ({"within": 5, "values": ["1"]}, "give within or values, not both"),
        ({"within": 5, "excluded": ["1"]}, "give within or except, not both"),
    ],
)
def test_widths_that_mean_nothing(given, message):
    with pytest.raises(fk.InputError, match=message):
        fk.Requirement(fk.Facts(), below="1/2", **given)


@pytest.mark.parametrize(
    ("values", "within", "message"),
    [
        ([1, 2, 3], 2, "within = 2 holds every sensitive value .* from 1 to 3.*less than 2"),
        ([100, 110, 120], "25%", "holds every sensitive value.*give less than 20%"),
        ([7], 1, "one value has nothing to hide"),
        ([1, 2, "none", "x", "y", "z"], 1, r"of 6 .* are neither: 'none', 'x', 'y' and 1 more"),
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
def test_widths_that_do_not_fit(values, within, message):
    counts = fk.GroupCounts.from_bags([values])
    with pytest.raises(fk.ForeknowError, match=message) as raised:
        fk.audit(counts, policy(fk.Facts(), within=within))
    assert str(raised.value).startswith("requirement: ")
    with pytest.raises(fk.ForeknowError, match=message):
        policy(fk.Facts(), within=within).ledger(counts.values)


def test_where_windows_are_unsupported():
    several = fk.GroupCounts.from_people([[{1}, {2, 3}]], semantics="set")
    with pytest.raises(fk.ForeknowError, match="within needs one sensitive value per person"):
        fk.audit(several, policy(fk.Facts(), within=1))
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="x", semantics="set", person="id")
    with pytest.raises(fk.ForeknowError, match="within needs one sensitive value per person"):
        policy(fk.Facts(), within=1, schema=schema).ledger(several.values)
    with pytest.raises(fk.ForeknowError, match="within is unsupported by jump"):
        fk.publish(people(40), policy(fk.Facts(), schema=SCHEMA), method="safe")
    table = pa.table({"name": list("abcd"), "gid": [1] * 4, "x": [1, 2, 9, 20]})
    release = fk.Release.from_groups(table, group="gid", sensitive="x", person="name")
    disclosure = fk.audit(release, policy(fk.Facts(), within=1)).verdicts[0].disclosure
    with pytest.raises(fk.InputError, match="a window is no value of a person"):
        fk.name_people(release, disclosure)


def test_two_limits_for_one_width():
    requirement = fk.Requirement(fk.Facts(), below="1/2", within="50%")
    other = fk.Requirement(fk.Facts(), below="1/3", within="50 %")
    with pytest.raises(fk.InputError, match="values within 50 % must stay below 1/3"):
        fk.Policy([requirement, other])
    fk.Policy([requirement, fk.Requirement(fk.Facts(), below="1/3", within="20%")])
