"""Rules on a column bear on a secret that stands beside it in each row."""

import random
from collections import Counter
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest
from tests.audits.folders import forge, settings_of, written
from tests.examples import NIGHTLY
from tests.oracle.rules import worst_cases, worst_negations
from tests.refusals import refused

import foreknow as fk
from foreknow_judge.errors import CertificateError, PolicyError
from foreknow_judge.impossible import Rules
from foreknow_judge.verdicts import verdicts
from foreknow_judge.written import Written

FAMILIES = range(20_000 if NIGHTLY else 48)
MOST = (2, 2, 0)
AMOUNTS = [*product(range(MOST[0] + 1), range(MOST[1] + 1))]
COLUMNS = ("ill", "test")


def family(rng, most=6):
    """Groups of ((ill, test), which rules are about a person); and rules of (column, values)."""
    values = {"ill": "abc"[: rng.choice([2, 3, 3])], "test": "xyz"[: rng.choice([2, 2, 3])]}
    more = rng.choice([0, 0, 1, 2])
    columns = ["test", *(rng.choice(["test", "test", "ill"]) for _ in range(more))]
    rules = [
        (name, frozenset(rng.sample(values[name], rng.choice([1, len(values[name]) - 1]))))
        for name in columns
    ]
    groups = []
    for _ in range(rng.choice([1, 1, 2])):
        group = []
        for _ in range(rng.randint(2, most)):
            fires = tuple(rng.random() < 0.45 for _ in rules)
            left = [p for p in product(*values.values()) if not is_impossible(p, rules, fires)]
            if left:
                favourite = rng.choice(left)
                group.append((favourite if rng.random() < 0.7 else left[0], fires))
        if group:
            groups.append(group)
    return (groups, rules) if groups else family(rng, most)


def is_impossible(pair, rules, fires):
    """Whether somebody of whom some rules are cannot have a pair of values."""
    own = dict(zip(COLUMNS, pair, strict=True))
    return any(on and own[name] in values for (name, values), on in zip(rules, fires, strict=True))


class Drawn:
    """A family, its table with a column for each rule, and what worlds say of its first column."""

    def __init__(self, seed, most=6):
        self.groups, self.rules = family(random.Random(seed), most)
        pairs = [*product("abc", "xyz")]
        self.worlds = [
            [
                (own, frozenset(pair for pair in pairs if is_impossible(pair, self.rules, fires)))
                for own, fires in group
            ]
            for group in self.groups
        ]
        people = [(f"g{g}", *own, on) for g, group in enumerate(self.groups) for own, on in group]
        self.shown = [f"c{i}" for i in range(len(self.rules))]
        columns = {name: ["ny"[on[i]] for *_, on in people] for i, name in enumerate(self.shown)}
        named = zip(("at", *COLUMNS), zip(*(own[:3] for own in people), strict=True), strict=True)
        self.table = pa.table({name: [*own] for name, own in named} | columns)
        self.values = sorted({own[0] for group in self.groups for own, _ in group})
        self.tables = [  # but for those that are about nobody
            {"values": sorted(values), "where": {f"c{i}": ["y"]}, "sensitive": name}
            for i, (name, values) in enumerate(self.rules)
            if "y" in columns[f"c{i}"]
        ]

    def worst(self, value, by=lambda pair: pair[0]):
        """The worst of facts, each group by itself; `by` is what is seen of a pair."""
        cases = [worst_cases([group], value, MOST, by) for group in self.worlds]
        return {amounts: max(case[(*amounts, 0)] for case in cases) for amounts in AMOUNTS}

    def judged(self, asked, form="generalized"):
        """What the judge says of a release that shows of everybody which rules are about them."""
        tables, parts = {"release": self.table}, dict.fromkeys(COLUMNS, "release")
        if form == "bucketized":
            names = ("at", *COLUMNS)
            rows = Counter(zip(*(self.table[name].to_pylist() for name in names), strict=True))
            held = dict(zip(names, zip(*rows, strict=True), strict=True))
            held = pa.table({**held, "count": [str(n) for n in rows.values()]})
            tables = {"people": self.table.drop_columns(COLUMNS), "sensitive": held}
            parts = dict.fromkeys(COLUMNS, "sensitive")
        own = {"parts": parts, "beside": self.shown, "rules": Rules(self.tables)}
        asked = [{**one, "below": "1", "knowing": []} for one in asked]
        return verdicts(Written(form, ["at"], "ill", tables, **own), asked)


def facts_of(amounts, **about):
    return {"facts": dict(zip("lk", amounts, strict=True)), **about}


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_figures_are_never_below_worlds(form):
    """Facts, of each value and of sets, in both forms; nearly always as worlds have it."""
    seen = Counter()
    for seed in FAMILIES if form == "generalized" else FAMILIES[::4]:
        drawn, asked, truth = Drawn(seed), [], []
        for value in drawn.values:
            for amounts, least in drawn.worst(value).items():
                asked.append(facts_of(amounts, values=[value]))
                truth.append(least)
        if len(drawn.values) == 3 and any(own["sensitive"] == "test" for own in drawn.tables):
            worst = drawn.worst("s", lambda pair: "s" if pair[0] in "ab" else pair[0])
            for amounts, least in worst.items():
                asked.append(facts_of(amounts, any_of=[*"ab"]))
                truth.append(least)
        for one, verdict, least in zip(asked, drawn.judged(asked, form), truth, strict=True):
            assert verdict.reached >= least, (seed, drawn.groups, drawn.rules, one)
            seen["inner" if 0 < least < 1 else "trivial", verdict.reached == least] += 1
    assert seen["inner", True] > 5 * seen["inner", False]
    assert seen["inner", True] > len(FAMILIES) / 8


def test_negations_are_never_below_worlds():
    inner = 0
    for seed in FAMILIES[::3]:
        drawn = Drawn(seed, 4)
        for value in drawn.values:
            asked = [{"negations": {"k": k}, "values": [value]} for k in range(3)]
            for k, verdict in enumerate(drawn.judged(asked)):
                cases = [worst_negations([g], value, k, lambda pair: pair[0]) for g in drawn.worlds]
                assert verdict.reached >= max(cases), (seed, drawn.groups, drawn.rules, value, k)
                inner += 0 < max(cases) < 1
    assert inner > len(FAMILIES) / 6


@pytest.mark.parametrize("hidden", [False, True])
def test_audits_of_tables_have_figure(hidden):
    """Of a table and of a release that shows who is meant, and of a table whose owner knows it."""
    inner, asked = 0, ((0, 0), (1, 0), (1, 1))
    for seed in FAMILIES[:: 4 if NIGHTLY else 3]:
        drawn = Drawn(seed)
        if not any(rule["sensitive"] == "test" for rule in drawn.tables):
            continue
        value, roles = drawn.groups[0][0][0][0], {"sensitive": [*COLUMNS], "other": drawn.shown}
        said = {"sensitive": "ill", "values": [value], "below": 1, "knowing": []}
        schema = {"quasi_identifiers": ["at"], **roles, "impossible": drawn.tables}
        if hidden:
            schema["other"] = []
        policy = {"schema": schema, "require": [facts_of(own, **said) for own in asked]}
        policy = fk.Policy.from_dict(policy)
        given = [drawn.table]
        if not hidden:
            given.append(
                fk.Release.from_generalized(drawn.table, quasi_identifiers=["at"], **roles)
            )
        for one in given:
            figures = [own.found.settled for own in fk.audit(one, policy, learned=False).verdicts]
            every = drawn.judged([facts_of(own, values=[value]) for own in asked])
            assert figures == [verdict.reached for verdict in every]
        worst = drawn.worst(value)
        for amounts, reached in zip(asked, figures, strict=True):
            assert reached >= worst[amounts], (seed, drawn.groups, drawn.rules, value, amounts)
            inner += 0 < worst[amounts] < 1
    assert inner > 5


@pytest.mark.parametrize(
    ("asked", "more"),
    [
        ({"facts": {"m": 1}, "below": 1}, {}),
        ({"implications": {"k": 1}, "below": 1}, {}),
        ({"facts": {}, "below": 1, "within": 5}, {"types": {"ill": "number"}}),
        ({"t_closeness": {"t": "1/2"}}, {}),
        ({"facts": {}, "below": 1}, {"identifiers": [], "person": "who", "unit": "row"}),
        ({"facts": {}, "below": 1}, {"shared": {"by": "home", "values": ["ill"]}}),
    ],
)
def test_what_nobody_counts_is_refused(asked, more):
    schema = {"quasi_identifiers": ["at"], "sensitive": [*COLUMNS], "identifiers": ["who"]} | more
    schema["impossible"] = [{"values": ["x"], "where": {"sex": ["m"]}, "sensitive": "test"}]
    required = {"sensitive": "ill", "knowing": [], **asked}
    with refused("impossible-linked", PolicyError):
        fk.Policy.from_dict({"schema": schema, "require": [required]})
    way_out = {"schema": schema, "require": [required | {"knowing": ["test"]}]}
    assert fk.Policy.from_dict(way_out).requirements


def ruled(rules, asked, **publish):
    """A policy on columns that are linked, with rules on some."""
    schema = {"quasi_identifiers": ["age"], "sensitive": [*COLUMNS], "other": ["sex"]}
    return fk.Policy.from_dict(
        {"schema": schema | {"impossible": rules}, "require": asked, "publish": publish}
    )


NO_X = {"values": ["x"], "where": {"sex": ["m"]}, "sensitive": "test"}
SURE_OF_A = {"sensitive": "ill", "values": ["a"], "facts": {}, "below": 1, "knowing": []}


def test_a_certificate_counts_the_rule(tmp_path):
    """Of four women two have x, and one of these a: 1/4 + 1/2 of 1/4, where it would be 1/3."""
    columns = {"age": [*range(20, 26)], "ill": [*"aabbbb"], "test": [*"xyxyyy"], "sex": [*"ffffmm"]}
    table, folder = pa.table(columns), tmp_path / "out"
    written(table, ruled([NO_X], [SURE_OF_A | {"below": "4/10"}]), folder)
    assert fk.verify(folder).findings[0].reached == Fraction(3, 8)
    forge(folder, lambda said: settings_of(said, below="3/8"))
    with pytest.raises(CertificateError, match="reaches 3/8"):
        fk.verify(folder)
    # Links and implications are refused in a certificate that somebody else wrote.
    for kind in ({"facts": {"m": 1}}, {"implications": {"k": 1}}):
        forge(folder, lambda said: said["policy"]["require"][0].pop("facts", None))
        forge(folder, lambda said, kind=kind: settings_of(said, **kind))
        with pytest.raises(CertificateError, match=r"bears on the other|say nothing of values"):
            fk.verify(folder)


def test_rules_of_linked_column_count(tmp_path):
    """Both of the women have x and a; without the rule it would be two of eight."""
    columns = {"age": [*range(20, 28)], "ill": [*"aabbbbbb"], "test": [*"xxyzyzyz"]}
    table = pa.table({**columns, "sex": [*"ffmmmmmm"]})
    one_age = table.set_column(0, "age", pa.array(["*"] * 8))
    (verdict,) = fk.audit(one_age, ruled([NO_X], [SURE_OF_A])).verdicts
    assert (verdict.found.settled, verdict.safe) == (1, False)
    assert fk.audit(one_age, ruled([], [SURE_OF_A])).verdicts[0].reached == Fraction(1, 4)
    # Ways out.
    assert fk.publish(table, ruled([NO_X], [SURE_OF_A], unlinked=["test"]), seed=1).audit.safe
    known = ruled([NO_X], [SURE_OF_A | {"knowing": ["test"]}])
    assert fk.audit(fk.Microdata(table, known.schema), known).verdicts[0].reached == 1
    written(table, ruled([], [SURE_OF_A]), tmp_path / "out")
    rules = ruled([NO_X], [SURE_OF_A]).to_dict()["schema"]["impossible"]
    forge(tmp_path / "out", lambda said: said["policy"]["schema"].update(impossible=rules))
    with pytest.raises(fk.InputError, match="reaches 1, the limit is 1"):
        fk.verify(tmp_path / "out")


def test_second_shuffle_is_no_help():
    columns = {"age": [30] * 4, "sex": [*"ffmm"], "ill": [*"abab"], "test": [*"xxyy"]}
    links = SURE_OF_A | {"facts": {"m": 1}, "below": "9/10"}
    policy = ruled([NO_X], [links], unlinked=["test"])
    with refused("impossible-linked") as caught:
        fk.audit(pa.table(columns), policy, learned=False)
    assert "audit what publish writes" in str(caught.value)
    assert "[publish] unlinked" not in str(caught.value)
    without = policy.to_dict() | {"require": [links | {"facts": {"k": 1}}]}
    assert fk.audit(pa.table(columns), without, learned=False).verdicts


def test_shown_rules_are_certified(tmp_path):
    """Of four women, three have job a, one of these has O04; who cannot have job c is not shown."""
    table = {"ward": ["w"] * 24, "sex": ["f"] * 4 + ["m"] * 20}
    table |= {"shift": ["day"] * 20 + ["night"] + ["day"] * 3}
    table |= {"ill": ["O04", *["flu", "gout"] * 11, "flu"], "job": [*"aaab", *"bbccaa" * 3, *"bb"]}
    shown = {"values": ["O04"], "where": {"sex": ["m"]}, "sensitive": "ill"}
    unshown = {"values": ["c"], "where": {"shift": ["night"]}, "sensitive": "job"}
    schema = {"quasi_identifiers": ["ward"], "sensitive": ["ill", "job"], "other": ["sex"]}
    asked = [
        {"facts": {}, "sensitive": "ill", "knowing": ["job"], "values": ["O04"], "below": "9/10"},
        {"facts": {}, "sensitive": "job", "knowing": ["ill"], "values": ["c"], "below": "9/10"},
    ]
    for rules in ([shown], [shown, unshown]):
        policy = fk.Policy.from_dict({"schema": {**schema, "impossible": rules}, "require": asked})
        made = written(pa.table(table), policy, folder := tmp_path / str(len(rules)))
        for verdict in (made.audit.verdicts[0], fk.audit(folder, policy).verdicts[0]):
            assert verdict.reached == Fraction(1, 3)
        assert fk.verify(folder).findings[0].reached == Fraction(1, 3)


def test_hidden_rules_are_the_owners(tmp_path):
    """Who cannot have x is not published: the owner's bound counts, and files keep no rule."""
    columns = {"age": [30] * 7, "sex": [*"mfmmfff"]}
    columns |= {"ill": [*"abbcacd"], "test": [*"yx-yyxz"]}
    schema = {"quasi_identifiers": ["age"], "sensitive": [*COLUMNS], "impossible": [NO_X]}
    asked = {"sensitive": "ill", "facts": {"l": 1, "k": 1}, "knowing": [], "below": "9/10"}
    policy = fk.Policy.from_dict({"schema": schema, "require": [asked]})
    made = written(pa.table(columns), policy, folder := tmp_path / "out")
    (verdict,) = made.audit.verdicts
    assert verdict.found.bounded
    assert verdict.safe
    assert float(verdict.found.probability) == 7 / 8
    assert fk.verify(folder).findings[0].reached == Fraction(1, 2)
