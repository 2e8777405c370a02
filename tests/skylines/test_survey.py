"""Surveys: every node counted from the rows, entropies by their definition, the paper's Adult."""

import json
import math
import re
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from tests import adult

import foreknow as fk
from foreknow.skylines.survey import _rounded, least_entropy
from foreknow_judge.errors import InputError


def raw(seed=0, rows=60):
    draw = np.random.default_rng(seed)
    table = pa.table(
        {
            "age": draw.integers(20, 40, rows),
            "sex": draw.choice(["f", "m"], rows),
            "illness": draw.choice(["Flu", "Cold", "AIDS", "Mumps"], rows),
        }
    )
    schema = fk.Schema(
        quasi_identifiers=["age", "sex"],
        sensitive="illness",
        hierarchies={"age": fk.Intervals([5, 10])},
    )
    return table, fk.Microdata(table, schema)


def bags_at(table, levels):
    """The bags of a node, from the rows."""
    age, sex = levels
    width = {0: 1, 1: 5, 2: 10, 3: 1000}[age]
    bags = defaultdict(list)
    for row in table.to_pylist():
        bags[row["age"] // width, row["sex"] if sex == 0 else "*"].append(row["illness"])
    return list(bags.values())


def entropy_of(bag):
    """In bits, by the definition."""
    return -sum(n / len(bag) * math.log2(n / len(bag)) for n in Counter(bag).values())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("kind", "adversary"), [("implications", fk.Implications), ("negations", fk.Negations)]
)
def test_every_node_equals_one_counted_from_the_rows(seed, kind, adversary):
    table, microdata = raw(seed)
    found = fk.survey(microdata, [0, 1, 3], kind=kind)
    assert (found.tops, found.n_nodes, found.kind) == ((3, 1), 8, kind)
    assert [node.levels for node in found.nodes] == list(product(range(4), range(2)))
    for node in found.nodes:
        bags = bags_at(table, node.levels)
        counts = fk.GroupCounts.from_bags(bags)
        assert node.groups == len(bags)
        assert node.entropy == pytest.approx(min(map(entropy_of, bags)), abs=1e-9)
        for k, probability in zip(found.knowledge, node.disclosures, strict=True):
            expected = adversary(k).disclosure(counts)
            assert probability == pytest.approx(expected.probability, abs=1e-12)
            assert found.disclosure(node.levels, k).exact == expected.exact


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_equal_entropies(seed):
    found = fk.survey(raw(seed, rows=90)[1], [1])
    by_entropy = defaultdict(list)
    for node in found.nodes:
        if node.entropy:
            by_entropy[node.entropy].append(node.disclosures[0])
    best = found.best(1)
    assert [node.entropy for node in best] == sorted(by_entropy)
    assert [node.disclosures[0] for node in best] == [
        min(by_entropy[node.entropy]) for node in best
    ]
    assert found.n_plain == sum(node.entropy == 0 for node in found.nodes)


def test_entropy_is_0_only_for_groups_of_one_value():
    assert least_entropy(fk.GroupCounts.from_bags(["aaa", "abcd"])) == 0
    assert least_entropy(fk.GroupCounts.from_bags([{"a": 10**6, "b": 1}])) > 0
    same = [fk.GroupCounts.from_bags([bag]) for bag in ("aaabbc", "abbccc")]
    assert least_entropy(same[0]) == least_entropy(same[1])


def test_what_only_looks_certain_is_not_called_so():
    almost = fk.Disclosure("a", 1.0, lambda: 1 - Fraction(1, 10**20))
    assert _rounded(almost, certain=False) < 1
    assert _rounded(fk.Disclosure("a", 1.0, lambda: Fraction(1)), certain=False) == 1
    assert _rounded(fk.Disclosure("a", 0.5), certain=False) == 0.5


@pytest.fixture(scope="module")
def implied():
    return fk.survey(adult.microdata())


def test_adult_has_72_generalizations(implied):
    """Figure 6; the node of figure 5 has the values of figure 5."""
    found = implied
    assert (found.n_nodes, found.n_plain, found.people) == (72, 48, 45222)
    golden = json.loads(adult.GOLDEN.read_text())["implications"]
    node = found.node((3, 2, 1, 1))
    assert node.groups == 5
    assert [round(p, 6) for p in node.disclosures] == [golden[k] for k in found.knowledge]
    # "Monotonically decreases" is a tendency: somewhere, more entropy discloses more.
    for k in found.knowledge:
        line = [node.disclosures[found.knowledge.index(k)] for node in found.best(k)]
        assert line[0] > line[-1]
        assert any(b > a for a, b in pairwise(line))
    # As the page of the docs says.
    assert {len(found.best(k)) for k in found.knowledge} == {22}
    rise = [(f"{n.entropy:.3f}", f"{n.disclosures[4]:.3f}") for n in found.best(9)]
    assert ("2.857", "0.940") in rise
    assert rise[rise.index(("2.857", "0.940")) + 1] == ("2.921", "0.951")


def test_negations_disclose_little_less_on_adult(implied):
    mild = fk.survey(adult.microdata(), kind="negations")
    gaps = (implied.disclosures - mild.disclosures)[implied.entropy > 0]
    assert gaps.min() >= 0
    assert f"{100 * gaps.max():.1f}" == "8.3"


def test_what_is_kept_as_json(tmp_path):
    found = fk.survey(raw()[1], (3, 1, 1), name="small")
    found.to_json(tmp_path / "survey.json")
    read = json.loads((tmp_path / "survey.json").read_text())
    assert read == {"this_file_is": "for the owner only", **found.to_dict()}
    assert (read["format"], read["knowledge"], read["tops"]) == ("foreknow survey", [1, 3], [3, 1])
    assert len(read["nodes"]) == 8
    assert repr(found) == "LatticeSurvey(small: 8 nodes, implications k = 1, 3)"
    assert found.levels[0][1].example == "20 to 24"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"knowledge": []}, "knowledge is empty"),
        ({"knowledge": "1,3"}, "knowledge is a list of whole numbers"),
        ({"knowledge": 3}, "knowledge is a list of whole numbers"),
        ({"knowledge": [1, -3]}, "knowledge must be 0 or more"),
        ({"knowledge": [201]}, "knowledge is at most 200 pieces"),
        ({"kind": "negation"}, "no kind 'negation' of knowledge; did you mean 'negations'?"),
    ],
)
def test_what_cannot_be_meant_is_refused(asked, said):
    with pytest.raises(InputError, match=re.escape(said)):
        fk.survey(raw()[1], **asked)


def test_other_questions_are_refused():
    found = fk.survey(raw()[1], [1])
    with pytest.raises(InputError, match="the survey is about 1 pieces"):
        found.best(2)
    for levels in [(4, 0), (0,), (-1, 0)]:
        with pytest.raises(InputError, match="is no node"):
            found.node(levels)
    with pytest.raises(InputError, match="say what the columns of the table are"):
        fk.survey(raw()[0])


def test_a_lattice_that_nobody_could_look_at_is_refused():
    names = [f"q{i}" for i in range(14)]
    table = pa.table({**{name: [0, 1] for name in names}, "illness": ["Flu", "Cold"]})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=names, sensitive="illness"))
    with pytest.raises(InputError, match="16,384 nodes, more than 10,000 for a survey"):
        fk.survey(microdata)
