"""Criteria against numbers that papers and other tools' public tests state."""

from fractions import Fraction

import pyarrow as pa

import foreknow as fk


def test_six_patients_of_a_postal_code_are_a_map_of_5_and_five_of_them_surely_there():
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
