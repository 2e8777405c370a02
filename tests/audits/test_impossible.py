"""What some people cannot have: they are not counted among those who might."""

import random
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.common import NIGHTLY, forge, written
from tests.oracle.rules import worst_cases

import foreknow as fk
from foreknow.data.impossible.possible_values import PossibleMembers
from foreknow.data.impossible.rules import Rule, condition_of
from foreknow.data.impossible.rules_in_force import classify_by_rules, decided
from foreknow.data.sights import Possible
from foreknow.errors import SchemaError
from foreknow_judge.errors import CertificateError, InputError
from foreknow_judge.files.written_release import Written
from foreknow_judge.knowledge.impossible_values import Rules
from foreknow_judge.verdicts import verdicts as verify

MOST = (2, 2, 1)
FAMILIES = range(20_000 if NIGHTLY else 40)
AMOUNTS = [*product(*(range(most + 1) for most in MOST))]


def family(rng, sizes=(1, 5), most=7):
    """Groups of (value, what a person cannot have), and the rules: (values, who) each."""
    rules = [
        frozenset(rng.sample("abcd", rng.choice([1, 1, 2, 3])))
        for _ in range(rng.choice([1, 1, 2, 3]))
    ]
    groups = []
    for _ in range(rng.choice([1, 1, 2])):
        group = []
        for _ in range(rng.randint(*sizes)):
            fires = tuple(rng.random() < 0.45 for _ in rules)
            cannot = frozenset().union(*(r for r, on in zip(rules, fires, strict=True) if on))
            if left := sorted({*"abcd"} - cannot):
                group.append((rng.choice(left), cannot, fires))
        if group:
            groups.append(group)
    if not groups or sum(map(len, groups)) > most:
        return family(rng, sizes, most)
    fired = [any(fires[i] for group in groups for *_, fires in group) for i in range(len(rules))]
    return groups, [rule if some else frozenset() for rule, some in zip(rules, fired, strict=True)]


def asked_of(groups):
    """The same as the oracle takes it."""
    return [[(value, cannot) for value, cannot, _ in group] for group in groups]


def counted(groups, rules):
    """The groups, and who can have what."""
    counts = fk.GroupCounts.from_bags([[value for value, *_ in group] for group in groups])
    classes = sorted({fires for group in groups for *_, fires in group})
    people = [[sum(own == fires for *_, own in group) for fires in classes] for group in groups]
    fires = np.array(classes, dtype=bool)
    about = np.array([[value in rule for value in counts.values] for rule in rules])
    return replace(counts, possible=PossibleMembers.of(np.array(people), fires, fires, about))


class Shown:
    """People with a column for each rule; a reader's schema, counts and verdicts of them."""

    def __init__(self, groups, rules):
        rows = [(g, value, fires) for g, group in enumerate(groups) for value, _, fires in group]
        own = {f"c{i}": ["yn"[not fires[i]] for *_, fires in rows] for i in range(len(rules))}
        at, ill = [f"g{g}" for g, *_ in rows], [value for _, value, _ in rows]
        self.table, self.columns = pa.table({"at": at, "ill": ill, **own}), [*own]
        self.rules = [
            {"values": sorted(rules[i]), "where": {name: ["y"]}}
            for i, name in enumerate(own)
            if "y" in own[name]
        ]

    @property
    def schema(self):
        roles = {"quasi_identifiers": ["at"], "sensitive": "ill", "impossible": self.rules}
        return fk.Schema(**roles, other=self.columns)

    def read(self):
        release = fk.Release.from_generalized(
            self.table, quasi_identifiers=["at"], sensitive="ill", other=self.columns
        )
        return Possible(release, self.schema).counts("ill", [])

    def figures(self, asked):
        """What the judge says of (facts, values) each."""
        rules = Rules(self.schema.to_dict().get("impossible", []))
        tables = {"release": self.table}
        held = Written("generalized", ["at"], "ill", tables, beside=self.columns, rules=rules)
        required = [
            {"facts": dict(zip("lkm", amounts, strict=True)), "below": "1", "knowing": [], **about}
            for amounts, about in asked
        ]
        return [verdict.reached for verdict in verify(held, required)]


def test_facts_are_those_of_worlds():
    """By the search and by the judge: of values of one kind exact, and of others a bound."""
    for seed in FAMILIES[::2]:
        rng = random.Random(seed)
        groups, rules = family(rng)
        counts, shown = counted(groups, rules), Shown(groups, rules)
        for value in counts.values:
            asked = AMOUNTS if NIGHTLY else rng.sample(AMOUNTS, 4)
            worst = worst_cases(asked_of(groups), value, MOST)
            judged = shown.figures([(amounts, {"values": [value]}) for amounts in asked])
            for amounts, reached in zip(asked, judged, strict=True):
                figure = fk.Facts(*amounts).disclosure(counts, value)
                assert reached == figure.exact >= worst[amounts], (groups, rules, value, amounts)
                assert figure.bounded or reached == worst[amounts]


def test_ledger_admits_what_is_safe():
    """What was refused once is refused for ever, though merging may help an adversary here."""
    admitted = refused = 0
    for seed in FAMILIES:
        rng = random.Random(seed)
        groups, rules = family(rng, (5, 12), 99)
        counts = counted(groups, rules)
        facts, limit = fk.Facts(*rng.choice(AMOUNTS[:12])), rng.choice(["2/3", "4/5", "1"])
        if len(groups) == 1:
            continue
        whole = counts.merge(np.zeros(counts.n_groups, dtype=np.int64))
        ledger = facts.ledger(limit)
        is_safe = facts.disclosure(whole).exact < Fraction(limit)
        assert ledger.admits(None, whole) == is_safe
        if not is_safe:
            continue
        ledger.commit(None, whole)
        if ledger.admits(whole, counts):
            admitted += 1
            assert facts.disclosure(counts).exact < Fraction(limit)
        else:
            refused += 1
    assert min(admitted, refused) > len(FAMILIES) // 100


# ---- labels and conditions ----------------------------------------------------------------------

# A condition, and the labels that decide it or leave it open: to an audit, and to the judge.
DECIDED = [
    ({"to": 11}, {True: "5 to 11; 11", False: "12 to 20; 11.5"}),
    ({"to": 11}, {None: "5 to 12; *; child; 5 to 9 or missing"}),
    # An end of it is outside, and 60 is not in the label.
    ({"from": 60}, {True: "60 to 64", None: "55 to 60; 50 to <60"}),
    ({"from": 30, "to": 40}, {None: "20 to 50"}),
    ({"from": 1980}, {True: "1980 to 1989"}),
    (["m"], {True: "m", False: "f", None: "f | m; other; m or missing"}),
    (["m", "x"], {True: "m | x"}),
    (["1"], {True: "1.0", False: "01"}),
    (["m | x"], {None: "m | x"}),
    (["30", "31"], {None: "0 or more"}),
    (["2024-03-01"], {None: "2024-03; 2024-Q1; 2024", False: "here"}),
    (["2024-03"], {True: "2024-03"}),
    (["2024-04"], {False: "2024-03"}),
    (["2023", "90"], {False: "2024"}),
    (["2024"], {None: "2020s"}),
    (["14:30"], {None: "14h"}),
]


@pytest.mark.parametrize(("condition", "labels"), DECIDED)
def test_a_label_decides_a_rule(condition, labels):
    rules = Rules([{"values": ["a"], "where": {"c": condition}}])
    for met, texts in labels.items():
        for label in texts.split("; "):
            judged = rules.applies_to(0, {"c": label})
            read = decided(condition_of(condition), label)
            assert {judged, read} <= {met, None}
            assert "|" in label or judged is met
            assert label.startswith("2024") or read is met
    assert decided(condition_of(condition), None) is rules.applies_to(0, {"c": None}) is None


@pytest.mark.parametrize("nodes", [{}, {"town": fk.Mask(1)}, {"town": fk.Tree([["x", "*"]])}])
def test_rule_needs_all_its_conditions(nodes):
    """By the labels of each: those of a hierarchy may stand for others than they name."""
    rule = {"values": ["a"], "where": {"sex": ["m"], "town": ["x"], "age": {"to": 11}}}
    means = {
        "sex": {"m": True, "f": False, "*": None},
        "town": {"x": None if nodes else True, "y": None if nodes else False, None: None},
        "age": {"5": True, "12 to 20": False, "5 to 12": None},
    }
    rows = [dict(zip(means, labels, strict=True)) for labels in product(*means.values())]
    coded = {
        name: (np.array([[*mean].index(row[name]) for row in rows]), [*mean])
        for name, mean in means.items()
    }
    codes = classify_by_rules([Rule.of(rule, 0, ["ill"])], coded, len(rows), nodes)
    for row, code in zip(rows, codes.codes.tolist(), strict=True):
        met = {means[name][label] for name, label in row.items()}
        said = False if False in met else None if None in met else True
        assert (codes.perhaps[code, 0], codes.surely[code, 0]) == (said is not False, said is True)
        assert Rules([rule], nodes).applies_to(0, row) is said


# ---- a hospital: publish, verify, audit ---------------------------------------------------------

RULES = [
    {"values": ["O*"], "where": {"sex": ["m"]}},
    {"values": ["O*"], "where": {"age": {"to": 11}}},
    {"values": ["C61"], "where": {"sex": ["f"]}},
]


def hospital(n=900, seed=4):
    """Patients, of whom nobody has what they cannot have."""
    rng, rows = random.Random(seed), []
    for _ in range(n):
        sex, age = rng.choice("mf"), rng.randint(0, 80)
        codes = ["J06", "I10", "E11", "K29", "S52", "M54"] * 3
        codes += ["O80"] * 4 + ["O04"] * 2 if sex == "f" and 15 <= age < 50 else []
        codes += ["C61"] * 2 if sex == "m" and age > 45 else []
        region, code = rng.choice(["north", "south", "east"]), rng.choice(codes)
        rows.append({"sex": sex, "age": age, "region": region, "code": code})
    return pa.Table.from_pylist(rows)


def policy_of(known, other=(), rules=RULES, **how):
    schema = fk.Schema(quasi_identifiers=known, sensitive="code", other=other, impossible=rules)
    requirement = fk.Requirement(fk.Facts(1, 1, 1), below="2/3", **how)
    return fk.Policy([requirement, fk.Requirement(fk.GroupSize(3), knowing=[])], schema)


PARQUET = {"format": "parquet", "method": "fulldomain"}


@pytest.mark.parametrize("how", [{"form": "bucketized"}, PARQUET])
def test_published_conditions_are_verified(tmp_path, how):
    shown = "form" in how
    known, other = (["sex", "age", "region"], []) if shown else (["region"], ["sex", "age"])
    knows = {} if shown else {"knowing": []}
    policy, folder = policy_of(known, other, **knows), tmp_path / "out"
    result = written(hospital(), policy, folder, **how)
    verified, audited = fk.verify(folder), fk.audit(folder, policy)
    reached = verified.findings[0].reached
    assert reached == result.audit.verdicts[0].found.exact == audited.verdicts[0].found.exact
    assert audited.safe
    assert not verified.claimed_scope.word
    assert not audited.scope.open
    as_if_all_could = policy_of(known, other, [], **knows)
    for judge in (fk.verify, fk.audit):
        with pytest.raises(SchemaError, match="differ in impossible"):
            judge(folder, as_if_all_could)
    result.release.schema = None
    assert fk.audit(result.release, as_if_all_could).verdicts[0].found.exact < reached


@pytest.mark.parametrize(("method", "other"), [("fulldomain", []), ("mondrian", ["sex"])])
def test_unpublished_conditions_are_owners_word(tmp_path, method, other):
    policy, table, folder = policy_of(["region"], other, knowing=[]), hospital(), tmp_path / "out"
    result = written(table, policy, folder, method=method)
    owner = result.audit.verdicts[0].found
    assert owner.bounded
    assert owner.below("2/3")
    verified = fk.verify(folder)
    assert verified.findings[0].reached < owner.exact
    (word,) = verified.claimed_scope.word
    assert "not counting sex m; age up to 11 among those who might have O*" in word
    assert "impossible" not in result.certificate.policy["schema"]
    # A reader who believes the rules, and not the publisher, is on the safe side.
    audited = fk.audit(folder, policy)
    assert (audited.safe, audited.scope.open) == (False, ("sex", "age"))
    with pytest.raises(CertificateError, match="reaches 1"):
        fk.verify(folder, policy)
    # The owner is not: with what was made, or with the table.
    for again in (fk.audit(result, policy), fk.audit(folder, policy, people=table)):
        assert again.verdicts[0].found.exact == owner.exact
        assert not again.scope.open


AGES = {"hierarchies": {"age": {"intervals": [10, 40]}}}


@pytest.mark.parametrize("roles", [{"identifiers": ["id"]}, AGES])
def test_file_alone_shows_labels(tmp_path, roles):
    """A release without its certificate is no table of its owner, though it has all columns."""
    table, folder = hospital(), tmp_path / "out"
    table = table.append_column("id", pa.array(range(len(table))))
    schema = fk.Schema(
        quasi_identifiers=["sex", "age"], sensitive="code", impossible=RULES, **roles
    )
    policy = fk.Policy([fk.Requirement(fk.Facts(1, 1, 1), below="2/3")], schema)
    written(table, policy, folder, format="csv")
    alone, audited = (fk.audit(at, policy) for at in (folder / "release.csv", folder))
    assert alone.verdicts[0].found.exact == audited.verdicts[0].found.exact
    assert (alone.scope.open, alone.scope.word) == (audited.scope.open, ())
    assert fk.audit(table, policy).scope.word  # the table itself is


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_an_impossible_value_is_refused(tmp_path, engine):
    rows = hospital(90).to_pylist()
    rows[41] |= {"sex": "m", "code": "O80"}
    path = tmp_path / "table.csv"
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    text = r"row 42 has 'O80' in 'code', which is impossible .* sex m"
    with pytest.raises(InputError, match=text):
        fk.publish(path, policy_of(["region"]), engine=engine, learned=False)


def test_release_with_an_impossible_value():
    rows = pa.table({"sex": ["m", "m", "f"], "code": ["O80", "J06", "J06"]})
    schema = fk.Schema(quasi_identifiers=["sex"], sensitive="code", impossible=RULES[:1])
    release = fk.Release.from_generalized(rows, quasi_identifiers=["sex"], sensitive="code")
    with pytest.raises(InputError, match="too few people who can have it"):
        fk.audit(release, fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema))
    held = Written("generalized", ["sex"], "code", {"release": rows}, rules=Rules(RULES[:1]))
    with pytest.raises(CertificateError, match="too few people there can have"):
        verify(held, [{"facts": {}, "below": "1"}])


MEN = {"sex": ["m"]}
O80 = {"values": ["O80"]}


def test_kinds_without_rules_refuse_them():
    table, policy = hospital(90), policy_of(["region"])
    people = fk.Microdata(table, policy.schema)
    for call in (
        lambda: fk.publish(people, policy, method="anatomy", learned=False),
        lambda: fk.attack(people, fk.Mondrian(), policy),
        lambda: fk.skyline_report(table, ["O80"], confidence="1/2", policy=policy),
    ):
        with pytest.raises(fk.InputError, match="impossible"):
            call()
    for asked in (fk.LDiversity(2), fk.TCloseness("1/2"), fk.AlphaK("1/2", 2), fk.Implications(1)):
        limit = {"below": "2/3"} if isinstance(asked, fk.Implications) else {}
        with pytest.raises(fk.InputError, match="needs that everybody may have any value"):
            fk.Policy([fk.Requirement(asked, **limit)], policy.schema)
    with pytest.raises(fk.InputError, match="a set of their own"):
        fk.publish(people, policy_of(["region"], any_of=["C61", "J06"]), learned=False)
    with pytest.raises(fk.InputError, match="counts do not say who"):
        fk.audit(fk.GroupCounts.from_bags([["O80", "J06"]]), policy)
    several = {"semantics": "multiset", "person": "p", "impossible": RULES}
    with pytest.raises(fk.InputError, match="one value per person"):
        fk.Schema(quasi_identifiers=["a"], sensitive="code", **several)


def test_other_people_are_refused():
    people = hospital()
    publication = fk.publish(people, policy_of(["region"]), learned=False)
    codes = people["code"].to_pylist()
    codes[codes.index("J06")] = "I10"
    others = people.set_column(people.column_names.index("code"), "code", pa.array(codes))
    with pytest.raises(InputError, match="other values of 'code' than in the release"):
        fk.audit(publication.release, policy_of(["region"]), people=others)


def test_open_people_may_take_values():
    """Whether p0 and p2 can have a is open, but somebody has it, who then has no b."""
    shown = Shown([], [])
    shown.table = pa.table({"at": ["g"] * 3, "ill": ["b", "a", "d"], "c1": ["n", "y", "n"]})
    shown.columns = ["c1"]
    shown.rules = [
        {"values": ["a"], "where": {"c0": ["y"]}},
        {"values": ["b", "c"], "where": {"c1": ["y"]}},
    ]
    assert fk.Facts().disclosure(shown.read(), "b").exact == 1
    assert shown.figures([((0, 0, 0), {"values": ["b"]})]) == [1]
    people = [[("b", frozenset("a")), ("a", frozenset("bc")), ("d", frozenset())]]
    assert worst_cases(people, "b", (0, 0, 0))[0, 0, 0] == Fraction(2, 3)


# ---- of small tables, whose figures are counted by hand -----------------------------------------


@pytest.mark.parametrize("column", ["s2", None])
def test_judge_applies_rule_by_column(column, tmp_path):
    """Of four people three can have u, so one u is 1/3, in whichever column it stands."""
    own = {} if column is None else {"sensitive": "s2"}
    roles = {"quasi_identifiers": ["age"], "sensitive": ["s1", "s2"] if column else "s2"}
    schema = {**roles, "other": ["sex"], "types": {"age": "number"}}
    required = {"facts": {}, "below": "3/10", "knowing": [], "values": ["u"], **own}
    policy = {"schema": schema, "require": [required]}
    rows = {"age": [37, 36, 32, 34], "s1": [*"BBBB"], "s2": [*"vvuv"], "sex": [*"fmff"]}
    table = pa.table(rows if column else {k: v for k, v in rows.items() if k != "s1"})
    written(table, policy, folder := tmp_path / "out")
    assert fk.verify(folder).people == 4
    rule = {"values": ["u"], "where": {"sex": ["m"]}}
    for one in [rule | own] if column else [rule | {"sensitive": None}, rule]:
        strict = {**policy, "schema": {**schema, "impossible": [one]}}
        forge(folder, lambda said, one=one: said["policy"]["schema"].update(impossible=[one]))
        with pytest.raises(CertificateError, match="reaches 1/3, the limit is 3/10"):
            fk.verify(folder)
        if one.get("sensitive", "") is not None:
            written(table, policy, again := tmp_path / "again")
            with pytest.raises(CertificateError, match="reaches 1/3, the limit is 3/10"):
                fk.verify(again, fk.Policy.from_dict(strict))


# ---- a reader's rules ----------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["other", "labels", "exact"])
def test_readers_ranges_nobody_meets(tmp_path, how):
    """A range that no label overlaps does nothing; one that a label leaves open does."""
    ages = [20, 21, 22, 23, 24, 25, 30, 31, 32, 33, 34, 35]
    table = pa.table({"ward": ["3"] * 12, "age": ages, "ill": ["O04", *"uvwuvuvuvwu"]})
    ask = fk.Requirement(fk.Facts(), below="9/10", values=["O04"], knowing=[])
    known, other = (["ward"], ["age"]) if how == "other" else (["ward", "age"], [])
    roles = {"quasi_identifiers": known, "sensitive": "ill", "other": other}
    form = {"form": "bucketized", "method": "anatomy"} if how == "exact" else {}

    def policy(*conditions):
        rules = [{"values": ["O04"], "where": {"age": condition}} for condition in conditions]
        return fk.Policy([ask], fk.Schema(**roles, impossible=rules))

    written(table, policy(), tmp_path / "out", **form)
    for judge in (fk.audit, fk.verify):
        for condition in ({"from": 31}, {"from": 30, "to": 200}):
            with suppress(CertificateError):  # which says that it reaches its limit
                judge(tmp_path / "out", policy(condition))
        for condition in ({"from": 200}, {"to": 10}, {"from": 45, "to": 47}):
            with pytest.raises(
                fk.InputError, match=r"nobody has 'age' in .* or leave the rule out"
            ):
                judge(tmp_path / "out", policy(condition))
    for condition in ({"from": 200}, {"to": 10}, {"from": 26, "to": 29}):
        for judge in (fk.audit, fk.publish):
            with pytest.raises(SchemaError, match=r"nobody has 'age' in .* or leave the rule out"):
                judge(table, policy(condition))
    gaps = table.set_column(1, "age", pa.array([None, *ages[1:]]))  # whose age may be any
    fk.audit(gaps, policy({"from": 200}))
    written(gaps, policy(), tmp_path / "gaps", **form)
    with suppress(CertificateError):
        fk.verify(tmp_path / "gaps", policy({"from": 200}))


@pytest.mark.parametrize("how", ["other", "labels", "exact"])
def test_readers_rules_nobody_meets(tmp_path, how):
    """A reader's rule that does nothing is refused; the maker's own may be left without people."""
    rows = {"sex": [*"ffffffmmmmmm"], "ill": ["O04", *"uvwuvuvuvwwu"][:12]}
    table = pa.table({"ward": ["3"] * 12, **rows})
    ask = fk.Requirement(fk.Facts(), below="9/10", values=["O04"], knowing=[])
    known, other = (["ward"], ["sex"]) if how == "other" else (["ward", "sex"], [])
    roles = {"quasi_identifiers": known, "sensitive": "ill", "other": other}
    form = {"form": "bucketized", "method": "anatomy"} if how == "exact" else {}

    def policy(*rules):
        return fk.Policy([ask], fk.Schema(**roles, impossible=rules))

    written(table, policy(), tmp_path / "out", **form)
    for judge in (fk.audit, fk.verify):
        with suppress(CertificateError):  # which says that it reaches its limit
            judge(tmp_path / "out", policy({"values": ["O04"], "where": {"sex": ["m"]}}))
        with pytest.raises(fk.InputError, match="nobody has 'sex' 'male', but such as 'f', 'm'"):
            judge(tmp_path / "out", policy({"values": ["O04"], "where": {"sex": ["male"]}}))
