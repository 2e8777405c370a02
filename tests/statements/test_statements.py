"""Statements: what is read and printed, and what is answered, against enumerated worlds."""

import json
import pickle
import random
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import permutations, product
from math import prod
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common import NIGHTLY
from tests.oracle.rules import agreeing, posterior
from tests.oracle.rules import worlds_of_statement as worlds

import foreknow as fk
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Labels
from foreknow.data.members import Members
from foreknow.errors import ContradictionError, StatementError
from foreknow.features.statements.formulas import (
    MOST_DEEP,
    And,
    Has,
    Iff,
    Implies,
    Not,
    Or,
    Same,
    parse,
    quoted,
)
from foreknow_judge.errors import DataError, InputError, UnsupportedError

NAMES = ["Ann", "Bob Lee", "and", "O'Neil", "Ed", "漢字", "7"]
VALUES = ["AIDS", "Flu", 'a "cold"', "not->in"]

# Figure 3 of the skyline paper.
FIGURE = [
    (["Ann", "Bob", "Cary", "Dick"], ["AIDS", "Flu", "Flu", "AIDS"]),
    (["Ed", "Frank", "Gary", "Tom"], ["Flu", "Cancer", "Flu", "AIDS"]),
]


@dataclass
class Scene:
    """A small release, what the oracle and the library take for it."""

    semantics: str
    groups: list  # of (names, bag)
    statements: list

    @property
    def people(self):
        return [name for names, _ in self.groups for name in names]

    @property
    def values(self):
        return sorted({value for _, bag in self.groups for value in bag})

    def known(self):
        """Statements as texts and formulas in turn."""
        texts = [text(s) if i % 2 else formula(s) for i, s in enumerate(self.statements)]
        return fk.Statements(*texts)


class Release(SimpleNamespace):
    """A stand-in for a release: something with counts and members."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


def release_of(groups, semantics="single"):
    """A release of groups, each (names, bag)."""
    values = sorted({value for _, bag in groups for value in bag})
    counts = GroupCounts.from_pairs(
        np.array([g for g, (_, bag) in enumerate(groups) for _ in bag], dtype=np.int64),
        np.array([values.index(value) for _, bag in groups for value in bag], dtype=np.int64),
        values=values,
        n_groups=len(groups),
        sizes=np.array([len(names) for names, _ in groups]),
        semantics=semantics,
    )
    places = np.array([g for g, (names, _) in enumerate(groups) for _ in names])
    names = Labels(name for names, _ in groups for name in names)
    return Release(counts=counts, members=Members(names, places))


KINDS = {"not": Not, "->": Implies, "<->": Iff, "has": Has}


def formula(said):
    """A statement of the oracle as a formula of the library."""
    kind, *parts = said
    if kind == "same":
        return Same(tuple(parts))
    inner = parts if kind == "has" else [formula(part) for part in parts]
    if kind in ("and", "or"):
        return (And if kind == "and" else Or)(tuple(inner))
    return KINDS[kind](*inner)


def text(said):
    """A statement of the oracle in the library's language, all parentheses written."""
    kind, *parts = said
    if kind == "has":
        return " = ".join(map(in_quotes, parts))
    if kind == "same":
        return f"same({', '.join(map(in_quotes, parts))})"
    if kind == "not":
        return f"not ({text(parts[0])})"
    return f" {kind} ".join(f"({text(part)})" for part in parts)


def in_quotes(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def random_scene(seed, semantics):
    """A release with statements; small enough for enumeration."""
    chance = random.Random(f"{seed} {semantics}")
    names = NAMES[: chance.randint(1, 6 if semantics == "single" else 5)]
    groups, rest = [], names
    while rest:
        people = rest if len(groups) == 2 else rest[: chance.randint(1, len(rest))]
        kinds = chance.sample(VALUES, chance.randint(1, 4))
        if semantics == "single":
            bag = [chance.choice(kinds) for _ in people]
        else:
            most = min(len(people), 3) if semantics == "set" else 3
            bag = [v for v in kinds[:2] for _ in range(chance.randint(1, most))]
        groups.append((people, bag))
        rest = rest[len(people) :]
    values = sorted({value for _, bag in groups for value in bag})
    amount = chance.choice([1, 1, 2, 2, 3, 4])
    texts = [random_statement(chance, names, values, 3) for _ in range(amount)]
    return Scene(semantics, groups, texts)


def random_statement(chance, names, values, depth):
    """A nested statement."""
    kinds = ["has", "has", "lacks", "same", "not", "and", "or", "->", "->", "<->"]
    kind = chance.choice(kinds if depth else kinds[:3])
    if kind == "same" and len(names) > 1:
        return ("same", *chance.sample(names, min(len(names), chance.choice([2, 3]))))
    if kind in ("has", "lacks", "same"):
        has = ("has", chance.choice(names), chance.choice(values))
        return has if kind == "has" else ("not", has)
    parts = {"not": 1, "->": 2, "<->": 2}.get(kind, chance.choice([2, 3]))
    return (kind, *(random_statement(chance, names, values, depth - 1) for _ in range(parts)))


# ---- statements: what is read and printed, and what is answered, against enumerated worlds -----

# ---- the language ------------------------------------------------------------------------------

SIGNS = st.text(min_size=1, max_size=6) | st.sampled_from(
    ["and", "NOT", "a->b", "->", "'", '"', "#"]
)
A, B, C, D = (Has(p, "x") for p in "ABCD")


@given(st.lists(SIGNS, min_size=2, max_size=4, unique=True), st.randoms())
def test_what_is_printed_is_read(names, chance):
    message = random_statement(chance, names, names, 3)
    result = formula(message)
    assert parse(str(result)) == parse(text(message).replace("\n", "\\n")) == result
    assert hash(parse(str(result))) == hash(result)
    assert parse(f"{quoted(names[0])} = {quoted(names[1])}") == Has(*names[:2])


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("AIDS in Tom", Has("Tom", "AIDS")),
        ("Tom != Cancer", Not(Has("Tom", "Cancer"))),
        ("Cancer not in Tom", Not(Has("Tom", "Cancer"))),
        ("not Tom = Cancer", Not(Has("Tom", "Cancer"))),
        ("same(Ann, Cary, Tom)", Same(("Ann", "Cary", "Tom"))),
        ("A=x and B=x or C=x", Or((And((A, B)), C))),
        ("not A=x and B=x", And((Not(A), B))),
        ("not (A=x and B=x)", Not(And((A, B)))),
        ("A=x -> B=x -> C=x", Implies(A, Implies(B, C))),
        ("A=x or B=x -> C=x and D=x", Implies(Or((A, B)), And((C, D)))),
        ("A=x <-> B=x -> C=x", Iff(A, Implies(B, C))),
        ("A=x <-> B=x <-> C=x", Iff(Iff(A, B), C)),
        ("A=x and (B=x and C=x)", And((A, B, C))),
        ("  A\t=\n x  # because", A),
        ("Not A = x AND B = x Or C = x", Or((And((Not(A), B)), C))),
        ("'Ann Lee' = \"O'Neil\"", Has("Ann Lee", "O'Neil")),
        (r"'it\'s' = 'a\\b\tc\nd'", Has("it's", "a\\b\tc\nd")),
        ('"and" = "#1"', Has("and", "#1")),
        ("J45.9 in Tom-Lee", Has("Tom-Lee", "J45.9")),
        ("हिन्दी = 漢字", Has("हिन्दी", "漢字")),
        ("andrew = nothing", Has("andrew", "nothing")),
        ("x = -5", Has("x", "-5")),
        ("(" * 5000 + "A = x" + ")" * 5000, A),
        (" and ".join(["A = x", "B = x"] * 3000), And((A, B) * 3000)),
    ],
    ids=lambda own: str(own)[:20],
)
def test_what_statements_mean(message, meant):
    assert parse(message) == meant


UNREADABLE = Path(__file__).with_name("unreadable.txt").read_text("utf-8").splitlines()[1:]


@pytest.mark.parametrize(
    ("text_expected", "message", "caret"),
    [
        *(
            (text, where.strip(" ").removeprefix("^ "), where.index("^"))
            for text, where in zip(UNREADABLE[::2], UNREADABLE[1::2], strict=True)
        ),
        ("漢字 Tom", "expected '='", 5),
        ("Tom = AIDS\nand Ed Flu\nor x = y", "expected '='", 7),
        ("", "the statement is empty", None),
        ("   # nothing\n", "the statement is empty", None),
    ],
)
def test_where_statements_cannot_be_read(text_expected, message, caret):
    with pytest.raises(StatementError) as caught:
        fk.Statements(text_expected)
    first, *lines = str(caught.value).split("\n")
    assert first.startswith("statement 1: ")
    assert message in first
    assert caught.value.text in (None, text_expected)
    shown = text_expected.split("\n")[1] if "Ed Flu" in text_expected else text_expected
    assert lines == ([] if caret is None else [f"  {shown}", "  " + " " * caret + "^"])


def test_long_statements_and_deep_ones():
    with pytest.raises(StatementError) as caught:
        fk.Statements(" and ".join(f"p{i} = Flu" for i in range(500)) + " x")
    _, line, mark = str(caught.value).split("\n")
    assert len(line) < 130
    assert line[mark.index("^")] == "x"
    deep = "not " * MOST_DEEP + "A = x"
    assert str(parse(deep)).startswith("not not not")
    for deeper in ("not " + deep, " -> ".join(["A = x"] * 2000)):
        with pytest.raises(StatementError, match=f"may nest {MOST_DEEP} levels deep"):
            parse(deeper)


def test_formulas_are_combined_by_operators():
    result = (Has("Ann", "AIDS") & ~Has("Ed", "Flu")).implies(
        Has("Tom", "AIDS") | fk.same("Ed", "Tom")
    )
    assert str(result) == "Ann = AIDS and Ed != Flu -> Tom = AIDS or same(Ed, Tom)"
    assert str(A.iff(B)) == "A = x <-> B = x"
    assert str(~(A & B)) == "not (A = x and B = x)"
    assert str(~~A) == "not A != x"


# ---- against enumerated worlds -----------------------------------------------------------------

SEMANTICS = pytest.mark.parametrize("semantics", ["single", "set", "multiset"])


def compare(scene, pairs, every):
    """Compare posteriors, and by day of some scenes disclosures, with enumeration."""
    before, statements = worlds(scene.groups, scene.semantics), scene.statements
    release, known = release_of(scene.groups, scene.semantics), scene.known()
    if not agreeing(before, statements):
        with pytest.raises(ContradictionError) as caught:
            known.posterior(release, *pairs[0])
        # Those to blame cannot hold together; without any of them, the others can.
        blamed = [statements[i] for i in caught.value.together]
        assert not agreeing(before, blamed)
        for i in range(len(blamed)):
            assert agreeing(before, blamed[:i] + blamed[i + 1 :])
        return "contradiction"
    for pair in pairs:
        answer = known.posterior(release, *pair)
        assert answer.exact == posterior(before, statements, *pair), pair
        assert answer.before == posterior(before, [], *pair)
        assert answer.probability == float(answer.exact)
    if every:
        highest, tops = known.disclosures(release), []
        for value in scene.values:
            chances = {p: posterior(before, statements, p, value) for p in scene.people}
            disclosed = known.disclosure(release, value)
            assert disclosed.exact == highest[value].exact == max(chances.values())
            assert disclosed.value == value
            if disclosed.exact:
                assert chances[disclosed.witness.person] == disclosed.exact
            tops.append(disclosed.exact)
        assert known.disclosure(release).exact == max(tops)
    return "answers"


@SEMANTICS
def test_posteriors_are_those_of_worlds(semantics):
    """Enough scenes must have answers, and contradictions."""
    fresh = random.randrange(10_000, 10**9)
    seeds = [*range(6_000 if NIGHTLY else 25), *range(fresh, fresh + 10)]
    outcomes = []
    for seed in seeds:
        scene = random_scene(seed, semantics)
        pairs = random.Random(seed).choices([*product(scene.people, scene.values)], k=3)
        outcomes.append(compare(scene, pairs, every=seed % 3 == 0))
    assert outcomes.count("answers") > len(seeds) / 5
    assert outcomes.count("contradiction") > len(seeds) / 40


# ---- beyond enumeration ------------------------------------------------------------------------


def pairs_of_people(size):
    """Groups of two, one of whom has v0."""
    return release_of([([f"p{i}", f"q{i}"], ["v0", "v1"]) for i in range(size)])


def test_a_tree_across_many_groups():
    """Nobody may have v0 beside a parent who has: independent sets, by their number."""
    size = 200
    statements = fk.Statements(*(f"p{i} = v0 -> p{(i - 1) // 2} != v0" for i in range(1, size)))
    with_it, without = [1] * size, [1] * size
    for i in range(size - 1, 0, -1):
        with_it[(i - 1) // 2] *= without[i]
        without[(i - 1) // 2] *= with_it[i] + without[i]
    truth = Fraction(with_it[0], with_it[0] + without[0])
    assert statements.posterior(pairs_of_people(size), "p0", "v0").exact == truth


# ---- what an answer is -------------------------------------------------------------------------

SICK = release_of(FIGURE)
NO = fk.Statements("Tom != Cancer")


def test_answer_says_all_about_itself():
    answer = NO.posterior(SICK, "Tom", "AIDS")
    assert isinstance(answer, fk.Posterior)
    assert (answer.exact, answer.before) == (Fraction(1, 3), Fraction(1, 4))
    assert repr(answer) == "Posterior('Tom', 'AIDS': 0.333333)"
    shown = "<code>Posterior(&#x27;Tom&#x27;, &#x27;AIDS&#x27;: 0.333333)</code>"
    assert answer._repr_html_() == shown
    written = {"person": "Tom", "value": "AIDS", "probability": 1 / 3, "exact": "1/3"}
    assert json.loads(json.dumps(answer.to_dict())) == {**written, "before": "1/4"}
    # Below is strict and exact.
    assert [answer.below(x) for x in ("1/3", Fraction(1, 3), 1 / 3)] == [False] * 3
    assert [answer.below(x) for x in (0.34, Decimal("0.4"))] == [True] * 2


def test_posteriors_are_a_lazy_mapping():
    everybody = NO.posteriors(SICK)
    assert list(everybody) == [name for names, _ in FIGURE for name in names]
    assert ("Tom" in everybody, "Tim" in everybody) == (True, False)
    tom = {value: str(p.exact) for value, p in everybody["Tom"].items()}
    assert tom == {"AIDS": "1/3", "Cancer": "0", "Flu": "2/3"}
    with pytest.raises(KeyError):
        everybody["Ann"]["Cancer"]
    posteriors = NO.posteriors(SICK, ["Tom", "Ann", "Tom"], iter(["Cancer", "Flu", "Flu"]))
    rows = {name: list(row) for name, row in posteriors.items()}
    assert rows == {"Tom": ["Cancer", "Flu"], "Ann": ["Cancer", "Flu"]}
    assert repr(everybody) == "Posteriors(8 people)"
    assert repr(posteriors["Ann"]).startswith("{'Cancer': Posterior('Ann', 'Cancer': 0)")
    row = fk.Statements("Tom = AIDS", "Tom = Flu").posteriors(SICK)["Ann"]
    with pytest.raises(ContradictionError):
        row["AIDS"]


def test_posteriors_as_values_and_table():
    posteriors = NO.posteriors(SICK, people=["Tom", "Ann"], values=["AIDS"])
    document = json.loads(json.dumps(posteriors.to_dict()))
    assert document == {"answers": [posteriors[name]["AIDS"].to_dict() for name in ("Tom", "Ann")]}
    assert posteriors["Ann"].to_dict() == {"answers": document["answers"][1:]}
    assert [answer["exact"] for answer in document["answers"]] == ["1/3", "1/2"]
    assert posteriors["Tom"]._repr_html_() == (
        "<table><tr><th>person</th><th>value</th><th>before</th><th>after</th></tr>"
        "<tr><td>Tom</td><td>AIDS</td><td>1/4</td><td>1/3</td></tr></table>"
    )
    names = ["<b>", *(f"p{i}" for i in range(29))]
    shown = fk.Statements().posteriors(release_of([(names, ["a"] * 30)]))._repr_html_()
    assert shown.count("<tr>") == 22
    assert "…" in shown
    assert "<td>&lt;b&gt;</td>" in shown


def test_disclosure_names_nobody_in_json():
    surer = fk.Statements("Tom != Cancer", "Tom != Flu").disclosure(SICK, "AIDS")
    assert (surer.exact, surer.witness.person) == (1, "Tom")
    assert surer.to_dict()["witness"] == {"group": 1}
    assert fk.Statements().disclosure(SICK, "Plague").exact == 0
    with pytest.raises(ContradictionError):
        fk.Statements("Tom = AIDS", "Tom = Flu").disclosure(SICK, "Plague")
    # Statements guide no search.
    assert NO.monotone() is False
    assert not hasattr(fk.Statements, "ledger")


def test_statements_are_values():
    mixed = fk.Statements("Tom != Cancer", fk.Has("Gary", "Flu"))
    assert mixed == fk.Statements(~fk.Has("Tom", "Cancer"), "Flu in Gary")
    assert hash(mixed) == hash(fk.Statements("Tom != Cancer", "Gary = Flu"))
    assert mixed != fk.Statements("Tom != Cancer", "Gary = Flu", budget=1)
    assert repr(mixed) == "Statements('Tom != Cancer', 'Gary = Flu')"
    assert mixed._repr_html_().startswith("<code>Statements(")
    assert repr(fk.Statements(*["A = x"] * 5)).endswith("'A = x', ... 2 more)")
    with pytest.raises(AttributeError):
        mixed.budget = 2
    statements = fk.Statements("Tom != Cancer", budget=7)
    statements.posterior(SICK, "Ann", "AIDS")
    again = pickle.loads(pickle.dumps(statements))
    assert again == statements
    assert again.to_dict() == {"statements": {"texts": ["Tom != Cancer"], "budget": 7}}
    assert repr(statements) == "Statements('Tom != Cancer')"


# ---- names and refusals ------------------------------------------------------------------------


def test_labels_are_named_as_printed():
    table = pa.table({"id": [3, 4, 5], "g": [1, 1, 1], "code": [17, 17, 20]})
    release = fk.Release.from_groups(table, group="g", sensitive="code", person="id")
    for known in (fk.Statements("17 in 4"), fk.Statements(fk.Has(4, 17))):
        assert known.posterior(release, 3, 17).exact == Fraction(1, 2)
        assert known.posterior(release, "3", "17").person == 3
    with pytest.raises(StatementError, match="nobody in the release has the value '18'"):
        fk.Statements("18 in 4").posterior(release, 3, 17)
    pair = release_of([(["a", "b"], ["1", "2"])])
    both = Release(counts=pair.counts, members=Members(Labels(["4", 4]), np.array([0, 0])))
    with pytest.raises(StatementError, match="'4' may mean '4' or 4; make their labels differ"):
        fk.Statements("4 = 1").posterior(both, "4", "1")
    assert fk.Statements().posterior(both, 4, "1").person == 4


def asked(*pair, release=SICK):
    return lambda: fk.Statements().posterior(release, *pair)


UNNAMED = pa.table({"g": [1, 1], "d": ["x", "y"]})
FEWER = Release(counts=SICK.counts, members=Members(Labels(["Ann", "Tom"]), np.array([0, 1])))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (asked("Tim", "AIDS"), InputError, "nobody in the release is called 'Tim'; did you mean"),
        (asked("Tom", "Flue"), InputError, "nobody in the release has the value 'Flue'"),
        (asked([], "Flu"), InputError, r"is called '\[\]'"),
        (asked("Tom", "Flu", release=SICK.counts), DataError, "counts name nobody; make a release"),
        (
            lambda: asked(
                1, "x", release=fk.Release.from_groups(UNNAMED, group="g", sensitive="d")
            )(),
            InputError,
            "nobody is named",
        ),
        (asked("Tom", "Flu", release="r.csv"), InputError, "a Release or a GroupCounts, not str"),
        (asked("Tom", "Flu", release=FEWER), DataError, "members that the release names are not"),
        (lambda: fk.Statements(["Tom = AIDS"]), InputError, r"one by one: Statements\(\*statem"),
        (
            lambda: fk.Statements("Tom = AIDS", 7),
            InputError,
            "statement 2: expected a formula",
        ),
        (lambda: fk.Statements(budget=0), InputError, "must be a whole number from 1, not 0"),
        (lambda: fk.Statements(priors=fk.Facts()), InputError, "priors must be Priors"),
        (lambda: fk.Statements("same(Tom, Tom)"), InputError, r"each once, not \['Tom', 'Tom'\]"),
        (lambda: fk.same("Tom"), InputError, "two people or more"),
        (lambda: A and B, InputError, r"combine formulas with &, \| and ~"),
        (lambda: A & "B = x", InputError, r"expected a formula such as Has\(.*\), not 'B = x'"),
        (lambda: NO.posteriors(SICK, people="Ann"), InputError, "of labels, not the text 'Ann'"),
        (lambda: NO.posteriors(SICK, people=1), InputError, "expected a list of labels, not 1"),
    ],
)
def test_what_cannot_be_meant(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("text_expected", "message", "together"),
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
def test_contradictions_name_the_fewest_statements(text_expected, message, together):
    with pytest.raises(ContradictionError) as caught:
        fk.Statements(*text_expected).posterior(SICK, "Bob", "Flu")
    assert str(caught.value) == message
    assert caught.value.together == together


def test_why_a_statement_cannot_hold():
    release = release_of([(["A", "B"], ["x", "x"])])
    with pytest.raises(ContradictionError, match="everybody in the group of A has x"):
        fk.Statements("A != x").posterior(release, "A", "x")


# ---- the budget --------------------------------------------------------------------------------


def test_unreachable_is_no_contradiction():
    """Twelve pigeons for eleven holes: impossible, but that takes some steps to see."""
    names = [f"p{i}" for i in range(20)]
    texts = [" or ".join(f"p{i} = v{j}" for j in range(11)) for i in range(12)]
    both = release_of([(names, [f"v{i}" for i in range(20)]), (["Ann", "Tom"], ["v0", "v1"])])
    statements = fk.Statements(*texts, "Ann != v0", budget=50)
    for pair in (("p0", "v0"), ("Tom", "v0"), ("Ann", "v7")):
        with pytest.raises(UnsupportedError, match="can hold together takes more than 50 steps"):
            statements.posterior(both, *pair)
    with pytest.raises(UnsupportedError, match="can hold together takes more than 50 steps"):
        statements.disclosure(both, "v0")


# ---- on top of priors --------------------------------------------------------------------------

FLAT = {k: dict.fromkeys("abc", Fraction(1, 4)) for k in "xy"}


def random_rows(rng):
    """People in one to three groups, with a kind and a value each; and priors of the kinds."""
    names = ["Ann", "Bob", "Cid", "Dora", "Ed", "Flo"][: rng.randint(3, 6)]
    priors = {k: {v: Fraction(rng.randint(0, 5), 20) for v in "abc"} for k in "xy"}
    rows = [(name, rng.randint(1, 3), rng.choice("xy"), rng.choice("abc")) for name in names]
    return priors, rows


def random_words(rng, names):
    """A statement, and what a world must be for it."""
    (p, q), (x, y) = rng.choices(names, k=2), rng.choices("abc", k=2)
    message, two = f"{p} = {x}", f"{q} = {y}"
    return rng.choice(
        [
            (message, lambda w: w[p] == x),
            (f"not {message}", lambda w: w[p] != x),
            (f"{message} -> {two}", lambda w: w[p] != x or w[q] == y),
            (f"{message} or {two}", lambda w: w[p] == x or w[q] == y),
            (f"{message} <-> {two}", lambda w: (w[p] == x) == (w[q] == y)),
        ]
    )


def weighed(priors, rows):
    """All worlds, each with its weight."""
    each = []
    for group in {row[1] for row in rows}:
        people = [(name, kind) for name, g, kind, _ in rows if g == group]
        bag = [value for _, g, _, value in rows if g == group]
        each.append([(people, world) for world in sorted(set(permutations(bag)))])
    for chosen in product(*each):
        has = [(*p, v) for people, world in chosen for p, v in zip(people, world, strict=True)]
        yield {n: v for n, _, v in has}, prod((priors[k][v] for _, k, v in has), start=Fraction(1))


def on_priors(priors, rows, statements, **more):
    cells = [(k, v, str(p)) for k, row in priors.items() for v, p in row.items()]
    kind, value, chance = zip(*cells, strict=True)
    known = fk.Priors(pa.table({"kind": kind, "value": value, "probability": chance}))
    columns = dict(zip(("name", "group", "kind", "ill"), zip(*rows, strict=True), strict=True))
    release = fk.Release.from_groups(
        pa.table(columns), group="group", sensitive="ill", person="name"
    )
    return fk.Statements(*statements, priors=known, **more), release


def test_answers_on_priors_weigh_worlds():
    compared = cases = 400 if NIGHTLY else 120
    for case in range(cases):
        rng = random.Random(case)
        priors, rows = random_rows(rng)
        names, held = [row[0] for row in rows], {row[3] for row in rows}
        texts = [random_words(rng, names) for _ in range(rng.randint(0, 3))]
        texts = [own for own in texts if all(v in held for v in "abc" if f"= {v}" in own[0])]
        person, value = rng.choice(names), rng.choice(sorted(held))
        every = list(weighed(priors, rows))
        left = [(w, p) for w, p in every if all(holds(w) for _, holds in texts)]
        if not sum(p for _, p in left):
            compared -= 1
            continue
        before, after = (
            sum(p for w, p in some if w[person] == value) / sum(p for _, p in some)
            for some in (every, left)
        )
        known, release = on_priors(priors, rows, [words for words, _ in texts])
        answer = known.posterior(release, person, value)
        assert (answer.exact, answer.before) == (after, before), (case, texts)
    assert compared > cases / 3


def test_what_priors_leave_unanswered():
    rows = [(name, 1, "xy"[i % 2], "ab"[i % 2]) for i, name in enumerate(["Ann", "Bob", "Cid"])]
    known, release = on_priors(FLAT, rows, ["Ann = a", "Ann = b"])
    with pytest.raises(fk.ForeknowError, match="cannot hold together"):
        known.posterior(release, "Ann", "a")
    with pytest.raises(fk.ForeknowError, match="ask for their posteriors"):
        known.disclosures(release)
    few, release = on_priors(FLAT, rows, ["Ann = a"], budget=1)
    with pytest.raises(fk.ForeknowError, match="takes more than 1 steps"):
        few.posterior(release, "Bob", "a")
    with pytest.raises(fk.ForeknowError, match="without further facts"):
        fk.Statements(priors=fk.Priors(list(known.priors.tables), facts=fk.Facts(1)))
