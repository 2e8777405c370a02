"""Measures of a table as it is: rows of people, and never rows for people."""

import pyarrow as pa
import pytest

import foreknow as fk

ROWS = pa.table({"who": [*"pppqqq"], "age": [20] * 3 + [30] * 3, "ill": [*"abcabc"]})


@pytest.mark.parametrize("own", [{"unit": "row"}, {"semantics": "set"}])
@pytest.mark.parametrize(
    "measure",
    [fk.k_anonymity, fk.l_diversity, fk.t_closeness, fk.beta_likeness, fk.delta_disclosure],
)
def test_rows_are_not_counted_as_people(measure, own):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", person="who", **own)
    with pytest.raises(fk.InputError, match=r"counts rows, and people of 'who' may have several"):
        measure(fk.Microdata(ROWS, schema))


def test_microdata_have_the_measures_of_their_columns():
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", person="number")
    rows = ROWS.append_column("number", pa.array(range(len(ROWS))))
    microdata = fk.Microdata(rows, schema)
    assert fk.k_anonymity(microdata) == fk.k_anonymity(ROWS, ["age"]) == 3
    assert fk.k_anonymity(microdata, ["age", "ill"]) == 1
    assert fk.l_diversity(microdata) == fk.l_diversity(ROWS, ["age"], "ill") == 3
