"""Every worked example of the k-jump paper, with its numbers, as mended by enumeration."""

import random
from collections import Counter
from fractions import Fraction

import pytest
from tests.methods.jump_instances import LETTERS, PATIENTS, lists, random_functions
from tests.oracle import jump_worlds as oracle

import foreknow as fk
from foreknow.criteria.properties import Distinct, MaxRatio
from foreknow.methods.jump import Jump, Naive, Safe
from foreknow.methods.jump.run import Run
from foreknow.methods.jump.secret import SecretChoice

F = Fraction
HALF = MaxRatio("1/2")


def people(values):
    return dict(zip("ABCDEFGHIJKLMNO", values.split(), strict=False))


TABLE_TEN = ["ABCD|EFGHI|JKLM|NO", "AB|CDEFG|HIJKLM|NO", "AB|CD|EFGH|IJKLMNO"]
TENS = people("C0 C1 C2 C3 C4 C5 C6 C6 C6 C7 C7 C8 C8 C9 C9")
TABLE_TWELVE = ["AB|CDE|FG", "ABC|DEFG", "ABCDE|FG"]
SEVEN = people("C1 C2 C3 C4 C5 C3 C3")
TWELVE = people("C0 C1 C2 C3 C4 S S C5 C6 C7 C8 C9")


# Tables 1 to 4


def test_the_permutation_set_of_the_second_generalization_has_36_tables():
    assert Naive(LETTERS).run(PATIENTS).disclosure_set(1).permutation_size == 36


def test_table_3_charlie_and_david_certainly_have_cancer():
    run = Naive(LETTERS, HALF).run(PATIENTS)
    assert run.released == 1
    seen = run.disclosure_set(1)
    assert (seen.size, seen.max_ratio) == (4, 1)
    assert seen.marginals["C"] == seen.marginals["D"] == {"cancer": 1}
    assert seen.marginals["A"] == {"flu": F(1, 2), "cold": F(1, 2)}
    assert seen.worst == ("C", "cancer")


def test_table_4_another_table_has_another_disclosure_set():
    other = people("cancer cancer flu cold headache toothache")
    seen = Naive(LETTERS, HALF).run(other).disclosure_set(1)
    assert seen.size == 6
    assert seen.marginals["A"] == seen.marginals["B"] == {"cancer": 1}
    assert seen.marginals["C"] == {"flu": 1}


def test_the_safe_strategy_releases_the_third_generalization():
    for algorithm in (Safe(LETTERS, HALF), Jump(LETTERS, 1, HALF)):
        run = algorithm.run(PATIENTS)
        assert (run.released, run.disclosure_set(2).size) == (2, 8)
        assert run.disclosure_set().max_ratio == F(1, 2)


def test_a_jump_of_two_releases_nothing():
    run = Jump(LETTERS, 2, HALF).run(PATIENTS)
    assert run.released is None
    assert run.path == [
        (0, "permutation", False),
        (1, "permutation", True),
        (1, "disclosure", False),
    ]


# Theorem 2


def test_theorem_2_the_ratio_is_five_ninths_without_jumps_and_one_half_with():
    near, far = (Jump(TABLE_TEN, k, HALF).run(TENS) for k in (1, 2))
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
    once = Jump(TABLE_TWELVE, 1, HALF).run(SEVEN)
    assert once.released is None
    seen = once.disclosure_set(1)
    assert (seen.size, seen.max_ratio, seen.worst) == (40, F(3, 5), ("C", "C3"))
    again = Jump([*TABLE_TWELVE, TABLE_TWELVE[1]], 1, HALF).run(SEVEN)
    assert again.released == 3
    assert (again.disclosure_set(3).size, again.disclosure_set(3).max_ratio) == (24, F(1, 2))
    assert again.disclosure_set(3).marginals["F"]["C3"] == F(1, 2)


# Theorem 8

TABLE_SEVENTEEN = ["AB|CDEFGHI", "AC|BDEFGHI", "BC|ADEFGHI", "ABC|DEFGHI", "ABCDEFGHI"]
NINE = people("C0 C0 C0 C1 C2 C3 C4 C5 C6")


def test_theorem_8_a_secret_choice_among_naive_algorithms_is_not_safe():
    run = SecretChoice(TABLE_SEVENTEEN, HALF).run(NINE, chosen=[3, 4])
    assert (run.released, len(run.sets)) == (4, 15)
    assert run.averaged()["A"]["C0"] == F(115, 133)
    assert run.posterior()["A"]["C0"] == run.max_ratio == F(17, 23)
    for person in "BC":
        assert run.posterior()[person] == run.posterior()["A"]


def test_theorem_8_printed_two_thirds_for_one_of_fifteen_secrets():
    sets = SecretChoice(TABLE_SEVENTEEN, HALF).run(NINE, chosen=[3, 4]).sets
    shares = {secret: one.marginals["A"]["C0"] for secret, one in sets.items()}
    # A has C0 in 1, 2/3 + ... of the tables: all three of ABC, or two of them.
    assert shares[3, 4] == F(13, 19)
    assert Counter(shares.values()) == {F(1): 12, F(1, 7): 2, F(13, 19): 1}
    printed = {**shares, (3, 4): F(2, 3)}
    assert sum(printed.values()) / 15 == F(272, 315)
    assert sum(shares.values()) / 15 == F(115, 133)
    # The secrets are not equally likely any more: some allow more tables than others.
    assert len({one.size for one in sets.values()}) > 1


# ---- worlds one by one -------------------------------------------------------------------------


def expected(slow, i, n, world):
    """Why a world is struck out, from its path; i = n stands for nothing."""
    path, released = slow.path(world, n), slow.released(world)
    if i in path or (i == n and released is None):
        return None
    last = max(j for j in path if j < i)
    if released == last:
        return f"g{last + 1} is released"
    return f"jumps from g{last + 1} past g{i + 1}"


PROPS = [(HALF, oracle.max_ratio(Fraction(1, 2))), (Distinct(2), oracle.distinct(2))]


@pytest.mark.parametrize(("prop", "judge"), PROPS, ids=["half", "distinct"])
def test_worlds_are_those_of_enumeration_with_their_reasons(prop, judge):
    chance = random.Random(6)
    reasons = set()
    for _ in range(40):
        n = chance.choice([1, 3, 4, 5, 5])
        table = tuple(chance.choice("aabbcd") for _ in range(n))
        functions = random_functions(n, chance)
        given = lists(functions)
        k = [chance.randint(1, 3) for _ in functions]
        tables = oracle.all_tables(table)
        for kind, fast, distances in [
            ("naive", Naive(given, prop), None),
            ("safe", Safe(given, prop), None),
            ("jump", Jump(given, k, prop), k),
        ]:
            slow = oracle.Algorithm(kind, functions, judge, tables, distances)
            run = fast.run(table)
            for i in range(len(functions) + 1):
                nothing = i == len(functions)
                if nothing and run.released is not None:
                    continue  # then the default is the release
                found = run.worlds() if nothing else run.worlds(i)
                agree = tables if nothing else slow.permutation_set(i, table)
                assert sorted(tuple(w.values.values()) for w in found) == agree
                for world in found:
                    why = expected(slow, i, len(functions), tuple(world.values.values()))
                    assert world.struck_by == why
                    reasons.add(why)
                seen = run.nothing_set() if nothing else run.disclosure_set(i)
                assert sum(w.struck_by is None for w in found) == seen.size
    assert {None, "g1 is released", "g2 is released"} <= {why and why[:14] for why in reasons}


def test_jumps_strike_worlds_out():
    run = Jump(LETTERS, 2, HALF).run(PATIENTS)
    slow = oracle.Algorithm(
        "jump",
        [((0, 1), (2, 3), (4, 5)), ((0, 1, 2), (3, 4, 5)), ((0, 1, 2, 3), (4, 5))],
        oracle.max_ratio(Fraction(1, 2)),
        oracle.all_tables(tuple(PATIENTS.values())),
        [2, 2, 2],
    )
    reasons = set()
    for world in run.worlds(2):
        assert world.struck_by == expected(slow, 2, 3, tuple(world.values.values()))
        reasons.add(world.struck_by)
    assert reasons == {None, "g1 is released", "jumps from g2 past g3"}


def test_the_papers_36_worlds_of_which_32_are_struck_out():
    run = Naive(LETTERS, HALF).run(PATIENTS)
    worlds = run.worlds()
    left = [world for world in worlds if world.struck_by is None]
    assert (len(worlds), len(left)) == (36, 4)
    assert PATIENTS in [world.values for world in left]
    assert {world.struck_by for world in worlds} == {None, "g1 is released"}
    assert all(w.values["C"] == w.values["D"] == "cancer" for w in left)
    assert not any(w.values["C"] == w.values["D"] == "cancer" for w in worlds if w not in left)


def test_a_notebook_shows_them_crossed_out():
    page = Naive(LETTERS, HALF).run(PATIENTS)._repr_html_()
    assert page.count('class="jump-world jump-struck"') == 32
    assert page.count('class="jump-world jump-left"') == 4
    assert "36 tables agree where g2 is seen" in page
    assert "is left with 4: C has cancer with probability 1" in page


def test_too_many_are_not_shown_and_a_sentence_remains():
    run = Jump(LETTERS, 2, HALF).run(PATIENTS)
    page = run._repr_html_()
    assert "jump-world" not in page
    seen = run.nothing_set()
    person, value = seen.worst
    assert f"{person} has {value} with probability {seen.max_ratio}" in page
    assert len(run.worlds()) == seen.permutation_size == 360
    with pytest.raises(fk.InputError, match="360 tables agree; most=360 lists"):
        run.worlds(most=359)


def test_what_is_beyond_reach_is_said_in_a_notebook(monkeypatch):
    run = Naive(LETTERS, HALF).run(PATIENTS)

    def beyond(self, i=None):
        raise fk.BeyondReach("exact counting takes more than 3 steps")

    monkeypatch.setattr(Run, "disclosure_set", beyond)
    assert "was not counted: exact counting takes more than 3 steps" in run._repr_html_()


def test_names_and_values_are_escaped():
    table = {"<b>": "x & y", "c": "<script>", "d": "z"}
    page = Naive([[["<b>", "c", "d"]]], HALF).run(table)._repr_html_()
    assert "<script>" not in page
    assert "&lt;b&gt;" in page
    assert "x &amp; y" in page
