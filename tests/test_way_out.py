"""Where nothing is safe, every line that is named leads to a release: pasted, then published."""

import tomllib
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.policy.way_out import skyline_within
from foreknow.toml import toml_key, toml_value

pytestmark = pytest.mark.complete

HEAD = {"schema": {"quasi_identifiers": ["age"], "sensitive": "ill"}}


def table(values, **more):
    return pa.table({"age": [20 + i % 7 for i in range(len(values))], "ill": list(values), **more})


def ways(error):
    """(table, lines to paste) of each way out, as a reader finds them in the message."""
    found, name, held = [], None, []
    for line in str(error).splitlines()[1:]:
        if not line.startswith("  "):
            name = line.removeprefix("In ").partition(", ")[0]
            continue
        held.append(line.strip())
        if "  # " in line:
            found.append((name, "\n".join(held)))
            held = []
    assert not held
    return found


def pasted(policy, name, lines):
    """The policy with some lines in one of its tables, in place of those with their keys."""
    changed = {**policy, "require": [dict(each) for each in policy["require"]]}
    if name == "[publish]":
        changed["publish"] = {**policy.get("publish", {}), **tomllib.loads(lines)}
        return changed
    place = [r.get("name", f"require[{i}]") for i, r in enumerate(policy["require"])].index(name)
    changed["require"][place] |= tomllib.loads(lines)
    return changed


def grouped(rows, policy, method):
    """Whether the groups that a method makes hold the policy."""
    rules = fk.Policy.from_dict(policy)
    microdata = fk.Microdata(rows, rules.schema)
    groups = {"mondrian": fk.Mondrian(), "fulldomain": fk.FullDomain()}[method]
    counts = rules.combined(microdata).counts(groups.partition(microdata, rules)[microdata.kept])
    return not rules.failures(counts)


def published(rows, policy, method):
    """The same of a release that is written and verified, which takes longer."""
    return fk.publish(rows, policy, method=method).audit.safe


def check(rows, policy, method="mondrian", holds=grouped):
    """Make groups with each line that the refusal names; give the lines."""
    with pytest.raises(fk.NoSafeRelease) as caught:
        holds(rows, policy, method)
    found = ways(caught.value)
    for name, lines in found:
        assert holds(rows, pasted(policy, name, lines), method), lines
    return [lines for _, lines in found]


def asking(*required, **more):
    return {**HEAD, "require": list(required), **more}


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_limit_amounts_and_values_as_lines_that_publish(method):
    rows = table(["flu"] * 6 + ["cold"] * 4 + ["hiv"] * 3)
    lines = check(
        rows, asking({"facts": {"l": 1, "k": 1, "m": 1}, "below": 0.6}), method, published
    )
    assert any(line.startswith("below = ") and "\n" not in line for line in lines)
    amounts = {line.partition("  #")[0].strip() for line in lines if line.startswith("facts")}
    counts = fk.GroupCounts.from_bags([rows.column("ill").to_pylist()])
    fits = [p for p in product((0, 1), repeat=3) if fk.Facts(*p).disclosure(counts).below("0.6")]
    top = {p for p in fits if not any(q != p and np.all(np.subtract(q, p) >= 0) for q in fits)}
    assert amounts == {f"facts = {{ l = {l}, k = {k}, m = {m} }}" for l, k, m in top}  # noqa: E741


def test_the_limit_is_the_least_of_two_digits_above_what_is_reached():
    rows = table(["flu"] * 2 + ["cold"])
    (line,) = [
        each
        for each in check(rows, asking({"facts": {}, "below": 0.6}))
        if each.startswith("below")
    ]
    assert line.split() == ["below", "=", "0.67", "#", "what", "is", "reached", "is", "2/3"]
    with pytest.raises(fk.NoSafeRelease):
        fk.publish(rows, asking({"facts": {}, "below": "2/3"}))


def test_values_that_stand_in_the_way_are_left_out():
    rows = table(["none"] * 8 + list("aabbcd"))
    asked = check(rows, asking({"values": ["none", "d"], "facts": {"k": 1}, "below": 0.5}))
    assert any(line.startswith('values = ["d"]') for line in asked)


def test_what_is_known_beside_may_be_unknown_or_published_apart():
    rows = table(["flu", "cold", "hiv"] * 4, room=["A1", "A2", "B1"] * 4, job=["x", "y"] * 6)
    policy = asking({"facts": {}, "below": 0.5})
    policy["schema"] = {**HEAD["schema"], "other": ["room", "job"]}
    lines = check(rows, policy, holds=published)
    assert any(line.startswith('knowing = ["job"]') for line in lines)
    assert any(line.startswith('unlinked = ["room"]') for line in lines)
    assert not any(line.startswith("below") for line in lines)  # a room tells all
    both = table(["flu", "cold", "hiv"] * 4, room=["A1", "A2", "B1"] * 4, job=["1", "2", "3"] * 4)
    lines = check(both, policy)
    assert any(line.startswith("knowing = []") for line in lines)
    assert any(line.startswith('unlinked = ["room", "job"]') for line in lines)


CRITERIA = [
    {"k_anonymity": 20},
    {"l_diversity": {"l": 4}},
    {"l_diversity": {"l": 3, "kind": "entropy"}},
    {"l_diversity": {"l": 2, "kind": "recursive", "c": 1}},
    {"alpha_k": {"alpha": 0.4, "k": 3}},
    {"alpha_k": {"alpha": 0.9, "k": 20}},
]


@pytest.mark.parametrize("required", CRITERIA)
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_a_criterion_as_one_group_of_everybody_attains_it(required, method):
    rows = table(["flu"] * 6 + ["cold"] * 3 + ["hiv"] * 3)
    assert check(rows, asking(required), method)


@pytest.mark.parametrize(
    "required",
    [
        {"implications": {"k": 3}, "below": 0.8},
        {"negations": {"k": 2}, "below": 0.9},
        {"any_of": ["flu", "hiv"], "facts": {"k": 1}, "below": 0.5},
        {"facts": [{"k": 1, "below": 0.4}, {"l": 1, "below": 0.9}]},
    ],
)
def test_other_adversaries_sets_and_skylines(required):
    assert check(table(["flu"] * 6 + ["cold"] * 5 + ["hiv"] * 4), asking(required))


def test_values_by_how_they_begin_are_named_one_by_one_where_some_are_left_out():
    rows = table(["flu"] * 14 + ["flux"] * 2 + ["cold"] * 8)
    lines = check(rows, asking({"values": ["flu*", "Q9"], "facts": {}, "below": 0.5}))
    assert any(line.startswith('values = ["flux", "Q9"]') for line in lines)


def test_ranges_may_be_known_better():
    rows = table([1000, 1010, 1100, 1200, 1400, 5000, 5400])
    sets = {"low": {"to": 1100}, "high": {"from": 5000}}
    assert check(rows, asking({"any_of": sets, "facts": {"k": 2}, "below": 0.4}))


def test_windows_may_be_narrower():
    rows = table([1000, 1010, 1100, 1200, 1400, 5000, 5400])
    lines = check(rows, asking({"within": 500, "facts": {}, "below": 0.5}))
    assert any(line.startswith("within = 1") for line in lines)


def test_every_failing_requirement_has_lines_and_all_together_publish():
    rows = table(["flu"] * 6 + ["cold"] * 4)
    policy = asking({"name": "one", "facts": {}, "below": 0.5}, {"k_anonymity": 50, "name": "two"})
    with pytest.raises(fk.NoSafeRelease) as caught:
        fk.publish(rows, policy)
    assert "Each of the 2 requirements needs one." in str(caught.value)
    found = dict(reversed(ways(caught.value)))
    assert set(found) == {"one", "two"}
    for name, lines in found.items():
        policy = pasted(policy, name, lines)
    assert fk.publish(rows, policy).audit.safe


def test_a_line_that_would_contradict_another_requirement_is_not_named():
    rows = table(["flu"] * 6 + ["cold"] * 4)
    policy = asking(
        {"name": "some", "values": ["flu"], "facts": {}, "below": 0.5},
        {"name": "every", "facts": {}, "below": 0.605},
    )
    for line in check(rows, policy):
        assert not line.startswith("below")


def test_small_tables_at_random():
    random, named = np.random.default_rng(19), 0
    for _ in range(30):
        many = int(random.integers(2, 9))
        rows = table([f"v{i}" for i in random.integers(0, int(random.integers(2, 5)), many)])
        l, k, m = random.integers(0, 3, 3).tolist()  # noqa: E741
        limit = str(Fraction(int(random.integers(1, 12)), 12))
        policy = asking({"facts": {"l": l, "k": k, "m": m}, "below": limit})
        try:
            grouped(rows, policy, "mondrian")
        except fk.NoSafeRelease:
            named += len(check(rows, policy))
    assert named > 20


def test_where_nothing_helps_that_is_said():
    with pytest.raises(fk.NoSafeRelease, match="publish more people"):
        fk.publish(table(["flu", "flu"]), asking({"facts": {}, "below": 1}))


def test_people_with_several_values_get_lines_that_publish():
    rows = pa.table({"who": [1, 1, 2, 3, 4], "age": [20, 20, 30, 30, 41], "ill": list("abaab")})
    policy = asking({"facts": {}, "below": 0.5})
    policy["schema"] = {**HEAD["schema"], "semantics": "set", "person": "who"}
    assert check(rows, policy)


@pytest.mark.parametrize("value", ['a"b', "a\nb", "\u202ex", "x\\", "\xa0", "😀", "#", "a\x7fb"])
def test_a_line_can_be_pasted_whatever_values_are_called(value, tmp_path):
    lines = check(table([value] * 5 + ["b", "c"]), asking({"facts": {}, "below": 0.5}))
    assert any(line.startswith("except") for line in lines)
    assert tomllib.loads(f"{toml_key(value)} = {toml_value([value])}") == {value: [value]}


def test_the_command_line_prints_each_way_in_a_line(tmp_path, monkeypatch, capsys):
    from foreknow.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age,ill\n" + "20,flu\n" * 3 + "30,cold\n")
    (tmp_path / "p.toml").write_text(
        '[schema]\nquasi_identifiers = ["age"]\nsensitive = "ill"\n[[require]]\nfacts = {}\n'
        "below = 0.5\n"
    )
    call = ["foreknow", "publish", "t.csv", "--policy", "p.toml", "--out", "o"]
    monkeypatch.setattr("sys.argv", call)
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert '\n  below = 0.76      # what is reached is 3/4\n  except = ["flu"]  # ' in said
    policy = (tmp_path / "p.toml").read_text().replace("below = 0.5", "below = 0.76")
    (tmp_path / "p.toml").write_text(policy)
    with pytest.raises(SystemExit) as ended:
        main()
    out = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0
    assert "Worthless: all 4 people are in one group" in out
    assert "require[0] is nearest to its limit: with everybody in one group, 0.75 " in out


def test_a_release_that_divides_people_is_not_called_worthless():
    rows = table(["flu", "cold", "hiv"] * 7)
    policy = asking({"facts": {}, "below": 0.9})
    assert fk.publish(rows, policy).advice == ()
    one = fk.publish(rows, asking({"k_anonymity": 21}), method="fulldomain").advice
    assert one[0].startswith("Worthless: all 21 people are in one group")
    assert any("add levels in [schema.hierarchies]" in said for said in one)


def test_the_requirement_that_keeps_everybody_in_one_group_is_named_where_another_is_tighter():
    ages, ill = [20] * 20 + [60] * 20, [*"ab"] * 9 + ["a"] * 2 + [*"ab"] * 9 + ["b"] * 2
    rows = pa.table({"age": ages, "ill": ill})
    loose, close = {"facts": {}, "below": 0.56}, {"t_closeness": {"t": 0.01}}
    made = fk.publish(rows, asking(loose, close))
    assert made.counts.n_groups == 1
    said = "require[1] (t_closeness) keeps everybody in one group: without it there would be 2"
    assert made.advice[1:] == (said,)
    assert fk.publish(rows, asking(loose)).counts.n_groups == 2


def test_the_skyline_within_a_box_against_all_of_its_points():
    random = np.random.default_rng(5)
    for _ in range(200):
        most = random.integers(0, 5, int(random.integers(1, 4))).tolist()
        weights = random.integers(0, 4, len(most))
        limit = int(random.integers(-1, 12))
        fits = [p for p in product(*(range(m + 1) for m in most)) if weights @ p <= limit]
        top = [p for p in fits if not any(q != p and np.all(np.subtract(q, p) >= 0) for q in fits)]
        assert sorted(skyline_within(most, lambda p, w=weights, c=limit: w @ p <= c)) == top


def test_a_box_of_too_many_points_gives_those_with_one_amount_less():
    found = skyline_within([50, 60, 70], lambda p: sum(p) <= 170)
    assert found == [(40, 60, 70), (50, 50, 70), (50, 60, 60)]


def test_suppression_is_offered_where_it_was_tried_and_divides():
    ages = [10, 11, *[50] * 94, 90, 91, 92]
    rows = pa.table({"age": ages, "ill": [*"ab"] * 49 + ["a"]})
    levels = {"age": fk.Intervals([1])}
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", hierarchies=levels)
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(5))], schema=schema)
    made = fk.publish(rows, policy, method="fulldomain")
    assert made.counts.n_groups == 1
    said = "suppression = 0.1 in [publish.fulldomain] was tried: it gives 2 groups"
    assert said in made.advice
    tried = fk.publish(rows, policy, method=fk.FullDomain(suppression=0.1))
    assert sorted(tried.counts.sizes.tolist()) == [5, 94]
    assert fk.publish(rows, policy, method=fk.FullDomain(suppression=0.05)).counts.n_groups == 1


def test_suppression_is_not_offered_where_no_share_that_was_tried_divides():
    marks = [[1] * 3 + [0] * 57, [0] * 3 + [1] * 3 + [0] * 54]
    rows = pa.table({"p": marks[0], "q": marks[1], "ill": [*"ab"] * 30})
    schema = fk.Schema(quasi_identifiers=["p", "q"], sensitive="ill")
    made = fk.publish(rows, fk.Policy([fk.Requirement(fk.KAnonymity(5))], schema=schema))
    assert made.counts.n_groups == 1
    assert len(made.advice) == 1
    assert made.advice[0].startswith("Worthless: all 60 people are in one group")


@pytest.mark.parametrize("more", [{"knowing": ["job"]}, {}])
def test_a_way_out_is_that_nobody_knows(more):
    table = pa.table({"age": [30, 30, 41, 41], "job": list("abcd"), "ill": list("xyxy")})
    roles = {"quasi_identifiers": ["age"], "sensitive": "ill", "other": ["job"]}
    policy = {"schema": roles, "require": [{"k_anonymity": 2, **more}]}
    with pytest.raises(fk.NoSafeRelease) as error:
        fk.publish(table, policy)
    assert any(line.startswith("  knowing = []") for line in error.value.way_out)
    policy["require"] = [{"k_anonymity": 2, "knowing": []}]
    assert fk.publish(table, policy, labels={"age": "exact"}).audit.safe
