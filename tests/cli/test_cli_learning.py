"""The command that learns priors, and the table it writes."""

import pytest

import foreknow as fk
from foreknow_judge.errors import DataError


def test_what_is_learned_is_what_a_policy_reads(desk):
    code, out, _ = desk.run(
        "priors", "table.csv", "--by", "sex", "-s", "disease", "--out", "known.csv"
    )
    assert code == 0
    assert "2 kinds of people, 2 values of disease: written to known.csv" in out
    read = fk.Priors(desk.folder / "known.csv")
    assert read.tables == fk.Priors.learn(desk.folder / "table.csv", ["sex"], "disease").tables
    assert str(read.tables[0].prior(("m",), "cold")) == "3/4"
    code, out, _ = desk.run(
        "priors", "table.csv", "--by", "sex, age", "-s", "disease", "-o", "both.csv", "-q"
    )
    assert (code, out) == (0, "")
    assert fk.Priors(desk.folder / "both.csv").tables[0].attributes == ("sex", "age")


def test_mistakes(desk):
    assert "no column 'sexe'" in desk.refused(
        "priors", "table.csv", "--by", "sexe", "-s", "disease", "-o", "known.csv"
    )
    desk.refused("priors", "nope.csv", "--by", "sex", "-s", "disease", "-o", "known.csv")


def test_what_csv_cannot_tell_is_refused(tmp_path):
    import pyarrow as pa

    table = pa.table({"sex": ["f", None], "disease": ["a", "b"]})
    learned = fk.Priors.learn(table, ["sex"], "disease").tables[0]
    with pytest.raises(DataError, match="sex missing cannot be written as CSV"):
        learned.to_csv(tmp_path / "known.csv")
    assert not (tmp_path / "known.csv").exists()
