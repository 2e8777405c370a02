"""The verifier's own priors: against enumerated worlds, against the audit, and lies it catches."""

import json
import random
import re
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.releases import Scene, priors_table, random_scene
from tests.common import NIGHTLY, examples, refused
from tests.oracle.facts import surest
from tests.oracle.priors import joint

import foreknow as fk
from foreknow.certificates import Certificate
from foreknow_judge.errors import CertificateError, UnsupportedError
from foreknow_judge.files.written_release import Written
from foreknow_judge.knowledge import posterior_bounds as exchanges
from foreknow_judge.knowledge import priors as verifier_priors
from foreknow_judge.knowledge.priors import Chances, worst_priors
from foreknow_judge.verdicts import verdicts as verify

SEEDS = st.integers(0, 2**40)


def rule(priors, **more):
    return fk.Requirement(priors, "1/2", **more).to_dict()


# ---- small releases ------------------------------------------------------------------------


@examples(8)
@given(SEEDS)
def test_reached_versus_strictly_below(seed):
    scene = random_scene(Random(seed), n_groups=2)
    priors, release = scene.priors("joint"), scene.written("generalized")
    exact = priors.disclosure(scene.release).exact
    rules = [
        fk.Requirement(priors, exact).to_dict(),
        fk.Requirement(priors, at_most=exact).to_dict(),
        fk.Requirement([(priors, exact), (fk.Facts(), 1)]).to_dict(),
    ]
    verification = verify(release, rules)
    assert [(f.safe, f.required.inclusive) for f in verification[:2]] == [
        (False, False),
        (True, True),
    ]
    ours = [f for f in verification[2:] if "priors" in f.judged]
    assert [(f.reached, f.safe) for f in ours] == [(exact, False)]


def test_the_worst_table_counts():
    """By sex, priors are alike and the group says 1/2; by race, they say who has which value."""
    people = [(0, {"sex": "m", "race": "w"}, "a"), (0, {"sex": "m", "race": "b"}, "b")]
    alike = {("m",): {"a": Fraction(1, 2), "b": Fraction(1, 2)}}
    apart = {
        ("w",): {"a": Fraction(9, 10), "b": Fraction(1, 10)},
        ("b",): {"a": Fraction(1, 10), "b": Fraction(9, 10)},
    }
    scene = Scene(people, {("sex",): alike, ("race",): apart})
    required = fk.Requirement(scene.priors("joint"), "3/4").to_dict()
    (verdict,) = verify(scene.written("bucketized"), [required])
    assert (verdict.reached, verdict.safe) == (Fraction(81, 82), False)


def test_attributes_beside_secrets_are_known():
    """A row shows them beside the value, unless they are shuffled; then they say who has which."""
    rows = [*zip("xxxyyyy", "mffmmff", "abbabcc", strict=True)]
    frame = pa.table(
        {"zip": ["1"] * 7, **dict(zip(("job", "sex", "ill"), zip(*rows, strict=True), strict=True))}
    )
    chances = {
        "m": dict(zip("abc", map(Fraction, ("0.5", "0.3", "0.2")), strict=True)),
        "f": dict(zip("abc", map(Fraction, ("0.1", "0.3", "0.6")), strict=True)),
    }
    priors = fk.Priors(priors_table({(sex,): row for sex, row in chances.items()}, ["sex"]))

    def found(knowing, shuffled):
        release = Written(
            "generalized",
            ["zip"],
            "ill",
            {
                "release": frame.rename_columns(
                    [f"{c}_shuffled" if c in shuffled else c for c in frame.column_names]
                )
            },
            beside=["job", "sex"],
            shuffled=shuffled,
        )
        return verify(release, [rule(priors, knowing=knowing)])[0].reached

    def truth(knowing):
        groups = {}
        for job, sex, ill in rows:
            key = tuple({"job": job, "sex": sex}[column] for column in knowing)
            groups.setdefault(key, []).append((chances[sex], ill))
        worlds = [joint(*map(list, zip(*group, strict=True))) for group in groups.values()]
        return max(p for people in worlds for who in people for p in who.values())

    assert found(["sex"], []) == truth(["sex"]) == Fraction(2, 3)
    assert found(["job", "sex"], []) == truth(["job", "sex"]) == 1
    assert found([], ["sex"]) == truth([]) < Fraction(2, 3)
    for knowing, shuffled in (([], []), (["job"], []), (["job"], ["sex"]), ([], ["job"])):
        with refused("priors-beside", UnsupportedError):
            found(knowing, shuffled)


# ---- priors that floats cannot hold --------------------------------------------------------


def judged(groups, table, expected, reading="joint"):
    """The verifier's answer for groups of (signature, people), and bags."""
    values = list(next(iter(table.values())))
    rows = [[[s], [str(row[x]) for x in values]] for s, row in table.items()]
    chances = Chances({"attributes": ["kind"], "values": values, "rows": rows})
    held = {(str(g),): (sum(bag.values()), bag) for g, (_, bag) in enumerate(groups)}
    people = {
        (str(g),): {(s,): n for s, n in members.items()} for g, (members, _) in enumerate(groups)
    }
    return worst_priors(held, people, expected, chances, reading)[:3]


def highest(groups, table, value):
    """The truth of one value, by enumeration: of groups of people who are not alike."""
    return max(
        row[value]
        for members, bag in groups
        for row in joint([table[s] for s in members], "".join(bag))
    )


TINY = [Fraction(1), *(Fraction(1, 10**e) for e in (1, 60, 100, 140, 160, 200, 290))]


@pytest.mark.parametrize("size", [3, 4, 5])
def test_tiny_priors_stay_exact(size):
    values = "abcde"[:size]
    for seed in range(60 if NIGHTLY else 12):
        draw = Random(seed)
        table = {str(s): {x: draw.choice(TINY) / size for x in values} for s in range(size)}
        groups = [
            (dict.fromkeys(draw.sample(sorted(table), 3), 1), dict.fromkeys(values[:3], 1))
            for _ in range(4)
        ]
        groups.append((dict.fromkeys(table, 1), dict.fromkeys(values, 1)))
        wanted = draw.choice(values[:3])
        assert judged(groups, table, {wanted})[2] == highest(groups, table, wanted)


def test_rounded_sums_are_exact():
    # Four people would rather have a, and three of them cannot: the sum is about 1e-320, and of
    # several groups that are nearly alike, floats take one that is not the highest.
    draw, values = Random(2), "abcde"
    table, groups = {}, []
    for group in range(6):
        for person in range(5):
            rare = [Fraction(draw.randint(849990, 850010), 10**113) for _ in values]
            table[f"{group} {person}"] = dict(zip(values, rare, strict=True)) | {
                "a": Fraction(1, 2)
            }
        table[f"{group} 0"] = dict.fromkeys(values, Fraction(1, 5))
        groups.append(({f"{group} {i}": 1 for i in range(5)}, dict.fromkeys(values, 1)))
    for value in values:
        assert judged(groups, table, {value})[2] == highest(groups, table, value)


def test_binary_priors_near_one():
    # By floats of 1 - p, which are 1.1e-16 and 2.2e-16, the second group would look safer.
    little = Fraction(1, 10**17)
    table = {s: {"a": 1 - n * little, "b": 0} for s, n in (("p", 16), ("q", 17), ("r", 40))}
    groups = [({"p": 1, "q": 1}, {"a": 1, "b": 1}), ({"q": 1, "r": 1}, {"a": 1, "b": 1})]
    odds = {s: row["a"] / (1 - row["a"]) for s, row in table.items()}
    value, group, found = judged(groups, table, {"a"}, "binary")
    assert found == odds["q"] / (odds["q"] + odds["r"])
    assert (value, group) == ("a", ("1",))


def test_fractions_settle_near_ties():
    little = Fraction(1, 10**25)
    likely = {"p": Fraction(1, 3), "q": Fraction(1, 4), "s": Fraction(1, 4) - little}
    table = {s: {"a": own, "b": Fraction(1, 3)} for s, own in likely.items()}
    bag = {"a": 1, "b": 1}
    groups = [({"p": 1, "q": 1}, bag), ({"p": 1, "s": 1}, bag)]
    for order in (groups, groups[::-1]):
        _, group, found = judged(order, table, {"a"})
        assert order[int(group[0])] == groups[1]
        assert found == Fraction(1, 3) / (Fraction(1, 3) + Fraction(1, 4) - little)


def test_too_large_group_is_refused(monkeypatch):
    monkeypatch.setattr(verifier_priors, "_MOST_STATES", 1000)
    row = {x: Fraction(i + 1, 100) for i, x in enumerate("abcdefgh")}
    table = {str(i): row for i in range(16)}
    with refused("too-large", CertificateError, what="a group with priors"):
        judged([(dict.fromkeys(table, 1), dict.fromkeys("abcdefgh", 2))], table, {"a"})


def test_unasked_values_are_left_out():
    table = {s: {x: Fraction(1, 10) for x in "ab"} for s in "mf"}
    groups = [({"m": 1, "f": 1}, {"a": 1, "b": 1})]
    assert judged(groups, table, set()) == judged(groups, table, {"c"}) == (None, None, 0)


# ---- links on top of priors ----------------------------------------------------------------


def bound(rows, bag, people, amounts, expected="a", whole=False):
    """The bound for one group: rows of priors by job, its values, its people, and facts on top."""
    values = list("abcde")[: len(rows[0][1])]
    chances = Chances({"attributes": ["job"], "values": values, "rows": rows})
    held, people = {("1",): (sum(bag.values()), bag)}, {("1",): people}
    return worst_priors(held, people, {*expected}, chances, "joint", whole, None, amounts)


def linked(rows, bag, people, m, expected="a", whole=False):
    """The bound for one group and m links."""
    return bound(rows, bag, people, (0, 0, m), expected, whole)


@pytest.mark.parametrize("amounts", [(1, 1, 0), (1, 2, 0), (2, 1, 0)], ids=str)
def test_ruled_out_and_known_together(amounts):
    """As worlds say where people are alike; never below them where they are not."""
    draw, uncertain = Random(str(amounts)), Counter()
    for case in range(6):
        bag = draw.choice(["abbcde", "abccde", "abcdde"])
        rows = [[draw.randint(1, 5) for _ in "abcde"] for _ in range(1 + case % 2)]
        who = [case % 2 and draw.randrange(2) for _ in bag]
        kinds = [{x: Fraction(n, 25) for x, n in zip("abcde", row, strict=True)} for row in rows]
        truth = surest([([kinds[i] for i in who], bag)], "a", amounts)
        texts = [[[str(i)], [f"{n}/25" for n in row]] for i, row in enumerate(rows)]
        result = bound(texts, Counter(bag), {(str(i),): who.count(i) for i in {*who}}, amounts)[2]
        assert result >= truth if case % 2 else result == truth, (bag, rows, who)
        uncertain[case % 2] += result < 1
    assert min(uncertain[0], uncertain[1]) > 1


def test_least_sums_by_enumeration():
    """Every choice of the values that are ruled out, and of whose holders are known."""
    draw = Random(3)
    for _ in range(40):
        ruled_out, n_known, n_values = draw.randint(0, 3), draw.randint(0, 3), draw.randint(1, 4)
        weights = [[draw.randint(0, 20) for _ in range(n_values)] for _ in range(n_known + 1)]
        sums = [
            sum(weights[n][y] for y, n in enumerate(known) if y not in out)
            for known in product(range(n_known + 1), repeat=n_values)
            for out in combinations(range(n_values), min(ruled_out, n_values))
            if sum(known) <= n_known
        ]
        arrays = [np.array([[row]]) for row in weights]
        assert exchanges._least_sum(arrays, ruled_out)[0, 0] == min(sums), (weights, ruled_out)


def test_barred_people_hide_nobody():
    # x cannot have a, so of x and y, who have a and b, it is y who has a.
    rows = [[["x"], ["0", "2/3", "1/3"]], [["y"], ["3/5", "2/5", "0"]]]
    result = linked(rows, {"a": 1, "b": 1}, {("x",): 1, ("y",): 1}, 1, "ab", whole=True)
    assert result == ("a", ("1",), Fraction(1), Fraction(3, 5))


def test_each_link_counts():
    """One of four people alike has a: each who has not leaves one fewer."""
    alike = [[["x"], ["1/2", "1/2"]]], {"a": 1, "b": 3}, {("x",): 4}
    assert [linked(*alike, m)[2] for m in range(4)] == [Fraction(1, 4 - m) for m in range(4)]


def test_links_need_a_world():
    with refused("no-world", CertificateError):
        linked([[["x"], ["0", "1"]]], {"a": 1, "b": 1}, {("x",): 2}, 1)


def test_a_group_needs_a_world():
    """Whether values can be dealt out, by trying every order."""
    draw, counter = random.Random(0), Counter()
    for _ in range(300):
        who = draw.choices(range(3), k=draw.randint(1, 5))
        held = draw.choices(range(3), k=len(who))
        people, counts = ([of.count(i) for i in range(3)] for of in (who, held))
        rows = [[draw.random() < 0.6 for _ in range(3)] for _ in range(3)]
        possible = any(
            all(rows[sign][x] for sign, x in zip(who, order, strict=True))
            for order in permutations(held)
        )
        counter[possible] += 1
        with nullcontext() if possible else pytest.raises(CertificateError, match="no way"):
            exchanges._require_worlds(people, counts, rows)
    assert min(counter[True], counter[False]) > 50


# ---- lies ----------------------------------------------------------------------------------


class AsTold:
    """A method that groups rows by threes."""

    def partition(self, microdata, policy=None, seed=None):
        return np.array([0, 0, 0, 1, 1, 1])


PRIORS = priors_table(
    {
        ("m",): {"Flu": "0.3", "HIV": "0.1", "Gout": "0.2"},
        ("f",): {"Flu": "0.2", "HIV": "0.2", "Gout": "0.1"},
    },
    ["sex"],
)
ILL = ["Flu", "HIV", "Gout", "Gout", "Flu", "HIV"]
TABLE = pa.table({"sex": [*"mfmfmf"], "age": [*map(str, range(30, 36))], "disease": ILL})
SCHEMA = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")


def published(folder, reading="joint", file_format="csv"):
    policy = fk.Policy(
        [
            fk.Requirement(fk.Priors(PRIORS, reading), at_most="9/10"),
            fk.Requirement(fk.Facts(), "9/10"),
        ],
        SCHEMA,
        fk.PublishOptions(form="bucketized", format=file_format),
    )
    publication = fk.publish(fk.Microdata(TABLE, SCHEMA), policy, method=AsTold())
    publication.write(folder)
    return publication


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    published(place := tmp_path_factory.mktemp("priors") / "out")
    return place


def problems(folder, change):
    """What is wrong with a folder, and a changed certificate."""
    path = folder / "certificate.json"
    table = json.loads(path.read_text())
    change(table)
    try:
        return Certificate.load(path, json.dumps(table).encode()).check(folder)
    except CertificateError as error:
        return [str(error)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t["findings"][0].update(exact="1/3"), "the worst .*certified are 1/3 and 9/10"),
        (lambda t: rows_of(t)[0].__setitem__(1, ["1/9"] * 3), "the worst probability is"),
        (lambda t: t["policy"]["require"][0].update(at_most="1/3"), "the limit is 1/3"),
        (lambda t: rows_of(t).pop(), "no probability of '.*' for people with"),
        (lambda t: rows_of(t)[0].__setitem__(1, ["1/2"]), "3 probabilities from 0 to 1 in each"),
        (lambda t: rows_of(t)[0].__setitem__(1, ["1/0"] * 3), "rows: '1/0' is not a number"),
        (lambda t: rows_of(t)[0].__setitem__(1, ["x"] * 3), "rows: 'x' is not a number"),
        (lambda t: rows_of(t)[0].__setitem__(1, ["-1", "1", "1"]), "from 0 to 1 in each row"),
        (lambda t: rows_of(t)[0].__setitem__(0, 5), r"rows\[0\]\[0\]: input should be a valid li"),
        (lambda t: [r.__setitem__(1, ["0"] * 3) for r in rows_of(t)], "allow no way to assign"),
    ],
)
def test_changed_priors_are_noticed(folder, change, says):
    (said,) = problems(folder, change)
    assert re.search(says, said)


def rows_of(table):
    return table["policy"]["require"][0]["priors"]["tables"][0]["rows"]


def test_changed_readings_are_noticed(tmp_path):
    published(tmp_path / "out")
    assert problems(
        tmp_path / "out",
        lambda t: t["policy"]["require"][0]["priors"].update(semantics="binary"),
    )
    path = tmp_path / "out" / "people.csv"
    path.write_text(re.sub(r"\b[mf]\b", "m", path.read_text()))
    text = problems(tmp_path / "out", lambda table: None)
    assert "digest differs" in text[0]
    assert any("the worst probability is" in each for each in text)


@pytest.mark.parametrize(
    ("reading", "semantics", "code", "about"),
    [
        ("other", "single", "wrong-value", {"where": "priors"}),
        ("joint", "set", "one-value-only", {"key": "priors"}),
    ],
)
def test_unreadable_priors_are_refused(reading, semantics, code, about):
    release = of_two(["m", "f"], ["Flu", "HIV"], semantics=semantics)
    table = rule(fk.Priors(PRIORS))
    table["priors"]["semantics"] = reading
    with refused(code, CertificateError, **about):
        verify(release, [table])


def of_two(sexes, values, **more):
    tables = {
        "people": pa.table({"group": [1, 1], "sex": sexes}),
        "sensitive": pa.table({"group": [1, 1], "disease": values, "count": [1, 1]}),
    }
    return Written("bucketized", ("group",), "disease", tables, **more)


def test_disarmed_texts_compare_as_before():
    release = of_two(["'=m", "f"], ["'+a", "b"], escaped=True)
    rows = {("=m",): {"+a": "0.1", "b": "0.9"}, ("f",): {"+a": "0.003", "b": "0.997"}}
    priors = fk.Priors(priors_table(rows, ["sex"]))
    assert verify(release, [rule(priors)])[0].reached == Fraction(997, 1024)
    with refused("no-probability", CertificateError):
        verify(replace(release, escaped=False), [rule(priors)])
