"""Cases and people: limits and sizes about persons, of whom each may have several rows."""

import json
import random
import tempfile
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle.case_worlds import limit_of_people, surest_of_person
from tests.support import RULES
from tests.toys import EvenGroups

import foreknow as fk
from foreknow_judge.cases import chances_by_facts, worst_sum
from foreknow_judge.errors import PolicyError, UnsupportedError
from foreknow_judge.written import Written

TABLES = range(20_000 if NIGHTLY else 160)
ROLES = {"person": "who", "unit": "row", "quasi_identifiers": ["ward"], "sensitive": "ill"}


def few_cases(rng):
    """Some cases of some people in some groups."""
    people, groups, values = "ABCD", [0, 0, 1, 2], "xyz"
    some = range(rng.randint(2, 6))
    return [(rng.choice(people), rng.choice(groups), rng.choice(values)) for _ in some]


def table_of(cases):
    who, ward, ill = zip(*cases, strict=True)
    return pa.table({"who": who, "ward": [f"w{g}" for g in ward], "ill": ill})


def judged(cases, *require):
    return fk.audit(table_of(cases), {"schema": ROLES, "require": [*require]}, learned=False)


@pytest.mark.parametrize("block", range(4))
def test_a_limit_is_about_the_sum_over_a_persons_cases(block):
    for seed in TABLES[block::4]:
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


def test_cases_of_one_group_add():
    table = table_of([("A", 0, "x"), ("A", 0, "y"), ("B", 0, "y")])
    held = Written("generalized", ["ward"], "ill", {"release": table})
    cells = chances_by_facts(held.held, {"x"}, 0, 0, 0)
    assert worst_sum(held.held, held.groups_of("who", ()), *cells) == ("x", Fraction(2, 3))


def test_one_case_each_is_as_if_rows_were_people():
    cases = [(f"P{i}", i % 3, "xyz"[i % 2]) for i in range(9)]
    require = {"facts": {"l": 1}, "below": 0.9}
    people = {**ROLES, "unit": "person"}
    other = fk.audit(table_of(cases), {"schema": people, "require": [require]}, learned=False)
    found = judged(cases, require)
    assert [v.reached for v in found.verdicts] == [v.reached for v in other.verdicts]
    assert not found.verdicts[0].found.bounded


def test_the_witness_names_the_groups_of_a_persons_cases():
    cases = [("A", 0, "x"), ("A", 1, "x"), ("B", 0, "y"), ("C", 1, "y"), ("D", 2, "y")]
    (verdict,) = judged(cases, {"facts": {}, "values": ["x"], "below": 0.9}).verdicts
    assert (verdict.found.settled, verdict.found.bounded) == (1, True)
    assert verdict.found.witness.to_dict() == {
        "groups": ["(ward='w0')", "(ward='w1')"],
        "chances": [0.5, 0.5],
    }


def test_people_over_the_limit_are_counted_once():
    for seed in TABLES[::4]:
        cases = few_cases(random.Random(seed))
        bags = {}
        for _, group, value in cases:
            bags.setdefault(group, []).append(value)
        sums = Counter()
        for who, group, _ in cases:
            for value in {*bags[group]}:
                sums[who, value] += Fraction(bags[group].count(value), len(bags[group]))
        over = {who for (who, _), sum_of in sums.items() if sum_of >= Fraction(2, 3)}
        (found,) = judged(cases, {"facts": {}, "below": "2/3"}).exposed
        groups = {group for who, group, _ in cases if who in over}
        assert (found.over.people, found.over.groups) == (len(over), len(groups))
        assert found.over.at_most


def test_the_risk_report_counts_people():
    cases = [("A", 0, "x")] * 3 + [("B", 1, "y"), ("C", 1, "y"), ("C", 1, "x")]
    found = fk.risk_report(
        table_of(cases), policy={"schema": ROLES, "require": [{"k_anonymity": 1}]}
    )
    assert (found.people, found.uniques, found.prosecutor.highest) == (3, 1, 1)
    assert not found.in_cases


@pytest.mark.parametrize("key", ["k_anonymity", "group_size"])
def test_sizes_count_different_people(key):
    for seed in TABLES[::4]:
        cases = few_cases(random.Random(seed))
        groups = {group for _, group, _ in cases}
        least = min(len({who for who, g, _ in cases if g == group}) for group in groups)
        (verdict,) = judged(cases, {key: 2}).verdicts
        assert (verdict.reached, verdict.safe) == (least, least >= 2)


def visits(rng, many=300, people=200):
    """A table of visits; nobody's age is always the same."""
    who = [f"P{rng.randrange(people)}" for _ in range(many)]
    return pa.table(
        {
            "who": who,
            "ward": [rng.choice("ABCDEFGH") for _ in who],
            "age": [rng.randrange(20, 80) for _ in who],
            "house": [int(name[1:]) // 3 for name in who],
            "ill": [rng.choice([f"d{i}" for i in range(12)]) for _ in who],
        }
    )


POLICY = {
    "schema": {**ROLES, "quasi_identifiers": ["ward", "age"], "identifiers": ["who"]},
    "require": [
        {"facts": {"k": 1}, "below": 0.9},
        {"k_anonymity": 4},
        {"group_size": {"k": 3, "of": "house"}},
    ],
}


def groups_of(made, table):
    """The cases of each group, by what the owner keeps."""
    with tempfile.TemporaryDirectory() as at:
        made.write(Path(at) / "out")
        members = pa.parquet.read_table(Path(at) / "out.owner" / "members.parquet").to_pylist()
    groups = {}
    for row, own in zip(members, table.to_pylist(), strict=True):
        groups.setdefault((row["ward"], row["age"]), []).append(own)
    return groups


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_what_is_published_keeps_the_limit_of_every_person(method):
    divided, seeds = 0, range(40 if NIGHTLY else 3)
    for seed in seeds:
        table = visits(random.Random(seed), *((300, 200) if method == "mondrian" else (1500, 1200)))
        policy = json.loads(json.dumps(POLICY))
        if method == "fulldomain":
            policy["schema"]["hierarchies"] = {"age": {"intervals": [30, 60]}}
        made = fk.publish(table, policy, method=method, seed=seed)
        assert made.audit.safe
        groups = groups_of(made, table)
        divided += len(groups) > 1
        sums = Counter()
        for rows in groups.values():
            assert len({row["who"] for row in rows}) >= 4
            assert len({row["house"] for row in rows}) >= 3
            bag = Counter(row["ill"] for row in rows)
            for row in rows:
                for value, have in bag.items():
                    # Facts(k = 1): one other person's value is known.
                    sure = Fraction(have, max(len(rows) - 1, have))
                    sums[row["who"], value] += sure
        assert max(sums.values()) < Fraction(9, 10)
        assert min(Fraction(1), max(sums.values())) == made.audit.verdicts[0].found.settled
    assert 2 * divided >= len(seeds)


def test_a_certificate_says_what_only_the_owner_could_count(tmp_path):
    made = fk.publish(visits(random.Random(1)), POLICY, seed=1)
    made.write(tmp_path / "out")
    found = fk.verify(tmp_path / "out")
    assert len(found.claimed_scope.word) == 3
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert "person" not in certificate["policy"]["schema"]
    assert certificate["policy"]["require"][1:] == [{"k_anonymity": 4}, {"group_size": 3}]
    assert [finding["safe"] for finding in certificate["findings"]] == [True] * 3
    # Who has the folder alone cannot judge people; without person, cases are judged.
    with pytest.raises(fk.InputError, match="does not show whose cases"):
        fk.audit(tmp_path / "out", POLICY)
    roles = {key: of for key, of in POLICY["schema"].items() if key != "person"}
    with pytest.raises(fk.InputError, match="'house' is not among the columns"):
        fk.audit(tmp_path / "out", {**POLICY, "schema": roles})
    again = fk.audit(tmp_path / "out", {"schema": roles, "require": POLICY["require"][:2]})
    assert again.verdicts[1].reached > 4


def test_where_nothing_is_safe_the_most_cases_are_counted():
    cases = [("A", 0, "x")] * 6 + [(f"P{i}", 0, "y") for i in range(6)]
    policy = {"schema": ROLES, "require": [{"facts": {}, "below": 0.9, "values": ["x"]}]}
    with pytest.raises(fk.NoSafeRelease) as error:
        fk.publish(table_of(cases), policy)
    assert "'x'" in str(error.value)


@pytest.mark.parametrize(
    ("require", "about"),
    [
        ({"facts": {}, "within": 5, "below": 0.9}, "within"),
        ({"priors": [{"by": [], "table": None}], "at_most_times": 2}, "priors"),
    ],
)
def test_what_has_no_limit_about_people_says_so(require, about):
    rows = table_of([("A", 0, "x"), ("B", 0, "y")]).append_column("pay", [[1, 2]])
    policy = {"schema": {**ROLES, "sensitive": "pay"}, "require": [require]}
    with pytest.raises(fk.InputError, match=about):
        fk.audit(rows, policy)


@pytest.mark.parametrize(
    ("schema", "require", "said"),
    [
        ({}, {"facts": {}, "within": 5, "below": 0.9}, "within is unsupported where rows are"),
        ({"person": "nobody"}, {"facts": {}, "below": 0.9}, "does not show whose cases"),
    ],
)
def test_nothing_is_counted_before(schema, require, said, monkeypatch):
    """What is refused whatever the table has is refused before the table is counted."""
    monkeypatch.setattr(fk.Release, "counts", property(lambda release: pytest.fail("counted")))
    rows = table_of([("A", 0, "x"), ("B", 0, "y")]).append_column("pay", [[1, 2]])
    rules = {"schema": {**ROLES, "sensitive": "pay", **schema}, "require": [require]}
    with pytest.raises(fk.InputError, match=said):
        fk.audit(rows, rules)


def test_a_row_that_names_nobody_is_refused_with_its_number():
    rows = pa.table({"who": ["A", None], "ward": ["w", "w"], "ill": ["x", "y"]})
    with pytest.raises(fk.InputError, match="row 2 names nobody in 'who'"):
        fk.publish(
            rows, {"schema": ROLES, "require": [{"k_anonymity": 1}, {"facts": {}, "below": 1}]}
        )


# ---- a column that is known, and not published ---------------------------------------------------


def test_a_column_that_is_known_and_not_published_is_judged_by_the_owner(tmp_path):
    table = visits(random.Random(3))
    sex = pa.array(["f" if i % 2 else "m" for i in range(len(table))])
    policy = {
        "schema": {"quasi_identifiers": ["ward", "age"], "sensitive": "ill"},
        "require": [{"facts": {"k": 1}, "below": 0.6, "knowing": ["sex"]}],
    }
    table = table.append_column("sex", sex)
    made = fk.publish(table, policy, seed=1)
    shown = fk.publish(table, {**policy, "schema": {**policy["schema"], "other": ["sex"]}}, seed=1)
    assert "sex" not in made.tables["release"].column_names
    assert made.audit.verdicts[0].reached == shown.audit.verdicts[0].reached
    assert made.groups == shown.groups
    made.write(tmp_path / "out")
    assert "sex known of everybody" in fk.verify(tmp_path / "out").claimed_scope.word[0]
    with pytest.raises(fk.InputError, match="'sex' is not among the columns"):
        fk.audit(tmp_path / "out", policy)
    with pytest.raises(fk.InputError, match="generalized"):
        fk.publish(table, policy, form="bucketized", method="mondrian")


def test_counts_of_values_are_no_counts_of_households():
    counts = fk.GroupCounts.from_bags([["x", "y", "z"]])
    with pytest.raises(fk.InputError, match="different home"):
        fk.KAnonymity(2, of="home").measure(counts)
    release = fk.Release.from_generalized(
        table_of([("A", 0, "x"), ("A", 0, "y")]), quasi_identifiers=["ward"], sensitive="ill"
    )
    with pytest.raises(fk.InputError, match="different who"):
        fk.audit(release, fk.Policy([fk.Requirement(fk.KAnonymity(2, of="who"))]))


@pytest.mark.parametrize("method", [fk.Anatomy(l=2), "mondrian"])
def test_a_method_that_asks_no_policy_is_told_what_fails(method):
    table = table_of([("A", 0, "x"), ("A", 0, "y"), ("B", 0, "z"), ("A", 1, "x"), ("A", 1, "y")])
    policy = {"schema": ROLES, "require": [{"group_size": 3}]}
    with pytest.raises(fk.NoSafeRelease, match=r"[12] different who"):
        fk.publish(table, policy, method=method)


def test_who_looks_alike_is_not_counted_in_groups_of_exact_columns():
    cases = [(f"p{p}", p, "xyz"[p % 3]) for p in range(4) for _ in range(4)]
    policy = {
        "schema": ROLES,
        "require": [{"k_anonymity": 3}],
        "publish": {"form": "bucketized"},
    }
    with pytest.raises(fk.InputError, match="different who look alike"):
        fk.publish(table_of(cases), policy)
    policy["require"] = [{"group_size": 3}]
    assert fk.publish(table_of(cases), policy).audit.safe


def test_rows_that_name_nobody_are_no_different_people():
    rows = pa.table({"who": [None] * 4, "ward": ["w"] * 4, "ill": list("xyxy")}).cast(
        pa.schema([("who", pa.string()), ("ward", pa.string()), ("ill", pa.string())])
    )
    with pytest.raises(fk.InputError, match="names nobody"):
        fk.publish(rows, {"schema": ROLES, "require": [{"k_anonymity": 4}]})


def test_two_requirements_that_differ_by_what_only_the_owner_sees_do_not_conflict():
    table = visits(random.Random(5))
    table = table.append_column("sex", pa.array(["f", "m"] * (len(table) // 2)))
    policy = {
        "schema": {"quasi_identifiers": ["ward", "age"], "sensitive": "ill"},
        "require": [
            {"facts": {"l": 1}, "below": 0.9, "knowing": ["sex"]},
            {"facts": {"l": 1}, "below": 0.8, "knowing": []},
        ],
    }
    assert fk.publish(table, policy).audit.safe


def test_a_microdata_that_says_less_of_people_is_refused():
    roles = {key: of for key, of in ROLES.items() if key != "person"}
    people = fk.Microdata(table_of([("A", 0, "x"), ("A", 0, "y")]), fk.Schema(**roles))
    with pytest.raises(fk.InputError, match="who is counted"):
        fk.publish(people, {"schema": ROLES, "require": [{"k_anonymity": 1}]})


# Two people, of whom each has one case of each illness; and as many in the population.
OF_ONE = pa.table({"who": ["A", "B"], "age": ["20", "20"], "ill": ["1", "2"]})
OF_CASES = pa.concat_tables([OF_ONE] * 5)
POPULATION = pa.table({"age": ["20"] * 12})
OF_AGES = {"person": "who", "quasi_identifiers": ["age"], "sensitive": "ill"}
RULED = [
    replace(rule, population=POPULATION) if hasattr(rule, "population") else rule for rule in RULES
]


def of_ages(rule, unit, table):
    """What a criterion attains of a table whose rows are people, or cases of them."""
    policy = fk.Policy([fk.Requirement(rule)], fk.Schema(**OF_AGES, unit=unit))
    return fk.audit(table, policy, learned=False).verdicts[0]


@pytest.mark.parametrize("rule", RULED, ids=lambda rule: rule.key)
def test_five_cases_of_each_person_change_nothing_of_a_criterion_or_it_is_refused(rule):
    whole = of_ages(rule, "person", OF_ONE)
    if not rule.of_cases:
        with pytest.raises(PolicyError, match="counts rows, and rows are cases of 'who'"):
            of_ages(rule, "row", OF_CASES)
        return
    found = of_ages(rule, "row", OF_CASES)
    assert (found.reached, found.safe) == (whole.reached, whole.safe)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("method", ["mondrian", "fulldomain", "decoy", fk.Anatomy(l=5)])
@pytest.mark.parametrize("beside", [(), (fk.LDiversity(2),)], ids=["alone", "beside another"])
@pytest.mark.parametrize(
    "rule", [rule for rule in RULED if rule.of_cases], ids=lambda rule: rule.key
)
def test_a_criterion_that_is_right_of_cases_can_be_published(rule, beside, method):
    many = range(80)
    table = {"who": [f"p{i // 2}" for i in many], "ill": [i % 5 for i in many]}
    table = pa.table({**table, "age": [20 + i * 7 % 80 for i in many]})
    schema = fk.Schema(**OF_AGES, unit="row", hierarchies={"age": {"intervals": [10, 40]}})
    policy = fk.Policy([fk.Requirement(each) for each in (rule, *beside)], schema)
    refused = None
    if method == "decoy" and rule.key in ("k_anonymity", "group_size"):
        refused = UnsupportedError, r"^Decoy does not know of people with several cases; publish by"
    elif isinstance(method, fk.Anatomy) and rule.key == "levels":
        refused = PolicyError, "publish with form = "
    elif isinstance(method, fk.Anatomy) and rule.key == "k_anonymity":
        refused = UnsupportedError, "or require group_size"
    if refused is not None:
        with pytest.raises(refused[0], match=refused[1]):
            fk.publish(table, policy, method=method)
        return
    made = fk.publish(table, policy, method=method)
    assert made.audit.safe
    assert made.audit.scope.method == "not judged"
    found = fk.audit(made.release, policy.shown, learned=False).verdicts
    if rule.key not in ("k_anonymity", "group_size"):
        assert [v.reached for v in found] == [v.reached for v in made.audit.verdicts]


def test_decoy_refuses_limits_of_people_by_what_it_does_not_know():
    policy = {"schema": ROLES, "require": [{"facts": {}, "below": 0.9}]}
    with pytest.raises(UnsupportedError) as error:
        fk.publish(table_of([("A", 0, "x"), ("A", 0, "y")]), policy, method="decoy")
    assert str(error.value) == (
        "Decoy does not know of people with several cases; publish by "
        'method = "mondrian" or "fulldomain"'
    )


def test_a_population_is_not_compared_with_cases():
    # Two people with three cases each, and three people who could be theirs.
    table = pa.table({"who": list("AAABBB"), "age": ["1"] * 6, "ill": list("xyzxyz")})
    rule = fk.KMap(2, pa.table({"age": ["1"] * 3}))
    with pytest.raises(PolicyError, match="counts rows, and rows are cases of 'who'"):
        of_ages(rule, "row", table)


def test_a_criterion_of_values_says_that_it_counted_cases():
    table = table_of([("A", 0, v) for v in "xyz"])
    policy = {"schema": ROLES, "require": [{"l_diversity": {"l": 2}}, {"k_anonymity": 1}]}
    found = fk.audit(table, policy, learned=False)
    said = "; counted are cases, and all of them may be of one person"
    assert [said in verdict.words for verdict in found.verdicts] == [True, False]
    assert said in found.to_html()
    people = {key: of for key, of in ROLES.items() if key not in ("person", "unit")}
    other = fk.audit(table, {**policy, "schema": people}, learned=False)
    assert said not in other.to_html()


@pytest.mark.parametrize("limits", [[], [{"facts": {}, "below": 1}]])
def test_limits_are_said_to_be_added_up_where_there_are_any(limits):
    found = judged([("A", 0, "x"), ("B", 0, "y")], {"k_anonymity": 2}, *limits)
    said = "limits hold for the sum over a person's cases"
    assert any(said in note for note in found.notes) == bool(limits)
    assert "the owner counts people" in found.notes[0]


def test_a_criterion_that_says_nothing_of_cases_is_refused():
    class Larger(fk.GroupSize):
        """Counts what it likes, and inherits what another says of cases."""

    for rule in (EvenGroups(2), Larger(2), fk.KAnonymity(2, of=["age"])):
        with pytest.raises(PolicyError, match="counts rows, and rows are cases of 'who'"):
            of_ages(rule, "row", OF_CASES)


@pytest.mark.parametrize("method", [fk.Streamliner(l=2), fk.Anatomy(l=2), fk.Decoy()])
def test_what_is_proved_of_a_method_is_not_said_of_cases(method):
    table = table_of([(f"p{i // 2}", i % 2, "xyz"[i % 3]) for i in range(24)])
    policy = {"schema": ROLES, "require": [{"l_diversity": {"l": 2}}]}
    assert fk.publish(table, policy, method=method).audit.scope.method == "not judged"


@pytest.mark.parametrize("names", [["1", "01"], ["A", "a "], ["7", "7.0"]])
def test_two_spellings_of_a_person_are_not_two_people(names):
    cases = [(name, 0, "xy"[i]) for i, name in enumerate(names)]
    with pytest.raises(fk.InputError, match="look like one"):
        judged(cases, {"k_anonymity": 2})
    with pytest.raises(fk.InputError, match="look like one"):
        fk.publish(table_of(cases), {"schema": ROLES, "require": [{"k_anonymity": 1}]})


def test_what_is_asked_twice_is_the_owner_s_word_once(tmp_path):
    rows = {"who": ["a", "b", "c", "d"], "age": [30] * 4, "ill": list("wxyz"), "pay": list("1234")}
    schema = {"quasi_identifiers": ["age"], "sensitive": ["ill", "pay"]}
    schema |= {"person": "who", "unit": "row"}
    asked = [{"k_anonymity": 3, "sensitive": "pay"}, {"k_anonymity": 3}]
    made = fk.publish(pa.table(rows), {"schema": schema, "require": asked})
    made.write(tmp_path / "out")
    assert len(fk.verify(tmp_path / "out").claimed_scope.word) == 1


def test_persons_who_cannot_have_a_value_are_added_up():
    """A man has each of two cases of a group in which no woman can have HIV."""
    rows = [("p1x", "m", "HIV"), ("p1x", "m", "Flu"), ("p2x", "f", "Flu"), ("p3x", "f", "Cold")]
    rows += [("p4x", "m", "Flu"), ("p5x", "m", "Cold")]
    names = ("pid", "sex", "ill")
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(names)})
    table = table.append_column("zip", [["A"] * 6])
    rules = [{"values": ["HIV"], "where": {"sex": ["f"]}}]
    schema = {"quasi_identifiers": ["zip"], "sensitive": "ill", "person": "pid", "unit": "row"}
    for more, knowing in (({"other": ["sex"]}, []), ({}, None)):
        require = {"facts": {}, "below": "1/2", "values": ["HIV"]}
        policy = fk.Policy.from_dict(
            {
                "schema": {**schema, **more, "impossible": rules},
                "require": [require if knowing is None else {**require, "knowing": knowing}],
            }
        )
        (verdict,) = fk.audit(table, policy, learned=False).verdicts
        assert verdict.found.probability == 0.5  # twice one of the four cases of men
        assert not verdict.safe
