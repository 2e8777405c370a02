"""Cases and people: limits and sizes about persons, of whom each may have several rows."""

import json
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.examples import NIGHTLY
from tests.oracle.units import limit_of_people, surest_of_person
from tests.support import RULES
from tests.toys import EvenGroups

import foreknow as fk
from foreknow.data.people import bare_name
from foreknow.errors import SchemaError
from foreknow_judge.cases import chances_by_facts, worst_sum
from foreknow_judge.errors import PolicyError, UnsupportedError
from foreknow_judge.written import Written

TABLES = range(20_000 if NIGHTLY else 160)
ROLES = {"person": "who", "unit": "row", "quasi_identifiers": ["ward"], "sensitive": "ill"}
UNNAMED = {key: of for key, of in ROLES.items() if key != "person"}


def few_cases(rng):
    """Some cases of some people in some groups."""
    some = range(rng.randint(2, 6))
    return [(rng.choice("ABCD"), rng.choice([0, 0, 1, 2]), rng.choice("xyz")) for _ in some]


def table_of(cases):
    who, ward, ill = zip(*cases, strict=True)
    return pa.table({"who": who, "ward": [f"w{group}" for group in ward], "ill": ill})


def asked(*require, **schema):
    return {"schema": {**ROLES, **schema}, "require": [*require]}


def judged(cases, *require):
    return fk.audit(table_of(cases), asked(*require), learned=False)


@pytest.mark.parametrize("block", range(2))
def test_limits_concern_sums_of_cases(block):
    for seed in TABLES[block::2]:
        rng = random.Random(seed)
        cases, ruled, known = few_cases(rng), rng.randint(0, 2), rng.randint(0, 2)
        expected = limit_of_people(cases, "x", ruled, known)
        assert surest_of_person(cases, "x", ruled, known) <= expected
        facts = {"facts": {"l": ruled, "k": known}, "values": ["x"]}
        if any(value == "x" for _, _, value in cases):
            near = (expected - Fraction(1, 10**12), expected, expected + Fraction(1, 10**12))
            limits = [limit for limit in near if 0 < limit <= 1]
            for limit in limits if NIGHTLY else [limits[seed // 4 % len(limits)]]:
                (verdict,) = judged(cases, {**facts, "below": str(limit)}).verdicts
                assert (verdict.found.settled, verdict.safe) == (expected, expected < limit)


def test_sizes_and_people_over_limit():
    for seed in TABLES[::4]:
        cases = few_cases(random.Random(seed))
        bags, people = {}, {}
        for who, group, value in cases:
            bags.setdefault(group, []).append(value)
            people.setdefault(group, set()).add(who)
        least = min(map(len, people.values()))
        for verdict in judged(cases, {"k_anonymity": 2}, {"group_size": 2}).verdicts:
            assert (verdict.reached, verdict.safe) == (least, least >= 2)
        sums = Counter()
        for who, group, _ in cases:
            for value in {*bags[group]}:
                sums[who, value] += Fraction(bags[group].count(value), len(bags[group]))
        over = {who for (who, _), sum_of in sums.items() if sum_of >= Fraction(2, 3)}
        (found,) = judged(cases, {"facts": {}, "below": "2/3"}).exposed
        groups = {group for who, group, _ in cases if who in over}
        assert (found.over.people, found.over.groups) == (len(over), len(groups))
        assert found.over.at_most


def test_cases_of_one_group_add():
    table = table_of([("A", 0, "x"), ("A", 0, "y"), ("B", 0, "y")])
    held = Written("generalized", ["ward"], "ill", {"release": table})
    cells = chances_by_facts(held.held, {"x"}, 0, 0, 0)
    assert worst_sum(held.held, held.groups_of("who", ()), *cells) == ("x", Fraction(2, 3))


def test_the_witness_names_the_groups():
    cases = [("A", 0, "x"), ("A", 1, "x"), ("B", 0, "y"), ("C", 1, "y"), ("D", 2, "y")]
    (verdict,) = judged(cases, {"facts": {}, "values": ["x"], "below": 0.9}).verdicts
    assert (verdict.found.settled, verdict.found.bounded) == (1, True)
    told = {"groups": ["(ward='w0')", "(ward='w1')"], "chances": [0.5, 0.5]}
    assert verdict.found.witness.to_dict() == told


def test_the_risk_report_counts_people():
    cases = [("A", 0, "x")] * 3 + [("B", 1, "y"), ("C", 1, "y"), ("C", 1, "x")]
    found = fk.risk_report(table_of(cases), policy=asked({"k_anonymity": 1}))
    assert (found.people, found.uniques, found.prosecutor.highest) == (3, 1, 1)
    assert not found.in_cases


def visits(rng, many=300, people=200):
    """A table of visits; nobody's age is always the same."""
    who = [f"P{rng.randrange(people)}" for _ in range(many)]
    return pa.table({
        "who": who,
        "ward": [rng.choice("ABCDEFGH") for _ in who],
        "age": [rng.randrange(20, 80) for _ in who],
        "house": [int(name[1:]) // 3 for name in who],
        "ill": [rng.choice([f"d{i}" for i in range(12)]) for _ in who],
    })  # fmt: skip


POLICY = {
    "schema": {**ROLES, "quasi_identifiers": ["ward", "age"], "identifiers": ["who"]},
    "require": [
        {"facts": {"k": 1}, "below": 0.9},
        {"k_anonymity": 4},
        {"group_size": {"k": 3, "of": "house"}},
    ],
}


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_published_cases_keep_the_limit(method, tmp_path):
    divided, seeds = 0, range(40 if NIGHTLY else 2)
    for seed in seeds:
        table = visits(random.Random(seed), *((300, 200) if method == "mondrian" else (1500, 1200)))
        policy = json.loads(json.dumps(POLICY))
        if method == "fulldomain":
            policy["schema"]["hierarchies"] = {"age": {"intervals": [30, 60]}}
        made = fk.publish(table, policy, method=method, seed=seed)
        assert made.audit.safe
        made.write(tmp_path / str(seed))
        members = pq.read_table(tmp_path / f"{seed}.owner" / "members.parquet").to_pylist()
        groups, sums = {}, Counter()  # the cases of each group, by what the owner keeps
        for row, own in zip(members, table.to_pylist(), strict=True):
            groups.setdefault((row["ward"], row["age"]), []).append(own)
        divided += len(groups) > 1
        for rows in groups.values():
            assert len({row["who"] for row in rows}) >= 4
            assert len({row["house"] for row in rows}) >= 3
            bag = Counter(row["ill"] for row in rows)
            for row in rows:
                for value, have in bag.items():  # one other person's value is known
                    sums[row["who"], value] += Fraction(have, max(len(rows) - 1, have))
        assert max(sums.values()) < Fraction(9, 10)
        assert min(Fraction(1), max(sums.values())) == made.audit.verdicts[0].found.settled
    assert 2 * divided >= len(seeds)


def test_certificate_says_what_owner_counted(tmp_path):
    fk.publish(visits(random.Random(1)), POLICY, seed=1).write(tmp_path / "out")
    assert len(fk.verify(tmp_path / "out").claimed_scope.word) == 3
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert "person" not in certificate["policy"]["schema"]
    assert certificate["policy"]["require"][1:] == [{"k_anonymity": 4}, {"group_size": 3}]
    assert [finding["safe"] for finding in certificate["findings"]] == [True] * 3
    # Who has the folder alone cannot judge people; without person, cases are judged.
    roles = {key: of for key, of in POLICY["schema"].items() if key != "person"}
    for policy, said in (
        (POLICY, "does not show whose cases"),
        ({**POLICY, "schema": roles}, "'house' is not among the columns"),
    ):
        with pytest.raises(fk.InputError, match=said):
            fk.audit(tmp_path / "out", policy)
    again = fk.audit(tmp_path / "out", {"schema": roles, "require": POLICY["require"][:2]})
    assert again.verdicts[1].reached > 4


TWO = [("A", 0, "x"), ("B", 0, "y")]
OF_ONE = [("A", 0, "x"), ("A", 0, "y")]
FIVE = [("A", 0, "x"), ("A", 0, "y"), ("B", 0, "z"), ("A", 1, "x"), ("A", 1, "y")]
ALIKE = [(f"p{p}", p, "xyz"[p % 3]) for p in range(4) for _ in range(4)]
DECOY = "^Decoy does not know of people with several cases; publish by "
DECOY += 'method = "mondrian" or "fulldomain"$'


def refused_of(call, said, error=fk.InputError):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize(
    ("cases", "require", "how", "said"),
    [
        ([("A", 0, "x"), (None, 0, "y")], {"k_anonymity": 1}, {}, "row 2 names nobody in 'who'"),
        ([("A", 0, "x"), *[(None, 0, "y")] * 4], {"k_anonymity": 4}, {}, "row 2 names nobody"),
        ([("1", 0, "x"), ("01", 0, "y")], {"k_anonymity": 1}, {}, "look like one"),
        ([("A", 0, "x"), ("a ", 0, "y")], {"k_anonymity": 1}, {}, "look like one"),
        ([("7", 0, "x"), ("7.0", 0, "y")], {"k_anonymity": 1}, {}, "look like one"),
        (FIVE, {"group_size": 3}, {"method": fk.Anatomy(l=2)}, "[12] different who"),
        (FIVE, {"group_size": 3}, {"method": "mondrian"}, "[12] different who"),
        (ALIKE, {"k_anonymity": 3}, {"form": "bucketized"}, "different who look alike"),
        (OF_ONE, {"facts": {}, "below": 0.9}, {"method": "decoy"}, DECOY),
        ([("A", 0, "x")] * 6 + [(f"P{i}", 0, "y") for i in range(6)],
         {"facts": {}, "below": 0.9, "values": ["x"]}, {}, "'x'"),
    ],
)  # fmt: skip
def test_what_cannot_be_published(cases, require, how, said):
    refused_of(lambda: fk.publish(table_of(cases), asked(require), **how), said, fk.ForeknowError)
    if "look like" in said:
        refused_of(lambda: judged(cases, {"k_anonymity": 2}), said)


@pytest.mark.parametrize(
    ("schema", "require", "said"),
    [
        ({}, {"facts": {}, "within": 5, "below": 0.9}, "within is unsupported where rows are"),
        ({}, {"priors": [{"by": [], "table": None}], "at_most_times": 2}, "priors"),
        ({"person": "nobody"}, {"facts": {}, "below": 0.9}, "does not show whose cases"),
    ],
)
def test_nothing_is_counted_before(schema, require, said, monkeypatch):
    """What is refused whatever the table has is refused before the table is counted."""
    monkeypatch.setattr(fk.Release, "counts", property(lambda release: pytest.fail("counted")))
    rows = table_of(TWO).append_column("pay", [[1, 2]])
    refused_of(lambda: fk.audit(rows, asked(require, **{"sensitive": "pay", **schema})), said)


def test_exact_columns_count_people():
    made = fk.publish(
        table_of(ALIKE), {**asked({"group_size": 3}), "publish": {"form": "bucketized"}}
    )
    assert made.audit.safe


def test_unpublished_columns_may_be_known(tmp_path):
    table = visits(random.Random(3))
    table = table.append_column("sex", [["f" if i % 2 else "m" for i in range(len(table))]])
    roles = {"quasi_identifiers": ["ward", "age"], "sensitive": "ill"}
    required = {"facts": {"k": 1}, "below": 0.6, "knowing": ["sex"]}
    policy = {"schema": roles, "require": [required]}
    made = fk.publish(table, policy, seed=1)
    shown = fk.publish(table, {**policy, "schema": {**roles, "other": ["sex"]}}, seed=1)
    assert "sex" not in made.tables["release"].column_names
    assert made.audit.verdicts[0].reached == shown.audit.verdicts[0].reached
    assert made.groups == shown.groups
    made.write(tmp_path / "out")
    assert "sex known of everybody" in fk.verify(tmp_path / "out").claimed_scope.word[0]
    refused_of(lambda: fk.audit(tmp_path / "out", policy), "'sex' is not among the columns")
    how = {"form": "bucketized", "method": "mondrian"}
    refused_of(lambda: fk.publish(table, policy, **how), "generalized")
    # Two requirements that differ by what only the owner sees do not conflict.
    facts = [{"facts": {"l": 1}, "below": 0.9, "knowing": own} for own in (["sex"], [])]
    assert fk.publish(table, {"schema": roles, "require": facts}).audit.safe


def test_counts_of_values_miss_households():
    counts = fk.GroupCounts.from_bags([["x", "y", "z"]])
    refused_of(lambda: fk.KAnonymity(2, of="home").measure(counts), "different home")
    columns = {"quasi_identifiers": ["ward"], "sensitive": "ill"}
    release = fk.Release.from_generalized(table_of(OF_ONE), **columns)
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(2, of="who"))])
    refused_of(lambda: fk.audit(release, policy), "different who")
    people = fk.Microdata(table_of(OF_ONE), fk.Schema(**UNNAMED))
    refused_of(lambda: fk.publish(people, asked({"k_anonymity": 1})), "who is counted")


# ---- criteria ------------------------------------------------------------------------------------

# Two people, of whom each has one case of each illness; and as many in the population.
PERSONS = pa.table({"who": ["A", "B"], "age": ["20", "20"], "ill": ["1", "2"]})
OF_CASES = pa.concat_tables([PERSONS] * 5)
POPULATION = pa.table({"age": ["20"] * 12})
OF_AGES = {"person": "who", "quasi_identifiers": ["age"], "sensitive": "ill"}
RULED = [
    replace(rule, population=POPULATION) if hasattr(rule, "population") else rule for rule in RULES
]
COUNTS_ROWS = "counts rows, and rows are cases of 'who'"


def of_ages(rule, unit, table):
    """What a criterion attains of a table whose rows are people, or cases of them."""
    policy = fk.Policy([fk.Requirement(rule)], fk.Schema(**OF_AGES, unit=unit))
    return fk.audit(table, policy, learned=False).verdicts[0]


class Larger(fk.GroupSize):
    """Counts what it likes, and inherits what another says of cases."""


@pytest.mark.parametrize("rule", RULED, ids=lambda rule: rule.key)
def test_five_cases_change_no_criterion(rule):
    if not rule.of_cases:
        refused_of(lambda: of_ages(rule, "row", OF_CASES), COUNTS_ROWS, PolicyError)
        return
    found, whole = of_ages(rule, "row", OF_CASES), of_ages(rule, "person", PERSONS)
    assert (found.reached, found.safe) == (whole.reached, whole.safe)


def test_criteria_silent_about_cases():
    for rule in (EvenGroups(2), Larger(2), fk.KAnonymity(2, of=["age"])):
        refused_of(lambda rule=rule: of_ages(rule, "row", OF_CASES), COUNTS_ROWS, PolicyError)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("method", ["mondrian", "fulldomain", "decoy", fk.Anatomy(l=5)])
@pytest.mark.parametrize("beside", [(), (fk.LDiversity(2),)], ids=["alone", "beside another"])
@pytest.mark.parametrize("rule", [own for own in RULED if own.of_cases], ids=lambda own: own.key)
def test_criteria_of_cases_are_published(rule, beside, method):
    many = range(80)
    table = {"who": [f"p{i // 2}" for i in many], "ill": [i % 5 for i in many]}
    table = pa.table({**table, "age": [20 + i * 7 % 80 for i in many]})
    schema = fk.Schema(**OF_AGES, unit="row", hierarchies={"age": {"intervals": [10, 40]}})
    policy = fk.Policy([fk.Requirement(own) for own in (rule, *beside)], schema)
    refused = None
    if method == "decoy" and rule.key in ("k_anonymity", "group_size"):
        refused = UnsupportedError, r"^Decoy does not know of people with several cases; publish by"
    elif isinstance(method, fk.Anatomy) and rule.key == "levels":
        refused = PolicyError, "publish with form = "
    elif isinstance(method, fk.Anatomy) and rule.key == "k_anonymity":
        refused = UnsupportedError, "or require group_size"
    if refused is not None:
        refused_of(lambda: fk.publish(table, policy, method=method), refused[1], refused[0])
        return
    made = fk.publish(table, policy, method=method)
    assert made.audit.safe
    assert made.audit.scope.method == "not judged"  # what is proved of a method is of people
    found = fk.audit(made.release, policy.shown, learned=False).verdicts
    if rule.key not in ("k_anonymity", "group_size"):
        assert [v.reached for v in found] == [v.reached for v in made.audit.verdicts]


def test_criteria_state_counting_cases():
    table, require = table_of([("A", 0, v) for v in "xyz"]), [{"l_diversity": {"l": 2}}]
    found = fk.audit(table, asked(*require, {"k_anonymity": 1}), learned=False)
    said = "; counted are cases, and all of them may be of one person"
    assert [said in verdict.words for verdict in found.verdicts] == [True, False]
    assert said in found.to_html()
    people = {"quasi_identifiers": ["ward"], "sensitive": "ill"}
    other = fk.audit(table, {"schema": people, "require": require}, learned=False)
    assert said not in other.to_html()
    for limits in ([], [{"facts": {}, "below": 1}]):
        notes = judged(TWO, {"k_anonymity": 2}, *limits).notes
        said = "limits hold for the sum over a person's cases"
        assert any(said in note for note in notes) == bool(limits)
        assert "the owner counts people" in notes[0]


def test_repeated_requests_are_stated_once(tmp_path):
    rows = {"who": [*"abcd"], "age": [30] * 4, "ill": [*"wxyz"], "pay": [*"1234"]}
    schema = {"quasi_identifiers": ["age"], "sensitive": ["ill", "pay"]}
    require = [{"k_anonymity": 3, "sensitive": "pay"}, {"k_anonymity": 3}]
    fk.publish(pa.table(rows), asked(*require, **schema)).write(tmp_path / "out")
    assert len(fk.verify(tmp_path / "out").claimed_scope.word) == 1


def test_barred_persons_are_added_up():
    """A man has each of two cases of a group in which no woman can have HIV."""
    rows = {"who": [*"112345"], "sex": [*"mmffmm"], "ward": ["w"] * 6}
    table = pa.table({**rows, "ill": ["HIV", "Flu", "Flu", "Cold", "Flu", "Cold"]})
    rules = {"impossible": [{"values": ["HIV"], "where": {"sex": ["f"]}}]}
    require = {"facts": {}, "below": "1/2", "values": ["HIV"]}
    for more, known in (({"other": ["sex"]}, {"knowing": []}), ({}, {})):
        policy = asked({**require, **known}, **more, **rules)
        (verdict,) = fk.audit(table, policy, learned=False).verdicts
        assert verdict.found.probability == 0.5  # twice one of the four cases of men
        assert not verdict.safe


# ---- two spellings of a name ---------------------------------------------------------------------


@pytest.mark.parametrize("semantics", ["set", "multiset"])
@pytest.mark.parametrize("names", [["7", "07", "8"], ["P1", "p1 ", "P2"], ["x", "x\u200b", "y"]])
def test_spellings_are_one_person(semantics, names):
    """Two people were counted as three: HIV by 1/3, where one of two has it."""
    rows = {"ward": ["a"] * 3, "ill": ["HIV", "Flu", "Cold"]}
    schema = {**ROLES, "unit": "person", "semantics": semantics}
    limit = {"facts": {"l": 0}, "below": "1/2", "values": ["HIV"]}
    table = pd.DataFrame({"who": names, **rows})
    for call in fk.audit, fk.publish:
        with pytest.raises(SchemaError, match="look like one, and would be counted as two"):
            call(table, {"schema": schema, "require": [limit, {"k_anonymity": 3}]})
    columns = {"quasi_identifiers": ["ward"], "sensitive": "ill", "person": "who"}
    release = fk.Release.from_generalized(table, **columns, semantics=semantics)
    with pytest.raises(SchemaError, match="look like one"):
        fk.audit(release, {"require": [limit]})
    alike = pd.DataFrame({"who": ["7", "7", "8"], **rows})
    assert not fk.audit(alike, {"schema": schema, "require": [limit]}).safe


def test_unseen_marks_are_one_name():
    """Four people were counted in a group of three."""
    for mark in ("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e"):
        assert bare_name(f"{mark}P{mark}1{mark}") == bare_name("P1")
    rows = {"ward": ["a"] * 4, "ill": [*"wxyz"], "who": ["P1", "P1\u200b", "P2", "P3"]}
    household = {"quasi_identifiers": ["ward"], "sensitive": "ill"}
    for schema, wanted in ((ROLES, 4), (household, {"k": 4, "of": "who"})):
        with pytest.raises(SchemaError, match="look like one, and would be counted as two"):
            fk.audit(pd.DataFrame(rows), {"schema": schema, "require": [{"k_anonymity": wanted}]})
