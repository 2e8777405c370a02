"""Worlds that agree with a release, one by one: why they are struck out, and how they look."""

import random
from fractions import Fraction

import pytest
from tests.methods.jump_instances import LETTERS, PATIENTS, lists, random_functions
from tests.oracle import jump_worlds as oracle

import foreknow as fk
from foreknow.criteria.properties import Distinct, MaxRatio
from foreknow.methods.jump import Jump, Naive, Safe
from foreknow.methods.jump.run import Run

HALF = MaxRatio("1/2")


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
    letters = [tuple(tuple(map("ABCDEF".index, g)) for g in f.split("|")) for f in LETTERS]
    instances = [(letters, tuple(PATIENTS.values()), [2, 2, 2])]  # which jumps, also by half
    for _ in range(40):
        n = chance.choice([1, 3, 4, 5, 5])
        table = tuple(chance.choice("aabbcd") for _ in range(n))
        functions = random_functions(n, chance)
        instances.append((functions, table, [chance.randint(1, 3) for _ in functions]))
    for functions, table, k in instances:
        tables, given = oracle.all_tables(table), lists(functions)
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
    assert {None, "g1 is released", "g2 is released", "jumps from g2"} <= {
        why and why[:14].strip() for why in reasons
    }


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
    with pytest.raises(fk.InputError, match="more than 359 tables agree"):
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
