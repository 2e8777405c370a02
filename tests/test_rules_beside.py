"""Rules on a column bear on a secret that stands beside it in each row."""

import json
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle.impossible_worlds import worst_cases, worst_negations

import foreknow as fk
from foreknow_judge.errors import CertificateError, PolicyError
from foreknow_judge.impossible import Rules
from foreknow_judge.verdicts import verdicts
from foreknow_judge.written import Written

FAMILIES = range(20_000 if NIGHTLY else 120)
MOST = (2, 2, 0)
AMOUNTS = [*product(range(MOST[0] + 1), range(MOST[1] + 1))]
COLUMNS = ("ill", "test")


def family(rng, most=6):
    """Groups of ((ill, test), which rules are about a person); and rules of (column, values)."""
    values = {"ill": "abc"[: rng.choice([2, 3, 3])], "test": "xyz"[: rng.choice([2, 2, 3])]}
    columns = [
        "test",
        *(rng.choice(["test", "test", "ill"]) for _ in range(rng.choice([0, 0, 1, 2]))),
    ]
    rules = [
        (name, frozenset(rng.sample(values[name], rng.choice([1, len(values[name]) - 1]))))
        for name in columns
    ]
    groups = []
    for _ in range(rng.choice([1, 1, 2])):
        group = []
        for _ in range(rng.randint(2, most)):
            fires = tuple(rng.random() < 0.45 for _ in rules)
            left = [
                own for own in product(*values.values()) if not is_impossible(own, rules, fires)
            ]
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


def asked_of(groups, rules):
    """The same as the oracle takes it: each person's pair, and which pairs they cannot have."""
    pairs = [*product("abc", "xyz")]
    return [
        [
            (own, frozenset(pair for pair in pairs if is_impossible(pair, rules, fires)))
            for own, fires in group
        ]
        for group in groups
    ]


def table_of(groups, rules):
    """People with a column for each rule, which says whether it is about them."""
    rows = [(f"g{g}", *own, fires) for g, group in enumerate(groups) for own, fires in group]
    columns = {f"c{i}": ["ny"[fires[i]] for *_, fires in rows] for i in range(len(rules))}
    people = zip(("at", *COLUMNS), zip(*(row[:3] for row in rows), strict=True), strict=True)
    return pa.table({name: [*own] for name, own in people} | columns)


def rules_of(rules, table):
    """The rules as a policy has them, but for those that are about nobody."""
    return [
        {"values": sorted(values), "where": {f"c{i}": ["y"]}, "sensitive": name}
        for i, (name, values) in enumerate(rules)
        if "y" in table[f"c{i}"].to_pylist()
    ]


def written_of(table, rules, form="generalized"):
    """A release that shows of everybody which rules are about them."""
    shown = [name for name in table.column_names if name not in ("at", *COLUMNS)]
    parts = dict.fromkeys(COLUMNS, "release")
    tables = {"release": table}
    if form == "bucketized":
        rows = Counter(zip(*(table[name].to_pylist() for name in ("at", *COLUMNS)), strict=True))
        columns = dict(zip(("at", *COLUMNS), zip(*rows, strict=True), strict=True))
        held = pa.table({**columns, "count": [str(n) for n in rows.values()]})
        tables = {"people": table.drop_columns(COLUMNS), "sensitive": held}
        parts = dict.fromkeys(COLUMNS, "sensitive")
    return Written(form, ["at"], "ill", tables, parts=parts, beside=shown, rules=Rules(rules))


def first_of(pair):
    return pair[0]


def asks(known, **more):
    return {**known, "below": "1", "knowing": [], **more}


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_figures_are_never_below_worlds(form):
    """Facts, of each value and of sets, in both forms; nearly always as worlds have it."""
    seen = Counter()
    families = FAMILIES if form == "generalized" else FAMILIES[::4]
    for seed in families:
        groups, rules = family(random.Random(seed))
        table = table_of(groups, rules)
        worlds = asked_of(groups, rules)
        written = written_of(table, rules_of(rules, table), form)
        asked, truth = [], []
        values = sorted({own[0] for group in groups for own, _ in group})
        for value in values:
            each = [worst_cases([group], value, MOST, first_of) for group in worlds]
            for l, k in AMOUNTS:  # noqa: E741
                asked.append(asks({"facts": {"l": l, "k": k}}, values=[value]))
                truth.append(max(worst[l, k, 0] for worst in each))
        if len(values) == 3 and any(own["sensitive"] == "test" for own in written.rules.tables):
            merged = [[((first_of(own), own[1]), cannot) for own, cannot in g] for g in worlds]
            each = [worst_cases([group], "s", MOST, of_a_set) for group in merged]
            for l, k in AMOUNTS:  # noqa: E741
                asked.append(asks({"facts": {"l": l, "k": k}}, any_of=[*"ab"]))
                truth.append(max(worst[l, k, 0] for worst in each))
        for table, verdict, least in zip(asked, verdicts(written, asked), truth, strict=True):
            assert verdict.reached >= least, (seed, groups, rules, table)
            seen["inner" if 0 < least < 1 else "trivial", verdict.reached == least] += 1
    assert seen["inner", True] > 5 * seen["inner", False]
    assert seen["inner", True] > len(families) / 2


def of_a_set(pair):
    return "s" if pair[0] in "ab" else pair[0]


def test_negations_are_never_below_worlds():
    inner = 0
    for seed in FAMILIES[::5]:
        groups, rules = family(random.Random(seed), 4)
        table, worlds = table_of(groups, rules), asked_of(groups, rules)
        written = written_of(table, rules_of(rules, table))
        for value in sorted({own[0] for group in groups for own, _ in group}):
            asked = [asks({"negations": {"k": k}}, values=[value]) for k in range(3)]
            for k, verdict in enumerate(verdicts(written, asked)):
                least = max(worst_negations([group], value, k, first_of) for group in worlds)
                assert verdict.reached >= least, (seed, groups, rules, value, k)
                inner += 0 < least < 1
    assert inner > len(FAMILIES[::5]) / 2


def policy_of(groups, rules, table, value, amounts, limit="1", **how):
    """A policy on `ill`, whose rows are shown with the columns of the rules."""
    shown = [name for name in table.column_names if name not in ("at", *COLUMNS)]
    schema = {
        "quasi_identifiers": ["at"],
        "sensitive": [*COLUMNS],
        "other": how.pop("other", shown),
        "impossible": rules_of(rules, table),
    }
    required = {"sensitive": "ill", "values": [value], "below": limit, "knowing": []}
    facts = dict(zip("lk", amounts, strict=True))
    return fk.Policy.from_dict(
        {"schema": schema, "require": [required | {"facts": facts}], "publish": how}
    )


@pytest.mark.parametrize("hidden", [False, True])
def test_audits_of_tables_have_the_figure(hidden):
    """Of a table and of a release that shows who is meant, and of a table whose owner knows it."""
    inner = 0
    for seed in FAMILIES[::4]:
        groups, rules = family(random.Random(seed))
        table, worlds = table_of(groups, rules), asked_of(groups, rules)
        if not any(name == "test" for name, _ in rules) or not rules_of(rules, table):
            continue
        value = groups[0][0][0][0]
        for amounts in ((0, 0), (1, 0), (1, 1)):
            how = {"other": []} if hidden else {}
            policy = policy_of(groups, rules, table, value, amounts, **how)
            (verdict,) = fk.audit(table, policy, learned=False).verdicts
            each = [worst_cases([group], value, MOST, first_of) for group in worlds]
            least = max(worst[(*amounts, 0)] for worst in each)
            reached = verdict.found.settled
            assert reached >= least, (seed, groups, rules, value, amounts)
            asked = asks({"facts": dict(zip("lk", amounts, strict=True))}, values=[value])
            shown = written_of(table, policy.to_dict()["schema"]["impossible"])
            assert reached == verdicts(shown, [asked])[0].reached
            inner += 0 < least < 1
            if not hidden:
                others = [name for name in table.column_names if name not in ("at", *COLUMNS)]
                release = fk.Release.from_generalized(
                    table, quasi_identifiers=["at"], sensitive=[*COLUMNS], other=others
                )
                (again,) = fk.audit(release, policy, learned=False).verdicts
                assert again.found.settled == reached
    assert inner > 10


def refused(**how):
    """What a policy asks with `impossible` beside the secret, and nobody counts."""
    schema = {"quasi_identifiers": ["at"], "sensitive": [*COLUMNS], "identifiers": ["who"]}
    rule = {"values": ["x"], "where": {"sex": ["m"]}, "sensitive": "test"}
    required = {"sensitive": "ill", "below": 1, "knowing": [], **how.pop("asked")}
    return {"schema": schema | {"impossible": [rule]} | how, "require": [required]}


CASES = {"identifiers": [], "person": "who", "unit": "row"}


@pytest.mark.parametrize(
    ("asked", "more"),
    [
        ({"facts": {"m": 1}}, {}),
        ({"implications": {"k": 1}}, {}),
        ({"facts": {}, "within": 5}, {"types": {"ill": "number"}}),
        ({"t_closeness": {"t": "1/2"}, "below": None}, {}),
        ({"facts": {}}, CASES),
        ({"facts": {}}, {"shared": {"by": "home", "values": ["ill"]}}),
    ],
)
def test_what_nobody_counts_is_refused(asked, more):
    asked = {key: own for key, own in ({"below": 1} | asked).items() if own is not None}
    given = refused(asked=asked, **more)
    if "below" not in asked:
        del given["require"][0]["below"]
    with pytest.raises(PolicyError) as caught:
        fk.Policy.from_dict(given)
    assert caught.value.code == "impossible-linked"
    given["require"][0]["knowing"] = ["test"]  # the way out
    assert fk.Policy.from_dict(given).requirements


PEOPLE = {
    "at": [20, 21, 22, 23, 24, 25],
    "ill": [*"aabbbb"],
    "test": [*"xyxyyy"],
    "sex": [*"ffffmm"],
}


def published(folder, require):
    """The certificate of a release with a rule on `test`, and where it lies."""
    schema = {"quasi_identifiers": ["at"], "sensitive": [*COLUMNS], "other": ["sex"]}
    rule = {"values": ["x"], "where": {"sex": ["m"]}, "sensitive": "test"}
    policy = {"schema": schema | {"impossible": [rule]}, "require": [require]}
    fk.publish(pa.table(PEOPLE), policy, seed=1, learned=False).write(folder)
    return folder / "certificate.json"


def test_a_certificate_counts_the_rule(tmp_path):
    """Of four women two have x, and one of these a: 1/4 + 1/2 of 1/4, where it would be 1/3."""
    asked = {"sensitive": "ill", "values": ["a"], "facts": {}, "below": "4/10", "knowing": []}
    path = published(tmp_path / "out", asked)
    (verdict,) = fk.verify(tmp_path / "out").findings
    assert verdict.reached == Fraction(3, 8)
    lie = json.loads(path.read_text("utf-8"))
    lie["policy"]["require"][0]["below"] = "3/8"
    path.write_text(json.dumps(lie))
    with pytest.raises(CertificateError, match="reaches 3/8"):
        fk.verify(tmp_path / "out")


@pytest.mark.parametrize("kind", [{"facts": {"m": 1}}, {"implications": {"k": 1}}])
def test_no_certificate_asks_more(kind, tmp_path):
    """Links and implications are refused in a certificate that somebody else wrote."""
    asked = {"sensitive": "ill", "values": ["a"], "facts": {}, "below": 1, "knowing": []}
    path = published(tmp_path / "out", asked)
    lie = json.loads(path.read_text("utf-8"))
    del lie["policy"]["require"][0]["facts"]
    lie["policy"]["require"][0] |= kind
    path.write_text(json.dumps(lie))
    with pytest.raises(CertificateError, match=r"bears on the other|say nothing of values"):
        fk.verify(tmp_path / "out")


def test_a_shuffled_column_is_no_way_out_twice():
    rows = {"age": [30] * 4, "sex": list("mmff"), "ill": list("abab"), "test": list("xxyy")}
    rule = {"values": ["x"], "where": {"sex": ["f"]}, "sensitive": "test"}
    schema = {"quasi_identifiers": ["age"], "sensitive": ["ill", "test"], "other": ["sex"]}
    links = {"sensitive": "ill", "knowing": [], "facts": {"m": 1}, "below": "9/10"}
    policy = fk.Policy.from_dict(
        {
            "schema": schema | {"impossible": [rule]},
            "require": [links],
            "publish": {"unlinked": ["test"]},
        }
    )
    with pytest.raises(fk.InputError, match="audit what publish writes") as refused:
        fk.audit(pa.table(rows), policy, learned=False)
    assert refused.value.code == "impossible-linked"
    assert "[publish] unlinked" not in str(refused.value)
    without = policy.to_dict() | {"require": [links | {"facts": {"k": 1}}]}
    assert fk.audit(pa.table(rows), without, learned=False).verdicts
