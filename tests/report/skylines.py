"""Skylines that the tests of the report show."""

from tests.report.audits import EVIL

from foreknow.auditing.skyline import skyline_report
from foreknow.data.counts import GroupCounts

# Of such groups the worst points in section 7.3 of "Privacy Skyline" come.
BAG = ["Boss", "Boss", "Clerk", "Cook", "Farmer", "Nurse", "Smith"]
POINTS = [(0, 4, 0), (1, 3, 1), (2, 1, 3), (2, 2, 2), (3, 0, 4), (3, 1, 2), (4, 0, 3)]


def case_study(confidence="0.95", values=("Boss",)):
    """Seven points of one value."""
    counts = GroupCounts.from_bags([BAG])
    return skyline_report(counts, values, confidence=confidence, name="x.csv", sensitive="job")


def several():
    """Three values, one of which withstands nothing."""
    counts = GroupCounts.from_bags([{"AIDS": 1, "Flu": 8, "Cold": 2, "Gout": 3}])
    values = ["AIDS", "Flu", "Gout"]
    return skyline_report(counts, values, confidence="0.5", sensitive="diagnosis")


def many():
    """Hundreds of points of one value."""
    counts = GroupCounts.from_bags([{"AIDS": 3, **{f"v{i}": 30 + i for i in range(5)}}])
    return skyline_report(counts, ["AIDS"], confidence="0.5", sensitive="diagnosis")


def of_sets():
    """One value of people who may have several."""
    people = [[{"AIDS", "Flu"}, {"Flu"}, {"Gout"}, set(), {"Flu"}, set()]]
    counts = GroupCounts.from_people(people)
    return skyline_report(counts, ["AIDS"], confidence="0.6", sensitive="diagnosis")


def evil():
    """A report of which every label is an attack."""
    counts = GroupCounts.from_bags([{value: i + 2 for i, value in enumerate(EVIL)}])
    return skyline_report(counts, confidence="0.9", name=EVIL[0], sensitive=EVIL[3])
