"""FullDomain against brute force: nodes, lattices, suppression; results, and ends of searches."""

import json
import random
import re
from fractions import Fraction
from itertools import product

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common import NIGHTLY, examples
from tests.methods.reference import BruteForce, breach, safe
from tests.methods.tables import KINDS, Crowd
from tests.people import adult_table

import foreknow as fk
from foreknow import sample
from foreknow.methods.fulldomain import bestfirst, fulldomain
from foreknow.methods.fulldomain import rollup as rollup_module
from foreknow.methods.fulldomain.lattice import Lattice
from foreknow.methods.fulldomain.rollup import Rollup
from foreknow_judge.errors import InputError

OBJECTIVES = st.sampled_from(["ncp", "height"])
SEEDS, MANY = st.integers(0, 2**32), st.booleans()
POOLS = {
    "number": [1, 2, 3],
    "decimal": [0.5, 2.0],
    "text": ["x", "yy", "Z"],
    "order": ["low", "middle", "high"],
    "tree": list("abdfgh"),
    "interval": [0, 1, 3, 4, 7, 13],
    "mask": ["000", "001", "010", "100", "111"],
}


def alike(release):
    """A grouping, whatever the order of groups and people."""
    return sorted(sorted(group) for group in release if group)


class Table:
    """A random table with a random policy, and every node of its lattice by brute force.

    The limit is one that some node attains exactly, or just does not.
    """

    def __init__(self, seed, many=False):
        draw = random.Random(seed)
        kinds = draw.choices(KINDS, k=draw.choice([1, 2, 3, 3]))
        people = range(draw.randint(4, 20) if many else draw.randint(10, 60))
        pools = [POOLS[kind.name][: draw.choice([1, 2, 2, 3, 6])] + [None] for kind in kinds]
        # A null now and then; some values more often than others.
        weights = [[2] + [1] * (len(pool) - 2) + [0.05] for pool in pools]
        rows = [
            tuple(draw.choices(pool, w)[0] for pool, w in zip(pools, weights, strict=True))
            for _ in people
        ]
        letters = "STUVWX"[: draw.randint(2, 6)]
        if many:
            semantics = draw.choice(["set", "multiset"])
            # What someone has goes with their first quasi-identifier, so that merging can hurt.
            own = {row[0]: draw.choices(letters, k=2) for row in rows}
            held = [draw.choices([*own[row[0]], *letters], k=draw.randint(0, 2)) for row in rows]
            held = ["".join(sorted(set(x) if semantics == "set" else x)) for x in held]
            held[0] = held[0] or "S"
        else:
            semantics = "single"
            held = draw.choices(letters, range(2, len(letters) + 2), k=len(rows))
        self.case = Crowd(kinds, semantics, rows, held)
        self.values = self.case.values
        # About one value only, merging can hurt where people may have several.
        about = draw.choice([self.values, [draw.choice(self.values)]])
        few = draw.random() < 0.7
        amounts = draw.randint(0, 2), *((0, 0) if few else (draw.randint(0, 1), draw.randint(0, 1)))
        every = BruteForce(kinds, rows, lambda groups: True)
        attained = {self.worst(every.groups(node), about, amounts) for node in every.nodes}
        attained = sorted(attained - {0, 1}) or [Fraction(1)]
        highest = max(draw.randrange(len(attained)), draw.randrange(len(attained)))
        limit = min(
            attained[highest] + draw.choice([0, 0, Fraction(1, 10 ** draw.choice([6, 9, 12]))]),
            Fraction(1),
        )
        self.rules = [(about, amounts, limit)]
        self.policy = fk.Policy([fk.Requirement(fk.Facts(*amounts), limit, values=about)])
        self.share = draw.choice([0.0, 0.1, 0.2, 0.35, 0.5, 0.75])
        most = int(Fraction(str(self.share)) * len(rows))
        self.every = BruteForce(kinds, rows, self.is_safe, most)

    def worst(self, groups, values, amounts):
        bags = self.case.bags(groups)
        return max(breach(bags, value, amounts, self.case.semantics) for value in values)

    def counts(self, groups):
        return fk.GroupCounts.from_bags([[self.case.held[p] for p in group] for group in groups])

    def is_safe(self, groups):
        return safe(self.case.bags(groups), self.rules, self.case.semantics)

    def search(self, **settings):
        """What the library finds; None where it says that there is nothing."""
        method = fk.FullDomain(suppression=self.share, **settings)
        try:
            lattice = method.search(self.case.microdata(), self.policy)
        except fk.NoSafeRelease:
            assert not self.every.safe
            return None
        assert lattice.complete
        for node in lattice.nodes():
            status = lattice.status_of(node)
            assert status == "unknown" or (status == "safe") == (node in self.every.safe), node
        self.check_groups(lattice)
        return lattice

    def check_groups(self, found):
        """The groups are those of the chosen node, suppressed people the last of them."""
        groups, outliers = self.every.released[found.chosen]
        partition = found.groups.tolist()
        result = self.case.groups_of(partition)
        assert alike(result) == alike([*groups, outliers])
        assert found.suppressed.get(found.chosen, 0) == len(outliers)
        assert (found.outlier_group is None) == (not outliers)
        if outliers:
            assert found.outlier_group == len(result) - 1
            assert sorted(result[-1]) == sorted(outliers)


def kept(patch, most):
    """Of lattices of more nodes not every one is kept."""
    patch.setattr(fulldomain, "_MOST_KEPT", most)


def check_best(table, result, objective):
    """No safe node loses less than the chosen one."""
    lost = {node: table.every.loss(node, objective) for node in table.every.safe}
    assert lost[result.chosen] == pytest.approx(min(lost.values()), abs=1e-12)
    return lost


# ---- large lattices in which little follows ------------------------------------------------------


def searched(monkeypatch, columns, required, share=0, cannot=""):
    """The best node's loss and gap: by boxes, and by the whole lattice; None where none is.

    Columns are texts, a letter for each person; `cannot` is the sex that has no c.
    """
    table = pa.table({name: list(letters) for name, letters in columns.items()})
    names = [name for name in columns if name != "d"]
    rules = [{"values": ["c"], "where": {"sex": [cannot]}}] if cannot else []
    schema = fk.Schema(quasi_identifiers=names, sensitive="d", impossible=rules)
    method, policy = fk.FullDomain(suppression=share), fk.Policy(required, schema)
    results = []
    for most in (0, 10**6):
        kept(monkeypatch, most)
        try:
            lattice = method.search(fk.Microdata(table, schema), policy)
        except fk.NoSafeRelease:
            results.append(None)
        else:
            results.append((round(lattice.loss_of(lattice.chosen), 9), lattice.gap))
    return results


AVERAGE = [fk.Requirement(fk.Risk(average="1/3")), fk.Requirement(fk.Implications(0), below=0.99)]


@pytest.mark.parametrize(("average", "share"), [(False, 0), (False, 0.1), (True, 0)])
def test_boxes_find_the_best(monkeypatch, average, share):
    draw = random.Random(f"{average} {share}")
    tried = 3_000 if NIGHTLY else 12
    safe = none = 0
    for _ in range(tried):
        n = draw.randint(4, 8) + 8 * (share > 0)
        people = [
            (draw.choice("fm"), draw.choice("wxyz" if share else "fm"), draw.choice("fm"), d)
            for d in draw.choices("abc", k=n)
        ]
        people = [p for p in people if average or p[0] == "f" or p[3] != "c"]
        columns = {name: "".join(p[i] for p in people) for i, name in enumerate(["sex", *"qrd"])}
        required = [fk.Requirement(fk.Facts(), draw.choice(["1/2", "2/3", "3/4", "1"]))]
        if average:
            risk = fk.Risk(average=draw.choice(["1/2", "1/3", "1/6"]))
            required = [fk.Requirement(risk), AVERAGE[1]]
        else:
            del columns["r"]
        if set(columns["sex"]) != {"f", "m"}:
            continue
        cannot = "" if average else "m"
        by_boxes, whole = searched(monkeypatch, columns, required, share, cannot)
        assert (by_boxes is None) == (whole is None), (columns, required)
        if whole is None:
            none += 1
            continue
        safe += 1
        assert by_boxes[0] <= whole[0] + by_boxes[1] + 1e-9, (columns, required)
    assert min(safe, none) > tried / 50


# ---- what comes back from FullDomain: refusals, time budgets, results, releases, and Adult -------


def asking(below, point=(), **about):
    return fk.Policy([fk.Requirement(fk.Facts(*point), below, **about)])


EASY = asking("0.9")
TENS = {"age": fk.Intervals([10, 20])}
SEVEN = [21, 22, 23, 24, 31, 41, 61]


def table(ages, diseases, hierarchies=TENS, **columns):
    columns = {name: list(column) for name, column in columns.items()}
    schema = fk.Schema(
        quasi_identifiers=["age", *columns], sensitive="disease", hierarchies=hierarchies
    )
    return fk.Microdata(pa.table({"age": ages, **columns, "disease": list(diseases)}), schema)


# ---- worked out by hand ------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
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


@pytest.mark.parametrize("find", ["best", "minimal", "chain"])
def test_node_below_an_unsafe_top(hurt, find):
    result = fk.FullDomain(find=find).search(hurt, asking("9/17", (2,), values=["S"]))
    assert (result.chosen, result.minimal) == ((0,), ((0,),))
    assert result.status_of((1,)) == "unsafe"
    assert result.groups.tolist() == [0, 0, 1, 1]
    with pytest.raises(fk.NoSafeRelease, match=r"not even.*nor is any other of the 2 nodes"):
        fk.FullDomain(find=find).search(hurt, asking("1/2", (2,), values=["S"]))


@pytest.fixture(scope="module")
def hurt():
    """One of two has S; the third has T and U: merging raises what is known of S to 9/17."""
    schema = fk.Schema(
        quasi_identifiers=["age"], sensitive="disease", semantics="set", person="pid"
    )
    rows = {"age": [1, 1, 2, 2], "pid": [1, 2, 3, 3], "disease": ["S", None, "T", "U"]}
    return fk.Microdata(pa.table(rows), schema)


# ---- time --------------------------------------------------------------------------------------


def busy(rows=400, columns=5, values=20, widths=(2, 4, 8)):
    """A table with many values in many columns."""
    draw, names = np.random.default_rng(0), [f"q{i}" for i in range(columns)]
    data = {name: pa.array(draw.integers(0, values, rows)) for name in names}
    data["disease"] = pa.array([f"d{i}" for i in draw.integers(0, 9, rows)])
    hierarchies = {name: fk.Intervals([*widths]) for name in names}
    schema = fk.Schema(quasi_identifiers=names, sensitive="disease", hierarchies=hierarchies)
    return fk.Microdata(pa.table(data), schema)


@pytest.mark.usefixtures("tiny_tables")
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
    text = r"none of the 1 nodes of the lattice that were judged within 1e-09 seconds is safe, of 2"
    with pytest.raises(fk.NoSafeRelease, match=text):
        fk.FullDomain(seconds=1e-9).search(hurt, asking("9/17", (2,), values=["S"]))


# ---- results -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
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
    document = json.loads(json.dumps(result.to_dict()))
    assert document["tops"] == [4, 4, 4]
    assert len(document["status"]) == len(document["losses"]) == len(document["checked"]) == 125
    assert document["chosen"] in document["minimal"]
    for ask, said in (
        (lambda: result.status_of((5, 0, 0)), "is no node"),
        (lambda: result.loss_of((0, 0)), "is no node"),
        (lambda: result.nodes("fine"), "'fine'"),
    ):
        with pytest.raises(InputError, match=said):
            ask()


# ---- what is said of the lattice ---------------------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
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


@pytest.mark.usefixtures("tiny_tables")
def test_a_search_cut_off(tmp_path, monkeypatch):
    """It is published with a note, and its gap stays with the owner."""
    policy = fk.Policy.load(sample.policy_path())
    kept(monkeypatch, 0)
    monkeypatch.setattr(bestfirst, "_MOST_JUDGED", 12)
    raw = fk.Microdata(sample.table_path(), policy.schema)
    publication = fk.publish(raw, policy, method=fk.FullDomain(), seed=1)
    lattice = publication.audit.lattice
    assert lattice.gap > 0
    assert (lattice.complete, lattice.n_nodes) == (False, 360)
    assert lattice.n_checked == len(lattice.listed) <= 13
    assert not publication.certificate.minimal
    assert any(note.startswith("the search was cut off") for note in publication.certificate.notes)
    publication.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    text = "no safe one loses less by more than"
    assert text in (tmp_path / "out.owner" / "lattice.html").read_text()
    assert "gap" not in (tmp_path / "out" / "certificate.json").read_text()
    every = product(*(range(top + 1) for top in lattice.tops))
    unknown = next(node for node in every if node not in lattice.listed)
    assert (lattice.status_of(unknown), lattice.loss_of(unknown)) == ("unknown", None)
    assert not lattice.was_judged(unknown)
    assert lattice.to_dict()["gap"] == lattice.gap


# ---- Adult -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
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
    search = fk.FullDomain(suppression=0.05).search(adult, policy)
    assert search.loss_of(search.chosen) < plain.loss_of(plain.chosen)
    assert 0 < search.suppressed[search.chosen] <= 0.05 * adult.n_people
    counts = adult.counts(search.groups)
    assert int(counts.sizes[search.outlier_group]) == search.suppressed[search.chosen]
    assert facts.disclosure(counts).below("3/4")


# ---- counts that are rolled up from finer nodes --------------------------------------------------


def check(microdata, rollup, node):
    """Counted from the rows: groups by the nodes of their values, in lexicographic order."""
    keys = np.stack([
        rollup.levels[a][level][attribute.codes]
        for a, (attribute, level) in enumerate(zip(microdata.attributes, node, strict=True))
    ])  # fmt: skip
    codes, groups = np.unique(keys, axis=1, return_inverse=True)
    view, groups = rollup.view(node), groups.reshape(-1)
    assert view.levels == node
    assert view.counts == microdata.counts(groups)
    assert [code.tolist() for code in view.codes] == codes.tolist()
    assert rollup.spread(node, np.arange(view.counts.n_groups)).tolist() == groups.tolist()
    rollup.cache.add(view)


def test_memory_is_bounded(monkeypatch):
    """And the finest node stays."""
    monkeypatch.setattr(rollup_module, "_MOST_CELLS", 1 << 15)
    microdata = busy(4000, 4, 30, widths=(10, 100))
    rollup = Rollup(microdata)
    finest = len(rollup.finest.counts.codes)
    for node in np.ndindex(3, 2, 3, 3):
        check(microdata, rollup, node)
        largest = rollup.view(node).n_cells
        assert rollup.cache.n_cells <= 8 * max(finest, 1 << 12) + largest
        assert rollup.view((0, 0, 0, 0)) is rollup.finest
    assert len(rollup.cache) < 54


# ---- counts at chosen levels ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def raw():
    rows = {
        "age": [21, 25, 38, 39, None],
        "sex": [*"fmffm"],
        "illness": ["Flu", "Cold", "Flu", "Mumps", "Cold"],
    }
    levels = {"age": fk.Intervals([10])}
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="illness", hierarchies=levels)
    return fk.Microdata(pa.table(rows), schema)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"agee": 1}, "'agee' is no quasi-identifier"),
        ({"illness": 1}, "'illness' is no quasi-identifier"),
        ({"age": 3}, "'age' has the levels 0 (exact) to 2 ('*'), not 3"),
        ({"age": -1}, "not -1"),
        ({"sex": 2}, "give it a hierarchy for levels between"),
        ({"sex": "top"}, "the level of 'sex' is a whole number or '*', not 'top'"),
        ({"sex": True}, "not True"),
        ([1], "or one for each of the 2 quasi-identifiers, not [1]"),
        (["*", 2], "give it a hierarchy for levels between"),
    ],
)
def test_levels_that_do_not_exist(raw, levels, message):
    with pytest.raises(InputError, match=re.escape(message)):
        fk.counts_at(raw, levels)


def test_levels_of_a_node(raw):
    by_name = fk.counts_at(raw, {"age": 1, "sex": "*"})
    assert fk.counts_at(raw, (1, 1)).groups == by_name.groups


# ---- the search, apart from tables: nodes are safe as drawn, and lose what is drawn --------------


def above(lattice, number):
    """All nodes at or above one."""
    low = lattice.node(number)
    nodes = product(*(range(n) for n in lattice.shape))
    return {lattice.number(n) for n in nodes if all(a >= b for a, b in zip(n, low, strict=True))}


@examples(100)
@given(seed=SEEDS)
def test_above_and_below(seed):
    draw = random.Random(seed)
    lattice = Lattice([draw.randint(0, 3) for _ in range(draw.randint(1, 4))])
    marks = np.array([draw.random() < 0.5 for _ in range(len(lattice))])
    ups = [above(lattice, number) for number in range(len(lattice))]
    for number, up in enumerate(ups):
        height = sum(lattice.node(number))
        assert (lattice.number(lattice.node(number)), lattice.heights[number]) == (number, height)
        down = {k for k in range(len(lattice)) if number in ups[k]}
        for part, counted, next_ones, step, members in (
            (lattice.above, lattice.count_above, lattice.parents, 1, up),
            (lattice.below, lattice.count_below, lattice.children, -1, down),
        ):
            marked = np.zeros(len(lattice), bool)
            part(marked, number)[...] = True
            assert set(np.flatnonzero(marked).tolist()) == members
            assert counted(marks)[number] == sum(marks[k] for k in members)
            near = {k for k in members if lattice.heights[k] == height + step}
            assert set(next_ones(number)) == near
    with pytest.raises(InputError, match=r"10,000,000 nodes.*7 quasi-identifiers fewer levels"):
        Lattice([9] * 7)


@pytest.mark.parametrize(
    ("settings", "message"),
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
def test_wrong_settings(settings, message):
    with pytest.raises(InputError, match=re.escape(message)):
        fk.FullDomain(**settings)
