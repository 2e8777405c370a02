"""Statements as users meet them: names, errors, mappings, disclosures, JSON."""

import json
import pickle
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.oracle.statement_worlds import agreeing, posterior, worlds
from tests.statements.scenes import FIGURE as GROUPS
from tests.statements.scenes import Release, random_scene, release_of

import foreknow as fk
from foreknow.data.labels import Labels
from foreknow.data.people import Members
from foreknow.errors import ContradictionError, StatementError
from foreknow_judge.errors import DataError, InputError, UnsupportedError

FIGURE = release_of(GROUPS)


# ---- one posterior -----------------------------------------------------------------------------


def test_a_posterior_says_all_about_itself():
    found = fk.Statements("Tom != Cancer").posterior(FIGURE, "Tom", "AIDS")
    assert isinstance(found, fk.Posterior)
    assert (found.person, found.value) == ("Tom", "AIDS")
    assert (found.exact, found.before) == (Fraction(1, 3), Fraction(1, 4))
    assert found.probability == 1 / 3
    assert repr(found) == "Posterior('Tom', 'AIDS': 0.333333)"
    assert (
        found._repr_html_() == "<code>Posterior(&#x27;Tom&#x27;, &#x27;AIDS&#x27;: 0.333333)</code>"
    )
    assert json.loads(json.dumps(found.to_dict())) == {
        "person": "Tom",
        "value": "AIDS",
        "probability": 1 / 3,
        "exact": "1/3",
        "before": "1/4",
    }


@pytest.mark.parametrize(
    ("threshold", "below"),
    [("1/3", False), (Fraction(1, 3), False), (0.34, True), (1 / 3, False), (Decimal("0.4"), True)],
)
def test_below_is_strict_and_exact(threshold, below):
    assert fk.Statements("Tom != Cancer").posterior(FIGURE, "Tom", "AIDS").below(threshold) is below


# ---- names -------------------------------------------------------------------------------------


def test_labels_are_named_as_they_print():
    table = pa.table({"id": [3, 4, 5], "g": [1, 1, 1], "code": [17, 17, 20]})
    release = fk.Release.from_groups(table, group="g", sensitive="code", person="id")
    for known in (fk.Statements("17 in 4"), fk.Statements(fk.Has(4, 17))):
        assert known.posterior(release, 3, 17).exact == Fraction(1, 2)
        assert known.posterior(release, "3", "17").person == 3
    with pytest.raises(StatementError, match="nobody in the release has the value '18'"):
        fk.Statements("18 in 4").posterior(release, 3, 17)


def test_a_text_that_several_labels_print_as_is_ambiguous():
    release = release_of([(["a", "b"], ["1", "2"])])
    members = Members(Labels(["4", 4]), np.array([0, 0]))
    both = Release(release.counts, members)
    with pytest.raises(StatementError, match="'4' may mean '4' or 4; make their labels differ"):
        fk.Statements("4 = 1").posterior(both, "4", "1")
    assert fk.Statements().posterior(both, 4, "1").person == 4


@pytest.mark.parametrize(
    ("said", "message", "caret"),
    [
        ("Tim = AIDS", "nobody in the release is called 'Tim'; did you mean 'Tom'?", 0),
        ("AIDS in Tim", "nobody in the release is called 'Tim'", 8),
        ("same(Ann, Tim)", "nobody in the release is called 'Tim'", 10),
        ("Tom = Flue", "nobody in the release has the value 'Flue'; did you mean 'Flu'?", 6),
        ("Tom = tom -> Tom = AIDS", "nobody in the release has the value 'tom'", 6),
        ("Tom = AIDS and not Ann = Tom", "nobody in the release has the value 'Tom'", 25),
        ("same(Tom, Ed) -> Flue in Ed", "nobody in the release has the value 'Flue'", 17),
    ],
)
def test_an_unknown_name_is_pointed_at(said, message, caret):
    known = fk.Statements("Ann = AIDS", said)
    with pytest.raises(StatementError) as caught:
        known.posterior(FIGURE, "Tom", "AIDS")
    first, _, mark = str(caught.value).split("\n")
    assert first.startswith(f"statement 2: {message}")
    assert mark.index("^") == caret + 2
    formula = fk.Statements(known.statements[1])
    with pytest.raises(StatementError) as caught:
        formula.posterior(FIGURE, "Tom", "AIDS")
    assert "\n" not in str(caught.value)


def test_who_and_what_is_asked_about_must_be_there_too():
    with pytest.raises(InputError, match="nobody in the release is called 'Tim'; did you mean"):
        fk.Statements().posterior(FIGURE, "Tim", "AIDS")
    with pytest.raises(InputError, match="nobody in the release has the value 'Flue'"):
        fk.Statements().posterior(FIGURE, "Tom", "Flue")
    with pytest.raises(InputError, match=r"is called '\[\]'"):
        fk.Statements().posterior(FIGURE, [], "Flu")


def test_a_release_must_name_people():
    with pytest.raises(DataError, match="counts name nobody; make a release with person="):
        fk.Statements().posterior(FIGURE.counts, "Tom", "AIDS")
    table = pa.table({"g": [1, 1], "d": ["x", "y"]})
    with pytest.raises(InputError, match="nobody is named"):
        fk.Statements().posterior(fk.Release.from_groups(table, group="g", sensitive="d"), 1, "x")
    with pytest.raises(InputError, match="expected a Release or a GroupCounts, not str"):
        fk.Statements().posterior("release.csv", "Tom", "AIDS")
    fewer = Members(Labels(["Ann", "Tom"]), np.array([0, 1]))
    with pytest.raises(DataError, match="members that the release names are not those"):
        fk.Statements().posterior(Release(FIGURE.counts, fewer), "Tom", "AIDS")


# ---- statements --------------------------------------------------------------------------------


def test_texts_and_formulas_may_be_mixed():
    mixed = fk.Statements("Tom != Cancer", fk.Has("Gary", "Flu"))
    assert mixed == fk.Statements(~fk.Has("Tom", "Cancer"), "Flu in Gary")
    assert hash(mixed) == hash(fk.Statements("Tom != Cancer", "Gary = Flu"))
    assert mixed != fk.Statements("Tom != Cancer", "Gary = Flu", budget=1)
    assert repr(mixed) == "Statements('Tom != Cancer', 'Gary = Flu')"
    assert mixed._repr_html_().startswith("<code>Statements(")
    assert repr(fk.Statements(*["A = x"] * 5)).endswith("'A = x', ... 2 more)")
    with pytest.raises(AttributeError):
        mixed.budget = 2


def test_statements_survive_pickle_and_say_what_they_are():
    known = fk.Statements("Tom != Cancer", budget=7)
    known.posterior(FIGURE, "Ann", "AIDS")
    again = pickle.loads(pickle.dumps(known))
    assert again == known
    assert again.to_dict() == {
        "statements": {
            "texts": ["Tom != Cancer"],
            "budget": 7,
        }
    }
    assert repr(known) == "Statements('Tom != Cancer')"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fk.Statements(["Tom = AIDS"]), r"one by one: Statements\(\*statements\)"),
        (lambda: fk.Statements("Tom = AIDS", 7), r"statement 2: expected a formula such as Has"),
        (lambda: fk.Statements(budget=0), "the budget must be a whole number from 1, not 0"),
    ],
)
def test_what_cannot_be_meant(make, message):
    with pytest.raises(InputError, match=message):
        make()


# ---- contradictions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "message", "together"),
    [
        (
            ["Tom = AIDS", "Ann = Cancer"],
            "statement 2 cannot hold in this release: Ann = Cancer; nobody in the group of Ann has "
            "Cancer",
            (1,),
        ),
        (
            ["Tom = AIDS and Tom = Flu"],
            "statement 1 cannot hold in this release: Tom = AIDS and Tom = Flu",
            (0,),
        ),
        (
            ["Tom = AIDS", "Ann = Flu", "Ed = AIDS"],
            "statement 3 (Ed = AIDS) contradicts statement 1 (Tom = AIDS)",
            (0, 2),
        ),
        (
            ["Ed = Flu", "Ann = Flu", "Frank = Flu", "Tom = AIDS -> Gary = Flu", "Tom = AIDS"],
            "statement 5 (Tom = AIDS) contradicts statements 1 (Ed = Flu), 3 (Frank = Flu) and 4 "
            "(Tom = AIDS -> Gary = Flu)",
            (0, 2, 3, 4),
        ),
    ],
)
def test_a_contradiction_names_the_fewest_statements(said, message, together):
    with pytest.raises(ContradictionError) as caught:
        fk.Statements(*said).posterior(FIGURE, "Bob", "Flu")
    assert str(caught.value) == message
    assert caught.value.together == together


def test_why_a_single_statement_cannot_hold():
    release = release_of([(["A", "B"], ["x", "x"])])
    with pytest.raises(ContradictionError, match="everybody in the group of A has x"):
        fk.Statements("A != x").posterior(release, "A", "x")


# ---- all posteriors ----------------------------------------------------------------------------


def test_posteriors_are_a_mapping_that_works_when_asked():
    known = fk.Statements("Tom != Cancer")
    everybody = known.posteriors(FIGURE)
    assert list(everybody) == [name for names, _ in GROUPS for name in names]
    assert "Tom" in everybody
    assert "Tim" not in everybody
    tom = {value: str(p.exact) for value, p in everybody["Tom"].items()}
    assert tom == {"AIDS": "1/3", "Cancer": "0", "Flu": "2/3"}
    with pytest.raises(KeyError):
        everybody["Ann"]["Cancer"]
    some = known.posteriors(FIGURE, ["Tom", "Ann", "Tom"], iter(["Cancer", "Flu", "Flu"]))
    assert {name: list(row) for name, row in some.items()} == {
        "Tom": ["Cancer", "Flu"],
        "Ann": ["Cancer", "Flu"],
    }
    assert repr(everybody) == "Posteriors(8 people)"
    assert repr(some["Ann"]).startswith("{'Cancer': Posterior('Ann', 'Cancer': 0)")
    for wrong, said in (("Ann", "the text 'Ann'"), (1, "1")):
        with pytest.raises(InputError, match=f"expected a list of labels, not {said}"):
            known.posteriors(FIGURE, people=wrong)
    row = fk.Statements("Tom = AIDS", "Tom = Flu").posteriors(FIGURE)["Ann"]
    with pytest.raises(ContradictionError):
        row["AIDS"]


def test_posteriors_as_plain_values_and_as_a_table():
    known = fk.Statements("Tom != Cancer")
    some = known.posteriors(FIGURE, people=["Tom", "Ann"], values=["AIDS"])
    told = json.loads(json.dumps(some.to_dict()))
    assert told == {"answers": [some[name]["AIDS"].to_dict() for name in ("Tom", "Ann")]}
    assert some["Ann"].to_dict() == {"answers": told["answers"][1:]}
    assert [answer["exact"] for answer in told["answers"]] == ["1/3", "1/2"]
    assert some["Tom"]._repr_html_() == (
        "<table><tr><th>person</th><th>value</th><th>before</th><th>after</th></tr>"
        "<tr><td>Tom</td><td>AIDS</td><td>1/4</td><td>1/3</td></tr></table>"
    )
    names = ["<b>", *(f"p{i}" for i in range(29))]
    shown = fk.Statements().posteriors(release_of([(names, ["a"] * 30)]))._repr_html_()
    assert shown.count("<tr>") == 22
    assert "…" in shown
    assert "<td>&lt;b&gt;</td>" in shown


# ---- as an adversary ---------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_the_disclosure_is_the_highest_posterior(semantics):
    found = 0
    for seed in range(60):
        scene = random_scene(seed, semantics)
        every = worlds(scene.groups, semantics)
        if not agreeing(every, scene.statements):
            continue
        found += 1
        known, release = scene.known(), scene.release
        highest = known.disclosures(release)
        for value in scene.values:
            chances = {p: posterior(every, scene.statements, p, value) for p in scene.people}
            disclosed = known.disclosure(release, value)
            assert disclosed.exact == highest[value].exact == max(chances.values())
            assert disclosed.value == value
            if disclosed.exact:
                assert chances[disclosed.witness.person] == disclosed.exact
        assert known.disclosure(release).exact == max(
            posterior(every, scene.statements, *pair) for pair in scene.pairs
        )
    assert found > 15


def test_a_disclosure_comes_with_a_witness_whose_name_stays_out_of_json():
    found = fk.Statements("Tom != Cancer", "Tom != Flu").disclosure(FIGURE, "AIDS")
    assert (found.exact, found.witness.person) == (1, "Tom")
    assert found.to_dict()["witness"] == {"group": 1}
    assert fk.Statements().disclosure(FIGURE, "Plague").exact == 0
    with pytest.raises(ContradictionError):
        fk.Statements("Tom = AIDS", "Tom = Flu").disclosure(FIGURE, "Plague")


def test_statements_guide_no_search():
    assert fk.Statements("Tom != Cancer").monotone() is False
    assert not hasattr(fk.Statements, "ledger")


# ---- the budget --------------------------------------------------------------------------------


def test_the_budget_does_not_depend_on_what_was_asked_before():
    chance, values = random.Random(0), [f"v{i}" for i in range(8)]
    bag, names, said = chance.choices(values, k=60), [f"p{i}" for i in range(60)], []
    for _ in range(16):  # people of one group, linked at random
        a, b = chance.sample(names[:10], 2)
        x, y, z = chance.sample(values, 3)
        said.append(chance.choice([f"{a} = {x} -> {b} = {y}", f"{a} != {x} or {b} = {z}"]))
    release = release_of([(names, bag)])
    pairs = [(f"p{i}", value) for i in (0, 2, 7, 50) for value in values[:3]]
    known = fk.Statements(*said)
    case = known._case(release)
    known.posterior(release, *pairs[0])
    spent = []
    for pair in pairs[1:]:
        before = case.steps
        known.posterior(release, *pair)
        spent.append(case.steps - before)
    # a budget that suffices for the statements and some answers, but not for others
    alone = fk.Statements(*said)._case(release)
    alone.answer(50, 0)
    budget = max(alone.steps, sorted(spent)[len(spent) // 2])

    def answers(order):
        known, answered = fk.Statements(*said, budget=budget), {}
        for pair in order:
            try:
                answered[pair] = known.posterior(release, *pair).exact
            except UnsupportedError:
                answered[pair] = None
        return answered

    assert answers(pairs) == answers(pairs[::-1])


def test_what_is_out_of_reach_is_no_contradiction_and_says_nothing_of_anybody():
    names = [f"p{i}" for i in range(20)]
    # Twelve pigeons for eleven holes: impossible, but that takes some steps to see.
    said = [" or ".join(f"p{i} = v{j}" for j in range(11)) for i in range(12)]
    both = release_of([(names, [f"v{i}" for i in range(20)]), (["Ann", "Tom"], ["v0", "v1"])])
    known = fk.Statements(*said, "Ann != v0", budget=50)
    for ask in (
        lambda: known.posterior(both, "p0", "v0"),
        lambda: known.posterior(both, "Tom", "v0"),
        lambda: known.posterior(both, "Ann", "v7"),
        lambda: known.disclosure(both, "v0"),
    ):
        with pytest.raises(UnsupportedError, match="can hold together takes more than 50 steps"):
            ask()
