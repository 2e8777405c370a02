"""Tables of probabilities: from anywhere, exactly; what is wrong is named by its row."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.frames.backends import write

from foreknow.adversaries.priors.priors import Priors
from foreknow.data.engines.priors import count_chances, read_chances
from foreknow_judge.errors import DataError, InputError

TABLE = pa.table({
    "sex": [*"mmff"], "value": ["Flu", "HIV"] * 2, "probability": [0.1, 0.9, 0.003, 0.25],
})  # fmt: skip
ROWS = {("m",): (Fraction(1, 10), Fraction(9, 10)), ("f",): (Fraction(3, 1000), Fraction(1, 4))}
HALF, ONE = Fraction(1, 2), Fraction(1)


def of_one(chance):
    return pa.table({"sex": ["m"], "value": ["Flu"], "probability": [chance]})


def by_hand(people, smoothing=Fraction(0)):
    """{signature: {value: share}} of pairs, counted one by one."""
    whole = Counter(value for _, value in people)
    found = {}
    for signature in {who for who, _ in people}:
        own = Counter(value for who, value in people if who == signature)
        size = sum(own.values()) + smoothing
        shares = {x: smoothing * Fraction(n, len(people)) for x, n in whole.items()}
        found[signature] = {x: (own[x] + share) / size for x, share in shares.items()}
    return found


def as_dicts(chances):
    return {s: dict(zip(chances.values, row, strict=True)) for s, row in chances.rows.items()}


def test_sources_agree_on_priors(everywhere):
    found = read_chances(everywhere(TABLE))
    assert (found.attributes, found.values, found.rows) == (("sex",), ("Flu", "HIV"), ROWS)
    random = Random(3)
    columns = [random.choices(pool, k=30) for pool in ("mf", "123", ["Flu", "HIV", "Gout"])]
    table = pa.table(columns, ["sex", "age", "disease"])
    people = [((sex, age), ill) for sex, age, ill in zip(*columns, strict=True)]
    found = count_chances(everywhere(table), ["sex", "age"], "disease", ONE)
    assert as_dicts(found) == by_hand(people, ONE)


def test_probabilities_are_exact():
    for chance, exact in (
        ("0.1", Fraction(1, 10)), (" 1/3 ", Fraction(1, 3)), ("1e-200", Fraction(1, 10**200)),
        ("0.12345678901234567890123", Fraction(12345678901234567890123, 10**23)),
        ("0", Fraction(0)), ("1", ONE), (0.1, Fraction(1, 10)), (1e-5, Fraction(1, 10**5)),
        (1, ONE), (Decimal("0.10"), Fraction(1, 10)),
    ):  # fmt: skip
        assert read_chances(of_one(chance)).rows == {("m",): (exact,)}
    # Floats of 32 bits stand for what they print as.
    chances = np.array([0.1, 0.9], dtype=np.float32)
    for make in (pa.table, pd.DataFrame, pl.DataFrame):
        table = make({"sex": ["m", "m"], "value": ["a", "b"], "probability": chances})
        assert read_chances(table).rows == {("m",): ROWS[("m",)]}
        assert Priors(table).tables[0].prior(("m",), "b") == Fraction(9, 10)


HEADER = "sex,value,probability\n"
GOOD = HEADER + "m,Flu,0.1\nm,HIV,0.2\n"
NO_NUMBERS = ["often", "10%", '"0,1"', "1/0", "nan", "inf"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (GOOD + "f,,0.1\n", "row 3: the sensitive value is missing"),
        (GOOD + "f,Flu,\n", "row 3: the probability is missing"),
        *((GOOD + f"f,Flu,{odd}\n", f"row 3: the probability is '{odd.strip(chr(34))}', not a num")
          for odd in NO_NUMBERS),
        (GOOD + "f,Flu,1e-99999999\n", "row 3: .* 1e-99999999 is too large or too small"),
        (GOOD + "f,Flu,1e99999999\n", "row 3: .* too large or too small"),
        (GOOD + "m,Flu,0.3\n", "row 3: sex m with 'Flu' stands in row 1 already"),
        (GOOD + "f,Flu,0.3\n", "no probability of 'HIV' for sex f; give 0 if it never"),
        (GOOD + ",Flu,0.3\n", "no probability of 'HIV' for sex missing"),
        (HEADER, "has no rows"), ("", "is empty, or begins with an empty line"),
        ("sex,value,chance\nm,Flu,1\n", "has no column 'probability'"),
        ("sex,disease,probability\nm,Flu,1\n", "has no column 'value'"),
        ("value,probability\nFlu,1\n", "no column of an attribute beside 'value' and 'probabil"),
        ("sex,value,value,probability\nm,Flu,Flu,1\n", "two columns named 'value'"),
        (HEADER + "m,Flu,0.1\nm,HIV\n", "line 3: 2 fields where the header has 3"),
    ],
    ids=range(20),
)  # fmt: skip
def test_table_that_cannot_be_read(tmp_path, content, says):
    path = write(tmp_path, content, "sex.csv")
    with pytest.raises(DataError, match=rf"^sex\.csv.*{says}"):
        read_chances(path)


def test_probabilities_that_are_none(tmp_path):
    of_flu = "the probability of 'Flu' for sex m is "
    for content, says in (
        (HEADER + "m,Flu,-0.1\n", f"{of_flu}-0.1, not from 0 to 1"),
        (HEADER + "m,Flu,1.5\n", f"{of_flu}1.5, not from 0 to 1"),
        (GOOD + "f,Flu,0.6\nf,HIV,0.5\n", "the probabilities for sex f add up to 1.1, above 1"),
        (HEADER + "m,Flu,1e-320\n", f"{of_flu}closer than 2.23e-308 to 0 or 1; give 0 or 1"),
    ):
        with pytest.raises(DataError, match=rf"sex\.csv: {says}"):
            Priors(write(tmp_path, content, "sex.csv"))
    with pytest.raises(InputError, match="there is no file or folder"):
        Priors(tmp_path / "none.csv")
    for chance in (True, None, float("nan"), float("inf")):
        with pytest.raises(DataError, match="row 1: the probability is"):
            read_chances(of_one(chance))
    # Sums of numbers may be a rounding above 1.
    row = {"sex": ["m"] * 3, "value": ["a", "b", "c"]}
    Priors(pa.table({**row, "probability": [0.1, 0.2, 0.7 + 1e-10]}))
    with pytest.raises(DataError, match=r"add up to 1\.00001, above 1"):
        Priors(pa.table({**row, "probability": [0.1, 0.2, 0.70001]}))


PEOPLE = st.lists(
    st.tuples(st.sampled_from(["m", "f", None]), st.sampled_from("xy"), st.sampled_from("abc")),
    min_size=1,
    max_size=20,
)


@examples(150)
@given(PEOPLE, st.sampled_from(["0", "1", "1/2", "2.5"]))
def test_learned_shares_match_hand_counts(people, smoothing):
    columns = [[*own] for own in zip(*people, strict=True)]
    table, added = pa.table(columns, ["sex", "race", "disease"]), Fraction(smoothing)
    both = by_hand([((sex, race), ill) for sex, race, ill in people], added)
    assert as_dicts(count_chances(table, ["sex", "race"], "disease", added)) == both
    learned = Priors.learn(table, [["sex"], ["race", "sex"]], "disease", smoothing=smoothing)
    assert [own.attributes for own in learned.tables] == [("sex",), ("race", "sex")]
    alone = by_hand([((sex,), ill) for sex, _, ill in people], added)
    for own, truth in zip(learned.tables, (alone, both), strict=True):
        for signature, row in truth.items():
            assert {x: own.prior(signature[::-1], x) for x in row} == row
            assert sum(row.values()) == 1


def test_nulls_do_not_count():
    table = pa.table({"sex": [*"mmff"], "disease": ["a", None, "b", "a"]})
    found = as_dicts(count_chances(table, ["sex"], "disease", ONE))
    assert found[("m",)]["a"] == (1 + Fraction(2, 3)) / 2
    nobody = pa.table({"sex": ["m"], "disease": pa.nulls(1, pa.string())})
    with pytest.raises(DataError, match="'disease'"):
        Priors.learn(nobody, ["sex"], "disease")
    # Smoothing leaves nothing impossible.
    table = pa.table({"sex": [*"mmff"], "disease": [*"aaba"]})
    for smoothing, chance in ((0, 0), (0.1, Fraction(1, 40) / Fraction(21, 10))):
        learned = Priors.learn(table, ["sex"], "disease", smoothing=smoothing)
        assert learned.tables[0].prior(("m",), "b") == chance


@pytest.mark.parametrize(
    ("attributes", "smoothing", "says"),
    [
        ([], 0, r"attributes must be a list of columns, not \[\]"),
        ([[]], 0, r"attributes must be a list of columns, not \[\]"),
        ("sex", 0, "attributes must be a list of columns, not 'sex'"),
        ([["sex"], "race"], 0, "attributes must be a list of columns, not "),
        (["sex", "sex"], 0, "'sex', 'sex': one column plays two roles"),
        (["sex", "disease"], 0, "one column plays two roles; the sensitive one is 'disease'"),
        ([["sex"], ["sex"]], 0, "two tables for sex"),
        (["gender"], 0, "no column 'gender'"),
        (["sex"], -1, "smoothing must be 0 or more, not -1"),
        (["sex"], "much", "'much' is not a number"),
    ],
)
def test_what_cannot_be_learned(attributes, smoothing, says):
    table = pa.table({"sex": ["m"], "race": ["x"], "disease": ["a"]})
    with pytest.raises(InputError, match=says):
        Priors.learn(table, attributes, "disease", smoothing=smoothing)
