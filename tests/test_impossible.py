"""What some people cannot have: they are not counted among those who might."""

import json
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle.impossible_worlds import worst_cases, worst_negations

import foreknow as fk
from foreknow.data.impossible import Rule, condition_of, decided, fired
from foreknow.data.possible_values import PossibleMembers
from foreknow.data.sights import Possible
from foreknow.errors import SchemaError
from foreknow_judge.errors import CertificateError, InputError, PolicyError
from foreknow_judge.impossible import Rules
from foreknow_judge.verdicts import verdicts as verify
from foreknow_judge.written import Written

MOST = (2, 2, 1)
FAMILIES = range(20_000 if NIGHTLY else 300)
# Of these, those whose tables are made, read and judged, which takes longer.
TABLES = FAMILIES[::10]
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
    return groups, [own if some else frozenset() for own, some in zip(rules, fired, strict=True)]


def asked_of(groups):
    """The same as the oracle takes it."""
    return [[(value, cannot) for value, cannot, _ in group] for group in groups]


def table_of(groups, rules):
    """People with a column for each rule, and the schema that says what these mean."""
    rows = [(g, value, fires) for g, group in enumerate(groups) for value, _, fires in group]
    columns = {f"c{i}": ["yn"[not fires[i]] for *_, fires in rows] for i in range(len(rules))}
    table = pa.table({"at": [f"g{g}" for g, *_ in rows], "ill": [v for _, v, _ in rows], **columns})
    impossible = [
        {"values": sorted(own), "where": {f"c{i}": ["y"]}}
        for i, own in enumerate(rules)
        if "y" in columns[f"c{i}"]
    ]
    return table, impossible


def schema_of(impossible, **how):
    return fk.Schema(quasi_identifiers=["at"], sensitive="ill", impossible=impossible, **how)


def counted(groups, rules):
    """The groups, and who can have what."""
    counts = fk.GroupCounts.from_bags([[value for value, *_ in group] for group in groups])
    classes = sorted({fires for group in groups for *_, fires in group})
    people = [[sum(own == fires for *_, own in group) for fires in classes] for group in groups]
    fires = np.array(classes, dtype=bool)
    about = np.array([[value in own for value in counts.values] for own in rules])
    return replace(counts, able=PossibleMembers.of(np.array(people), fires, fires, about))


def counted_by_search(groups, rules):
    """The same as a search counts a table."""
    table, impossible = table_of(groups, rules)
    people = fk.Microdata(table, schema_of(impossible))
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], people.schema)
    joint = policy.combined(people.merged)
    return joint.counts(joint.attributes[0].codes.astype(np.int64)).seen("ill")


def who_can(counts):
    """How many members of each group can have each value."""
    able = counts.able
    return None if able is None else able.members[:, able.kind].tolist()


def kinds_in(group, rules):
    """How many kinds of values there are that not everybody in a group can have."""
    partly = {value for value, *_ in group if any(value in cannot for _, cannot, _ in group)}
    return {frozenset(i for i, own in enumerate(rules) if v in own) for v in partly}, partly


def test_facts_are_never_below_the_worst_of_all_worlds_and_equal_for_one_kind():
    """Of values of one kind, exact; of others a bound, which is nearly always attained."""
    seen = Counter()
    families = FAMILIES if NIGHTLY else FAMILIES[:200]
    for seed in families:
        groups, rules = family(random.Random(seed))
        counts = counted(groups, rules)
        asked = AMOUNTS if NIGHTLY else random.Random(seed).sample(AMOUNTS, 6)
        found = {amounts: fk.Facts(*amounts).disclosures(counts) for amounts in asked}
        for value in counts.values:
            worst = worst_cases(asked_of(groups), value, MOST)
            kinds = [kinds_in(group, rules) for group in groups if value in {v for v, *_ in group}]
            alone = all(not of or (len(of) == 1 and value in partly) for of, partly in kinds)
            for amounts in asked:
                own = found[amounts][value]
                assert own.exact >= worst[amounts], (groups, rules, value, amounts)
                assert abs(own.probability - float(own.exact)) < 1e-9
                assert own.bounded is not alone
                equal = own.exact == worst[amounts]
                assert equal or not alone, (groups, rules, value, amounts)
                seen[alone, equal] += 1
    assert seen[True, False] == 0
    assert seen[False, True] > 20 * seen[False, False]
    assert min(seen[True, True], seen[False, True]) > (10 if NIGHTLY else 4) * len(families)


def test_negations_and_sets_of_one_kind_are_never_below_all_worlds():
    for seed in FAMILIES[::5]:
        rng = random.Random(seed)
        groups, rules = family(rng)
        counts = counted(groups, rules)
        for value, k in product(counts.values, (0, 1, 2)):
            worst = worst_negations(asked_of(groups), value, k)
            found = fk.Negations(k).disclosure(counts, value)
            assert found.exact >= worst, (groups, rules, value, k)
            assert found.bounded or found.exact == worst
        members = rng.sample([*counts.values], min(2, counts.n_values - 1))
        if not members or counts.able is None:
            continue
        kinds = {int(counts.able.kind[counts.code(value)]) for value in members}
        if len(kinds) > 1:
            with pytest.raises(InputError, match="a set of their own"):
                counts.any_of(members)
            continue
        one, name = counts.any_of(members)
        united = {**dict(zip("abcd", "abcd", strict=True)), **dict.fromkeys(members, name)}
        same = [
            [(united[own], frozenset(map(united.get, cannot))) for own, cannot in group]
            for group in asked_of(groups)
        ]
        worst = worst_cases(same, name, (1, 1, 1))
        for amounts, least in worst.items():
            assert fk.Facts(*amounts).disclosure(one, name).exact >= least, (groups, rules, members)


def test_owner_reader_and_verifier_count_alike_where_columns_are_published():
    for seed in TABLES:
        groups, rules = family(random.Random(seed))
        table, impossible = table_of(groups, rules)
        columns = [f"c{i}" for i in range(len(rules))]
        schema = schema_of(impossible, other=columns)
        own = counted(groups, rules)
        release = fk.Release.from_generalized(
            table, quasi_identifiers=["at"], sensitive="ill", other=columns
        )
        read = Possible(release, schema).counts("ill", [])
        searched = counted_by_search(groups, rules)
        for each in (read, searched):
            assert each == own
            assert (each.able is None) is (own.able is None)
            assert (
                own.able is None
                or (
                    each.able.members[:, each.able.kind] == own.able.members[:, own.able.kind]
                ).all()
            )
        tables = schema.to_dict().get("impossible", [])
        written = Written(
            "generalized", ["at"], "ill", {"release": table}, beside=columns, rules=Rules(tables)
        )
        asked, expected = [], []
        for amounts in ((0, 0, 0), (1, 1, 0), (1, 1, 1), (2, 0, 1)):
            facts = fk.Facts(*amounts)
            told = facts.disclosures(read)
            known = {"facts": dict(zip("lkm", amounts, strict=True)), "below": "1", "knowing": []}
            for value, worst in facts.disclosures(own).items():
                assert told[value].exact == worst.exact
                asked.append({**known, "values": [value]})
                expected.append(worst.exact)
        found = [each.reached for each in verify(written, asked)]
        assert found == expected, (groups, rules, asked)


def test_what_labels_leave_open_never_looks_safer_than_it_is():
    for seed in TABLES:
        rng = random.Random(seed)
        groups, rules = family(rng)
        table, impossible = table_of(groups, rules)
        columns = {f"c{i}" for i in range(len(rules))}
        open_to = [name for name in sorted(columns) if rng.random() < 0.5]
        coarse = [rng.random() < 0.4 for _ in range(len(table))]
        for name in open_to:
            label = rng.choice(["*", "y | n", None])
            texts = [
                label if some else text
                for some, text in zip(coarse, table[name].to_pylist(), strict=True)
            ]
            table = table.set_column(table.column_names.index(name), name, pa.array(texts))
        shown = [name for name in sorted(columns) if name not in open_to or rng.random() < 0.7]
        table = table.select(["at", "ill", *shown])
        release = fk.Release.from_generalized(
            table, quasi_identifiers=["at"], sensitive="ill", other=shown
        )
        schema = schema_of(impossible, other=shown)
        read = Possible(release, schema).counts("ill", [])
        own = counted(groups, rules)
        tables = schema.to_dict().get("impossible", [])
        written = Written(
            "generalized", ["at"], "ill", {"release": table}, beside=shown, rules=Rules(tables)
        )
        asked, expected = [], []
        for amounts in ((0, 0, 0), (1, 1, 0), (2, 1, 1)):
            facts = fk.Facts(*amounts)
            told = facts.disclosures(read)
            for value, truth in facts.disclosures(own).items():
                assert told[value].exact >= truth.exact, (groups, rules, value, amounts)
            known = dict(zip("lkm", amounts, strict=True))
            asked.append({"facts": known, "below": "1", "knowing": []})
            expected.append(facts.disclosure(read).exact)
        assert [each.reached for each in verify(written, asked)] == expected, (groups, rules)


def test_a_ledger_never_admits_what_is_not_safe():
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


def test_merging_groups_may_make_somebody_surer_of_another_value():
    """Women with v, v, w, w and men with w, x: 1/2 each; together a man has w with 3/4."""
    apart = [
        [("v", frozenset(), (False,))] * 2 + [("w", frozenset(), (False,))] * 2,
        [("w", frozenset("v"), (True,)), ("x", frozenset("v"), (True,))],
    ]
    together = [apart[0] + apart[1]]
    found = [
        fk.Facts().disclosure(counted(own, [frozenset("v")])).exact for own in (apart, together)
    ]
    assert found == [Fraction(1, 2), Fraction(3, 4)]
    assert worst_cases(asked_of(together), "w", (0, 0, 0))[0, 0, 0] == Fraction(3, 4)


# ---- labels, limits and mistakes ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "label", "said"),
    [
        ({"to": 11}, "5 to 11", True),
        ({"to": 11}, "5 to 12", None),
        ({"to": 11}, "12 to 20", False),
        ({"to": 11}, "11", True),
        ({"to": 11}, "11.5", False),
        ({"from": 60}, "55 to 60", None),
        ({"from": 60}, "60 to 64", True),
        ({"from": 60}, "50 to <60", None),  # an end of it is outside, and 60 is not in the label
        ({"from": 30, "to": 40}, "20 to 50", None),
        ({"from": 1980}, "1980 to 1989", True),
        ({"to": 11}, "*", None),
        ({"to": 11}, None, None),
        ({"to": 11}, "child", None),
        ({"to": 11}, "5 to 9 or missing", None),
        (["m"], "m", True),
        (["m"], "f", False),
        (["m"], "f | m", None),
        (["m", "x"], "m | x", True),
        (["m"], "other", None),
        (["m"], "m or missing", None),
        (["1"], "1.0", True),
        (["1"], "01", False),
        (["m | x"], "m | x", None),
    ],
)
def test_a_label_decides_a_rule_or_leaves_it_open(condition, label, said):
    assert decided(condition_of(condition), label) is said
    own = Rules([{"values": ["a"], "where": {"c": condition}}]).applies_to(0, {"c": label})
    assert own is said or own is None
    if "|" not in str(label):
        assert own is said


@pytest.mark.parametrize("nodes", [{}, {"town": fk.Mask(1)}, {"town": fk.Tree([["x", "*"]])}])
def test_a_rule_is_about_whoever_meets_all_that_it_says(nodes):
    """By the labels of each: those of a hierarchy may stand for others than they name."""
    rule = {"values": ["a"], "where": {"sex": ["m"], "town": ["x"], "age": {"to": 11}}}
    means = {
        "sex": {"m": True, "f": False, "*": None},
        "town": {"x": None if nodes else True, "y": None if nodes else False, None: None},
        "age": {"5": True, "12 to 20": False, "5 to 12": None},
    }
    rows = [dict(zip(means, labels, strict=True)) for labels in product(*means.values())]
    coded = {
        name: (np.array([[*own].index(row[name]) for row in rows]), [*own])
        for name, own in means.items()
    }
    found = fired([Rule.of(rule, 0, ["ill"])], coded, len(rows), nodes)
    for row, code in zip(rows, found.codes.tolist(), strict=True):
        met = {means[name][label] for name, label in row.items()}
        said = False if False in met else None if None in met else True
        assert (found.perhaps[code, 0], found.surely[code, 0]) == (said is not False, said is True)
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
        rows.append((sex, age, rng.choice(["north", "south", "east"]), rng.choice(codes)))
    return pa.table(
        dict(zip(("sex", "age", "region", "code"), map(list, zip(*rows, strict=True)), strict=True))
    )


def policy_of(known, other=(), rules=RULES, below="2/3", **how):
    schema = fk.Schema(quasi_identifiers=known, sensitive="code", other=other, impossible=rules)
    asked = fk.Requirement(fk.Facts(1, 1, 1), below=below, **how)
    return fk.Policy([asked, fk.Requirement(fk.GroupSize(3), knowing=[])], schema)


@pytest.mark.parametrize(
    ("known", "other", "how"),
    [
        (["sex", "age", "region"], [], {"form": "bucketized"}),
        (["region"], ["sex", "age"], {}),
        (["region"], ["sex", "age"], {"format": "parquet", "method": "fulldomain"}),
    ],
)
def test_where_columns_are_published_as_they_are_the_verifier_counts(tmp_path, known, other, how):
    policy = policy_of(known, other, **({"knowing": []} if other else {}))
    made = fk.publish(hospital(), policy, learned=False, **how)
    made.write(tmp_path / "out")
    verified = fk.verify(tmp_path / "out")
    assert verified.findings[0].reached == made.audit.verdicts[0].found.exact
    assert not verified.claimed_scope.word
    knows = {"knowing": []} if other else {}
    as_if_all_could = policy_of(known, other, [], **knows)
    for judge in (fk.verify, fk.audit):
        with pytest.raises(SchemaError, match="differ in impossible"):
            judge(tmp_path / "out", as_if_all_could)
    made.release.schema = None
    without = fk.audit(made.release, as_if_all_could, learned=False)
    assert without.verdicts[0].found.exact < verified.findings[0].reached
    audited = fk.audit(tmp_path / "out", policy)
    assert audited.safe
    assert audited.verdicts[0].found.exact == verified.findings[0].reached
    assert not audited.scope.open


@pytest.mark.parametrize(
    ("method", "other"), [("mondrian", []), ("fulldomain", []), ("mondrian", ["sex"])]
)
def test_where_labels_leave_it_open_the_owner_counts_and_it_is_their_word(tmp_path, method, other):
    policy = policy_of(["region"], other, knowing=[])
    table = hospital()
    made = fk.publish(table, policy, method=method, learned=False)
    owner = made.audit.verdicts[0].found
    assert owner.bounded
    assert owner.below("2/3")
    made.write(tmp_path / "out")
    verified = fk.verify(tmp_path / "out")
    assert verified.findings[0].reached < owner.exact
    (word,) = verified.claimed_scope.word
    assert "not counting sex m; age up to 11 among those who might have O*" in word
    assert "impossible" not in made.certificate.policy["schema"]
    # A reader who believes the rules, and not the publisher, is on the safe side.
    assert not fk.audit(tmp_path / "out", policy).safe
    assert fk.audit(tmp_path / "out", policy).scope.open == ("sex", "age")
    with pytest.raises(CertificateError, match="reaches 1"):
        fk.verify(tmp_path / "out", policy)
    # The owner is not: with what was made, or with the table.
    for again in (fk.audit(made, policy), fk.audit(tmp_path / "out", policy, people=table)):
        assert again.verdicts[0].found.exact == owner.exact
        assert not again.scope.open


def test_a_search_holds_what_it_would_break_without_the_rules():
    """The same groups as without, where nothing is impossible; others, where somebody is surer."""
    table = hospital()
    free = fk.publish(table, policy_of(["region", "age"], rules=[]), learned=False)
    ruled = fk.publish(table, policy_of(["region", "age"]), learned=False)
    assert ruled.audit.safe
    assert ruled.counts.n_groups < free.counts.n_groups
    women = table.filter(pa.array([sex == "f" for sex in table["sex"].to_pylist()]))
    rules = [{"values": ["O*"], "where": {"age": {"to": 11}}}]
    grown = women.filter(pa.array([age > 11 for age in women["age"].to_pylist()]))
    same = [
        fk.publish(grown, policy_of(["region", "age"], rules=own), learned=False, seed=1)
        for own in ([], rules)
    ]
    assert same[0].release.counts == same[1].release.counts


def test_engines_group_alike_whether_columns_are_published_or_not():
    table = hospital()
    found = [
        fk.publish(table, policy_of(["region", "age"]), learned=False, seed=1, engine=engine)
        for engine in ("memory", "duckdb")
    ]
    assert found[0].release.counts == found[1].release.counts
    assert found[0].audit.verdicts[0].found.exact == found[1].audit.verdicts[0].found.exact


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_table_with_an_impossible_value_names_row_and_value(tmp_path, engine):
    rows = hospital().to_pylist()
    rows[41] |= {"sex": "m", "code": "O80"}
    path = tmp_path / "table.csv"
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"row 42 has 'O80' in 'code', which is impossible .* sex m"
    ):
        fk.publish(path, policy_of(["region"]), engine=engine, learned=False)


def test_a_release_with_an_impossible_value_is_refused():
    rows = pa.table({"sex": ["m", "m", "f"], "code": ["O80", "J06", "J06"]})
    schema = fk.Schema(quasi_identifiers=["sex"], sensitive="code", impossible=RULES[:1])
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema)
    release = fk.Release.from_generalized(rows, quasi_identifiers=["sex"], sensitive="code")
    with pytest.raises(InputError, match="too few people who can have it"):
        fk.audit(release, policy)
    written = Written("generalized", ["sex"], "code", {"release": rows}, rules=Rules(RULES[:1]))
    with pytest.raises(CertificateError, match="too few people there can have"):
        verify(written, [{"facts": {}, "below": "1"}])


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"values": [], "where": {"sex": ["m"]}}, "values is empty"),
        ({"values": ["*"], "where": {"sex": ["m"]}}, "says of no value how it begins"),
        ({"values": "O80", "where": {"sex": ["m"]}}, "must be a list"),
        ({"values": ["O80"]}, "where is missing"),
        ({"values": ["O80"], "where": {"sex": "m"}}, "sex is a list such as"),
        ({"values": ["O80"], "where": {"code": ["m"]}}, "which is sensitive"),
        ({"values": ["O80"], "where": {"age": {"until": 3}}}, "from, to or both"),
        ({"values": ["O80"], "where": {"sex": ["m"]}, "sensitive": "pay"}, "no sensitive column"),
        (
            {"values": ["O80"], "where": {"sex": ["M"]}},
            "nobody has 'sex' 'M', but such as 'f', 'm'",
        ),
        ({"values": ["O80"], "where": {"sex": ["m", "F"]}}, "no 'sex' is 'F', but 'f' is one"),
        ({"values": ["O80"], "where": {"sexx": ["m"]}}, "has no column 'sexx'"),
        ({"values": ["O80"], "where": {"region": {"to": 3}}}, "cannot be compared with up to 3"),
    ],
)
def test_a_rule_that_says_nothing_is_refused(rule, said):
    with pytest.raises(InputError, match=said):
        fk.publish(hospital(90), policy_of(["region"], rules=[rule]), learned=False)


@pytest.mark.parametrize(
    "asked",
    [
        {"adversary": fk.Implications(1), "below": "2/3"},
        {"adversary": fk.LDiversity(2)},
        {"adversary": fk.TCloseness("1/2")},
        {"adversary": fk.AlphaK("1/2", 2)},
    ],
)
def test_what_takes_everybody_for_somebody_who_can_is_refused(asked):
    schema = policy_of(["region"]).schema
    with pytest.raises(fk.InputError, match="needs that everybody may have any value"):
        fk.Policy([fk.Requirement(**asked)], schema)


def test_methods_attacks_and_analyses_that_do_not_know_the_rules_refuse_them():
    table, policy = hospital(90), policy_of(["region"])
    people = fk.Microdata(table, policy.schema)
    for call in (
        lambda: fk.publish(people, policy, method="anatomy", learned=False),
        lambda: fk.attack(people, fk.Mondrian(), policy),
        lambda: fk.skyline_report(table, ["O80"], confidence="1/2", policy=policy),
    ):
        with pytest.raises(fk.InputError, match="impossible"):
            call()
    with pytest.raises(fk.InputError, match="a set of their own"):
        fk.publish(people, policy_of(["region"], any_of=["C61", "J06"]), learned=False)
    with pytest.raises(fk.InputError, match="counts do not say who"):
        fk.audit(fk.GroupCounts.from_bags([["O80", "J06"]]), policy)
    with pytest.raises(fk.InputError, match="one value per person"):
        fk.Schema(
            quasi_identifiers=["a"],
            sensitive="code",
            semantics="multiset",
            person="p",
            impossible=RULES,
        )


def test_a_policy_file_keeps_the_rules(tmp_path):
    policy = policy_of(["region", "age"])
    policy.save(tmp_path / "policy.toml")
    assert fk.Policy.load(tmp_path / "policy.toml").schema.impossible == policy.schema.impossible
    text = (
        '[schema]\nquasi_identifiers = ["region"]\nsensitive = "code"\n'
        '[[schema.impossible]]\nvalues = ["O04"]\nwhere = { sex = ["m"], age = { from = 60 } }\n'
        "[[require]]\nfacts = { l = 1 }\nbelow = 0.5\n"
    )
    (tmp_path / "own.toml").write_text(text, encoding="utf-8")
    (rule,) = fk.Policy.load(tmp_path / "own.toml").schema.impossible
    assert str(rule) == "sex m and age 60 and more"


def test_a_generalized_table_is_read_by_its_labels_and_other_people_are_refused():
    rows = {"sex": ["*"] * 4 + ["f"] * 4, "age": ["5 to 14"] * 4 + ["20 to 29"] * 4}
    table = pa.table({**rows, "code": ["O80", "J06", "I10", "E11", "O80", "J06", "I10", "E11"]})
    policy = policy_of(["sex", "age"], values=["O80"])
    audited = fk.audit(table, policy, learned=False)
    assert not audited.safe
    assert audited.scope.open == ("sex", "age")
    found = audited.verdicts[0].found
    assert (str(found.value), found.exact, found.bounded) == ("O80", 1, True)
    made = fk.publish(hospital(), policy_of(["region"]), learned=False)
    with pytest.raises(InputError, match="other values of 'code' than in the release"):
        fk.audit(made.release, policy_of(["region"]), people=other_values(hospital()))


def other_values(table):
    codes = table["code"].to_pylist()
    codes[codes.index("J06")] = "I10"
    return table.set_column(table.column_names.index("code"), "code", pa.array(codes))


def test_of_whom_something_is_open_may_have_what_takes_the_place_of_others():
    """Whether p0 and p2 can have a is open, but somebody has it, who then has no b."""
    table = pa.table({"at": ["g"] * 3, "ill": ["b", "a", "d"], "c1": ["n", "y", "n"]})
    rules = [
        {"values": ["a"], "where": {"c0": ["y"]}},
        {"values": ["b", "c"], "where": {"c1": ["y"]}},
    ]
    release = fk.Release.from_generalized(
        table, quasi_identifiers=["at"], sensitive="ill", other=["c1"]
    )
    read = Possible(release, schema_of(rules, other=["c1"])).counts("ill", [])
    assert fk.Facts().disclosure(read, "b").exact == 1
    written = Written(
        *("generalized", ["at"], "ill", {"release": table}), beside=["c1"], rules=Rules(rules)
    )
    (found,) = verify(written, [{"facts": {}, "below": "1", "knowing": [], "values": ["b"]}])
    assert found.reached == 1
    people = [[("b", frozenset("a")), ("a", frozenset("bc")), ("d", frozenset())]]
    assert worst_cases(people, "b", (0, 0, 0))[0, 0, 0] == Fraction(2, 3)


LINKED = pa.table(
    {
        "age": [20, 21, 22, 23, 24, 25, 26, 27],
        "sex": list("ffmmmmmm"),
        "dx": ["O04", "O04"] + ["Flu", "Cold"] * 3,
        "hiv": ["pos", "pos"] + ["neg"] * 6,
    }
)


def linked_policy(knowing=(), rules=True, **how):
    """A requirement on hiv, which stands beside dx; of dx some values are impossible for men."""
    schema = {"quasi_identifiers": ["age"], "sensitive": ["dx", "hiv"]}
    if rules:
        rule = {"values": ["O*"], "where": {"sex": ["m"]}, "sensitive": "dx"}
        schema["impossible"] = [rule]
    hiv = {"sensitive": "hiv", "values": ["pos"], "facts": {}, "below": 1, "knowing": list(knowing)}
    return {"schema": schema, "require": [hiv], "publish": how}


def test_rules_of_a_linked_column_count():
    """Two of the women have O04 and are positive; without the rule it would be two of eight."""
    release = fk.Release.from_generalized(
        LINKED, quasi_identifiers=["age"], sensitive=["dx", "hiv"], other=["sex"]
    )
    one_age = LINKED.set_column(0, "age", pa.array(["*"] * 8))
    hiv = fk.Requirement(fk.Facts(), below=1, sensitive="hiv", knowing=[])
    schema = fk.Schema(**linked_policy()["schema"], other=["sex"])
    (verdict,) = fk.audit(one_age, fk.Policy([hiv], schema)).verdicts
    assert (verdict.found.settled, verdict.safe) == (1, False)
    free = fk.Schema(quasi_identifiers=["age"], sensitive=["dx", "hiv"], other=["sex"])
    positive = replace(hiv, values=["pos"])
    (verdict,) = fk.audit(one_age, fk.Policy([positive], free)).verdicts
    assert verdict.reached == Fraction(1, 4)
    assert not fk.audit(release, fk.Policy([hiv], schema)).safe


def test_ways_out_of_a_linked_rule_work():
    assert fk.publish(LINKED, linked_policy(unlinked=["dx"]), seed=1).audit.safe
    known = fk.Policy.of(linked_policy(knowing=["dx"]))
    assert fk.audit(fk.Microdata(LINKED, known.schema), known).verdicts[0].reached == 1


def test_a_linked_rule_in_a_certificate_counts(tmp_path):
    fk.publish(LINKED, linked_policy(rules=False), seed=1).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    said = json.loads(path.read_text())
    said["policy"]["schema"]["impossible"] = linked_policy()["schema"]["impossible"]
    path.write_text(json.dumps(said))
    with pytest.raises(fk.InputError, match="reaches 1, the limit is 1"):
        fk.verify(tmp_path / "out")


SECOND = {
    "age": [37, 36, 32, 34],
    "s1": ["B", "B", "B", "B"],
    "s2": ["v", "v", "u", "v"],
    "sex": ["f", "m", "f", "f"],
}


@pytest.mark.parametrize("column", ["s2", None])
def test_the_judge_applies_a_rule_to_the_column_that_it_names(column, tmp_path):
    """Of four people three can have u, so one u is 1/3, in whichever column it stands."""
    several = column is not None
    roles = {"quasi_identifiers": ["age"], "sensitive": ["s1", "s2"] if several else "s2"}
    schema = {**roles, "other": ["sex"], "types": {"age": "number"}}
    required = {"facts": {}, "below": "3/10", "knowing": [], "values": ["u"]}
    policy = {"schema": schema, "require": [required | ({"sensitive": "s2"} if several else {})]}
    table = pa.table(SECOND if several else {k: v for k, v in SECOND.items() if k != "s1"})
    fk.publish(table, fk.Policy.from_dict(policy), seed=1).write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").people == 4
    rule = {"values": ["u"], "where": {"sex": ["m"]}}
    rules = [rule | {"sensitive": "s2"}] if several else [rule | {"sensitive": None}, rule]
    for one in rules:
        strict = {**policy, "schema": {**schema, "impossible": [one]}}
        if one.get("sensitive", "") is not None:
            with pytest.raises(CertificateError, match="reaches 1/3, the limit is 3/10"):
                fk.verify(tmp_path / "out", fk.Policy.from_dict(strict))
        path = tmp_path / "out" / "certificate.json"
        certificate = json.loads(path.read_text())
        certificate["policy"]["schema"]["impossible"] = [one]
        path.write_text(json.dumps(certificate))
        with pytest.raises(CertificateError, match="reaches 1/3, the limit is 3/10"):
            fk.verify(tmp_path / "out")


@pytest.mark.parametrize(
    "rule",
    [
        {"values": [["u"]], "where": {"sex": ["m"]}},
        {"values": [None], "where": {"sex": ["m"]}},
        {"values": ["u"], "where": {"sex": [["m"]]}},
        {"values": ["u"], "where": {"sex": [{"from": 1}]}},
    ],
)
def test_a_list_in_place_of_a_value_is_refused(rule):
    schema = {"quasi_identifiers": ["sex"], "sensitive": "ill", "impossible": [rule]}
    with pytest.raises(PolicyError, match="is no value; write texts and numbers"):
        fk.Policy.from_dict({"schema": schema, "require": [{"k_anonymity": 2}]})


@pytest.mark.parametrize(
    ("label", "condition", "met"),
    [
        ("0 or more", ["30", "31"], None),
        ("2024-03", ["2024-03-01"], None),
        ("2024-03", ["2024-03"], True),
        ("2024-03", ["2024-04"], False),
        ("2024-Q1", ["2024-03-01"], None),
        ("2024", ["2024-03-01"], None),
        ("2024", ["2023", "90"], False),
        ("2020s", ["2024"], None),
        ("14h", ["14:30"], None),
        ("here", ["2024-03-01"], False),
    ],
)
def test_a_period_leaves_open_what_lies_in_it(label, condition, met):
    assert Rules([{"values": ["a"], "where": {"c": condition}}]).applies_to(0, {"c": label}) is met
    read = decided(condition_of(condition), label)
    assert read is None or read is met


def test_a_label_without_an_upper_end_hides_who_cannot_have_a_value(tmp_path):
    """Only the first of four people can have B, though all four have one label."""
    table = pa.table({"age": [25, 30, 31, 32], "ill": ["B", "C", "C", "A"]})
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill", "types": {"age": "number"}}
    required = {"facts": {}, "below": "9/10", "values": ["B"]}
    levels = {"levels": {"age": {"top": 25}}}
    made = fk.publish(table, {"schema": schema, "require": [required, levels]}, seed=1)
    made.write(tmp_path / "out")
    assert {row["age"][-8:] for row in made.to_arrow().to_pylist()} == {" or more"}
    rule = {"values": ["B"], "where": {"age": ["30", "31", "32"]}}
    strict = {"schema": {**schema, "impossible": [rule]}, "require": [required]}
    with pytest.raises(CertificateError, match="reaches 1, the limit is 9/10"):
        fk.verify(tmp_path / "out", fk.Policy.from_dict(strict))


def test_a_rule_that_names_no_column_is_about_the_one_that_is_asked():
    rule = {"values": ["u"], "where": {"sex": ["m"]}}
    for said in ({}, {"sensitive": None}, {"sensitive": "ill"}):
        assert Rules([{**rule, **said}]).positions_for("ill") == [0]
    assert Rules([{**rule, "sensitive": "pay"}]).positions_for("ill") == []


@pytest.mark.parametrize("node", ["2", "20", "1e1", "20 to 20", "1980", "19 or more", "20s"])
def test_a_node_that_reads_like_a_number_leaves_a_range_open(node, tmp_path):
    """Of four people only the one of 20 can have B; all have the same label."""
    ages = [20, 23, 24, 25]
    table = pa.table({"age": ages, "ill": ["B", "C", "C", "A"]})
    tree = {"age": {"rows": [[str(age), node, "*"] for age in ages]}}
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill", "hierarchies": tree}
    required = {"facts": {}, "below": "9/10", "values": ["B"]}
    loose = {"schema": schema, "require": [required, {"k_anonymity": 4}]}
    fk.publish(table, fk.Policy.from_dict(loose), seed=1).write(tmp_path / "out")
    rule = {"values": ["B"], "where": {"age": {"from": 23, "to": 100}}}
    strict = {"schema": {**schema, "impossible": [rule]}, "require": [required]}
    with pytest.raises(CertificateError, match="reaches 1, the limit is 9/10"):
        fk.verify(tmp_path / "out", fk.Policy.from_dict(strict))
    assert not fk.audit(tmp_path / "out", fk.Policy.from_dict(strict)).safe
    alone = tmp_path / "out" / "release.csv", fk.Policy.from_dict(strict)
    if node == "20s":  # which no range can be compared with
        with pytest.raises(InputError, match="cannot be compared"):
            fk.audit(*alone)
    else:
        assert not fk.audit(*alone).safe
    bare = {key: own for key, own in strict["schema"].items() if key != "hierarchies"}
    unread = fk.Policy.from_dict({**strict, "schema": bare})
    for judge in (fk.verify, fk.audit):
        with pytest.raises(InputError, match="nodes of a hierarchy, as its certificate says"):
            judge(tmp_path / "out", unread)


def test_exact_columns_with_a_hierarchy_are_refused():
    table = pa.table({"q": [1, 1, 1, 12, 12, 2, 12], "code": list("CCDAABD")})
    rules = [{"values": ["C"], "where": {"q": [12]}}]
    for laid in ({}, {"q": {"intervals": [10]}}):
        schema = {"quasi_identifiers": ["q"], "sensitive": "code", "hierarchies": laid}
        policy = fk.Policy.from_dict(
            {
                "schema": {**schema, "impossible": rules},
                "require": [{"facts": {"k": 1}, "below": "3/4"}],
                "publish": {"form": "bucketized"},
            }
        )
        if laid:
            with pytest.raises(fk.InputError, match="leave its hierarchy out"):
                fk.publish(table, policy, seed=1)
        else:
            assert fk.publish(table, policy, seed=1).audit.safe


def test_rules_that_files_show_are_certified(tmp_path):
    """Of four women, three have job a, one of these has O04; who cannot have job c is not shown."""
    jobs = [*"aaab", *"bbccaa" * 3, "b", "b"]
    table = pa.table(
        {
            "ward": ["w"] * 24,
            "sex": ["f"] * 4 + ["m"] * 20,
            "shift": ["day"] * 20 + ["night"] + ["day"] * 3,
            "ill": ["O04", *["flu", "gout"] * 11, "flu"],
            "job": jobs,
        }
    )
    shown = {"values": ["O04"], "where": {"sex": ["m"]}, "sensitive": "ill"}
    unshown = {"values": ["c"], "where": {"shift": ["night"]}, "sensitive": "job"}
    schema = {"quasi_identifiers": ["ward"], "sensitive": ["ill", "job"], "other": ["sex"]}
    asked = [
        {"facts": {}, "sensitive": "ill", "knowing": ["job"], "values": ["O04"], "below": "9/10"},
        {"facts": {}, "sensitive": "job", "knowing": ["ill"], "values": ["c"], "below": "9/10"},
    ]
    for rules in ([shown], [shown, unshown]):
        policy = fk.Policy.from_dict({"schema": {**schema, "impossible": rules}, "require": asked})
        made = fk.publish(table, policy, seed=1)
        made.write(folder := tmp_path / str(len(rules)))
        figures = [made.audit, fk.audit(folder, policy)]
        assert [str(own.verdicts[0].reached) for own in figures] == ["1/3", "1/3"]
        assert str(fk.verify(folder).findings[0].reached) == "1/3"
