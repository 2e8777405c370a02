"""FullDomain against brute force: every node, every minimal one, the best one, with suppression.

Where people cannot have some values, merging groups can hurt: nodes below an unsafe one may be
safe. Where a limit is about an average, a group that is unsafe by itself may be safe in a release.
"""

import random
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import NIGHTLY, examples
from tests.methods.reference import BruteForce, breach, safe
from tests.methods.tables import KINDS, Crowd

import foreknow as fk
from foreknow.methods.fulldomain import bestfirst, fulldomain

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
        at = max(draw.randrange(len(attained)), draw.randrange(len(attained)))
        limit = min(
            attained[at] + draw.choice([0, 0, Fraction(1, 10 ** draw.choice([6, 9, 12]))]),
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
            found = method.search(self.case.microdata(), self.policy)
        except fk.NoSafeRelease:
            assert not self.every.safe
            return None
        assert found.complete
        for node in found.nodes():
            status = found.status_of(node)
            assert status == "unknown" or (status == "safe") == (node in self.every.safe), node
        self.check_groups(found)
        return found

    def check_groups(self, found):
        """The groups are those of the chosen node, suppressed people the last of them."""
        groups, outliers = self.every.released[found.chosen]
        partition = found.groups.tolist()
        made = self.case.groups_of(partition)
        assert alike(made) == alike([*groups, outliers])
        assert found.suppressed.get(found.chosen, 0) == len(outliers)
        assert (found.outlier_group is None) == (not outliers)
        if outliers:
            assert found.outlier_group == len(made) - 1
            assert sorted(made[-1]) == sorted(outliers)


def kept(patch, most):
    """Of lattices of more nodes not every one is kept."""
    patch.setattr(fulldomain, "_MOST_KEPT", most)


@examples(300, daily=10, deadline=None)
@given(seed=SEEDS, many=MANY, find=st.sampled_from(["minimal", "minimal", "chain"]))
def test_minimal_nodes(seed, many, find):
    table = Table(seed, many)
    result, minimal = table.search(find=find), table.every.minimal()
    if result is None:
        return
    assert result.chosen in result.minimal
    assert result.chosen in minimal
    if find == "minimal":
        assert set(result.minimal) == minimal
        least = min(table.every.loss(node, "ncp") for node in result.minimal)
        assert table.every.loss(result.chosen, "ncp") == pytest.approx(least)


def check_best(table, result, objective):
    """No safe node loses less than the chosen one."""
    lost = {node: table.every.loss(node, objective) for node in table.every.safe}
    assert lost[result.chosen] == pytest.approx(min(lost.values()), abs=1e-12)
    return lost


@examples(300, daily=9, deadline=None)
@given(seed=SEEDS, many=MANY, objective=OBJECTIVES)
def test_the_best_node(seed, many, objective):
    """Of the whole lattice, and of one of which not every node is kept."""
    table = Table(seed, many)
    whole = table.search(objective=objective)
    if whole is None:
        return
    for node, lost in check_best(table, whole, objective).items():
        said = whole.loss_of(node)
        assert said is None or said == pytest.approx(lost, abs=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        kept(patch, 0)
        result = table.search(objective=objective)
    assert (result.gap, result.chosen) == (0, whole.chosen)
    assert result.n_checked == len(result.listed)
    for node in table.every.nodes:
        assert result.loss_of(node) is None or node in table.every.safe


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


TWO_THIRDS = [fk.Requirement(fk.Facts(), below="2/3")]
AVERAGE = [fk.Requirement(fk.Risk(average="1/3")), fk.Requirement(fk.Implications(0), below=0.99)]


@pytest.mark.parametrize(
    ("columns", "required", "share", "cannot", "loss"),
    [
        ({"sex": "fmmmmfm", "q": "yyxyxxx", "d": "cbaabaa"}, TWO_THIRDS, 0, "m", None),
        # Of women half have c, and of all others, who cannot, more have a once they are with them:
        # with the sexes together two groups are unsafe, and one person may be suppressed.
        (
            {"q": "x" * 8 + "y" * 8, "sex": "ffffffmm" * 2, "d": "cccaaaab" * 2},
            *(TWO_THIRDS, 0.1, "m", 0),
        ),
        ({"p": "aaaaab", "q": "baabaa", "r": "bbbaba", "d": "suutus"}, AVERAGE, 0, "", 2 / 3),
    ],
)
def test_merging_can_hurt(monkeypatch, columns, required, share, cannot, loss):
    by_boxes, whole = searched(monkeypatch, columns, required, share, cannot)
    assert loss is None or whole[0] == pytest.approx(loss)
    assert by_boxes == (whole[0], 0)


@pytest.mark.parametrize(("average", "share"), [(False, 0), (False, 0.1), (True, 0)])
def test_boxes_find_the_best(monkeypatch, average, share):
    draw = random.Random(f"{average} {share}")
    tried = 3_000 if NIGHTLY else 20
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


@pytest.mark.parametrize("hurts", [False, True])
def test_what_ends_a_search(monkeypatch, hurts):
    """Boxes where merging can hurt, and nodes where it never does."""
    table = {name: [i >> at & 3 for i in range(64)] for at, name in enumerate("pqr")}
    table = pa.table({**table, "s": list("fm") * 32, "d": list("aaabaaac") * 8})
    schema = fk.Schema(
        quasi_identifiers=list("pqrs"),
        sensitive="d",
        hierarchies={name: {"intervals": [2]} for name in "pqr"},
        impossible=[{"values": ["c"], "where": {"s": ["f"]}}] if hurts else [],
    )
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="9/10")], schema)
    kept(monkeypatch, 0)
    for most, boxes, ended in ((2, 10**6, not hurts), (10**6, 1e-6, True)):
        monkeypatch.setattr(bestfirst, "_MOST_JUDGED", most)
        monkeypatch.setattr(bestfirst, "_BOXES", boxes)
        result = fk.FullDomain(suppression=0.1).search(fk.Microdata(table, schema), policy)
        assert result.complete != ended


# ---- what a search may conclude of nodes below a judged one --------------------------------------
