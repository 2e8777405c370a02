"""Every worked example of the k-jump paper, with its numbers, as mended by enumeration."""

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

from foreknow.criteria.properties import MaxRatio
from foreknow.methods.jump import Jump, Naive, Safe
from foreknow.methods.jump.secret import SecretChoice

F = Fraction
HALF = MaxRatio("1/2")


def people(values):
    return dict(zip("ABCDEFGHIJKLMNO", values.split(), strict=False))


PATIENTS = people("flu cold cancer cancer headache toothache")
TABLE_1 = ["AB|CD|EF", "ABC|DEF", "ABCD|EF"]
TABLE_10 = ["ABCD|EFGHI|JKLM|NO", "AB|CDEFG|HIJKLM|NO", "AB|CD|EFGH|IJKLMNO"]
TENS = people("C0 C1 C2 C3 C4 C5 C6 C6 C6 C7 C7 C8 C8 C9 C9")
TABLE_12 = ["AB|CDE|FG", "ABC|DEFG", "ABCDE|FG"]
SEVEN = people("C1 C2 C3 C4 C5 C3 C3")
TWELVE = people("C0 C1 C2 C3 C4 S S C5 C6 C7 C8 C9")


# Tables 1 to 4


def test_the_permutation_set_of_the_second_generalization_has_36_tables():
    assert Naive(TABLE_1).run(PATIENTS).disclosure_set(1).permutation_size == 36


def test_table_3_charlie_and_david_certainly_have_cancer():
    run = Naive(TABLE_1, HALF).run(PATIENTS)
    assert run.released == 1
    seen = run.disclosure_set(1)
    assert (seen.size, seen.max_ratio) == (4, 1)
    assert seen.marginals["C"] == seen.marginals["D"] == {"cancer": 1}
    assert seen.marginals["A"] == {"flu": F(1, 2), "cold": F(1, 2)}
    assert seen.worst == ("C", "cancer")


def test_table_4_another_table_has_another_disclosure_set():
    other = people("cancer cancer flu cold headache toothache")
    seen = Naive(TABLE_1, HALF).run(other).disclosure_set(1)
    assert seen.size == 6
    assert seen.marginals["A"] == seen.marginals["B"] == {"cancer": 1}
    assert seen.marginals["C"] == {"flu": 1}


def test_the_safe_strategy_releases_the_third_generalization():
    for algorithm in (Safe(TABLE_1, HALF), Jump(TABLE_1, 1, HALF)):
        run = algorithm.run(PATIENTS)
        assert (run.released, run.disclosure_set(2).size) == (2, 8)
        assert run.disclosure_set().max_ratio == F(1, 2)


def test_a_jump_of_two_releases_nothing():
    run = Jump(TABLE_1, 2, HALF).run(PATIENTS)
    assert run.released is None
    assert run.path == [
        (0, "permutation", False),
        (1, "permutation", True),
        (1, "disclosure", False),
    ]


# Theorem 2


def test_theorem_2_the_ratio_is_five_ninths_without_jumps_and_one_half_with():
    near, far = (Jump(TABLE_10, k, HALF).run(TENS) for k in (1, 2))
    assert (near.disclosure_set(2).size, near.disclosure_set(2).max_ratio) == (7776, F(5, 9))
    assert near.disclosure_set(2).marginals["I"]["C6"] == F(5, 9)
    assert near.released is None
    assert (far.disclosure_set(2).size, far.disclosure_set(2).max_ratio) == (4320, F(1, 2))
    assert far.released == 2


# Theorem 3. The boundaries between groups are lost in the text; these give the printed numbers.


def test_theorem_3_a_shorter_jump_can_be_better():
    functions = ["ABC|DE|FG|HIJKL", "ABCD|EF|GH|IJKL", "ABCDEFGHIJKL"]
    functions += ["ABCDEFG|HIJKL", "ABCDEFGHIJKL"]
    short, long = (Jump(functions, k, HALF).run(TWELVE) for k in (2, 3))
    second = short.disclosure_set(1)
    assert [second.marginals[p] for p in "EFGH"] == [{"C4": 1}, {"S": 1}, {"S": 1}, {"C5": 1}]
    assert short.released == 3
    seen = short.disclosure_set(3)
    assert seen.size == 5 * 120 * 120
    assert seen.max_ratio == seen.marginals["A"]["S"] == F(2, 5)
    assert long.released == 4


def test_theorem_3_a_longer_jump_can_be_better():
    functions = ["ABC|DE|FG|HI|JKL", "ABCD|EF|GH|IJKL", "ABCDE|FG|HIJKL"]
    functions += ["ABCD|EFGH|IJKL", "ABCDEFGHIJKL"]
    short, long = (Jump(functions, k, HALF).run(TWELVE) for k in (2, 3))
    fourth = short.disclosure_set(3)
    assert fourth.marginals["F"] == fourth.marginals["G"] == {"S": 1}
    assert short.released is None
    assert long.released == 4
    seen = long.disclosure_set(4)
    assert seen.max_ratio == F(2, 9)
    assert all(seen.marginals[person]["S"] == F(2, 9) for person in "ABCJKL")


# Proposition 2


def test_proposition_2_reuse_turns_three_fifths_into_one_half():
    once = Jump(TABLE_12, 1, HALF).run(SEVEN)
    assert once.released is None
    seen = once.disclosure_set(1)
    assert (seen.size, seen.max_ratio, seen.worst) == (40, F(3, 5), ("C", "C3"))
    again = Jump([*TABLE_12, TABLE_12[1]], 1, HALF).run(SEVEN)
    assert again.released == 3
    assert (again.disclosure_set(3).size, again.disclosure_set(3).max_ratio) == (24, F(1, 2))
    assert again.disclosure_set(3).marginals["F"]["C3"] == F(1, 2)


# Theorem 8

TABLE_17 = ["AB|CDEFGHI", "AC|BDEFGHI", "BC|ADEFGHI", "ABC|DEFGHI", "ABCDEFGHI"]
NINE = people("C0 C0 C0 C1 C2 C3 C4 C5 C6")


def test_theorem_8_a_secret_choice_among_naive_algorithms_is_not_safe():
    run = SecretChoice(TABLE_17, HALF).run(NINE, chosen=[3, 4])
    assert (run.released, len(run.sets)) == (4, 15)
    assert run.averaged()["A"]["C0"] == F(115, 133)
    assert run.posterior()["A"]["C0"] == run.max_ratio == F(17, 23)
    for person in "BC":
        assert run.posterior()[person] == run.posterior()["A"]


def test_theorem_8_printed_two_thirds_for_one_of_fifteen_secrets():
    sets = SecretChoice(TABLE_17, HALF).run(NINE, chosen=[3, 4]).sets
    shares = {secret: one.marginals["A"]["C0"] for secret, one in sets.items()}
    # A has C0 in 1, 2/3 + ... of the tables: all three of ABC, or two of them.
    assert shares[3, 4] == F(13, 19)
    assert Counter(shares.values()) == {F(1): 12, F(1, 7): 2, F(13, 19): 1}
    printed = {**shares, (3, 4): F(2, 3)}
    assert sum(printed.values()) / 15 == F(272, 315)
    assert sum(shares.values()) / 15 == F(115, 133)
    # The secrets are not equally likely any more: some allow more tables than others.
    assert len({one.size for one in sets.values()}) > 1


# Golden numbers

GOLDEN = Path(__file__).with_name("k_jump_golden.json")


def name_of(run):
    return "nothing" if run.released is None else f"g{run.released + 1}"


def test_golden_numbers():
    golden = json.loads(GOLDEN.read_text("utf-8"))
    one, ten = golden["tables 1-4"], golden["table 10"]
    table = people(one["values"])
    naive, safe = Naive(one["functions"]).run(table), Safe(one["functions"]).run(table)
    two = naive.disclosure_set(1)
    assert two.permutation_size == one["size per2"]
    assert (two.size, str(two.max_ratio)) == (one["size ds2"], one["max ratio ds2"])
    assert name_of(naive) == one["a_naive releases"]
    assert name_of(safe) == one["a_safe releases"]
    assert safe.disclosure_set().size == one["size ds3"]
    assert name_of(Jump(one["functions"], 2).run(table)) == one["a_jump(2) releases"]
    for k in (1, 2):
        run, told = Jump(ten["functions"], k).run(people(ten["values"])), ten[f"k={k}"]
        seen = run.disclosure_set(2)
        assert (seen.size, str(seen.max_ratio)) == (told["size ds3"], told["max ratio"])
        assert name_of(run) == told["releases"]
