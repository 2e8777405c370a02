"""What comes back from FullDomain: refusals, time budgets, results, releases, and Adult."""

import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.data.utility import utility_of
from foreknow_judge.errors import InputError

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult.csv"
EASY = fk.Policy([fk.Requirement(fk.Facts(), "0.9")])


def table(ages, diseases, **columns):
    schema = fk.Schema(
        quasi_identifiers=["age", *columns],
        sensitive="disease",
        hierarchies={"age": fk.Intervals([10, 20])},
    )
    return fk.Microdata(pa.table({"age": ages, **columns, "disease": list(diseases)}), schema)


# ---- worked out by hand ------------------------------------------------------------------------


def test_one_level_for_everybody():
    raw = table([21, 25, 31, 38, 45], "aabba")
    policy = fk.Policy([fk.Requirement(fk.Facts(), "2/3")])
    found = fk.FullDomain(find="minimal").search(raw, policy)
    assert found.minimal == ((3,),)  # in steps of 20, the last person is alone
    assert found.groups.tolist() == [0] * 5
    assert found.levels == {"age": 3}
    # One person suppressed is still alone; joined by 40 % of the others, there are too many.
    assert fk.FullDomain(suppression=0.4).search(raw, policy).chosen == (3,)
    assert fk.FullDomain(suppression=0.4).search(raw, policy).outlier_group is None


def test_suppressed_people_are_one_group_that_is_judged_like_the_others():
    raw = table([21, 22, 23, 24, 31, 41, 61], "abababa")
    found = fk.FullDomain().search(raw, fk.Policy([fk.Requirement(fk.Facts(), "2/3")]))
    assert found.chosen == (3,)
    # In steps of 10, three people are alone. Together they reach 2/3 for a, which is the limit.
    some = fk.FullDomain(suppression=0.5)
    found = some.search(raw, fk.Policy([fk.Requirement(fk.Facts(), "2/3")]))
    assert (found.chosen, found.suppressed[2,]) == ((2,), 2)
    assert found.groups.tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert found.outlier_group == 1
    assert found.status_of((1,)) == "unsafe"
    found = some.search(raw, fk.Policy([fk.Requirement(fk.Facts(), "0.67")]))
    assert (found.chosen, found.suppressed[1,]) == ((1,), 3)
    assert found.groups.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_groups_that_are_safe_one_by_one_but_not_together():
    """The target in one group, a relative in another: 7/8, which nobody reaches in one group."""
    bags = ["abcdd", "accdd", "aaabddd", "abcdddd"]
    ages = [10 * g for g, bag in enumerate(bags) for _ in bag]
    raw = table(ages, "".join(bags))
    policy = fk.Policy([fk.Requirement(fk.Facts(l=1, m=1), "7/8")])
    assert fk.FullDomain().search(raw, policy).chosen == (2,)
    found = fk.FullDomain(find="minimal", suppression=0.75).search(raw, policy)
    assert found.minimal == (found.chosen,) == ((0,),)
    # Suppressing two of them gives a safe group, but not yet a safe release.
    assert found.groups.tolist() == [1] * 17 + [0] * 7
    assert found.outlier_group == 1


@pytest.mark.parametrize("find", ["best", "minimal", "chain"])
def test_where_merging_can_hurt_a_node_below_an_unsafe_top_is_found(find):
    """One of two has S; the third has T and U: merging raises what is known of S to 9/17."""
    schema = fk.Schema(
        quasi_identifiers=["age"], sensitive="disease", semantics="set", person="pid"
    )
    rows = {"age": [1, 1, 2, 2], "pid": [1, 2, 3, 3], "disease": ["S", None, "T", "U"]}
    raw = fk.Microdata(pa.table(rows), schema)

    def policy(below):
        return fk.Policy([fk.Requirement(fk.Facts(l=2), below, values=["S"])])

    found = fk.FullDomain(find=find).search(raw, policy("9/17"))
    assert found.chosen == (0,)
    assert found.minimal == ((0,),)
    assert found.status_of((1,)) == "unsafe"
    assert found.groups.tolist() == [0, 0, 1, 1]
    with pytest.raises(fk.NoSafeRelease, match=r"not even.*nor is any other of the 2 nodes"):
        fk.FullDomain(find=find).search(raw, policy("1/2"))


# ---- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"objective": "npc"}, "no objective 'npc'; did you mean 'ncp'?"),
        ({"objective": 3}, "no objective 3; known: 'ncp', 'height'"),
        ({"find": "bset"}, "cannot find 'bset'; did you mean 'best'?"),
        ({"suppression": 1}, "a share of the people, from 0 to below 1, not 1"),
        ({"suppression": -0.1}, "not -0.1"),
        ({"suppression": "5%"}, "not '5%'"),
        ({"suppression": float("nan")}, "not nan"),
        ({"seconds": 0}, "seconds must be above 0, not 0"),
        ({"seconds": True}, "seconds must be above 0, not True"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings, said):
    with pytest.raises(InputError, match=re.escape(said)):
        fk.FullDomain(**settings)


def test_it_needs_a_policy():
    with pytest.raises(InputError, match="FullDomain needs a policy"):
        fk.FullDomain().partition(table([1, 2], "ab"))


@pytest.mark.parametrize("suppression", [0.0, 0.4])
def test_where_even_the_top_is_unsafe_the_message_says_why(suppression):
    method = fk.FullDomain(suppression=suppression)
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.6", name="nothing known")])
    with pytest.raises(fk.NoSafeRelease) as raised:
        method.partition(table([1, 12, 25], "aab"), policy)
    assert str(raised.value) == (
        "not even one group of all 3 people is safe: nothing known: Facts(l=0, k=0, m=0) reaches "
        "0.6667 for 'a', the limit is 0.6 (2 of 3 people have 'a')\n"
        "In nothing known, one of these lines would do, in place of any with the same key:\n"
        "  below = 0.67    # what is reached is 2/3\n"
        '  except = ["a"]  # if nobody is harmed: 2 of 3 people'
    )


# ---- time --------------------------------------------------------------------------------------


def busy(seed=0, rows=400, columns=5, **schema):
    draw = np.random.default_rng(seed)
    names = [f"q{i}" for i in range(columns)]
    data = {name: pa.array(draw.integers(0, 20, rows)) for name in names}
    data["disease"] = pa.array([f"d{i}" for i in draw.integers(0, 9, rows)])
    hierarchies = {name: fk.Intervals([2, 4, 8]) for name in names}
    made = fk.Schema(
        quasi_identifiers=names, sensitive="disease", hierarchies=hierarchies, **schema
    )
    return fk.Microdata(pa.table(data), made)


@pytest.mark.parametrize("find", ["best", "minimal", "chain"])
def test_a_time_budget_gives_the_best_so_far_and_says_so(find):
    raw = busy()
    policy = fk.Policy([fk.Requirement(fk.Facts(l=1), "0.9")])
    cut = fk.FullDomain(find=find, seconds=1e-9).search(raw, policy)
    assert not cut.complete
    assert cut.chosen == (4, 4, 4, 4, 4)
    assert "cut off by the time budget" in repr(cut)
    assert cut.to_dict()["complete"] is False
    enough = fk.FullDomain(find=find, seconds=3600).search(raw, policy)
    assert enough.complete
    assert enough.loss_of(enough.chosen) < 1


def test_without_a_safe_node_in_time_the_message_says_so():
    schema = fk.Schema(
        quasi_identifiers=["age"], sensitive="disease", semantics="set", person="pid"
    )
    rows = {"age": [1, 1, 2, 2], "pid": [1, 2, 3, 3], "disease": ["S", None, "T", "U"]}
    raw = fk.Microdata(pa.table(rows), schema)
    policy = fk.Policy([fk.Requirement(fk.Facts(l=2), "9/17", values=["S"])])
    said = r"none of the 1 nodes of the lattice that were judged within 1e-09 seconds is safe, of 2"
    with pytest.raises(fk.NoSafeRelease, match=said):
        fk.FullDomain(seconds=1e-9).search(raw, policy)


# ---- results -----------------------------------------------------------------------------------


def test_what_a_result_says():
    raw = busy(columns=3)
    found = fk.FullDomain(find="minimal").search(raw, EASY)
    assert repr(found).startswith("LatticeResult(q0 ")
    assert f"{found.n_checked} of 125 nodes checked" in repr(found)
    assert set(found.nodes()) == set(np.ndindex(5, 5, 5))
    assert found.nodes("unknown") == []
    assert len(found.nodes("safe")) + len(found.nodes("unsafe")) == 125
    for node in found.nodes("safe"):
        assert found.status_of(node) == "safe"
        assert 0 <= found.loss_of(node) <= 1
    for node in found.nodes("unsafe"):
        assert found.loss_of(node) is None
    assert found.loss_of((4, 4, 4)) == 1
    read = json.loads(json.dumps(found.to_dict()))
    assert read["tops"] == [4, 4, 4]
    assert len(read["status"]) == len(read["losses"]) == len(read["checked"]) == 125
    assert read["chosen"] in read["minimal"]
    with pytest.raises(InputError, match="is no node"):
        found.status_of((5, 0, 0))
    with pytest.raises(InputError, match="is no node"):
        found.loss_of((0, 0))
    with pytest.raises(InputError, match="'fine'"):
        found.nodes("fine")


def test_rows_that_are_left_out_have_no_group():
    rows = {"age": [1, 2, 11, 12, 25], "disease": ["a", "b", None, "b", "a"]}
    schema = fk.Schema(
        quasi_identifiers=["age"],
        sensitive="disease",
        missing="drop",
        hierarchies={"age": fk.Intervals([10, 20])},
    )
    raw = fk.Microdata(pa.table(rows), schema)
    assert fk.FullDomain().partition(raw, EASY).tolist() == [0, 0, -1, 0, 0]


def test_minimal_is_claimed_only_where_it_is_true():
    assert fk.FullDomain().traits.minimal(EASY)
    assert fk.FullDomain(find="chain").traits.minimal(EASY)
    assert not fk.FullDomain(suppression=0.1).traits.minimal(EASY)
    assert not fk.FullDomain(seconds=1).traits.minimal(EASY)


def test_ncp_is_that_of_the_utility_where_groups_fill_their_nodes():
    raw = busy(rows=30_000, columns=2)
    found = fk.FullDomain().search(raw, EASY)
    worth = utility_of(raw.counts(found.groups), raw, found.groups)
    assert found.loss_of(found.chosen) == pytest.approx(worth.average_ncp)


# ---- releases ----------------------------------------------------------------------------------


@pytest.mark.thinned(2)
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
@pytest.mark.parametrize("suppression", [0.0, 0.1])
def test_a_release_is_written_and_verified(tmp_path, form, file_format, suppression):
    raw = busy(rows=600, columns=3)
    policy = fk.Policy([fk.Requirement(fk.Facts(l=1, k=1), "0.9")])
    method = fk.FullDomain(suppression=suppression)
    found = method.search(raw, policy)
    options = fk.PublishOptions(form=form, format=file_format)
    made = fk.publish(raw, policy, method=method, options=options, seed=1)
    made.write(tmp_path / "out")
    read = fk.Certificate.load(tmp_path / "out" / "certificate.json")
    assert read.method["name"] == "FullDomain"
    assert read.n_groups == len(set(found.groups.tolist()))
    assert made.audit.safe
    assert (found.outlier_group is not None) == bool(suppression)


def test_a_release_of_people_with_several_values(tmp_path):
    draw = np.random.default_rng(3)
    people = draw.integers(0, 60, 300)
    rows = pa.table(
        {
            "pid": people,
            "age": people % 7,
            "sex": people % 2,
            "disease": [f"d{i}" for i in draw.integers(0, 9, 300)],
        }
    )
    schema = fk.Schema(
        quasi_identifiers=["age", "sex"],
        sensitive="disease",
        semantics="multiset",
        person="pid",
        hierarchies={"age": fk.Intervals([2, 4])},
    )
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9")])
    made = fk.publish(fk.Microdata(rows, schema), policy, method=fk.FullDomain(), seed=1)
    made.write(tmp_path / "out")
    assert made.audit.safe


# ---- Adult -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adult():
    if not ADULT.exists():
        pytest.skip(f"there is no {ADULT.name} beside the repository")
    spouse = {"Married-civ-spouse", "Married-AF-spouse"}
    rows = duckdb.connect().read_csv(str(ADULT), header=True).to_arrow_table()
    statuses = sorted(set(rows["marital-status"].to_pylist()))
    marital = [[s, "spouse present" if s in spouse else "no spouse present"] for s in statuses]
    schema = fk.Schema(
        quasi_identifiers=["age", "marital-status", "race", "sex"],
        sensitive="occupation",
        hierarchies={"age": fk.Intervals([5, 10, 20, 40]), "marital-status": fk.Tree(marital)},
    )
    return fk.Microdata(rows, schema)


def test_the_72_generalizations_of_adult(adult):
    """Each judged by the audit's own adversary; the search judges fewer than half."""
    facts = fk.Facts(l=2)
    policy = fk.Policy([fk.Requirement(facts, "3/4")])
    found = fk.FullDomain(find="minimal").search(adult, policy)
    assert found.n_nodes == 72
    assert found.n_checked < 36
    safe = set()
    for node in found.nodes():
        columns = []
        for attribute, level in zip(adult.attributes, node, strict=True):
            levels = [np.arange(len(attribute.domain)), *attribute.ancestors]
            top = np.zeros(len(attribute.domain), dtype=int)
            columns.append([*levels, top][level][attribute.codes])
        groups = np.unique(np.stack(columns), axis=1, return_inverse=True)[1].reshape(-1)
        if facts.disclosure(adult.counts(groups)).below("3/4"):
            safe.add(node)
    assert set(found.nodes("safe")) == safe
    minimal = {
        node
        for node in safe
        if not any(n != node and all(a <= b for a, b in zip(n, node, strict=True)) for n in safe)
    }
    assert set(found.minimal) == minimal


def test_adult_with_suppression_loses_less(adult):
    policy = fk.Policy([fk.Requirement(fk.Facts(l=2), "3/4")])
    plain = fk.FullDomain().search(adult, policy)
    found = fk.FullDomain(suppression=0.05).search(adult, policy)
    assert found.loss_of(found.chosen) < plain.loss_of(plain.chosen)
    assert 0 < found.suppressed[found.chosen] <= 0.05 * adult.n_people
    counts = adult.counts(found.groups)
    assert int(counts.sizes[found.outlier_group]) == found.suppressed[found.chosen]
    assert fk.Facts(l=2).disclosure(counts).below("3/4")
