"""Numbers in a pandas column that are equal to Python and two to whoever reads the file."""

import numpy as np
import pandas as pd
import pytest

import foreknow as fk

HOW = {"quasi_identifiers": ["age"], "sensitive": "ill", "k_anonymity": 2}


def frame(ages):
    return pd.DataFrame({"age": pd.Series(ages, dtype=object), "ill": ["flu", "cold"] * 2})


@pytest.mark.parametrize("ages", [[1, 1.0, 1, 1], [1, True, 2, 2], [0.0, False, 1.0, True]])
def test_they_are_no_group(tmp_path, ages):
    frame(ages).to_csv(tmp_path / "ages.csv", index=False)
    assert not fk.audit(tmp_path / "ages.csv", **HOW).safe
    assert fk.k_anonymity(tmp_path / "ages.csv", ["age"]) == 1
    for judge in (lambda table: fk.audit(table, **HOW), lambda t: fk.k_anonymity(t, ["age"])):
        with pytest.raises(fk.ForeknowError, match="which are equal, and which a file shows as"):
            judge(frame(ages))


@pytest.mark.parametrize("ages", [[1, 2.5, 1, 2.5], [np.int64(1), 1, None, np.nan]])
def test_others_are_read(ages):
    assert fk.k_anonymity(frame(ages), ["age"]) == 2


def test_columns_are_looked_at_once():
    ages = frame([1, 1, 2, 2])
    assert fk.k_anonymity(ages, ["age", "age"]) == 2
    with pytest.raises(fk.ForeknowError, match="at least one column"):
        fk.k_anonymity(ages, [])
