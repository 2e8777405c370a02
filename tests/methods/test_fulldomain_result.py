"""What comes back from FullDomain: refusals, time budgets, results, releases, and Adult."""

import json
import re
from itertools import product

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tests.adult import table as adult_table
from tests.methods.test_fulldomain import kept

import foreknow as fk
from foreknow import sample
from foreknow.methods.fulldomain import bestfirst
from foreknow_judge.errors import InputError

pytestmark = pytest.mark.usefixtures("tiny_tables")


def asking(below, point=(), **about):
    return fk.Policy([fk.Requirement(fk.Facts(*point), below, **about)])


EASY, TWO_THIRDS = asking("0.9"), asking("2/3")
TENS = {"age": fk.Intervals([10, 20])}
SEVEN, PAIRS = [21, 22, 23, 24, 31, 41, 61], [21, 21, 35, 36, 48, 48]


def table(ages, diseases, hierarchies=TENS, **columns):
    columns = {name: list(column) for name, column in columns.items()}
    schema = fk.Schema(
        quasi_identifiers=["age", *columns], sensitive="disease", hierarchies=hierarchies
    )
    return fk.Microdata(pa.table({"age": ages, **columns, "disease": list(diseases)}), schema)


# ---- worked out by hand ------------------------------------------------------------------------


def test_groups_unsafe_only_together():
    """The target in one group, a relative in another: 7/8, which nobody reaches in one group."""
    bags = ["abcdd", "accdd", "aaabddd", "abcdddd"]
    raw = table([10 * g for g, bag in enumerate(bags) for _ in bag], "".join(bags))
    policy = asking("7/8", (1, 0, 1))
    assert fk.FullDomain().search(raw, policy).chosen == (2,)
    result = fk.FullDomain(find="minimal", suppression=0.75).search(raw, policy)
    assert result.minimal == (result.chosen,) == ((0,),)
    # Suppressing two of them gives a safe group, but not yet a safe release.
    assert (result.groups.tolist(), result.outlier_group) == ([1] * 17 + [0] * 7, 1)


@pytest.fixture(scope="module")
def hurt():
    """One of two has S; the third has T and U: merging raises what is known of S to 9/17."""
    schema = fk.Schema(
        quasi_identifiers=["age"], sensitive="disease", semantics="set", person="pid"
    )
    rows = {"age": [1, 1, 2, 2], "pid": [1, 2, 3, 3], "disease": ["S", None, "T", "U"]}
    return fk.Microdata(pa.table(rows), schema)


@pytest.mark.parametrize("find", ["best", "minimal", "chain"])
def test_node_below_an_unsafe_top(hurt, find):
    result = fk.FullDomain(find=find).search(hurt, asking("9/17", (2,), values=["S"]))
    assert (result.chosen, result.minimal) == ((0,), ((0,),))
    assert result.status_of((1,)) == "unsafe"
    assert result.groups.tolist() == [0, 0, 1, 1]
    with pytest.raises(fk.NoSafeRelease, match=r"not even.*nor is any other of the 2 nodes"):
        fk.FullDomain(find=find).search(hurt, asking("1/2", (2,), values=["S"]))


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
def test_wrong_settings(settings, said):
    with pytest.raises(InputError, match=re.escape(said)):
        fk.FullDomain(**settings)


@pytest.mark.parametrize("suppression", [0.0, 0.4])
def test_why_the_top_is_unsafe(suppression):
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
    with pytest.raises(InputError, match="FullDomain needs a policy"):
        method.partition(table([1, 2], "ab"))


# ---- time --------------------------------------------------------------------------------------


def busy(rows=400, columns=5):
    draw, names = np.random.default_rng(0), [f"q{i}" for i in range(columns)]
    data = {name: pa.array(draw.integers(0, 20, rows)) for name in names}
    data["disease"] = pa.array([f"d{i}" for i in draw.integers(0, 9, rows)])
    hierarchies = {name: fk.Intervals([2, 4, 8]) for name in names}
    schema = fk.Schema(quasi_identifiers=names, sensitive="disease", hierarchies=hierarchies)
    return fk.Microdata(pa.table(data), schema)


@pytest.mark.parametrize("find", ["best", "minimal", "chain"])
def test_a_time_budget(hurt, find):
    raw, policy = busy(), asking("0.9", (1,))
    cut = fk.FullDomain(find=find, seconds=1e-9).search(raw, policy)
    assert not cut.complete
    assert cut.chosen == (4, 4, 4, 4, 4)
    assert "cut off by the time budget" in repr(cut)
    assert cut.to_dict()["complete"] is False
    enough = fk.FullDomain(find=find, seconds=3600).search(raw, policy)
    assert enough.complete
    assert enough.loss_of(enough.chosen) < 1
    said = r"none of the 1 nodes of the lattice that were judged within 1e-09 seconds is safe, of 2"
    with pytest.raises(fk.NoSafeRelease, match=said):
        fk.FullDomain(seconds=1e-9).search(hurt, asking("9/17", (2,), values=["S"]))


# ---- results -----------------------------------------------------------------------------------


def test_what_a_result_says():
    result = fk.FullDomain(find="minimal").search(busy(columns=3), EASY)
    assert repr(result).startswith("LatticeResult(q0 ")
    assert f"{result.n_checked} of 125 nodes checked" in repr(result)
    assert set(result.nodes()) == set(np.ndindex(5, 5, 5))
    assert result.nodes("unknown") == []
    assert len(result.nodes("safe")) + len(result.nodes("unsafe")) == 125
    for node in result.nodes("safe"):
        assert result.status_of(node) == "safe"
        assert 0 <= result.loss_of(node) <= 1
    assert {result.loss_of(node) for node in result.nodes("unsafe")} == {None}
    assert result.loss_of((4, 4, 4)) == 1
    read = json.loads(json.dumps(result.to_dict()))
    assert read["tops"] == [4, 4, 4]
    assert len(read["status"]) == len(read["losses"]) == len(read["checked"]) == 125
    assert read["chosen"] in read["minimal"]
    for ask, said in (
        (lambda: result.status_of((5, 0, 0)), "is no node"),
        (lambda: result.loss_of((0, 0)), "is no node"),
        (lambda: result.nodes("fine"), "'fine'"),
    ):
        with pytest.raises(InputError, match=said):
            ask()


# ---- releases ----------------------------------------------------------------------------------


def published(raw, policy=EASY, method=None, **options):
    made = fk.publish(
        raw, policy, method=method or fk.FullDomain(), options=fk.PublishOptions(**options), seed=1
    )
    return made, made.audit.lattice


# ---- labels ------------------------------------------------------------------------------------


# ---- settings ----------------------------------------------------------------------------------


# ---- what is said of the lattice ---------------------------------------------------------------


def test_the_command(tmp_path):
    from click.testing import CliRunner

    from foreknow.cli.entry import app

    rows = [f"{age},{ill}" for age, ill in zip(SEVEN, "abababa", strict=True)]
    (tmp_path / "table.csv").write_text("\n".join(["age,disease", *rows, ""]))
    (tmp_path / "policy.toml").write_text(
        '[schema]\nquasi_identifiers = ["age"]\nsensitive = "disease"\n'
        "hierarchies.age = { intervals = [10, 20] }\n"
        '[[require]]\nfacts = {}\nbelow = "2/3"\n'
    )
    call = ["publish", str(tmp_path / "table.csv"), "-p", str(tmp_path / "policy.toml")]
    call += ["--method", "fulldomain", "--out"]
    done = CliRunner().invoke(app, [*call, str(tmp_path / "a"), "--set", "suppression=0.5"])
    assert done.exit_code == 0, done.output
    assert "Levels: age ranges of 20; 2 people are suppressed" in " ".join(done.output.split())
    assert (tmp_path / "a" / "release.csv").read_text().count('"*"') == 2
    for bad, said in (
        ("suppression", "is not KEY=VALUE"),
        ("=1", "is not KEY=VALUE"),
        ("find=worst", "find: it should be 'best', 'minimal' or 'chain', not 'worst'"),
    ):
        refused = CliRunner().invoke(app, [*call, str(tmp_path / "b"), "--set", bad])
        assert isinstance(refused.exception, InputError)
        assert said in str(refused.exception)
    assert not (tmp_path / "b").exists()


def test_a_search_cut_off(tmp_path, monkeypatch):
    """It is published with a note, and its gap stays with the owner."""
    policy = fk.Policy.load(sample.policy_path())
    kept(monkeypatch, 0)
    monkeypatch.setattr(bestfirst, "_MOST_JUDGED", 12)
    raw = fk.Microdata(sample.table_path(), policy.schema)
    made = fk.publish(raw, policy, method=fk.FullDomain(), seed=1)
    lattice = made.audit.lattice
    assert lattice.gap > 0
    assert (lattice.complete, lattice.n_nodes) == (False, 360)
    assert lattice.n_checked == len(lattice.listed) <= 13
    assert not made.certificate.minimal
    assert any(note.startswith("the search was cut off") for note in made.certificate.notes)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    said = "no safe one loses less by more than"
    assert said in (tmp_path / "out.owner" / "lattice.html").read_text()
    assert "gap" not in (tmp_path / "out" / "certificate.json").read_text()
    every = product(*(range(top + 1) for top in lattice.tops))
    unknown = next(node for node in every if node not in lattice.listed)
    assert (lattice.status_of(unknown), lattice.loss_of(unknown)) == ("unknown", None)
    assert not lattice.was_judged(unknown)
    assert lattice.to_dict()["gap"] == lattice.gap


# ---- Adult -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [3_000, pytest.param(None, marks=pytest.mark.slow)])
def test_the_72_generalizations_of_adult(rows):
    """Each judged by the audit's own adversary; the search judges fewer than half."""
    spouse = {"Married-civ-spouse", "Married-AF-spouse"}
    people = duckdb.connect().read_csv(str(adult_table()), header=True).to_arrow_table()
    statuses = sorted(set(people["marital-status"].to_pylist()))
    marital = [[s, "spouse present" if s in spouse else "no spouse present"] for s in statuses]
    schema = fk.Schema(
        quasi_identifiers=["age", "marital-status", "race", "sex"],
        sensitive="occupation",
        hierarchies={"age": fk.Intervals([5, 10, 20, 40]), "marital-status": fk.Tree(marital)},
    )
    adult, facts = fk.Microdata(people.slice(0, rows), schema), fk.Facts(l=2)
    policy = asking("3/4", (2,))
    result = fk.FullDomain(find="minimal").search(adult, policy)
    assert result.n_nodes == 72
    assert result.n_checked < 36
    safe = set()
    for node in result.nodes():
        columns = []
        for attribute, level in zip(adult.attributes, node, strict=True):
            levels = [np.arange(len(attribute.domain)), *attribute.ancestors]
            top = np.zeros(len(attribute.domain), dtype=int)
            columns.append([*levels, top][level][attribute.codes])
        groups = np.unique(np.stack(columns), axis=1, return_inverse=True)[1].reshape(-1)
        if facts.disclosure(adult.counts(groups)).below("3/4"):
            safe.add(node)
    assert set(result.nodes("safe")) == safe
    minimal = {
        node
        for node in safe
        if not any(n != node and all(a <= b for a, b in zip(n, node, strict=True)) for n in safe)
    }
    assert set(result.minimal) == minimal
    plain = fk.FullDomain().search(adult, policy)
    some = fk.FullDomain(suppression=0.05).search(adult, policy)
    assert some.loss_of(some.chosen) < plain.loss_of(plain.chosen)
    assert 0 < some.suppressed[some.chosen] <= 0.05 * adult.n_people
    counts = adult.counts(some.groups)
    assert int(counts.sizes[some.outlier_group]) == some.suppressed[some.chosen]
    assert facts.disclosure(counts).below("3/4")
