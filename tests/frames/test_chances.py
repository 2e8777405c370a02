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

TABLE = pa.table(
    {
        "sex": ["m", "m", "f", "f"],
        "value": ["Flu", "HIV", "Flu", "HIV"],
        "probability": [0.1, 0.9, 0.003, 0.25],
    }
)
ROWS = {("m",): (Fraction(1, 10), Fraction(9, 10)), ("f",): (Fraction(3, 1000), Fraction(1, 4))}


def test_every_backend_gives_the_same_fractions(everywhere):
    found = read_chances(everywhere(TABLE))
    assert (found.attributes, found.values, found.rows) == (("sex",), ("Flu", "HIV"), ROWS)


def test_columns_may_come_in_any_order_and_rows_too(tmp_path):
    path = write(
        tmp_path,
        "probability;value;age;sex\n1/3;HIV;30;f\n0.25;Flu;30;f\n0;Flu;;m\n1;HIV;;m\n",
        "both.csv",
    )
    found = read_chances(path)
    assert found.name == "both.csv"
    assert found.attributes == ("age", "sex")
    assert found.values == ("HIV", "Flu")
    assert found.rows == {
        ("30", "f"): (Fraction(1, 3), Fraction(1, 4)),
        (None, "m"): (Fraction(1), Fraction(0)),
    }


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        ("0.1", Fraction(1, 10)),
        (" 1/3 ", Fraction(1, 3)),
        ("1e-200", Fraction(1, 10**200)),
        ("0.12345678901234567890123", Fraction(12345678901234567890123, 10**23)),
        ("0", Fraction(0)),
        ("1", Fraction(1)),
        (0.1, Fraction(1, 10)),
        (1e-5, Fraction(1, 10**5)),
        (1, Fraction(1)),
        (Decimal("0.10"), Fraction(1, 10)),
    ],
)
def test_probabilities_are_exact(given, exact):
    table = pa.table({"sex": ["m"], "value": ["Flu"], "probability": [given]})
    assert read_chances(table).rows == {("m",): (exact,)}


def test_floats_of_32_bits_stand_for_what_they_print_as():
    chances = np.array([0.1, 0.9], dtype=np.float32)
    for make in (pa.table, pd.DataFrame, pl.DataFrame):
        table = make({"sex": ["m", "m"], "value": ["a", "b"], "probability": chances})
        assert read_chances(table).rows == {("m",): (Fraction(1, 10), Fraction(9, 10))}
        assert Priors(table).tables[0].prior(("m",), "b") == Fraction(9, 10)


def test_labels_are_texts_whatever_they_were():
    table = pa.table(
        {"age": [30, None], "adult": [True, False], "value": [7, 7], "probability": [1, 1]}
    )
    found = read_chances(table)
    assert found.values == ("7",)
    assert set(found.rows) == {("30", "True"), (None, "False")}


HEADER = "sex,value,probability\n"
GOOD = "m,Flu,0.1\nm,HIV,0.2\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (HEADER + GOOD + "f,,0.1\n", "row 3: the sensitive value is missing"),
        (HEADER + GOOD + "f,Flu,\n", "row 3: the probability is missing"),
        (HEADER + GOOD + "f,Flu,often\n", "row 3: the probability is 'often', not a number"),
        (HEADER + GOOD + "f,Flu,10%\n", "row 3: the probability is '10%', not a number"),
        (HEADER + GOOD + 'f,Flu,"0,1"\n', "row 3: the probability is '0,1', not a number"),
        (HEADER + GOOD + "f,Flu,1/0\n", "row 3: the probability is '1/0', not a number"),
        (HEADER + GOOD + "f,Flu,nan\n", "row 3: the probability is 'nan', not a number"),
        (HEADER + GOOD + "f,Flu,inf\n", "row 3: the probability is 'inf', not a number"),
        (HEADER + GOOD + "f,Flu,1e-99999999\n", "row 3: .* 1e-99999999 is too large or too small"),
        (HEADER + GOOD + "f,Flu,1e99999999\n", "row 3: .* too large or too small"),
        (HEADER + GOOD + "m,Flu,0.3\n", "row 3: sex m with 'Flu' stands in row 1 already"),
        (HEADER + GOOD + "f,Flu,0.3\n", "no probability of 'HIV' for sex f; give 0 if it never"),
        (HEADER + GOOD + ",Flu,0.3\n", "no probability of 'HIV' for sex missing"),
        (HEADER, "has no rows"),
        ("", "is empty, or begins with an empty line"),
        ("sex,value,chance\nm,Flu,1\n", "has no column 'probability'"),
        ("sex,disease,probability\nm,Flu,1\n", "has no column 'value'"),
        ("value,probability\nFlu,1\n", "no column of an attribute beside 'value' and 'probabil"),
        ("sex,value,value,probability\nm,Flu,Flu,1\n", "two columns named 'value'"),
        (HEADER + "m,Flu,0.1\nm,HIV\n", "line 3: 2 fields where the header has 3"),
    ],
)
def test_a_table_that_cannot_be_read(tmp_path, content, says):
    path = write(tmp_path, content, "sex.csv")
    with pytest.raises(DataError, match=rf"^sex\.csv.*{says}"):
        read_chances(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("m,Flu,-0.1\n", "the probability of 'Flu' for sex m is -0.1, not from 0 to 1"),
        ("m,Flu,1.5\n", "the probability of 'Flu' for sex m is 1.5, not from 0 to 1"),
        (GOOD + "f,Flu,0.6\nf,HIV,0.5\n", "the probabilities for sex f add up to 1.1, above 1"),
        (
            "m,Flu,1e-320\n",
            "the probability of 'Flu' for sex m is closer than 2.23e-308 to 0 or 1; give 0 or 1",
        ),
    ],
)
def test_probabilities_that_are_none(tmp_path, content, says):
    path = write(tmp_path, HEADER + content, "sex.csv")
    with pytest.raises(DataError, match=rf"sex\.csv: {says}"):
        Priors(path)
    with pytest.raises(InputError, match="there is no file or folder"):
        Priors(tmp_path / "none.csv")


def test_typed_probabilities_are_numbers_whose_sums_may_be_a_rounding_above_1():
    for chance in (True, None, float("nan"), float("inf")):
        table = pa.table({"sex": ["m"], "value": ["Flu"], "probability": [chance]})
        with pytest.raises(DataError, match="row 1: the probability is"):
            read_chances(table)
    row = {"sex": ["m"] * 3, "value": ["a", "b", "c"]}
    Priors(pa.table({**row, "probability": [0.1, 0.2, 0.7 + 1e-10]}))
    with pytest.raises(DataError, match=r"add up to 1\.00001, above 1"):
        Priors(pa.table({**row, "probability": [0.1, 0.2, 0.70001]}))


def by_hand(people, smoothing=Fraction(0)):
    """{signature: {value: share}} of pairs, counted one by one."""
    whole = Counter(value for _, value in people)
    found = {}
    for signature in {who for who, _ in people}:
        own = Counter(value for who, value in people if who == signature)
        size = sum(own.values()) + smoothing
        found[signature] = {
            x: (own[x] + smoothing * Fraction(n, len(people))) / size for x, n in whole.items()
        }
    return found


def as_dicts(chances):
    return {s: dict(zip(chances.values, row, strict=True)) for s, row in chances.rows.items()}


PEOPLE = st.lists(
    st.tuples(st.tuples(st.sampled_from(["m", "f", None]), st.sampled_from("xy")), st.text("abc")),
    min_size=1,
    max_size=20,
).map(lambda rows: [(who, value or "a") for who, value in rows])


@examples(150)
@given(PEOPLE, st.sampled_from(["0", "1", "1/2", "2.5"]))
def test_learned_shares_are_those_counted_by_hand(people, smoothing):
    table = pa.table(
        {
            "sex": [sex for (sex, _), _ in people],
            "race": [race for (_, race), _ in people],
            "disease": [value for _, value in people],
        }
    )
    added = Fraction(smoothing)
    assert as_dicts(count_chances(table, ["sex", "race"], "disease", added)) == by_hand(
        people, added
    )
    learned = Priors.learn(table, [["sex"], ["race", "sex"]], "disease", smoothing=smoothing)
    assert [own.attributes for own in learned.tables] == [("sex",), ("race", "sex")]
    alone = by_hand([(who[:1], value) for who, value in people], added)
    for own, truth in zip(learned.tables, (alone, by_hand(people, added)), strict=True):
        for signature, row in truth.items():
            written = signature if len(signature) == 1 else signature[::-1]
            assert {x: own.prior(written, x) for x in row} == row
            assert sum(row.values()) == 1


def test_every_backend_learns_the_same(everywhere):
    random = Random(3)
    table = pa.table(
        {
            "sex": random.choices("mf", k=30),
            "age": [str(random.randint(1, 3)) for _ in range(30)],
            "disease": random.choices(["Flu", "HIV", "Gout"], k=30),
        }
    )
    rows = table.to_pylist()
    truth = by_hand([((r["sex"], r["age"]), r["disease"]) for r in rows], Fraction(1))
    found = count_chances(everywhere(table), ["sex", "age"], "disease", Fraction(1))
    assert as_dicts(found) == truth


def test_nulls_do_not_count_and_smoothing_leaves_nothing_impossible():
    table = pa.table({"sex": list("mmff"), "disease": ["a", None, "b", "a"]})
    found = as_dicts(count_chances(table, ["sex"], "disease", Fraction(1)))
    assert found[("m",)]["a"] == (1 + Fraction(2, 3)) / 2
    nobody = pa.table({"sex": ["m"], "disease": pa.nulls(1, pa.string())})
    with pytest.raises(DataError, match="'disease'"):
        Priors.learn(nobody, ["sex"], "disease")
    table = pa.table({"sex": list("mmff"), "disease": ["a", "a", "b", "a"]})
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
