"""Criteria against numbers that papers and other tools' public tests state."""

import math
from fractions import Fraction

import pyarrow as pa
import pytest

import foreknow as fk

# pyCANON's test of students' scores in mathematics (tests/test_metrics.py): of each group by
# teacher, gender, ethnicity, lunch and tutorial the scores.
SCORES = """
76 42 75 30 30 72 55 / 56 72 30 73 37 52 71 / 34 82 60 57 56 / 59 68 69 / 73 40 39 58 76 / 58
64 65 50 40 / 62 39 74 52 / 78 64 36 38 51 / 48 54 67 47 / 66 67 / 68 43 39 72 / 34 33 48 / 44
67 32 68 / 32 69 74 80 50 34 54 59 33 / 36 51 65 77 / 60 51 87 48 87 95 64 84 53 52 53 / 47 50
66 74 84 / 62 80 77 67 95 87 60 / 55 52 / 69 45 91 79 57 59 / 72 65 80 46 48 / 85 76 65 / 68
91 / 82 69 92 / 49 73 60 / 72 68 / 89 79 53 83 61 51 60 95 / 85 91 48 86 71 / 65 84 / 62 71 79
82 / 57 / 51 90 47 79 45 75 79 / 71 59 53 72 94 / 77 89 93 73 89 / 85 85 93 56 / 89 91 58 64
68 / 62 61 79 66 52 87 / 61 46 85 48 89 56 / 70 59 63 68 45 / 61 58 / 52 88 76 53 58 68 64 83
/ 82 93 65 82 70 53 / 78 83 84 83 / 57 67 57 81 91 57 / 87 63 83 83 72 / 65 53
"""


def test_closeness_of_scores_matches_pycanon():
    counts = fk.GroupCounts.from_bags(
        [[int(score) for score in group.split()] for group in SCORES.split("/")]
    )
    assert (counts.n_groups, counts.n_people) == (46, 216)
    assert fk.KAnonymity(1).measure(counts) == 1
    assert fk.LDiversity(1).measure(counts) == 1
    assert fk.LDiversity(1, "entropy").measure(counts) == 1
    assert fk.AlphaK(1, 1).measure(counts) == 1
    beta = fk.BetaLikeness(71)
    assert beta.measure(counts) == 71
    assert beta.holds(counts)
    assert not fk.BetaLikeness(70).holds(counts)
    # Its logarithm of the largest share of a value over that in the table; of values that a group
    # lacks, pyCANON says nothing.
    assert math.log(beta.measure(counts) + 1) == pytest.approx(4.276666119016055, abs=1e-12)
    assert fk.DeltaDisclosure(5).measure(counts) == math.inf
    t = fk.TCloseness(1, "ordered").measure(counts)
    assert t == Fraction(5579, 13392)
    assert float(t) == pytest.approx(0.4165919952210274, abs=1e-12)


def test_inpatients_are_2_8_diverse():
    """Figure 3 of "l-Diversity: Privacy Beyond k-Anonymity", by entropy."""
    counts = fk.GroupCounts.from_bags(
        [
            ["Heart Disease", "Viral Infection", "Cancer", "Cancer"],
            ["Cancer", "Heart Disease", "Viral Infection", "Viral Infection"],
            ["Heart Disease", "Viral Infection", "Cancer", "Cancer"],
        ]
    )
    assert fk.LDiversity(3).measure(counts) == 3
    assert fk.LDiversity("2.8", "entropy").holds(counts)
    assert not fk.LDiversity("2.83", "entropy").holds(counts)
    assert str(float(fk.LDiversity(2, "entropy").measure(counts))) == "2.828427"


@pytest.mark.parametrize(
    ("counted", "l", "attained"),
    [((5, 3, 2), 2, 1), ((5, 3, 2), 3, Fraction(5, 2)), ((5, 3, 2), 4, math.inf), ((4, 4), 2, 1)],
)
def test_recursive_diversity_compares_the_tail(counted, l, attained):  # noqa: E741
    """r1 < c (rl + ... + rm), strictly."""
    counts = fk.GroupCounts.from_bags([dict(zip("abc", counted, strict=False))])
    criterion = fk.LDiversity(l, "recursive", 1)
    assert criterion.measure(counts) == attained
    assert not fk.LDiversity(l, "recursive", max(min(attained, 99), 1)).holds(counts)
    if attained < math.inf:
        assert fk.LDiversity(l, "recursive", attained + Fraction(1, 10**9)).holds(counts)


def test_six_patients_are_a_map():
    """Desfontaines, "Delta-presence, for when being in the dataset is sensitive"."""
    ages = [*[15] * 5, *[25] * 5, *[35] * 10, *[45] * 10, *[60] * 20]
    population = pa.table({"zip": ["85535"] * len(ages), "age": ages})

    def release(labels):
        table = pa.table({"zip": ["85535"] * 6, "age": labels, "ill": ["x"] * 6})
        return fk.Release.from_generalized(table, quasi_identifiers=["zip", "age"], sensitive="ill")

    first = release([*["10 to 19"] * 5, "40 to 49"])
    assert fk.KMap(5, population).measure(first) == 5
    assert fk.DeltaPresence(0, 1, population).presence(first) == (0, 1)
    wider = release([*["10 to 39"] * 5, "40 to 49"])
    assert fk.DeltaPresence(0, 1, population).presence(wider) == (0, Fraction(1, 4))
    assert fk.DeltaPresence(0, "1/4", population).holds(wider)


# ANJANA's test of ten patients (tests/test_anonymity.py, TestHospital), k = 2 and l = 2.
HOSPITAL = pa.table(
    {
        "age": [29, 24, 28, 27, 24, 23, 19, 29, 17, 19],
        "gender": [*["Female"] * 3, "Male", "Female", *["Male"] * 5],
        "city": ["Tamil Nadu", "Kerala", "Tamil Nadu", "Karnataka", "Kerala"]
        + ["Karnataka", "Kerala", "Karnataka", "Kerala", "Kerala"],
        "disease": ["Cancer", "Viral", "TB", "None", "Heart"]
        + ["TB", "Cancer", "Heart", "Heart", "Viral"],
    }
)


def test_ten_patients_beside_anjana():
    schema = fk.Schema(
        quasi_identifiers=["age", "gender", "city"],
        sensitive="disease",
        hierarchies={"age": {"intervals": [5, 10]}},
    )
    people = fk.Microdata(HOSPITAL, schema)
    k_alone = fk.counts_at(people, {"age": 2, "gender": 0, "city": 0})  # what ANJANA's test states
    assert fk.KAnonymity(2).measure(k_alone) == 2
    assert not fk.KAnonymity(2).holds(fk.counts_at(people, {"age": 1, "gender": 0, "city": 0}))
    both = fk.Policy([fk.Requirement(fk.KAnonymity(2)), fk.Requirement(fk.LDiversity(2))])
    found = fk.FullDomain(find="minimal").search(people, both)
    assert (2, 0, 0) in found.minimal
    with_city = fk.counts_at(people, {"age": 2, "gender": 0, "city": "*"})  # and for l = 2
    assert fk.LDiversity(2).holds(with_city)
    assert found.status_of((2, 0, 1)) == "safe"
