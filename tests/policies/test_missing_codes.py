"""Numbers that may stand for no value, by what can be counted of a column."""

import tomllib

import polars as pl
import pytest

import foreknow as fk
from foreknow.data.engines.missing_codes import missing_codes
from foreknow.data.engines.profile import Profile


@pytest.mark.parametrize(
    ("domain", "codes"),
    [
        ([-1, 0, 1, 2], ["-1"]),
        ([-9, -8, 18, 40, 77], ["-9", "-8"]),
        ([0, 1, 2, 3, 4, 99], ["99"]),
        ([1, 2, 3, 4, 5, 9], ["9"]),
        ([1, 2, 3, 4, 98, 99], ["98", "99"]),
        ([-1, 1, 2, 3, 999], ["-1", "999"]),
        ([150.0, 171.0, 182.0, 999.0], ["999"]),
        ([18, 30, 60, 97, 99], []),  # ages
        ([1, 2, 3, 4, 5, 6, 7], []),  # answers
        ([4, 6, 8], []),  # cylinders
        ([85, 90, 95], []),  # years
        ([1.5, 46.25, 95.0], []),  # miles
        ([-12, -1, 3, 7], []),  # degrees
        ([-10, -5, 8], []),  # zones
        ([0, 1, 2, 100], []),  # no code of surveys
        ([0, 99], []),
        ([-1, 0], []),
    ],
)
def test_codes_by_counts(domain, codes):
    column = Profile("n", 100, 0, len(domain), "number", domain)
    assert missing_codes(column) == codes


AGES = [*range(60, 100)]


@pytest.mark.parametrize(
    ("age", "kind", "said"),
    [
        (AGES, "texts", "empty these cells in the table: it is a value of 'age'"),
        ([age - 40 for age in AGES], "texts", "uncomment missing in [schema.reading]"),
        ([age - 40 for age in AGES], "numbers", "'children' holds numbers, and no texts"),
    ],
)
def test_what_a_reading_can_declare(age, kind, said, tmp_path):
    """One spelling is missing in every column of texts: what is an age is not taken for it."""
    table = pl.DataFrame(
        {
            "age": age * 3,
            "children": ([0, 1, 2, 3] * 9 + [99] * 4) * 3,
            "ill": ["flu", "cold", "gout", "none"] * 30,
        }
    )
    table.write_csv(tmp_path / "t.csv")
    found = fk.suggest_policy(table if kind == "numbers" else tmp_path / "t.csv")
    (question,) = (q for q in found.questions if q.startswith("children"))
    assert said in question
    may_be = "uncomment" in said
    assert found.codes == (("99",) if may_be else ())
    assert ('# missing = ["99"]' in found.to_toml()) == may_be


def test_hidden_codes_become_missing(tmp_path):
    """The line that is printed works for what must stay hidden, too."""
    path = tmp_path / "t.csv"
    codes = {"age": [*range(20, 60)] * 3, "ill": ([1, 2, 3, 4, 1, 2, 3, 4, 1, 99]) * 12}
    pl.DataFrame(codes).write_csv(path)
    text = fk.suggest_policy(path, sensitive="ill").to_toml()
    assert '# missing = ["99"]' in text
    made = fk.publish(path, tomllib.loads(text.replace("# missing = [", "missing = [")))
    assert made.audit.safe
    assert {*made.to_arrow()["ill"].to_pylist()} == {"1", "2", "3", "4", "missing"}
