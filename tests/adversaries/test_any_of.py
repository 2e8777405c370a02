"""Any of a set of values as one secret: counted, searched, published, verified and refused."""

import csv
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import desk as desk
from tests.examples import examples
from tests.oracle.sets import worst_of_set, worst_of_set_of_many
from tests.oracle.worlds import worlds

import foreknow as fk

MOST = (2, 2, 2)
releases = st.lists(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=3), min_size=1).filter(
    lambda bags: sum(map(len, bags)) <= 5 and len({x for bag in bags for x in bag}) > 2
)


def policy(adversary, below="1/2", any_of=("A", "B"), **more):
    return fk.Policy([fk.Requirement(adversary, below=below, any_of=any_of)], **more)


@examples(500, daily=12)
@given(releases, st.sampled_from([("A",), ("A", "B"), ("B", "D")]))
def test_facts_are_those_of_an_enumeration_of_worlds_in_which_nothing_is_merged(bags, united):
    present = {value for bag in bags for value in bag}
    united = [value for value in united if value in present]
    if not united or not present - set(united):
        return
    counts = fk.GroupCounts.from_bags(bags)
    truth = worst_of_set(bags, set(united), MOST)
    for l, k, m in product(*(range(amount + 1) for amount in MOST)):  # noqa: E741
        for limit in {truth[l, k, m], *([Fraction(1, 2)] if l == k == m else [])} - {0}:
            asked = policy(fk.Facts(l, k, m), limit, united)
            (verdict,) = fk.audit(counts, asked).verdicts
            assert verdict.disclosure.exact == truth[l, k, m]
            assert verdict.safe == (truth[l, k, m] < limit)
            assert verdict.disclosure.value == " or ".join(united)
            assert asked.ledger(counts.values).admits(None, counts) == verdict.safe


several = st.lists(
    st.tuples(st.integers(1, 3), st.lists(st.sampled_from("ABCD"), max_size=3)), min_size=1
).filter(lambda groups: sum(n for n, _ in groups) <= 4 and sum(len(b) for _, b in groups) <= 5)


@examples(500, deadline=None)
@given(several, st.sampled_from([("A",), ("A", "B"), ("B", "D"), ("A", "B", "C")]))
def test_under_multiset_occurrences_of_the_set_are_those_of_one_value(groups, united):
    present = {value for _, bag in groups for value in bag}
    united = [value for value in united if value in present]
    if not united or not present - set(united):
        return
    truth = worst_of_set_of_many(groups, set(united), (1, 1, 1), "multiset")
    counts = of_many(groups)
    for l, k, m in truth:  # noqa: E741
        asked = policy(fk.Facts(l, k, m), 1, united)
        (verdict,) = fk.audit(counts, asked).verdicts
        assert verdict.disclosure.exact == truth[l, k, m]
        assert asked.requirements[0].count(counts).disclosures()[0][0].exact == truth[l, k, m]


def of_many(groups):
    """Counts of groups of (people, bag): all values are of the first of them."""
    people = [[list(bag), *([] for _ in range(n - 1))] for n, bag in groups]
    return fk.GroupCounts.from_people(people, semantics="multiset")


@pytest.mark.parametrize("adversary", [fk.Implications(2), fk.Negations(2), fk.Facts(1, 2, 1)])
def test_every_kind_that_reads_counts_sees_the_set_as_one_value(adversary):
    bags = [["B20", "Z21", "Flu", "Cold", "Cold"], ["Flu", "Flu", "Cold", "Z21"]]
    plain = [[{"B20": "HIV", "Z21": "HIV"}.get(x, x) for x in bag] for bag in bags]
    expected = adversary.disclosure(fk.GroupCounts.from_bags(plain), "HIV").exact
    asked = policy(adversary, any_of=["B20", "Z21"])
    (verdict,) = fk.audit(fk.GroupCounts.from_bags(bags), asked).verdicts
    assert verdict.disclosure.exact == expected


def test_two_codes_of_one_illness_are_safe_one_by_one_and_not_together():
    counts = fk.GroupCounts.from_bags([["B20"] * 4 + ["Z21"] * 4 + ["Flu"] * 3])
    each = fk.Policy([fk.Requirement(fk.Facts(), below="1/2", values=["B20", "Z21"])])
    assert fk.audit(counts, each).safe
    assert not fk.audit(counts, policy(fk.Facts(), any_of=["B20", "Z21"])).safe


def people(n=400, seed=1):
    random.seed(seed)
    values = random.choices(["B20", "Z21", "Flu", "Cold", "Gout", "Ache"], [1, 1, 2, 2, 2, 2], k=n)
    ages = [random.randint(20, 79) for _ in values]
    return pa.table({"age": ages, "sex": random.choices("mf", k=n), "disease": values})


SCHEMA = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="disease")


@pytest.mark.parametrize(
    ("method", "form"),
    [("mondrian", "generalized"), ("mondrian", "bucketized"), ("fulldomain", "generalized")],
)
def test_what_is_published_holds_by_a_plain_reading_of_the_files(method, form, tmp_path):
    schema = fk.Schema(
        quasi_identifiers=["age", "sex"],
        sensitive="disease",
        hierarchies={"age": {"intervals": [10]}} if method == "fulldomain" else {},
    )
    rules = policy(fk.Facts(1, 1, 0), any_of=["B20", "Z21"], schema=schema)
    options = fk.PublishOptions(form=form)
    made = fk.publish(fk.Microdata(people(), schema), rules, method=method, options=options)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    groups = {}
    name = "release.csv" if form == "generalized" else "sensitive.csv"
    with (tmp_path / "out" / name).open() as lines:
        for row in csv.DictReader(lines):
            key = row.get("group", (row.get("age"), row.get("sex")))
            bag = groups.setdefault(key, Counter())
            value = "HIV" if row["disease"] in ("B20", "Z21") else row["disease"]
            bag[value] += int(row.get("count", 1))
    found = fk.Facts(1, 1, 0).disclosure(fk.GroupCounts.from_bags(groups.values()), "HIV")
    assert len(groups) > 1
    assert found.exact < Fraction(1, 2)
    assert found.exact == made.audit.verdicts[0].disclosure.exact


def test_a_certificate_that_names_another_set_is_refused(tmp_path):
    rules = policy(fk.Facts(), any_of=["B20", "Z21"], schema=SCHEMA)
    fk.publish(fk.Microdata(people(), SCHEMA), rules).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    text = path.read_text()
    assert text.count('"Z21"') == 1
    path.write_text(text.replace('"Z21"', '"Gout"'))
    with pytest.raises(fk.InputError):
        fk.verify(tmp_path / "out")


def test_a_value_that_is_called_like_the_set_stays_apart(tmp_path):
    values = ["A", "B", "A or B", "C"] * 10
    table = pa.table({"age": list(range(40)), "disease": values})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    made = fk.publish(fk.Microdata(table, schema), policy(fk.Facts(), "2/3", schema=schema))
    (verdict,) = made.audit.verdicts
    assert (verdict.disclosure.value, verdict.safe) == ("A or B+", True)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")


def test_the_policy_file_says_it_and_gets_it_back():
    table = {"require": [{"any_of": ["A", "B"], "facts": {"l": 1}, "below": "1/2"}]}
    rules = fk.Policy.from_dict(table)
    assert rules.to_dict()["require"][0]["any_of"] == ["A", "B"]
    assert fk.Policy.from_dict(rules.to_dict()).requirements == rules.requirements


def test_values_of_the_set_are_not_among_those_that_no_requirement_is_about():
    counts = fk.GroupCounts.from_bags(["ABCD"])
    assert fk.audit(counts, policy(fk.Facts())).unprotected == ("C", "D")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"any_of": []}, "any_of is empty"),
        ({"any_of": 7}, "any_of must be a list"),
        ({"any_of": {}}, "any_of is empty"),
        ({"any_of": {"HIV": []}}, "any_of.HIV is empty"),
        ({"any_of": {"HIV": "B20"}}, "any_of.HIV must be a list"),
        ({"any_of": ["A"], "at_level": 1}, "give at_level or any_of"),
        ({"at_level": 1, "values": ["A"]}, "give at_level or values"),
        ({"at_level": "1"}, "at_level must be a whole number"),
        ({"any_of": ["A", "A"]}, "any_of names 'A' twice"),
        ({"any_of": ["A"], "values": ["B"]}, "give any_of or values"),
        ({"any_of": ["A"], "excluded": ["B"]}, "give any_of or except"),
    ],
)
def test_a_set_that_means_nothing_is_refused(given, message):
    with pytest.raises(fk.InputError, match=message):
        fk.Requirement(fk.Facts(), below="1/2", **given)


@pytest.mark.parametrize(
    ("any_of", "message"),
    [
        (["A", "B", "C", "D"], "any_of names every sensitive value"),
        (["A", "B*", "C*", "D*"], "any_of names every sensitive value"),
    ],
)
def test_a_set_that_does_not_fit_the_table_is_refused(any_of, message):
    counts = fk.GroupCounts.from_bags(["ABCD"])
    with pytest.raises(fk.InputError, match=message):
        fk.audit(counts, policy(fk.Facts(), any_of=any_of))
    with pytest.raises(fk.InputError, match=message):
        policy(fk.Facts(), any_of=any_of).ledger(counts.values)


def test_where_a_set_is_unsupported_it_is_refused(tmp_path):
    several = fk.GroupCounts.from_people([[{"A"}, {"B", "C"}]], semantics="set")
    with pytest.raises(fk.ForeknowError, match="'set'"):
        fk.audit(several, policy(fk.Facts()))
    held = fk.Schema(quasi_identifiers=["age"], sensitive="x", semantics="set", person="id")
    with pytest.raises(fk.ForeknowError, match="'set'"):
        policy(fk.Facts(), schema=held).ledger(several.values)
    with pytest.raises(fk.InputError, match="needs each value by itself, and at_level counts"):
        fk.Requirement(fk.KAnonymity(2), at_level=1)
    rules = policy(fk.Facts(), any_of=["B20", "Z21"], schema=SCHEMA)
    microdata = fk.Microdata(people(40), SCHEMA)
    with pytest.raises(fk.ForeknowError, match="at_level are unsupported by jump"):
        fk.publish(microdata, rules, method="safe")


def test_two_limits_for_one_set_contradict_each_other():
    one = fk.Requirement(fk.Facts(), below="1/2", any_of=["A", "B"])
    other = fk.Requirement(fk.Facts(), below="1/3", any_of=["B", "A"])
    with pytest.raises(fk.InputError, match="must stay below"):
        fk.Policy([one, other])


def test_a_report_names_the_set(tmp_path):
    counts = fk.GroupCounts.from_bags(["ABCD", "ABCC"])
    fk.audit(counts, policy(fk.Facts(1, 1, 1))).to_html(tmp_path / "r.html")
    assert "any of A or B" in (tmp_path / "r.html").read_text()


# ---- what is known of named people ---------------------------------------------------------------


@examples(100, deadline=None)
@given(releases, st.lists(st.tuples(st.integers(0, 4), st.sampled_from("ABCD")), max_size=2))
def test_asking_for_a_set_is_counting_worlds(bags, denied):
    rows = [(g, value) for g, bag in enumerate(bags) for value in bag]
    names = [f"P{i}" for i in range(len(rows))]
    present = {value for _, value in rows}
    united = sorted(present)[:2]
    table = pa.table({"gid": [g for g, _ in rows], "who": names, "x": [v for _, v in rows]})
    release = fk.Release.from_groups(table, group="gid", sensitive="x", person="who")
    said = [(i, value) for i, value in denied if i < len(rows) and value in present]
    left = [w for w in worlds(bags) if all(w[i] != value for i, value in said)]
    known = fk.Statements(*[f"P{i} != {value}" for i, value in said])
    if not left:
        return
    found = known.posteriors(release, any_of=united)
    for i, name in enumerate(names):
        answer = found[name][" or ".join(united)]
        assert answer.exact == Fraction(sum(w[i] in united for w in left), len(left))
        home = bags[rows[i][0]]
        assert answer.before == Fraction(sum(v in united for v in home), len(home))


def test_ask_says_the_set(desk):
    desk.put("t.csv", "gid,who,x\n1,Ann,B20\n1,Tom,Z21\n1,Eve,Flu\n1,Sue,Cold\n")
    columns = ("--group", "gid", "-s", "x", "--person", "who")
    out = desk.says(
        *("ask", "t.csv", *columns, "--about", "Ann", "--any-of", "B20", "--any-of", "Z21"),
        *("Sue = Cold", "--json", "a.json"),
    )
    assert "B20 or Z21" in out
    assert "66.7% (2/3)" in out
    (answer,) = desk.json("a.json")["answers"]
    assert (answer["value"], answer["exact"]) == ("B20 or Z21", "2/3")
    code, _, err = desk.run("ask", "t.csv", *columns, "--about", "Ann", "--any-of", "B21")
    assert code == 2
    assert "B21" in err


def test_asking_for_a_set_where_people_have_several_is_refused():
    table = pa.table({"gid": [1, 1, 1], "who": ["Ann", "Ann", "Tom"], "x": ["A", "B", "B"]})
    release = fk.Release.from_groups(
        table, group="gid", sensitive="x", person="who", semantics="set"
    )
    with pytest.raises(fk.ForeknowError, match="any_of needs one sensitive value per person"):
        fk.Statements().posteriors(release, any_of=["A", "B"])["Ann"]["A or B"]
